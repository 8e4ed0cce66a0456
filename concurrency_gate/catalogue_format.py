"""The written form of the catalogue: name patterns, conditions, types, and the checks on all of them.

`add` reads one library's table into `Data`, the compiled form: plain dicts, lists and strings, so that a
cache can hold it as JSON. The keys are described in rules/catalogue/README.md. Nothing here reads a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

SPAWNS = ("thread", "task", "executor", "process", "greenlet", "framework")
"""Kinds of the spawn family; a name has at most one of them."""

EFFECTS = (*SPAWNS, "network", "enqueue", "wait", "cache", "storage", "deferred", "local")
"""Keys whose names do something when used. `local` and `deferred` say that they do nothing here."""

MARKS = (
    "blocks",
    "decorators",
    "begins",
    "savepoints",
    "ends",
    "statements",
    "handlers",
    "defers",
    "injects",
    "open",
    "configures",
    "runs",
    "joins",
    "consumes",
    "implements",
    "locates",
    "evident",
    "wraps",
    "registers",
    "sends",
    "transacts",
    "rows",
    "keys",
    "adding",
    "columns",
    "creates",
    "upserts",
    "lookups",
    "texts",
    "updates",
    "finds",
    "announces",
    "tells",
    "precedes",
    "routes",
    "views",
    "exempts",
    "switches",
    "remote",
    "development",
)
"""Keys whose names play a part in a transaction, or in what runs inside it."""

TYPES = ("returns", "attributes", "enters", "iterates", "descriptors")
"""Keys that map a name to the type of what it gives."""

LINKS = ("bases", "fires", "calls")
"""Keys that map a name to a list of names; those of `calls` are methods of `self`, `item`, `argument:0` or the
class that a setting names, with the keywords that they are given where these are known."""

Data = dict[str, Any]
"""The compiled form. `effects`: {name: [[kind, library, when, argument, instead], ...]}; `marks`: {kind: the
same}; `instead`: {library: text}; `settings`: {path: [library, role]};
and a dict for each of TYPES, LINKS, `alias`, `decorates`, `chooses`, `generated`, `implicit` and `reverses`."""

_ELEMENT = ("name", "when", "argument", "instead")
_IMPLICIT = ("statements", "ends", "unless", "expires", "takes", "keeps", "writes")
_REVERSES = ("gives", "keyword", "within", "otherwise", "abstract")
_TEXTS = ("distribution", "version", "instead")
_NOTES = ("unverified", "until", "since")
KEYS = (
    *EFFECTS,
    *MARKS,
    *TYPES,
    *LINKS,
    "alias",
    "decorates",
    "chooses",
    "generated",
    "implicit",
    "reverses",
    "settings",
    *_TEXTS,
    *_NOTES,
)

_NAME = re.compile(r"[^\W\d]\w*(?:\(\))?(?:\.[^\W\d]\w*(?:\(\))?)*(?:\.\*)?")
_WHEN = re.compile(r"(?:(?P<position>\d+):)?(?P<parameter>[^\W\d]\w*)(?P<sign>!?=)(?P<value>.+)")
_SHAPE = re.compile(r"(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)(?::(?P<index>\d+))?(?:\[(?P<inner>.+)\])?")
_CALL = re.compile(
    r"(?:self|item|argument:\d+|setting\[\w+\]|attribute\[[\w.]+\])\.[^\W\d]\w*(?:\([\w,]*\))?(?: unless \S+)?"
)
_UNLESS = " unless "
_LITERALS: dict[str, object] = {"None": None, "True": True, "False": False}


class CatalogueError(ValueError):
    """A mistake in a catalogue: one line that names the key, what is wrong and the mend."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Holds if the call gives `parameter` (or the argument at `position`, from 0) the literal `value`;
    with `equal` false, if it does not."""

    parameter: str
    position: int | None
    equal: bool
    value: object


@dataclass(frozen=True, slots=True)
class Shape:
    """The type of a value. `name` is a dotted class, or one of: `self` (the receiver), `item` (the receiver's
    parameter), `argument` (what the argument at `index` is), `instance` (an instance of the class that is the
    argument at `index`, or that `parameters` give), `type` (the class itself, not an instance), `named`
    (the project's class that the texts from the argument at `index` on name, else the class itself), `any` (each of the
    parameters), `tuple`, `list`."""

    name: str
    index: int = 0
    parameters: tuple[Shape, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A method that a library calls on what `receiver` is: with these `keywords` and no other argument; None where it
    is not said what it gives. It does not where `unless` holds."""

    receiver: Shape
    method: str
    keywords: tuple[str, ...] | None
    unless: Condition | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """What using a name does. `name` is the catalogue's: it ends in `*` for a wildcard, and may name a base
    class. `argument` is the one that `runs` runs: a position, or -1 for all. `instead` may be empty."""

    kind: str
    name: str
    library: str
    when: Condition | None = None
    argument: int = 0
    instead: str = ""


