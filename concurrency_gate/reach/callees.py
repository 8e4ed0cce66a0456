"""What calling a value leads to: functions of the project, and effects of the catalogue."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from concurrency_gate.facts import calls, descriptors, members, rows
from concurrency_gate.facts.conditions import holds
from concurrency_gate.facts.modules import Class
from concurrency_gate.facts.values import (
    Arguments,
    ClassValue,
    Collection,
    Constant,
    External,
    Frame,
    FunctionValue,
    Instance,
    Object,
    Partial,
    Suspended,
    Value,
    Values,
)

from . import settings
from .signals import Signals

if TYPE_CHECKING:
    from concurrency_gate.catalogue import Condition, Entry, Shape
    from concurrency_gate.facts.resolver import Resolver

Target = Frame | tuple["Entry", str]
"""Where an edge leads: a function of the project as this call runs it, or an effect with the name that has
it."""


class Callees:
    """Asked for each call; keeps nothing."""

    def __init__(self, resolver: Resolver, kinds: frozenset[str]) -> None:
        self._resolver = resolver
        self._kinds = kinds
        self._signals = Signals(resolver)

    def of_value(
        self, callee: Value, given: Arguments, node: ast.Call, kept: bool, owners: Values = ()
    ) -> Iterator[Target]:
        """`owners` is what the called method is read from: a signal keeps its name there."""
        r = self._resolver
        if isinstance(callee, FunctionValue):
            function = callee.function
            suspends = function.is_async or function.is_generator
            if callee.role == "manager" or (suspends and kept):
                return
            yield calls.frame_of(r, callee, given)
        elif isinstance(callee, ClassValue):
            yield from self._construction(callee, given, node)
        elif isinstance(callee, Instance):
            methods = r.attribute(callee, "__call__")
            for method in methods:
                yield from self.of_value(method, given, node, kept)
            own = any(isinstance(method, FunctionValue) for method in methods)
            if isinstance(callee.item, FunctionValue) and not own:
                yield from self.of_value(
                    callee.item, given, node, kept
                )  # a task: what its decorator was given
        elif isinstance(callee, Partial):
            yield from self.of_value(callee.target, calls.merged(callee.arguments, given), node, kept)
        elif isinstance(callee, Object):
            name = f"{callee.type}.__call__"
            found = [*self.effects(name, node), *self.in_turn(External(name, callee), given, node)]
            yield from found
            for entry in r.catalogue.marks("runs", name):
                yield from self.of_argument(entry.argument, given, node)
            if callee.runs is not None and not found:
                yield from self.of_value(callee.runs, given, node, kept)
        elif isinstance(callee, External):
            yield from self._external(callee, given, node, owners)

    def _construction(self, callee: ClassValue, given: Arguments, node: ast.Call) -> Iterator[Target]:
        r = self._resolver
        exact = Instance(callee.cls, exact=True)
        for name in ("__new__", "__init__", "__post_init__"):
            for method in r.attribute(exact, name):
                if isinstance(method, FunctionValue):
                    yield calls.frame_of(r, method, given)
                elif isinstance(method, External) and name == "__init__":
                    yield from self.effects(method.name.removesuffix(".__init__"), node)

    def _external(
        self, callee: External, given: Arguments, node: ast.Call, owners: Values
    ) -> Iterator[Target]:
        catalogue = self._resolver.catalogue
        name = callee.name
        if catalogue.marks("defers", name):
            return
        called = list(self.in_turn(callee, given, node))
        chosen = any(
            not (isinstance(by, Object) and f"{by.type}.{link.method}" == name)
            for link in catalogue.calls(name)
            for by in (
                self._receivers(link.receiver, callee, given) if link.receiver.name == "setting" else ()
            )
        )
        own = list(self.effects(name, node))
        if chosen or any(isinstance(target, Frame) for target in called):
            yield from called  # a library's method that ends in one of ours, or of our choice, does what that does
            yield from (effect for effect in own if effect[0].kind == "wait")
        else:
            yield from own or called
        for entry in catalogue.marks("runs", name) or self._handed_over(name):
            yield from self.of_argument(entry.argument, given, node)
        if catalogue.marks("consumes", name):
            for values in given.positional:
                yield from (v.frame for v in values if isinstance(v, Suspended) and v.kind == "generator")
        for signal in catalogue.fires(name):
            by = descriptors.item(self._resolver, callee.receiver) or callee.receiver
            yield from self._signals.fired(signal, self._comes_from(callee), by)
        if catalogue.marks("sends", name):
            for owner in owners:
                yield from self._signals.sent(owner, given)

    def _handed_over(self, name: str) -> tuple[Entry, ...]:
        """What runs a callable in a transaction of its own; not what runs methods and receivers that are known."""
        catalogue = self._resolver.catalogue
        return () if catalogue.calls(name) or catalogue.fires(name) else catalogue.marks("transacts", name)

    def _comes_from(self, callee: External) -> Callable[[Value], bool]:
        """Whether the call may send a library's signal for a class: that of its receiver, or one below that,
        unless it has the method itself and does not come here."""
        r = self._resolver
        receiver = descriptors.item(r, callee.receiver) or callee.receiver
        if not isinstance(receiver, (Instance, ClassValue)):
            return lambda _: False
        cls = receiver.cls
        exact = isinstance(receiver, Instance) and receiver.exact
        method = callee.name.rpartition(".")[2]

        def comes(sender: Value) -> bool:
            if not isinstance(sender, ClassValue) or sender.cls is cls:
                return isinstance(sender, ClassValue)
            return not exact and r.classes.derives(sender.cls, cls) and _passes_on(r, sender.cls, cls, method)

        return comes

    def in_turn(self, callee: External, given: Arguments, node: ast.Call) -> Iterator[Target]:
        """The methods that a library's method calls, where the project has its own."""
        r = self._resolver
        for link in r.catalogue.calls(callee.name):
            if link.unless is not None and _holds(link.unless, node, given):
                continue
            handed = calls.UNKNOWN
            if link.keywords is not None:
                handed = Arguments(keywords=tuple((name, ()) for name in link.keywords))
            for receiver in self._receivers(link.receiver, callee, given):
                by = rows.made(r, receiver, callee.name, given)
                for value in r.attribute(by, link.method):
                    if isinstance(value, FunctionValue) or (
                        isinstance(value, External) and value.name != callee.name
                    ):
                        yield from self.of_value(value, handed, node, False)

    def _receivers(self, shape: Shape, callee: External, given: Arguments) -> Values:
        if shape.name == "setting":
            return settings.instances(self._resolver, shape.parameters[0].name)
        found = members.shaped(self._resolver, shape, callee.receiver, given.positional)
        if shape.name != "attribute":
            return found
        return tuple(each for value in found for each in members.instances_of(value) or (value,))

    def of_argument(self, index: int, given: Arguments, node: ast.Call) -> Iterator[Target]:
        """What a callable or coroutine that is handed over, and run before the call returns, leads to."""
        chosen = given.positional if index < 0 else given.positional[index : index + 1]
        chosen = chosen or tuple(values for _, values in given.keywords)
        rest = Arguments(given.positional[index + 1 :], given.keywords) if index >= 0 else calls.UNKNOWN
        made_here = _makes_coroutines(node)
        for values in (*chosen, given.rest if index < 0 else ()):
            for value in values:
                for each in value.items[0] if isinstance(value, Collection) and value.items else (value,):
                    if isinstance(each, Suspended):
                        if not made_here:
                            yield each.frame
                    elif isinstance(each, (FunctionValue, Partial, Instance, Object, External)):
                        yield from self.of_value(each, rest, node, False)

    def effects(self, name: str, node: ast.expr) -> Iterator[tuple[Entry, str]]:
        for entry in self._resolver.catalogue.effects(name):
            if entry.kind in self._kinds and (
                entry.when is None or (isinstance(node, ast.Call) and holds(entry.when, node))
            ):
                yield (entry, name)


