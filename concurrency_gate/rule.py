"""What a rule is, and what it finds.

Rules are LibCST visitors, yet this module imports no LibCST at run time: a run in which nothing
changed asks rules only for their codes, and must not pay for a parser that it does not use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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
    unresolved: tuple[Step, ...] = ()
    """The calls that `summary.unresolved` counts, each with its place and what was called."""
