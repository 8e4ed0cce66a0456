"""Rows: whether an object stands for a new one or for one that was read, and which columns of a new one are empty.

What a row is decides much of what runs when it is saved. It is known from the call that gave the object to the save
itself, through every function on the way that saves it or asks about it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from . import columns
from .modules import Class, Function
from .scopes import Scope, position
from .values import (
    Arguments,
    ClassValue,
    Collection,
    Constant,
    External,
    FunctionValue,
    Instance,
    Object,
    Row,
    Value,
)

if TYPE_CHECKING:
    from .resolver import Resolver

READ = Row(new=False)

_DEFAULTS = "defaults"
"""The keyword that holds further keywords of `get_or_create`."""


# -- where rows come from ----------------------------------------------------------------------------------------


def read(r: Resolver, cls: Class) -> Instance:
    """What a collection of a class's rows gives: one that was read, of this class and no other. Where a base is not
    known it may be of one below: there are libraries that look for the class of each row."""
    above = [base for base in r.classes.order(cls) if isinstance(base, str) and base != "builtins.object"]
    tables = {base.partition(".")[0] for base in above if r.catalogue.marks("rows", base)}
    if not tables:
        return Instance(cls)
    exact = all(base.partition(".")[0] in tables for base in above) and not _may_stand_for_another(r, cls)
    return Instance(cls, exact=exact, row=READ)


def _may_stand_for_another(r: Resolver, cls: Class) -> bool:
    """Whether the class may be that of `cls` or `self`, and so one below: those have rows of their own."""
    return bool(
        r.memoised(("asked as cls", cls), lambda: (ClassValue(cls),) if _is_asked_as_cls(r, cls) else ())
    )


def _is_asked_as_cls(r: Resolver, cls: Class) -> bool:
    if not r.subclasses(cls):
        return False
    for base in r.classes.order(cls):
        if isinstance(base, Class):
            base.module.read()
            text = r.project.text(base.module.path)
            methods = (method for named in base.methods.values() for method in named)
            if b"__class__" in text or b"type(self)" in text:
                return True
            if any("classmethod" in method.decorator_names for method in methods):
                return True
    return False


def made(r: Resolver, value: Value, method: str, given: Arguments) -> Value:
    """The row that a library's method makes of its keywords."""
    if not isinstance(value, Instance) or value.row is None:
        return value
    if r.catalogue.marks("creates", method):
        names = _given(given)
        filled = (*value.row.filled, *_looked_up(r, value.cls, method, given))
        unset = () if names is None else tuple(columns.empty(r, value.cls, names.union(filled)))
        return replace(value, row=Row(True, unset, own=True, filled=filled))
    if r.catalogue.marks("upserts", method):
        filled = (*value.row.filled, *_looked_up(r, value.cls, method, given))
        return replace(value, row=Row(None, own=True, filled=filled))
    return value


def _looked_up(r: Resolver, cls: Class, method: str, given: Arguments) -> tuple[str, ...]:
    """The columns of text that a row was looked for by: nobody looks for an empty one."""
    every = _given(given) if r.catalogue.marks("lookups", method) else None
    if every is None:
        return ()
    over = next((values for name, values in given.keywords if name == _DEFAULTS), ())
    again = {key for value in over if isinstance(value, Collection) for key in value.keys or ()}
    said = [name for name, values in given.keywords if not any(isinstance(v, Constant) for v in values)]
    return tuple(sorted(name for name in said if name not in again and columns.is_text(r, cls, name)))


def constructed(r: Resolver, instance: Instance, given: Arguments) -> Instance:
    """The row that building an object makes. Its columns may be filled before it is saved."""
    if not is_table(r, instance.cls):
        return instance
    names = _given(given)
    return replace(
        instance, row=Row(True, () if names is None else tuple(columns.empty_keys(r, instance.cls, names)))
    )


def _given(given: Arguments) -> set[str] | None:
    """The names of the columns that are given; None where they are not all known."""
    if given.opaque or given.positional:
        return None
    names = set()
    for name, values in given.keywords:
        names.add(name)
        if name == _DEFAULTS:
            only = values[0] if len(values) == 1 else None
            if not isinstance(only, Collection) or only.keys is None or None in only.keys:
                return None
            names.update(key for key in only.keys if key is not None)
    return names


def is_table(r: Resolver, cls: Class) -> bool:
    """Whether instances of the class are rows."""
    return any(isinstance(base, str) and r.catalogue.marks("rows", base) for base in r.classes.order(cls))


# -- where they go -----------------------------------------------------------------------------------------------


def as_asked(r: Resolver, value: Value, function: Function) -> Value:
    """The value with what the function may ask of the row: all else would only make other frames of it."""
    if not isinstance(value, Instance) or value.row is None or function.asks.goes_on:
        return value
    row = value.row
    unset = tuple(item for item in row.unset if item[0] in function.asks.asked)
    if not row.early:
        unset = tuple(item for item in unset if not columns.is_key(r, value.cls, item[0]))
    saves = row.new is not None and not function.asks.called.isdisjoint(r.catalogue.firing)
    put = tuple(item for item in row.put or () if item[0] in function.asks.asked) or None
    filled = tuple(name for name in row.filled if name in function.asks.asked)
    matters = unset or saves or put or filled or row.early or (row.own and function.asks.probed)
    return replace(value, row=replace(row, unset=unset, put=put, filled=filled) if matters else None)