def _holds(condition: Condition, node: ast.Call, given: Arguments) -> bool:
    """Whether a call gives what a condition wants: as a literal, or as what is known of a name."""
    values = given.keyword(condition.parameter)
    if condition.position is not None and not values:
        values = next(iter(given.positional[condition.position : condition.position + 1]), ())
    known = bool(values) and all(isinstance(v, Constant) and v.value == condition.value for v in values)
    return holds(condition, node) or (condition.equal and known)


def _makes_coroutines(node: ast.Call) -> bool:
    """Whether what the call is handed is made in its brackets: the call that makes a coroutine tells what it runs."""
    given = [argument.value if isinstance(argument, ast.Starred) else argument for argument in node.args]
    return bool(given) and all(isinstance(g, (ast.Call, ast.ListComp, ast.GeneratorExp)) for g in given)


def _passes_on(r: Resolver, cls: Class, above: Class, method: str) -> bool:
    """Whether the class's method, where it has its own, calls the one that it overrides."""
    for base in r.classes.order(cls):
        if base is above:
            return True
        if isinstance(base, Class):
            for own in base.methods.get(method, ()):
                if not any(isinstance(node, ast.Call) and _is_super(node, method) for node in own.nodes):
                    return False
    return True


def _is_super(node: ast.Call, method: str) -> bool:
    func = node.func
    if not (isinstance(func, ast.Attribute) and func.attr == method and isinstance(func.value, ast.Call)):
        return False
    return isinstance(func.value.func, ast.Name) and func.value.func.id == "super" and not func.value.args
