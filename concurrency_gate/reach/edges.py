"""What each place in a body leads to: functions of the project, and effects of the catalogue."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from concurrency_gate.catalogue_format import SPAWNS
from concurrency_gate.facts import calls, descriptors, members, names, rows
from concurrency_gate.facts.conditions import holds
from concurrency_gate.facts.dependencies import Answers
from concurrency_gate.facts.modules import Class, Function
from concurrency_gate.facts.scopes import Position, Scope, end, position
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
from .layout import Guard, laid_out
from .signals import Signals
from .walk import Visit, running

if TYPE_CHECKING:
    from concurrency_gate.catalogue import Entry, Shape
    from concurrency_gate.facts.resolver import Resolver

Target = Frame | tuple["Entry", str]
"""Where an edge leads: a function of the project as this call runs it, or an effect with the name that has
it."""

_ENTERING = ("enter_context", "enter_async_context")

_KEPT = (ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.Return, ast.Yield)
"""Parents that keep a coroutine or generator for later: the body does not run here."""


@dataclass(frozen=True, eq=False)
class Edge:
    """A place in a body and all that it may lead to. `resolved` is false for a call of which nothing is
    known; `raises` says that the code around it ends in `raise`; `unsure` are the tests and handlers around it that may
    be taken or not, and `ways` what each of several functions leads to of which the call runs one."""

    node: ast.expr
    targets: tuple[Target, ...]
    resolved: bool
    is_call: bool
    raises: bool = False
    unsure: tuple[Guard, ...] = ()
    ways: tuple[tuple[Target, ...], ...] = ()

    @property
    def start(self) -> Position:
        return position(self.node)

    @property
    def end(self) -> Position:
        return end(self.node)

    @cached_property
    def text(self) -> str:
        """What is called, for a chain's step: short, and in one line."""
        text = ast.unparse(self.node)
        return text if len(text) <= 60 else f"...{text[-57:]}"


