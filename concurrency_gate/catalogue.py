"""What is known about libraries: which names spawn, reach the network, enqueue, wait, open a transaction.

`load` reads the packaged `rules/catalogue/*.toml` and a team's additions; the `Catalogue` that it gives
answers questions about dotted names. Every question takes any known spelling (`asyncio.tasks.create_task`),
a method is asked for as `pkg.Class.method`, and what a base class is known for holds for its subclasses. A
name that the catalogue does not know gives an empty answer, never an error. Lookups are dict lookups and
remember their answers; a Catalogue is safe to share between threads: remembering twice gives the same.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Container, Iterable, Mapping
from copy import deepcopy
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from concurrency_gate import catalogue_format as form
from concurrency_gate.catalogue_format import (
    EFFECTS,
    MARKS,
    SPAWNS,
    CatalogueError,
    Condition,
    Entry,
    Implicit,
    Reverse,
    Setting,
    Shape,
)
from concurrency_gate.spellings import Spellings

__all__ = [
    "EFFECTS",
    "MARKS",
    "SPAWNS",
    "Catalogue",
    "CatalogueError",
    "Condition",
    "Entry",
    "Implicit",
    "Reverse",
    "Setting",
    "Shape",
    "load",
]

T = TypeVar("T")

PROJECT = "project"
"""The library of entries that come from the team's own configuration."""


def load(additions: Mapping[str, object] | None = None) -> Catalogue:
    """The packaged catalogue with a team's additions (one flat table with the keys of a library's table).

    Raises CatalogueError for a mistake in the additions, one line that starts with the key.
    """
    known = _load_packaged()
    if not additions:
        return known
    _guard(known, additions)
    data = deepcopy(known.data)
    form.add(data, PROJECT, additions, "catalogue")
    return Catalogue(data)


@cache
def _load_packaged() -> Catalogue:
    """Reads about a dozen small files, once in a process: that takes longer than judging a small project."""
    data = form.empty()
    for path in packaged():
        for library, table in tomllib.loads(path.read_text("utf-8")).items():
            form.add(data, library, table, f"{path.name}: {library}")
    return Catalogue(data)


def packaged() -> list[Path]:
    """The packaged catalogue's files. The rules are located, not imported: the engine names no rule."""
    spec = find_spec("concurrency_gate.rules")
    if spec is None or spec.origin is None:
        raise CatalogueError("the package concurrency_gate.rules is missing; install concurrency-gate again")
    return sorted(Path(spec.origin).parent.joinpath("catalogue").glob("*.toml"))


def _guard(known: Catalogue, additions: Mapping[str, object]) -> None:
    """Additions add: to call a name that spawns `local`, or to lead it elsewhere by an alias or another type,
    would be an exclusion in disguise."""
    scratch = form.empty()
    form.add(scratch, PROJECT, additions, "catalogue")
    for name, rows in scratch["effects"].items():
        if any(row[0] == "local" for row in rows) and any(e.kind in SPAWNS for e in known.effects(name)):
            raise CatalogueError(f"catalogue.local: '{name}' starts work of its own; remove it here")
    if scratch["generated"]:
        raise CatalogueError(
            "catalogue.generated: a pattern could hide names that are known; name the classes instead"
        )
    for key in ("alias", "reverses", *form.TYPES):
        for name in scratch[key]:
            if name in known.data[key] or name in known.modules or known.effects(name):
                raise CatalogueError(f"catalogue.{key}: '{name}' is known already; remove it here")


