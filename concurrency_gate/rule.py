"""What a rule is, and what it finds.

A rule visits LibCST nodes, yet this module imports no LibCST at run time: most runs ask rules only for their
codes and their examples, and must not pay for a parser that they do not use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from .inspection import Inspection, Outcome

Example = str | Mapping[str, str]
"""A red or green example: the text of one module, or several as {path: text}."""


@dataclass(frozen=True, slots=True, order=True)
class Step:
    """One hop of a chain, from the place of the finding towards the effect."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A rule's verdict at a place. Paths are relative to the project root, with forward slashes;
    lines and columns start at 1, and the end column is the first one after the marked text."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    name: str
    message: str
    instead: str
    chain: tuple[Step, ...] = ()
    unsure: tuple[Step, ...] = ()
    """What must hold on the way that the gate cannot tell."""
    doubt: int = 0
    """How much of it there is: more than the project takes makes the finding a possible one."""


@dataclass(frozen=True, slots=True, order=True)
class Failure:
    """Something the gate could not do: a rule that crashed on a file. The other files are still judged."""

    path: str
    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run looked at. Counts are files, except `calls` and `unresolved`, which are the calls in and
    under transaction blocks, and those among them whose target could not be resolved."""

    checked: int = 0
    infra: int = 0
    excluded: int = 0
    tests: int = 0
    calls: int = 0
    unresolved: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of one run, in the order in which it is printed: sorted by path, line, column, code."""

    findings: tuple[Finding, ...] = ()
    errors: tuple[Failure, ...] = ()
    summary: Summary = field(default_factory=Summary)
    possible: tuple[Finding, ...] = ()
    """What would be findings if all that is unsure about them held."""
    unresolved: tuple[Step, ...] = ()
    """The calls that `summary.unresolved` counts, each with its place and what was called."""


class Rule:
    """What every rule says of itself. A rule is one class; its examples stand beside it and run as tests."""

    code: ClassVar[str]
    name: ClassVar[str]
    summary: ClassVar[str]
    why: ClassVar[str]
    instead: ClassVar[str]
    red: ClassVar[Sequence[Example]] = ()
    green: ClassVar[Sequence[Example]] = ()
    plant: ClassVar[str] = ""
    """A module with a violation in its last statement, which `prove` plants; empty where the rule is about
    the run."""
    planted_settings: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Entries that `prove` adds to lists of the configuration, for a rule that finds fault with these."""


class ModuleRule(Rule):
    """A rule about what stands in a file: a LibCST visitor over the statements that could hold a finding.

    Define `visit_Call`, `visit_Name` and so on, as for a `libcst.CSTVisitor`; ask `self.file` what a node
    means, and `self.report` what is wrong. A rule is made anew for each file."""

    kinds: ClassVar[frozenset[str]] = frozenset()
    """Kinds of the catalogue. A statement is visited if a name of one of these is used in it."""

    effects: ClassVar[frozenset[str]] = frozenset()
    """Kinds of the catalogue. A statement is visited if one of these is reached from it while a transaction
    is open."""

    exempt_in_infra: ClassVar[bool] = False
    """Whether an infra path may do what the rule forbids everybody else."""

    def __init__(self, file: Inspection) -> None:
        self.file = file

    def report(
        self,
        node: object,
        message: str,
        instead: str = "",
        chain: Iterable[Step] = (),
        unsure: Iterable[Step] = (),
        doubt: int = 0,
    ) -> None:
        """A finding at a LibCST node of the statement that is being visited."""
        self.file.add(self, node, message, instead or self.instead, tuple(chain), tuple(unsure), doubt)


class ReviewRule(Rule):
    """A rule about a file and what the others found in it."""

    def review(self, file: Inspection, findings: Sequence[Finding]) -> Iterator[Finding]:
        """What this rule has to add. `findings` are those of the module rules in this file, sorted."""
        raise NotImplementedError


class RunRule(Rule):
    """A rule about a run as a whole; asked once, at the end."""

    def conclude(self, outcome: Outcome) -> Iterator[Finding]:
        """What this rule finds in what the run came to."""
        raise NotImplementedError
