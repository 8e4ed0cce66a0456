"""What a bare name stands for: bindings, imports, parameters, and which binding holds where."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from . import calls, containers
from .modules import Module
from .scopes import Binding, Position, Scope, end, position
from .values import ClassValue, Collection, Constant, External, Frame, ModuleValue, Object, Values, union

if TYPE_CHECKING:
    from .resolver import Resolver

_BUILTINS = frozenset(dir(builtins))


def lookup(r: Resolver, node: ast.Name, scope: Scope, frame: Frame | None) -> Values:
    """The name, as Python would look it up from here."""
    current: Scope | None = scope
    here = True
    while current is not None:
        if node.id in current.foreign and current.home(node.id) is not current:
            current, frame, here = current.home(node.id), None, False
        if (current.kind != "class" or current is scope) and node.id in current.bindings:
            bindings: Sequence[Binding] = current.bindings[node.id]
            if here and (len(bindings) > 1 or current.kind == "class"):
                bindings = reaching(bindings, current, position(node))
            if bindings:
                return union(*(bound(r, binding, current, frame) for binding in bindings))
        if current.kind in ("function", "lambda"):
            frame = frame.closure if frame is not None else None
            here = False
        elif current.kind != "comprehension":
            here = False
        current = current.parent
    module = scope.module
    found = starred(r, module, node.id)
    if not found and node.id in _BUILTINS:
        return (External(f"builtins.{node.id}"),)
    return found


def reaching(bindings: Sequence[Binding], scope: Scope, at: Position) -> Sequence[Binding]:
    """The bindings that can hold at a place: the last one that must have run before it, those in branches since, and
    those further down in a loop around it."""
    before = [b for b in bindings if b.start <= at]
    certain = max((b.start for b in before if b.until >= at), default=None)
    held = [b for b in before if certain is None or b.start >= certain]
    for b in bindings:
        if b.start <= at:
            continue
        for start, stop in scope.loops:
            if start <= at <= stop and start <= b.start <= stop and (certain is None or certain < start):
                held.append(b)
                break
    # Before it binds a name, a class body sees the one outside; anywhere else there is an error, or we err.
    return held or (() if scope.kind == "class" else bindings)


def bound(r: Resolver, binding: Binding, scope: Scope, frame: Frame | None) -> Values:
    """What one binding gives the name."""
    return r.memoised((id(binding), frame), lambda: _bound(r, binding, scope, frame))


def _bound(r: Resolver, binding: Binding, scope: Scope, frame: Frame | None) -> Values:
    kind, node = binding.kind, binding.node
    if kind == "from":
        return imported_from(r, scope.module, binding.target, binding.level, binding.item or "")
    if kind == "import":
        return imported(r, scope.module, binding.target)
    if kind == "def":
        function = scope.module.function(scope.module.scope_of[id(node)])
        return calls.decorated(r, function, scope, frame)
    if kind == "class":
        return calls.decorated_class(r, scope.module.cls(scope.module.scope_of[id(node)]), scope, frame)
    if kind == "parameter":
        return parameter(r, binding, scope, frame)
    if kind in ("value", "item", "outer item", "enter"):
        assert isinstance(node, ast.expr)
        around = scope.parent if kind == "outer item" and scope.parent else scope
        found = r.values(node, around, frame)
        if kind in ("item", "outer item"):
            found = union(*(containers.iterated(r, value) for value in found))
        elif kind == "enter":
            found = union(*(containers.entered(r, value) for value in found))
        for index in binding.path:
            found = union(*(containers.element(r, value, (), index) for value in found))
        if kind == "value" and not binding.path:
            found = containers.filled(r, found, binding.name, scope)
            if scope.kind == "module":
                kept = f"{scope.module.name}.{binding.name}"
                found = tuple(replace(v, name=kept) if isinstance(v, Object) and not v.name else v for v in found)
        if binding.annotation is not None and not _says_enough(found):
            found = r.instance_of(binding.annotation, scope, frame) or found
        return found
    if kind == "annotation" and binding.annotation is not None:
        return r.instance_of(binding.annotation, scope, frame)
    return ()


def _says_enough(values: Values) -> bool:
    """Whether values say more than an annotation can: anything but None and empty collections."""
    return any(
        not (isinstance(v, Constant) or (isinstance(v, Collection) and not any(v.items))) for v in values
    )


def parameter(r: Resolver, binding: Binding, scope: Scope, frame: Frame | None) -> Values:
    """An argument, where the frame knows it; else what the annotation or the default says."""
    function = scope.module.function(scope)
    node = binding.node
    assert isinstance(node, ast.arg)
    if frame is None or frame.function is not function:
        frame = r.default_frame(function)
    given = frame.argument(node.arg)
    if given is not None:
        return given
    if node.arg == function.receiver_name and frame.receiver is not None:
        return (frame.receiver,)
    args = function.node.args
    if binding.annotation is not None and args.vararg is not node and args.kwarg is not node:
        found = r.instance_of(binding.annotation, scope.parent or scope, frame.closure)
        if found:
            return found
    default = function.defaults.get(node.arg)
    if default is None or isinstance(default, ast.Constant):
        return ()
    return r.values(default, scope.parent or scope, frame.closure)


def imported(r: Resolver, module: Module, name: str) -> Values:
    """The module that `import name` binds."""
    found = r.project.find(name, module.path)
    if found is not None:
        return (ModuleValue(found),)
    return (External(r.catalogue.canonical(name)),)


def imported_from(r: Resolver, module: Module, target: str, level: int, item: str) -> Values:
    """What `from target import item` binds."""
    name = module.absolute(target, level)
    source = r.project.find(name, module.path if level == 0 else "") if name else None
    if source is not None:
        return member(r, source, item)
    if level:
        return ()
    return (External(r.catalogue.canonical(f"{name}.{item}")),)


def member(r: Resolver, module: Module, name: str) -> Values:
    """`module.name`, for a module of the project: its own names, its submodules, what it imports by star."""
    return r.memoised(("member", module, name), lambda: _member(r, module, name))


def _member(r: Resolver, module: Module, name: str) -> Values:
    bindings = module.scope.bindings.get(name)
    if bindings:
        return union(*(bound(r, binding, module.scope, None) for binding in final(bindings, module.tree.body)))
    if module.is_package:
        inner = r.project.find(f"{module.name}.{name}" if module.name else name)
        if inner is not None:
            return (ModuleValue(inner),)
    return starred(r, module, name)


def final(bindings: Sequence[Binding], body: list[ast.stmt]) -> Sequence[Binding]:
    """The bindings that can hold when a module's or class's body has run to its end."""
    if len(bindings) < 2 or not body:
        return bindings
    stop = end(body[-1])
    certain = max((b.start for b in bindings if b.until >= stop), default=None)
    return [b for b in bindings if certain is None or b.start >= certain]


def starred(r: Resolver, module: Module, name: str) -> Values:
    """A name that only a star import can have brought."""
    if name.startswith("__"):
        return ()
    found: list[Values] = []
    for target, level in module.scope.stars:
        source_name = module.absolute(target, level)
        source = r.project.find(source_name, module.path if level == 0 else "") if source_name else None
        if source is not None:
            if source is not module and not (name.startswith("_") and not _exports(source, name)):
                found.append(member(r, source, name))
        elif level == 0 and name not in _BUILTINS:
            found.append(_external_star(r, source_name, name))
    return union(*found) if found else ()


def _exports(module: Module, name: str) -> bool:
    return any(
        isinstance(binding.node, (ast.List, ast.Tuple))
        and any(isinstance(e, ast.Constant) and e.value == name for e in binding.node.elts)
        for binding in module.scope.bindings.get("__all__", ())
    )


def _external_star(r: Resolver, module: str, name: str) -> Values:
    """`from asyncio import *` brings what the catalogue knows of asyncio, and nothing that we could only guess."""
    full = r.catalogue.canonical(f"{module}.{name}")
    known = r.catalogue.effects(full) or r.catalogue.returns(full) or full in r.catalogue.modules
    return (External(full),) if known else ()


def is_class_name(name: str) -> bool:
    """Whether a dotted name looks like a class: what the last word begins with decides, as PEP 8 has it."""
    last = name.rpartition(".")[2].lstrip("_")
    return last[:1].isupper() and not (last.isupper() and len(last) > 3)


__all__ = ["ClassValue", "bound", "final", "imported", "lookup", "member", "parameter", "reaching", "starred"]
