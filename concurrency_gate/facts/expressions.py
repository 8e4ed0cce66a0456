"""What each kind of expression stands for: one function for each, asked by the resolver."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import calls, containers, members, names
from .scopes import Scope
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
    Values,
    one_of,
    union,
)

if TYPE_CHECKING:
    from .resolver import Resolver


def constant(value: object) -> Values:
    if value is None or isinstance(value, (str, bool)):
        return (Constant(value),)
    return (Object(f"builtins.{type(value).__name__}"),)


def _name(r: Resolver, node: ast.Name, scope: Scope, frame: Frame | None) -> Values:
    return names.lookup(r, node, scope, frame)


def _attribute(r: Resolver, node: ast.Attribute, scope: Scope, frame: Frame | None) -> Values:
    owners = r.values(node.value, scope, frame)
    found = union(*(r.attribute(owner, node.attr) for owner in owners), ())
    if not found and isinstance(node.value, ast.Name):
        found = _assigned(r, node.value.id, node.attr, scope)
    if not found and not owners and node.attr in r.catalogue.evident:
        found = (External(r.catalogue.evident[node.attr]),)
    return found


def _assigned(r: Resolver, owner: str, name: str, scope: Scope) -> Values:
    """What the code around assigns to `owner.name`, where that is no attribute that the owner's class
    knows."""
    found: list[Values] = []
    current: Scope | None = scope
    while current is not None:
        if current.kind != "class":
            for holder, attribute, binding in current.attributes:
                if (holder, attribute) == (owner, name):
                    found.append(names.bound(r, binding, current, None))
        current = current.parent
    return union(*found, ())


def _call(r: Resolver, node: ast.Call, scope: Scope, frame: Frame | None) -> Values:
    callees = r.values(node.func, scope, frame)
    if not callees:
        return _located(r, node, scope, frame)
    arguments = r.arguments(node, scope, frame)
    special = calls.special(r, node, callees, arguments, scope, frame)
    if special is not None:
        return special
    return union(*(r.call(callee, arguments) for callee in callees))


def _located(r: Resolver, node: ast.Call, scope: Scope, frame: Frame | None) -> Values:
    """What a service locator of which only the method's name is known finds for a class of the project."""
    if (
        not isinstance(node.func, ast.Attribute)
        or node.func.attr not in r.catalogue.locating
        or not node.args
    ):
        return ()
    wanted = r.values(node.args[0], scope, frame)
    return union(*(members.instances_of(value) for value in wanted if isinstance(value, ClassValue)), ())


def _await(r: Resolver, node: ast.Await, scope: Scope, frame: Frame | None) -> Values:
    return union(*(containers.awaited(r, value) for value in r.values(node.value, scope, frame)))


def _walrus(r: Resolver, node: ast.NamedExpr, scope: Scope, frame: Frame | None) -> Values:
    return r.values(node.value, scope, frame)


def _conditional(r: Resolver, node: ast.IfExp, scope: Scope, frame: Frame | None) -> Values:
    return one_of(r.values(node.body, scope, frame), r.values(node.orelse, scope, frame))


def _either(r: Resolver, node: ast.BoolOp, scope: Scope, frame: Frame | None) -> Values:
    return one_of(*(r.values(part, scope, frame) for part in node.values))


def _binary(r: Resolver, node: ast.BinOp, scope: Scope, frame: Frame | None) -> Values:
    """What a library's operator makes of its operands: a chain of `first | then`."""
    method = _OPERATORS.get(type(node.op))
    if method is None:
        return ()
    owners = (v for v in r.values(node.left, scope, frame) if isinstance(v, (Object, Instance)))
    known = [
        each
        for owner in owners
        for each in r.attribute(owner, method)
        if isinstance(each, External) and r.catalogue.returns(each.name)
    ]
    given = Arguments((r.values(node.right, scope, frame),)) if known else calls.NOTHING
    return union(*(r.call(each, given) for each in known), ())


def _sequence(r: Resolver, node: ast.Tuple | ast.List | ast.Set, scope: Scope, frame: Frame | None) -> Values:
    items: list[Values] = []
    fixed = isinstance(node, ast.Tuple)
    for element in node.elts:
        if isinstance(element, ast.Starred):
            fixed = False
            items.extend(containers.iterated(r, value) for value in r.values(element.value, scope, frame))
        else:
            items.append(r.values(element, scope, frame))
    return (Collection(tuple(items), fixed=fixed),)


def _dict(r: Resolver, node: ast.Dict, scope: Scope, frame: Frame | None) -> Values:
    items: list[Values] = []
    keys: list[str | None] = []
    for key, element in zip(node.keys, node.values, strict=True):
        values = r.values(element, scope, frame)
        if key is None:
            for value in values:
                if isinstance(value, Collection) and value.keys is not None:
                    items += value.items
                    keys += value.keys
            continue
        items.append(values)
        keys.append(text_of(r.values(key, scope, frame)))
    return (Collection(tuple(items), tuple(keys)),)


def _lambda(r: Resolver, node: ast.Lambda, scope: Scope, frame: Frame | None) -> Values:
    inner = scope.children.get(id(node))
    if inner is None:
        return ()
    return (FunctionValue(scope.module.function(inner), None, frame),)


def _comprehension(r: Resolver, node: ast.expr, scope: Scope, frame: Frame | None) -> Values:
    inner = scope.children.get(id(node))
    if inner is None:
        return ()
    if isinstance(node, ast.DictComp):
        return (Collection((r.values(node.value, inner, frame),), (None,)),)
    return (Collection((r.values(node.elt, inner, frame),)),)  # type: ignore[attr-defined]


def _subscript(r: Resolver, node: ast.Subscript, scope: Scope, frame: Frame | None) -> Values:
    index = r.values(node.slice, scope, frame)
    position = node.slice.value if isinstance(node.slice, ast.Constant) else None
    found: list[Values] = []
    for value in r.values(node.value, scope, frame):
        if isinstance(value, External) and value.name == "sys.modules":
            found += [names.imported(r, scope.module, name) for name in texts_of(index)]
        elif isinstance(node.slice, ast.Slice) or (isinstance(value, (ClassValue, External)) and not index):
            found.append((value,))
        elif isinstance(value, ClassValue) or (
            isinstance(value, External) and names.is_class_name(value.name)
        ):
            found.append((value,))  # a generic class with its parameter: Box[int]
        else:
            found.append(containers.element(r, value, index, position))
    return union(*found)


def texts_of(values: Values) -> list[str]:
    """The strings among the values."""
    return [v.value for v in values if isinstance(v, Constant) and isinstance(v.value, str)]


def text_of(values: Values) -> str | None:
    """The one string that the values are, or None."""
    if len(values) == 1 and isinstance(values[0], Constant) and isinstance(values[0].value, str):
        return values[0].value
    return None


_OPERATORS: dict[type[ast.operator], str] = {
    ast.BitOr: "__or__",
    ast.BitAnd: "__and__",
    ast.RShift: "__rshift__",
    ast.Add: "__add__",
}

EVALUATORS: dict[type[ast.expr], Callable[..., Values]] = {
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.Await: _await,
    ast.NamedExpr: _walrus,
    ast.IfExp: _conditional,
    ast.BoolOp: _either,
    ast.BinOp: _binary,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.Lambda: _lambda,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Subscript: _subscript,
}
