"""What the runtime costs, beside the bare primitive and other libraries, in one run.

    python benchmarks/runtime_overhead.py [--rounds 15]

Every contender does the same work once a round, one after the other, so that what else the machine does meets
all of them alike. The figure is the median over the rounds, in microseconds a job; the ratio is to the first
of its group. Needs `pip install aiojobs pebble`; says so and goes on without what is missing.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.util
import platform
import statistics
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

from concurrency_gate.runtime import AsyncPool, ProcessPool, ThreadPool, detach

Contender = tuple[str, Callable[[], Any]]
AsyncContender = tuple[str, Callable[[], Awaitable[None]]]

THREADS, TASKS, PROCESSES, IN_TURN = 2000, 900, 2000, 500
"""Jobs a round."""


def nothing() -> None:
    """The job: what is measured is all around it."""


async def nothing_async() -> None:
    await asyncio.sleep(0)


def missing(library: str) -> bool:
    absent = importlib.util.find_spec(library) is None
    if absent:
        print(f"{library} is not installed: left out")
    return absent


def measure(group: str, jobs: int, rounds: int, contenders: list[Contender]) -> None:
    times: dict[str, list[float]] = {name: [] for name, _ in contenders}
    for number in range(rounds + 1):
        for name, work in contenders:
            began = time.perf_counter()
            work()
            if number:  # the first round is for warming up
                times[name].append((time.perf_counter() - began) / jobs * 1e6)
    report(group, times)


async def measure_async(group: str, rounds: int, contenders: list[AsyncContender]) -> None:
    times: dict[str, list[float]] = {name: [] for name, _ in contenders}
    for number in range(rounds + 1):
        for name, work in contenders:
            began = time.perf_counter()
            await work()
            if number:
                times[name].append((time.perf_counter() - began) / TASKS * 1e6)
    report(group, times)


def report(group: str, times: dict[str, list[float]]) -> None:
    medians = {name: statistics.median(values) for name, values in times.items()}
    first = next(iter(medians.values()))
    print(f"\n| {group} | µs a job | ratio |\n|---|---:|---:|")
    for name, median in medians.items():
        print(f"| {name} | {median:.2f} | {median / first:.2f} |")


def threads(rounds: int) -> None:
    with (
        ThreadPoolExecutor(4) as bare,
        ThreadPool("bench", max_workers=4, timeout=60, max_pending=THREADS) as ours,
    ):

        def futures() -> None:
            for future in [bare.submit(nothing) for _ in range(THREADS)]:
                future.result()

        def pool() -> None:
            for handle in [ours.submit(nothing) for _ in range(THREADS)]:
                handle.result()

        contenders: list[Contender] = [
            ("concurrent.futures submit, result", futures),
            ("ThreadPool submit, result", pool),
        ]
        measure("threads: 4 workers, all submitted, then collected", THREADS, rounds, contenders)

        def futures_in_turn() -> None:
            for _ in range(THREADS):
                bare.submit(nothing).result()

        def pool_in_turn() -> None:
            for _ in range(THREADS):
                ours.submit(nothing).result()

        contenders = [
            ("concurrent.futures submit, result", futures_in_turn),
            ("ThreadPool submit, result", pool_in_turn),
        ]
        measure("threads: one after the other", THREADS, rounds, contenders)


async def tasks(rounds: int) -> None:
    ours = AsyncPool("bench", max_workers=TASKS, timeout=60)

    async def bare() -> None:
        for task in [asyncio.create_task(nothing_async()) for _ in range(TASKS)]:
            await task

    async def kept() -> None:
        held: set[asyncio.Task[None]] = set()

        def start() -> asyncio.Task[None]:
            task = asyncio.create_task(nothing_async())
            held.add(task)
            task.add_done_callback(held.discard)
            return task

        for task in [start() for _ in range(TASKS)]:
            await task

    async def timed() -> None:
        async def limited() -> None:
            async with asyncio.timeout(60):
                await nothing_async()

        for task in [asyncio.create_task(limited()) for _ in range(TASKS)]:
            await task

    async def pool() -> None:
        for handle in [ours.submit(nothing_async) for _ in range(TASKS)]:
            await handle

    async def detached() -> None:
        for handle in [detach(nothing_async()) for _ in range(TASKS)]:
            await handle

    async def bare_in_turn() -> None:
        for _ in range(TASKS):
            await asyncio.create_task(nothing_async())

    async def pool_in_turn() -> None:
        for _ in range(TASKS):
            await ours.run(nothing_async)

    async def detached_in_turn() -> None:
        for _ in range(TASKS):
            await detach(nothing_async())

    in_turn: list[AsyncContender] = [
        ("create_task", bare_in_turn),
        ("AsyncPool.run", pool_in_turn),
        ("detach", detached_in_turn),
    ]
    at_once: list[AsyncContender] = [
        ("create_task", bare),
        ("create_task, kept in a set as asyncio asks", kept),
        ("create_task with asyncio.timeout", timed),
        ("AsyncPool.submit", pool),
        ("detach", detached),
    ]
    if not missing("aiojobs"):
        import aiojobs

        async def aiojobs_spawn() -> None:
            async with aiojobs.Scheduler(limit=TASKS) as scheduler:
                for job in [await scheduler.spawn(nothing_async()) for _ in range(TASKS)]:
                    await job.wait()

        async def aiojobs_timed() -> None:
            async with aiojobs.Scheduler(limit=TASKS) as scheduler:
                for job in [await scheduler.spawn(nothing_async()) for _ in range(TASKS)]:
                    await job.wait(timeout=60)

        async def aiojobs_in_turn() -> None:
            async with aiojobs.Scheduler(limit=TASKS) as scheduler:
                for _ in range(TASKS):
                    await (await scheduler.spawn(nothing_async())).wait()

        at_once += [
            ("aiojobs spawn, wait", aiojobs_spawn),
            ("aiojobs spawn, wait(timeout)", aiojobs_timed),
        ]
        in_turn.append(("aiojobs spawn, wait", aiojobs_in_turn))
    await measure_async(f"tasks: {TASKS} at once, each yields to the loop once", rounds, at_once)
    await measure_async("tasks: one after the other", rounds, in_turn)
    await ours.drain()


def processes(rounds: int) -> None:
    with (
        ProcessPoolExecutor(2) as bare,
        ProcessPool("bench", max_workers=2, timeout=60, max_pending=PROCESSES) as ours,
    ):

        def futures() -> None:
            for future in [bare.submit(nothing) for _ in range(PROCESSES)]:
                future.result()

        def pool() -> None:
            for handle in [ours.submit(nothing) for _ in range(PROCESSES)]:
                handle.result()

        def futures_in_turn() -> None:
            for _ in range(IN_TURN):
                bare.submit(nothing).result()

        def pool_in_turn() -> None:
            for _ in range(IN_TURN):
                ours.submit(nothing).result()

        at_once: list[Contender] = [
            ("concurrent.futures submit, result", futures),
            ("ProcessPool submit, result", pool),
        ]
        in_turn: list[Contender] = [
            ("concurrent.futures submit, result", futures_in_turn),
            ("ProcessPool submit, result", pool_in_turn),
        ]
        with contextlib.ExitStack() as stack:
            if not missing("pebble"):
                import pebble

                other = stack.enter_context(pebble.ProcessPool(2))

                def pebble_at_once() -> None:
                    for future in [other.schedule(nothing, timeout=60) for _ in range(PROCESSES)]:
                        future.result()

                def pebble_in_turn() -> None:
                    for _ in range(IN_TURN):
                        other.schedule(nothing, timeout=60).result()

                at_once.append(("pebble schedule(timeout), result", pebble_at_once))
                in_turn.append(("pebble schedule(timeout), result", pebble_in_turn))
            measure("processes: 2 workers, all submitted, then collected", PROCESSES, rounds, at_once)
            measure("processes: one after the other", IN_TURN, rounds, in_turn)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {rounds} rounds")
    threads(rounds)
    asyncio.run(tasks(rounds))
    processes(rounds)


if __name__ == "__main__":
    main()
