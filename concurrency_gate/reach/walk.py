"""The nodes of a body that run when the body runs, in this frame, while a transaction is open."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from concurrency_gate.facts.scopes import Scope
from concurrency_gate.facts.values import Constant, External, Frame

if TYPE_CHECKING:
    from concurrency_gate.facts.resolver import Resolver


class Visit(NamedTuple):
    """A node with its parent and the scope that its names belong to."""

    node: ast.AST
    parent: ast.AST | None
    scope: Scope


def running(r: Resolver, roots: Iterable[ast.AST], scope: Scope, frame: Frame | None) -> Iterator[Visit]:
    """Walk in the order of the text. Left out are nested functions, annotations, and the branches that cannot be taken:
    those under a parameter that this frame knows to be None, and those for "no transaction is open"."""
    stack = [Visit(root, None, scope) for root in reversed(list(roots))]
    while stack:
        visit = stack.pop()
        yield visit
        node, inner = visit.node, visit.scope.children.get(id(visit.node))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            parts: list[ast.AST] = [*node.decorator_list, *node.args.defaults]
        elif isinstance(node, ast.Lambda):
            parts = []
        elif isinstance(node, ast.ClassDef) and inner is not None:
            stack += [Visit(part, node, inner) for part in reversed(node.body)]
            continue
        elif isinstance(node, ast.AnnAssign):
            parts = [node.value] if node.value is not None else []
        elif isinstance(node, ast.If):
            parts = [node.test, *_taken(r, node, visit.scope, frame)]
        else:
            parts = list(ast.iter_child_nodes(node))
        where = inner if inner is not None else visit.scope
        stack += [Visit(part, node, where) for part in reversed(parts)]


def _taken(r: Resolver, node: ast.If, scope: Scope, frame: Frame | None) -> list[ast.stmt]:
    known = truth(r, node.test, scope, frame)
    if known is None:
        return [*node.body, *node.orelse]
    return node.body if known else node.orelse


def truth(r: Resolver, test: ast.expr, scope: Scope, frame: Frame | None) -> bool | None:
    """Whether a test is known to be true or false here; None where it is not known."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        known = truth(r, test.operand, scope, frame)
        return None if known is None else not known
    if isinstance(test, ast.BoolOp):
        parts = [truth(r, part, scope, frame) for part in test.values]
        decisive = isinstance(test.op, ast.Or)
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Is, ast.IsNot)):
        right = test.comparators[0]
        if isinstance(right, ast.Constant) and right.value is None and isinstance(test.left, ast.Name):
            values = r.values(test.left, scope, frame)
            nones = [isinstance(v, Constant) and v.value is None for v in values]
            if not _is_given(test.left, frame) or not nones or (any(nones) and not all(nones)):
                return None
            return all(nones) == isinstance(test.ops[0], ast.Is)
        return None
    if isinstance(test, ast.Name) and _is_given(test, frame):
        values = r.values(test, scope, frame)
        if values and all(isinstance(v, Constant) for v in values):
            truths = {bool(v.value) for v in values if isinstance(v, Constant)}
            return truths.pop() if len(truths) == 1 else None
        return None
    if isinstance(test, (ast.Attribute, ast.Call)):
        asked = test.func if isinstance(test, ast.Call) else test
        values = r.values(asked, scope, frame)
        if values and all(isinstance(v, External) and r.catalogue.marks("open", v.name) for v in values):
            return True
    return None


def _is_given(name: ast.Name, frame: Frame | None) -> bool:
    """Whether the name is a parameter that this call fills. What a body assigns says nothing certain."""
    if frame is None or frame.argument(name.id) is None:
        return False
    return len(frame.function.scope.bindings.get(name.id, ())) == 1
