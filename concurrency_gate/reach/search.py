"""The likeliest way from each function to an effect.

One search back from the effects of a kind; cycles do no harm. Of several ways the likeliest is told: that with the
least in doubt, and of those the shortest. Where two are alike, it is the one first in the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count

from concurrency_gate.facts.values import Frame

from .callees import Target
from .edges import Edge

Length = tuple[int, int]
"""How much is in doubt, and how many hops there are."""


@dataclass(frozen=True, slots=True)
class Hop:
    """The next hop towards an effect: an edge, and the frame it leads to (None: the effect itself). `length` is that of
    the way from here on."""

    length: Length
    edge: Edge
    frame: Frame | None
    effect: str


class Search:
    """The ways to effects of one kind, from the frames with these edges."""

    def __init__(self, frames: Mapping[Frame, tuple[Edge, ...]], kind: str) -> None:
        self._kind = kind
        self._callers: dict[Frame, list[tuple[Frame, Edge]]] = {}
        last: list[tuple[Frame, Edge, str]] = []
        for frame, edges in frames.items():
            for edge in edges:
                if self.is_void(edge):
                    continue
                for target in edge.targets:
                    if isinstance(target, Frame):
                        self._callers.setdefault(target, []).append((frame, edge))
                    elif target[0].kind == kind:
                        last.append((frame, edge, target[1]))
        self._reaching = self._all_before(frame for frame, _, _ in last)
        self._next = self._likeliest(last)

    def _all_before(self, ends: Iterator[Frame]) -> set[Frame]:
        found = dict.fromkeys(ends)
        queue = list(found)
        for frame in queue:
            for caller, _ in self._callers.get(frame, ()):
                if caller not in found:
                    found[caller] = None
                    queue.append(caller)
        return set(found)

    def _likeliest(self, last: list[tuple[Frame, Edge, str]]) -> dict[Frame, Hop]:
        found: dict[Frame, Hop] = {}
        order = count()
        queue = [
            (hop.length, next(order), frame, hop)
            for frame, hop in ((f, Hop(self._added(e, (0, 0)), e, None, effect)) for f, e, effect in last)
        ]
        heapify(queue)
        while queue:
            length, _, frame, hop = heappop(queue)
            if frame in found:
                continue
            found[frame] = hop
            for caller, edge in self._callers.get(frame, ()):
                if caller not in found:
                    longer = Hop(self._added(edge, length), edge, frame, hop.effect)
                    heappush(queue, (longer.length, next(order), caller, longer))
        return found

    def _added(self, edge: Edge, length: Length) -> Length:
        doubt = sum(guard.doubt for guard in edge.unsure) + self.may_miss(edge)
        return (length[0] + doubt, length[1] + 1)

    # -- answers -----------------------------------------------------------------------------------------------------

    def after(self, frame: Frame) -> Hop:
        """The hop out of a frame that lies on a way."""
        return self._next[frame]

    def first(self, edge: Edge, maybe: bool) -> Hop | None:
        """The hop over an edge in a transaction block; None if it leads to no effect. The tests around it count only
        where the transaction itself depends on one (`maybe`)."""
        best: Hop | None = None
        if self.is_void(edge):
            return None
        own = 1 + sum(guard.doubt for guard in edge.unsure) if maybe else 0
        around = (own + self.may_miss(edge), 0)
        for target in edge.targets:
            if not isinstance(target, Frame):
                if target[0].kind == self._kind:
                    return Hop(around, edge, None, target[1])
            elif target in self._next:
                onward = self._next[target]
                if best is None or onward.length < best.length:
                    best = Hop(onward.length, edge, target, onward.effect)
        return best and Hop((best.length[0] + around[0], best.length[1]), edge, best.frame, best.effect)

    def may_miss(self, edge: Edge) -> bool:
        """Whether the call may run a function that leads to no such effect."""
        return any(not any(map(self._leads, way)) for way in edge.ways)

    def _leads(self, target: Target) -> bool:
        return target in self._reaching if isinstance(target, Frame) else target[0].kind == self._kind

    def is_void(self, edge: Edge) -> bool:
        """Whether it makes no difference that a transaction is open: it will be rolled back, so there is no commit that
        a message could wait for."""
        return edge.raises and self._kind == "enqueue"
