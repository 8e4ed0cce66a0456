"""What each place in a body leads to: functions of the project, and effects of the catalogue."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from concurrency_gate.catalogue_format import SPAWNS
from concurrency_gate.facts import calls, members, names, rows
from concurrency_gate.facts.dependencies import Answers
from concurrency_gate.facts.modules import Function
from concurrency_gate.facts.scopes import Position, Scope, end, position
from concurrency_gate.facts.values import (
    ClassValue,
    Constant,
    External,
    Frame,
    FunctionValue,
    Instance,
    Object,
    Suspended,
    Value,
    Values,
)

from .callees import Callees, Target
from .layout import Guard
from .narrow import narrowed
from .walk import Visit, running

if TYPE_CHECKING:
    from concurrency_gate.facts.resolver import Resolver

_ENTERING = ("enter_context", "enter_async_context")
"""Methods that enter what they are given, and leave it with their own block."""

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
        self._callees = Callees(resolver, kinds)
        self._known: Answers[Frame, tuple[Edge, ...]] = Answers(resolver.project.dependencies)

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
            if isinstance(visit.node, ast.withitem):
                yield from self._joined(visit, frame)

    def _edge(self, visit: Visit, frame: Frame | None) -> Edge | None:
        node, scope = visit.node, visit.scope
        if isinstance(node, ast.Call):
            callees = self._resolver.values(node.func, scope, frame)
            callees = narrowed(self._resolver, callees, node.func, visit.unsure, scope, frame)
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
            place, found = (
                node.context_expr,
                self._entered(node.context_expr, isinstance(visit.parent, ast.AsyncWith), scope, frame),
            )
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
        for callee in callees:
            if isinstance(callee, Constant):
                continue  # None, until something is put there
            settled = rows.settled(self._resolver, callee, node, scope)
            yield _once(self._callees.of_value(settled, given, node, kept, owners))

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
            elif isinstance(value, Object):
                for name in ("__iter__", "__aiter__"):
                    yield from self._callees.effects(f"{value.type}.{name}", node)

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
                    yield from self._callees.effects(name, node)
                    if isinstance(node, ast.Call):
                        yield from self._callees.in_turn(External(name, value), calls.NOTHING, node)

    def _joined(self, visit: Visit, frame: Frame | None) -> Iterator[Edge]:
        """What is handed to a pool or group in the block that it is entered for, and has run when that is left."""
        r, around = self._resolver, visit.parent
        assert isinstance(visit.node, ast.withitem)
        entered = visit.node.optional_vars
        if not isinstance(around, (ast.With, ast.AsyncWith)) or not isinstance(entered, ast.Name):
            return
        values = r.values(visit.node.context_expr, visit.scope, frame)
        if not any(isinstance(value, Object) for value in values):
            return
        for inner in running(r, around.body, visit.scope, frame):
            call = inner.node
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                continue
            if isinstance(call.func.value, ast.Name) and call.func.value.id == entered.id:
                targets = _once(self._handed_over(call, inner.scope, frame))
                if targets:
                    yield Edge(call.func, targets, True, False, inner.raises, inner.unsure)

    def _handed_over(self, call: ast.Call, scope: Scope, frame: Frame | None) -> Iterator[Target]:
        r = self._resolver
        for method in r.values(call.func, scope, frame):
            for entry in r.catalogue.marks("joins", method.name) if isinstance(method, External) else ():
                given = r.arguments(call, scope, frame)
                yield from self._callees.of_argument(entry.argument, given, call)

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
    """Whether what is handed a generator does not run it, or tells itself where it does: a function or class of the
    project, or a class of a library's, as of a response that is streamed later."""
    if isinstance(taker, External):
        return names.is_class_name(taker.name) and not taker.name.startswith(("builtins.", "collections."))
    return isinstance(taker, (FunctionValue, ClassValue))


def _once(targets: Iterable[Target]) -> tuple[Target, ...]:
    return tuple(dict.fromkeys(targets))