class Catalogue:
    """Answers questions about dotted names. Built by `load`, or from the plain data of an earlier one."""

    def __init__(self, data: form.Data) -> None:
        self.data = data
        """The compiled form: dicts, lists, strings and numbers only, fit for JSON. Not to be changed."""
        self._spellings = Spellings(data)
        self._answers: dict[tuple[str, str], Any] = {}

    # Names

    def canonical(self, name: str) -> str:
        """The public spelling of a name; an unknown one stays."""
        return self._spellings.canonical(name)

    @property
    def roots(self) -> frozenset[str]:
        """The top-level modules of which something is known."""
        return self._spellings.roots

    @cached_property
    def modules(self) -> frozenset[str]:
        """Every proper prefix of a known name, module or class: `asyncio`, `asyncio.AbstractEventLoop`."""
        found = set()
        for name in self._spellings.known():
            while name := name.rpartition(".")[0]:
                found.add(name)
        return frozenset(found)

    def words(self, kinds: Iterable[str], libraries: Container[str] | None = None) -> frozenset[str]:
        """The identifiers of which a file's text must hold one to use a name of these kinds (of EFFECTS or
        MARKS, or `reverses`) directly: the last component in every spelling; for a wildcard, or for `__call__`, the
        class or module that owns it. `libraries` are the top-level modules that can be meant; None: all."""
        return frozenset(map(_word, self._names(kinds, libraries)))

    def mentions(self, kinds: Iterable[str], libraries: Container[str] | None = None) -> frozenset[str]:
        """As `words`, but with a dot before a word that names nothing but methods: only `.word`, or the word as
        a text of its own, is a use of those."""
        plain: set[str] = set()
        methods: set[str] = set()
        for name in self._names(kinds, libraries):
            owner, _, member = name.rpartition(".")
            is_method = member not in ("*", "__call__") and owner.rpartition(".")[2][:1].isupper()
            (methods if is_method else plain).add(_word(name))
        return frozenset(plain | {f".{word}" for word in methods - plain})

    def _names(self, kinds: Iterable[str], libraries: Container[str] | None) -> set[str]:
        wanted = set(kinds)
        names = {name for name, rows in self.data["effects"].items() if any(row[0] in wanted for row in rows)}
        names.update(name for kind in wanted & set(MARKS) for name in self.data["marks"][kind])
        names.update(self.data["reverses"] if "reverses" in wanted else ())
        names.update(alias for alias in self.data["alias"] if self.canonical(alias) in names)
        names.update(name for name in self.data["bases"] if names.intersection(self._ancestors(name)))
        if libraries is None:
            return names
        return {name for name in names if name.partition(".")[0] in libraries}

    def is_known(self, name: str) -> bool:
        """Whether anything is said of the name, of what can be read from it, or of what calling it gives."""
        return self._ask("known", name, self._is_known)

    def _is_known(self, name: str) -> bool:
        if any(base in self.modules or base in self.data["effects"] for base in self._ancestors(name)):
            return True
        if self.effects(name) or self.returns(name) or self.attribute(name):
            return True
        return any(self.marks(kind, name) for kind in MARKS)

    def is_class(self, name: str) -> bool:
        """Whether something is said of its members or its bases, which makes a class of a name that looks like none:
        `sqlite3.connection`, `smtplib.SMTP_SSL`."""
        return name in self.modules or name in self.data["bases"]

    def sources_of(self, kind: str) -> list[tuple[str, str]]:
        """For the classes under one key of MARKS: where an instance comes from without its class being named,
        as (top-level module, last word of the function or attribute). A file that makes one holds both
        words."""
        classes = set(self.data["marks"][kind])
        found = set()
        for key in ("returns", "attributes"):
            for name, text in self.data[key].items():
                if form.shape(text).name in classes and name not in classes:
                    found.add((name.partition(".")[0], _word(name)))
        return sorted(found)

    @cached_property
    def switches(self) -> list[str]:
        """What a call must be given, as text, to switch something on for a whole project: a word that its file
        holds."""
        entries = (entry for name in self.data["marks"]["switches"] for entry in self.marks("switches", name))
        return sorted({str(entry.when.value) for entry in entries if entry.when is not None})

    def marked(self, kind: str) -> bool:
        """Whether there is any entry under a key of MARKS."""
        return bool(self.data["marks"][kind])

    # Classes

    def is_subclass(self, name: str, base: str) -> bool:
        """Whether `name` is `base` or known to derive from it."""
        return self.canonical(base) in self._ancestors(self.canonical(name))

    def _ancestors(self, name: str) -> tuple[str, ...]:
        """The class itself, then its known bases, nearest first."""
        order = {name: None}
        queue = [name]
        for current in queue:
            for base in self.data["bases"].get(current, ()):
                base = self.canonical(base)
                if base not in order:
                    order[base] = None
                    queue.append(base)
        return tuple(order)

    def _inherited(self, name: str, table: Mapping[str, T]) -> tuple[str, T] | None:
        """The entry for a name. Exact entries come first, the class's own and then its bases'; then wildcards
        in the same order, which stand for plain attributes only (`__call__` is not one of them); then, for a
        class without an entry, its bases."""
        if name in table:
            return name, table[name]
        owner, _, member = name.rpartition(".")
        owners = self._ancestors(owner)
        keys = [f"{cls}.{member}" for cls in owners]
        if not member.startswith("__"):
            keys += [f"{cls}.*" for cls in owners]
        for key in (*keys, *self._ancestors(name)):
            if key in table:
                return key, table[key]
        return None

    def _ask(self, key: str, name: str, build: Callable[[str], T]) -> T:
        answer = self._answers.get((key, name), self)
        if answer is self:
            answer = self._answers[key, name] = build(self.canonical(name))
        result: T = answer
        return result

    # Effects and marks

    def effects(self, name: str) -> tuple[Entry, ...]:
        """What using this name does, kinds of EFFECTS except `local`. Exact entries hide a wildcard's; a name
        that is declared `local` has none but those that spawn."""
        return self._ask("effects", name, self._effects)

    def _effects(self, name: str) -> tuple[Entry, ...]:
        entries = self._entries(name, self.data["effects"])
        if any(entry.kind == "local" for entry in entries):
            return tuple(entry for entry in entries if entry.kind in SPAWNS)
        return entries

    def marks(self, kind: str, name: str) -> tuple[Entry, ...]:
        """The entries under one key of MARKS: `marks("blocks", "django.db.transaction.atomic")`."""
        return self._ask(kind, name, lambda known: self._entries(known, self.data["marks"][kind]))

    def _entries(self, name: str, table: Mapping[str, list[list[Any]]]) -> tuple[Entry, ...]:
        found = self._inherited(name, table)
        if found is None or (found[0] != name and self._is_local(name)):
            return ()
        key, rows = found
        return tuple(self._entry(key, *row) for row in rows)

    def _is_local(self, name: str) -> bool:
        """Whether the name has been declared `local` itself: a method of its own, in place of the one of a base."""
        return any(kind == "local" for kind, *_ in self.data["effects"].get(name, ()))

    def _entry(
        self, name: str, kind: str, library: str, when: str | None, argument: int, instead: str | None
    ) -> Entry:
        holds = form.condition(when) if when else None
        return Entry(kind, name, library, holds, argument, instead or self._instead(library))

    def _instead(self, library: str) -> str:
        text: str = self.data["instead"].get(library, "")
        return text

    def implicit(self, name: str) -> Implicit | None:
        """How instances of this class begin transactions by themselves; None if they do not."""
        return self._ask("implicit", name, self._implicit)

    def _implicit(self, name: str) -> Implicit | None:
        for cls in self._ancestors(name):
            if cls in self.data["implicit"]:
                library, statements, ends, unless, expires, takes, keeps, writes = self.data["implicit"][cls]
                return Implicit(
                    cls,
                    library,
                    frozenset(statements),
                    frozenset(ends),
                    tuple(form.condition(text) for text in unless),
                    frozenset(expires),
                    frozenset(takes),
                    form.condition(keeps) if keeps else None,
                    writes,
                    self._instead(library),
                )
        return None

    @cached_property
    def expiring(self) -> frozenset[str]:
        """Names of the methods that give, take or expire the objects of an implicit transaction."""
        found = [self.implicit(name) for name in self.data["implicit"]]
        return frozenset().union(*(i.statements | i.takes | i.expires for i in found if i and i.expires))

    @cached_property
    def firing(self) -> frozenset[str]:
        """Names of the methods that send signals."""
        return frozenset(map(_word, self.data["fires"]))

    @cached_property
    def locating(self) -> frozenset[str]:
        """Names of the functions and methods that find the implementation of an interface."""
        return frozenset(map(_word, self.data["marks"]["locates"]))

    @cached_property
    def evident(self) -> Mapping[str, str]:
        """Methods that nothing else has, by their word: enough where the receiver is not known."""
        return {_word(name): name for name in self.data["marks"]["evident"]}

    @cached_property
    def keys(self) -> frozenset[str]:
        """Names of the attributes that are None until a new row is inserted."""
        return frozenset(map(_word, self.data["marks"]["keys"]))

    @cached_property
    def chosen(self) -> Mapping[str, str]:
        """The settings that name a class, by the library's class that stands for it."""
        return {
            self.canonical(setting.role): setting.path for setting in self.settings if "." in setting.role
        }

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """The settings that decide what other entries do."""
        return tuple(Setting(path, role, library) for path, (library, role) in self.data["settings"].items())

    # Types

    def returns(self, name: str) -> Shape | None:
        """What calling the name (and awaiting the call) gives; `pkg.Class.__call__` for calling an instance.
        None is "not known": a class gives its instance."""
        return self._shape("returns", name)

    def attribute(self, name: str) -> Shape | None:
        """What reading `pkg.Class.attr`, or a module's `pkg.attr`, gives an instance of."""
        return self._shape("attributes", name)

    def is_open(self, name: str) -> bool:
        """Whether `attribute` knows the name by a wildcard only, so that it may be a method as well."""

        def build(known: str) -> bool:
            found = self._inherited(known, self.data["attributes"])
            return found is not None and found[0].endswith(".*")

        return self._ask("open", name, build)

    def enters(self, name: str) -> Shape | None:
        """What `with` or `async with` binds for an instance of the class; None: the instance itself."""
        return self._shape("enters", name)

    def descriptor(self, name: str) -> Shape | None:
        """What an instance gives where its class holds one of these: a Django field, say."""
        return self._shape("descriptors", name)

    def reverses(self, name: str) -> Reverse | None:
        """What a field of this class gives the class that it points to."""

        def build(known: str) -> Reverse | None:
            found = self._inherited(known, self.data["reverses"])
            return Reverse(form.shape(found[1][0]), *found[1][1:]) if found else None

        return self._ask("reverses", name, build)

    def reversing(self, word: str) -> list[Reverse]:
        """What the fields whose name ends in this word may give, each once."""
        names = (
            name
            for name in (*self.data["reverses"], *self.data["alias"], *self.data["bases"])
            if _word(name) == word
        )
        return [*dict.fromkeys(reverse for reverse in map(self.reverses, names) if reverse is not None)]

    def iterates(self, name: str) -> Shape | None:
        """What a loop over an instance of this class gives."""
        return self._shape("iterates", name)

    def _shape(self, key: str, name: str) -> Shape | None:
        def build(known: str) -> Shape | None:
            found = self._inherited(known, self.data[key])
            return form.shape(found[1]) if found else None

        return self._ask(key, name, build)

    def decorates(self, name: str) -> str | None:
        """The class of which a function decorated with this (bare or called) becomes an instance."""
        return self._text("decorates", name)

    def chooses(self, name: str) -> str | None:
        """The constructor's argument, and attribute, by which an instance of this class is told of which class its
        `decorates` make instances."""
        return self._text("chooses", name)

    def _text(self, key: str, name: str) -> str | None:
        def build(known: str) -> str | None:
            found = self._inherited(known, self.data[key])
            return found[1] if found else None

        return self._ask(key, name, build)

    # Links

    def fires(self, name: str) -> tuple[str, ...]:
        """The signals that calling this method sends."""
        return self._links("fires", name)

    def calls(self, name: str) -> tuple[form.Link, ...]:
        """The methods that calling this method calls in turn: `self.run`, or `item.save` on an element of the
        receiver's parameter."""
        return tuple(map(form.link, self._links("calls", name)))

    def _links(self, key: str, name: str) -> tuple[str, ...]:
        def build(known: str) -> tuple[str, ...]:
            found = self._inherited(known, self.data[key])
            if found is None or (found[0] != known and self._is_local(known)):
                return ()
            return tuple(found[1])

        return self._ask(key, name, build)


def _word(name: str) -> str:
    parts = [part for part in name.split(".") if part != "*" and not part.startswith("__")]
    return parts[-1].removesuffix("()")
