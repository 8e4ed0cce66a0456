"""`Relay`: moves rows from where they wait (an outbox, a table of jobs) into a queue, a few at a time.

A relay runs in every process; there is no leader. What keeps two processes from taking the same row is the
claim in `fetch`: `FOR UPDATE SKIP LOCKED`, or a conditional UPDATE, in a short transaction of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .bounds import call, seconds, text, whole
from .errors import Refused
from .handle import Handle, Outcome
from .job import current_job
from .pool import Pool
from .ticker import Ticker, is_async
from .wakeup import drive, drive_async

MAX_PAUSE = 30.0
"""The longest pause, in seconds, after passes that failed."""

Row = Any


@dataclass(frozen=True)
class Relay:
    """Take rows with `fetch(limit)`, a function or a coroutine function, and submit `work(row)` to `queue`.

    A pass takes at most `batch` rows, and never more than the queue has room for; so a full queue holds up
    its own relay and no other. After a full pass the next comes at once, else `every` seconds later; after
    one that failed, later and later, up to 30 s. A pass may take `timeout` seconds. `key(row)`: the job's
    key. `connections`: what `fetch` may hold, for the budget. Immutable; `fetch` and `work` run in workers.
    """

    name: str
    queue: str
    fetch: Callable[[int], Sequence[Row] | Awaitable[Sequence[Row]]]
    work: Callable[[Row], Any]
    key: Callable[[Row], str | None] | None = None
    batch: int = 100
    every: float = 1.0
    timeout: float = 30.0
    connections: int = 1

    def __post_init__(self) -> None:
        text("name", self.name)
        call("fetch", self.fetch)
        call("work", self.work)
        call("key", self.key, optional=True)
        whole("batch", self.batch, 1, 10_000)
        seconds("every", self.every)
        seconds("timeout", self.timeout)
        whole("connections", self.connections, 0, 100)

    def ticker(self, target: Pool) -> Ticker:
        """What makes the passes, into the pool of the queue."""
        return _RelayTicker(self, target)


class _RelayTicker(Ticker):
    def __init__(self, relay: Relay, target: Pool) -> None:
        call = self._pass_async if is_async(relay.fetch) else self._pass
        super().__init__(relay.name, call, relay.timeout)
        self._relay = relay
        self._target = target
        self._failures = 0
        self._full = False

    def arguments(self) -> tuple[Any, ...] | None:
        limit = min(self._relay.batch, self._target.room)
        if limit > 0:
            return (limit,)
        self._target.on_room(lambda: self.again(0.0))
        return None

    def pause(self, handle: Handle[Any]) -> float:
        if handle.outcome is Outcome.DONE:
            self._failures = 0
            return 0.0 if self._full else self._relay.every
        self._failures += 1
        return float(min(MAX_PAUSE, self._relay.every * 2.0 ** min(self._failures, 30)))

    def _pass(self, limit: int) -> None:
        rows: Any = self._relay.fetch(limit)
        for row in self._checked(rows, limit):
            drive(self._submitting(row))

    async def _pass_async(self, limit: int) -> None:
        rows: Any = self._relay.fetch(limit)
        for row in self._checked(await rows, limit):
            await drive_async(self._submitting(row))

    def _checked(self, rows: Sequence[Row], limit: int) -> Sequence[Row]:
        if len(rows) > limit:
            raise Refused(
                f"relay {self.name!r}: fetch({limit}) returned {len(rows)} rows, more than it was given"
            )
        self._full = len(rows) == limit
        return rows

    def _submitting(self, row: Row) -> Any:
        """Steps, because what submits to the queue directly may have taken the room meanwhile."""
        key = self._relay.key(row) if self._relay.key is not None else None
        wait = max(0.001, min(current_job().remaining(), self._relay.timeout))
        return self._target.handing_over(self._relay.work, (row,), key=key, wait=wait)
