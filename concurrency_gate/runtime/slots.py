"""The slots of a pool: which jobs have one, which wait for one, and what happens when a job ends.

A job waits in line, or parked behind a busy key, or for its next attempt. Then it takes one of `max_workers`
slots and keeps it until its work has really ended, whatever its caller was told meanwhile: bounded means
bounded.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

from .aftermath import report
from .clock import clock
from .errors import JobCancelled
from .handle import DONE, Handle, Outcome
from .job import StopToken
from .keys import Keys
from .lease import KeyLease
from .ledger import Ledger
from .records import INFO, guarded, record
from .retry import Retry
from .verdict import verdict

AnyHandle = Handle[Any]
OnDead = Callable[[AnyHandle], object]
Signals = list[Callable[[], object]]


class Slots:
    """The part of a pool that one lock guards. Every method says whether it wants the lock held."""

    name: str
    max_workers: int
    retry: Retry
    on_dead: OnDead | None
    lease: KeyLease | None
    alarm = False
    """Whether a dead job is logged as an error even when somebody waits for it."""
    _capacity: int

    def _reset(self) -> None:
        self.lock = threading.RLock()  # entered faster than a Lock, and a finaliser may submit
        self.token = StopToken()
        self._closed = False  # takes no more jobs
        self._final = False  # nothing will run but what runs already
        self._size = 0  # jobs let in whose room is not free again
        self._ready: OrderedDict[AnyHandle, None] = OrderedDict()
        self._delayed: dict[AnyHandle, float] = {}
        self._running: dict[AnyHandle, None] = {}  # who has a slot
        self._stuck: set[AnyHandle] = set()
        self._keys = Keys()
        self._ledger = Ledger()
        self._room: deque[Callable[[], object]] = deque()  # who waits for room
        self._idle: Signals = []  # who waits for the last job
        self._look_at = math.inf  # when the clock comes next

    # What a kind of pool knows: how to start a job, how to end it, where it stands. Called without the lock.

    def _launch(self, handle: AnyHandle, here: asyncio.AbstractEventLoop | None) -> None:
        """Start the job, which has a slot; `here` is the event loop that runs here, if known. Must not
        raise."""
        raise NotImplementedError

    def _interrupt(self, handle: AnyHandle, runner: Any) -> None:
        """End what runs in `runner`, if that is possible. Any thread. Must not raise."""

    def _where(self, handle: AnyHandle) -> str:
        """Where a stuck job stands, as the lines of a stack."""
        raise NotImplementedError

    # Taking a slot. The lock is held.

    def _place(self, handle: AnyHandle, now: float) -> bool:
        """Give the job a slot (True) or a place in line."""
        key = handle.key
        handle._since = now
        if key is not None and not self._keys.take(key, handle):
            self._ledger.snoozed += 1
        elif len(self._running) < self.max_workers:
            self._grant(handle, self._due(handle, now))
            return True
        else:
            self._ready[handle] = None
        if handle._inherited < self._look_at:
            self._arm(handle._inherited)
        return False

    def _due(self, handle: AnyHandle, now: float) -> float:
        """The deadline of a job that has waited until now, and may have been looked at meanwhile."""
        due = min(now + handle.timeout, handle._inherited)
        if handle._job is not None:
            handle._job._due = due
        return due

    def _grant(self, handle: AnyHandle, due: float) -> None:
        """The job has a slot, and may keep it until `due`: its timeout runs from here."""
        handle._due = due
        self._running[handle] = None
        if due < self._look_at:
            self._arm(due)

    def _arm(self, at: float) -> None:
        """Ask the clock to come at the monotonic time `at`, or earlier."""
        if at < self._look_at and clock.look(self, at):
            self._look_at = at

    def sweep(self, now: float) -> None:
        """Called by the clock."""
        raise NotImplementedError

    def _waiting(self) -> Iterator[AnyHandle]:
        """The jobs without a slot."""
        yield from self._ready
        yield from self._delayed
        yield from self._keys.waiting()

    # Giving it back.

    def _end(self, handle: AnyHandle, value: Any, error: BaseException | None) -> AnyHandle | None:
        """The work has ended; returns the job that has its slot now, to be launched. Without the lock."""
        following: AnyHandle | None = None
        signals: Signals | None = None
        late = False
        now = 0.0
        if error is not None:
            now = monotonic()
            judged = verdict(self.retry, handle, error, now)
        handle._runner = None  # a task, its context, the handle: a cycle that only the collector would end
        lock = self.lock
        lock.acquire()
        try:
            if self._running.pop(handle, self) is self:
                return None  # a job that forked: in the child it has returned to a pool that begins anew
            if self._stuck and handle in self._stuck:
                self._stuck.discard(handle)
                late = True
            if handle.key is not None:
                self._hand_on_key(handle)
            tell = handle._outcome is None  # else its caller was told before it ended
            if not tell:
                self._size -= 1
            elif error is None:
                self._size -= 1
                self._ledger.done += 1
                handle._value = value
                handle._outcome = DONE
                tell = handle._callbacks is not None
            elif judged.again is None or self._final:
                self._size -= 1
                self._settle(handle, judged.outcome, judged.error)
            else:
                tell = False
                self._try_again(handle, now + judged.again, spent=judged.spent)
            if self._ready:
                following, _ = self._ready.popitem(last=False)
                self._grant(following, self._due(following, now or monotonic()))
            if self._room or self._idle:
                signals = self._signals()
        finally:
            lock.release()
        if late:
            record(INFO, "a stuck job has ended", pool=self.name, job=handle.name)
        if tell:
            self._tell(handle)
        if signals:
            send(signals)
        return following

    def _try_again(self, handle: AnyHandle, at: float, *, spent: bool) -> None:
        """Put the job aside until the monotonic time `at`. The lock is held."""
        handle.attempt += spent
        handle._job, handle._due = None, math.inf
        handle._overran, handle._ending, handle._runner = False, None, None
        self._ledger.retried += spent
        self._ledger.snoozed += not spent
        self._delayed[handle] = at
        handle._since = monotonic()
        self._arm(min(at, handle._inherited))

    def _settle(self, handle: AnyHandle, outcome: Outcome, error: BaseException) -> None:
        """Enter an outcome that is not `done`. The lock is held; `_tell` follows when it is not."""
        handle._error = error
        handle._outcome = outcome
        self._ledger.ended(handle.name, outcome)

    def _tell(self, handle: AnyHandle) -> None:
        """Wake whoever waits for the job, and log what nobody else would see. Without the lock."""
        callbacks, handle._callbacks = handle._callbacks, None
        if callbacks:
            send(callbacks)
        if handle._outcome is not DONE:
            report(self, handle, watched=bool(callbacks))

    def _hand_on_key(self, handle: AnyHandle) -> None:
        """The next job with the same key joins the line. The lock is held."""
        holder = self._keys.release(handle.key or "", handle)
        if holder is not None:
            self._ready[holder] = None

    def _signals(self) -> Signals:
        """Whom to wake now that something has ended. The lock is held; `send` follows when it is not."""
        room = max(0, min(self._capacity - self._size, len(self._room)))
        signals = [self._room.popleft() for _ in range(room)]
        if self._size <= len(self._stuck):
            signals += self._idle
            self._idle.clear()
        return signals

    # Cancelling.

    def cancel(self, handle: AnyHandle, reason: str) -> bool:
        """See `Handle.cancel`. Without the lock."""
        with self.lock:
            if handle._outcome is not None:
                return False
            handle._ending, handle._given_up = handle._ending or reason, True
            waiting = self._take_out(handle)
            if waiting:
                self._settle(handle, Outcome.CANCELLED, JobCancelled(f"job {handle.name!r}: {reason}"))
            signals = self._signals()
        if waiting:
            self._tell(handle)
        else:
            handle.job.stop(reason)
            self._interrupt(handle, handle._runner)
        send(signals)
        return True

    def _take_out(self, handle: AnyHandle) -> bool:
        """Take a job that has no slot out of its line; False if it has one. The lock is held."""
        key = handle.key
        if handle in self._ready:
            del self._ready[handle]
            if key is not None:
                self._hand_on_key(handle)
        elif handle in self._delayed:
            del self._delayed[handle]
        elif key is None or not self._keys.unpark(key, handle):
            return False
        self._size -= 1
        return True


def send(signals: Signals) -> None:
    """Call each; what one raises is logged and keeps none of the others from being called."""
    for signal in signals:
        guarded(signal, "a callback")
