"""Dependencies that a framework enters around a function, and in which a transaction is open meanwhile."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from concurrency_gate.facts import calls, names
from concurrency_gate.facts.modules import Function
from concurrency_gate.facts.scopes import Binding, Scope
from concurrency_gate.facts.uses import frame_at
from concurrency_gate.facts.values import (
    ClassValue,
    External,
    Frame,
    FunctionValue,
    Instance,
    ModuleValue,
    Suspended,
    Value,
    Values,
)

from .openers import Opener, Openers
from .walk import running

if TYPE_CHECKING:
    from concurrency_gate.facts.resolver import Resolver

_HOPS = 3
"""Through how many names a type alias is followed."""


class _Given(NamedTuple):
    """An expression that may bring a dependency, where it stands, and the type that is annotated there."""

    node: ast.expr
    scope: Scope
    type: ast.expr | None = None


class Injections:
    """What it takes to open a transaction is asked from `Openers`."""

    def __init__(self, resolver: Resolver, openers: Openers) -> None:
        self._resolver = resolver
        self._openers = openers

    def around(self, function: Function) -> Opener | None:
        """A dependency that a framework enters around the function and that yields inside a transaction."""
        if not self._resolver.catalogue.marked("injects") or not isinstance(
            function.node, (ast.FunctionDef, ast.AsyncFunctionDef)
        ):
            return None
        return self._openers.once(("injected", function), lambda: self._first(self._of(function)))

    def brings(self, node: ast.expr, scope: Scope) -> bool:
        """Whether an annotation, or an object that is made with dependencies for all that it registers, brings one
        that opens a transaction."""
        given = _listed(node, scope) if isinstance(node, ast.Call) else self._annotated(node, scope)
        return self._first(given) is not None

    def _first(self, given: Iterator[_Given]) -> Opener | None:
        return next((opener for opener in map(self._dependency, given) if opener is not None), None)

    # -- where dependencies are named -----------------------------------------------------------------------

    def _of(self, function: Function) -> Iterator[_Given]:
        scope = function.scope.parent
        assert scope is not None
        args = function.node.args
        for argument in (*args.posonlyargs, *args.args, *args.kwonlyargs):
            default = function.defaults.get(argument.arg)
            if default is not None:
                yield _Given(default, scope, argument.annotation)
            if argument.annotation is not None:
                yield from self._annotated(argument.annotation, scope)
        for decorator in getattr(function.node, "decorator_list", ()):
            if isinstance(decorator, ast.Call):  # @app.get("/", dependencies=[Depends(...)])
                yield from _listed(decorator, scope)
                if isinstance(decorator.func, ast.Attribute):  # app = FastAPI(dependencies=[...])
                    for binding, where in self._defined(decorator.func.value, scope):
                        if binding.kind == "value" and isinstance(binding.node, ast.Call):
                            yield from _listed(binding.node, where)

    def _annotated(self, node: ast.expr, scope: Scope, hops: int = _HOPS) -> Iterator[_Given]:
        """What an annotation adds to its type, `Annotated[type, these...]`, also under another name."""
        if isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Tuple):
                for each in node.slice.elts[1:]:
                    yield _Given(each, scope, node.slice.elts[0])
        elif hops:
            for binding, where in self._defined(node, scope):
                if binding.kind == "value" and isinstance(
                    binding.node, (ast.Subscript, ast.Name, ast.Attribute)
                ):
                    yield from self._annotated(binding.node, where, hops - 1)

    def _defined(self, node: ast.expr, scope: Scope) -> list[tuple[Binding, Scope]]:
        """The bindings of a name, or of one that a module has."""
        r = self._resolver
        if isinstance(node, ast.Name):
            return names.definitions(r, node.id, scope)
        if isinstance(node, ast.Attribute):
            owners = r.values(node.value, scope, frame_at(r, scope))
            modules = [owner.module for owner in owners if isinstance(owner, ModuleValue)]
            return [each for module in modules for each in names.definitions(r, node.attr, module.scope)]
        return []

    # -- what they open -------------------------------------------------------------------------------------

    def _dependency(self, given: _Given) -> Opener | None:
        r = self._resolver
        node, scope, said = given
        if not isinstance(node, ast.Call):
            return None
        frame = frame_at(r, scope)
        named = r.values(node.func, scope, frame)
        if not any(isinstance(v, External) and r.catalogue.marks("injects", v.name) for v in named):
            return None
        dependencies: Values = ()
        if node.args:
            dependencies = r.values(node.args[0], scope, frame)
        elif said is not None:  # the type itself is what is called
            instances = r.instance_of(said, scope, frame)
            dependencies = tuple(ClassValue(v.cls) for v in instances if isinstance(v, Instance))
        found = map(self._entered_around, dependencies)
        return next((opener for opener in found if opener is not None), None)

    def _entered_around(self, dependency: Value) -> Opener | None:
        """The transaction in which a dependency, a generator function, yields, or one that it depends on in
        turn: where it is a class its constructor does, where it is an instance the call of it."""
        r = self._resolver
        if isinstance(dependency, FunctionValue):
            found = None
            if dependency.function.is_generator:
                found = self._yielding(calls.frame_of(r, dependency, calls.UNKNOWN))
            return found or self.around(dependency.function)
        called: Values = ()
        if isinstance(dependency, ClassValue):
            called = r.attribute(Instance(dependency.cls, exact=True), "__init__")
        elif isinstance(dependency, Instance):
            called = r.attribute(dependency, "__call__")
        found_in = (self._entered_around(v) for v in called if isinstance(v, FunctionValue))
        return next((opener for opener in found_in if opener is not None), None)

    def _yielding(self, frame: Frame) -> Opener | None:
        """The transaction in which a generator yields: its own, or that of one whose values it yields on."""
        passed = ("passed on", frame)
        return self._openers.manager(frame) or self._openers.once(passed, lambda: self._passed_on(frame))

    def _passed_on(self, frame: Frame) -> Opener | None:
        r, scope = self._resolver, frame.function.scope
        for visit in running(r, frame.function.body, scope, frame):
            node = visit.node
            if isinstance(node, ast.YieldFrom):
                source = node.value
            elif isinstance(node, (ast.For, ast.AsyncFor)) and any(
                isinstance(inner.node, ast.Yield) for inner in running(r, node.body, visit.scope, frame)
            ):
                source = node.iter
            else:
                continue
            for value in r.values(source, visit.scope, frame):
                if isinstance(value, Suspended) and value.kind == "generator":
                    found = self._yielding(value.frame)
                    if found is not None:
                        return found
        return None


def _listed(call: ast.Call, scope: Scope) -> Iterator[_Given]:
    """What a call is given in lists."""
    for keyword in call.keywords:
        if isinstance(keyword.value, ast.List):
            yield from (_Given(element, scope) for element in keyword.value.elts)


__all__ = ["Injections"]
