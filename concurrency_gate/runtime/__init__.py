"""Bounded, time-limited, stoppable work: what to write instead of bare threads and tasks.

    from concurrency_gate.runtime import ThreadPool

    pool = ThreadPool("thumbnails", max_workers=4, timeout=30)
    for picture in pool.map(shrink, pictures):
        print(picture)

Only the standard library is needed. Names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .errors import BudgetExceeded as BudgetExceeded
    from .errors import JobCancelled as JobCancelled
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
    from .job import Deadline as Deadline
    from .job import Job as Job
    from .job import StopToken as StopToken
    from .job import current_job as current_job
    from .job import job_scope as job_scope

_NAMES = {
    "errors": "BudgetExceeded JobCancelled JobTimeout LeaseTooShort PoolFull Refuse Refused "
    "RuntimeLibraryError Snooze Stopping UnsafeTimeout WorkerLost",
    "job": "Deadline Job StopToken current_job job_scope",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_HOME)  # noqa: PLE0605 - computed from the table above


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
