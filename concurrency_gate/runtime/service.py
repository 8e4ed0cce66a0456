"""`Runtime`: queues, relays and periodic jobs of one process, from the checks at the start to an
orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from .bounds import SECONDS, call, each, kind, seconds
from .budget import Claim, ConnectionBudget
from .detached import detached
from .handle import Handle, Outcome
from .homeloop import at_home, end_own_loop
from .job import Root, StopToken, _current
from .periodic import Periodic
from .pool import Pool
from .queues import Queue
from .records import INFO, record
from .relay import Relay
from .shutdown import Ended, Shutdown
from .signals import Doorbell, on_signal
from .stats import RuntimeStats, openmetrics
from .tasks import AsyncPool
from .threads import ThreadPool
from .ticker import Ticker, is_async
from .wakeup import Steps, block, drive, drive_async, first_of

GRACE = 20.0
"""Seconds of grace that running jobs get at the end when none are given."""


class Runtime:
    """The background work of one process.

        runtime = Runtime(queues=[Queue("webhook", max_workers=8, timeout=15)])
        async with runtime:                      # or `with runtime:` in sync code
            runtime["webhook"].submit(send, 42)

    `run(main)` does the same and owns SIGTERM and SIGINT. The `with` forms leave signals alone, for a server
    that handles them itself and has a lifespan to put the block in.

    The start is refused with `BudgetExceeded`, `UnsafeTimeout` or `LeaseTooShort`, all ValueErrors, when the
    settings do not fit together. At the end relays stop first, then the queues claim nothing more (what
    waits is dropped), then running jobs get `grace` seconds and are cancelled; see `ended` for what came of
    it. A Runtime runs once. Methods are thread-safe.
    """

    def __init__(
        self,
        *,
        queues: Sequence[Queue] = (),
        relays: Sequence[Relay] = (),
        periodics: Sequence[Periodic] = (),
        budget: ConnectionBudget = ConnectionBudget(),  # noqa: B008 - frozen
        grace: float = GRACE,
    ) -> None:
        self.queues = each("queues", queues, Queue)
        self.relays = each("relays", relays, Relay)
        self.periodics = each("periodics", periodics, Periodic)
        self.budget = kind("budget", budget, ConnectionBudget)
        self.grace = seconds("grace", grace, high=3600.0)
        self.token = StopToken()
        self.ended: Ended | None = None
        names = [queue.name for queue in self.queues]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"queues must have different names; more than once: {', '.join(sorted(twice))}")
        for relay in self.relays:
            if relay.queue not in names:
                raise ValueError(
                    f"relay {relay.name!r} feeds queue {relay.queue!r}, and there is none of that name"
                )
        self._pools: dict[str, Pool] = {}
        self._passes: list[Pool] = []
        self._last: list[Pool] = []
        self._tickers: list[Ticker] = []
        self._shutdown: Shutdown | None = None
        self._around = contextlib.ExitStack()
        self._block = block

    def __getitem__(self, queue: str) -> Any:
        """The pool of a queue, to submit to. KeyError, with the names there are, for another."""
        try:
            return self._pools[queue]
        except KeyError:
            known = ", ".join(self._pools) or "none: the Runtime has not started"
            raise KeyError(f"no queue {queue!r}; there are {known}") from None

    def stop(self, reason: str = "asked to stop") -> None:
        """Ask for the end: `token` stops, and `run` begins its shutdown. Called again, it skips a phase's
        wait.

        From any thread and from a signal handler. It does not block and does not end a `with` block: the
        code in there has `current_job().stopping`.
        """
        if self.token.stopping and self._shutdown is not None:
            self._shutdown.hurry()
        self.token.stop(reason, grace=self.grace)

    def stats(self) -> RuntimeStats:
        """Every queue's accounts, and those of passes and detached work, at this moment."""
        own = [*self._pools.values(), *self._passes, *detached.pools]
        return RuntimeStats(pools=tuple(pool.stats() for pool in own), stopping=self.token.stopping)

    def openmetrics(self) -> str:
        """The same as OpenMetrics text, to be served as `application/openmetrics-text; version=1.0.0`."""
        return openmetrics(self.stats())

    # The start.

    def check(self) -> None:
        """Refuse settings that do not fit together; the start calls it."""
        for queue in self.queues:
            queue.check(self.grace)
        claims: list[Claim] = [(f"queue {q.name}", q.max_workers, q.connections) for q in self.queues]
        claims += [(f"relay {relay.name}", 1, relay.connections) for relay in self.relays]
        claims += [(f"periodic {one.ticker().name}", 1, one.connections) for one in self.periodics]
        total = self.budget.check(claims)
        record(
            INFO, "runtime starts", connections=total, budget=self.budget.available, queues=len(self.queues)
        )

    def _start(self, loop: asyncio.AbstractEventLoop | None) -> None:
        if self._shutdown is not None:
            raise RuntimeError("a Runtime runs once: make another")
        self.check()
        self._pools = {queue.name: queue.pool() for queue in self.queues}
        self._tickers = [relay.ticker(self._pools[relay.queue]) for relay in self.relays]
        self._tickers += [periodic.ticker() for periodic in self.periodics]
        places = self._places()
        # Detached work ends with the Runtime: its pools are the process's, and open again afterwards.
        self._last += detached.pools
        queues = list(self._pools.values())
        self._shutdown = Shutdown(self._tickers, self._passes, queues, self._last, self.grace)
        if loop is not None:
            self._around.enter_context(at_home(loop))
        reset = _current.set(Root("runtime", self.token))
        self._around.callback(_current.reset, reset)
        for ticker in self._tickers:
            ticker.start(places[is_async(ticker.call)])

    def _places(self) -> dict[bool, Pool]:
        """Where passes run: functions in threads (False), coroutines in tasks (True)."""
        counts = Counter(is_async(ticker.call) for ticker in self._tickers)
        places: dict[bool, Pool] = {}
        for asynchronous, count in counts.items():
            make, name = (AsyncPool, "async passes") if asynchronous else (ThreadPool, "passes")
            places[asynchronous] = make(name, max_workers=count, max_pending=count, timeout=SECONDS)
            places[asynchronous].alarm = True
        self._passes += places.values()
        return places

    # The end.

    def _ending(self) -> Steps[None]:
        assert self._shutdown is not None
        self.token.stop("its block has ended", grace=self.grace)
        self.ended = yield from self._shutdown.steps(self.token.reason or "")
        detached.begin_anew()

    def __enter__(self) -> Runtime:
        """Start; see the class for the errors. Does not block."""
        self._start(None)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        """The end, at most `grace` seconds and one more. Blocks."""
        with self._around:
            drive(self._ending(), self._block)
            end_own_loop()

    async def __aenter__(self) -> Runtime:
        """As `with`, in the running event loop, which is then the one for coroutines that come from
        threads."""
        self._start(asyncio.get_running_loop())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        with self._around:
            await drive_async(self._ending())

    # With signals.

    def run(self, main: Callable[[Runtime], Any] | None = None) -> Any:
        """Start, call `main(runtime)`, a function or a coroutine function, and end when it returns or at a
        signal.

        SIGTERM and SIGINT stop the `token`: `main` sees `current_job().stopping` and, like a running job,
        has the grace to return before it is cancelled. A second signal skips ahead. Without `main` it runs
        until a signal. Returns what `main` returned, or None if it did not; raises what it raised. Blocks;
        main thread only. A `main` that is a function runs in a thread of its own, because this one waits
        for signals.
        """
        call("main", main, optional=True)
        with on_signal(self.stop) as doorbell:
            if main is not None and is_async(main):
                return asyncio.run(self._run_async(main, doorbell))
            self._block = doorbell.block
            with self:
                handle = self._start_main(ThreadPool, main)
                drive(self._until_the_end(handle), self._block)
            return _result(handle)

    async def _run_async(self, main: Callable[[Runtime], Any], doorbell: Doorbell) -> Any:
        doorbell.wake(asyncio.get_running_loop())
        async with self:
            handle = self._start_main(AsyncPool, main)
            await drive_async(self._until_the_end(handle))
        return _result(handle)

    def _start_main(
        self, kind: type[ThreadPool | AsyncPool], main: Callable[[Runtime], Any] | None
    ) -> Handle[Any] | None:
        if main is None:
            return None
        pool = kind("main", max_workers=1, max_pending=0, timeout=SECONDS)
        pool.timeout = math.inf  # the one job without a limit: it ends with the process
        self._last.insert(0, pool)
        work = self._main_async if kind is AsyncPool else self._main
        return pool.hand_over(work, (main,), "main", math.inf)

    def _main(self, main: Callable[[Runtime], Any]) -> Any:
        _current.set(Root("main", self.token))  # in the context that belongs to this job alone
        return main(self)

    async def _main_async(self, main: Callable[[Runtime], Any]) -> Any:
        _current.set(Root("main", self.token))
        return await main(self)

    def _until_the_end(self, main: Handle[Any] | None) -> Steps[None]:
        ends = [self.token.on_stop] if main is None else [self.token.on_stop, main.add_done_callback]
        yield first_of(*ends), None


def _result(main: Handle[Any] | None) -> Any:
    if main is None or main.outcome is Outcome.CANCELLED:
        return None
    if main.error is not None:
        raise main.error
    return main._value
