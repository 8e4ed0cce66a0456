"""At most one in flight per key, across processes: a row that says until when a key is busy.

A claim is one conditional statement outside any transaction, timed by the database's clock. Whoever holds a
key and dies, however suddenly, loses it when the lease runs out; nobody has to notice. So the lease must
outlast the work: a `KeyLease` knows the timeout of its jobs and refuses to be shorter.

    lease = KeyLease(SQLiteLeases("leases.db"), timeout=15)
    with lease.hold("customer:42") as claim:
        settle(claim.attempt)
"""

from __future__ import annotations

import asyncio
import math
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from . import bounds
from .errors import JobCancelled, LeaseTooShort, Refuse, RuntimeLibraryError, Snooze, Stopping, snooze_of
from .records import ERROR, WARNING, record
from .reload import is_a


class LeaseUnavailable(RuntimeLibraryError):  # noqa: N818
    """The lease's database did not answer. Whether the key is ours is not known; a lease runs out."""


class LeaseStore(Protocol):
    """Where leases live. Every method is one round trip, blocks, is thread-safe, and raises
    `LeaseUnavailable`.

    An `owner` is unique to one claim; what names another owner than the row's changes nothing and gives
    False.
    """

    def claim(self, key: str, owner: str, seconds: float) -> int | None:
        """Make `key` busy for `seconds` and count an attempt: which it is, or None if the key is busy."""

    def extend(self, key: str, owner: str, seconds: float) -> bool:
        """Let the lease run out `seconds` from now."""

    def postpone(self, key: str, owner: str, seconds: float, *, spent: bool) -> bool:
        """Give the key up, to be claimed again in `seconds`; without `spent`, give the attempt back too."""

    def release(self, key: str, owner: str) -> bool:
        """Give the key up and forget its attempts."""

    def purge(self, idle: float) -> int:
        """Forget the keys that have been free for `idle` seconds, with their attempts; how many they were."""

    def close(self) -> None:
        """Give up what the store has open. A later operation opens it again."""


class KeyBusy(Snooze):
    """Another holds the key. Let it end the job: a pool then snoozes the job and spends no attempt on it."""

    def __init__(self, key: str, seconds: float) -> None:
        super().__init__(seconds)
        self.key = key

    def __str__(self) -> str:
        return f"key {self.key!r} is in flight elsewhere; try again in {self.seconds:g} s"


class KeyLease:
    """Claims keys for jobs that take at most `timeout` seconds and, when stopped, `grace` seconds more.

    `seconds` is the length of a lease; by default `timeout + grace` and a tenth more, for the statement's
    way. `LeaseTooShort` (a ValueError) if a lease would not outlast `timeout + grace`: a second holder would
    come in while the first is still at work. Thread-safe. `claim` and `hold` block for a round trip to the
    store: call them in a thread pool, not on an event loop, and outside your own transactions.
    """

    def __init__(
        self, store: LeaseStore, *, timeout: float, grace: float = 20.0, seconds: float | None = None
    ) -> None:
        needed = bounds.seconds("timeout", timeout) + (bounds.seconds("grace", grace) if grace else 0.0)
        lasting = bounds.patience("seconds", needed * 1.1 if seconds is None else seconds) or 0.0
        if not needed < lasting < math.inf:
            raise LeaseTooShort(
                f"seconds must be finite and more than timeout + grace ({timeout:g} + {grace:g}), not"
                f" {lasting:g}: the lease would run out under a job that is still at work"
            )
        self.store = store
        self.timeout = timeout
        self.seconds = lasting

    def claim(self, key: str) -> Claim | None:
        """Take `key` for `seconds`, or None if it is busy. Blocks for a round trip; raises
        `LeaseUnavailable`.

        The attempt is counted here, before the work: a job that kills its process has spent one all the same.
        """
        bounds.text("key", key)
        owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(8)}"
        asked = time.monotonic()
        attempt = self.store.claim(key, owner, self.seconds)
        return None if attempt is None else Claim(self, key, owner, attempt, asked + self.seconds)

    @contextmanager
    def hold(self, key: str, *, snooze: float = 1.0, max_attempts: float = math.inf) -> Iterator[Claim]:
        """Claim `key` for the block, or raise `KeyBusy`, which asks the pool to come back in `snooze`
        seconds.

        How the block ends settles the claim; see `Claim.settle`.
        """
        busy = KeyBusy(key, snooze)
        claim = self.claim(key)
        if claim is None:
            raise busy
        try:
            yield claim
        except BaseException as error:
            claim.settle(error, max_attempts)
            raise
        claim.settle()


