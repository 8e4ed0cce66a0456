"""The gate inside flake8 6 and 7: the same findings at the same places as the command line's.

All files of a process share one session for each project. It is made before flake8 forks its workers, so that
they share it too; files that may hold a finding are judged then, in the one process that can keep their verdicts for
the next run.
"""

from __future__ import annotations

import ast
import functools
import gc
import io
import multiprocessing
import os
import tokenize
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flake8.checker import FileChecker
from flake8.exceptions import ExecutionError
from flake8.utils import stdin_get_value

from concurrency_gate import __version__, config, gate
from concurrency_gate.cache import Store, open_store
from concurrency_gate.catalogue_format import CatalogueError
from concurrency_gate.config import Config, ConfigError
from concurrency_gate.sources import PathError

if TYPE_CHECKING:
    import argparse

    from concurrency_gate.rule import Finding
    from concurrency_gate.run import Session

Error = tuple[int, int, str]
"""Line from 1, column from 0, text that starts with the code."""

STDIN = "-"
CRASHED = "CG000"
"""No rule: says that one crashed, or the gate itself, where the command line exits with 2."""


class Plugin:
    """What flake8 makes for each file that it can parse."""

    name = "concurrency-gate"
    version = __version__
    judge: _Judge
    told: list[str] | None = None
    """The codes reported of the file in hand; None until flake8 asks about it."""

    def __init__(self, tree: ast.AST, filename: str) -> None:  # noqa: ARG002 - flake8 tells by it what a plugin is
        self._filename = filename

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Find the configuration. A mistake in it ends flake8 with one line, as every ExecutionError does."""
        cls.judge = _Judge(options.filenames or ["."], options.stdin_display_name)
        _be_heard(FileChecker)
        if (multiprocessing.get_start_method(True) or multiprocessing.get_all_start_methods()[0]) == "fork":
            cls.judge.prepare()

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """The errors in the file, which flake8 has parsed."""
        Plugin.told = []
        for line, column, text in self.judge.errors(self._filename, parses=True):
            Plugin.told.append(text.partition(" ")[0])
            yield line, column, text, Plugin


def _be_heard(checker: Any) -> None:
    """See that flake8 neither skips a file nor drops an error of ours.

    It asks no plugin about a file with `# flake8: noqa`, nor about one that Python's parser refuses, and it
    drops an error wherever the lines around it hold a noqa, be it in a string. A plugin has no say in that,
    so the one method that returns a file's errors is wrapped, which is the same in flake8 6 and 7. What
    `select`, `ignore` and `per-file-ignores` say still holds.
    """
    original: Callable[[Any], Any] = checker.run_checks
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def run_checks(self: Any) -> Any:
        Plugin.told = None
        name, results, statistics = original(self)
        told = Plugin.told
        if told is None:
            for line, column, text in Plugin.judge.errors(name, parses=False):
                told = [*(told or ()), self.report(None, line, column, text)]
        if told:
            # The last part of a result is the text in which flake8 looks for a noqa.
            results[:] = [(*result[:4], "") if result[0] in told else result for result in results]
        return name, results, statistics

    checker.run_checks = run_checks


class _Judge:
    """The sessions of one flake8 process. Raises ExecutionError for a mistake in a configuration."""

    def __init__(self, names: Sequence[str], stdin_name: str) -> None:
        self._stdin = Path(stdin_name).absolute() if STDIN in names else None
        paths = [self._stdin if name == STDIN else Path(name) for name in names]
        with _mistakes_on_one_line():
            self._projects = _by_project([p for p in paths if p and (p == self._stdin or os.path.lexists(p))])
        self._real_folder = functools.cache(Path.resolve)
        self._prepared: dict[tuple[Session, str], list[Error]] = {}

    def prepare(self) -> None:
        """Read the projects, sieve them, and judge what no sieve clears."""
        try:
            for session, store in self._sessions:
                for path in session.judged:
                    if session.is_suspect(path):
                        self._prepared[session, path] = list(self._errors(session, path, parses=False))
                if store is not None:
                    session.save()
                    store.save()
            gc.freeze()  # or flake8's every collection would walk through all that is known of the project
        except ExecutionError:
            raise
        except Exception as error:
            raise ExecutionError(
                f"concurrency-gate: internal error: {_shown(error)}; please report it"
            ) from error

    def errors(self, name: str, *, parses: bool) -> Sequence[Error]:
        """What the gate has against a file; nothing against one that is not judged."""
        file = Path(name).absolute()
        judged = self._judged.get(self._real_folder(file.parent) / file.name)
        if judged is None:
            return ()
        prepared = self._prepared.get(judged)
        return prepared if prepared is not None else list(self._errors(*judged, parses=parses))

    def _errors(self, session: Session, path: str, *, parses: bool) -> Iterator[Error]:
        known = len(session.failures)
        findings: list[Finding] = []
        try:
            findings = session.judge(path, parses=parses)
            if path in session.unread:
                findings += session.conclude([path], whole=False)
        except Exception as error:  # the other files must still be judged
            yield 1, 0, f"{CRASHED} internal error on this file: {_shown(error)}; please report it"
        for finding in sorted(set(findings)):
            yield finding.line, finding.column - 1, _text(finding)
        for failure in session.failures[known:]:
            yield 1, 0, f"{CRASHED} {failure.rule} crashed on this file: {_one_line(failure.message)}"

    @functools.cached_property
    def _sessions(self) -> list[tuple[Session, Store | None]]:
        """The session of each project, with the cache that it came from."""
        overrides = {str(self._stdin): _stdin_bytes()} if self._stdin else {}
        found = []
        with _mistakes_on_one_line():
            for settings, paths in self._projects:
                store = open_store(settings)
                session = gate.session(paths, settings, overrides=overrides, store=store)
                found.append((session, store))
        return found

    @functools.cached_property
    def _judged(self) -> dict[Path, tuple[Session, str]]:
        """The judged files by their path, links in its folders resolved."""
        found: dict[Path, tuple[Session, str]] = {}
        for session, _ in self._sessions:
            root = session.sources.root.resolve()
            for path in session.judged:
                found.setdefault(root / path, (session, path))
        return found


def _by_project(paths: Sequence[Path]) -> list[tuple[Config, list[Path]]]:
    """The configurations that hold for `paths`, with the paths of each. The command line refuses paths of two
    projects; here each is judged by its own, since flake8 is given whatever changed in a repository."""
    if not paths:
        return []
    find = functools.cache(config.find)
    found: dict[Path, tuple[Config, list[Path]]] = {}
    for path in paths:
        settings = find(path if path.is_dir() else path.absolute().parent)
        found.setdefault(settings.file or settings.root, (settings, []))[1].append(path)
    if any(settings.file for settings, _ in found.values()):
        return list(found.values())
    return [(config.find_for(paths), list(paths))]


def _stdin_bytes() -> bytes:
    """What flake8 read from standard input, which it hands out decoded only."""
    text: str = stdin_get_value()
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(text.encode("utf-8", "surrogatepass")).readline)
        return text.encode(encoding)
    except (SyntaxError, LookupError, UnicodeError):
        return text.encode("utf-8", "surrogatepass")


def _text(finding: Finding) -> str:
    text = f"{finding.code} {finding.message} ({finding.name})"
    if finding.instead:
        text += f"; instead: {finding.instead}"
    if finding.chain:
        text += "; the way: " + ", ".join(f"{step.path}:{step.line} {step.text}" for step in finding.chain)
    return _one_line(text)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _shown(error: Exception) -> str:
    return _one_line(f"{type(error).__name__}: {error}")


@contextmanager
def _mistakes_on_one_line() -> Iterator[None]:
    try:
        yield
    except (ConfigError, CatalogueError, PathError) as error:
        raise ExecutionError(f"concurrency-gate: {error}") from None
