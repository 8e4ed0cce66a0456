"""A gate that nobody has seen red proves nothing: plant violations in a copy of the project, and look.

The copy is judged as it is, then with one violation for every selected rule in the application, and the same
in an infra path. What goes unseen is blamed on the line of the configuration that let it through.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from concurrency_gate import gate, via
from concurrency_gate.config import Config, shown
from concurrency_gate.globs import compile_globs
from concurrency_gate.plant import Copy, Gardener, Place, Plant
from concurrency_gate.report.text import visible
from concurrency_gate.sources import classifier, discover

PROVED, DOUBTFUL, FAILED = 0, 1, 2


@dataclass(frozen=True)
class Check:
    """One line of the proof."""

    good: bool
    title: str
    text: str
    blame: str = ""


def run(config: Config, way: str) -> int:
    """Prove the project's gate by one of the ways "cli", "flake8" and "pre-commit", and print how it went.

    Returns 0 if everything that was planted was seen, 1 if not, 2 if it could not be tried. Blocks while the
    programs run.
    """
    click.echo(f"concurrency-gate prove: {shown(config.root)}")
    try:
        with TemporaryDirectory(prefix="concurrency-gate-") as folder:
            checks = [_printed(check) for check in _Proof(config, way, Path(folder).resolve()).checks()]
    except via.WayError as error:
        click.echo(f"concurrency-gate: {error}", err=True)
        return FAILED
    if all(check.good for check in checks):
        _echo("Proved: the gate turns red where it must, and only there.", fg="green")
        return PROVED
    blames = Counter(check.blame for check in checks if not check.good)
    _echo(f"Not proved: {blames.total()} of {len(checks)} checks failed.", fg="red")
    for blame, times in blames.items():
        click.echo(f"  {blame}" + (f" ({times} times)" if times > 1 else ""))
    return DOUBTFUL


class _Proof:
    def __init__(self, config: Config, way: str, folder: Path) -> None:
        self._config = config
        self._way_name = way
        self._sources = discover([config.root], config)
        self._copy = Copy(self._sources, config, folder)
        self._role = classifier(config)
        self._codes = frozenset(rule.code for rule in gate.rules(config))

    def checks(self) -> Iterator[Check]:
        """The proof, line by line."""
        way = self._way = via.find(self._way_name, self._copy.root)
        before = self._ours(way.look(self._copy.root))
        yield self._same_as_the_project(before)

        gardener = Gardener(self._copy, self._sources, {place.path for place in before})
        plants = [*gardener.application(), *gardener.hidden(), *gardener.infra(), *gardener.second_hand()]
        if way.judges_settings:
            plants += gardener.settings()
        if not plants:
            raise via.WayError("no file could take a violation; name a folder with code of the application")
        changed = self._copy.planted
        after = self._ours(way.attempt(self._copy.root, changed))
        for plant in plants:
            yield self._expected(plant, after)
        yield from self._unexpected(plants, after - before)
        yield from self._not_planted(gardener, plants)

        self._copy.clear()
        passes = way.passes(self._copy.root, changed)
        if passes is not None and not before:
            yield Check(
                passes, "mended", "the same files, mended, go through", "the commit was stopped again"
            )

    def _ours(self, places: Iterable[Place]) -> frozenset[Place]:
        """What the gate reports, among what a program that also does other things does."""
        return frozenset(place for place in places if place.code in self._codes)

    def _same_as_the_project(self, before: frozenset[Place]) -> Check:
        report = gate.judge(self._sources, self._config)
        there = {Place(f.path, f.line, f.column, f.code) for f in report.findings}
        strange = sorted(before - there)
        if self._way_name == "cli":
            strange += sorted(there - before)
        count = f"{len(before)} finding{'s' * (len(before) != 1)}" if before else "no findings"
        as_there = "as in the project" if not strange else "unlike the project"
        blame = f"the copy differs from the project at {_at(strange[0])}" if strange else ""
        return Check(not strange, "untouched copy", f"{count} by {self._way.title}, {as_there}", blame)

    def _expected(self, plant: Plant, after: frozenset[Place]) -> Check:
        seen = sorted(place for place in after if plant.is_found_at(place))
        title = f"{plant.rule.code} {plant.rule.name}"
        where = f"{visible(plant.path)}:{(seen[0].line if seen else plant.statement.start)}"
        if plant.through:
            where += f" (by way of {plant.through})"
        if plant.seen:
            return Check(bool(seen), title, f"{where} {'red' if seen else 'not seen'}", self._blame(plant))
        if not seen:
            return Check(True, title, f"{where} exempt as infra")
        return Check(False, title, f"{where} red", "infra does not exempt what it should; please report this")

    def _unexpected(self, plants: Sequence[Plant], fresh: frozenset[Place]) -> Iterator[Check]:
        """Whatever else turned red. A plant may break more than one rule, on its own lines."""
        file = self._copy.config.file
        shifted = file.name if file else ""
        for place in sorted(fresh):
            planted = any(plant.seen and plant.holds(place) for plant in plants)
            if not planted and place.path != shifted:
                exempt = any(plant.holds(place) for plant in plants)
                if not exempt or not any(plant.is_found_at(place) for plant in plants):
                    yield Check(False, place.code, f"{_at(place)} red", "red where nothing was planted")

    def _not_planted(self, gardener: Gardener, plants: Sequence[Plant]) -> Iterator[Check]:
        """Rules that nothing was planted for must not look proved."""
        done = {plant.rule for plant in plants}
        for rule in gardener.rules:
            about_settings = bool(rule.planted_settings) and not self._way.judges_settings
            if rule not in done and not about_settings:
                blame = "no file could take it" if rule.plant else "the rule brings no plant"
                yield Check(False, f"{rule.code} {rule.name}", "was not planted", blame)

    def _blame(self, plant: Plant) -> str:
        """The line of the configuration that let a plant through."""
        role = self._role(plant.path)
        if role == "excluded":
            return self._glob("exclude", self._config.exclude, plant.path)
        if role == "test":
            return self._key("include-tests", "is not set, and the name says that this is a test")
        if role == "infra" and getattr(plant.rule, "exempt_in_infra", True):
            return self._glob("infra", self._config.infra, plant.path)
        folder = _start(plant, self._copy) if plant.through else "."
        if folder not in (".", "src", *self._config.roots):
            return self._key("roots", f'misses "{folder}", where the name {plant.through} starts')
        for name in self._way.settings:
            text = self._copy.text(name).decode("utf-8", "replace")
            for number, line in enumerate(text.splitlines(), start=1):
                if re.match(rf"\s*(?:{self._way.keys})\s*[:=]", line):
                    return f"{name}:{number}: {line.strip()}"
        return "no line of the configuration explains it; please report this"

    def _glob(self, key: str, globs: Sequence[str], path: str) -> str:
        glob = next(glob for glob in globs if compile_globs((glob,)).fullmatch(path))
        line = self._line("[\"']" + re.escape(glob) + "[\"']")
        return f'{line}: {key} has "{glob}", which lets it through'

    def _key(self, key: str, text: str) -> str:
        line = self._line(rf"^\s*{key}\s*=")
        return f"{line}: {key} {text}"

    def _line(self, pattern: str) -> str:
        file = self._config.file
        if file is None:
            return "without a configuration"
        lines = file.read_text("utf-8", "replace").splitlines()
        number = next((n for n, line in enumerate(lines, start=1) if re.search(pattern, line)), 0)
        return f"{shown(file)}:{number}" if number else shown(file)


def _start(plant: Plant, copy: Copy) -> str:
    """The folder of the project from which the module that a plant imports has its name."""
    name = f"{plant.through.replace('.', '/')}.py"
    path = next(path for path in copy.planted if f"/{path}".endswith(f"/{name}"))
    return path.removesuffix(name).rstrip("/") or "."


def _at(place: Place) -> str:
    return f"{visible(place.path)}:{place.line}:{place.column} {place.code}"


def _printed(check: Check) -> Check:
    mark, colour = ("✓", "green") if check.good else ("✗", "red")
    try:
        mark.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        mark = "+" if check.good else "x"
    _echo(f"  {mark} ", fg=colour, nl=False)
    click.echo(f"{check.title:<30} {check.text}")
    return check


def _echo(text: str, *, fg: str, nl: bool = True) -> None:
    # https://no-color.org
    color = False if os.environ.get("NO_COLOR") else True if os.environ.get("FORCE_COLOR") else None
    click.secho(text, fg=fg, nl=nl, color=color)
