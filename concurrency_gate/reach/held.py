"""What is sure of a row when a branch asks: what a column holds, what the object lacks, whether it is being added."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from concurrency_gate.facts import columns
from concurrency_gate.facts.modules import Class, Function
from concurrency_gate.facts.scopes import Binding, Scope, position
from concurrency_gate.facts.values import Constant, External, Frame, Instance, Values

if TYPE_CHECKING:
    from concurrency_gate.facts.resolver import Resolver


def column(r: Resolver, node: ast.Attribute, scope: Scope, frame: Frame | None) -> Values:
    """What a column of a row is sure to hold: what was put there, or nothing yet in a new row. Not if its class assigns
    to it, nor, for what nobody has put there, a function of this module."""
    if frame is None:
        return ()
    found: list[Constant] = []
    all_put = True
    for owner in r.values(node.value, scope, frame):
        if owner == Constant(None):
            continue
        row = owner.row if isinstance(owner, Instance) else None
        if not isinstance(owner, Instance) or row is None:
            return ()
        put = dict(row.put or ())
        known = put[node.attr] if node.attr in put else dict(row.unset).get(node.attr)
        if known is None and row.new and row.own and node.attr not in put:
            known = columns.of_class(r, owner.cls, node.attr)
        if known is None or _may_be_assigned(r, owner, node, frame.function):
            return ()
        if columns.is_key(r, owner.cls, node.attr) and not _is_unsaved(r, node, scope, frame):
            return ()
        found.append(known)
        all_put = all_put and node.attr in put
    if not all_put and node.attr in _stored(scope, frame.function):
        return ()
    return tuple(dict.fromkeys(found))


def is_filled(r: Resolver, node: ast.Attribute, scope: Scope, frame: Frame | None) -> bool:
    """Whether a column of a row is sure to hold something, and nobody has emptied it."""
    owners = r.values(node.value, scope, frame)
    return (
        frame is not None
        and bool(owners)
        and all(
            isinstance(owner, Instance)
            and owner.row is not None
            and node.attr in owner.row.filled
            and node.attr not in dict(owner.row.put or ())
            and not _may_be_assigned(r, owner, node, frame.function)
            for owner in owners
        )
        and node.attr not in _stored(scope, frame.function)
    )


def _may_be_assigned(r: Resolver, owner: Instance, node: ast.Attribute, function: Function) -> bool:
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


def is_assigned(r: Resolver, cls: Class, name: str) -> bool:
    """Whether a method of the class, or of a base, assigns to the attribute."""
    return any(name == assigned for assigned, *_ in _assigned(r, Instance(cls)))


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


def is_adding(r: Resolver, node: ast.Attribute, scope: Scope, frame: Frame | None) -> Values:
    """What a row's own note says, whether it is a new one that is not inserted yet."""
    if not isinstance(node.value, ast.Attribute):
        return ()
    word = f"{node.value.attr}.{node.attr}"
    for owner in r.values(node.value.value, scope, frame):
        bases = (
            base
            for base in (r.classes.order(owner.cls) if isinstance(owner, Instance) else ())
            if isinstance(base, str)
        )
        if (
            not isinstance(owner, Instance)
            or owner.row is None
            or not any(r.catalogue.marks("adding", f"{base}.{word}") for base in bases)
        ):
            return ()
        if owner.row.new is False:
            return (Constant(False),)
        return (Constant(True),) if _is_unsaved(r, node.value, scope, frame) else ()
    return ()


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
    return bool(values) and frame is not None and name not in _stored(scope, frame.function)


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


def _stored(scope: Scope, function: Function) -> set[str]:
    """Attributes that the functions of a module set on what is not their own; of methods, those that the body calls."""
    return {
        name
        for each in scope.module.scopes
        if each.parent is None or each.parent.kind != "class" or each.name in function.asks.called
        for by, name, _ in each.attributes
        if by != "self"
    }


def _is_unsaved(r: Resolver, key: ast.Attribute, scope: Scope, frame: Frame | None) -> bool:
    """Whether an attribute is read off a new row that is not inserted yet: before the signal that follows, or before
    the method goes on with the one that inserts it."""
    values = r.values(key.value, scope, frame)
    rows = [value.row if isinstance(value, Instance) else None for value in values if value != Constant(None)]
    goes_on = frame.function.asks.goes_on if frame is not None else None
    before = goes_on is not None and position(key) < goes_on
    return bool(rows) and all(row is not None and row.new and (row.early or before) for row in rows)
