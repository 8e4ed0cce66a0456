"""Bounded, time-limited, stoppable work: what to write instead of bare threads and tasks.

    from concurrency_gate.runtime import ThreadPool

    with ThreadPool("thumbnails", max_workers=4, timeout=30) as pool:
        for picture in pool.map(shrink, pictures):
            print(picture)

Only the standard library is needed. Names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .budget import ConnectionBudget as ConnectionBudget
    from .channel import Channel as Channel
    from .channel import ChannelClosed as ChannelClosed
    from .channel import Fanout as Fanout
    from .closing import closing_on_stop as closing_on_stop
    from .context import carry as carry
    from .detached import detach as detach
    from .errors import AttemptsSpent as AttemptsSpent
    from .errors import BudgetExceeded as BudgetExceeded
    from .errors import JobCancelled as JobCancelled
    from .errors import JobFailed as JobFailed
    from .errors import JobTimeout as JobTimeout
    from .errors import LeaseTooShort as LeaseTooShort
    from .errors import PoolFull as PoolFull
    from .errors import Refuse as Refuse
    from .errors import Refused as Refused
    from .errors import RuntimeLibraryError as RuntimeLibraryError
    from .errors import Snooze as Snooze
    from .errors import Stopping as Stopping
    from .errors import UnsafeTimeout as UnsafeTimeout
    from .errors import WorkerLost as WorkerLost
    from .handle import Handle as Handle
    from .handle import Outcome as Outcome
    from .job import Deadline as Deadline
    from .job import Job as Job
    from .job import StopToken as StopToken
    from .job import current_job as current_job
    from .job import job_scope as job_scope
    from .lease import Claim as Claim
    from .lease import KeyBusy as KeyBusy
    from .lease import KeyLease as KeyLease
    from .lease import LeaseUnavailable as LeaseUnavailable
    from .lease_postgres import PostgresLeases as PostgresLeases
    from .lease_sqlite import SQLiteLeases as SQLiteLeases
    from .ledger import PoolStats as PoolStats
    from .observe import instrument as instrument
    from .periodic import Periodic as Periodic
    from .processes import ProcessPool as ProcessPool
    from .queues import Queue as Queue
    from .relay import Relay as Relay
    from .retry import Retry as Retry
    from .service import Runtime as Runtime
    from .stats import RuntimeStats as RuntimeStats
    from .tasks import AsyncPool as AsyncPool
    from .threads import ThreadPool as ThreadPool
    from .waiter import Ticket as Ticket
    from .waiter import WaiterHub as WaiterHub
    from .waiter_postgres import PostgresNotices as PostgresNotices

_NAMES = {
    "budget": "ConnectionBudget",
    "channel": "Channel ChannelClosed Fanout",
    "closing": "closing_on_stop",
    "context": "carry",
    "detached": "detach",
    "errors": "AttemptsSpent BudgetExceeded JobCancelled JobFailed JobTimeout LeaseTooShort PoolFull Refuse "
    "Refused RuntimeLibraryError Snooze Stopping UnsafeTimeout WorkerLost",
    "handle": "Handle Outcome",
    "job": "Deadline Job StopToken current_job job_scope",
    "lease": "Claim KeyBusy KeyLease LeaseUnavailable",
    "lease_postgres": "PostgresLeases",
    "lease_sqlite": "SQLiteLeases",
    "ledger": "PoolStats",
    "observe": "instrument",
    "periodic": "Periodic",
    "processes": "ProcessPool",
    "queues": "Queue",
    "relay": "Relay",
    "retry": "Retry",
    "service": "Runtime",
    "stats": "RuntimeStats",
    "tasks": "AsyncPool",
    "threads": "ThreadPool",
    "waiter": "Ticket WaiterHub",
    "waiter_postgres": "PostgresNotices",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_HOME[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
