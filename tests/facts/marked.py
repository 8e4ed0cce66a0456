"""Code with the expected findings written into it.

A line that ends in `#> CG101 Thread` expects a finding CG101 there that marks exactly the text `Thread`;
several are separated by semicolons. A line `== path` begins another file; without one, all is in `main.py`.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from concurrency_gate import config, gate
from concurrency_gate.rule import Finding, Report

MARK = "#> "

Expected = list[tuple[str, int, str, str]]
"""(path, line, code, marked text), sorted."""


def files(code: str) -> dict[str, str]:
    """The files of a case, by path."""
    found: dict[str, list[str]] = {}
    current = found.setdefault("main.py", [])
    for line in textwrap.dedent(code).strip("\n").split("\n"):
        if line.startswith("== "):
            current = found.setdefault(line.removeprefix("== "), [])
        else:
            current.append(line)
    return {path: "\n".join(lines) + "\n" for path, lines in found.items() if lines or path != "main.py"}


def expected(texts: dict[str, str]) -> Expected:
    found = [
        (path, number, *mark.strip().split(" ", 1))
        for path, text in texts.items()
        for number, line in enumerate(text.split("\n"), start=1)
        if MARK in line
        for mark in line.partition(MARK)[2].split(";")
    ]
    return sorted(found)  # type: ignore[arg-type]


def check(folder: Path, texts: dict[str, str]) -> Report:
    """The gate's report on these files, written to the folder."""
    for path, text in texts.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return gate.check([folder], project(folder))


def project(folder: Path) -> config.Config:
    """The folder's configuration; never that of a folder above it."""
    if not (folder / "pyproject.toml").exists():
        (folder / "concurrency-gate.toml").touch()
    return config.find(folder)


def found(texts: dict[str, str], report: Report) -> Expected:
    """All that is told, however unsure the gate is of it."""
    assert not report.errors
    told = (*report.findings, *report.possible)
    return sorted((f.path, f.line, f.code, marked_text(texts[f.path], f)) for f in told)


def marked_text(text: str, finding: Finding) -> str:
    lines = text.split("\n")[finding.line - 1 : finding.end_line]
    lines[-1] = lines[-1][: finding.end_column - 1]
    lines[0] = lines[0][finding.column - 1 :]
    return " ".join(line.partition(MARK)[0].strip() for line in lines)


def verify(folder: Path, code: str) -> None:
    """Exactly the marked findings, no more and no less."""
    texts = files(code)
    assert found(texts, check(folder, texts)) == expected(texts)
