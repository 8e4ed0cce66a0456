"""What travels from a caller into a job: the context variables that were declared, and nothing else.

A full copy of the context would hand the request's session, and its open transaction, to work that outlives
it.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

Carried = tuple[tuple[ContextVar[Any], Any], ...]

declared: tuple[ContextVar[Any], ...] = globals().get("declared", ())  # a reload keeps them
"""What travels; mostly nothing, so callers ask before they call `snapshot`."""


def carry(*variables: ContextVar[Any]) -> None:
    """Declare context variables (a trace id, a tenant) that every job gets from its caller. Call it at
    import.

    Idempotent and thread-safe. Values reach threads and tasks; they do not cross into worker processes.
    """
    global declared
    for variable in variables:
        if not isinstance(variable, ContextVar):
            raise TypeError(f"carry() takes ContextVar objects, not {variable!r}")
    declared = tuple(dict.fromkeys((*declared, *variables)))


def snapshot() -> Carried:
    """The declared variables that are set here, with their values."""
    here = [(variable, variable.get(_UNSET)) for variable in declared]
    return tuple((variable, value) for variable, value in here if value is not _UNSET)


def restore(carried: Carried) -> None:
    """Set them in the current context, which belongs to one job alone."""
    for variable, value in carried:
        variable.set(value)


_UNSET: Any = object()
