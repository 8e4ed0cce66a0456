"""How often a job is tried, and how long between two attempts."""

from __future__ import annotations

import random
from dataclasses import dataclass

from .bounds import seconds, whole

MAX_ATTEMPTS = 1000


@dataclass(frozen=True)
class Retry:
    """Try up to `max_attempts` times in all. Waits `backoff` seconds after the first failure, twice that
    after the second, and so on up to `max_backoff`, each shortened at random by up to `jitter` of itself.

    An exception or an overrun spends an attempt; `Refuse` ends the job at once; `Snooze` and a busy key spend
    none. Immutable, thread-safe.
    """

    max_attempts: int = 1
    backoff: float = 1.0
    max_backoff: float = 300.0
    jitter: float = 0.1

    def __post_init__(self) -> None:
        whole("max_attempts", self.max_attempts, 1, MAX_ATTEMPTS)
        seconds("backoff", self.backoff)
        seconds("max_backoff", self.max_backoff)
        if not isinstance(self.jitter, int | float):
            raise TypeError(f"jitter must be from 0 to 1, not {self.jitter!r}")
        if not 0.0 <= self.jitter <= 1.0:
            raise ValueError(f"jitter must be from 0 to 1, not {self.jitter!r}")

    def delay(self, attempt: int) -> float:
        """Seconds to wait after attempt number `attempt` (counted from 1) has failed."""
        whole_delay = min(self.max_backoff, self.backoff * 2.0 ** min(attempt - 1, 60))
        return whole_delay * (1.0 - self.jitter * random.random())


ONCE = Retry()
