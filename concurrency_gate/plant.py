"""Violations for `prove`: where they go in a scratch copy of a project, and what must be seen there."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple, get_args

from concurrency_gate import gate
from concurrency_gate.config import OWN_FILE, SHARED_FILE, Config, load
from concurrency_gate.facts.syntax import Unparsable, parse
from concurrency_gate.rule import ModuleRule, Rule
from concurrency_gate.sources import Role, Sources, Unreadable, read

CONFIGURATIONS = (
    "setup.cfg",
    "tox.ini",
    ".flake8",
    ".gitignore",
    ".pre-commit-config.yaml",
    SHARED_FILE,
    OWN_FILE,
)
"""Files beside the sources on which a verdict depends, by whichever way it is asked for."""

_IMPORT = re.compile(
    rb"(?m)^(?:import[ \t]+([\w.]+)|from[ \t]+(\w[\w.]*)[ \t]+import[ \t]+(?:\([ \t]*\r?\n?[ \t]*)?(\w+))"
)


class Place(NamedTuple):
    """Where something is reported: path relative to the root, line and column from 1."""

    path: str
    line: int
    column: int
    code: str


@dataclass(frozen=True)
class Plant:
    """A violation: the planted lines, those of the statement that must be found, and what must come of it."""

    rule: type[Rule]
    path: str
    lines: range
    statement: range
    seen: bool = True
    through: str = ""
    """The module that the planted statement has its names from, where that is another."""

    def holds(self, place: Place) -> bool:
        """Whether a place is on the planted lines."""
        return place.path == self.path and place.line in self.lines

    def is_found_at(self, place: Place) -> bool:
        """Whether what is reported at a place is what was planted."""
        return self.holds(place) and place.code == self.rule.code and place.line in self.statement


class Copy:
    """A project in a scratch folder: planted, and cleared again."""

    def __init__(self, original: Sources, config: Config, folder: Path) -> None:
        self.root = folder / config.root.resolve().name
        self._before: dict[str, bytes | None] = {}
        for source in original.project:
            self._take(original.root, source.path)
        for name in CONFIGURATIONS:
            self._take(original.root, name)
        for name in config.roots:
            (self.root / name).mkdir(parents=True, exist_ok=True)
        # One of another name could not be found upwards; without any, a folder above might have one.
        file = config.file
        if file is None:
            (self.root / OWN_FILE).touch()
        elif file.name not in (OWN_FILE, SHARED_FILE):
            shutil.copyfile(file, self.root / OWN_FILE)
        known = file is not None and file.name in (OWN_FILE, SHARED_FILE)
        self.config = load(self.root / (file.name if file is not None and known else OWN_FILE))

    def _take(self, root: Path, name: str) -> None:
        try:
            data = read(root / name)
        except Unreadable:
            return
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_bytes(data)

    def text(self, path: str) -> bytes:
        try:
            return read(self.root / path)
        except Unreadable:
            return b""

    def original(self, path: str) -> bytes:
        """A file's text as it is in the project."""
        return self._before.get(path) or self.text(path)

    def append(self, path: str, text: str) -> int:
        """Add lines at the end of a file, which may be new; the number of the first of them."""
        before = self.text(path) if (self.root / path).exists() else None
        self._before.setdefault(path, before)
        kept = before or b""
        if kept and not kept.endswith((b"\n", b"\r")):
            kept += b"\n"
        kept += b"\n\n" if kept else b""
        (self.root / path).write_bytes(kept + text.encode())
        return len(re.findall(rb"\r\n|\r|\n", kept)) + 1

    def replace(self, path: str, data: bytes) -> None:
        self._before.setdefault(path, self.text(path))
        (self.root / path).write_bytes(data)

    @property
    def planted(self) -> list[str]:
        """The files that differ from the project's."""
        return sorted(self._before)

    def clear(self) -> None:
        """Undo all plants."""
        for path, data in self._before.items():
            if data is None:
                (self.root / path).unlink()
            else:
                (self.root / path).write_bytes(data)
        self._before.clear()


