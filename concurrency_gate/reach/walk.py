"""The nodes of a body that run when the body runs, in this frame, while a transaction is open."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
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


Guards = tuple[tuple[ast.If, bool], ...]
"""The `if` statements around a node, each with the branch that the node stands in."""

_TELLING = (
    ast.Call,
    ast.Await,
    ast.For,
    ast.AsyncFor,
    ast.comprehension,
    ast.With,
    ast.AsyncWith,
    ast.withitem,
    ast.Yield,
    ast.YieldFrom,
)


_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def running(r: Resolver, roots: Sequence[ast.AST], scope: Scope, frame: Frame | None) -> Iterator[Visit]:
    """The nodes that can lead anywhere, in the order of the text. Left out are nested functions, annotations,
    and the branches that cannot be taken: those under a parameter that this frame knows to be None, and those
    for "no transaction is open"."""
    known: dict[int, bool | None] = {}
    for visit, guards in _layout(r, roots, scope):
        for test, branch in guards:
            if id(test) not in known:
                known[id(test)] = truth(r, test.test, scope, frame)
            if known[id(test)] is (not branch):
                break
        else:
            yield visit


def _layout(r: Resolver, roots: Sequence[ast.AST], scope: Scope) -> list[tuple[Visit, Guards]]:
    """A body's nodes, the same for all frames. That of a whole function is kept: many frames run it."""
    if scope.kind == "function" and roots is scope.node.body:  # type: ignore[attr-defined]
        kept = scope.module.function(scope).__dict__
        if "layout" not in kept:
            kept["layout"] = _lay_out(r, roots, scope)
        found: list[tuple[Visit, Guards]] = kept["layout"]
        return found
    return _lay_out(r, roots, scope)


def _lay_out(r: Resolver, roots: Sequence[ast.AST], scope: Scope) -> list[tuple[Visit, Guards]]:
    properties = r.project.property_names
    found: list[tuple[Visit, Guards]] = []
    stack = _suite(roots, None, scope, ())[::-1]
    while stack:
        visit, guards = item = stack.pop()
        node = visit.node
        if isinstance(node, _TELLING) or (isinstance(node, ast.Attribute) and node.attr in properties):
            found.append(item)
        where = visit.scope
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            where = visit.scope.children.get(id(node), where)
        if isinstance(node, ast.If):
            for branch, suite in ((False, node.orelse), (True, node.body)):
                stack += _suite(suite, node, where, (*guards, (node, branch)))[::-1]
            stack.append((Visit(node.test, node, where), guards))
            continue
        parts: list[tuple[Visit, Guards]] = []
        for part in _parts(node):
            if isinstance(part, list):
                parts += _suite(part, node, where, guards)
            else:
                parts.append((Visit(part, node, where), guards))
        stack += reversed(parts)
    return found


def _parts(node: ast.AST) -> Iterator[ast.AST | list[ast.AST]]:
    """What of a node runs when it runs, in the order of the text; suites as they are."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield from (*node.decorator_list, *node.args.defaults)
    elif isinstance(node, ast.ClassDef):
        yield node.body  # type: ignore[misc]
    elif isinstance(node, ast.AnnAssign):
        if node.value is not None:
            yield node.value
    elif not isinstance(node, ast.Lambda):
        for _, value in ast.iter_fields(node):
            if isinstance(value, list):
                yield [
                    part for part in value if isinstance(part, ast.AST) and not isinstance(part, ast.Constant)
                ]
            elif isinstance(value, ast.AST) and not isinstance(value, ast.Constant):
                yield value


def _suite(
    nodes: Sequence[ast.AST], parent: ast.AST | None, scope: Scope, guards: Guards
) -> list[tuple[Visit, Guards]]:
    """Nodes that run one after the other: what follows `if test: return` stands in its other branch."""
    found: list[tuple[Visit, Guards]] = []
    for node in nodes:
        found.append((Visit(node, parent, scope), guards))
        if isinstance(node, ast.If):
            for branch, suite in ((False, node.body), (True, node.orelse)):
                if suite and isinstance(suite[-1], _LEAVING):
                    guards = (*guards, (node, branch))
    return found


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
