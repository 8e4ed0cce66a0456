"""Reports only print: each module here has `render(report, options) -> str`, and decides nothing."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path

from concurrency_gate.rule import Report, Summary

FORMATS = ("text", "json")


@dataclass(frozen=True)
class Options:
    """How to print. `root` is the project's, where source lines are read from; `possible` asks for the possible
    findings as well; `min_resolved` is the share of resolved calls that the configuration demands."""

    root: Path
    color: bool = False
    possible: bool = False
    explain_unresolved: bool = False
    min_resolved: float | None = None


def render(form: str, report: Report, options: Options) -> str:
    """The report in one of FORMATS, with a line end at its end."""
    text: str = importlib.import_module(f"{__name__}.{form}").render(report, options)
    return text


def resolved_share(summary: Summary) -> float | None:
    """The share of calls in and under transaction blocks that were resolved, 0 to 1; None without calls."""
    return 1 - summary.unresolved / summary.calls if summary.calls else None


def is_blind(summary: Summary, min_resolved: float | None) -> bool:
    """Whether fewer calls were resolved than the configuration demands."""
    share = resolved_share(summary)
    return share is not None and min_resolved is not None and share < min_resolved
