"""New rows: which of its columns are empty in an object that a call has just made of its keywords."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from .modules import Class, Function
from .scopes import Scope
from .values import Arguments, Collection, Constant, External, Frame, Instance, Value, Values

if TYPE_CHECKING:
    from .resolver import Resolver

_DEFAULTS = "defaults"
"""The keyword that holds further keywords of `get_or_create`."""


def made(r: Resolver, value: Value, given: Arguments) -> Value:
    """The row that a call makes of its keywords; the value itself where these are not all known."""
    if not isinstance(value, Instance) or given.opaque:
        return value
    names = set()
    for name, values in given.keywords:
        names.add(name)
        if name == _DEFAULTS:
            only = values[0] if len(values) == 1 else None
            if not isinstance(only, Collection) or only.keys is None or None in only.keys:
                return value
            names.update(key for key in only.keys if key is not None)
    empty = {name: constant for name, constant in _columns(r, value.cls) if name not in names}
    return replace(value, unset=tuple(sorted(empty.items(), key=lambda item: item[0])))


def as_asked(value: Value, function: Function) -> Value:
    """The value with those columns alone that the function asks about: what else is empty makes no other frame. A
    method that goes on with the one it overrides keeps them all."""
    if not isinstance(value, Instance) or not value.unset or function.goes_on:
        return value
    return replace(value, unset=tuple(item for item in value.unset if item[0] in function.asked) or None)


def unset(r: Resolver, node: ast.Attribute, scope: Scope, frame: Frame | None) -> Values:
    """What a column of a new row is sure to hold; nothing if its class, or a function of this module, assigns to it."""
    if frame is None:
        return ()
    found: list[Constant] = []
    for owner in r.values(node.value, scope, frame):
        empty = dict(owner.unset or ()) if isinstance(owner, Instance) else {}
        if not isinstance(owner, Instance) or node.attr not in empty:
            return ()
        classes = [base for base in r.classes.order(owner.cls) if isinstance(base, Class)]
        if any(node.attr == name for base in classes for name, *_ in base.assigned):
            return ()
        found.append(empty[node.attr])
    stored = (name for each in scope.module.scopes for by, name, _ in each.attributes if by != "self")
    return () if node.attr in stored else tuple(dict.fromkeys(found))


def _columns(r: Resolver, cls: Class) -> Iterator[tuple[str, Constant]]:
    """The columns of a class that are empty unless they are given, with what they hold then; its own come last."""
    for base in reversed(r.classes.order(cls)):
        if isinstance(base, Class):
            yield from _own_columns(r, base)


def _own_columns(r: Resolver, cls: Class) -> Iterator[tuple[str, Constant]]:
    for name, bindings in cls.scope.bindings.items():
        call = bindings[0].node if len(bindings) == 1 else None
        if not isinstance(call, ast.Call):
            continue
        kinds = r.values(call.func, cls.scope, None)
        if any(isinstance(kind, External) and r.catalogue.marks("columns", kind.name) for kind in kinds):
            empty = _empty(call)
            if empty is not None:
                yield name, empty


def _empty(column: ast.Call) -> Constant | None:
    """What a column holds that is not given, if that is nothing: its default, None, or an empty text."""
    said = {keyword.arg: keyword.value for keyword in column.keywords}
    if None in said:
        return None
    if "default" in said:
        default = said["default"]
        value = default.value if isinstance(default, ast.Constant) else ...
        return Constant(value) if value is None or value is False or value == "" else None
    flags = {name for name, value in said.items() if isinstance(value, ast.Constant) and value.value is True}
    if "null" in flags:
        return Constant(None)
    return Constant("") if "blank" in flags and not flags & {"auto_now", "auto_now_add"} else None
