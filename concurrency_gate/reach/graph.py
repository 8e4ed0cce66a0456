"""From the calls inside transaction blocks to effects: edges forward, then one search back for each kind.

Cycles do no harm. Of several ways the likeliest is told: a short one, with few tests on it that may go either way.
Where two are alike, it is the one first in the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count

from concurrency_gate.facts.values import Frame, FunctionValue, Instance
from concurrency_gate.rule import Step

from .blocks import Block
from .edges import Edge, Edges
from .findings import Reach

MOST_FRAMES = 20_000
"""Frames that the blocks of one file may reach; beyond, the search stops and what lies there counts as
unresolved."""


_CONDITION = 2
"""A test that may go either way counts like so many hops."""


@dataclass(frozen=True, slots=True)
class _Next:
    """The next hop towards an effect: an edge, and the frame it leads to (None: the effect itself)."""

    distance: int
    edge: Edge
    frame: Frame | None
    effect: str


class Graph:
    """What the blocks of one file reach."""

    def __init__(self, edges: Edges, path: str, blocks: list[Block]) -> None:
        self._edges = edges
        self._path = path
        self._outgoing: list[tuple[Block, list[Edge]]] = [
            (block, [e for e in self._edges_in(block) if block.place in (None, e.node)]) for block in blocks
        ]
        self._frames = self._explore()
        self._next = {kind: self._search(kind) for kind in self._kinds()}

    def _edges_in(self, block: Block) -> Iterator[Edge]:
        return self._edges.of_nodes(block.nodes, block.scope, block.frame)

    def _explore(self) -> dict[Frame, tuple[Edge, ...]]:
        found: dict[Frame, tuple[Edge, ...]] = {}
        queue = [t for _, edges in self._outgoing for e in edges for t in e.targets if isinstance(t, Frame)]
        for frame in queue:
            if frame in found or len(found) >= MOST_FRAMES:
                continue
            found[frame] = self._edges.of_frame(frame)
            queue += [
                t for edge in found[frame] for t in edge.targets if isinstance(t, Frame) and t not in found
            ]
        return found

    def _all_edges(self) -> Iterator[Edge]:
        for _, edges in self._outgoing:
            yield from edges
        for inner in self._frames.values():
            yield from inner

    def _kinds(self) -> list[str]:
        kinds = {t[0].kind for edge in self._all_edges() for t in edge.targets if not isinstance(t, Frame)}
        return sorted(kinds)

    def _search(self, kind: str) -> dict[Frame, _Next]:
        """For each frame that reaches the kind: its first hop on the likeliest way."""
        callers: dict[Frame, list[tuple[Frame, Edge]]] = {}
        found: dict[Frame, _Next] = {}
        queue: list[tuple[int, int, Frame, _Next]] = []
        order = count()
        for frame, edges in self._frames.items():
            for edge in edges:
                if _is_void(edge, kind):
                    continue
                for target in edge.targets:
                    if isinstance(target, Frame):
                        callers.setdefault(target, []).append((frame, edge))
                    elif target[0].kind == kind:
                        hop = _Next(_length(edge), edge, None, target[1])
                        queue.append((hop.distance, next(order), frame, hop))
        heapify(queue)
        while queue:
            distance, _, frame, hop = heappop(queue)
            if frame in found:
                continue
            found[frame] = hop
            for caller, edge in callers.get(frame, ()):
                if caller not in found:
                    longer = _Next(distance + _length(edge), edge, frame, hop.effect)
                    heappush(queue, (longer.distance, next(order), caller, longer))
        return found

    # -- answers -----------------------------------------------------------------------------------------

    def reaches(self) -> list[Reach]:
        """One for each place in a block and each kind, by the likeliest way."""
        found: dict[tuple[object, ...], Reach] = {}
        for block, edges in self._outgoing:
            for edge in edges:
                for kind in self._kinds_of(edge):
                    reach = self._reach(block, edge, kind)
                    if reach is not None:
                        found.setdefault((edge.start, edge.end, kind), reach)
        return sorted(found.values(), key=lambda reach: (reach.start, reach.end, reach.kind))

    def _kinds_of(self, edge: Edge) -> list[str]:
        return [kind for kind in self._next if edge.targets and not _is_void(edge, kind)]

    def _reach(self, block: Block, edge: Edge, kind: str) -> Reach | None:
        best: _Next | None = None
        for target in edge.targets:
            if isinstance(target, Frame):
                onward = self._next[kind].get(target)
                if onward is not None and (best is None or onward.distance < best.distance):
                    best = _Next(onward.distance, edge, target, onward.effect)
            elif target[0].kind == kind:
                best = _Next(0, edge, None, target[1])
                break
        if best is None:
            return None
        way: list[str] = []
        steps: list[Step] = [Step(self._path, edge.start[0], self._told(edge, best.frame, best.effect))]
        frame = best.frame
        while frame is not None:
            name = f"{_name(_wrapped(frame) or frame)}()"
            if way[-1:] != [name]:  # wrappers and what they wrap are one function to a reader
                way.append(name)
            onward = self._next[kind][frame]
            path = frame.function.module.path
            steps.append(Step(path, onward.edge.start[0], self._told(onward.edge, onward.frame, best.effect)))
            frame = onward.frame
        return Reach(
            edge.start,
            edge.end,
            kind,
            best.effect,
            block.opener,
            block.line,
            tuple(way),
            tuple(steps),
            block.instead,
            block.implicit,
        )

    def _told(self, edge: Edge, frame: Frame | None, effect: str) -> str:
        if frame is None:
            return effect if edge.text == effect else f"{edge.text} is {effect}"
        return f"{edge.text} runs {_label(frame)}"

    def counts(self) -> tuple[set[Step], set[Step]]:
        """(the calls in and under the blocks, those among them of which nothing is known in any frame)."""
        known: dict[Step, bool] = {}
        groups = [(self._path, edges) for _, edges in self._outgoing]
        groups += [(frame.function.module.path, list(edges)) for frame, edges in self._frames.items()]
        for path, edges in groups:
            for edge in edges:
                if edge.is_call:
                    step = Step(path, edge.start[0], edge.text)
                    known[step] = known.get(step, False) or edge.resolved
        return set(known), {step for step, resolved in known.items() if not resolved}


def _is_void(edge: Edge, kind: str) -> bool:
    """Whether it makes no difference that a transaction is open: it will be rolled back, so there is no commit that a
    message could wait for."""
    return edge.raises and kind == "enqueue"


def _length(edge: Edge) -> int:
    return 1 + _CONDITION * edge.conditions


def _label(frame: Frame) -> str:
    """A function as a chain tells it: what a decorator made is told as the decorator's call,
    `retried(charge)`."""
    wrapped = _wrapped(frame)
    if wrapped is None:
        return _name(frame)
    maker = frame.closure
    while maker is not None and maker.closure is not None:
        maker = maker.closure
    assert maker is not None
    return f"{_name(maker)}({_name(wrapped)})"


def _wrapped(frame: Frame) -> Frame | FunctionValue | None:
    """The function at the core of one that decorators made; None for one that stands as it was written."""
    core: Frame | FunctionValue = frame
    while core.closure is not None:
        taken = (value for _, values in core.closure.arguments for value in values)
        inner = next((value for value in taken if isinstance(value, FunctionValue)), None)
        if inner is None:
            break
        core = inner
    return None if core is frame else core


def _name(frame: Frame | FunctionValue) -> str:
    """A function with the class that it runs for, where that is not the one it stands in."""
    function = frame.function
    receiver = frame.receiver
    if isinstance(receiver, Instance) and function.owner is not None:
        return f"{receiver.cls.name}.{function.name}"
    if function.owner is not None:
        return f"{function.owner.name}.{function.name}"
    return function.name


__all__ = ["Graph"]
