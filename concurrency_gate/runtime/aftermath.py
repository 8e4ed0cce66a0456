"""What follows a job that did not end well: a log record, the dead-job handler, a key that stays busy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .errors import RuntimeLibraryError
from .handle import Handle, Outcome
from .records import DEBUG, ERROR, INFO, record, text_of

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
        why=text_of(handle.error),
    )
    if dead and pool.on_dead is not None:
        bury(pool.on_dead, handle)


def bury(on_dead: OnDead, handle: Handle[Any]) -> None:
    """Give the dead job to its handler: a slow alarm holds no worker up."""
    _aside("the handler of a dead job did not run", f"on_dead of {handle.name}", on_dead, handle)


def keep_key(handle: Handle[Any]) -> None:
    """Extend the lease of a job that outlives its timeout: its key is busy for as long as it lives."""
    claim = handle._claim
    if claim is not None:  # else the job has ended meanwhile
        _aside("the lease of a stuck job was not extended", f"lease of {handle.name}", claim.extend)


def _aside(failure: str, name: str, work: Callable[..., object], *args: object) -> None:
    """Do it as detached work, so that it holds up neither a worker nor the clock."""
    from .detached import detach  # here, because detached work runs in pools itself

    try:
        detach(work, *args, name=name)
    except RuntimeLibraryError as error:
        record(ERROR, failure, job=name, why=str(error))
