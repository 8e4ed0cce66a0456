"""At most one job per key at a time, within the process: the others are parked and spend no attempt."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from .handle import Handle


class Keys:
    """Who holds which key, and who waits for it in which order. Guarded by the lock of its pool."""

    def __init__(self) -> None:
        self._holders: dict[str, Handle[Any]] = {}
        self._parked: dict[str, OrderedDict[Handle[Any], None]] = {}
        self.parked = 0

    def take(self, key: str, handle: Handle[Any]) -> bool:
        """Give `key` to `handle`, or park it behind the holder and return False."""
        if self._holders.setdefault(key, handle) is handle:
            return True
        self._parked.setdefault(key, OrderedDict())[handle] = None
        self.parked += 1
        return False

    def release(self, key: str, handle: Handle[Any]) -> Handle[Any] | None:
        """`handle` gives its key back; returns the job that holds it now, if one was parked."""
        if self._holders.get(key) is not handle:
            return None
        queue = self._parked.get(key)
        if not queue:
            del self._holders[key]
            return None
        following, _ = queue.popitem(last=False)
        self.parked -= 1
        if not queue:
            del self._parked[key]
        self._holders[key] = following
        return following

    def unpark(self, key: str, handle: Handle[Any]) -> bool:
        """Take `handle` out of the line; False if it does not stand there."""
        queue = self._parked.get(key)
        if queue is None or handle not in queue:
            return False
        del queue[handle]
        self.parked -= 1
        if not queue:
            del self._parked[key]
        return True

    def waiting(self) -> Iterator[Handle[Any]]:
        for queue in self._parked.values():
            yield from queue