class Gardener:
    """Chooses where violations go, and plants them. The same project is always planted the same way."""

    def __init__(self, copy: Copy, sources: Sources, red: Collection[str]) -> None:
        """`red` are files with findings of their own, which are not planted."""
        self._copy = copy
        self._red = red
        self._paths: dict[Role, list[str]] = {role: [] for role in get_args(Role)}
        for source in sources.project:
            self._paths[source.role].append(source.path)
        self.rules = sorted(gate.selected_rules(copy.config), key=lambda rule: rule.code)
        self.swallowed = not self._paths["application"]
        """Whether the configuration keeps every file from the gate: then those are planted all the same."""

    def application(self) -> Iterator[Plant]:
        """One plant for each selected rule that has one, spread over the application's files."""
        pool = self._paths["application"]
        if self.swallowed:
            pool = [path for role in ("infra", "excluded", "test") for path in self._paths[role]]
        rules = [rule for rule in self.rules if rule.plant]
        for rule, host in self._hosts(rules, pool):
            yield self._plant(rule, host)

    def infra(self) -> Iterator[Plant]:
        """The same in infra files: exempt for the rules that say so, seen for the others."""
        rules = [rule for rule in self.rules if rule.plant and issubclass(rule, ModuleRule)]
        for rule, host in self._hosts(rules, [] if self.swallowed else self._paths["infra"]):
            yield self._plant(rule, host, seen=not getattr(rule, "exempt_in_infra", False))

    def hidden(self) -> Iterator[Plant]:
        """A plant in each package that the application imports, and of which `exclude` leaves nothing."""
        excluded = _Modules(self._paths["excluded"])
        judged = [*self._paths["application"], *self._paths["infra"]]
        rule = next((rule for rule in self.rules if _split(rule)), None)
        done: set[str] = set()
        for host in self._paths["application"]:
            for name in _imported(self._copy.text(host)):
                path, start = excluded.find(name)
                package = f"{start}{name.partition('.')[0]}/"
                if rule and path.startswith(package) and package not in done:
                    done.add(package)
                    if not any(other.startswith(package) for other in judged):
                        yield self._plant(rule, path)

    def second_hand(self) -> Iterator[Plant]:
        """Plants that have their names from another module, one for each folder where imported names start.

        It is seen only if the gate knows that module by the name that the project imports its neighbours by.
        """
        modules = _Modules([*self._paths["application"], *self._paths["infra"]])
        split = next((split for rule in self.rules if (split := _split(rule))), None)
        starts: set[str] = set()
        for host in self._paths["application"] if split else ():
            for name in _imported(self._copy.text(host)):
                path, start = modules.find(name)
                if split and "." in name and path and start not in starts and self._is_host(host, split[0]):
                    starts.add(start)
                    package = name if path.endswith("/__init__.py") else name.rpartition(".")[0]
                    yield self._plant_apart(*split, host, package, f"planted_names_{len(starts)}", start)

    def settings(self) -> Iterator[Plant]:
        """What rules about the configuration look for, added to the scratch copy's."""
        file = self._copy.config.file
        assert file is not None
        for rule in self.rules:
            for key, entries in rule.planted_settings.items():
                text, line = _with_entries(file.read_text("utf-8"), key, entries, file.name == SHARED_FILE)
                self._copy.replace(file.name, text.encode())
                yield Plant(rule, file.name, range(line, line + 1), range(line, line + 1))

    def _plant(self, rule: type[Rule], host: str, *, seen: bool = True) -> Plant:
        try:
            tree = ast.parse(rule.plant)
        except SyntaxError:  # in a file of its own, or it would take the host's findings with it
            path = str(PurePosixPath(host).with_name(f"planted_{rule.code.lower()}.py"))
            lines = _lines(self._copy.append(path, rule.plant), rule.plant)
            return Plant(rule, path, lines, lines, seen)
        first = self._copy.append(host, rule.plant)
        last = tree.body[-1]
        begins = min([last.lineno, *(d.lineno for d in getattr(last, "decorator_list", ()))])
        ends = last.end_lineno or last.lineno
        return Plant(rule, host, _lines(first, rule.plant), range(first + begins - 1, first + ends), seen)

    def _plant_apart(
        self, rule: type[Rule], imports: str, body: str, host: str, package: str, name: str, start: str
    ) -> Plant:
        self._copy.append(f"{start}{package.replace('.', '/')}/{name}.py", imports)
        text = f"from {package}.{name} import {', '.join(_bound(imports))}\n\n{body}"
        first = self._copy.append(host, text)
        return Plant(rule, host, _lines(first, text), _lines(first + 2, body), through=f"{package}.{name}")

    def _hosts(self, rules: Sequence[type[Rule]], pool: Sequence[str]) -> Iterator[tuple[type[Rule], str]]:
        """A file for each of the rules, spread evenly over the pool."""
        pool = [path for path in pool if not path.endswith("__init__.py")] or pool
        for index, rule in enumerate(rules):
            start = index * len(pool) // len(rules)
            turned = [*pool[start:], *pool[:start]]
            host = next((path for path in turned if self._is_host(path, rule)), None)
            if host is not None:
                yield rule, host

    def _is_host(self, path: str, rule: type[Rule]) -> bool:
        """Whether nothing in a file but the plant changes the verdict: names that the plant imports could."""
        data = self._copy.original(path)
        if path in self._red or b"noqa" in data.lower():
            return False
        split = _split(rule)
        if split and re.search(rf"\b(?:{'|'.join(_bound(split[1]))})\b".encode(), data):
            return False
        try:
            parse(data)
        except Unparsable:
            return False
        return True