class Claim:
    """One key, held until it is settled or the lease runs out. Thread-safe; every method blocks for a round
    trip.

    `attempt` counts from 1 and grows with every claim of the key since it was last released: by a job that
    failed and was postponed, and by one whose process died.

    Nothing renews a claim by itself: jobs have a timeout. `extend` is for the one case where work outlives
    it, a thread that cannot be stopped: its pool extends the claim for as long as it watches that thread.

    Each of the three returns False if the claim was lost, that is, it ran out and another took the key. (Also
    if the answer to an earlier sending of the same statement was lost with the connection.)
    """

    def __init__(self, lease: KeyLease, key: str, owner: str, attempt: int, until: float) -> None:
        self.key = key
        self.owner = owner
        self.attempt = attempt
        self._lease = lease
        self._until = until
        self._lock = threading.Lock()
        self._settled = False

    @property
    def lasting(self) -> float:
        """Seconds from `extend` to the lease's end."""
        return self._lease.seconds

    def remaining(self) -> float:
        """Seconds for which the key is surely still ours (never negative). Does not block."""
        return max(0.0, self._until - time.monotonic())

    def extend(self) -> bool:
        """Start the lease anew, from now. Does nothing once the claim is settled, and gives False."""
        with self._lock:
            if self._settled:
                return False
            asked = time.monotonic()
            if not self._lease.store.extend(self.key, self.owner, self._lease.seconds):
                return self._lost()
            self._until = asked + self._lease.seconds
        return True

    def release(self) -> bool:
        """The work is settled, well or for good: free the key and forget its attempts."""
        with self._lock:
            self._settled = self._lease.store.release(self.key, self.owner)
            return self._settled or self._lost()

    def postpone(self, seconds: float = 0.0, *, spent: bool) -> bool:
        """The work is to be done again: free the key in `seconds`, by the database's clock.

        `spent`: whether this attempt counts. A failure spends it; a snooze, or a stop that interrupted the
        work, does not.
        """
        if not seconds >= 0:
            raise ValueError(f"seconds must be 0 or more, not {seconds!r}")
        with self._lock:
            self._settled = self._lease.store.postpone(self.key, self.owner, seconds, spent=spent)
            return self._settled or self._lost()

    def settle(self, error: BaseException | None = None, max_attempts: float = math.inf) -> None:
        """Settle by how the work ended, of which `error` tells.

        No error, or `Refuse`, releases the key; `Snooze`, `Stopping` and cancellation postpone it and give
        the attempt back; anything else postpones it with the attempt spent, or releases it if that was the
        last of `max_attempts`. If the store does not answer, that is logged: the work's own outcome counts,
        and the lease runs out.
        """
        try:
            snoozed = snooze_of(error)
            if snoozed is not None:
                self.postpone(snoozed, spent=False)
            elif is_a(error, *_INTERRUPTIONS):
                self.postpone(spent=False)
            elif error is None or is_a(error, Refuse) or self.attempt >= max_attempts:
                self.release()
            else:
                self.postpone(spent=True)
        except LeaseUnavailable as unavailable:
            record(ERROR, "a lease could not be given up and will run out by itself", error=unavailable)

    def _lost(self) -> bool:
        record(
            WARNING, "a lease ran out and is no longer ours", key=self.key, lasted=f"{self._lease.seconds:g}"
        )
        return False


_INTERRUPTIONS = (Stopping, JobCancelled, asyncio.CancelledError, KeyboardInterrupt)
"""What ends work that nobody can blame."""
