"""Many jobs with random failures, overruns and cancellations: each is accounted for exactly once."""

from __future__ import annotations

import asyncio
import logging
import random
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from concurrency_gate.runtime import (
    AsyncPool,
    Handle,
    JobCancelled,
    Outcome,
    ProcessPool,
    Retry,
    ThreadPool,
)
from concurrency_gate.runtime.pool import Pool

from .jobs import Kind, behave, behave_in_process
from .loops import run
from .threads import until

BATCH = 500
RETRY = Retry(max_attempts=2, backoff=0.001)


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "concurrency_gate.runtime")


def plan(count: int, overruns: int, cancels: int = 10) -> list[Kind]:
    """What `count` jobs do; `overruns` of them overrun, about `cancels` in 100 are cancelled."""
    draw = random.Random(count)
    names = ["return", "raise", "exit", "refuse", "snooze", "flaky", "cancel"]
    kinds = draw.choices(names, [60, 10, 5, 5, 5, 5, cancels], k=count)
    for place in draw.sample(range(count), overruns):
        kinds[place] = "overrun"
    return kinds


async def behave_async(kind: Kind) -> str:
    if kind == "overrun":
        await asyncio.Event().wait()
    await asyncio.sleep(0)
    return behave(kind)


EXPECTED = {
    "return": {Outcome.DONE},
    "snooze": {Outcome.DONE},
    "flaky": {Outcome.DONE},
    "raise": {Outcome.FAILED},
    "exit": {Outcome.FAILED},
    "refuse": {Outcome.DECLINED},
    "overrun": {Outcome.TIMED_OUT},
    "cancel": {Outcome.CANCELLED, Outcome.DONE},
}


class Ends:
    """Counts how often each handle says that it has ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count: Counter[int] = Counter()

    def of(self, handle: Handle[Any]) -> Callable[[], None]:
        def ended() -> None:
            with self._lock:
                self.count[id(handle)] += 1

        return ended


def check(pool: Pool, kinds: list[Kind], handles: list[Handle[Any]], ends: Ends) -> None:
    for kind, handle in zip(kinds, handles, strict=True):
        assert handle.outcome in EXPECTED[kind], (kind, handle)
        assert ends.count[id(handle)] == 1
    stats = pool.stats()
    outcomes = Counter(handle.outcome for handle in handles)
    assert {outcome: getattr(stats, outcome) for outcome in Outcome} == {
        outcome: outcomes[outcome] for outcome in Outcome
    }
    assert (stats.submitted, stats.running, stats.pending, stats.stuck) == (len(kinds), 0, 0, 0)
    assert pool.unfinished() == []


def through_threads(pool: ThreadPool, work: Callable[[Kind], Any], kinds: list[Kind]) -> None:
    handles: list[Handle[Any]] = []
    ends = Ends()
    for kind in kinds:
        handle = pool.submit_wait(work, kind, timeout=30)
        handle.add_done_callback(ends.of(handle))
        if kind == "cancel":
            handle.cancel()
        handles.append(handle)
    for handle in handles:
        assert handle.wait(30)
    until(lambda: pool.stats().stuck == 0)
    assert pool.drain(30)
    check(pool, kinds, handles, ends)


def threads(count: int, overruns: int, timeout: float) -> None:
    pool = ThreadPool("accounts", max_workers=4, timeout=timeout, max_pending=BATCH, retry=RETRY)
    through_threads(pool, behave, plan(count, overruns))


def processes(count: int, overruns: int, timeout: float) -> None:
    pool = ProcessPool("accounts", max_workers=2, timeout=timeout, max_pending=BATCH, retry=RETRY)
    through_threads(pool, behave_in_process, plan(count, overruns, cancels=1))


def tasks(count: int, overruns: int, timeout: float) -> None:
    kinds = plan(count, overruns)

    async def main() -> None:
        pool = AsyncPool("accounts", max_workers=64, timeout=timeout, max_pending=BATCH, retry=RETRY)
        handles: list[Handle[Any]] = []
        ends = Ends()
        for kind in kinds:
            handle = await pool.submit_wait(behave_async, kind, timeout=30)
            handle.add_done_callback(ends.of(handle))
            if kind == "cancel":
                handle.cancel()
            handles.append(handle)
        for handle in handles:
            try:
                await handle
            except (Exception, JobCancelled):
                continue
        assert await pool.drain(30)
        check(pool, kinds, handles, ends)

    run(main)


@pytest.mark.parametrize("through", [threads, tasks, processes])
def test_two_thousand_jobs(through: Callable[[int, int, float], None]) -> None:
    through(2000, 2, 1.0)


@pytest.mark.heavy
@pytest.mark.parametrize("through", [threads, tasks, processes])
def test_a_hundred_thousand_jobs(through: Callable[[int, int, float], None]) -> None:
    through(100_000, 4, 2.0)
