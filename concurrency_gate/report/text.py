"""The report for people: each finding with its source line, the mend, and the way to the effect."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from concurrency_gate import sources
from concurrency_gate.report import Options, is_blind, resolved_share
from concurrency_gate.rule import Failure, Finding, Report, Step, Summary

_BOLD, _RED, _GREEN, _DIM, _PLAIN = "\x1b[1m", "\x1b[1;31m", "\x1b[32m", "\x1b[2m", "\x1b[0m"
_WIDTH = 100
_TAB = "    "


def render(report: Report, options: Options) -> str:
    """Ends with one line that counts what was checked and what was not. Reads the files with findings."""
    paint = _Paint(options.color)
    lines: list[str] = []
    lines_of = lru_cache(maxsize=4)(_lines)
    for finding in report.findings:
        lines += [*_finding(finding, lines_of(options.root / finding.path), paint), ""]
    if options.possible and report.possible:
        lines += [paint(_BOLD, "Possible: true if all holds that the gate is unsure of."), ""]
        for finding in report.possible:
            lines += [*_finding(finding, lines_of(options.root / finding.path), paint), ""]
    if options.explain_unresolved and report.unresolved:
        lines += [*_unresolved(report.unresolved, paint), ""]
    lines += [_error(error, paint) for error in report.errors]
    if is_blind(report.summary, options.min_resolved):
        lines.append(_blind(report.summary, options.min_resolved or 0, paint))
    lines.append(_last_line(report, paint, options.possible))
    return "\n".join(lines) + "\n"


class _Paint:
    def __init__(self, color: bool) -> None:
        self._color = color

    def __call__(self, style: str, text: str) -> str:
        return f"{style}{text}{_PLAIN}" if self._color and text else text


def _finding(finding: Finding, text: Sequence[str], paint: _Paint) -> Iterator[str]:
    place = f"{visible(finding.path)}:{finding.line}:{finding.column}:"
    yield f"{paint(_BOLD, place)} {paint(_RED, finding.code)} {visible(finding.message)} ({finding.name})"
    yield from _excerpt(finding, text, paint)
    if finding.instead:
        yield f"  {paint(_GREEN, 'instead:')} {visible(finding.instead)}"
    yield from _steps("the way:", finding.chain, paint)
    yield from _steps(" unsure:", finding.unsure, paint)


def _steps(title: str, steps: Sequence[Step], paint: _Paint) -> Iterator[str]:
    for number, step in enumerate(steps, start=1):
        before = title if number == 1 else " " * len(title)
        yield f"  {paint(_DIM, before)} {number}. {visible(step.path)}:{step.line}  {visible(step.text)}"


def _excerpt(finding: Finding, text: Sequence[str], paint: _Paint) -> Iterator[str]:
    """The source line with what is meant underlined; nothing if the line cannot be had (any more)."""
    if not 1 <= finding.line <= len(text):
        return
    line = text[finding.line - 1]
    start = min(max(finding.column - 1, 0), len(line))
    end = finding.end_column - 1 if finding.end_line == finding.line else len(line)
    before, marked, after = visible(line[:start]), visible(line[start:end]), visible(line[end:])
    if _columns(before) > _WIDTH // 2:
        before = "..." + before[-(_WIDTH // 2) :]
    room = max(_WIDTH - _columns(before), _WIDTH // 4)
    marked, after = _cut(marked, room), _cut(after, max(room - len(marked), 0))
    number = str(finding.line).rjust(5)
    yield f"{paint(_DIM, f'{number} |')} {before}{marked}{after}".rstrip()
    marker = "^" * max(_columns(marked), 1)
    yield f"{paint(_DIM, '      |')} {' ' * _columns(before)}{paint(_RED, marker)}"


def _unresolved(calls: tuple[Step, ...], paint: _Paint) -> Iterator[str]:
    yield paint(_BOLD, "Calls in and under transaction blocks that could not be resolved:")
    for call in calls:
        yield f"  {visible(call.path)}:{call.line}  {visible(call.text)}"


def _error(error: Failure, paint: _Paint) -> str:
    rule = f" {error.rule}" if error.rule else ""
    return f"{paint(_RED, 'internal error:')}{rule} in {visible(error.path)}: {visible(error.message)}"


def _blind(summary: Summary, demanded: float, paint: _Paint) -> str:
    return (
        f"{paint(_RED, 'too blind:')} {_percent(resolved_share(summary) or 0)} of the calls in and under "
        f"transaction blocks could be resolved, min-resolved demands {_percent(demanded)}; "
        "--explain-unresolved lists the others"
    )


def _last_line(report: Report, paint: _Paint, shown: bool) -> str:
    summary = report.summary
    if report.findings:
        files = len({finding.path for finding in report.findings})
        found = paint(_RED, f"{_count(len(report.findings), 'finding')} in {_count(files, 'file')}.")
    else:
        found = "No findings." if report.errors else paint(_GREEN, "No findings.")
    if report.errors:
        found += f" {_count(len(report.errors), 'internal error')}: the verdict is incomplete."
    parts = [
        f"{found} Checked {_count(summary.checked, 'file')}; {summary.infra} exempt as infra, "
        f"{summary.excluded} excluded, {summary.tests} test code."
    ]
    share = resolved_share(summary)
    if share is not None:
        parts.append(f"{_percent(share)} of {_count(summary.calls, 'call')} under transactions resolved.")
    if report.possible:
        where = "above" if shown else "--possible shows them"
        parts.append(f"{_count(len(report.possible), 'possible finding')} more; {where}.")
    return " ".join(parts)


def _lines(path: Path) -> list[str]:
    try:
        return sources.lines(sources.decode(sources.read(path)))
    except sources.Unreadable:
        return []


def visible(text: str) -> str:
    """`text` on one line, with nothing in it that a terminal would obey: a file name or a source line must
    not be able to hide a finding or to forge one."""
    if text.isprintable():
        return text
    return "".join(_TAB if c == "\t" else c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: max(room - 3, 0)] + "..."


def _columns(text: str) -> int:
    """How many cells a terminal takes for `text`."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _percent(share: float) -> str:
    # Rounded down: 99.96 % must not read as if nothing were left.
    return f"{int(share * 1000) / 10:.1f} %"
