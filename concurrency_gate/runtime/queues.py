"""`Queue`: one kind of work, with workers and a timeout of its own, so that a slow one can fill only
itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Literal

from .bounds import seconds, whole
from .errors import LeaseTooShort, UnsafeTimeout
from .lease import KeyLease
from .pool import MAX_PENDING, Pool
from .processes import ProcessPool
from .retry import ONCE, Retry
from .slots import OnDead
from .tasks import AsyncPool
from .threads import ThreadPool

Kind = Literal["thread", "async", "process"]

_POOLS: dict[str, Callable[..., Pool]] = {"thread": ThreadPool, "async": AsyncPool, "process": ProcessPool}


@dataclass(frozen=True)
class Queue:
    """What a Runtime builds a pool from; `runtime["webhook"]` is that pool.

    `kind`: "thread", "async" or "process". `connections`: database connections that one worker may hold at a
    time, for the budget. `http_timeout`: the longest limit, in seconds, that the jobs give to a network
    call; it has to be below `timeout`. (Jobs that take `current_job().http_timeout()` need none.) `lease`:
    holds the `key` of a job across processes; it has to outlast `timeout` and the Runtime's `grace`.
    """

    name: str
    _: KW_ONLY
    max_workers: int
    timeout: float
    kind: Kind = "thread"
    max_pending: int = MAX_PENDING
    retry: Retry = ONCE
    on_dead: OnDead | None = None
    connections: int = 1
    http_timeout: float | None = None
    lease: KeyLease | None = None

    def __post_init__(self) -> None:
        if self.kind not in _POOLS:
            raise ValueError(f"kind must be one of {', '.join(_POOLS)}, not {self.kind!r}")
        self.pool()  # which checks the arguments that are for it
        whole("connections", self.connections, 0, 100)
        if self.http_timeout is not None:
            seconds("http_timeout", self.http_timeout)

    def check(self, grace: float) -> None:
        """Hold the limits of this queue against each other: `UnsafeTimeout`, `LeaseTooShort`."""
        if self.http_timeout is not None and self.http_timeout >= self.timeout:
            raise UnsafeTimeout(
                f"queue {self.name!r}: http_timeout is {self.http_timeout:g} s and the job's timeout "
                f"{self.timeout:g} s. It must be shorter, so that the network's error comes before the job "
                "is ended as a whole"
            )
        if self.lease is not None and self.lease.seconds <= self.timeout + grace:
            raise LeaseTooShort(
                f"queue {self.name!r}: a lease lasts {self.lease.seconds:g} s, and a job may run "
                f"{self.timeout:g} s and {grace:g} s of grace. The lease must last longer, or a second "
                "holder comes in meanwhile"
            )

    def pool(self) -> Pool:
        """A new pool with these settings."""
        return _POOLS[self.kind](
            self.name,
            max_workers=self.max_workers,
            timeout=self.timeout,
            max_pending=self.max_pending,
            retry=self.retry,
            on_dead=self.on_dead,
            lease=self.lease,
        )
