"""What a bare name stands for: bindings, imports, parameters, and which binding holds where."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from . import containers, decorators, exports, hints, members, registered
from .modules import Module
from .scopes import END, Binding, Position, Scope, position
from .values import (
    SOMETHING,
    ClassValue,
    Collection,
    Constant,
    External,
    Frame,
    ModuleValue,
    Object,
    Value,
    Values,
    one_of,
    union,
)

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
            elif current.kind == "module" and len(bindings) > 1:
                bindings = reaching(bindings, current, END)  # functions run when their module is complete
            if bindings:
                return _together(r, node, bindings, current, frame, here)
        if current.kind in ("function", "lambda"):
            frame = frame.closure if frame is not None else None
            here = False
        elif current.kind != "comprehension":
            here = False
        current = current.parent
    return exports.starred(r, scope.module, node.id) or _implicit(scope.module, node.id)


def _together(
    r: Resolver, node: ast.Name, bindings: Sequence[Binding], scope: Scope, frame: Frame | None, here: bool
) -> Values:
    """What several bindings give a name, with what its declaration says and what star imports bring after
    them."""
    ways = [(binding.kind, bound(r, binding, scope, frame)) for binding in bindings]
    found = one_of(*(values for kind, values in ways if values or kind != "annotation"))
    if not says_enough(r, found):
        declared = (b.annotation for b in scope.bindings[node.id] if b.kind == "annotation" and b.annotation)
        found = union(*(r.instance_of(annotation, scope, frame) for annotation in declared), found)
    if scope.stars and scope.kind == "module":
        later = max(binding.start for binding in bindings)
        until = position(node) if here else END
        found = union(found, exports.starred(r, scope.module, node.id, later, until))
    return found


def _implicit(module: Module, name: str) -> Values:
    """What Python binds in every module."""
    if name in _BUILTINS and not name.startswith("__"):
        return (External(f"builtins.{name}"),)
    if name == "__name__":
        return (Constant(module.name),)
    if name == "__package__":
        return (Constant(module.name if module.is_package else module.name.rpartition(".")[0]),)
    return (External(f"builtins.{name}"),) if name in _BUILTINS else ()


def reaching(bindings: Sequence[Binding], scope: Scope, at: Position) -> Sequence[Binding]:
    """The bindings that can hold at a place: the last one that must have run before it, those in branches
    since, and those further down in a loop around it."""
    before = [b for b in bindings if b.start <= at]
    certain = max((b.start for b in before if b.until >= at and not b.elsewhere), default=None)
    held = [b for b in bindings if b.elsewhere or (b.start <= at and (certain is None or b.start >= certain))]
    for b in bindings:
        if b.start <= at or b.elsewhere:
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
        return decorators.decorated(r, function, scope, frame)
    if kind == "class":
        return (ClassValue(scope.module.cls(scope.module.scope_of[id(node)])),)
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
            found = containers.filled(r, found, binding.name, scope, frame)
            found = registered.with_calls(r, found, binding.name, scope, frame)
            if scope.kind == "module":
                if not says_enough(r, found):
                    found = _set_up(r, node, binding.name, scope) or found
                kept = f"{scope.module.name}.{binding.name}"
                found = tuple(
                    replace(v, name=kept) if isinstance(v, Object) and not v.name else v for v in found
                )
        if binding.annotation is not None and not says_enough(r, found):
            found = _declared(r, binding.annotation, scope, frame) or found
        return found
    if kind == "annotation" and binding.annotation is not None:
        return _declared(r, binding.annotation, scope, frame)
    return ()


def _set_up(r: Resolver, node: ast.expr, name: str, scope: Scope) -> Values:
    """What a module hands to an unknown function of a library for a new value of the same name, `app = setup(app)`:
    such a function gives back what it is given, or what looks like it."""
    if isinstance(node, ast.Call) and node.args:
        first = node.args[0]
        if isinstance(first, ast.Name) and first.id == name:
            return r.values(first, scope, None)
    return ()


def _declared(r: Resolver, annotation: ast.expr, scope: Scope, frame: Frame | None) -> Values:
    """What an annotation says; in a class only a receiver can say what its type variables are."""
    if scope.kind == "class":
        return hints.instances(r, annotation, scope, frame)
    return r.instance_of(annotation, scope, frame)


def says_enough(r: Resolver, values: Sequence[Value]) -> bool:
    """Whether values say more than an annotation can."""
    return any(not _says_little(r, value) for value in values)


def _says_little(r: Resolver, value: Value) -> bool:
    """None, an empty collection, or what an unknown function or attribute of a library gave."""
    if isinstance(value, Collection):
        return not any(value.items)
    if isinstance(value, External):
        return (
            "." in value.name
            and not value.name.startswith("builtins.")
            and not r.catalogue.is_known(value.name)
        )
    return isinstance(value, Constant) or (isinstance(value, Object) and value.type.endswith("()"))


def parameter(r: Resolver, binding: Binding, scope: Scope, frame: Frame | None) -> Values:
    """An argument, where the frame knows it; else what the annotation or the default says."""
    function = scope.module.function(scope)
    node = binding.node
    assert isinstance(node, ast.arg)
    if frame is None or frame.function is not function:
        frame = r.default_frame(function)
    given = frame.argument(node.arg)
    if given is not None and given != (SOMETHING,):
        return given
    if node.arg == function.receiver_name and frame.receiver is not None:
        return (frame.receiver,)
    if binding.annotation is not None:
        found = r.instance_of(binding.annotation, scope.parent or scope, frame.closure, frame)
        if found and node is function.node.args.vararg:
            return (Collection((found,)),)
        if found and node is function.node.args.kwarg:
            return (Collection((found,), (None,)),)
        if found:
            return found
    default = function.defaults.get(node.arg)
    if default is None or isinstance(default, ast.Constant):
        return given or ()
    return r.values(default, scope.parent or scope, frame.closure)


def imported(r: Resolver, module: Module, name: str) -> Values:
    """The module that `import name` binds."""
    found = r.project.find(name, module.path)
    if found is not None:
        return (ModuleValue(found),)
    return (External(r.catalogue.canonical(name)),)


def imported_from(r: Resolver, module: Module, target: str, level: int, item: str) -> Values:
    """What `from target import item` binds."""
    source = source_of(r, module, target, level)
    if source is not None:
        found = exports.member(r, source, item)
        inner = r.project.find(f"{source.name}.{item}") if source.is_package and not found else None
        return (
            (ModuleValue(inner),) if inner is not None else found
        )  # `from . import part`, in the package itself
    if level:
        return ()
    return members.of_library(r, f"{target}.{item}", External(target))


def holder(name: str, scope: Scope) -> Scope | None:
    """The scope that binds a name which is read in this one."""
    current: Scope | None = scope
    while current is not None and (
        name not in current.bindings or (current.kind == "class" and current is not scope)
    ):
        current = current.parent
    return current


def definitions(r: Resolver, name: str, scope: Scope, hops: int = 8) -> list[tuple[Binding, Scope]]:
    """The bindings that a name goes back to, through imports, each with the scope it stands in."""
    current = holder(name, scope)
    if current is None:
        return []
    found: list[tuple[Binding, Scope]] = []
    for binding in current.bindings[name]:
        if binding.kind != "from":
            found.append((binding, current))
            continue
        source = source_of(r, scope.module, binding.target, binding.level)
        if source is not None and hops:
            found += definitions(r, binding.item or "", source.scope, hops - 1)
    return found


def source_of(r: Resolver, module: Module, target: str, level: int) -> Module | None:
    """The project's module that `from target import ...` reads."""
    name = module.absolute(target, level)
    return r.project.find(name, module.path if level == 0 else "") if name else None


def is_class_name(name: str) -> bool:
    """Whether a dotted name looks like a class: what the last word begins with decides, as PEP 8 has it."""
    last = name.rpartition(".")[2].lstrip("_")
    return last[:1].isupper() and not (last.isupper() and len(last) > 3)
