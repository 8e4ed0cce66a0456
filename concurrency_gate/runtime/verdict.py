"""How an attempt ended: what its exception means, and whether there will be another attempt."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from .errors import JobCancelled, JobFailed, JobTimeout, Refuse, Stopping, WorkerLost, snooze_of
from .handle import Handle, Outcome
from .records import text_of
from .reload import is_a
from .retry import Retry

_ENDED_FROM_OUTSIDE = (asyncio.CancelledError, Stopping, JobCancelled, WorkerLost)


class Verdict(NamedTuple):
    """The outcome of an attempt that raised, and the error its caller is to see, if there is no other; the
    seconds until there is, or None; and whether this one counts.
    """

    outcome: Outcome
    error: BaseException
    again: float | None = None
    spent: bool = True


def verdict(retry: Retry, handle: Handle[Any], error: BaseException, now: float) -> Verdict:
    """What an attempt came to that raised `error`. Never raises, whatever the error's own code does, or the
    retry's.
    """
    try:
        return _verdict(retry, handle, error, now)
    except BaseException as wrong:
        failed = JobFailed(f"job {handle.name!r} raised {type(error).__name__}, and judging that failed")
        failed.__cause__ = wrong
        return Verdict(Outcome.FAILED, failed)


def _verdict(retry: Retry, handle: Handle[Any], error: BaseException, now: float) -> Verdict:
    snoozed = snooze_of(error)
    if snoozed is not None and now < handle._due:
        if handle._given_up:
            return Verdict(Outcome.CANCELLED, JobCancelled(f"job {handle.name!r}: {handle._ending}"))
        dropped = JobCancelled(f"job {handle.name!r} was dropped: it had snoozed when stop came")
        return Verdict(Outcome.DROPPED, dropped, again=snoozed, spent=False)
    outcome, seen = _judge(handle, error, now)
    if outcome in (Outcome.FAILED, Outcome.TIMED_OUT) and may_retry(retry, handle):
        return Verdict(outcome, seen, again=retry.delay(handle.attempt))
    return Verdict(outcome, seen)


def _judge(handle: Handle[Any], error: BaseException, now: float) -> tuple[Outcome, BaseException]:
    """It asks which deadline has passed and who asked for the end, not which exception came: a TimeoutError
    may be anybody's, and a job may raise CancelledError of its own accord.
    """
    if is_a(error, Refuse):
        return Outcome.DECLINED, error
    if now >= handle._due:
        return Outcome.TIMED_OUT, overrun(handle, error)
    told = handle._told_to_end()
    if told is not None and is_a(error, *_ENDED_FROM_OUTSIDE):
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


def may_retry(retry: Retry, handle: Handle[Any]) -> bool:
    """Whether a failed attempt may be followed by another: some are left, and so is the caller's time."""
    if handle.attempt >= retry.max_attempts or handle._given_up or handle._pool.token.stopping:
        return False
    return handle._caller is None or not handle._caller.job.stopping
