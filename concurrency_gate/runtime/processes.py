"""`ProcessPool`: functions that burn the processor, or that must be ended for certain."""

from __future__ import annotations

import atexit
import contextlib
import math
import multiprocessing
import pickle
import select
import threading
import time
import weakref
from typing import Any

from . import fork
from .errors import JobCancelled, WorkerLost
from .job import StopToken
from .process_worker import READY, serve
from .slots import AnyHandle
from .threads import ThreadPool, Worker, attempt, enter, surrounded

BOOT = 60.0
"""Seconds that a new worker process may take until it is ready."""
LEAVE = 5.0
"""Seconds that a worker process without a job may take to end before it is killed."""
FRESH = 0.1
"""Seconds for which a process that gave an answer is taken to be alive."""

# Neither copies the parent's threads and locks, as plain fork does; forkserver starts a worker faster.
_START = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"


class ProcessPool(ThreadPool):
    """As `ThreadPool`, with a process for each worker: a job that overruns or is cancelled is ended with its
    process, and another takes its place.

    Functions, arguments and results are pickled, so functions must stand at the top of a module. The timeout
    runs from when the process is ready. `current_job()` works in the job; context variables do not cross. A
    process that dies under its job fails it with `WorkerLost`. The processes are daemons and end with their
    parent, also when that is killed.
    """

    kind = "process"
    stuck_after = 5.0
    idle = 60.0

    def _grant(self, handle: AnyHandle, due: float) -> None:  # noqa: ARG002 - it gets none yet
        self._running[handle] = None  # its deadline comes with `ready`

    def ready(self, handle: AnyHandle) -> None:
        """The process is there: the job's timeout runs from here."""
        with self.lock:
            super()._grant(handle, self._due(handle, time.monotonic()))

    def _hire(self) -> Worker:
        return _ProcessWorker(self)

    def _interrupt(self, handle: AnyHandle, runner: _Errand | None) -> None:  # noqa: ARG002
        if runner is not None:
            runner.kill()

    def _where(self, handle: AnyHandle) -> str:
        return f"(in process {getattr(handle._runner, 'pid', None)})"


