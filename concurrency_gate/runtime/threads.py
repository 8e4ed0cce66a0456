"""`ThreadPool`: blocking functions, in a bounded number of threads."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from contextvars import Context
from types import AsyncGeneratorType, CoroutineType, TracebackType
from typing import Any, TypeVar, TypeVarTuple

from . import observe
from .context import restore
from .errors import JobCancelled
from .handle import Handle
from .job import _current
from .leasing import leased
from .observe import instrumented
from .pool import Pool
from .slots import AnyHandle
from .wakeup import drive, drive_async
from .whereabouts import of_thread

T = TypeVar("T")
A = TypeVar("A")
Ts = TypeVarTuple("Ts")

JOIN = 1.0
"""Seconds for a worker without work to end at the stop: it has only to return."""


class ThreadPool(Pool):
    """At most `max_workers` threads, each job for at most `timeout` seconds; at most `max_pending` jobs wait.

    A thread cannot be ended from outside. A job that overruns is told to stop through `current_job()`, its
    caller gets `JobTimeout`, and its slot stays taken until it returns: it is stuck, counted, and logged with
    its stack. So give what blocks a limit of its own: `current_job().http_timeout()`.

    Thread-safe, not for signal handlers. The threads are daemons: none holds the interpreter's exit. Leaving
    the `with` block waits for the jobs that were let in.
    """

    kind = "thread"
    stuck_after = 0.0
    idle = 10.0
    """Seconds after which a worker without work leaves; the next job starts another."""

    def _reset(self) -> None:
        super()._reset()
        self._workers: set[Worker] = set()
        self._resting: list[Worker] = []  # the last to rest is the first to work: its caches are warm
        self._handover: deque[AnyHandle] = deque()  # for workers that are about to rest
        self._retired = False

    def submit(
        self,
        call: Callable[[*Ts], T],
        /,
        *args: *Ts,
        key: str | None = None,
        name: str | None = None,
        inherit: bool = True,
    ) -> Handle[T]:
        """Let in `call(*args)`, or raise `PoolFull` (no room) or `Stopping` (closed) at once. Never blocks.

        Of the jobs with one `key` at most one is in flight; the others wait without spending an attempt. The
        caller's deadline and stop count for the job too, unless `inherit` is False: then it is handed over.
        """
        return self._admit(call, args, key, name, inherit) or self._refuse()

    def submit_wait(
        self,
        call: Callable[[*Ts], T],
        /,
        *args: *Ts,
        timeout: float,
        key: str | None = None,
        name: str | None = None,
        inherit: bool = True,
    ) -> Handle[T]:
        """As `submit`, but block this thread for room, at most `timeout` seconds; then raise `PoolFull`.

        Inside a job no longer than that has: then `JobTimeout`, or `Stopping` when it is to stop.
        """
        return drive(self._admitting(timeout, call, args, key, name, inherit))

    async def run(
        self, call: Callable[[*Ts], T], /, *args: *Ts, key: str | None = None, name: str | None = None
    ) -> T:
        """Submit and await the result: what to write instead of `await loop.run_in_executor(None, call)`.

        When the awaiting task is cancelled, so is the job. `PoolFull` at once if there is no room.
        """
        handle: Handle[T] = self._admit(call, args, key, name, True) or self._refuse()
        try:
            return await handle
        finally:
            if handle._outcome is None:
                self.cancel(handle, "its caller was cancelled")

    def map(self, call: Callable[[A], T], items: Iterable[A], /, *, name: str | None = None) -> Iterator[T]:
        """Yield `call(item)` for each item, in order, with at most twice `max_workers` in flight.

        Blocks this thread. Takes items as results are taken, so endless iterables are fine. The first
        exception is raised in its place; then, or when the iteration is given up, what is in flight is
        cancelled.
        """
        flying: deque[Handle[T]] = deque()
        try:
            for item in items:
                flying.append(drive(self._admitting(self.timeout, call, (item,), None, name, True)))
                if len(flying) >= min(2 * self.max_workers, self._capacity):
                    yield flying.popleft().result()
            while flying:
                yield flying.popleft().result()
        finally:
            for handle in flying:
                handle.cancel("the map was given up")

    # The end.

    def drain(self, timeout: float | None = None) -> bool:
        """Close, then block until every job has ended but stuck ones; False if `timeout` seconds were too
        short.
        """
        return drive(self.draining(timeout))

    def stop(self, grace: float) -> list[str]:
        """Close, drop what waits, ask what runs to stop, cancel it after `grace` seconds; names of the
        unfinished.
        """
        return drive(self.stopping(grace))

    def __enter__(self) -> ThreadPool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if kind is None:
            self.drain()
        else:
            self.stop(self.timeout)

    async def __aenter__(self) -> ThreadPool:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await drive_async(self.draining(None))
        else:
            await drive_async(self.stopping(self.timeout))

    def retire(self) -> None:
        """As `Pool.retire`: workers without a job have ended when this returns. Blocks briefly."""
        with self.lock:
            self._retired = True
            resting, self._resting = self._resting, []
            workers = [worker for worker in self._workers if worker.handle not in self._running]
        for worker in resting:
            worker.wake.release()
        for worker in workers:
            worker.join()
        super().retire()

    # The workers.

    def _launch(self, handle: AnyHandle, here: object) -> None:  # noqa: ARG002 - threads need no loop
        with self.lock:
            without_job = len(self._workers) - (len(self._running) - 1)
            if without_job > len(self._resting):
                self._handover.append(
                    handle
                )  # one has just ended its job: sooner there than another wakes up
                return
            if self._resting:
                worker, fresh = self._resting.pop(), False
            else:
                worker, fresh = self._hire(), True
                self._workers.add(worker)
            worker.handle = handle
        if not fresh:
            worker.wake.release()
            return
        try:
            worker.start()
        except RuntimeError as error:  # no more threads, or the interpreter is ending
            with self.lock:
                self._workers.discard(worker)
            following = self._end(handle, None, error)
            if following is not None:
                self._launch(following, None)

    def _hire(self) -> Worker:
        return Worker(self)

    def _rest(self, worker: Worker) -> AnyHandle | None:
        """Wait for a job; None if the worker is to leave."""
        with self.lock:
            worker.handle = None
            if self._handover:
                worker.handle = self._handover.popleft()
                return worker.handle
            if self._retired or worker not in self._workers:  # not in a child that a job has forked
                self._workers.discard(worker)
                return None
            self._resting.append(worker)
        if not worker.wake.acquire(timeout=self.idle):
            with self.lock:
                if worker in self._resting:
                    self._resting.remove(worker)
                    self._workers.discard(worker)
                    return None
            worker.wake.acquire()  # given a job, or retired, at the last moment
        return worker.handle or self._rest(worker)

    def _where(self, handle: AnyHandle) -> str:
        return of_thread(getattr(handle._runner, "ident", None))


class Worker:
    """One thread of a pool. `handle` is guarded by the pool's lock."""

    def __init__(self, pool: ThreadPool) -> None:
        self.pool = pool
        self.handle: AnyHandle | None = None
        self.wake = threading.Lock()
        self.wake.acquire()
        self._thread = threading.Thread(target=self._run, name=f"{pool.name} worker", daemon=True)

    @property
    def ident(self) -> int | None:
        return self._thread.ident

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        if self._thread is not threading.current_thread():
            self._thread.join(timeout=JOIN)

    def _run(self) -> None:
        pool = self.pool
        handle = self.handle
        while handle is not None:
            following = pool._end(handle, *self._perform(handle))
            self.handle = handle = following or pool._rest(self)
        self.leave()

    def _perform(self, handle: AnyHandle) -> tuple[Any, BaseException | None]:
        handle._runner = self
        if handle._ending is not None:  # told to end before it began
            return None, JobCancelled(f"job {handle.name!r} did not start")
        return attempt(inside, handle)

    def leave(self) -> None:
        """Called in the thread when it ends."""


