"""What an object of the project was handed to keep: `pipeline.add(step)`, `promise.then(callback)`.

Seen within the function that makes the object. Each object has its own, so two of one class are told apart.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from . import calls, containers
from .modules import Class
from .scopes import Scope
from .values import Frame, FunctionValue, Instance, Value, Values

if TYPE_CHECKING:
    from .resolver import Resolver

MOST = 8
"""How many calls an object remembers."""


def keeping(cls: Class) -> frozenset[str]:
    """The methods that put a parameter on the object, or into a container that it has."""
    kept: dict[Class, frozenset[str]] = cls.module.__dict__.setdefault("keeping", {})
    if cls not in kept:
        parameters = {
            method.name: {
                *method.parameters[1:],
                method.vararg,
                *(a.arg for a in method.node.args.kwonlyargs),
            }
            for methods in cls.methods.values()
            for method in methods
            if method.name != "__init__"
        }
        assigned = [(method.name, bound.node) for _, method, bound in cls.assigned]
        put = [
            (scope.name, node)
            for entries in containers.stores(cls.module).values()
            for scope, _, node, _ in entries
            if scope.parent is cls.scope
        ]
        kept[cls] = frozenset(
            name
            for name, node in (*assigned, *put)
            if any(
                isinstance(part, ast.Name) and part.id in parameters.get(name, ()) for part in ast.walk(node)
            )
        )
    return kept[cls]


def with_calls(r: Resolver, values: Values, name: str, scope: Scope, frame: Frame | None) -> Values:
    """New objects with what the function that makes them hands them by calls on their name."""
    if scope.kind != "function" or not any(map(_is_fresh, values)):
        return values
    found: list[Value] = []
    for value in values:
        methods = _methods(r, value) if _is_fresh(value) else frozenset()
        told = [f for call in _calls_on(scope, name, methods) for f in _frames(r, value, call, scope, frame)]
        found.append(replace(value, told=tuple(dict.fromkeys(told))[:MOST]) if told else value)  # type: ignore[arg-type]
    return tuple(found)


def given_back(r: Resolver, value: Value, frame: Frame) -> Value:
    """What a method returns, with this call of it where that is the object itself: `promise.then(callback)`."""
    if not isinstance(value, Instance) or value != frame.receiver or not value.exact:
        return value
    if frame.function.name not in _methods(r, value) or len(value.told) >= MOST or frame in value.told:
        return value
    return replace(value, told=(*value.told, frame))


def _is_fresh(value: Value) -> bool:
    return isinstance(value, Instance) and value.exact and not value.told


def _methods(r: Resolver, value: Value) -> frozenset[str]:
    assert isinstance(value, Instance)
    return frozenset().union(
        *(keeping(base) for base in r.classes.order(value.cls) if isinstance(base, Class))
    )


def _calls_on(scope: Scope, name: str, methods: frozenset[str]) -> list[ast.Call]:
    """The statements of a function that call one of these methods on what it knows under the name."""
    if not methods:
        return []
    found = []
    for node in ast.walk(scope.node):
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in methods:
            owner = call.func.value
            if name == (owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", None)):
                found.append(call)
    return found


def _frames(r: Resolver, value: Value, call: ast.Call, scope: Scope, frame: Frame | None) -> list[Frame]:
    assert isinstance(call.func, ast.Attribute)
    given = r.arguments(call, scope, frame)
    return [
        calls.frame_of(r, method, given)
        for method in r.attribute(value, call.func.attr)
        if isinstance(method, FunctionValue)
    ]
