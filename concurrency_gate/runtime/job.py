"""The context of a job: how long it may still run, and whether it has been asked to stop.

A `StopToken` can be stopped once. A `Job` is a stop token with a name and a deadline. Tokens have parents, as
contexts do in Go: when a parent stops, everything below it is stopping, and the nearest deadline counts for
all.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from .bounds import call, patience, seconds
from .errors import JobTimeout, Stopping
from .records import guarded
from .wakeup import block, pause

HTTP_SHARE = 0.9
"""The part of the remaining time that `Job.http_timeout` hands to a network call; the rest is for
reporting."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point on the monotonic clock, in seconds. `Deadline(math.inf)` never comes. Immutable,
    thread-safe."""

    at: float

    @classmethod
    def after(cls, timeout: float) -> Deadline:
        """The deadline `timeout` seconds from now."""
        return cls(time.monotonic() + seconds("timeout", timeout))

    def remaining(self) -> float:
        """Seconds left, never below 0; `math.inf` if the deadline never comes."""
        return max(0.0, self.at - time.monotonic())

    @property
    def expired(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() >= self.at


class StopToken:
    """Says once, to everybody who asks, waits or registered, that it is time to stop.

    Every method may be called from any thread, from a coroutine and from a signal handler; none takes a
    lock. That rests on one rule: whoever takes a registered callback out of its cell calls it, so each is
    called exactly once. A token is cheap to create: it registers nothing with its parents until somebody
    waits on it.
    """

    # Most tokens never need these, so they stand in the class until one does: every job has a token.
    _reason: str | None = None
    _ends_at = math.inf
    _registered: dict[_Registration, None] | None = None

    def __init__(self, *parents: StopToken) -> None:
        self._parents = parents

    @property
    def stopping(self) -> bool:
        """Whether this token or one above it was stopped. Never blocks."""
        return self.reason is not None

    @property
    def reason(self) -> str | None:
        """Why it is stopping, or None while it is not."""
        if self._reason is not None:
            return self._reason
        for parent in self._parents:
            reason = parent.reason
            if reason is not None:
                return reason
        return None

    def stop(self, reason: str = "stopped", *, grace: float = math.inf) -> None:
        """Stop: run the registered callbacks here, in order. What runs below may go on for `grace` seconds.

        Idempotent; the first reason stays, the nearest end counts. Blocks only as long as the callbacks do.
        """
        self._ends_at = min(self._ends_at, time.monotonic() + (patience("grace", grace) or 0.0))
        if self._reason is None:
            self._reason = reason
        for registration in list(self._registered or ()):
            registration.fire()

    def on_stop(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call `callback()` once when stop comes, at once if it has come; returns a function that takes it
        back.

        The callback runs in the thread that stops the token (any thread, perhaps a signal handler), so it
        must be short and must not block. What it raises is logged. Taking it back is idempotent and never
        blocks.
        """
        registration = _Registration(call("callback", callback), tuple(self._lineage()))
        for token in registration.tokens:
            if token._registered is None:
                token._registered = {}
            token._registered[registration] = None
        if self.stopping:  # asked after registering, so that a stop in between is not lost
            registration.fire()
        return registration.withdraw

    def wait(self, timeout: float | None) -> bool:
        """Block this thread until stop comes or `timeout` seconds have passed (None: until stop); True if
        stopping.

        Not for coroutines: they use `wait_async`.
        """
        block(self.on_stop, patience("timeout", timeout))
        return self.stopping

    async def wait_async(self, timeout: float | None) -> bool:  # noqa: ASYNC109 - as in threading
        """As `wait`, without blocking the loop."""
        await pause(self.on_stop, patience("timeout", timeout))
        return self.stopping

    def _lineage(self) -> Iterator[StopToken]:
        yield self
        for parent in self._parents:
            yield from parent._lineage()