def attempt(work: Callable[..., Any], *args: Any) -> tuple[Any, BaseException | None]:
    """Do `work` in a context of its own. Whatever it raises ends the job, never the worker."""
    try:
        return Context().run(work, *args), None
    except BaseException as error:
        return None, error


def enter(handle: AnyHandle) -> None:
    """Make it the current job of this context, with what was carried to it."""
    _current.set(handle)
    if handle._carried:
        restore(handle._carried)


def inside(handle: AnyHandle) -> Any:
    """Run the job's function here, as the current job."""
    enter(handle)
    value = surrounded(handle, handle._call, *handle._args)
    if type(value) in _UNRUN:
        if isinstance(value, CoroutineType):
            value.close()
        raise TypeError(f"call must be a function, and {handle.name!r} is asynchronous: use an AsyncPool")
    return value


_UNRUN = (CoroutineType, AsyncGeneratorType)
"""What a job would give that has done nothing yet."""


def surrounded(handle: AnyHandle, work: Callable[..., Any], *args: Any) -> Any:
    """Call `work(*args)` inside the instruments, and holding the lease of the job's key."""
    lease = handle._pool.lease
    if not observe.installed and (lease is None or handle.key is None):
        return work(*args)
    with ExitStack() as stack:
        if lease is not None and handle.key is not None:
            stack.enter_context(leased(handle, handle.key, lease))
        stack.enter_context(instrumented(handle.job))
        return work(*args)
