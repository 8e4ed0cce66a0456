"""Log records with fields, and the hook for tracing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from .job import Job, log

Instrument = Callable[[Job], AbstractContextManager[object]]

_instruments: tuple[Instrument, ...] = ()


def record(level: int, message: str, *, error: BaseException | None = None, **fields: object) -> None:
    """Log `message key=value ...`; the fields are also the record's attribute `concurrency`, for JSON
    formatters.
    """
    if not log.isEnabledFor(level):
        return
    text = " ".join(f"{key}={value}" for key, value in fields.items() if "\n" not in str(value))
    long = "".join(f"\n{value}" for value in fields.values() if "\n" in str(value))
    log.log(level, "%s %s%s", message, text, long, exc_info=error, extra={"concurrency": fields})


def instrument(factory: Instrument) -> Callable[[], None]:
    """Run every job inside `factory(job)`, a context manager, in the job's own thread or task.

    For OpenTelemetry: `instrument(lambda job: tracer.start_as_current_span(job.name))`. For a process pool it
    runs in the parent. Returns a function that takes the instrument back. What the factory or its context
    manager raises fails the job it was made for.
    """
    global _instruments
    _instruments = (*_instruments, factory)

    def withdraw() -> None:
        global _instruments
        _instruments = tuple(known for known in _instruments if known is not factory)

    return withdraw


@contextmanager
def instrumented(job: Job) -> Iterator[None]:
    """Enter every instrument, in the order of their installation."""
    with ExitStack() as stack:
        for factory in _instruments:
            stack.enter_context(factory(job))
        yield


def instruments() -> tuple[Instrument, ...]:
    """What is installed now; empty costs a job nothing."""
    return _instruments


INFO, WARNING, ERROR, DEBUG = logging.INFO, logging.WARNING, logging.ERROR, logging.DEBUG
