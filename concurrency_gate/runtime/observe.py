"""The hook for tracing: a context manager around every job."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from .bounds import call
from .job import Job

Instrument = Callable[[Job], AbstractContextManager[object]]

installed: tuple[Instrument, ...] = globals().get("installed", ())  # a reload keeps them
"""Mostly none, so callers ask before they call `instrumented`."""


def instrument(factory: Instrument) -> Callable[[], None]:
    """Run every job inside `factory(job)`, a context manager, in the job's own thread or task.

    For OpenTelemetry: `instrument(lambda job: tracer.start_as_current_span(job.name))`. For a process pool it
    runs in the parent. Returns a function that takes the instrument back. What the factory or its context
    manager raises fails the job it was made for.
    """
    global installed
    installed = (*installed, call("factory", factory))

    def withdraw() -> None:
        global installed
        installed = tuple(known for known in installed if known is not factory)

    return withdraw


@contextmanager
def instrumented(job: Job) -> Iterator[None]:
    """Enter every instrument, in the order of their installation. None of them can make an error vanish."""
    failure: BaseException | None = None
    with ExitStack() as stack:
        for factory in installed:
            stack.enter_context(factory(job))
        try:
            yield
        except BaseException as error:
            failure = error
            raise
    if failure is not None:
        raise failure
