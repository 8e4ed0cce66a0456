"""Waiting for news: "up to 2 s for this document to be indexed", without a thread or connection a waiter.

A notice comes when it comes: perhaps before its waiter has begun to wait, perhaps never, if the connection
that carries it breaks. So the order is: take a ticket, look, wait, look again; and look now and then anyway.
`WaiterHub.wait_for` does all of it.

    hub = WaiterHub(source=PostgresNotices(DSN, ["indexed"]))
    found = hub.wait_for(lambda: search(document), "indexed", str(document), timeout=2)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Protocol, TypeVar

from . import bounds, fork
from .errors import Refused, Stopping
from .job import Job, current_job
from .wakeup import Steps, Withdraw, drive, drive_async

T = TypeVar("T")

WAITERS = 100_000
"""The most waiters that one hub may have."""


class NoticeSource(Protocol):
    """Brings notices from outside the process to a hub."""

    channels: frozenset[str]

    def start(self, notify: Callable[[str, str], object], wake_all: Callable[[], object]) -> None:
        """Begin to call `notify(channel, key)` for each notice, and `wake_all()` whenever some may have been
        lost. Idempotent, cheap, does not block; after a fork, begins anew in the child.
        """

    def stop(self) -> None:
        """End it. Blocks briefly."""


class WaiterHub:
    """Up to `max_waiters` threads and tasks that wait for notices; the next one is told `Refused` at once.

    A notice has a channel and a key. It wakes who waits for that key and who waits for any (`key=""`); a
    notice without a key wakes the whole channel. Notices come from `notify` in this process and, with a
    `source`, from outside. `poll` is how often, in seconds, `wait_for` looks although it heard nothing.

    Thread-safe. Starts nothing before the first ticket; `close` (or leaving the `with` block) ends the
    source. After a fork the child has a hub without waiters. Not for signal handlers.
    """

    def __init__(
        self, *, max_waiters: int = 64, source: NoticeSource | None = None, poll: float = 1.0
    ) -> None:
        self._max_waiters = bounds.whole("max_waiters", max_waiters, 1, WAITERS)
        self._poll = bounds.seconds("poll", poll)
        self._source = source
        self.refused = 0
        self._closed = False
        self.after_fork()
        fork.watch(self)

    def after_fork(self) -> None:
        """Begin without waiters: they belong to the parent."""
        self._lock = threading.Lock()
        self._tickets: dict[tuple[str, str], list[Ticket]] = {}
        self._waiting = 0

    @property
    def waiting(self) -> int:
        """How many hold a ticket now."""
        return self._waiting

    @contextmanager
    def ticket(self, channel: str, key: str = "") -> Iterator[Ticket]:
        """A place among the waiters: what is notified from now on is not lost. Does not block.

        Raises `Refused` when all places are taken, `Stopping` when the hub is closed, and ValueError for a
        channel that the hub's source does not listen to.
        """
        ticket = self._take(channel, key)
        try:
            if self._source is not None:
                self._source.start(self.notify, self.wake_all)
            yield ticket
        finally:
            self._give_back(ticket)

    def wait_for(self, look: Callable[[], T], channel: str, key: str = "", *, timeout: float) -> T:
        """Call `look()` until what it gives is true, after every notice; its last result after `timeout` s.

        Blocks this thread. `look` runs on it: let it give its database connection back before it returns.
        Raises `Refused` without looking when all places are taken; `Stopping` and `JobTimeout` if the current
        job ends first.
        """
        ends = time.monotonic() + bounds.seconds("timeout", timeout)
        with self.ticket(channel, key) as ticket:
            while not (found := look()) and (left := ends - time.monotonic()) > 0:
                ticket.wait(min(left, self._poll))
        return found

    async def wait_for_async(
        self,
        look: Callable[[], Awaitable[T]],
        channel: str,
        key: str = "",
        *,
        timeout: float,  # noqa: ASYNC109 - as in threading
    ) -> T:
        """As `wait_for`, on the running loop, with a coroutine function."""
        ends = time.monotonic() + bounds.seconds("timeout", timeout)
        with self.ticket(channel, key) as ticket:
            while not (found := await look()) and (left := ends - time.monotonic()) > 0:
                await ticket.wait_async(min(left, self._poll))
        return found

    def notify(self, channel: str, key: str = "") -> int:
        """Wake who waits for this; how many they were. Any thread, does not block."""
        with self._lock:
            if key:
                tickets = [*self._tickets.get((channel, key), ()), *self._tickets.get((channel, ""), ())]
            else:
                tickets = [t for (its, _), found in self._tickets.items() if its == channel for t in found]
            for ticket in tickets:
                ticket._notice()
        return len(tickets)

    def wake_all(self) -> None:
        """Let everybody look again: notices may have been lost. Any thread, does not block."""
        with self._lock:
            for tickets in self._tickets.values():
                for ticket in tickets:
                    ticket._notice()

    def close(self) -> None:
        """End the source; whoever waits gets `Stopping`. Idempotent. Blocks briefly."""
        self._closed = True
        self.wake_all()
        if self._source is not None:
            self._source.stop()

    def __enter__(self) -> WaiterHub:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self, channel: str, key: str) -> Ticket:
        if self._source is not None and channel not in self._source.channels:
            raise ValueError(f"channel must be one of {sorted(self._source.channels)}, not {channel!r}")
        if self._closed:
            raise Stopping("the hub is closed")
        with self._lock:
            if self._waiting >= self._max_waiters:
                self.refused += 1
                raise Refused(f"{self._waiting} already wait (max_waiters={self._max_waiters})")
            ticket = Ticket(self, channel, key)
            self._tickets.setdefault((channel, key), []).append(ticket)
            self._waiting += 1
        return ticket

    def _give_back(self, ticket: Ticket) -> None:
        with self._lock:
            place = (ticket.channel, ticket.key)
            tickets = self._tickets.get(place, [])
            if ticket in tickets:  # not if a fork came between
                tickets.remove(ticket)
                self._waiting -= 1
                if not tickets:
                    del self._tickets[place]


class Ticket:
    """One waiter's place in a hub, from `WaiterHub.ticket`. For one thread or task at a time."""

    def __init__(self, hub: WaiterHub, channel: str, key: str) -> None:
        self.channel = channel
        self.key = key
        self._hub = hub
        self._noticed = False
        self._wake: Callable[[], object] = _nobody

    def wait(self, timeout: float) -> bool:
        """Block until a notice has come since the ticket was taken, or since the last `wait`: True, look
        again.

        False after `timeout` seconds. Raises `Stopping` or `JobTimeout` when the current job is to stop or
        its time is up, and `Stopping` when the hub is closed.
        """
        return drive(self._waiting(timeout))

    async def wait_async(self, timeout: float) -> bool:  # noqa: ASYNC109 - as in threading
        """As `wait`, without blocking the loop."""
        return await drive_async(self._waiting(timeout))

    def _waiting(self, timeout: float) -> Steps[bool]:
        job, limit = current_job(), bounds.patience("timeout", timeout)
        yield partial(self._register, job), job.remaining() if limit is None else min(limit, job.remaining())
        job.check()
        if self._hub._closed:
            raise Stopping("the hub is closed")
        with self._hub._lock:
            self._wake = _nobody
            heard, self._noticed = self._noticed, False
        return heard

    def _register(self, job: Job, wake: Callable[[], object]) -> Withdraw:
        with self._hub._lock:
            self._wake = wake
            if self._noticed or self._hub._closed:
                wake()
        return job.on_stop(wake)

    def _notice(self) -> None:
        self._noticed = True
        self._wake()


def _nobody() -> None:
    """Who is woken while nobody waits."""
