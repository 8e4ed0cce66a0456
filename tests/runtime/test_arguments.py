"""A bad argument is an error at the door, which names it and says what it may be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from concurrency_gate.runtime import (
    AsyncPool,
    Channel,
    ConnectionBudget,
    KeyLease,
    Periodic,
    PostgresLeases,
    ProcessPool,
    Queue,
    Relay,
    Retry,
    Runtime,
    SQLiteLeases,
    StopToken,
    ThreadPool,
    WaiterHub,
    carry,
    current_job,
    detach,
    instrument,
)

Wrong: Any = 3
NAN = float("nan")


async def work() -> int:
    await asyncio.sleep(0)
    return 1


def nothing(limit: int) -> list[int]:  # noqa: ARG001
    return []


def refuses(call: Callable[[], object], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call()


@pytest.mark.parametrize("kind", [ThreadPool, AsyncPool, ProcessPool])
class TestPools:
    @pytest.mark.parametrize(
        ("argument", "value", "message"),
        [
            ("name", 3, "name must be a string that is not empty, not 3"),
            ("name", "", "name must be a string that is not empty"),
            ("max_workers", 0, "max_workers must be an integer from 1 to 10000, not 0"),
            ("max_workers", 2.5, "max_workers must be an integer from 1 to 10000, not 2.5"),
            ("timeout", 0, "timeout must be seconds above 0 and up to 604800, not 0"),
            ("timeout", NAN, "timeout must be seconds above 0 and up to 604800, not nan"),
            ("timeout", None, "timeout must be seconds above 0 and up to 604800, not None"),
            ("max_pending", -1, "max_pending must be an integer from 0 to 1000000, not -1"),
            ("retry", 3, "retry must be a Retry, not 3"),
            ("on_dead", 3, "on_dead must be callable or None, not 3"),
            ("lease", 3, "lease must be a KeyLease or None, not 3"),
        ],
    )
    def test_of_a_pool(self, kind: Any, argument: str, value: Any, message: str) -> None:
        settings = {"name": "q", "max_workers": 1, "timeout": 5, argument: value}
        refuses(lambda: kind(settings.pop("name"), **settings), message)

    def test_of_a_submit(self, kind: Any) -> None:
        pool = kind("q", max_workers=1, timeout=5)
        refuses(lambda: pool.submit(3), "call must be callable, not 3")
        refuses(lambda: pool.submit(work()), "call must be a function, and its arguments follow it; work was")
        refuses(lambda: pool.submit(work, key=3), "key must be a string that is not empty, not 3")
        refuses(lambda: pool.submit(work, key=""), "key must be a string that is not empty")
        refuses(lambda: pool.submit(work, name=3), "name must be a string that is not empty, not 3")
        stats = pool.stats()
        assert (stats.submitted, stats.running, stats.pending) == (0, 0, 0)


def test_of_waits_and_ends() -> None:
    pool = ThreadPool("q", max_workers=1, timeout=5)
    refuses(lambda: pool.submit_wait(print, timeout=Wrong * -1), "timeout must be seconds above 0")
    refuses(lambda: pool.stop("soon"), "grace must be seconds from 0, or None, not 'soon'")  # type: ignore[arg-type]
    refuses(lambda: pool.stop(NAN), "grace must be seconds from 0, or None, not nan")
    refuses(lambda: pool.drain("soon"), "timeout must be seconds from 0, or None, not 'soon'")  # type: ignore[arg-type]
    handle = pool.submit(lambda: current_job().wait(5))
    refuses(lambda: handle.wait("soon"), "timeout must be seconds from 0, or None, not 'soon'")  # type: ignore[arg-type]
    refuses(lambda: handle.add_done_callback(Wrong), "callback must be callable, not 3")
    handle.cancel()
    pool.stop(0)
    refuses(lambda: current_job().wait("soon"), "timeout must be seconds from 0")  # type: ignore[arg-type]
    refuses(lambda: current_job().http_timeout(0), "cap must be seconds above 0")
    refuses(lambda: StopToken().stop(grace=NAN), "grace must be seconds from 0")
    refuses(lambda: StopToken().on_stop(Wrong), "callback must be callable, not 3")
    refuses(lambda: Channel[int](1).receive("soon"), "timeout must be seconds from 0")  # type: ignore[arg-type]
    with WaiterHub() as hub, hub.ticket("news") as ticket:
        refuses(lambda: ticket.wait("soon"), "timeout must be seconds from 0")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Retry(Wrong - 3), "max_attempts must be an integer from 1 to 1000, not 0"),
        (lambda: Retry(3, backoff=0), "backoff must be seconds above 0"),
        (lambda: Retry(3, jitter="a"), "jitter must be from 0 to 1, not 'a'"),  # type: ignore[arg-type]
        (lambda: Retry(3, jitter=2), "jitter must be from 0 to 1, not 2"),
        (lambda: ConnectionBudget(0), "max_connections must be an integer from 1 to 100000, not 0"),
        (lambda: ConnectionBudget(10, "a"), "reserved must be a share from 0 to below 1, not 'a'"),  # type: ignore[arg-type]
        (lambda: ConnectionBudget(10, 1.0), "reserved must be a share from 0 to below 1, not 1"),
        (lambda: Queue(Wrong, max_workers=1, timeout=1), "name must be a string that is not empty, not 3"),
        (
            lambda: Queue("q", max_workers=1, timeout=1, connections=-1),
            "connections must be an integer from 0",
        ),
        (
            lambda: Queue("q", max_workers=1, timeout=1, http_timeout=0),
            "http_timeout must be seconds above 0",
        ),
        (
            lambda: Relay(Wrong, "q", fetch=nothing, work=print),
            "name must be a string that is not empty, not 3",
        ),
        (lambda: Relay("r", "q", fetch=Wrong, work=print), "fetch must be callable, not 3"),
        (lambda: Relay("r", "q", fetch=nothing, work=Wrong), "work must be callable, not 3"),
        (
            lambda: Relay("r", "q", fetch=nothing, work=print, key=Wrong),
            "key must be callable or None, not 3",
        ),
        (lambda: Relay("r", "q", fetch=nothing, work=print, every=0), "every must be seconds above 0"),
        (lambda: Periodic(Wrong, every=1), "work must be a function or a coroutine function, not 3"),
        (lambda: Periodic(print, every=1, name=Wrong), "name must be a string that is not empty, not 3"),
        (lambda: Runtime(queues=Wrong), "queues must be a sequence of Queue objects, not 3"),
        (lambda: Runtime(queues=[Wrong]), r"queues must be a sequence of Queue objects, not \[3\]"),
        (lambda: Runtime(relays=[Wrong]), "relays must be a sequence of Relay objects"),
        (lambda: Runtime(periodics=[Wrong]), "periodics must be a sequence of Periodic objects"),
        (lambda: Runtime(budget=Wrong), "budget must be a ConnectionBudget, not 3"),
        (lambda: Runtime(grace=4000), "grace must be seconds above 0 and up to 3600, not 4000"),
        (lambda: Runtime().run(Wrong), "main must be callable or None, not 3"),
        (lambda: carry(Wrong), "takes ContextVar objects, not 3"),
        (lambda: instrument(Wrong), "factory must be callable, not 3"),
        (lambda: detach(Wrong), "work must be a coroutine, a coroutine function or a function, not 3"),
        (lambda: detach(work(), name=Wrong), "name must be a string that is not empty, not 3"),
        (lambda: PostgresLeases("", statement_timeout=0), "statement_timeout must be seconds above 0.001"),
    ],
)
def test_of_the_rest(make: Callable[[], object], message: str) -> None:
    refuses(make, message)


def test_of_leases(tmp_path: Path) -> None:
    refuses(
        lambda: SQLiteLeases(tmp_path / "l", wait=-1), "wait must be seconds above 0 and up to 3600, not -1"
    )
    store = SQLiteLeases(tmp_path / "l")
    refuses(lambda: KeyLease(store, timeout=0), "timeout must be seconds above 0")
    refuses(lambda: KeyLease(store, timeout=1, grace=-1), "grace must be seconds above 0")
    refuses(lambda: KeyLease(store, timeout=1, seconds="a"), "seconds must be seconds from 0")  # type: ignore[arg-type]
    lease = KeyLease(store, timeout=1)
    refuses(lambda: lease.claim(Wrong), "key must be a string that is not empty, not 3")
    refuses(lambda: lease.hold("k", snooze=-1).__enter__(), "seconds must be seconds above 0")
    claim = lease.claim("k")
    assert claim is not None, "what was refused has taken nothing"
    claim.release()
    store.close()
