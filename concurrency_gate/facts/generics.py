"""What annotations leave open: `Self`, and the type variables of a class, seen from a class below it.

`class Users(Repository[User])` says what `-> T` means where `Repository` declares it. See
docs.python.org/3/library/typing.html#user-defined-generic-types.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from . import hints, members
from .modules import Class
from .values import ClassValue, Collection, Constant, External, Frame, Instance, Object, Value, Values, union

if TYPE_CHECKING:
    from .resolver import Resolver

SELF = Object("typing.Self")
"""Stands for the receiver, which only those who ask about a method know."""

VARIABLE = "typing.TypeVar"
"""What a type variable is an object of; its `item` is an instance of the bound, its `name` tells it apart."""

CLASS = "builtins.type"
"""What a class is an object of that a type variable stands for."""

_DECLARES = ("typing.Generic", "typing.Protocol", "typing_extensions.Generic", "typing_extensions.Protocol")


def solved(r: Resolver, values: Values, frame: Frame | None) -> Values:
    """With what the annotations of a function leave open replaced by what it is handed, and by what its receiver
    says."""
    if frame is not None and any(map(_is_open, values)):
        values = _known(values, _handed(r, frame))
    while frame is not None and frame.function.owner is None:
        frame = frame.closure
    return solved_for(r, values, frame.receiver if frame else None, frame.function.owner if frame else None)


def _handed(r: Resolver, frame: Frame) -> dict[Object, Values]:
    """What a signature's type variables stand for in this call: `get(Mailer)` of `get(self, wanted: type[T]) -> T`."""
    function = frame.function
    meaning: dict[Object, Values] = {}
    args = function.node.args
    annotations = {a.arg: a.annotation for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
    for name, given in frame.arguments:
        if all(isinstance(value, Constant) for value in given):
            continue  # None, say, for a default of that type
        annotation = annotations.get(name)
        if annotation is None:
            continue
        for said in hints.instances(r, annotation, function.scope.parent or function.scope, frame.closure):
            if isinstance(said, Object) and said.type == VARIABLE:
                meaning[said] = given
            elif isinstance(said, Object) and said.type == CLASS and isinstance(said.item, Object):
                meaning[said.item] = union(*(members.instances_of(value) for value in given), ())
    return meaning


def solved_for(r: Resolver, values: Values, receiver: Value | None, owner: Class | None) -> Values:
    """With what the annotations in a class leave open replaced, as seen from a receiver."""
    if not any(map(_is_open, values)):
        return values
    itself = Instance(receiver.cls) if isinstance(receiver, ClassValue) else receiver
    meaning: dict[Object, Values] = {SELF: () if itself is None else (itself,)}
    if owner is not None and isinstance(receiver, (Instance, ClassValue)):
        for variable in _variables(r, owner):
            meaning[variable] = _bounded(_meaning(r, variable, receiver.cls, owner))
    return _bounded(_known(values, meaning))


def _known(values: Values, given: Mapping[Object, Values]) -> Values:
    """With the variables replaced of which something is known."""
    return _replaced(values, lambda variable: given.get(variable, (variable,)))


def _bounded(values: Values) -> Values:
    """With all variables replaced by what bounds them."""
    return _replaced(values, lambda variable: () if variable.item is None else (variable.item,))


def _meaning(r: Resolver, variable: Object, cls: Class, owner: Class) -> Values:
    """What a variable of the owner stands for in a class below it, as far as the classes between say."""
    if cls is owner:
        return (variable,)
    return r.memoised(("variable", variable, cls, owner), lambda: _through_bases(r, variable, cls, owner))


def _through_bases(r: Resolver, variable: Object, cls: Class, owner: Class) -> Values:
    for node, base in _bases(r, cls):
        if isinstance(base, ClassValue) and base.cls is not cls and owner in r.classes.order(base.cls):
            meaning = _arguments(r, node, base.cls, cls)
            return _known(_meaning(r, variable, base.cls, owner), meaning)
    return (variable,)


def _arguments(r: Resolver, node: ast.expr, base: Class, cls: Class) -> dict[Object, Values]:
    """What `Base[...]`, as a class lists it, gives the base's variables."""
    if not isinstance(node, ast.Subscript) or cls.scope.parent is None:
        return {}
    around = cls.scope.parent
    given = (hints.instances(r, part, around, None) for part in _parts(node))
    return {variable: values for variable, values in zip(_variables(r, base), given, strict=False) if values}


def _variables(r: Resolver, cls: Class) -> list[Object]:
    """The variables of a generic class, in the order of its parameters."""
    found: dict[Object, None] = {}
    for node, base in _bases(r, cls):
        if isinstance(node, ast.Subscript) and cls.scope.parent is not None:
            named = (v for part in _parts(node) for v in r.values(part, cls.scope.parent, None))
            variables = [v for v in named if isinstance(v, Object) and v.type == VARIABLE]
            if isinstance(base, External) and base.name in _DECLARES:
                return variables
            found.update(dict.fromkeys(variables))
    return list(found)


def _bases(r: Resolver, cls: Class) -> Iterator[tuple[ast.expr, Value]]:
    scope = cls.scope.parent
    if scope is not None:
        for node in cls.node.bases:
            for value in r.values(node, scope, None):
                yield node, value


def _parts(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _replaced(values: Values, meaning: Callable[[Object], Values]) -> Values:
    return union(*(_each_replaced(value, meaning) for value in values), ())


def _each_replaced(value: Value, meaning: Callable[[Object], Values]) -> Values:
    if not _is_open(value):
        return (value,)
    if isinstance(value, Collection):
        return (replace(value, items=tuple(_replaced(items, meaning) for items in value.items)),)
    assert isinstance(value, Object)
    if value.type == VARIABLE or value == SELF:
        return meaning(value)
    inner = _replaced((value.item,), meaning) if value.item is not None else ()
    if value.type == CLASS:
        return hints.classes(inner)
    return (replace(value, item=inner[0] if inner else None),)


def _is_open(value: Value) -> bool:
    if isinstance(value, Collection):
        known = value.answers.get("open")
        if known is None:
            known = value.answers["open"] = any(_is_open(v) for values in value.items for v in values)
        return known
    if not isinstance(value, Object):
        return False
    return value.type == VARIABLE or value == SELF or (value.item is not None and _is_open(value.item))
