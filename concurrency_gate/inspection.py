"""One file under judgement: what the facts know about it, for the rules to ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from .rule import Finding, ModuleRule, Step

if TYPE_CHECKING:
    from .config import Config
    from .facts.scopes import Position
    from .facts.uses import Use
    from .reach.findings import Reach
    from .sources import Role

Span = tuple[int, int, int, int]
"""(line, column, end line, end column): lines from 1, columns in characters from 0, as LibCST counts."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A file that cannot be read, decoded or parsed: which, where, and why."""

    path: str
    line: int
    reason: str


@dataclass(frozen=True)
class Outcome:
    """What a run came to, for rules about the run."""

    config: Config
    roles: dict[str, Role]
    whole: bool
    """Whether the whole project was judged, not only some of its files."""
    needy: frozenset[str]
    """Infra files that hold what only an infra path may."""
    unread: Sequence[Unread]


@dataclass
class Inspection:
    """A file's facts, seen through the LibCST nodes of one statement at a time."""

    path: str
    text: str
    uses: Sequence[Use] = ()
    reaches: Sequence[Reach] = ()
    findings: list[Finding] = field(default_factory=list)
    _known: set[Finding] = field(default_factory=set)
    spans: dict[object, Span] = field(default_factory=dict)
    """Where the nodes of the statement in hand stand; filled by `concrete`."""

    @cached_property
    def lines(self) -> list[str]:
        """The lines, without their ends."""
        return self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    def uses_at(self, node: object, kinds: frozenset[str]) -> list[Use]:
        """The uses of names of these kinds that stand exactly at the node."""
        span = self.spans.get(node)
        return [use for use in self._uses.get(span, ()) if use.entry.kind in kinds] if span else []

    def reaches_at(self, node: object, kinds: frozenset[str]) -> list[Reach]:
        """What the call, loop or `with` at the node reaches while a transaction is open."""
        span = self.spans.get(node)
        return [reach for reach in self._reaches.get(span, ()) if reach.kind in kinds] if span else []

    def add(
        self,
        rule: ModuleRule,
        node: object,
        message: str,
        instead: str,
        chain: tuple[Step, ...],
        unsure: tuple[Step, ...],
        doubt: int,
    ) -> None:
        line, column, end_line, end_column = self.spans[node]
        finding = Finding(
            self.path,
            line,
            column + 1,
            end_line,
            end_column + 1,
            rule.code,
            rule.name,
            message,
            instead,
            chain,
            unsure,
            doubt,
        )
        if finding not in self._known:
            self._known.add(finding)
            self.findings.append(finding)

    def span(self, start: Position, end: Position) -> Span:
        """A place as facts give it, which count columns in bytes."""
        return (start[0], self._column(start), end[0], self._column(end))

    def _column(self, place: Position) -> int:
        line = self.lines[place[0] - 1] if place[0] <= len(self.lines) else ""
        return place[1] if line.isascii() else len(line.encode()[: place[1]].decode("utf-8", "replace"))

    @cached_property
    def _uses(self) -> dict[Span, list[Use]]:
        found: dict[Span, list[Use]] = {}
        for use in self.uses:
            found.setdefault(self.span(use.start, use.end), []).append(use)
        return found

    @cached_property
    def _reaches(self) -> dict[Span, list[Reach]]:
        found: dict[Span, list[Reach]] = {}
        for reach in self.reaches:
            found.setdefault(self.span(reach.start, reach.end), []).append(reach)
        return found

    @cached_property
    def places(self) -> list[Position]:
        """Where something stands that a rule may want to see, in the order of the text."""
        return sorted({use.start for use in self.uses} | {reach.start for reach in self.reaches})
