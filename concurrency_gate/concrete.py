"""Show the rules the concrete syntax, statement by statement.

LibCST reads ten to twenty thousand lines a second, so it is given only the statements in which facts found
something that a rule may object to: of a compound statement just the header, where that is what holds the
place.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from .facts.scopes import Position, end, position
from .inspection import Inspection
from .rule import ModuleRule

MOST_LINES = 200
MOST_LEVELS = 60
"""Beyond these a statement is not shown whole, for LibCST takes time by the square of an expression's depth and length:
only the part of it that holds the place."""

Excerpt = tuple[int, tuple[str, ...]]
"""(what to add to an excerpt's line numbers to get the file's, lines)."""


def visit(file: Inspection, tree: ast.Module, rules: Sequence[ModuleRule]) -> None:
    """Show the rules every statement that holds one of the file's places."""
    with _deep_recursion():
        for shift, lines in dict.fromkeys(_excerpt(file, tree, place) for place in file.places):
            excerpt = cst.parse_module("\n".join(lines) + "\n")
            wrapper = MetadataWrapper(excerpt, unsafe_skip_copy=True)
            file.spans = {
                node: (at.start.line + shift, at.start.column, at.end.line + shift, at.end.column)
                for node, at in wrapper.resolve(PositionProvider).items()
                if isinstance(node, cst.CSTNode)
            }
            excerpt.visit(_Dispatch(rules))
    file.spans = {}


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """LibCST recurses for each level of a tree: about ten frames for each call in a chain of calls."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 30_000))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class _Dispatch(cst.CSTVisitor):
    """One walk for all rules: each is asked for the `visit_...` of the node in hand."""

    def __init__(self, rules: Sequence[ModuleRule]) -> None:
        super().__init__()
        self._rules = rules

    def on_visit(self, node: cst.CSTNode) -> bool:
        name = f"visit_{type(node).__name__}"
        for rule in self._rules:
            handler = getattr(rule, name, None)
            if handler is not None:
                handler(node)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:  # noqa: ARG002 - libcst's signature
        return None


def _excerpt(file: Inspection, tree: ast.Module, place: Position) -> Excerpt:
    """The statement around a place, or what of it is enough."""
    path = list(_statements_at(tree.body, place))
    while len(path) > 1 and not _stands_alone(file, path[-1]):
        path.pop()
    statement = path[-1]
    if len(path) == 1 and not _stands_alone(file, statement):
        first, last = _sharing_lines(tree.body, statement)
        return _suite(first, file.lines[first - 1 : last])
    first = _first_line(statement)
    last = statement.end_lineno or first
    body = getattr(statement, "body", None)
    if body and not isinstance(statement, ast.Try):
        inside = _first_line(body[0])
        if place < (inside, 0) and file.lines[inside - 2].rstrip().endswith(":"):
            return _suite(first, [*file.lines[first - 1 : inside - 1]], " pass")
    if not (body and place == position(statement)):
        part = _part(statement, place)
        if part is not None:
            return _parenthesised(file, part)
    return _suite(first, file.lines[first - 1 : last])


def _sharing_lines(body: list[ast.stmt], statement: ast.stmt) -> tuple[int, int]:
    """First and last line of the statements that a statement shares a line with, and those that they do."""
    begin = stop = body.index(statement)
    while begin and body[begin - 1].end_lineno == _first_line(body[begin]):
        begin -= 1
    while stop + 1 < len(body) and body[stop].end_lineno == _first_line(body[stop + 1]):
        stop += 1
    return _first_line(body[begin]), body[stop].end_lineno or 0


def _suite(first: int, lines: list[str], body: str = "") -> Excerpt:
    """Lines that begin a statement, in a block of their own where they are indented."""
    margin = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    if body:
        lines.append(margin + body)
    if not margin:
        return (first - 1, tuple(lines))
    lines[0] = " " * len(margin) + lines[0][len(margin) :] if "\f" in margin else lines[0]
    return (first - 2, ("if 1:", *lines))


def _parenthesised(file: Inspection, node: ast.expr) -> Excerpt:
    """An expression at its lines and columns, with brackets around them."""
    first, start, last, stop = file.span(position(node), end(node))
    lines = file.lines[first - 1 : last]
    lines[-1] = lines[-1][:stop]
    lines[0] = " " * start + lines[0][start:]
    return (first - 2, ("(", *lines, ")"))


def _part(statement: ast.stmt, place: Position) -> ast.expr | None:
    """The largest expression around a place that can be shown, if the statement as a whole cannot."""
    node: ast.AST = statement
    while _is_large(node):
        around = [c for c in ast.iter_child_nodes(node) if hasattr(c, "lineno") and _holds(c, place)]
        loose = [c for c in ast.iter_child_nodes(node) if not hasattr(c, "lineno")]
        around += [c for part in loose for c in ast.iter_child_nodes(part) if _holds(c, place)]
        if not around:
            break
        node = around[0]
    while node is not statement and not _can_be_bracketed(node):
        inner = [c for c in ast.iter_child_nodes(node) if _holds(c, place)]
        if not inner:
            return None
        node = inner[0]
    return node if isinstance(node, ast.expr) else None


def _can_be_bracketed(node: ast.AST) -> bool:
    return isinstance(node, ast.expr) and not isinstance(node, (ast.Starred, ast.Slice, ast.JoinedStr))


def _holds(node: ast.AST, place: Position) -> bool:
    return hasattr(node, "lineno") and position(node) <= place < end(node)


def _is_large(node: ast.AST) -> bool:
    if (node.end_lineno or 0) - node.lineno > MOST_LINES:  # type: ignore[attr-defined]
        return True
    level = [node]
    for _ in range(MOST_LEVELS):
        if any(isinstance(part, ast.BoolOp) and len(part.values) > MOST_LEVELS for part in level):
            return True  # flat for ast, but as deep as it is long for LibCST
        level = [child for parent in level for child in ast.iter_child_nodes(parent)]
        if not level:
            return False
    return True


def _statements_at(body: list[ast.stmt], place: Position) -> Iterator[ast.stmt]:
    """The statements around a place, outermost first."""
    while True:
        around = next(
            (s for s in body if (_first_line(s), 0) <= place <= (s.end_lineno, s.end_col_offset)), None
        )
        if around is None:
            return
        body = []
        for suite in _suites(around):
            body += suite
        yield around
        if not body:
            return


def _suites(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        yield getattr(statement, name, [])
    for clause in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield clause.body


def _first_line(statement: ast.stmt) -> int:
    decorators = getattr(statement, "decorator_list", ())
    return int(min([statement.lineno, *(decorator.lineno for decorator in decorators)]))


def _stands_alone(file: Inspection, statement: ast.stmt) -> bool:
    """Whether the statement's lines can be read by themselves: it begins its line, and is no `elif`."""
    before = file.lines[statement.lineno - 1].encode()[: statement.col_offset]
    if before.strip() and not getattr(statement, "decorator_list", ()):
        return False
    text = file.lines[statement.lineno - 1][len(before.decode("utf-8", "replace")) :]
    last = file.lines[(statement.end_lineno or 1) - 1].encode()[statement.end_col_offset :].strip()
    return not text.startswith("elif") and not last.startswith(b";")
