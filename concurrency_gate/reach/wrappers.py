"""Transactions around whole functions: decorators, and dependencies that a framework enters."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from concurrency_gate.facts import calls
from concurrency_gate.facts.modules import Class, Function
from concurrency_gate.facts.scopes import Scope
from concurrency_gate.facts.uses import frame_at
from concurrency_gate.facts.values import (
    Arguments,
    ClassValue,
    Collection,
    External,
    Frame,
    FunctionValue,
    Instance,
    Object,
    Partial,
    Value,
)

from . import hooks
from .injections import Injections
from .openers import Opener, Openers, opener_of
from .walk import running

if TYPE_CHECKING:
    from concurrency_gate.facts.resolver import Resolver


class Wrappers:
    """Recognises what wraps a function in a transaction; what it takes to open one is asked from
    `Openers`."""

    def __init__(self, resolver: Resolver, openers: Openers) -> None:
        self._resolver = resolver
        self._openers = openers
        self._injections = Injections(resolver, openers)
        self._handlers = resolver.catalogue.words({"handlers"})

    def around(self, function: Function) -> Opener | None:
        """The transaction that a function runs in, by its decorators or by its dependencies."""
        scope = function.scope.parent
        assert scope is not None
        runs_later = (
            function.is_generator
        )  # a decorator's transaction is over when the first element is asked for
        found = None if runs_later else self._decorating(function, scope)
        return found or self._injections.around(function)

    # -- decorators -----------------------------------------------------------------------------------------

    def _decorating(self, function: Function, scope: Scope) -> Opener | None:
        frame = frame_at(self._resolver, scope)
        inner = FunctionValue(function, None, frame)
        for node in getattr(function.node, "decorator_list", ()):
            found = self._handed(node, scope, frame, inner) or self.decorator(node, scope, frame, inner)
            if found is not None:
                return found
        return None

    def _handed(
        self, node: ast.expr, scope: Scope, frame: Frame | None, inner: FunctionValue
    ) -> Opener | None:
        """`@method_decorator(atomic)`: what passes the decorators that it is given on to the function."""
        if not isinstance(node, ast.Call) or not node.args or not self._passes_on(node, scope, frame):
            return None
        return self.decorator(node.args[0], scope, frame, inner)

    def _passes_on(self, node: ast.Call, scope: Scope, frame: Frame | None) -> bool:
        r = self._resolver
        return any(
            isinstance(value, External) and r.catalogue.marks("wraps", value.name)
            for value in r.values(node.func, scope, frame)
        )

    def decorator(
        self, node: ast.expr, scope: Scope, frame: Frame | None, inner: FunctionValue | None = None
    ) -> Opener | None:
        """The transaction that a decorator, bare, called or one of a list, wraps around a function."""
        r = self._resolver
        called = r.values(node.func, scope, frame) if isinstance(node, ast.Call) else ()
        for value in called:
            if isinstance(value, External):
                for entry in r.catalogue.marks("decorators", value.name):
                    return opener_of(entry, value.name)
        for value in _flat(r.values(node, scope, frame)):
            found = self._of_value(value, inner)
            if found is not None:
                return found
        return None

    def _of_value(self, value: Value, inner: FunctionValue | None) -> Opener | None:
        name = ""
        if isinstance(value, External):
            name = value.name
        elif isinstance(value, Object):
            name = value.type.removesuffix("()")
        for entry in self._resolver.catalogue.marks("decorators", name) if name else ():
            return opener_of(entry, name)
        found = self._openers.of_value(value)  # a context manager also decorates
        if (
            found is None
            and inner is not None
            and isinstance(value, (FunctionValue, Instance, Partial, ClassValue))
        ):
            found = self._openers.once(("wrapper", value, inner), lambda: self._calling(value, inner))
        return found

    def _calling(self, decorator: Value, inner: FunctionValue) -> Opener | None:
        """A project decorator whose wrapper calls the function inside a transaction."""
        r = self._resolver
        for made in calls.result(r, decorator, Arguments(((inner,),))):
            methods = r.attribute(made, "__call__") if isinstance(made, Instance) else (made,)
            for method in methods:
                if not isinstance(method, FunctionValue) or method.function is inner.function:
                    continue
                frame = r.frame(method.function, method.receiver, (), method.closure)
                scope = method.function.scope
                for stretch in self._openers.blocks(method.function.body, scope, frame):
                    for visit in running(r, stretch.nodes, scope, frame):
                        if isinstance(visit.node, ast.Call):
                            callees = r.values(visit.node.func, visit.scope, frame)
                            if any(
                                isinstance(c, FunctionValue) and c.function is inner.function for c in callees
                            ):
                                return stretch.opener
        return None

    def on_class(self, cls: Class) -> Iterator[tuple[Opener, str]]:
        """(opener, method) for `@method_decorator(atomic, name="dispatch")` on a class, and for what the
        framework's method of that name calls in turn."""
        r = self._resolver
        scope = cls.scope.parent
        assert scope is not None
        frame = frame_at(r, scope)
        for node in cls.node.decorator_list:
            if not isinstance(node, ast.Call) or not node.args or not self._passes_on(node, scope, frame):
                continue
            given = next((k.value for k in node.keywords if k.arg == "name"), None)
            if given is None and len(node.args) > 1:
                given = node.args[1]
            opener = self.decorator(node.args[0], scope, frame)
            if opener is None or not (isinstance(given, ast.Constant) and isinstance(given.value, str)):
                continue
            run = hooks.run_by(r, cls, [given.value])
            yield from ((opener, function.name) for function in run if function.owner is cls)

    def mixed_in(self, cls: Class) -> Iterator[tuple[Opener, str]]:
        """(opener, method) for what a framework wraps in a transaction where a class below this one has the method from
        here, and the framework's behind it."""
        r = self._resolver
        for name in sorted(self._handlers.intersection(cls.methods)):
            found = (self._handling(below, name, cls) for below in r.classes.subclasses(cls))
            opener = next((each for each in found if each is not None), None)
            if opener is not None:
                yield opener, name

    def _handling(self, cls: Class, name: str, own: Class) -> Opener | None:
        """What opens the transaction around a method that a class has from `own`, in the place of the framework's."""
        r = self._resolver
        is_own = False
        for base in r.classes.order(cls):
            if isinstance(base, Class):
                if not is_own and name in base.member_names:
                    if base is not own:
                        return None
                    is_own = True
                continue
            for entry in r.catalogue.marks("handlers", f"{base}.{name}"):
                return Opener(f"{base}.{name}", entry.library, entry.instead) if is_own else None
        return None

    # -- what other modules may use -------------------------------------------------------------------------

    def exported(self, function: Function) -> bool:
        """Whether entering, decorating with or depending on this function may open a transaction for somebody
        else."""
        if self._injections.around(function) is not None:
            return True
        if not function.is_generator and not calls_back(function):
            return False
        r = self._resolver
        frame = r.default_frame(function)
        scope = function.scope
        for stretch in self._openers.blocks(function.body, scope, frame):
            for visit in running(r, stretch.nodes, scope, frame):
                if isinstance(visit.node, (ast.Yield, ast.YieldFrom)):
                    return True
                called = visit.node.func if isinstance(visit.node, ast.Call) else None
                if isinstance(called, ast.Name) and _is_handed_in(called.id, function):
                    return True
        return False

    def runs_given(self, frame: Frame) -> Iterator[tuple[Opener, ast.Call, Scope]]:
        """The calls that a function makes, in a transaction of its own, of what it is handed."""
        r, function = self._resolver, frame.function
        for stretch in self._openers.blocks(function.body, function.scope, frame):
            for visit in running(r, stretch.nodes, function.scope, frame):
                called = visit.node.func if isinstance(visit.node, ast.Call) else None
                if isinstance(called, ast.Name) and frame.argument(called.id) is not None:
                    assert isinstance(visit.node, ast.Call)
                    yield stretch.opener, visit.node, visit.scope

    def opens(self, cls: Class) -> bool:
        """Whether entering an instance of the class opens a transaction."""
        return self._openers.of_value(Instance(cls, exact=True)) is not None

    def injects(self, node: ast.expr, scope: Scope) -> bool:
        """Whether an annotation, or what registers functions, brings a dependency that opens a transaction."""
        return self._injections.brings(node, scope)


def calls_back(function: Function) -> bool:
    """Whether the function calls something by the name of a parameter, its own or of one around it."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and _is_handed_in(node.func.id, function)
        for node in function.nodes
    )


def _is_handed_in(name: str, function: Function) -> bool:
    current: Function | None = function
    while current is not None:
        if name in current.parameters or any(
            name == argument.arg for argument in current.node.args.kwonlyargs
        ):
            return True
        current = current.parent
    return False


def _flat(values: tuple[Value, ...]) -> Iterator[Value]:
    for value in values:
        if isinstance(value, Collection):
            for items in value.items:
                yield from items
        else:
            yield value