class _ProcessWorker(Worker):
    """One thread that gives jobs to one process, in turn."""

    pool: ProcessPool

    def __init__(self, pool: ProcessPool) -> None:
        super().__init__(pool)
        self._child: _Child | None = None

    def _perform(self, handle: AnyHandle) -> tuple[Any, BaseException | None]:
        try:
            child = self._child
            if child is None or child.lost():
                self.leave()
                child = self._child = _Child(self.pool)
        except BaseException as error:  # no process to be had: the job fails, and the worker goes on
            return None, error
        errand = handle._runner = _Errand(child)
        self.pool.ready(handle)
        if handle._ending is not None:
            errand.over()
            return None, JobCancelled(f"job {handle.name!r} did not start")
        return attempt(self._inside, handle, errand)

    def _inside(self, handle: AnyHandle, errand: _Errand) -> Any:
        enter(handle)  # the job is elsewhere, but its instruments and its lease are here
        try:
            return surrounded(handle, errand.run, handle)
        finally:
            errand.over()

    def leave(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end()


class _Errand:
    """One job in one process. Kills the process only while it is this job that runs there."""

    def __init__(self, child: _Child) -> None:
        self._child = child
        self._lock = threading.Lock()
        self._over = False
        self.pid = child.process.pid

    def run(self, handle: AnyHandle) -> Any:
        child = self._child
        serial = child.serial = child.serial + 1
        order = ordered(handle, serial)
        withdraw = (
            None if handle._caller is None else handle._caller.job.on_stop(lambda: child.tell(handle.job))
        )
        try:
            child.jobs.send_bytes(order)
            answer = child.jobs.recv_bytes()
        except (EOFError, OSError) as error:
            child.answered = -math.inf
            if handle._ending is not None:  # the process was ended for it
                raise JobCancelled(f"job {handle.name!r}: {handle._ending}") from error
            raise WorkerLost(
                f"the process of job {handle.name!r} has ended: {child.how_it_ended()}"
            ) from error
        finally:
            if withdraw is not None:
                withdraw()
        child.answered = time.monotonic()
        value, failure = pickle.loads(answer)
        if failure is not None:
            raise failure
        return value

    def over(self) -> None:
        with self._lock:
            self._over = True

    def kill(self) -> None:
        with self._lock:
            if not self._over:
                self._child.process.kill()


def ordered(handle: AnyHandle, serial: int) -> bytes:
    """The job as the process gets it: what it may know of itself, its function and arguments."""
    due = handle._due if handle._caller is None else handle.job.deadline.at
    settings = (serial, handle.name, handle.key, handle.attempt, due - time.monotonic())
    try:
        return pickle.dumps((settings, handle._call, handle._args))
    except Exception as error:  # whatever the objects' own methods raise
        raise TypeError(
            f"job {handle.name!r} cannot go to a process: its function must stand at the top of a module, "
            f"and its arguments must pickle ({error})"
        ) from error


class _Alive:
    """The worker processes of this process, which end with it."""

    def __init__(self) -> None:
        self.children: weakref.WeakSet[_Child] = weakref.WeakSet()
        fork.watch(self)
        atexit.register(self.at_exit)

    def at_exit(self) -> None:
        """Before multiprocessing's own handler, which asks by SIGTERM and waits without limit."""
        for child in list(self.children):
            child.process.kill()

    def after_fork(self) -> None:
        """They are the parent's: neither we nor multiprocessing may end them when this process exits."""
        known: set[object] = getattr(multiprocessing.process, "_children", set())
        known.difference_update([child.process for child in self.children])
        self.children = weakref.WeakSet()


_alive = _Alive()


class _Child:
    """A worker process and the two pipes to it: one for jobs, one to tell a running job to stop."""

    def __init__(self, pool: ProcessPool) -> None:
        context: Any = multiprocessing.get_context(_START)
        self.serial = 0  # of the job that runs
        self.answered = -math.inf  # when it was surely alive
        self.jobs, jobs = context.Pipe()
        self._control, control = context.Pipe()
        name = f"{pool.name} process"
        self.process = context.Process(target=serve, args=(jobs, control), name=name, daemon=True)
        try:
            self.process.start()
        finally:
            jobs.close()
            control.close()
        _alive.children.add(self)
        self._withdraw = pool.token.on_stop(lambda: self.tell(pool.token))
        if not self.jobs.poll(BOOT) or not self._is_ready():
            self.process.kill()
            self.end()
            raise WorkerLost(f"a process of pool {pool.name!r} did not start")
        self._poll = select.poll() if hasattr(select, "poll") else None  # not on Windows
        if self._poll is not None:
            self._poll.register(self.jobs, select.POLLIN)

    def _is_ready(self) -> bool:
        try:
            return bool(self.jobs.recv_bytes() == READY)
        except (EOFError, OSError):
            return False

    def lost(self) -> bool:
        """Whether it has ended. Between two jobs there is nothing to read but the end of the pipe."""
        if time.monotonic() < self.answered + FRESH:
            return False
        return bool(self._poll.poll(0)) if self._poll is not None else self.jobs.poll(0)

    def tell(self, token: StopToken) -> None:
        """Tell the job that runs to stop, as `token` was told. Any thread."""
        with contextlib.suppress(OSError):
            self._control.send((self.serial, str(token.reason), token._ends_at - time.monotonic()))

    def how_it_ended(self) -> str:
        self.process.join(LEAVE)
        return f"exit code {self.process.exitcode}"

    def end(self) -> None:
        """Let the process go, and wait until it has."""
        self._withdraw()
        self.jobs.close()
        self._control.close()
        _alive.children.discard(self)
        self.process.join(LEAVE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join(LEAVE)
        self.process.close()
