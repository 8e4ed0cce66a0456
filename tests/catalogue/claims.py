"""What the packaged catalogue claims about names, library by library: the claims that `verify` can test."""

from __future__ import annotations

import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from concurrency_gate import catalogue_format as form
from concurrency_gate.catalogue import packaged

Claim = list[Any]


@dataclass
class Library:
    """One library over all files: its tables, what is noted about its names, and where it comes from."""

    name: str
    distribution: str | None = None
    version: str | None = None
    tables: list[dict[str, Any]] = field(default_factory=list)
    notes: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))

    def noted(self, kind: str, name: str) -> str | None:
        """The note of a kind (`unverified`, `until`, `since`) on a name or on what holds it, or None."""
        key = self._key(kind, name)
        return self.notes[kind][key] if key else None

    def notes_on(self, claim: Claim) -> set[str]:
        """The noted names that a claim touches."""
        keys = (self._key(kind, name) for kind in self.notes for name in claim[1:] if name)
        return {key for key in keys if key}

    def _key(self, kind: str, name: str) -> str | None:
        parts = name.split(".")
        heads = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
        return next((head for head in heads if head in self.notes[kind]), None)


def libraries() -> dict[str, Library]:
    """Every library of the packaged catalogue. Reads the TOML files."""
    found: dict[str, Library] = {}
    for path in packaged():
        for name, table in tomllib.loads(path.read_text("utf-8")).items():
            library = found.setdefault(name, Library(name))
            library.tables.append(table)
            library.distribution = table.get("distribution", library.distribution)
            library.version = table.get("version", library.version)
            for kind in ("unverified", "until", "since"):
                for pattern, reason in table.get(kind, {}).items():
                    library.notes[kind].update((expanded, reason) for expanded in form.expand(pattern))
    return found


def claims(library: Library) -> Iterator[Claim]:
    """[check, name, target] for every name in a library's tables, notes or not."""
    for table in library.tables:
        data = form.empty()
        form.add(data, library.name, table, library.name)
        for names in (data["effects"], *data["marks"].values()):
            yield from (["exists", name, None] for name in names)
        for key in form.TYPES:
            for name, text in data[key].items():
                yield ["exists", name, None]
                yield from (["exists", inner, None] for inner in _classes(form.shape(text)))
        for name, (gives, *_names) in data["reverses"].items():
            yield ["exists", name, None]
            yield from (["exists", inner, None] for inner in _classes(form.shape(gives)))
        for name, target in data["decorates"].items():
            yield from (["exists", each, None] for each in (name, target))
        for name, attribute in data["chooses"].items():
            yield ["exists", f"{name}.{attribute}", None]
        yield from (["same", name, target] for name, target in data["alias"].items())
        for name, bases in data["bases"].items():
            yield from (["derives", name, base] for base in bases)
        for name, signals in data["fires"].items():
            yield from (["exists", each, None] for each in (name, *signals))
        for name, calls in data["calls"].items():
            yield ["exists", name, None]
            owner = name.rpartition(".")[0]
            yield from (
                ["exists", f"{owner}.{call.method}", None]
                for call in map(form.link, calls)
                if call.receiver.name == "self"
            )
        for name, (_, statements, ends, _unless, expires, takes, *_rest) in data["implicit"].items():
            methods = dict.fromkeys((*statements, *ends, *expires, *takes))
            yield from (["exists", f"{name}.{method}", None] for method in methods)


def _classes(shape: form.Shape) -> Iterator[str]:
    if shape.name == "attribute":
        return
    if "." in shape.name:
        yield shape.name
    for inner in shape.parameters:
        yield from _classes(inner)


def due(library: Library, claim: Claim) -> bool:
    """Whether a claim ought to hold: no note says otherwise. For the standard library, `until` and `since`
    are Python versions and are compared with this one."""
    for name in filter(None, claim[1:]):
        until, since = library.noted("until", name), library.noted("since", name)
        if library.noted("unverified", name) or (until and (library.distribution or _reached(until))):
            return False
        if since and not _reached(since):
            return False
    return True


def _reached(version: str) -> bool:
    return tuple(map(int, version.split("."))) <= sys.version_info[:2]
