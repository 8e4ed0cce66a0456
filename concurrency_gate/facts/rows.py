"""Rows: whether an object stands for a new one or for one that was read, and which columns of a new one are empty.

What a row is decides much of what runs when it is saved. It is known from the call that gave the object to the save
itself, through every function on the way that saves it or asks about it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from .conditions import holds
from .modules import Class, Function
from .scopes import Binding, Scope, position
from .values import (
    Arguments,
    ClassValue,
    Collection,
    Constant,
    External,
    Frame,
    FunctionValue,
    Instance,
    Object,
    Row,
    Value,
    Values,
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
    return Instance(cls, exact=all(base.partition(".")[0] in tables for base in above), row=READ)


def made(r: Resolver, value: Value, method: str, given: Arguments) -> Value:
    """The row that a library's method makes of its keywords."""
    if not isinstance(value, Instance) or value.row is None:
        return value
    if r.catalogue.marks("creates", method):
        names = _given(given)
        unset = () if names is None else tuple(_empty_columns(r, value.cls, names))
        return replace(value, row=Row(True, unset, own=True))
    return replace(value, row=Row(None, own=True)) if r.catalogue.marks("upserts", method) else value


def constructed(r: Resolver, instance: Instance, given: Arguments) -> Instance:
    """The row that building an object makes. Its columns may be filled before it is saved."""
    if not _is_table(r, instance.cls):
        return instance
    names = _given(given)
    return replace(
        instance, row=Row(True, () if names is None else tuple(_empty_keys(r, instance.cls, names)))
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


def _is_table(r: Resolver, cls: Class) -> bool:
    return any(isinstance(base, str) and r.catalogue.marks("rows", base) for base in r.classes.order(cls))


# -- where they go -----------------------------------------------------------------------------------------------


def as_asked(r: Resolver, value: Value, function: Function) -> Value:
    """The value with what the function may ask of the row: all else would only make other frames of it."""
    if not isinstance(value, Instance) or value.row is None or function.asks.goes_on:
        return value
    row = value.row
    unset = tuple(item for item in row.unset if item[0] in function.asks.asked)
    if not row.early:
        unset = tuple(item for item in unset if not _is_key(r, value.cls, item[0]))
    saves = row.new is not None and not function.asks.called.isdisjoint(r.catalogue.firing)
    put = tuple(item for item in row.put or () if item[0] in function.asks.asked) or None
    matters = unset or saves or put or row.early or (row.own and function.asks.probed)
    return replace(value, row=replace(row, unset=unset, put=put) if matters else None)


def settled(r: Resolver, callee: Value, node: ast.Call, scope: Scope) -> Value:
    """The method that is called, with what the call says of the row: one that updates is of a row that is there; of an
    object that was saved before, or whose key was set, nothing is known."""
    func = node.func
    if not isinstance(callee, (FunctionValue, External)) or not isinstance(func, ast.Attribute):
        return callee
    receiver = callee.receiver
    if not isinstance(receiver, Instance) or func.attr not in r.catalogue.firing:
        return callee
    if _updates(r, receiver, func.attr, node):
        return replace(callee, receiver=replace(receiver, row=READ))
    if receiver.row is None or not isinstance(func.value, ast.Name):
        return callee
    name = func.value.id
    rekeyed = any(by == name and _is_key(r, receiver.cls, attr) for by, attr, _ in scope.attributes)
    if rekeyed or (receiver.row.new and _saved_before(r, name, node, scope)):
        return replace(callee, receiver=replace(receiver, row=None))
    alone = _is_from_library(r, name, scope) and not _is_shared(name, node, scope)
    put = tuple(_put(r, name, scope)) if alone else None
    return replace(callee, receiver=replace(receiver, row=replace(receiver.row, put=put)))


def _put(r: Resolver, name: str, scope: Scope) -> Iterator[tuple[str, Constant | None]]:
    """The attributes that a function assigns to a local object, with the constants that it does."""
    put: dict[str, Constant | None] = {}
    for by, attr, binding in scope.attributes:
        if by == name:
            value = (
                binding.node if isinstance(binding.node, ast.Constant) and binding.kind == "value" else None
            )
            known = r.values(value, scope, None) if value is not None and attr not in put else ()
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
    names = (f"{base}.{method}" for base in r.classes.order(receiver.cls) if isinstance(base, str))
    entries = (entry for name in names for entry in r.catalogue.marks("updates", name))
    given = {keyword.arg for keyword in node.keywords}
    whens = (entry.when for entry in entries if entry.when is not None)
    return any(when.parameter in given and holds(when, node) for when in whens)


def _saved_before(r: Resolver, name: str, node: ast.Call, scope: Scope) -> bool:
    return any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == name
        and call.func.attr in r.catalogue.firing
        and position(call) < position(node)
        for call in ast.walk(scope.node)
    )


