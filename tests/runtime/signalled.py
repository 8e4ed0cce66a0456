"""Programs that test_signals.py starts and sends signals to: `python -m tests.runtime.signalled NAME`.

Each prints `ready` when the signal may come, then what the test wants to know.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from typing import Any

from concurrency_gate.runtime import ProcessPool, Queue, Runtime, ThreadPool, current_job, detach

from . import jobs


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")  # one write, so that lines of threads do not mix
    sys.stdout.flush()


def ended(runtime: Runtime) -> None:
    assert runtime.ended is not None
    say("dropped", runtime.ended.dropped)
    say("cancelled", runtime.ended.cancelled)
    say("unfinished", ",".join(runtime.ended.unfinished))


def orderly() -> None:
    """Running jobs end in their grace; what waits is dropped."""
    runtime = Runtime(queues=[Queue("q", max_workers=1, timeout=60)], grace=30)

    started = threading.Event()

    def patient() -> None:
        started.set()
        current_job().wait(None)
        say("told", current_job().reason)

    def main(runtime: Runtime) -> str:
        runtime["q"].submit(patient)
        runtime["q"].submit(patient)
        started.wait()
        say("ready")
        current_job().wait(None)
        return "returned"

    say("main", runtime.run(main))
    ended(runtime)


def orderly_async() -> None:
    """The same with coroutines; `main` waits for stop."""
    runtime = Runtime(queues=[Queue("q", max_workers=1, timeout=60, kind="async")], grace=30)

    async def patient() -> None:
        say("ready")
        await current_job().wait_async(None)
        say("told", current_job().reason)

    async def main(runtime: Runtime) -> str:
        runtime["q"].submit(patient)
        runtime["q"].submit(patient)
        await current_job().wait_async(None)
        return "returned"

    say("main", runtime.run(main))
    ended(runtime)


def no_main() -> None:
    """A process that only works off its queues."""
    runtime = Runtime(queues=[Queue("q", max_workers=1, timeout=60)])
    detach(say_ready, runtime)
    say("main", runtime.run())
    ended(runtime)


def say_ready(runtime: Runtime) -> None:
    while not runtime._pools:
        os.sched_yield()
    say("ready")


def stuck() -> None:
    """A thread that hears nothing, with a long grace: the second signal ends the wait."""
    runtime = Runtime(queues=[Queue("q", max_workers=1, timeout=600)], grace=600)

    def deaf() -> None:
        say("ready")
        threading.Event().wait()

    async def main(runtime: Runtime) -> None:
        runtime["q"].submit(deaf, name="deaf")
        await current_job().wait_async(None)
        say("stopping")

    runtime.run(main)
    ended(runtime)
    sys.exit(3)


def deaf_task() -> None:
    """A task that swallows every cancellation: it is named, and the loop's end does not wait for it."""
    runtime = Runtime(queues=[Queue("q", max_workers=1, timeout=600, kind="async")], grace=0.1)

    async def deaf() -> None:
        say("ready")
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    async def main(runtime: Runtime) -> None:
        runtime["q"].submit(deaf, name="deaf")
        await current_job().wait_async(None)

    runtime.run(main)
    ended(runtime)
    sys.exit(3)


def deaf_main() -> None:
    """A `main` that never returns: it is cancelled after the grace."""
    runtime = Runtime(grace=0.1)

    async def main(_: Runtime) -> None:
        say("ready")
        await asyncio.Event().wait()

    say("main", runtime.run(main))
    ended(runtime)


def blocked_loop() -> None:
    """The loop is blocked when the signal comes: it is heard all the same."""
    runtime = Runtime(grace=5)

    async def main(runtime: Runtime) -> None:
        say("ready")
        while not runtime.token.stopping:
            pass
        say("heard")

    runtime.run(main)
    ended(runtime)


def heard_elsewhere() -> None:
    """The signal comes to another thread while the main one waits, as it does when it comes just before the wait."""
    runtime = Runtime(grace=5)

    def main(_: Runtime) -> str:
        kill_this_thread()
        current_job().wait(None)
        return "returned"

    say("main", runtime.run(main))


def heard_elsewhere_async() -> None:
    """The same, and the main thread waits in an event loop."""
    runtime = Runtime(grace=5)

    async def main(_: Runtime) -> str:
        detach(kill_this_thread)
        await current_job().wait_async(None)
        return "returned"

    say("main", runtime.run(main))


def kill_this_thread() -> None:
    while sys._current_frames()[threading.main_thread().ident or 0].f_code.co_name not in ("block", "select"):
        os.sched_yield()
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)


def processes() -> None:
    """A worker process in an endless job."""
    runtime = Runtime(queues=[Queue("q", max_workers=1, timeout=600, kind="process")], grace=0.1)

    def main(runtime: Runtime) -> None:
        say("pid", runtime["q"].submit(os.getpid).result())
        runtime["q"].submit(jobs.for_ever)
        say("ready")
        current_job().wait(None)

    runtime.run(main)
    ended(runtime)


def bare_exit() -> None:
    """No Runtime, nothing closed, a stuck thread, a worker process: the exit is prompt and keeps its code."""
    logging.basicConfig(level=logging.CRITICAL)
    started = threading.Event()

    def deaf() -> None:
        started.set()
        threading.Event().wait()

    ThreadPool("q", max_workers=1, timeout=600).submit(deaf)
    pool = ProcessPool("p", max_workers=1, timeout=600)
    pool.submit(jobs.square, 2).result()
    pool.submit(jobs.for_ever)
    started.wait()
    say("ready")
    sys.exit(3)


def forked_exit() -> None:
    """A child that was forked exits, with all its handlers; the worker process goes on with its job."""
    pool = ProcessPool("p", max_workers=1, timeout=60)
    pool.submit(jobs.square, 2).result()
    worker = pool.submit(os.getpid).result()
    child = os.fork()
    if child == 0:
        sys.exit(4)
    say("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    say("same worker", pool.submit(os.getpid).result() == worker)
    pool.drain()


def detached_at_exit() -> None:
    """Detached work that is under way when the program ends is given a little time."""
    gate = threading.Event()

    def work() -> None:
        gate.wait()
        say("done")

    async def work_too() -> None:
        await asyncio.sleep(0)
        say("done")

    detach(work)
    detach(work_too)
    gate.set()
    say("ready")


if __name__ == "__main__":
    programs: dict[str, Any] = {name: value for name, value in globals().items() if callable(value)}
    programs[sys.argv[1]]()
