"""The end of a Runtime, phase by phase, each logged with its counts.

1. Relays and periodic jobs make no further pass, and the passes under way end.
2. The queues claim nothing more: what waits is dropped.
3. What runs is asked to stop and has the rest of the grace.
4. What still runs is cancelled.
5. What did not end is reported by name.

A second signal skips the rest of the phase that waits just then; so does each further one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from .job import StopToken
from .pool import CANCEL_PATIENCE, Pool
from .records import INFO, WARNING, record
from .ticker import Ticker
from .wakeup import Register, Steps, all_of, first_of


@dataclass(frozen=True)
class Ended:
    """What the shutdown came to: jobs dropped before they began, jobs cancelled, and the names of those
    that did not end even then; and the seconds it took.
    """

    dropped: int
    cancelled: int
    unfinished: tuple[str, ...]
    seconds: float


class Shutdown:
    """Carries the phases out, once. `hurry` may be called from a signal handler."""

    def __init__(
        self,
        tickers: Sequence[Ticker],
        passes: Sequence[Pool],
        pools: Sequence[Pool],
        last: Sequence[Pool],
        grace: float,
    ) -> None:
        self._tickers = tickers
        self._passes = passes
        self._pools = pools
        self._last = last
        self._grace = grace
        self._hurry = StopToken()

    def hurry(self) -> None:
        """Skip the rest of the wait."""
        self._hurry.stop("asked to hurry")

    def steps(self, reason: str) -> Steps[Ended]:
        """The phases."""
        began = time.monotonic()
        until = began + self._grace

        def left() -> float:
            return max(0.0, until - time.monotonic())

        def reached(phase: str, **counts: object) -> None:
            fields = {**counts, "seconds": round(time.monotonic() - began, 3)}
            record(INFO, f"shutdown: {phase}", error=None, **fields)

        record(INFO, "shutdown begins", reason=reason, grace=f"{self._grace:g}")
        for ticker in self._tickers:
            ticker.stop()
        for pool in self._passes:
            pool.close()
            pool.drop_waiting()  # a pass that has not begun: an earlier one is stuck
            pool.token.stop(reason, grace=left())
        yield self._idle(self._passes), left()
        reached("relays and periodic jobs have stopped", count=len(self._tickers))

        for pool in self._pools:
            pool.close()
        dropped = sum(pool.drop_waiting() for pool in self._pools)
        reached("queues claim nothing more", dropped=dropped)

        everything = [*self._passes, *self._pools, *self._last]
        running = sum(len(pool.unfinished()) for pool in everything)
        for pool in (*self._pools, *self._last):
            pool.token.stop(reason, grace=left())
        yield self._idle(everything), left()
        for pool in self._last:  # open until now: a job that ends in its grace may still detach something
            pool.close()
            dropped += pool.drop_waiting()
        cancelled = sum(pool.cancel_running("the grace is over") for pool in everything)
        reached("the grace of running jobs is over", ended=running - cancelled, cancelled=cancelled)

        if cancelled:
            yield self._idle(everything), CANCEL_PATIENCE
        unfinished = tuple(name for pool in everything for name in pool.abandon())
        for pool in everything:
            pool.retire()
        if unfinished:
            record(WARNING, "shutdown: jobs did not end", count=len(unfinished), jobs=", ".join(unfinished))
        reached("done", unfinished=len(unfinished))
        return Ended(dropped, cancelled, unfinished, time.monotonic() - began)

    def _idle(self, pools: Sequence[Pool]) -> Register:
        if self._hurry.stopping:  # one hurry skips one wait
            self._hurry = StopToken()
            return all_of()
        return first_of(all_of(*(pool.on_idle for pool in pools)), self._hurry.on_stop)