@dataclass(frozen=True, slots=True)
class Implicit:
    """A class whose instances begin a transaction by themselves at one of `statements` (method names) and end
    it at one of `ends`. The classes of one library belong together: a cursor's statement is ended by its
    connection. `unless`: conditions on how the instance was built, or on an attribute set on it, under which
    it never begins. Objects that it gave, or that were handed to one of `takes`, expire at one of `expires`: reading
    one begins anew. `keeps`: the condition under which they stay loaded; None if there are none. With `writes`, only
    SQL that changes data begins."""

    name: str
    library: str
    statements: frozenset[str]
    ends: frozenset[str]
    unless: tuple[Condition, ...]
    expires: frozenset[str]
    takes: frozenset[str]
    keeps: Condition | None
    writes: bool
    instead: str


@dataclass(frozen=True, slots=True)
class Reverse:
    """A field that gives the class which it points to an attribute for the way back. `gives`: the type of it, where
    `self` is the class that holds the field. Its name is what the field's argument `keyword` says, else what the class
    holds at `within` (`Meta.default_related_name`), else `otherwise`; in each `%(class)s` and `%(app_label)s` stand for
    the class's name in small letters and for its folder's. A class that holds true at `abstract` has its fields for
    those below it."""

    gives: Shape
    keyword: str
    within: str
    otherwise: str
    abstract: str


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting in a framework's settings module. `path`: its name and keys, `*` for any key
    (`DATABASES.*.ATOMIC_REQUESTS`). `role`: `requests`, where a true value puts the library's views into a
    transaction; `storage`, where its value, if one of `remote`, makes `storage` effects network ones; `module`, for the
    variable that names the settings module itself; or the dotted class that the class it names derives from, or stands
    for."""

    path: str
    role: str
    library: str


def empty() -> Data:
    """A compiled form without entries."""
    tables = (
        *TYPES,
        *LINKS,
        "effects",
        "alias",
        "decorates",
        "chooses",
        "generated",
        "implicit",
        "reverses",
        "settings",
        "instead",
    )
    return {name: {} for name in tables} | {"marks": {kind: {} for kind in MARKS}}


def expand(pattern: str) -> Iterator[str]:
    """The names that a pattern stands for: `a.{b,c}.d` gives `a.b.d` and `a.c.d`; a final `*` stays."""
    head, brace, rest = pattern.partition("{")
    if not brace:
        yield pattern
        return
    body, closed, tail = rest.partition("}")
    if not closed or "{" in body:
        raise CatalogueError(f"'{pattern}' has a brace that is not closed; write a.{{b,c}}")
    for ending in expand(tail):
        for choice in body.split(","):
            yield head + choice.strip() + ending


@cache
def condition(text: str) -> Condition:
    """Reads `parameter=literal`, `parameter!=literal` or `position:parameter=literal`."""
    match = _WHEN.fullmatch(text)
    if match is None:
        raise CatalogueError(f"'{text}' is no condition; write parameter=literal or 0:parameter=literal")
    value = match["value"]
    if value in _LITERALS:
        literal = _LITERALS[value]
    elif re.fullmatch(r"-?\d+", value):
        literal = int(value)
    elif len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        literal = value[1:-1]
    else:
        raise CatalogueError(f"'{text}' compares with no literal; write None, True, a number or 'text'")
    position = int(match["position"]) if match["position"] else None
    return Condition(match["parameter"], position, match["sign"] == "=", literal)


@cache
def shape(text: str) -> Shape:
    """Reads a type: `pkg.Class`, `self`, `item`, `argument:0`, `pkg.Class[item]`, `type[pkg.Class]`."""
    match = _SHAPE.fullmatch(text)
    name = match["name"] if match is not None else ""
    indexed = name in ("argument", "named") or (
        name == "instance" and match is not None and not match["inner"]
    )
    if match is None or indexed != (match["index"] is not None):
        raise CatalogueError(f"'{text}' is no type; write pkg.Class, pkg.Class[item], self or argument:0")
    inner = match["inner"].split(",") if match["inner"] else ()
    return Shape(match["name"], int(match["index"] or 0), tuple(shape(part.strip()) for part in inner))


def add(data: Data, library: str, table: Mapping[str, object], where: str) -> None:
    """Reads one library's table into `data`. `where` opens an error's message: the file and the table."""
    for key, value in table.items():
        try:
            _add(data, library, key, value)
        except CatalogueError as error:
            raise CatalogueError(f"{where}.{key}: {error}") from None


def _add(data: Data, library: str, key: str, value: object) -> None:
    if key in EFFECTS:
        _add_names(data["effects"], library, key, value)
    elif key in MARKS:
        _add_names(data["marks"][key], library, key, value)
    elif key in TYPES:
        data[key].update((name, _type(text)) for name, text in _pairs(value))
    elif key in LINKS:
        _add_links(data[key], value, _calls if key == "calls" else _names)
    elif key in ("alias", "decorates", "chooses"):
        data[key].update((name, *_names(_text(target))) for name, target in _pairs(value))
    elif key == "generated":
        data[key].update((pattern, _text(target)) for pattern, target in _table(value).items())
    elif key == "implicit":
        data[key].update((name, _implicit(library, _table(element))) for name, element in _pairs(value))
    elif key == "reverses":
        data[key].update((name, _reverse(_table(element))) for name, element in _pairs(value))
    elif key == "settings":
        data[key].update((path, [library, _text(role)]) for path, role in _table(value).items())
    elif key == "instead":
        data[key][library] = _text(value)
    elif key in _TEXTS:
        _text(value)
    elif key in _NOTES:
        for _, reason in _pairs(value):
            _text(reason)
    else:
        raise _unknown(key, KEYS)


def _add_names(target: dict[str, list[list[Any]]], library: str, kind: str, value: object) -> None:
    for element in _list(value):
        pattern, when, argument, instead = _element(element)
        for name in _names(pattern):
            target.setdefault(name, []).append([kind, library, when, argument, instead])


def _element(element: object) -> tuple[str, str | None, int, str | None]:
    if isinstance(element, str):
        return element, None, 0, None
    table = _table(element)
    _known(table, _ELEMENT)
    if "name" not in table:
        raise CatalogueError(f"an element without a name: {dict(table)}")
    when = _text(table["when"]) if "when" in table else None
    if when is not None:
        condition(when)
    argument = table.get("argument", 0)
    if not isinstance(argument, int) or argument < -1:
        raise CatalogueError(f"argument = {argument!r} is no position; write a number from 0, or -1 for all")
    return _text(table["name"]), when, argument, _text(table["instead"]) if "instead" in table else None


def _add_links(target: dict[str, list[str]], value: object, read: Callable[[str], Iterator[str]]) -> None:
    for name, listed in _pairs(value):
        links = [link for pattern in _list(listed) for link in read(_text(pattern))]
        target[name] = [*dict.fromkeys([*target.get(name, ()), *links])]


def _calls(pattern: str) -> Iterator[str]:
    for call in expand(pattern):
        if _CALL.fullmatch(call) is None:
            raise CatalogueError(f"'{call}' is no method; write self.method or item.method")
        yield call


@cache
def link(text: str) -> Link:
    """Read `item.save`, `item.save(using)` or `item.save unless 0:commit=False`."""
    called, _, unless = text.partition(_UNLESS)
    called, bracket, keywords = called.removesuffix(")").partition("(")
    receiver, _, method = called.rpartition(".")
    given = tuple(filter(None, keywords.split(","))) if bracket else None
    return Link(shape(receiver), method, given, condition(unless) if unless else None)


def _implicit(library: str, table: Mapping[str, object]) -> list[Any]:
    _known(table, _IMPLICIT)
    lists = [[_text(item) for item in _list(table.get(key, []))] for key in _IMPLICIT[:5]]
    keeps = _text(table["keeps"]) if "keeps" in table else None
    for text in (*lists[2], *([keeps] if keeps else [])):
        condition(text)
    return [library, *lists, keeps, table.get("writes") is True]


def _reverse(table: Mapping[str, object]) -> list[str]:
    _known(table, _REVERSES)
    gives, *names = (_text(table.get(key, "")) for key in _REVERSES)
    return [_type(gives), *names]


def _type(value: object) -> str:
    text = _text(value)
    shape(text)
    return text


def _names(pattern: str) -> Iterator[str]:
    for name in expand(pattern):
        if _NAME.fullmatch(name) is None:
            raise CatalogueError(f"'{name}' is no dotted name; write pkg.Class.method, '*' only as last part")
        yield name


def _pairs(value: object) -> Iterator[tuple[str, object]]:
    for pattern, target in _table(value).items():
        for name in _names(pattern):
            yield name, target


def _known(table: Mapping[str, object], keys: tuple[str, ...]) -> None:
    for key in table:
        if key not in keys:
            raise _unknown(key, keys)


def _unknown(key: str, keys: tuple[str, ...]) -> CatalogueError:
    from difflib import get_close_matches  # costs more than reading the catalogue; only mistakes need it

    close = get_close_matches(key, keys, 1)
    return CatalogueError(
        f"unknown key '{key}'; " + (f"did you mean '{close[0]}'?" if close else f"known: {', '.join(keys)}")
    )


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise CatalogueError(f"{value!r} is no text")
    return value


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise CatalogueError(f'{value!r} is no list; write ["pkg.name"]')
    return value


def _table(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise CatalogueError(f'{value!r} is no table; write {{ "pkg.name" = ... }}')
    return value
