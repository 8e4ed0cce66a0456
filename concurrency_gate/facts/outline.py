"""A module in two: what bodies of functions say, and all the rest, its outline.

A function's body matters to those who call the function and to nobody else, so a change in it need not turn what was
found of the module's other names. Bodies that say more than that count as outline: those that bind a global name,
define a class, or give an instance its attributes; and of all others the decorators in them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from concurrency_gate.seal import digest

from .modules import Module
from .scopes import Scope

_OPEN = re.compile(rb"(?m)^[ \t\f]*class\b|\bglobal\b")

Lines = tuple[int, int]
"""First and last line."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a module: its text in a digest, and where it stands."""

    digest: str
    lines: tuple[Lines, ...]

    @classmethod
    def of(cls, lines: list[bytes], spans: Iterable[Lines], between: bytes) -> Part:
        found = tuple(spans)
        return cls(digest(between.join(b"\n".join(lines[first - 1 : last]) for first, last in found)), found)


def outline(module: Module, text: bytes) -> dict[str, Part]:
    """The parts of a module with this text: the outline under "", and the body of each outermost function under its
    qualified name, those of one name together. Comments and empty lines between statements are in none."""
    lines = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    bodies: dict[str, list[Lines]] = {}
    for scope in _outermost(module.scope):
        span = _own_lines(scope, lines)
        if span is not None and not _says_more(scope, b"\n".join(lines[span[0] - 1 : span[1]])):
            bodies.setdefault(scope.qualname, []).append(span)
    inside = {number for spans in bodies.values() for span in spans for number in _numbers(span)}
    inside -= {number for span in _decorators(module) for number in _numbers(span)}
    rest = [n for span in _covered(module.tree.body) for n in _numbers(span) if n not in inside]
    parts = {name: Part.of(lines, spans, b"\0") for name, spans in bodies.items()}
    return {"": Part.of(lines, _spans(rest), b"\n"), **parts}


def numbers(part: Part) -> list[int]:
    """The lines of a part, one by one: where the digests agree, they go with each other in this order."""
    return [number for span in part.lines for number in _numbers(span)]


def _covered(body: list[ast.stmt]) -> Iterator[Lines]:
    """The lines of statements; of a class only those of its header and of what stands in it."""
    for statement in body:
        last = statement.end_lineno or statement.lineno
        if isinstance(statement, ast.ClassDef):
            yield _first(statement), max(_first(statement), _first(statement.body[0]) - 1)
            yield from _covered(statement.body)
        else:
            yield _first(statement), last


def _first(statement: ast.stmt) -> int:
    """The first line, decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _decorators(module: Module) -> Iterator[Lines]:
    """The lines of all decorators: they may be calls of a function that somebody asks the callers of."""
    for scope in module.all_scopes:
        for node in getattr(scope.node, "decorator_list", ()):
            yield node.lineno, node.end_lineno


def _outermost(scope: Scope) -> Iterator[Scope]:
    for child in scope.children.values():
        if child.kind == "function":
            yield child
        elif child.kind == "class":
            yield from _outermost(child)


def _own_lines(scope: Scope, lines: list[bytes]) -> Lines | None:
    """The lines of a function's body, if its header has none of them."""
    body: list[ast.stmt] = scope.node.body  # type: ignore[attr-defined]
    first = _first(body[0])
    if lines[first - 1][: body[0].col_offset].strip():
        return None
    return first, body[-1].end_lineno or first


def _says_more(scope: Scope, text: bytes) -> bool:
    """Whether anybody but a caller may see what a body says."""
    if _OPEN.search(text):
        return True
    assert scope.parent is not None
    return scope.parent.kind == "class" and any(_inside(scope))


def _inside(scope: Scope) -> Iterator[str]:
    """The attributes that are assigned in a function and in those inside it."""
    for _, name, _ in scope.attributes:
        yield name
    for child in scope.children.values():
        yield from _inside(child)


def _numbers(span: Lines) -> range:
    return range(span[0], span[1] + 1)


def _spans(lines: Iterable[int]) -> Iterator[Lines]:
    """Lines that follow each other, together."""
    first = last = -1
    for number in lines:
        if number != last + 1:
            if first > 0:
                yield first, last
            first = number
        last = number
    if first > 0:
        yield first, last
