"""Holding the lease of a job's key while the job is at work, in a thread or in a task."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING

from .errors import AttemptsSpent, JobCancelled
from .handle import DONE, Handle
from .lease import Claim, KeyBusy, KeyLease
from .slots import AnyHandle
from .wakeup import pause

if TYPE_CHECKING:
    from .threads import ThreadPool

SNOOZE = 1.0
"""Seconds until a job comes back that found its key busy."""


@contextmanager
def leased(handle: AnyHandle, key: str, lease: KeyLease) -> Iterator[None]:
    """For a job in a thread: claim the key, and settle the claim by how the block ends."""
    with lease.hold(key, snooze=SNOOZE, max_attempts=_most(handle)) as claim, _under(handle, claim):
        yield


@asynccontextmanager
async def leased_async(
    handle: AnyHandle, key: str, lease: KeyLease, keeper: ThreadPool
) -> AsyncIterator[None]:
    """As `leased`, for a job in a task. The store blocks, so it is asked in the one thread of `keeper`: in
    turn, so that a key is given up before the next job asks for it.

    The task ends after its claim is settled, even if it is cancelled meanwhile.
    """
    claim = await _claimed(keeper.submit(lease.claim, key, inherit=False))
    if claim is None:
        raise KeyBusy(key, SNOOZE)
    try:
        with _under(handle, claim):
            yield
    except BaseException as error:
        settling = keeper.submit(claim.settle, error, _most(handle), inherit=False)
        if not isinstance(error, GeneratorExit):  # else there is no loop any more to wait in
            await _until_ended(settling)
        raise
    await _until_ended(keeper.submit(claim.settle, inherit=False))


@contextmanager
def _under(handle: AnyHandle, claim: Claim) -> Iterator[None]:
    """The job is at work under `claim`, which knows of attempts that other processes died of."""
    handle.attempt = handle.job.attempt = max(handle.attempt, claim.attempt)
    most = _most(handle)
    if claim.attempt > most:
        raise AttemptsSpent(f"job {handle.name!r} was not tried again: its process died {most} times")
    handle._claim = claim
    try:
        yield
    finally:
        handle._claim = None


def _most(handle: AnyHandle) -> int:
    return handle._pool.retry.max_attempts


async def _claimed(claiming: Handle[Claim | None]) -> Claim | None:
    """The claim, once it is there. One that comes after its job was cancelled is given back."""

    def give_back() -> None:
        if claiming.outcome is DONE and (claim := claiming.result()) is not None:
            claim.settle(JobCancelled("its job was cancelled meanwhile"))

    try:
        return await claiming
    except asyncio.CancelledError:
        claiming.cancel()
        claiming.add_done_callback(give_back)
        raise


async def _until_ended(settling: Handle[None]) -> None:
    while settling.outcome is None:
        with suppress(asyncio.CancelledError):
            await pause(settling.add_done_callback, None)
