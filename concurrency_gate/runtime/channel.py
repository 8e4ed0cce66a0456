"""A bounded channel whose sender never waits, and the fan-out of one sender to many such channels.

What happens when a channel is full is declared where it is made. So a receiver that does not keep up costs
itself something, an item or its place, and never the sender nor the other receivers.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Generic, Literal, TypeVar

from . import bounds, fork
from .errors import Refused, RuntimeLibraryError
from .job import Job, current_job
from .records import WARNING, record
from .wakeup import Steps, Withdraw, drive, drive_async

T = TypeVar("T")

WhenFull = Literal["refuse", "drop_new", "drop_old"]
WhenSlow = Literal["drop_new", "drop_old", "disconnect"]

MAXSIZE = 1_000_000
"""The most items that one channel may hold."""
RECEIVERS = 100_000
"""The most receivers that one fan-out may have."""


class ChannelClosed(RuntimeLibraryError):  # noqa: N818
    """The channel was closed, and what it held has been received."""


class Channel(Generic[T]):
    """Up to `maxsize` items between senders and receivers, threads and tasks alike, in order.

    `full` says what `send_nowait` does when there is no room: `"refuse"` raises `Refused`, `"drop_new"` drops
    the item, `"drop_old"` drops the oldest held one. Drops are counted in `dropped` and logged. Each item
    goes to one receiver. As a context manager it closes itself at the end. Thread-safe; not for signal
    handlers; empty in a forked child.
    """

    def __init__(self, maxsize: int, *, full: WhenFull = "refuse", name: str = "channel") -> None:
        self._maxsize = bounds.whole("maxsize", maxsize, 1, MAXSIZE)
        if full not in ("refuse", "drop_new", "drop_old"):
            raise ValueError(f"full must be 'refuse', 'drop_new' or 'drop_old', not {full!r}")
        self.name = name
        self.dropped = 0
        self._full = full
        self._closed = False
        self.after_fork()
        fork.watch(self)

    def after_fork(self) -> None:
        """Begin empty: what is held, and who waits for it, belong to the parent."""
        self._lock = threading.Lock()
        self._items: deque[T] = deque()
        self._sleepers: dict[Callable[[], object], None] = {}

    def send_nowait(self, item: T) -> bool:
        """Put `item` in; False if it was dropped for want of room. Never waits for a receiver.

        Raises `Refused` when full under the policy `"refuse"`, and `ChannelClosed`.
        """
        with self._lock:
            if self._closed:
                raise ChannelClosed(f"channel {self.name!r} is closed")
            room = len(self._items) < self._maxsize
            if not room and self._full == "refuse":
                raise Refused(f"channel {self.name!r} is full: it holds {self._maxsize} items (maxsize)")
            if not room:
                self._count_drop()
            if not room and self._full == "drop_old":
                self._items.popleft()
                room = True
            if room:
                self._items.append(item)
                self._wake_all()
        return room

    def receive(self, timeout: float | None = None) -> T:
        """The oldest item. Blocks this thread until there is one, up to `timeout` seconds (None: no own
        limit).

        Ends early, whatever `timeout` says, with `Stopping` or `JobTimeout` when the current job is to stop
        or its time is up, and with `ChannelClosed`. Raises TimeoutError after `timeout`.
        """
        return drive(self._receiving(timeout))

    async def receive_async(self, timeout: float | None = None) -> T:  # noqa: ASYNC109 - as in threading
        """As `receive`, without blocking the loop."""
        return await drive_async(self._receiving(timeout))

    def close(self) -> None:
        """No more items: receivers get what is held, then `ChannelClosed`. Idempotent, does not block."""
        with self._lock:
            self._closed = True
            self._wake_all()

    @property
    def closed(self) -> bool:
        """Whether `close` was called; items may still be held."""
        return self._closed

    def __len__(self) -> int:
        return len(self._items)

    def __enter__(self) -> Channel[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[T]:
        """Receive until the channel is closed; `Stopping` and `JobTimeout` as in `receive`."""
        while True:
            try:
                item = self.receive()
            except ChannelClosed:
                return
            yield item

    async def __aiter__(self) -> AsyncIterator[T]:
        while True:
            try:
                item = await self.receive_async()
            except ChannelClosed:
                return
            yield item

    def _receiving(self, timeout: float | None) -> Steps[T]:
        limit = bounds.patience("timeout", timeout)
        job, ends = current_job(), math.inf if limit is None else time.monotonic() + limit
        while (item := self._take(job, ends)) is None:
            left = min(ends - time.monotonic(), job.remaining())
            yield partial(self._register, job), None if left == math.inf else left
        return item[0]

    def _take(self, job: Job, ends: float) -> tuple[T] | None:
        job.check()
        with self._lock:
            if self._items:
                return (self._items.popleft(),)
            if self._closed:
                raise ChannelClosed(f"channel {self.name!r} is closed")
        if time.monotonic() >= ends:
            raise TimeoutError(f"nothing came through channel {self.name!r} in time")
        return None

    def _register(self, job: Job, wake: Callable[[], object]) -> Withdraw:
        with self._lock:
            self._sleepers[wake] = None
            if self._items or self._closed:  # it came between looking and registering
                wake()
        withdraw_stop = job.on_stop(wake)

        def withdraw() -> None:
            withdraw_stop()
            with self._lock:
                self._sleepers.pop(wake, None)

        return withdraw

    def _wake_all(self) -> None:
        # All, not one: the one might be gone by the time (cancelled, stopped, its loop closed), with the item
        # there and everybody asleep. Whoever comes too late only looks.
        for wake in self._sleepers:
            wake()
        self._sleepers.clear()

    def _count_drop(self) -> None:
        self.dropped += 1
        if self.dropped & (self.dropped - 1) == 0:  # the 1st, 2nd, 4th, 8th: a flood does not fill the log
            record(WARNING, "a channel is full and drops items", channel=self.name, dropped=self.dropped)


class Fanout(Generic[T]):
    """Sends each item to every subscribed receiver, none of which can hold up the sender or another receiver.

    Each of up to `max_receivers` has a `Channel` of `maxsize` items. `slow` says what happens to one that is
    full: `"drop_old"` or `"drop_new"` items, or `"disconnect"`, which closes its channel. Thread-safe.
    """

    def __init__(
        self,
        *,
        maxsize: int = 100,
        max_receivers: int = 1000,
        slow: WhenSlow = "drop_old",
        name: str = "fanout",
    ) -> None:
        self._maxsize = bounds.whole("maxsize", maxsize, 1, MAXSIZE)
        self._max_receivers = bounds.whole("max_receivers", max_receivers, 1, RECEIVERS)
        if slow not in ("drop_new", "drop_old", "disconnect"):
            raise ValueError(f"slow must be 'drop_new', 'drop_old' or 'disconnect', not {slow!r}")
        self.name = name
        self._full: WhenFull = "refuse" if slow == "disconnect" else slow
        self._closed = False
        self.after_fork()
        fork.watch(self)

    def after_fork(self) -> None:
        """Begin without receivers: they belong to the parent."""
        self._lock = threading.Lock()
        self._channels: list[Channel[T]] = []

    def subscribe(self) -> Channel[T]:
        """A new receiver's channel; closing it (leaving its `with` block) unsubscribes. Does not block.

        Raises `Refused` when there are `max_receivers` already, and `ChannelClosed`.
        """
        with self._lock:
            if self._closed:
                raise ChannelClosed(f"fan-out {self.name!r} is closed")
            self._channels = [channel for channel in self._channels if not channel.closed]
            if len(self._channels) >= self._max_receivers:
                raise Refused(f"fan-out {self.name!r} has {self._max_receivers} receivers (max_receivers)")
            channel: Channel[T] = Channel(self._maxsize, full=self._full, name=self.name)
            self._channels.append(channel)
        return channel

    def publish(self, item: T) -> int:
        """Send `item` to all; how many took it. Never waits for a receiver."""
        with self._lock:
            channels = list(self._channels)
        return sum(self._offer(channel, item) for channel in channels)

    def close(self) -> None:
        """Close every channel: its receiver gets what it holds, then `ChannelClosed`. Idempotent."""
        with self._lock:
            self._closed = True
            channels, self._channels = self._channels, []
        for channel in channels:
            channel.close()

    def __len__(self) -> int:
        return sum(not channel.closed for channel in self._channels)

    def _offer(self, channel: Channel[T], item: T) -> bool:
        try:
            return channel.send_nowait(item)
        except Refused:
            record(WARNING, "a receiver does not keep up and is disconnected", fanout=self.name)
            channel.close()
        except ChannelClosed:
            pass  # it left; the next subscriber sweeps its channel away
        return False
