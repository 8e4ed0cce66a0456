"""What a class's attribute gives where it is a library's descriptor: fields and managers of a model."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from . import labels, members, rows
from .modules import Class
from .values import (
    Arguments,
    ClassValue,
    Constant,
    External,
    Instance,
    Object,
    Value,
    Values,
)

if TYPE_CHECKING:
    from concurrency_gate.catalogue import Shape

    from .resolver import Resolver


def built(r: Resolver, name: str, given: Arguments) -> Value | None:
    """What a descriptor remembers of the call that builds it: the class that it is given, or its name."""
    if r.catalogue.descriptor(name) is None:
        return None
    first = given.positional[0] if given.positional else _named(given)
    candidates = (*first, *(value for _, values in given.keywords for value in values))
    return next((v for v in candidates if isinstance(v, (ClassValue, External)) or v in first), None)


def _named(given: Arguments) -> Values:
    """A class's name in the first of the keywords: `to="shop.Order"`."""
    return tuple(v for _, values in given.keywords[:1] for v in values if isinstance(v, Constant))


def read(r: Resolver, value: Value, receiver: Value, holder: Class) -> Values:
    """What reading the value from a class that holds it, or from its instance, gives."""
    if isinstance(value, Object):
        shape = r.catalogue.descriptor(value.type)
        if shape is None:
            return (value,)
        if _holds_owner(shape):
            return (value if value.item is not None else replace(value, item=_owner(r, receiver)),)
        if isinstance(receiver, ClassValue):
            return (value,)
        target = pointed_to(r, value.item, holder)
        return members.shaped(r, shape, receiver, ((target,),) if target is not None else ())
    if isinstance(value, Instance) and value.item is None:
        for base in r.classes.order(value.cls):
            shape = r.catalogue.descriptor(base) if isinstance(base, str) else None
            if shape is not None and _holds_owner(shape):
                return (replace(value, item=_owner(r, receiver)),)
    return (value,)


def pointed_to(r: Resolver, named: Value | None, holder: Class) -> Value | None:
    """The class that a field points to, from what it remembers of it."""
    if not isinstance(named, Constant):
        return named
    return labels.likely(r, named.value, holder) if isinstance(named.value, str) else None


def item(r: Resolver, value: Value | None) -> Value | None:
    """What a collection of a library's type holds; for a project's own class also what its base declares."""
    if isinstance(value, Object):
        return value.item
    if not isinstance(value, Instance):
        return None
    if value.item is not None:
        return value.item
    for base in r.classes.order(value.cls):
        if isinstance(base, Class):
            for node in base.node.bases:
                if isinstance(node, ast.Subscript) and base.scope.parent is not None:
                    return next(iter(r.instance_of(node.slice, base.scope.parent, None)), None)
    return None


def _holds_owner(shape: Shape) -> bool:
    return any(inner.name == "self" for inner in shape.parameters)


def _owner(r: Resolver, receiver: Value) -> Value | None:
    return rows.read(r, receiver.cls) if isinstance(receiver, (Instance, ClassValue)) else None
