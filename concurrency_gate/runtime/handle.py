"""What the caller holds of a job: cancel it, wait for it, ask how it ended."""

from __future__ import annotations

import asyncio
import functools
import math
from collections.abc import Callable, Generator
from enum import StrEnum
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .bounds import call, patience
from .errors import JobCancelled
from .job import Job, Scope
from .records import guarded
from .wakeup import Withdraw, block, call_soon

if TYPE_CHECKING:
    from .context import Carried
    from .lease import Claim
    from .slots import Slots

T = TypeVar("T")


class Outcome(StrEnum):
    """How a job ended. Every job that was accepted ends in exactly one of them."""

    DONE = "done"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    DECLINED = "declined"  # it raised Refuse
    DROPPED = "dropped"  # it was still waiting when its pool was stopped


DONE = Outcome.DONE  # looking a member up is slow on Python 3.11, and this one is wanted for every job


class Handle(Generic[T]):
    """One accepted job. Thread-safe; awaitable from any event loop.

    `await handle` gives the result or raises what the job raised: `JobTimeout` for an overrun, `JobCancelled`
    for a job that was cancelled or dropped. Giving up waiting does not end the job: `cancel` does.
    """

    # Slots for what every job needs. What most never need stands in the class until one does: filling it
    # for all would take as long as the rest of a submit.
    __slots__ = (
        "__dict__",
        "__weakref__",
        "_args",
        "_call",
        "_callbacks",
        "_due",
        "_loop",
        "_outcome",
        "_pool",
        "_runner",
        "_value",
        "key",
        "name",
        "timeout",
    )

    attempt = 1
    _caller: Scope | None = None
    _inherited = math.inf  # the caller's deadline, which every attempt keeps
    _carried: Carried = ()
    _claim: Claim | None = None  # the lease of its key, while it holds that
    _since = 0.0  # when it came, if it had to wait
    _overran = False
    _look = math.inf  # when the clock should look at it again, if it overran
    _ending: str | None = None  # why it was told to end, once it was
    _given_up = False  # it was cancelled: there will be no other attempt
    _job: Job | None = None
    _error: BaseException | None = None

    def __init__(
        self,
        pool: Slots,
        call: Callable[..., Any],
        args: tuple[Any, ...],
        name: str,
        timeout: float,
        loop: asyncio.AbstractEventLoop | None,
    ) -> None:
        self._pool = pool
        self._call = call
        self._args = args
        self.key: str | None = None
        self.name = name
        self.timeout = timeout
        self._loop = loop
        self._due = math.inf  # the deadline of this attempt
        self._runner: Any = None  # the task or the worker it runs in
        self._outcome: Outcome | None = None
        self._value: Any
        self._callbacks: list[Callable[[], object]] | None = None

    @property
    def job(self) -> Job:
        """The job as it sees itself: what `current_job()` gives inside it. Made when first asked for."""
        job = self._job
        if job is None:
            with self._pool.lock:
                job = self._own_job()
        return job

    def _own_job(self) -> Job:
        """As `job`; the pool's lock is held."""
        job = self._job
        if job is None:
            above = (self._pool.token,) if self._caller is None else (self._pool.token, self._caller.job)
            job = self._job = Job(self.name, *above, due=self._due, key=self.key)
            job.attempt = self.attempt
        return job

    def _told_to_end(self) -> str | None:
        """Why this attempt was told to end, by its handle, its pool, its caller or its own deadline."""
        return self._ending or self.job.reason

    @property
    def outcome(self) -> Outcome | None:
        """How it ended, or None while it waits or runs. Never blocks."""
        return self._outcome

    @property
    def error(self) -> BaseException | None:
        """What ended it, for any outcome but `done`. Never blocks."""
        return self._error

    def cancel(self, reason: str = "cancelled by its handle") -> bool:
        """Ask the job to end, and try it no more; False if it has ended. Does not wait for it.

        A job that has not started never starts. A running task gets CancelledError, a process is ended. A
        thread cannot be: its job is asked to stop, and the outcome is what it makes of that.
        """
        return self._pool.cancel(self, reason)

    def wait(self, timeout: float | None = None) -> bool:
        """Block this thread until the job has ended, at most `timeout` seconds; True if it has.

        None waits as long as the job is allowed to take. Not for coroutines: they await the handle.
        """
        if self._outcome is None:
            block(self._on_end, patience("timeout", timeout))
        return self._outcome is not None

    def result(self, timeout: float | None = None) -> T:
        """As `wait`, then the job's value, or raise what ended it. TimeoutError if it has not ended in
        time."""
        if not self.wait(timeout):
            raise TimeoutError(f"job {self.name!r} has not ended within {timeout} s")
        return self._take()

    def __await__(self) -> Generator[Any, None, T]:
        if self._outcome is None:
            loop = asyncio.get_running_loop()
            ended: asyncio.Future[None] = loop.create_future()
            wake = functools.partial(_end, loop, ended)
            if self._register(wake):
                try:
                    yield from ended
                except BaseException:  # who waited was cancelled; else the callback has gone with the job
                    self._withdraw(wake)
                    raise
        return self._value if self._outcome is DONE else self._take()

    def add_done_callback(self, callback: Callable[[], object]) -> Withdraw:
        """Call `callback()` when the job has ended, in the thread that ends it; at once if it has.

        Returns a function that takes the callback back. What it raises is logged.
        """
        return self._on_end(call("callback", callback))

    def _on_end(self, callback: Callable[[], object]) -> Withdraw:
        if not self._register(callback):
            guarded(callback, "a callback")
        return lambda: self._withdraw(callback)

    def _register(self, callback: Callable[[], object]) -> bool:
        """Call `callback` when the job has ended; False, and no call, if it has."""
        lock = self._pool.lock
        lock.acquire()  # as in `Slots._end`
        try:
            if self._outcome is not None:
                return False
            if self._callbacks is None:
                self._callbacks = [callback]
            else:
                self._callbacks.append(callback)
            return True
        finally:
            lock.release()

    def _withdraw(self, callback: Callable[[], object]) -> None:
        with self._pool.lock:
            if self._callbacks is not None and callback in self._callbacks:
                self._callbacks.remove(callback)

    def _take(self) -> T:
        if self._outcome is DONE:
            return self._value  # type: ignore[no-any-return]
        raise self._error or JobCancelled(f"job {self.name!r} was {self._outcome}")

    def __repr__(self) -> str:
        return f"<Handle of {self.name!r}: {self._outcome or 'in flight'}>"


def not_callable(call: object) -> TypeError:
    """The error for what was submitted and cannot be called; a coroutine is closed, and not complained of."""
    if not isinstance(call, CoroutineType):
        return TypeError(f"call must be callable, not {call!r}")
    call.close()
    return TypeError(f"call must be a function, and its arguments follow it; {call.__qualname__} was called")


def name_of(call: Callable[..., Any]) -> str:
    """The name a job gets when none was given: its function's."""
    while isinstance(call, functools.partial):
        call = call.func
    name: str = getattr(call, "__qualname__", "") or type(call).__qualname__
    return name


def _end(loop: asyncio.AbstractEventLoop, ended: asyncio.Future[None]) -> None:
    if asyncio._get_running_loop() is loop:
        _settle(ended)
    else:
        call_soon(loop, functools.partial(_settle, ended))


def _settle(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)
