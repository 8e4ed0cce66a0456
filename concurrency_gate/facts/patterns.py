"""Names that are put together: `getattr(self, f"handle_{kind}")` may give any method that begins so."""

from __future__ import annotations

import ast
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from .modules import Class
from .scopes import Scope
from .values import ClassValue, Constant, Frame, Instance, Value, Values, union

if TYPE_CHECKING:
    from .resolver import Resolver

MANY = 24
"""More members than this under one pattern say nothing about which is meant."""

HOPS = 4


def members_like(r: Resolver, owners: Values, node: ast.expr, scope: Scope, frame: Frame | None) -> Values:
    """The members of the owners that a name may mean which is put together of known and unknown parts."""
    pattern = _pattern(r, node, scope, frame, HOPS)
    if pattern is None or not pattern.strip("*"):
        return ()
    found: list[Values] = []
    for owner in owners:
        names = [name for name in _member_names(r, owner) if fnmatchcase(name, pattern)]
        if len(names) <= MANY:
            found += [r.attribute(owner, name) for name in names]
    return union(*found, ())


def _member_names(r: Resolver, owner: Value) -> list[str]:
    if not isinstance(owner, (Instance, ClassValue)):
        return []
    classes = [base for base in r.classes.order(owner.cls) if isinstance(base, Class)]
    if isinstance(owner, Instance) and not owner.exact:
        classes += r.subclasses(owner.cls)[:MANY]
    return sorted({name for cls in classes for name in cls.methods})


def _pattern(r: Resolver, node: ast.expr, scope: Scope, frame: Frame | None, hops: int) -> str | None:
    """The text with `*` for what is not known of it; None for what is no text that is put together."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_part(r, value, scope, frame) for value in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _part(r, node.left, scope, frame) + _part(r, node.right, scope, frame)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant):
        return str(node.left.value).replace("%s", "*")
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("format", "lower")
    ):
        return _format(r, node, node.func, scope, frame, hops)
    if isinstance(node, ast.Name) and hops:
        bindings = scope.bindings.get(node.id, ())
        if len(bindings) == 1 and bindings[0].kind == "value" and isinstance(bindings[0].node, ast.expr):
            return _pattern(r, bindings[0].node, scope, frame, hops - 1)
    return None


def _format(
    r: Resolver, node: ast.Call, func: ast.Attribute, scope: Scope, frame: Frame | None, hops: int
) -> str | None:
    if func.attr == "lower":
        return _pattern(r, func.value, scope, frame, hops - 1) if hops else None
    text = func.value.value if isinstance(func.value, ast.Constant) else None
    if not isinstance(text, str) or node.keywords or len(node.args) != 1:
        return None
    return text.replace("{}", _part(r, node.args[0], scope, frame))


def _part(r: Resolver, node: ast.expr, scope: Scope, frame: Frame | None) -> str:
    if isinstance(node, ast.FormattedValue):
        node = node.value
    texts = {value.value if isinstance(value, Constant) else None for value in r.values(node, scope, frame)}
    known = texts.pop() if len(texts) == 1 else None
    return known if isinstance(known, str) else "*"


__all__ = ["members_like"]
