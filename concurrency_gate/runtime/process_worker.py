"""The other side of a `ProcessPool`: what runs in the worker process."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
import traceback
from multiprocessing.connection import Connection
from typing import Any

from .errors import JobFailed
from .job import Job, _current

READY = b"ready"


def serve(jobs: Connection, control: Connection) -> None:
    """Do the jobs that come through `jobs`, one after the other, until the parent closes it or dies."""
    # The parent decides when to stop: a signal to the whole group must not end jobs that have grace.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    watch = _Watch(control)
    jobs.send_bytes(READY)
    while True:
        try:
            order = jobs.recv_bytes()
            jobs.send_bytes(_perform(order, watch))
        except (EOFError, OSError):
            return


class _Watch:
    """Hears from the parent while a job runs: to stop it, or, when the pipe breaks, that the parent is
    gone."""

    def __init__(self, control: Connection) -> None:
        self._control = control
        self.job: tuple[int, Job] | None = None
        threading.Thread(target=self._run, name="concurrency-gate-watch", daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                serial, reason, grace = self._control.recv()
            except (EOFError, OSError):
                os._exit(1)  # also out of a job that nobody will fetch any more
            running = self.job
            if running is not None and running[0] == serial:
                running[1].stop(reason, grace=grace)


def _perform(order: bytes, watch: _Watch) -> bytes:
    try:
        settings, call, args = pickle.loads(order)
    except BaseException as error:  # what the arguments' own methods raise
        return _failure(error)
    serial, name, key, attempt, remaining = settings
    job = Job(name, due=time.monotonic() + remaining, key=key)
    job.attempt = attempt
    watch.job = serial, job
    reset = _current.set(job)
    try:
        return pickle.dumps((call(*args), None))
    except BaseException as error:  # whatever a job raises ends the job, never the worker
        return _failure(error)
    finally:
        _current.reset(reset)
        watch.job = None


def _failure(error: BaseException) -> bytes:
    """The error as bytes that the parent can surely read, with the stack it had here."""
    stack = "".join(traceback.format_exception(error))
    answer: Any = None, error
    try:
        error.add_note(f"In the worker process:\n{stack}")
        pickled = pickle.dumps(answer)
        pickle.loads(pickled)  # an exception with arguments of its own may fail only here
    except Exception:
        return pickle.dumps((None, JobFailed(f"{type(error).__name__}: {error}\n{stack}")))
    return pickled