class Edges:
    """Computes edges on demand, each body once."""

    def __init__(self, resolver: Resolver, kinds: frozenset[str]) -> None:
        self._resolver = resolver
        self._kinds = kinds
        self._known: Answers[Frame, tuple[Edge, ...]] = Answers(resolver.project.dependencies)
        self.signals = Signals(resolver)

    def of_frame(self, frame: Frame) -> tuple[Edge, ...]:
        """The edges out of a function's body."""
        return self._known.once(frame, lambda: self._of_frame(frame), ())

    def _of_frame(self, frame: Frame) -> tuple[Edge, ...]:
        edges = tuple(self.of_nodes(frame.function.body, frame.function.scope, frame))
        return tuple(map(_without_waits, edges)) if _retries(frame.function) else edges

    def of_nodes(self, roots: Sequence[ast.AST], scope: Scope, frame: Frame | None) -> Iterator[Edge]:
        """The edges out of these nodes, in the order of the text."""
        for visit in running(self._resolver, roots, scope, frame):
            edge = self._edge(visit, frame)
            if edge is not None:
                yield edge

    def _edge(self, visit: Visit, frame: Frame | None) -> Edge | None:
        node, scope = visit.node, visit.scope
        if isinstance(node, ast.Call):
            callees = self._resolver.values(node.func, scope, frame)
            ways = list(self._call(node, visit.parent, callees, scope, frame))
            if isinstance(node.func, ast.Attribute) and node.func.attr in _ENTERING and node.args:
                asynchronous = node.func.attr != "enter_context"
                ways = [tuple(self._entered(node.args[0], asynchronous, scope, frame))]
            targets = _once(target for way in ways for target in way)
            several = tuple(ways) if len(ways) > 1 else ()
            return Edge(node.func, targets, bool(callees), True, visit.raises, visit.unsure, several)
        place: ast.expr
        if isinstance(node, ast.Await):
            place, found = node.value, self._suspended(node.value, "coroutine", scope, frame)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            place, found = node.iter, self._iteration(node.iter, scope, frame)
        elif isinstance(node, ast.YieldFrom):
            place, found = node.value, self._iteration(node.value, scope, frame)
        elif isinstance(node, ast.withitem):
            place, found = node.context_expr, self._entering(node, visit.parent, scope, frame)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            if node.attr not in self._resolver.project.property_names:
                return None
            place, found = node, self._property(node, scope, frame)
        else:
            return None
        targets = _once(found)
        if isinstance(place, ast.Call):
            place = place.func  # where the call's own edge stands: to a reader they are one
        return Edge(place, targets, True, False, visit.raises, visit.unsure) if targets else None

    # -- calls -------------------------------------------------------------------------------------------

    def _call(
        self, node: ast.Call, parent: ast.AST | None, callees: Values, scope: Scope, frame: Frame | None
    ) -> Iterator[tuple[Target, ...]]:
        """What each of the functions leads to of which the call runs one."""
        given = self._resolver.arguments(node, scope, frame) if callees else calls.NOTHING
        kept = isinstance(parent, _KEPT) or self._is_handed_on(node, parent, scope, frame)
        func = node.func
        owners = self._resolver.values(func.value, scope, frame) if isinstance(func, ast.Attribute) else ()
        for callee in (
            c for c in callees if not isinstance(c, Constant)
        ):  # None, until something is put there
            settled = rows.settled(self._resolver, callee, node, scope)
            yield _once(self._callee(settled, given, node, kept, owners))

    def _is_handed_on(
        self, node: ast.Call, parent: ast.AST | None, scope: Scope, frame: Frame | None
    ) -> bool:
        """Whether a coroutine is handed to what starts it beside the code that goes on, or a generator to a function of
        the project, which tells where it is run."""
        if not isinstance(parent, ast.Call) or node is parent.func:
            return False
        r = self._resolver
        takers = r.values(parent.func, scope, frame)
        if any(
            isinstance(value, External)
            and any(entry.kind in SPAWNS for entry in r.catalogue.effects(value.name))
            for value in takers
        ):
            return True
        made = r.values(node.func, scope, frame)
        generates = any(isinstance(value, FunctionValue) and value.function.is_generator for value in made)
        return generates and bool(takers) and all(map(_keeps_generators, takers))

    def _callee(
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
                yield from self._callee(method, given, node, kept)
            if isinstance(callee.item, FunctionValue) and not any(
                isinstance(m, FunctionValue) for m in methods
            ):
                yield from self._callee(
                    callee.item, given, node, kept
                )  # a task: what its decorator was given
        elif isinstance(callee, Partial):
            yield from self._callee(callee.target, calls.merged(callee.arguments, given), node, kept)
        elif isinstance(callee, Object):
            found = list(self._effects(f"{callee.type}.__call__", node))
            yield from found
            if callee.runs is not None and not found:
                yield from self._callee(callee.runs, given, node, kept)
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
                    yield from self._effects(method.name.removesuffix(".__init__"), node)

    def _external(
        self, callee: External, given: Arguments, node: ast.Call, owners: Values
    ) -> Iterator[Target]:
        catalogue = self._resolver.catalogue
        name = callee.name
        if catalogue.marks("defers", name):
            return
        called = list(self._called_in_turn(callee, given, node))
        chosen = any(link.receiver.name == "setting" for link in catalogue.calls(name))
        own = list(self._effects(name, node))
        if called and (chosen or any(isinstance(target, Frame) for target in called)):
            yield from called  # a library's method that ends in one of ours, or of our choice, does what that does
            yield from (effect for effect in own if effect[0].kind == "wait")
        else:
            yield from own or called
        for entry in catalogue.marks("runs", name) or self._handed_over(name):
            yield from self._run_argument(entry.argument, given, node)
        for signal in catalogue.fires(name):
            by = descriptors.item(self._resolver, callee.receiver) or callee.receiver
            yield from self.signals.fired(signal, self._comes_from(callee), by)
        if catalogue.marks("sends", name):
            for owner in owners:
                yield from self.signals.sent(owner, given)

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

    def _called_in_turn(self, callee: External, given: Arguments, node: ast.Call) -> Iterator[Target]:
        """The methods that a library's method calls, where the project has its own."""
        r = self._resolver
        for link in r.catalogue.calls(callee.name):
            if link.unless is not None and holds(link.unless, node):
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
                        yield from self._callee(value, handed, node, False)

    def _receivers(self, shape: Shape, callee: External, given: Arguments) -> Values:
        if shape.name == "setting":
            return settings.instances(self._resolver, shape.parameters[0].name)
        found = members.shaped(self._resolver, shape, callee.receiver, given.positional)
        if shape.name != "attribute":
            return found
        return tuple(each for value in found for each in members.instances_of(value) or (value,))

    def _run_argument(self, index: int, given: Arguments, node: ast.Call) -> Iterator[Target]:
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
                        yield from self._callee(each, rest, node, False)

    def _effects(self, name: str, node: ast.expr) -> Iterator[tuple[Entry, str]]:
        for entry in self._resolver.catalogue.effects(name):
            if entry.kind in self._kinds and (
                entry.when is None or (isinstance(node, ast.Call) and holds(entry.when, node))
            ):
                yield (entry, name)

    # -- what runs a body without a call -----------------------------------------------------------------

    def _suspended(self, node: ast.expr, kind: str, scope: Scope, frame: Frame | None) -> Iterator[Target]:
        for value in self._resolver.values(node, scope, frame):
            if isinstance(value, Suspended) and value.kind == kind:
                yield value.frame

    def _iteration(self, node: ast.expr, scope: Scope, frame: Frame | None) -> Iterator[Target]:
        for value in self._resolver.values(node, scope, frame):
            if isinstance(value, Suspended) and value.kind == "generator":
                yield value.frame
            elif isinstance(value, Instance):
                yield from self._methods(value, ("__iter__", "__next__", "__aiter__", "__anext__"))

    def _entering(
        self, item: ast.withitem, around: ast.AST | None, scope: Scope, frame: Frame | None
    ) -> Iterator[Target]:
        node = item.context_expr
        yield from self._entered(node, isinstance(around, ast.AsyncWith), scope, frame)
        entered = any(isinstance(value, Object) for value in self._resolver.values(node, scope, frame))
        if (
            entered
            and isinstance(item.optional_vars, ast.Name)
            and isinstance(around, (ast.With, ast.AsyncWith))
        ):
            yield from self._joined(item.optional_vars.id, around.body, scope, frame)

    def _entered(
        self, node: ast.expr, asynchronous: bool, scope: Scope, frame: Frame | None
    ) -> Iterator[Target]:
        """What entering and leaving a context runs."""
        for value in self._resolver.values(node, scope, frame):
            if isinstance(value, Suspended) and value.kind == "manager":
                yield value.frame
            elif isinstance(value, Instance):
                yield from self._methods(value, ("__enter__", "__exit__", "__aenter__", "__aexit__"))
            elif isinstance(value, Object):
                prefix = "__a" if asynchronous else "__"
                for name in (f"{value.type}.{prefix}enter__", f"{value.type}.{prefix}exit__"):
                    yield from self._effects(name, node)
                    if isinstance(node, ast.Call):
                        yield from self._called_in_turn(External(name, value), calls.NOTHING, node)

    def _joined(self, name: str, body: list[ast.stmt], scope: Scope, frame: Frame | None) -> Iterator[Target]:
        """What is handed to a pool or group in the block that it is entered for, and has run when that is left."""
        r = self._resolver
        for visit, _ in laid_out(r, body, scope):
            func = visit.node.func if isinstance(visit.node, ast.Call) else None
            if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == name:
                assert isinstance(visit.node, ast.Call)
                for method in r.values(func, visit.scope, frame):
                    for entry in (
                        r.catalogue.marks("joins", method.name) if isinstance(method, External) else ()
                    ):
                        given = r.arguments(visit.node, visit.scope, frame)
                        yield from self._run_argument(entry.argument, given, visit.node)

    def _methods(self, value: Instance, names: Iterable[str]) -> Iterator[Target]:
        for name in names:
            for method in self._resolver.attribute(value, name):
                if isinstance(method, FunctionValue):
                    yield calls.frame_of(self._resolver, method, calls.NOTHING)

    def _property(self, node: ast.Attribute, scope: Scope, frame: Frame | None) -> Iterator[Target]:
        r = self._resolver
        for owner in r.values(node.value, scope, frame):
            if isinstance(owner, Instance):
                for getter in members.property_getters(r, owner, node.attr):
                    yield calls.frame_of(r, getter, calls.NOTHING)


def _retries(function: Function) -> bool:
    """Whether this is the inside of a decorator that calls what it wraps until that raises nothing. It pauses only
    after a failure: what failed is told for what it does itself, and a transaction in which it was the database that
    failed is over."""
    around = function.parent
    if around is None:
        return False
    loops = [node for node in function.nodes if isinstance(node, (ast.While, ast.For, ast.AsyncFor))]
    tries = [node for loop in loops for node in ast.walk(loop) if isinstance(node, ast.Try)]
    called = {
        node.func.id
        for attempt in tries
        for statement in attempt.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    return bool(called & set(around.parameters))


def _without_waits(edge: Edge) -> Edge:
    def kept(targets: tuple[Target, ...]) -> tuple[Target, ...]:
        return tuple(t for t in targets if isinstance(t, Frame) or t[0].kind != "wait")

    return replace(edge, targets=kept(edge.targets), ways=tuple(map(kept, edge.ways)))


def _keeps_generators(taker: Value) -> bool:
    """Whether what is handed a generator does not run it, or tells itself where it does: a function of the project, or a
    class of a library's, as of a response that is streamed later."""
    if isinstance(taker, External):
        return names.is_class_name(taker.name) and not taker.name.startswith(("builtins.", "collections."))
    return isinstance(taker, FunctionValue)


def _makes_coroutines(node: ast.Call) -> bool:
    """Whether what the call is handed is made in its brackets: the call that makes a coroutine tells what it runs."""
    given = [argument.value if isinstance(argument, ast.Starred) else argument for argument in node.args]
    return bool(given) and all(isinstance(g, (ast.Call, ast.ListComp, ast.GeneratorExp)) for g in given)


def _once(targets: Iterable[Target]) -> tuple[Target, ...]:
    return tuple(dict.fromkeys(targets))


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