# -- what is asked of them ---------------------------------------------------------------------------------------


def held(r: Resolver, node: ast.Attribute, scope: Scope, frame: Frame | None) -> Values:
    """What a column of a row is sure to hold: what was put there, or nothing yet in a new row. Not if its class, or a
    function of this module, assigns to it."""
    if frame is None:
        return ()
    found: list[Constant] = []
    for owner in r.values(node.value, scope, frame):
        if owner == Constant(None):
            continue
        row = owner.row if isinstance(owner, Instance) else None
        if not isinstance(owner, Instance) or row is None:
            return ()
        put = dict(row.put or ())
        column = put[node.attr] if node.attr in put else dict(row.unset).get(node.attr)
        if column is None or _is_filled(r, owner, node, frame.function):
            return ()
        if _is_key(r, owner.cls, node.attr) and not _is_unsaved(r, node, scope, frame):
            return ()
        found.append(column)
    return () if node.attr in _stored(scope) else tuple(dict.fromkeys(found))


def _is_filled(r: Resolver, owner: Instance, node: ast.Attribute, function: Function) -> bool:
    """Whether a method may have assigned to a column before it is asked for; on an object that a library has just made
    only the constructor has run, and what the body has called."""
    for name, method, binding in _assigned(r, owner):
        if name != node.attr:
            continue
        if method is function:
            if position(binding.node) < position(node):
                return True
        elif owner.row is None or not owner.row.own or method.name in ("__init__", *function.asks.called):
            return True
    return False


def _assigned(r: Resolver, owner: Instance) -> Iterator[tuple[str, Function, Binding]]:
    for base in r.classes.order(owner.cls):
        if isinstance(base, Class):
            yield from base.assigned


def is_unchanged(r: Resolver, node: ast.Compare, scope: Scope, frame: Frame | None) -> bool:
    """Whether an attribute is compared with what the constructor kept of it, and has not been assigned since."""
    left, right = node.left, node.comparators[0]
    if not isinstance(left, ast.Attribute) or not isinstance(right, ast.Attribute):
        return False
    values = r.values(left.value, scope, frame)
    return bool(values) and all(
        isinstance(value, Instance)
        and any(_is_kept(r, value, *pair) for pair in ((left, right), (right, left)))
        for value in values
    )


def _is_kept(r: Resolver, owner: Instance, attribute: ast.Attribute, copy: ast.Attribute) -> bool:
    row = owner.row
    if row is None or ast.dump(attribute.value) != ast.dump(copy.value):
        return False
    untouched = row.own if row.put is None else attribute.attr not in dict(row.put)
    made = [
        (function, binding)
        for name, function, binding in _assigned(r, owner)
        if name == copy.attr and function.name not in r.catalogue.firing
    ]
    changed = any(name == attribute.attr for name, *_ in _assigned(r, owner))
    if not untouched or changed or len(made) != 1 or made[0][0].name != "__init__":
        return False
    kept = made[0][1].node
    return (
        isinstance(kept, ast.Attribute)
        and kept.attr == attribute.attr
        and isinstance(kept.value, ast.Name)
        and kept.value.id == made[0][0].receiver_name
    )


