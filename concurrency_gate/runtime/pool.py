"""What all pools have in common: who is let in, what the clock does, and how a pool comes to its end."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from time import monotonic
from typing import Any, ClassVar, NoReturn

from . import context, fork
from .aftermath import keep_key
from .bounds import PENDING, WORKERS, call, kind, patience, seconds, text, whole
from .clock import RESOLUTION, clock
from .errors import JobCancelled, PoolFull, Stopping
from .handle import Handle, Outcome, name_of, not_callable
from .job import Job, Root, _current, current_job
from .lease import KeyLease
from .ledger import PoolStats
from .records import WARNING, record
from .retry import ONCE, Retry
from .slots import AnyHandle, OnDead, Slots, send
from .verdict import may_retry, overrun
from .wakeup import Steps, Withdraw, first_of

MAX_PENDING = 100
"""How many jobs may wait for a pool that was given no `max_pending`."""
CANCEL_PATIENCE = 1.0
"""Seconds that a stopping pool waits for jobs which were cancelled after the grace."""


Loops = tuple[asyncio.AbstractEventLoop | None, asyncio.AbstractEventLoop | None]


class Pool(Slots):
    """Base of `ThreadPool`, `AsyncPool` and `ProcessPool`. At most `max_workers` jobs run and `max_pending`
    wait; thread-safe.
    """

    kind: ClassVar[str]
    stuck_after: ClassVar[float]
    """Seconds from the interruption of an overrunning job to calling it stuck."""

    def __init__(
        self,
        name: str,
        *,
        max_workers: int,
        timeout: float,
        max_pending: int = MAX_PENDING,
        retry: Retry = ONCE,
        on_dead: OnDead | None = None,
        lease: KeyLease | None = None,
    ) -> None:
        self.name = text("name", name)
        self.max_workers = whole("max_workers", max_workers, 1, WORKERS)
        self.max_pending = whole("max_pending", max_pending, 0, PENDING)
        self.timeout = seconds("timeout", timeout)
        self.retry = kind("retry", retry, Retry)
        self.on_dead = call("on_dead", on_dead, optional=True)
        self.lease = kind("lease", lease, KeyLease, type(None))
        self._capacity = max_workers + max_pending
        self._reset()
        fork.watch(self)

    def after_fork(self) -> None:
        """In a forked child the pool is empty and starts workers of its own. The jobs stay with the parent:
        here, their handles say `cancelled`, or who waits for one would wait for ever.
        """
        left = [*self._running, *self._waiting()]
        self._reset()
        for handle in left:
            if handle._outcome is None:
                handle._error = JobCancelled(f"job {handle.name!r} stays with the parent of this process")
                handle._outcome, handle._callbacks = Outcome.CANCELLED, None

    # Letting in.

    def _admit(
        self,
        call: Callable[..., Any],
        args: tuple[Any, ...],
        key: str | None,
        name: str | None,
        inherit: bool,
        timeout: float = 0.0,
        loop: asyncio.AbstractEventLoop | None = None,
        here: asyncio.AbstractEventLoop | None = None,
    ) -> AnyHandle | None:
        """Let the job in, or None if there is no room. `loop` is to run it, `here` runs the caller."""
        if not callable(call):
            raise not_callable(call)
        if name is None:
            name = getattr(call, "__qualname__", None) or name_of(call)
        elif type(name) is not str:
            text("name", name)
        handle: AnyHandle = Handle(self, call, args, name, timeout or self.timeout, loop)
        if key is not None:
            handle.key = text("key", key)
        if context.declared:
            handle._carried = context.snapshot()
        now = monotonic()
        due = now + handle.timeout
        if inherit:
            caller = _current.get()
            if type(caller) is not Root:
                handle._caller, handle._inherited = caller, caller._due
                due = min(due, caller._due)
        lock = self.lock
        lock.acquire()  # spelled out here and in `_end`: `with` takes twice as long
        try:
            if self._closed:
                raise Stopping(f"pool {self.name!r} takes no more jobs: it is stopping")
            if self._size >= self._capacity:
                return None
            self._size += 1
            if key is None and len(self._running) < self.max_workers:
                self._grant(handle, due)
                start = True
            else:
                start = self._place(handle, now)
        finally:
            lock.release()
        if start:
            self._launch(handle, here)
        return handle

    def _loops(self) -> Loops:
        """The event loop that is to run a job submitted here, and the one that runs here."""
        return None, None

    def hand_over(
        self,
        call: Callable[..., Any],
        args: tuple[Any, ...],
        name: str,
        timeout: float,
        key: str | None = None,
    ) -> AnyHandle:
        """As `submit`, for a job without a caller and with a timeout of its own."""
        return self._admit(call, args, key, name, False, timeout, *self._loops()) or self._refuse()

    def handing_over(
        self, call: Callable[..., Any], args: tuple[Any, ...], *, key: str | None, wait: float
    ) -> Steps[AnyHandle]:
        """The steps of submitting a job without a caller, waiting up to `wait` seconds for room."""
        return self._admitting(wait, call, args, key, None, False, 0.0, *self._loops())

    @property
    def room(self) -> int:
        """How many jobs would be let in now; 0 when closed."""
        return 0 if self._closed else max(0, self._capacity - self._size)

    def _refuse(self) -> NoReturn:
        with self.lock:
            self._ledger.refused += 1
            busy = len(self._running)
            waiting = self._size - busy
        raise PoolFull(
            f"pool {self.name!r} is full: {busy} of {self.max_workers} workers busy, "
            f"{waiting} of {self.max_pending} jobs waiting"
        )

    def _admitting(self, timeout: float, *admission: Any) -> Steps[AnyHandle]:
        """The steps of letting a job in that may wait up to `timeout` seconds for room, and no longer than the
        current job has.
        """
        until = monotonic() + seconds("timeout", timeout)
        job = current_job()
        try:
            while True:
                handle = self._admit(*admission)
                if handle is not None:
                    return handle
                job.check()
                left = min(until - monotonic(), job.remaining())
                if left <= 0.0:
                    self._refuse()
                yield first_of(self.on_room, job.on_stop), left
        except BaseException:
            self._signal_room()  # this caller may have been the one that was told of room
            raise

    def _signal_room(self) -> None:
        with self.lock:
            signals = self._signals()
        send(signals)

    def on_room(self, callback: Callable[[], object]) -> Withdraw:
        """Call `callback()` once when a job would be let in or the pool is closed; at once if that is so."""
        with self.lock:
            full = self._size >= self._capacity and not self._closed
            if full:
                self._room.append(callback)
        if not full:
            callback()
        return lambda: self._withdraw(callback)

    def _withdraw(self, callback: Callable[[], object]) -> None:
        with self.lock:
            if callback in self._room:
                self._room.remove(callback)
            if callback in self._idle:
                self._idle.remove(callback)

    # Deadlines.

    def sweep(self, now: float) -> None:
        """Called by the clock: interrupt what overran, fail what can no longer start, start what is due
        again.
        """
        told: list[AnyHandle] = []
        overran: list[tuple[AnyHandle, Job, Any]] = []
        stuck: list[AnyHandle] = []
        kept: list[AnyHandle] = []  # holds a key that must not be taken by another while it lives
        started: list[AnyHandle] = []
        with self.lock:
            self._look_at = math.inf
            for handle in [one for one in self._waiting() if one._inherited <= now]:
                self._take_out(handle)
                self._settle(handle, Outcome.TIMED_OUT, overrun(handle))
                told.append(handle)
            for handle in [one for one, at in self._delayed.items() if at <= now]:
                del self._delayed[handle]
                if self._place(handle, now):
                    started.append(handle)
            for handle in [one for one in self._running if _look(one) <= now]:
                if not handle._overran:
                    handle._overran, handle._look = True, now + self.stuck_after
                    handle._ending = handle._ending or f"its timeout of {handle.timeout:g} s has passed"
                    overran.append((handle, handle._own_job(), handle._runner))
                    if handle._outcome is None and (self._final or not may_retry(self.retry, handle)):
                        self._settle(handle, Outcome.TIMED_OUT, overrun(handle))
                        told.append(handle)
                if handle._look <= now:
                    if handle not in self._stuck:
                        self._stuck.add(handle)
                        self._ledger.overran += 1
                        stuck.append(handle)
                    claim = handle._claim
                    handle._look = math.inf
                    if claim is not None and claim.remaining() > 0.0:
                        handle._look = now + claim.lasting / 3
                        kept.append(handle)
            self._look_again(now)
            signals = self._signals()
        for handle, job, runner in overran:
            job.stop(handle._ending or "")
            self._interrupt(handle, runner)
        for handle in stuck:
            record(WARNING, "job is stuck", pool=self.name, job=handle.name, stack=self._where(handle))
        for handle in kept:
            keep_key(handle)
        for handle in told:
            self._tell(handle)
        for handle in started:
            self._launch(handle, None)
        send(signals)

    def _look_again(self, now: float) -> None:
        """Ask for the next look. The lock is held."""
        at = min(
            min(map(_look, self._running), default=math.inf),
            min((handle._inherited for handle in self._waiting()), default=math.inf),
            min(self._delayed.values(), default=math.inf),
        )
        if at < math.inf:
            self._arm(max(at, now + RESOLUTION))

    # The end.

    def close(self) -> None:
        """Take no more jobs: `submit` raises `Stopping`. What was let in goes on. Idempotent, does not
        block."""
        with self.lock:
            self._closed = True
            waiting = list(self._room)
            self._room.clear()
            signals = [*waiting, *self._signals()]
        send(signals)

    def drop_waiting(self) -> int:
        """End every job that has no slot, outcome `dropped`; returns how many. Does not block.

        In a closed pool that is final: a job that runs gets no further attempt either.
        """
        with self.lock:
            self._final = self._closed
            dropped = list(self._waiting())
            for handle in dropped:
                self._take_out(handle)
            for handle in dropped:
                self._settle(handle, Outcome.DROPPED, JobCancelled(f"job {handle.name!r} was dropped: stop"))
            signals = self._signals()
        for handle in dropped:
            self._tell(handle)
        send(signals)
        return len(dropped)

    def cancel_running(self, reason: str) -> int:
        """Ask every running job to end and interrupt what can be; returns how many. Does not block."""
        with self.lock:
            running = list(self._running)
        return sum(self.cancel(handle, reason) for handle in running)

    def unfinished(self) -> list[str]:
        """The names of the jobs that hold a slot, stuck ones included."""
        with self.lock:
            return [handle.name for handle in self._running]

    def abandon(self) -> list[str]:
        """Stop waiting for what is still running: their callers are told `cancelled`. Returns the names."""
        with self.lock:
            left = list(self._running)
            told = [handle for handle in left if handle._outcome is None]
            for handle in told:
                self._settle(handle, Outcome.CANCELLED, JobCancelled(f"job {handle.name!r} was abandoned"))
        for handle in told:
            self._tell(handle)
        return [handle.name for handle in left]

    def on_idle(self, callback: Callable[[], object]) -> Withdraw:
        """Call `callback()` once no job is left but stuck ones; at once if that is so."""
        with self.lock:
            idle = self._size <= len(self._stuck)
            if not idle:
                self._idle.append(callback)
        if idle:
            callback()
        return lambda: self._withdraw(callback)

    def draining(self, timeout: float | None) -> Steps[bool]:
        """The steps of `drain`."""
        limit = patience("timeout", timeout)
        self.close()
        yield self.on_idle, limit
        with self.lock:
            empty = self._size <= len(self._stuck)
        if empty:
            self.abandon()
            self.retire()
        return empty

    def stopping(self, grace: float) -> Steps[list[str]]:
        """The steps of `stop`."""
        limit = patience("grace", grace) or 0.0
        self.close()
        self.drop_waiting()
        self.token.stop(f"pool {self.name!r} is stopping", grace=limit)
        yield self.on_idle, limit
        self.cancel_running("the grace is over")
        yield self.on_idle, CANCEL_PATIENCE
        unfinished = self.abandon()
        self.retire()
        return unfinished

    def retire(self) -> None:
        """Let the workers go; idempotent. `drain`, `stop` and a Runtime's end call it on a closed pool."""
        clock.forget(self)

    def stats(self) -> PoolStats:
        """The pool's accounts at this moment. Does not block."""
        with self.lock:
            oldest = min((handle._since for handle in self._waiting()), default=None)
            return self._ledger.balance(self, oldest=oldest)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: {len(self._running)} of {self.max_workers} busy>"


def _look(handle: AnyHandle) -> float:
    """When the clock should look at a running job: at its deadline, and then as it was decided."""
    return handle._look if handle._overran else handle._due
