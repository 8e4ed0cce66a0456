"""Decorators: what the name of a decorated function stands for. A class keeps its identity under its own."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from . import calls, intrinsics, names
from .modules import Function
from .scopes import Scope, position
from .values import (
    Arguments,
    ClassValue,
    External,
    Frame,
    FunctionValue,
    Instance,
    Object,
    Partial,
    Value,
    Values,
    union,
)

if TYPE_CHECKING:
    from .resolver import Resolver


def decorated(r: Resolver, function: Function, scope: Scope, frame: Frame | None) -> Values:
    """What the name of a decorated function stands for: what its decorators return, innermost first. A
    decorator of which nothing is known is taken to give the function back."""
    closure = frame if scope.kind in ("function", "comprehension", "lambda") else None
    values: Values = (FunctionValue(function, None, closure),)
    for node in reversed(getattr(function.node, "decorator_list", ())):
        if isinstance(node, ast.Attribute) and node.attr in ("setter", "deleter", "getter"):
            return _earlier(r, function, scope, frame)
        values = union(*(_apply(r, node, value, scope, frame) for value in values))
    return values


def _earlier(r: Resolver, function: Function, scope: Scope, frame: Frame | None) -> Values:
    """A property's setter stands for the property that it extends."""
    before = [b for b in scope.bindings.get(function.name, ()) if b.start < position(function.node)]
    return names.bound(r, before[-1], scope, frame) if before else ()


def _apply(r: Resolver, node: ast.expr, value: Value, scope: Scope, frame: Frame | None) -> Values:
    if not isinstance(value, FunctionValue):
        named = r.values(node, scope, frame)
        return _made(r, named, value) or (value,)
    word = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    if word.endswith("property"):
        return (FunctionValue(value.function, value.receiver, value.closure, "property"),)
    decorators = r.values(node, scope, frame)
    for decorator in decorators:
        name = decorator.name if isinstance(decorator, External) else ""
        role = intrinsics.ROLES.get(name)
        if role is not None:
            return (FunctionValue(value.function, value.receiver, value.closure, role),)
        if name in ("typing.overload", "typing_extensions.overload"):
            return ()
    return _made(r, decorators, value) or (value,)


def _made(r: Resolver, decorators: Values, value: Value) -> Values:
    """What decorators make of a value; empty where they are not known to make anything else of it."""
    found: list[Values] = []
    for decorator in decorators:
        if isinstance(decorator, (FunctionValue, Instance, ClassValue, Partial)):
            found.append(
                tuple(v for v in calls.result(r, decorator, Arguments(((value,),))) if _is_callable(v))
            )
        elif isinstance(decorator, (External, Object)):
            name = decorator.name if isinstance(decorator, External) else decorator.type.removesuffix("()")
            task = r.catalogue.decorates(name)
            if task is not None:
                found.append((calls.task_of(r, task, value, calls.NOTHING, decorator),))
    return union(*found) if found else ()


def _is_callable(value: Value) -> bool:
    return isinstance(value, (FunctionValue, ClassValue, Instance, Object, Partial, External))


__all__ = ["decorated"]
