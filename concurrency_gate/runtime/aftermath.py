"""What follows a job that did not end well: a line in the log, and the dead-job handler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import RuntimeLibraryError
from .handle import Handle, Outcome
from .observe import DEBUG, ERROR, INFO, record

if TYPE_CHECKING:
    from .slots import OnDead, Slots


def report(pool: Slots, handle: Handle[Any], *, watched: bool) -> None:
    """Log how the job ended, loudly if nobody was waiting to be told, and hand a dead job on.

    Refuse and a stop are no alarms.
    """
    dead = handle.outcome in (Outcome.FAILED, Outcome.TIMED_OUT)
    level = INFO if not dead else DEBUG if watched and not pool.alarm else ERROR
    record(
        level,
        "job did not finish",
        error=handle.error if handle.outcome is Outcome.FAILED else None,
        pool=pool.name,
        job=handle.name,
        outcome=str(handle.outcome),
        attempt=handle.attempt,
        why=str(handle.error),
    )
    if dead and pool.on_dead is not None:
        bury(pool.on_dead, handle)


def bury(on_dead: OnDead, handle: Handle[Any]) -> None:
    """Give the dead job to its handler, as detached work: a slow alarm holds no worker up."""
    from .detached import detach  # here, because detached work runs in pools itself

    try:
        detach(on_dead, handle, name=f"on_dead of {handle.name}")
    except RuntimeLibraryError as error:
        record(ERROR, "the handler of a dead job did not run", job=handle.name, why=str(error))