def lacks(r: Resolver, owner: ast.expr, name: str, scope: Scope, frame: Frame | None) -> bool:
    """Whether an object is sure to have no attribute of this name: a library made it, its class has none, and no
    function of this module gives it one."""
    values = r.values(owner, scope, frame)
    for value in values:
        if not isinstance(value, Instance) or value.row is None or not value.row.own:
            return False
        for base in r.classes.order(value.cls):
            if (
                name in base.member_names
                if isinstance(base, Class)
                else r.catalogue.attribute(f"{base}.{name}")
            ):
                return False
    return bool(values) and name not in _stored(scope)


def finds_nothing(r: Resolver, node: ast.AST, scope: Scope, frame: Frame | None) -> bool:
    """Whether a statement looks for a row by the key of one that is not inserted yet, and so raises."""
    value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign, ast.Expr)) else None
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    asked = [
        keyword.value
        for keyword in value.keywords
        if keyword.arg in r.catalogue.keys and isinstance(keyword.value, ast.Attribute)
    ]
    if not any(_is_unsaved(r, key, scope, frame) for key in asked):
        return False
    found = r.values(value.func, scope, frame)
    return any(isinstance(each, External) and bool(r.catalogue.marks("finds", each.name)) for each in found)


def _stored(scope: Scope) -> set[str]:
    """Attributes that the functions of a module set on what is not their own."""
    return {name for each in scope.module.scopes for by, name, _ in each.attributes if by != "self"}


def _is_unsaved(r: Resolver, key: ast.Attribute, scope: Scope, frame: Frame | None) -> bool:
    """Whether an attribute is read off a new row that is not inserted yet: before the signal that follows, or before
    the method goes on with the one that inserts it."""
    values = r.values(key.value, scope, frame)
    rows = [value.row if isinstance(value, Instance) else None for value in values if value != Constant(None)]
    goes_on = frame.function.asks.goes_on if frame is not None else None
    before = goes_on is not None and position(key) < goes_on
    return bool(rows) and all(row is not None and row.new and (row.early or before) for row in rows)


# -- columns -----------------------------------------------------------------------------------------------------


def _empty_columns(r: Resolver, cls: Class, given: set[str]) -> Iterator[tuple[str, Constant]]:
    """The columns that are not given and hold nothing then; a class's own hide those of its bases."""
    columns: dict[str, Constant | None] = {}
    for base in reversed(r.classes.order(cls)):
        if isinstance(base, Class):
            columns |= {name: _empty(call) for name, call in _columns(r, base)}
    yield from ((name, empty) for name, empty in columns.items() if empty is not None and name not in given)
    yield from _empty_keys(r, cls, given)


def _empty_keys(r: Resolver, cls: Class, given: set[str]) -> Iterator[tuple[str, Constant]]:
    """The keys of a row that is not inserted yet, if the database makes them."""
    order = r.classes.order(cls)
    keys = sorted(name for name in r.catalogue.keys if _is_key(r, cls, name))
    own = (call for base in order if isinstance(base, Class) for _, call in _columns(r, base))
    if given.isdisjoint(keys) and not any(
        keyword.arg == "primary_key" for call in own for keyword in call.keywords
    ):
        yield from ((key, Constant(None)) for key in keys)


def _is_key(r: Resolver, cls: Class, name: str) -> bool:
    bases = (base for base in r.classes.order(cls) if isinstance(base, str))
    return any(r.catalogue.marks("keys", f"{base}.{name}") for base in bases)


def _columns(r: Resolver, cls: Class) -> Iterator[tuple[str, ast.Call]]:
    for name, bindings in cls.scope.bindings.items():
        call = bindings[0].node if len(bindings) == 1 else None
        if isinstance(call, ast.Call) and any(
            _is_column(r, kind) for kind in r.values(call.func, cls.scope, None)
        ):
            yield name, call


def _is_column(r: Resolver, kind: Value) -> bool:
    if isinstance(kind, External):
        return bool(r.catalogue.marks("columns", kind.name))
    order = r.classes.order(kind.cls) if isinstance(kind, ClassValue) else ()
    return any(isinstance(base, str) and r.catalogue.marks("columns", base) for base in order)


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
