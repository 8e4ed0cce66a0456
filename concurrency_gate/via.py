"""The ways by which `prove` sends a planted copy through the gate: real programs, started as users do."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from concurrency_gate.plant import Place

CONFIG = ".pre-commit-config.yaml"
HOOKS = """\
repos:
  - repo: local
    hooks:
      - {id: concurrency-gate, name: concurrency-gate (changed files), language: system, types: [python],
         entry: concurrency-gate check, require_serial: true}
      - {id: concurrency-gate-all, name: concurrency-gate (whole project), language: system,
         entry: concurrency-gate check, always_run: true, pass_filenames: false}
"""

_LINE = re.compile(r"(?m)^(\S.*?):(\d+):(\d+): ([A-Z]+\d+) ")


class WayError(Exception):
    """The program could not be asked; the text is one line."""


class Way(Protocol):
    """A program that judges a project."""

    title: str
    settings: tuple[str, ...]
    """Configuration files of the program's own, which can keep a file or a code from the gate."""
    keys: str
    """The keys in them that do, as a regular expression."""
    judges_settings: bool
    """Whether findings in the gate's configuration show; some programs look at Python files only."""

    def look(self, root: Path) -> list[Place]:
        """What is reported of the whole project at `root`. Raises WayError."""

    def attempt(self, root: Path, changed: Sequence[str]) -> list[Place]:
        """What is reported when somebody comes with these changed files."""

    def passes(self, root: Path, changed: Sequence[str]) -> bool | None:
        """Whether the same files, mended, go through; None if nothing stands in anybody's way here."""


class CommandLine:
    title = "the command line"
    settings: tuple[str, ...] = ()
    keys = ""
    judges_settings = True

    def look(self, root: Path) -> list[Place]:
        arguments = ("concurrency_gate", "check", "--format", "json", "--no-cache")
        done = _run((sys.executable, "-P", "-m", *arguments), root)
        if done.returncode not in (0, 1):
            raise WayError(_last_line(done.stderr) or _errors(done.stdout))
        found = json.loads(done.stdout)["findings"]
        return [Place(f["path"], f["line"], f["column"], f["code"]) for f in found]

    def attempt(self, root: Path, changed: Sequence[str]) -> list[Place]:  # noqa: ARG002
        return self.look(root)

    def passes(self, root: Path, changed: Sequence[str]) -> bool | None:  # noqa: ARG002
        return None


class Flake8(CommandLine):
    title = "flake8"
    settings = ("setup.cfg", "tox.ini", ".flake8")
    keys = "(?:extend-)?(?:exclude|ignore|select)|per-file-ignores|filename"
    judges_settings = False

    def __init__(self) -> None:
        if find_spec("flake8") is None:
            raise WayError('flake8 is not installed here; pip install "concurrency-gate[flake8]"')

    def look(self, root: Path) -> list[Place]:
        form = "--format=%(row)d\t%(col)d\t%(code)s\t%(path)s"
        done = _run((sys.executable, "-P", "-m", "flake8", form, "."), root)
        if done.returncode not in (0, 1) or "critical error" in done.stdout[:60]:
            raise WayError(f"flake8: {_last_line(done.stdout) or _last_line(done.stderr)}")
        rows = [row.split("\t", 3) for row in done.stdout.splitlines() if row.count("\t") >= 3]
        return [
            Place(os.path.normpath(path).replace(os.sep, "/"), int(line), int(column), code)
            for line, column, code, path in rows
        ]


