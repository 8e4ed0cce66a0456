"""What comes out of a value: elements, the results of iteration, of `with` and of `await`; and what was put
in."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import calls, members
from .modules import Module
from .scopes import Scope
from .values import (
    ClassValue,
    Collection,
    Constant,
    External,
    Frame,
    Instance,
    Object,
    Suspended,
    Value,
    Values,
    union,
)
from .walk import branches

if TYPE_CHECKING:
    from .resolver import Resolver

_PUT_FIRST = {"append", "add", "appendleft"}
_PUT_ALL = {"extend", "update"}


def iterated(r: Resolver, value: Value) -> Values:
    """What a loop over the value gives."""
    if isinstance(value, Collection):
        if value.keys is not None:
            return tuple(dict.fromkeys(Constant(key) for key in value.keys if key is not None))
        return union(*value.items) if value.items else ()
    if isinstance(value, Suspended):
        return yielded(r, value.frame) if value.kind == "generator" else ()
    if isinstance(value, Object):
        shape = r.catalogue.iterates(value.type)
        if shape is not None:
            return members.shaped(r, shape, value, ())
        return ()
    if isinstance(value, Instance):
        for name in ("__iter__", "__aiter__"):
            results = [calls.result(r, method, calls.NOTHING) for method in r.attribute(value, name)]
            found = union(*(iterated(r, v) for values in results for v in values if v != value))
            if found:
                return found
        return _of_library(r, value)
    return ()


def _of_library(r: Resolver, value: Instance) -> Values:
    """What a project's own class gives in a loop because of a library's class that it derives from."""
    for base in r.classes.order(value.cls):
        shape = r.catalogue.iterates(base) if isinstance(base, str) else None
        if shape is not None:
            return members.shaped(r, shape, value, ())
    return ()


def yielded(r: Resolver, frame: Frame) -> Values:
    """What a generator yields."""
    scope = frame.function.scope

    def compute() -> Values:
        found: list[Values] = []
        for node in scope.yields:
            if node.value is None:
                continue
            values = r.values(node.value, scope, frame)
            if isinstance(node, ast.YieldFrom):
                values = union(*(iterated(r, value) for value in values))
            found.append(values)
        if not any(found):
            returns = getattr(frame.function.node, "returns", None)
            if returns is not None:
                declared = r.instance_of(returns, scope.parent or scope, frame.closure, frame)
                found.append(
                    union(*(iterated(r, value) for value in declared if isinstance(value, Collection)))
                )
        return union(*found)

    return r.memoised(("yielded", frame), compute)


def entered(r: Resolver, value: Value) -> Values:
    """What `with value as x` binds."""
    if isinstance(value, Suspended):
        return yielded(r, value.frame) if value.kind == "manager" else ()
    if isinstance(value, Object):
        shape = r.catalogue.enters(value.type)
        return members.shaped(r, shape, value, ()) if shape is not None else (value,)
    if isinstance(value, Instance):
        found: list[Values] = []
        for name in ("__enter__", "__aenter__"):
            for method in r.attribute(value, name):
                found.extend(awaited(r, result) for result in calls.result(r, method, calls.NOTHING))
        return union(*found) if any(found) else (value,)
    return ()


def awaited(r: Resolver, value: Value) -> Values:
    """What `await value` gives."""
    if isinstance(value, Suspended):
        return calls.returned(r, value.frame) if value.kind == "coroutine" else ()
    return (value,)


def element(r: Resolver, value: Value, index: Values, position: object = None) -> Values:
    """What `value[index]` gives; `position` is the index where it is a literal."""
    if isinstance(value, Collection):
        if value.keys is not None:
            wanted = {v.value for v in index if isinstance(v, Constant)}
            if wanted and len(wanted) == len(index):
                pairs = zip(value.keys, value.items, strict=True)
                return union(*(items for key, items in pairs if key is None or key in wanted), ())
        elif value.fixed and isinstance(position, int) and -len(value.items) <= position < len(value.items):
            return value.items[position]
        return union(*value.items) if value.items else ()
    if isinstance(value, Object):
        shape = r.catalogue.returns(f"{value.type}.__getitem__")
        if shape is not None:
            return members.shaped(r, shape, value, (index,))
        return (value.item,) if value.item is not None and r.catalogue.iterates(value.type) else ()
    if isinstance(value, Instance):
        found = [
            calls.result(r, method, calls.Arguments((index,))) for method in r.attribute(value, "__getitem__")
        ]
        return union(*found, ()) or _of_library(r, value)
    return ()


# -- what was put in -------------------------------------------------------------------------------------

Store = tuple[Scope, ast.expr | None, ast.expr, str]
"""(scope, key, value, how): "one" thing is put in, "all" things of a collection, or one into a "list" under
the key."""


def filled(r: Resolver, values: Values, name: str, scope: Scope, within: Frame | None) -> Values:
    """A container with what is put into it: anywhere in the module where that keeps it under a name (registries of
    callables), or in the function that it is local to, which runs as `within`. Of the latter only what waits to be
    run: a recursive function that hands its list on would fill it without end."""
    if not any(isinstance(v, Collection) and not v.fixed for v in values):
        return values
    module = scope.module
    is_local = scope.kind == "function" and not _is_attribute(scope, name)
    if not is_local:
        r.project.dependencies.note("puts", f"{module.path}\n{name}")
    puts = [put for put in stores(module).get(name, ()) if not is_local or put[0] is scope]
    escapes = is_local and name in _escaping(scope)
    if not puts and not escapes:
        return values
    items: list[Values] = [()] if escapes else []
    keys: list[str | None] = [None] if escapes else []
    for store_scope, key, node, how in puts:
        for frame in (within,) if is_local else _filling_frames(r, store_scope, within):
            put = r.values(node, store_scope, frame)
            if is_local:
                put = tuple(value for value in put if isinstance(value, Suspended))
            label = _label(r, key, store_scope, frame)
            if how == "all":
                put = union(*(union(*v.items, ()) for v in put if isinstance(v, Collection)), ())
            items.append((Collection((put,)),) if how == "list" else put)
            keys.append(label)
    found: list[Value] = []
    for value in values:
        if isinstance(value, Collection) and not value.fixed:
            # Each once: a function that fills what it is given and hands it on would never come to an end.
            if value.keys is None:
                found.append(Collection(tuple(dict.fromkeys((*value.items, *items)))))
            else:
                pairs = dict.fromkeys(zip((*value.keys, *keys), (*value.items, *items), strict=True))
                found.append(Collection(tuple(put for _, put in pairs), tuple(key for key, _ in pairs)))
        else:
            found.append(value)
    return tuple(found)


def _filling_frames(r: Resolver, scope: Scope, within: Frame | None) -> Sequence[Frame | None]:
    """The frames in which a scope fills the container. Where it is kept by an object, those of methods that other
    classes run are left out: each of several registries that derive from one has its own."""
    frames = r.callers.frames_of_scope(scope)
    asked = within.receiver if within is not None else None
    if within is None or not isinstance(asked, Instance) or scope.kind != "function":
        return frames
    method = scope.module.function(scope)
    if method.owner is None or method.receiver_name is None or not r.classes.derives(asked.cls, method.owner):
        return frames
    told = [frame for frame in asked.told if frame.function is method]
    if told:
        return told
    known = [f for f in frames if f is not None and _may_be(r, f.receiver, asked)]
    if any(frame is not r.default_frame(method) for frame in known):
        return known
    return (r.frame(method, asked, (), r.default_frame(method).closure),)


def _may_be(r: Resolver, receiver: Value | None, asked: Instance) -> bool:
    """Whether the two may be the same object."""
    if not isinstance(receiver, Instance):
        return True
    return r.classes.derives(receiver.cls, asked.cls) or r.classes.derives(asked.cls, receiver.cls)


def _escaping(scope: Scope) -> frozenset[str]:
    """The local names whose containers others may fill, or `update` does by keywords. Worked out once for a scope."""
    kept: dict[int, frozenset[str]] = scope.module.__dict__.setdefault("escaping", {})
    if id(scope) not in kept:
        parts = [part for node in _nodes_of(scope) for part in _handed(node)]
        kept[id(scope)] = frozenset(part.id for part in parts if isinstance(part, ast.Name))
    return kept[id(scope)]


def _handed(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.AugAssign):
        return [node.target]
    if not isinstance(node, ast.Call):
        return []
    given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg is not None)]
    updates = isinstance(node.func, ast.Attribute) and node.func.attr == "update" and node.keywords
    return [*given, node.func.value] if updates else given  # type: ignore[attr-defined]


def _is_attribute(scope: Scope, name: str) -> bool:
    return any(attr == name for _, attr, _ in scope.attributes)


def _label(r: Resolver, key: ast.expr | None, scope: Scope, frame: Frame | None) -> str | None:
    if key is None:
        return None
    values = r.values(key, scope, frame)
    only = values[0] if len(values) == 1 else None
    return only.value if isinstance(only, Constant) and isinstance(only.value, str) else None


def stores(module: Module) -> dict[str, list[Store]]:
    """What a module puts into containers, by the name under which it knows the container."""
    cached: dict[str, list[Store]] | None = module.__dict__.get("stores")
    if cached is None:
        cached = module.__dict__["stores"] = _find_stores(module)
    return cached


def putting(module: Module, name: str) -> list[str]:
    """The functions, by their qualified names, that put something into containers of that name. What they put is read
    in their bodies."""
    return [scope.qualname for scope, *_ in stores(module).get(name, ())]


def _find_stores(module: Module) -> dict[str, list[Store]]:
    found: dict[str, list[Store]] = {}
    for scope in module.all_scopes:
        for node in _nodes_of(scope):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Subscript):
                        _note(found, target.value, (scope, target.slice, node.value, "one"))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                _note_call(found, node, node.func, scope)
    return found


def _note(found: dict[str, list[Store]], container: ast.expr, store: Store) -> None:
    name = container.attr if isinstance(container, ast.Attribute) else getattr(container, "id", "")
    if name:
        found.setdefault(name, []).append(store)


def _note_call(found: dict[str, list[Store]], node: ast.Call, func: ast.Attribute, scope: Scope) -> None:
    owner = func.value
    if func.attr in _PUT_FIRST or func.attr in _PUT_ALL:
        how = "all" if func.attr in _PUT_ALL else "one"
        if isinstance(owner, ast.Subscript):  # registry[key].append(value)
            _note(found, owner.value, (scope, owner.slice, node.args[0], "list"))
        elif isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute) and owner.args:
            if owner.func.attr == "setdefault":  # registry.setdefault(key, []).append(value)
                _note(found, owner.func.value, (scope, owner.args[0], node.args[0], "list"))
        else:
            _note(found, owner, (scope, None, node.args[0], how))
    elif func.attr in ("setdefault", "insert") and len(node.args) > 1:
        key = node.args[0] if func.attr == "setdefault" else None
        _note(found, owner, (scope, key, node.args[1], "one"))


def _nodes_of(scope: Scope) -> list[ast.AST]:
    """The nodes that belong to a scope itself."""
    node = scope.node
    body = getattr(node, "body", [])
    stack: list[ast.AST] = list(body) if isinstance(body, list) else [body]
    found: list[ast.AST] = []
    while stack:
        current = stack.pop()
        if id(current) in scope.children:
            continue
        found.append(current)
        stack.extend(branches(current))
    return found[::-1]


__all__ = [
    "ClassValue",
    "External",
    "awaited",
    "element",
    "entered",
    "filled",
    "iterated",
    "stores",
    "yielded",
]