def settled(r: Resolver, callee: Value, node: ast.Call, scope: Scope) -> Value:
    """The method that is called, with what the call says of the row: one that updates is of a row that is there; of an
    object that was saved before, or whose key was set, nothing is known."""
    func = node.func
    if not isinstance(callee, (FunctionValue, External)) or not isinstance(func, ast.Attribute):
        return callee
    receiver = callee.receiver
    if not isinstance(receiver, Instance):
        return callee
    if func.attr in r.catalogue.firing and _updates(r, receiver, func.attr, node):
        return replace(callee, receiver=replace(receiver, row=READ))
    if receiver.row is None or not isinstance(func.value, ast.Name):
        return callee
    name = func.value.id
    if any(by == name and columns.is_key(r, receiver.cls, attr) for by, attr, _ in scope.attributes):
        return replace(callee, receiver=replace(receiver, row=None))
    if receiver.row.new and any(map(_is_call_on(r, name, node), ast.walk(scope.node))):
        once = len(scope.bindings.get(name, ())) == 1
        always = once and any(map(_is_call_on(r, name, node), _always_run(scope.node)))
        return replace(callee, receiver=replace(receiver, row=READ if always else None))
    if func.attr not in r.catalogue.firing:
        return callee
    alone = _is_from_library(r, name, scope) and not _is_shared(name, node, scope)
    put = tuple(_put(r, name, node, scope)) if alone else None
    return replace(callee, receiver=replace(receiver, row=replace(receiver.row, put=put)))


def _put(r: Resolver, name: str, node: ast.Call, scope: Scope) -> Iterator[tuple[str, Constant | None]]:
    """The attributes that a function assigns to a local object, with the constants that it is sure to have put there
    before a call."""
    put: dict[str, Constant | None] = {}
    for by, attr, binding in scope.attributes:
        if by == name:
            certain = binding.kind == "value" and attr not in put
            certain = certain and binding.start < position(node) <= binding.until
            known = (
                r.values(binding.node, scope, None)
                if certain and isinstance(binding.node, ast.Constant)
                else ()
            )
            put[attr] = known[0] if len(known) == 1 and isinstance(known[0], Constant) else None
    yield from sorted(put.items())


def _is_from_library(r: Resolver, name: str, scope: Scope) -> bool:
    """Whether a local name has one value, which no function of the project has had in hand."""
    bindings = scope.bindings.get(name, [])
    node = bindings[0].node if len(bindings) == 1 else None
    if isinstance(node, ast.Await):
        node = node.value
    if not isinstance(node, ast.expr) or bindings[0].path:
        return False
    if bindings[0].kind == "item":
        sources = r.values(node, scope, None)
        return bool(sources) and all(isinstance(source, Object) for source in sources)
    made = (
        r.values(node.func, scope, None) if isinstance(node, ast.Call) and bindings[0].kind == "value" else ()
    )
    return bool(made) and all(isinstance(maker, (External, ClassValue)) for maker in made)


def _is_shared(name: str, node: ast.Call, scope: Scope) -> bool:
    """Whether a local object was handed on before a call, or a method of its own was called."""

    def is_it(part: ast.AST) -> bool:
        return isinstance(part, ast.Name) and part.id == name

    for call in ast.walk(scope.node):
        if isinstance(call, ast.Call) and call is not node:
            owner = call.func.value if isinstance(call.func, ast.Attribute) else call.func
            if any(map(is_it, (owner, *call.args, *(keyword.value for keyword in call.keywords)))):
                return True
    return False


def _updates(r: Resolver, receiver: Instance, method: str, node: ast.Call) -> bool:
    """Whether the call gives a display for the keyword: a name may stand for None."""
    names = (f"{base}.{method}" for base in r.classes.order(receiver.cls) if isinstance(base, str))
    entries = (entry for name in names for entry in r.catalogue.marks("updates", name))
    given = {k.arg for k in node.keywords if isinstance(k.value, (ast.List, ast.Tuple, ast.Set))}
    return any(entry.when is not None and entry.when.parameter in given for entry in entries)


def _is_call_on(r: Resolver, name: str, before: ast.Call) -> Callable[[ast.AST], bool]:
    """Whether a node saves the object of that name, before the call."""

    def is_it(node: ast.AST) -> bool:
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == name
            and node.func.attr in r.catalogue.firing
            and position(node) < position(before)
        )

    return is_it


def _always_run(node: ast.AST) -> Iterator[ast.AST]:
    """The expressions that are statements of a body itself, or of blocks in it: they stand in no branch or loop."""
    for statement in getattr(node, "body", ()):
        if isinstance(statement, ast.Expr):
            yield statement.value
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            yield from _always_run(statement)
