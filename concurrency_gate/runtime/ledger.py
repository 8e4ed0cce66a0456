"""The accounts of one pool: each accepted job is entered once, when it ends."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .handle import Outcome

if TYPE_CHECKING:
    from .pool import Pool

NAMES = 256
"""Failures are counted by job name for this many names; the rest are counted as `(other)`."""


@dataclass(frozen=True, slots=True)
class PoolStats:
    """A moment of one pool. `submitted` = the six outcomes + pending + running, always.

    Gauges: `running` (jobs at work that are in time), `pending` (waiting for a slot, a key, a retry or a
    snooze), `stuck` (past the deadline and still holding their slot), `oldest_age` (seconds since the oldest
    pending job came; 0 if none). Counters since the start: `submitted`, the outcomes `done`, `failed`,
    `timed_out`, `cancelled`, `declined` (ended by Refuse) and `dropped` (still waiting at the stop); and
    `refused` (found no room), `retried`, `snoozed`, `overran` (became stuck).
    """

    name: str
    kind: str
    max_workers: int
    max_pending: int
    timeout: float
    running: int
    pending: int
    stuck: int
    oldest_age: float
    submitted: int
    done: int
    failed: int
    timed_out: int
    cancelled: int
    declined: int
    dropped: int
    refused: int
    retried: int
    snoozed: int
    overran: int
    failures: dict[str, int]


class Ledger:
    """Counters, guarded by the lock of the pool they belong to."""

    __slots__ = ("done", "failures", "outcomes", "overran", "refused", "retried", "snoozed")

    def __init__(self) -> None:
        self.done = self.refused = self.retried = self.snoozed = self.overran = 0
        self.outcomes = dict.fromkeys(Outcome, 0)  # all but `done`, which is the common case
        self.failures: dict[str, int] = {}

    def ended(self, name: str, outcome: Outcome) -> None:
        self.outcomes[outcome] += 1
        if outcome is Outcome.FAILED or outcome is Outcome.TIMED_OUT:
            known = name if name in self.failures or len(self.failures) < NAMES else "(other)"
            self.failures[known] = self.failures.get(known, 0) + 1

    def balance(self, pool: Pool, *, oldest: float | None) -> PoolStats:
        """The moment's stats."""
        busy = len(pool._running)
        told = sum(handle._outcome is not None for handle in pool._running)
        return PoolStats(
            name=pool.name,
            kind=pool.kind,
            max_workers=pool.max_workers,
            max_pending=pool.max_pending,
            timeout=pool.timeout,
            running=busy - told,
            pending=pool._size - busy,
            stuck=len(pool._stuck),
            oldest_age=0.0 if oldest is None else time.monotonic() - oldest,
            submitted=self.done + sum(self.outcomes.values()) + pool._size - told,
            done=self.done,
            failed=self.outcomes[Outcome.FAILED],
            timed_out=self.outcomes[Outcome.TIMED_OUT],
            cancelled=self.outcomes[Outcome.CANCELLED],
            declined=self.outcomes[Outcome.DECLINED],
            dropped=self.outcomes[Outcome.DROPPED],
            refused=self.refused,
            retried=self.retried,
            snoozed=self.snoozed,
            overran=self.overran,
            failures=dict(self.failures),
        )
