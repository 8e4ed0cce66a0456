"""What the transaction blocks of a project reach: the one door from a run to this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from concurrency_gate.facts.mentions import Mentions
from concurrency_gate.facts.modules import Module
from concurrency_gate.rule import Step
from concurrency_gate.sieve import Sieve, Tape

from .blocks import Blocks
from .edges import Edges
from .findings import Reach
from .graph import Graph
from .settings import stores_remotely

if TYPE_CHECKING:
    from concurrency_gate.config import Config
    from concurrency_gate.facts.resolver import Resolver


@dataclass(frozen=True, slots=True)
class Reached:
    """What the blocks of one file reach, the calls in and under them, and those that could not be
    resolved."""

    reaches: Sequence[Reach] = ()
    calls: frozenset[Step] = frozenset()
    unresolved: frozenset[Step] = frozenset()


class Analysis:
    """Kept for a whole session, for what one file's blocks reach is often reached from another's. Not
    thread-safe."""

    def __init__(self, resolver: Resolver, config: Config, effects: frozenset[str]) -> None:
        dependencies = resolver.project.dependencies
        outer, dependencies.mask = dependencies.mask, 0
        accepted = {"cache": config.cache, "storage": config.storage or stores_remotely(resolver)}
        self._resting, dependencies.mask = dependencies.mask, outer
        self._resolver = resolver
        self._effects = frozenset(kind for kind in effects if accepted.get(kind, True))
        self._edges = Edges(resolver, self._effects)
        self._blocks = Blocks(resolver, config.transactional, config.detached)

    def sieve(self, known: Mapping[str, Tape]) -> Sieve:
        """The files that may hold a transaction block; `known` are the tapes of an earlier run."""
        if not self._effects:
            return Sieve(self._resolver.project, lambda *_: iter(()), {})
        return self._blocks.sieve(known)

    def of_module(self, module: Module, mentions: Mentions | None) -> Reached:
        """What the module's blocks reach. It rests on what the settings say of storage, too."""
        self._resolver.project.dependencies.mask |= self._resting
        blocks = self._blocks.of_module(module, mentions)
        if not blocks:
            return Reached()
        graph = Graph(self._edges, module.path, blocks)
        calls, unresolved = graph.counts()
        return Reached(graph.reaches(), frozenset(calls), frozenset(unresolved))