class PreCommit:
    """A git repository with the hooks installed, in which a real commit is tried."""

    title = "pre-commit"
    settings: tuple[str, ...] = (CONFIG,)
    keys = r"(?:-\s*)?(?:exclude|files|types|types_or|stages)"

    def __init__(self, root: Path) -> None:
        if find_spec("pre_commit") is None and not shutil.which("pre-commit"):
            raise WayError("pre-commit is not installed here; pip install pre-commit")
        if not shutil.which("git"):
            raise WayError("git is not installed here; pre-commit needs it")
        try:
            ids = re.findall(r"(?m)\bid:\s*([\w.-]+)", (root / CONFIG).read_text("utf-8"))
        except OSError:
            ids = []
        if not any(name.startswith("concurrency-gate") for name in ids):
            (root / CONFIG).write_text(HOOKS, "utf-8")
            ids = re.findall(r"\bid: ([\w.-]+)", HOOKS)
        self.judges_settings = "concurrency-gate-all" in ids
        self._hooks = [name for name in ids if name.startswith("concurrency-gate")]
        self._skipped = ",".join(name for name in ids if name not in self._hooks)
        self._git(root, "init", "--quiet")
        self._git(root, "add", "--all", "--force")
        self._git(root, "commit", "--quiet", "--no-verify", "--message", "the project as it is")
        self._hook(root, "install")

    def look(self, root: Path) -> list[Place]:
        done = [self._hook(root, "run", "--all-files", name, fine=(0, 1)) for name in self._hooks]
        return _places("".join(run.stdout for run in done))

    def attempt(self, root: Path, changed: Sequence[str]) -> list[Place]:
        done = self._commit(root, changed)
        if done.returncode == 0:
            return []
        found = _places(done.stdout + done.stderr)
        if not found:
            raise WayError(f"the commit failed, but not at the gate: {_last_line(done.stderr)}")
        return found

    def passes(self, root: Path, changed: Sequence[str]) -> bool | None:
        for path in changed:
            if path.endswith(".py") and (root / path).exists():
                with (root / path).open("ab") as file:
                    file.write(b"\n# mended\n")
        return self._commit(root, changed).returncode == 0

    def _commit(self, root: Path, changed: Sequence[str]) -> subprocess.CompletedProcess[str]:
        self._git(root, "add", "--all", "--force", "--", *changed)
        return _run(("git", "commit", "--message", "a change"), root, SKIP=self._skipped)

    def _git(self, root: Path, *arguments: str) -> None:
        done = _run(("git", *arguments), root)
        if done.returncode:
            raise WayError(f"git {arguments[0]}: {_last_line(done.stderr)}")

    def _hook(
        self, root: Path, *arguments: str, fine: tuple[int, ...] = (0,)
    ) -> subprocess.CompletedProcess[str]:
        program = (sys.executable, "-P", "-m", "pre_commit") if find_spec("pre_commit") else ("pre-commit",)
        done = _run((*program, *arguments), root, SKIP=self._skipped)
        if done.returncode not in fine:
            raise WayError(f"pre-commit {arguments[0]}: {_last_line(done.stderr) or _last_line(done.stdout)}")
        return done


def find(name: str, root: Path) -> Way:
    """The way of that name, ready for the project at `root`. Raises WayError."""
    if name == "pre-commit":
        return PreCommit(root)
    return Flake8() if name == "flake8" else CommandLine()


def _run(command: Sequence[str], root: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Start a program in the scratch copy, with nothing of the repository or the settings around it."""
    outer = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    path = os.pathsep.join((str(Path(sys.executable).parent), outer.get("PATH", "")))
    identity = {
        f"GIT_{role}_{key}": "prove@localhost"
        for role in ("AUTHOR", "COMMITTER")
        for key in ("NAME", "EMAIL")
    }
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    try:
        return subprocess.run(
            command,
            cwd=root,
            env={
                **outer,
                "PATH": path,
                "NO_COLOR": "1",
                "PYTHONUTF8": "1",
                **identity,
                **alone,
                **environment,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        )
    except OSError as error:
        raise WayError(f"{command[0]}: cannot be started: {error.strerror}") from None


def _places(text: str) -> list[Place]:
    found = [Place(path, int(line), int(column), code) for path, line, column, code in _LINE.findall(text)]
    return sorted(set(found))


def _errors(report: str) -> str:
    errors = json.loads(report)["errors"] if report.startswith("{") else []
    return (
        f"{errors[0]['rule']} crashed on {errors[0]['path']}: {errors[0]['message']}"
        if errors
        else "no report"
    )


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