class _Registration:
    """One callback, known to every token that may fire it."""

    __slots__ = ("cell", "tokens")

    def __init__(self, callback: Callable[[], object], tokens: tuple[StopToken, ...]) -> None:
        self.cell = [callback]
        self.tokens = tokens

    def fire(self) -> None:
        callback = self._take()
        if callback is not None:
            guarded(callback, "a callback for stop")

    def withdraw(self) -> None:
        self._take()

    def _take(self) -> Callable[[], object] | None:
        try:
            callback = self.cell.pop()  # atomic: only one of fire and withdraw gets it
        except IndexError:
            return None
        for token in self.tokens:
            if token._registered is not None:
                token._registered.pop(self, None)
        return callback


class Job(StopToken):
    """What a piece of work may know about itself; `current_job()` gives it. Thread-safe."""

    attempt = 1
    """The number of this attempt, counted from 1."""

    def __init__(self, name: str, *parents: StopToken, due: float = math.inf, key: str | None = None) -> None:
        self._parents = parents
        self._due = due
        self.name = name
        self.key = key

    @property
    def job(self) -> Job:
        """Itself: see `Scope`."""
        return self

    @property
    def deadline(self) -> Deadline:
        """The nearest deadline: the job's own, its caller's, or the end of the grace that a stop left."""
        return Deadline(min(self._due, *(token._ends_at for token in self._lineage())))

    def remaining(self) -> float:
        """Seconds left, never below 0; `math.inf` outside any job. Shrinks to the grace when stop comes."""
        return self.deadline.remaining()

    def check(self) -> None:
        """Raise `JobTimeout` if the deadline has passed, `Stopping` if stop has come; else return at once.

        For loops: a job that calls it between two steps ends in time and in order.
        """
        if time.monotonic() >= self._due:
            raise JobTimeout(f"job {self.name!r} is past its deadline")
        reason = self.reason
        if reason is not None:
            raise Stopping(f"job {self.name!r} was asked to stop: {reason}")

    def http_timeout(self, cap: float = 10.0) -> float:
        """A limit in seconds for one network call: at most `cap`, and always shorter than what is left.

        So the clear network error arrives before the job is ended as a whole. Raises `JobTimeout` when
        nothing is left. `cap` must be above 0.
        """
        left = self.remaining()
        if left <= 0.0:
            raise JobTimeout(f"job {self.name!r} has no time left for a network call")
        return min(seconds("cap", cap), left * HTTP_SHARE)

    def wait(self, timeout: float | None) -> bool:
        """As `StopToken.wait`, but never past the deadline: the way for a thread's job to sleep."""
        return super().wait(self._within(timeout))

    async def wait_async(self, timeout: float | None) -> bool:  # noqa: ASYNC109 - as in threading
        """As `StopToken.wait_async`, but never past the deadline."""
        return await super().wait_async(self._within(timeout))

    def _within(self, timeout: float | None) -> float | None:
        left = self.remaining()
        wanted = patience("timeout", timeout)
        if wanted is None:
            wanted = math.inf
        return None if left == wanted == math.inf else min(left, wanted)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


class Root(Job):
    """Where no job is: outside, or in the main code of a Runtime. It hands nothing down to what it submits,
    so that a shutdown can stop the queues before it tells the jobs in them.
    """


class Scope(Protocol):
    """What the context holds: a job, or the handle of one that makes its job when asked."""

    _due: float

    @property
    def job(self) -> Job: ...


_OUTSIDE = Root("outside any job")
_current: ContextVar[Scope] = globals().get("_current") or ContextVar(  # a reload keeps what runs
    "concurrency_gate.current_job", default=_OUTSIDE
)


def current_job() -> Job:
    """The job this code runs in. Outside any: one without a deadline that nobody stops. Never blocks or
    fails."""
    return _current.get().job


@contextmanager
def job_scope(name: str, *, timeout: float) -> Iterator[Job]:
    """Make the block a job of its own, for a request handler or a script: `with job_scope("search",
    timeout=5):`.

    It bounds what it calls, not itself: nothing interrupts the block, but pools, `http_timeout` and `check`
    see the deadline. The caller's deadline and stop go on counting.
    """
    outer = current_job()
    due = min(time.monotonic() + seconds("timeout", timeout), outer._due)
    job = Job(name, outer, due=due)
    reset = _current.set(job)
    try:
        yield job
    finally:
        _current.reset(reset)
