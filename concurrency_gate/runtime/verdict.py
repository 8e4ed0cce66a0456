"""How an attempt ended: what its exception means, and whether there will be another attempt."""

from __future__ import annotations

import asyncio
from typing import Any

from .bounds import SECONDS
from .errors import JobCancelled, JobFailed, JobTimeout, Refuse, Snooze, Stopping, WorkerLost
from .handle import Handle, Outcome
from .records import text_of
from .retry import Retry

_ENDED_FROM_OUTSIDE = (asyncio.CancelledError, Stopping, JobCancelled, WorkerLost)


def judge(handle: Handle[Any], error: BaseException, now: float) -> tuple[Outcome, BaseException]:
    """The outcome of an attempt that raised, and the error its caller is to see.

    It asks which deadline has passed and who asked for the end, not which exception came: a TimeoutError may
    be anybody's, and a job may raise CancelledError of its own accord.
    """
    if isinstance(error, Refuse):
        return Outcome.DECLINED, error
    if now >= handle._due:
        return Outcome.TIMED_OUT, overrun(handle, error)
    told = handle._told_to_end()
    if told is not None and isinstance(error, _ENDED_FROM_OUTSIDE):
        ended = JobCancelled(f"job {handle.name!r}: {told}")
        ended.__cause__ = error
        return Outcome.CANCELLED, ended
    if isinstance(error, Exception):
        return Outcome.FAILED, error
    # SystemExit, KeyboardInterrupt, CancelledError: raised in the caller they would end a loop or the
    # process.
    failed = JobFailed(f"job {handle.name!r} raised {type(error).__name__}: {text_of(error)}")
    failed.__cause__ = error
    return Outcome.FAILED, failed


def overrun(handle: Handle[Any], cause: BaseException | None = None) -> JobTimeout:
    """The error for a job that has passed its deadline."""
    error = JobTimeout(f"job {handle.name!r} ran past its deadline (timeout {handle.timeout:g} s)")
    error.__cause__ = cause
    return error


def pause_before_next(
    retry: Retry, handle: Handle[Any], outcome: Outcome, error: BaseException
) -> float | None:
    """Seconds until the next attempt, or None if this was the last."""
    if isinstance(error, Snooze):
        return _snoozed(error)
    if outcome is not Outcome.FAILED and outcome is not Outcome.TIMED_OUT:
        return None
    return retry.delay(handle.attempt) if may_retry(retry, handle) else None


def _snoozed(error: Snooze) -> float | None:
    """The seconds of a snooze; None if a class of the application's, derived from it, forgot to say."""
    seconds: object = getattr(error, "seconds", None)
    return seconds if isinstance(seconds, int | float) and 0 <= seconds <= SECONDS else None


def may_retry(retry: Retry, handle: Handle[Any]) -> bool:
    """Whether a failed attempt may be followed by another: some are left, and so is the caller's time."""
    if handle.attempt >= retry.max_attempts or handle._pool.token.stopping:
        return False
    return handle._caller is None or not handle._caller.job.stopping
