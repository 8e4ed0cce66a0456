"""Show the rules the concrete syntax, statement by statement.

LibCST reads ten to twenty thousand lines a second, so it is given only the statements in which facts found
something that a rule may object to: of a compound statement just the header, where that is what holds the
place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from .facts.scopes import Position
from .inspection import Inspection
from .rule import ModuleRule


def visit(file: Inspection, tree: ast.Module, rules: Sequence[ModuleRule]) -> None:
    """Show the rules every statement that holds one of the file's places."""
    for first, last, header in _excerpts(file, tree):
        lines = file.lines[first - 1 : last]
        margin = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
        if header:
            lines.append(f"{margin} pass")
        if margin:
            lines.insert(0, "if 1:")
        shift = first - 1 - bool(margin)
        excerpt = cst.parse_module("\n".join(lines) + "\n")
        wrapper = MetadataWrapper(excerpt, unsafe_skip_copy=True)
        file.spans = {
            node: (at.start.line + shift, at.start.column, at.end.line + shift, at.end.column)
            for node, at in wrapper.resolve(PositionProvider).items()
            if isinstance(node, cst.CSTNode)
        }
        excerpt.visit(_Dispatch(rules))
    file.spans = {}


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


def _excerpts(file: Inspection, tree: ast.Module) -> Iterator[tuple[int, int, bool]]:
    """(first line, last line, whether it is a header without its body), each once and in the order of the
    text."""
    seen: set[tuple[int, int, bool]] = set()
    for place in file.places:
        excerpt = _excerpt(file, tree, place)
        if excerpt not in seen:
            seen.add(excerpt)
            yield excerpt


def _excerpt(file: Inspection, tree: ast.Module, place: Position) -> tuple[int, int, bool]:
    path = list(_statements_at(tree.body, place))
    while len(path) > 1 and not _stands_alone(file, path[-1]):
        path.pop()
    statement = path[-1]
    first = _first_line(statement)
    last = statement.end_lineno or first
    body = getattr(statement, "body", None)
    if body and not isinstance(statement, ast.Try):
        inside = _first_line(body[0])
        if place < (inside, 0) and file.lines[inside - 2].rstrip().endswith(":"):
            return (first, inside - 1, True)
    return (first, last, False)


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