class _Modules:
    """Files by the names they can be imported under, wherever those names start from."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._known = frozenset(paths)
        self._by_last: dict[str, list[str]] = {}
        for path in sorted(self._known):
            stem = path.removesuffix(".py").removesuffix("/__init__")
            self._by_last.setdefault(stem.rpartition("/")[2], []).append(path)

    def find(self, name: str) -> tuple[str, str]:
        """The one file that can be the module `name`, and the folder that the name starts from, ending in a
        slash; empty where there is none, or more than one."""
        stem = name.replace(".", "/")
        found = [
            (path, path[: -len(end)])
            for path in self._by_last.get(name.rpartition(".")[2], ())
            for end in (f"{stem}.py", f"{stem}/__init__.py")
            if path == end or path.endswith(f"/{end}")
        ]
        # Names do not start inside a package: there they are a library's, which happens to have the same name.
        found = [(path, start) for path, start in found if f"{start}__init__.py" not in self._known]
        return found[0] if len(found) == 1 else ("", "")


def _lines(first: int, text: str) -> range:
    return range(first, first + text.count("\n"))


def _split(rule: type[Rule]) -> tuple[type[Rule], str, str] | None:
    """A plant as its imports and the rest, if it begins with imports."""
    if not issubclass(rule, ModuleRule) or not rule.plant:
        return None
    tree = ast.parse(rule.plant)
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    if not imports or tree.body[: len(imports)] != imports:
        return None
    cut = imports[-1].end_lineno or 1
    lines = rule.plant.splitlines(keepends=True)
    return rule, "".join(lines[:cut]), "".join(lines[cut:]).lstrip("\n")


def _bound(imports: str) -> list[str]:
    nodes = [node for node in ast.parse(imports).body if isinstance(node, ast.Import | ast.ImportFrom)]
    return [alias.asname or alias.name.partition(".")[0] for node in nodes for alias in node.names]


def _imported(data: bytes) -> Iterator[str]:
    """Names that can be modules, from the imports at a file's top level; no relative ones."""
    for module, package, name in _IMPORT.findall(data):
        yield (module or package).decode("utf-8", "replace")
        if name:
            yield f"{package.decode('utf-8', 'replace')}.{name.decode('utf-8', 'replace')}"


def _with_entries(text: str, key: str, entries: Sequence[str], shared: bool) -> tuple[str, int]:
    """A configuration with `entries` added to the list `key`, and the line where they stand."""
    added = ", ".join(f'"{entry}"' for entry in entries)
    header = re.search(r"(?m)^\[tool\.concurrency-gate\][^\n]*$", text) if shared else None
    begin = header.end() if header else 0
    rest = text[begin:]
    table = re.search(r"(?m)^\[", rest)
    end = begin + table.start() if table else len(text)
    existing = re.compile(rf"(?m)^[ \t]*{re.escape(key)}[ \t]*=[ \t]*\[").search(text, begin, end)
    if existing:
        text = f"{text[: existing.end()]}{added}, {text[existing.end() :]}"
        return text, text.count("\n", 0, existing.end()) + 1
    text = f"{text[:begin]}\n{key} = [{added}]\n{text[begin:]}"
    return text, text.count("\n", 0, begin) + 2
