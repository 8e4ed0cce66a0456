"""From the calls inside transaction blocks to effects: edges forward, then one search back for each kind."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from concurrency_gate.facts.scopes import end as end_of
from concurrency_gate.facts.scopes import position
from concurrency_gate.facts.values import Frame, FunctionValue, Instance
from concurrency_gate.rule import Step

from .blocks import Block
from .edges import Edge, Edges
from .findings import Reach
from .search import Hop, Search

MOST_FRAMES = 20_000
"""Frames that the blocks of one file may reach; beyond, the search stops and what lies there counts as
unresolved."""

_LONGEST = 60
"""A test that is longer is cut."""


class Graph:
    """What the blocks of one file reach."""

    def __init__(self, edges: Edges, path: str, blocks: list[Block]) -> None:
        self._edges = edges
        self._path = path
        self._outgoing: list[tuple[Block, list[Edge]]] = [
            (block, [e for e in self._edges_in(block) if block.place in (None, e.node)]) for block in blocks
        ]
        self._frames = self._explore()
        self._ways = {kind: Search(self._frames, kind) for kind in self._kinds()}

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

    # -- answers -----------------------------------------------------------------------------------------

    def reaches(self) -> list[Reach]:
        """One for each place in a block and each kind, by the likeliest way."""
        found: dict[tuple[object, ...], Reach] = {}
        for block, edges in self._outgoing:
            for edge in edges:
                for kind, search in self._ways.items():
                    first = search.first(edge, block.maybe)
                    if first is None:
                        continue
                    reach = self._reach(block, kind, first)
                    key = (reach.start, reach.end, kind)
                    if key not in found or reach.doubt < found[key].doubt:
                        found[key] = reach
        return sorted(found.values(), key=lambda reach: (reach.start, reach.end, reach.kind))

    def _reach(self, block: Block, kind: str, first: Hop) -> Reach:
        search, edge = self._ways[kind], first.edge
        way: list[str] = []
        steps: list[Step] = []
        path, start, end = block.scope.module.path, edge.start, edge.end
        if block.via is not None:
            start, end = position(block.via), end_of(block.via)
            text = _cut(ast.unparse(block.via))
            steps.append(
                Step(self._path, start[0], f"{text} runs {_name(block.frame)}" if block.frame else text)
            )
        steps.append(Step(path, edge.start[0], self._told(edge, first.frame, first.effect)))
        unsure: list[Step] = []
        if block.maybe:
            unsure.append(Step(path, block.line, f"{block.opener} on this way"))
            unsure += self._tests(edge, path)
        unsure += self._other_ways(search, edge, path)
        frame = first.frame
        while frame is not None:
            name = f"{_name(_wrapped(frame) or frame)}()"
            if way[-1:] != [name]:  # wrappers and what they wrap are one function to a reader
                way.append(name)
            hop = search.after(frame)
            path = frame.function.module.path
            steps.append(Step(path, hop.edge.start[0], self._told(hop.edge, hop.frame, first.effect)))
            unsure += self._tests(hop.edge, path)
            unsure += self._other_ways(search, hop.edge, path)
            frame = hop.frame
        return Reach(
            start,
            end,
            kind,
            first.effect,
            block.opener,
            block.line,
            tuple(way),
            tuple(steps),
            block.instead,
            tuple(unsure),
            first.length[0],
            block.implicit,
        )

    def _tests(self, edge: Edge, path: str) -> Iterator[Step]:
        for guard in edge.unsure:
            yield Step(path, guard.line, _cut(guard.text))

    def _other_ways(self, search: Search, edge: Edge, path: str) -> Iterator[Step]:
        if search.may_miss(edge):
            yield Step(path, edge.start[0], f"{edge.text} runs this one of {len(edge.ways)}")

    def _told(self, edge: Edge, frame: Frame | None, effect: str) -> str:
        if frame is None:
            return effect if edge.text == effect else f"{edge.text} is {effect}"
        return f"{edge.text} runs {_label(frame)}"

    def counts(self) -> tuple[set[Step], set[Step]]:
        """(the calls in and under the blocks, those among them of which nothing is known in any frame)."""
        known: dict[Step, bool] = {}
        groups = [(block.scope.module.path, edges) for block, edges in self._outgoing]
        groups += [(frame.function.module.path, list(edges)) for frame, edges in self._frames.items()]
        for path, edges in groups:
            for edge in edges:
                if edge.is_call:
                    step = Step(path, edge.start[0], edge.text)
                    known[step] = known.get(step, False) or edge.resolved
        return set(known), {step for step, resolved in known.items() if not resolved}


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


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
