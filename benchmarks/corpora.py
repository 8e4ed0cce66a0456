"""Run the gate over code that nobody wrote for it: CPython's library and large packages.

usage: python benchmarks/corpora.py [--select CG1,CG9] [--only NAME ...] [--keep FOLDER]

Each corpus is a copy of its own with an empty configuration (tests included), so nothing around it matters. Packages
are wheels, fetched with `pip download` at the versions below; CPython's library is that of the interpreters under
`~/.pyenv/versions`. Prints a table for docs/corpora.md, then what could not be read and why; exits with 1 if the gate
failed anywhere: an internal error, a crashed rule, an exit code of 2.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PACKAGES = (
    "django==5.2.8",
    "sqlalchemy==2.0.44",
    "celery==5.5.3",
    "dask==2025.11.0",
    "distributed==2025.11.0",
    "twisted==25.5.0",
    "tornado==6.5.2",
    "ansible-core==2.19.4",
    "scrapy==2.13.3",
    "sentry-sdk==2.45.0",
    "apache-airflow-core==3.1.3",
)
LIBRARIES = ("3.12", "3.13")
CONFIGURATION = "include-tests = true\n"


@dataclass
class Outcome:
    """What the gate made of one corpus."""

    name: str
    files: int = 0
    lines: int = 0
    seconds: float = 0.0
    exit_code: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return bool(self.errors) or self.exit_code not in (0, 1)

    def row(self) -> str:
        codes = ", ".join(f"{code} {count}" for code, count in sorted(self.codes.items()))
        total = sum(self.codes.values())
        return (
            f"| {self.name} | {self.files:,} | {self.lines:,} | {self.seconds:.1f} | {total:,} | {codes} "
            f"| {len(self.unreadable)} | {len(self.errors)} |"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the gate over large corpora.")
    parser.add_argument("--select", default="CG1,CG9")
    parser.add_argument("--only", nargs="*", default=[], help="names that begin so")
    parser.add_argument("--keep", type=Path, help="keep corpora and reports in this folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch)
        outcomes = []
        print("| corpus | files | lines | seconds | findings | of which | unreadable | errors |")
        print("|---|---|---|---|---|---|---|---|")
        for name, corpus in corpora(folder, tuple(given.only)):
            outcome = judge(name, corpus, given.select)
            outcomes.append(outcome)
            print(outcome.row(), flush=True)
    print()
    for outcome in outcomes:
        for text in (*outcome.unreadable, *outcome.errors):
            print(f"- {outcome.name}: {text}")
    return int(any(outcome.failed for outcome in outcomes))


def corpora(folder: Path, only: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    """(name, folder) of each corpus, made on demand."""
    for version in LIBRARIES:
        name = f"CPython {version} Lib"
        found = sorted((Path.home() / ".pyenv/versions").glob(f"{version}*/lib/python{version}"))
        if found and (not only or name.startswith(only)):
            target = folder / f"cpython-{version}"
            if not target.exists():
                shutil.copytree(
                    found[0], target, ignore=shutil.ignore_patterns("site-packages", "__pycache__")
                )
            yield name, target
    for requirement in PACKAGES:
        if only and not requirement.startswith(only):
            continue
        target = folder / requirement.replace("==", "-")
        if target.exists() or fetch(requirement, target):
            yield requirement.replace("==", " "), target


def fetch(requirement: str, target: Path) -> bool:
    """Unpack a package's wheel; False, with a word, where there is none."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
        done = subprocess.run([*command, "-d", scratch, requirement], capture_output=True, text=True)
        wheels = list(Path(scratch).glob("*.whl"))
        if done.returncode or not wheels:
            print(f"no wheel of {requirement}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
            return False
        with zipfile.ZipFile(wheels[0]) as archive:
            archive.extractall(target)
    return True


def judge(name: str, corpus: Path, select: str) -> Outcome:
    """The gate on the whole corpus, cold."""
    (corpus / "concurrency-gate.toml").write_text(CONFIGURATION, encoding="utf-8")
    outcome = Outcome(name)
    for path in corpus.rglob("*.py"):
        outcome.files += 1
        outcome.lines += path.read_bytes().count(b"\n")
    command = [sys.executable, "-m", "concurrency_gate", "check", "--no-cache", "--format", "json"]
    start = time.perf_counter()
    done = subprocess.run(
        [*command, "--select", select, "."],
        cwd=corpus,
        capture_output=True,
        text=True,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(corpus.parent)},
    )
    outcome.seconds = time.perf_counter() - start
    outcome.exit_code = done.returncode
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        outcome.errors.append(f"exit {done.returncode}: {done.stderr.strip()[-300:]}")
        return outcome
    (corpus.parent / f"{corpus.name}.json").write_text(done.stdout, encoding="utf-8")
    outcome.codes.update(finding["code"] for finding in report["findings"])
    outcome.unreadable += [
        f"{f['path']}:{f['line']} {f['message']}" for f in report["findings"] if f["code"] == "CG902"
    ]
    outcome.errors += [str(error) for error in report["errors"]]
    return outcome


if __name__ == "__main__":
    raise SystemExit(main())
