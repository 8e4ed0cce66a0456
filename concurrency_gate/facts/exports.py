"""What a module of the project gives to those who import it: its names, its submodules, its star imports'
names."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import members, names
from .modules import Function, Module
from .scopes import END, START, Position
from .values import ClassValue, Constant, External, ModuleValue, Values, union

if TYPE_CHECKING:
    from .resolver import Resolver

_BUILTINS = frozenset(dir(builtins))


def member(r: Resolver, module: Module, name: str) -> Values:
    """`module.name`, for a module of the project."""
    return r.memoised(("member", module, name), lambda: _member(r, module, name))


def _member(r: Resolver, module: Module, name: str) -> Values:
    bindings = module.scope.bindings.get(name)
    if bindings:
        bindings = list(names.reaching(bindings, module.scope, END))
        later = max(binding.start for binding in bindings)
        own = (names.bound(r, binding, module.scope, None) for binding in bindings)
        return union(*own, starred(r, module, name, later) if module.scope.stars else ())
    if module.is_package:
        inner = r.project.find(f"{module.name}.{name}" if module.name else name)
        if inner is not None:
            return (ModuleValue(inner),)
    return starred(r, module, name) or _made_on_demand(r, module, name)


def classes_named(r: Resolver, dotted: str) -> list[ClassValue]:
    """The project's class of this name, as settings and configurations write it."""
    module, _, word = dotted.rpartition(".")
    found = r.project.find(module, "") if module else None
    return [v for v in member(r, found, word) if isinstance(v, ClassValue)] if found is not None else []


# -- star imports -----------------------------------------------------------------------------------------


def starred(
    r: Resolver, module: Module, name: str, after: Position = START, before: Position = END
) -> Values:
    """What star imports between two places bring under a name."""
    if name.startswith("__"):
        return ()
    found: list[Values] = []
    for target, level, start in module.scope.stars:
        if not after <= start <= before:
            continue
        source = names.source_of(r, module, target, level)
        if source is not None:
            if source is not module and _offers(r, source, name):
                found.append(member(r, source, name))
        elif level == 0 and name not in _BUILTINS:
            found.append(_external_star(r, target, name))
    return union(*found, ())


def _offers(r: Resolver, module: Module, name: str) -> bool:
    """Whether a star import brings the name. An `__all__` that the module changes later counts only for what
    it adds."""
    lists = [
        b.node for b in module.scope.bindings.get("__all__", ()) if isinstance(b.node, (ast.List, ast.Tuple))
    ]
    if any(isinstance(e, ast.Constant) and e.value == name for node in lists for e in node.elts):
        return True
    module.read()
    if len(lists) == 1 and r.project.text(module.path).count(b"__all__") == 1:
        return False
    return not name.startswith("_")


def _external_star(r: Resolver, module: str, name: str) -> Values:
    """`from asyncio import *` brings what the catalogue knows of asyncio, and nothing that we could only
    guess."""
    full = r.catalogue.canonical(f"{module}.{name}")
    known = r.catalogue.is_known(full) or r.catalogue.decorates(full)
    return members.of_library(r, full, External(module)) if known else ()


# -- a module's own __getattr__ (PEP 562) -----------------------------------------------------------------


def _made_on_demand(r: Resolver, module: Module, name: str) -> Values:
    function = _getattr_of(module)
    if function is None or not function.parameters:
        return ()
    parameter = function.parameters[0]
    frame = r.frame(function, None, ((parameter, (Constant(name),)),))
    returned = _returns_for(function.body, parameter, name)
    return union(*(r.values(node, function.scope, frame) for node in returned), ())


def names_on_demand(module: Module) -> set[str]:
    """The strings that a module's `__getattr__` compares with: names that it may give."""
    function = _getattr_of(module)
    parts = ast.walk(function.node) if function is not None else ()
    return {p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)}


def _getattr_of(module: Module) -> Function | None:
    for binding in module.scope.bindings.get("__getattr__", ()):
        if binding.kind == "def":
            return module.function(module.scope_of[id(binding.node)])
    return None


def _returns_for(body: list[ast.stmt], parameter: str, name: str) -> Iterator[ast.expr]:
    """What the statements return when the parameter is this string: an `if` that compares the two is
    decided."""
    for statement in body:
        if isinstance(statement, ast.Return):
            if statement.value is not None:
                yield statement.value
            return
        if isinstance(statement, ast.If):
            verdict = _decided(statement.test, parameter, name)
            if verdict is not False:
                yield from _returns_for(statement.body, parameter, name)
            if verdict is not True:
                yield from _returns_for(statement.orelse, parameter, name)
            elif isinstance(statement.body[-1], (ast.Return, ast.Raise)):
                return
        elif isinstance(statement, (ast.With, ast.Try, ast.For, ast.While)):
            yield from _returns_for(statement.body, parameter, name)


def _decided(test: ast.expr, parameter: str, name: str) -> bool | None:
    """Whether `parameter == "x"`, or `parameter in ("x", "y")`, is true for the name; None for any other
    test."""
    if not (isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == parameter):
        return None
    other = test.comparators[0]
    if isinstance(test.ops[0], ast.Eq) and isinstance(other, ast.Constant):
        return bool(other.value == name)
    if isinstance(test.ops[0], ast.In) and isinstance(other, (ast.Tuple, ast.List, ast.Set)):
        return any(isinstance(e, ast.Constant) and e.value == name for e in other.elts)
    return None
