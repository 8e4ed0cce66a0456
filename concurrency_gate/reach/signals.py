"""Who listens to a signal: receivers that the project registers, by decorator or by a call."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from concurrency_gate.facts import calls, labels
from concurrency_gate.facts.index import Index
from concurrency_gate.facts.modules import Function, Module
from concurrency_gate.facts.scopes import Scope
from concurrency_gate.facts.uses import frame_at
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
    Value,
    Values,
    union,
)
from concurrency_gate.facts.walk import branches

if TYPE_CHECKING:
    from concurrency_gate.facts.resolver import Resolver

HOPS = 2
"""How many calls deep the functions are that register what they are given."""

MANY = 40
"""A function whose name more files hold than this registers nothing for its callers."""

Registration = tuple[Values | None, FunctionValue]
"""Senders and receiver; None means all senders, none at all that they are not known."""


class Signals:
    """Registrations are searched once, in the files that hold a word of registration."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._index = Index(resolver.project, "receivers", self._search, _told)

    def receivers(
        self, signal: str, comes_from: Callable[[Value], bool], given: Arguments = calls.UNKNOWN
    ) -> Iterator[Frame]:
        """The receivers of a signal, by its name, that listen to all senders or to one that it comes from; `given` is
        what they are called with."""
        if not signal:
            return
        name = self._resolver.catalogue.canonical(signal)
        for senders, receiver in self._index.get(name):
            if senders is None or any(map(comes_from, senders)):
                yield calls.frame_of(self._resolver, receiver, given)

    def fired(self, signal: str, comes_from: Callable[[Value], bool], by: Value | None) -> Iterator[Frame]:
        """The receivers of a signal that a library sends for a class, or for an instance."""
        given: tuple[tuple[str, Values], ...] = tuple(
            (entry.when.parameter, (Constant(entry.when.value),))
            for entry in self._resolver.catalogue.marks("tells", signal)
            if entry.when is not None and isinstance(entry.when.value, bool)
        )
        if isinstance(by, (Instance, ClassValue)):
            row = by.row if isinstance(by, Instance) else None
            if row is not None:
                given += tuple(self._announced(signal, row.new)) if row.new is not None else ()
                row = replace(row, early=bool(self._resolver.catalogue.marks("precedes", signal)))
            given += (("sender", (ClassValue(by.cls),)), ("instance", (Instance(by.cls, row=row),)))
        yield from self.receivers(signal, comes_from, replace(calls.UNKNOWN, keywords=given))

    def _announced(self, signal: str, new: bool) -> Iterator[tuple[str, Values]]:
        """What a signal gives its receivers for a new row, and of a truth value the opposite for one that was read."""
        for entry in self._resolver.catalogue.marks("announces", signal):
            said = entry.when.value if entry.when is not None else ...
            if entry.when is not None and isinstance(said, bool):
                yield entry.when.parameter, (Constant(said == new),)
            elif entry.when is not None and said is None and new:
                yield entry.when.parameter, (Constant(None),)

    def sent(self, signal: Value, given: Arguments) -> Iterator[Frame]:
        """The receivers of a signal that a call sends."""
        sender = (*given.keyword("sender"), *(given.positional[0] if given.positional else ()))
        handed = replace(given, positional=())
        yield from self.receivers(_name(signal), lambda wanted: self._may_be(wanted, sender), handed)

    def _may_be(self, wanted: Value, sender: Values) -> bool:
        """Whether a sender is this one, or may be: a class may stand for one below it."""
        return wanted in sender or any(
            isinstance(wanted, ClassValue)
            and isinstance(each, ClassValue)
            and self._resolver.classes.derives(wanted.cls, each.cls)
            for each in sender
        )

    def _search(self) -> Iterator[tuple[str, Registration, int]]:
        project = self._resolver.project
        dependencies = project.dependencies
        words = self._words
        paths = dict.fromkeys(path for word in sorted(words) for path in project.files_with(word))
        for path in project.files:
            if path not in paths:
                continue
            outer, dependencies.mask = dependencies.mask, 0
            for module in project.modules([path]):
                for name, registration in self._in_module(module):
                    yield name, registration, dependencies.mask
            dependencies.mask |= outer

    @property
    def _words(self) -> frozenset[str]:
        return self._resolver.libraries.words({"registers"})

    def _in_module(self, module: Module) -> Iterator[tuple[str, Registration]]:
        words = self._words
        for scope in module.scopes:
            node = scope.node
            if scope.parent is not None and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for decorator in node.decorator_list:
                    if isinstance(decorator, ast.Call):
                        for frame in self._frames(scope.parent):
                            yield from self._decorated(decorator, scope, scope.parent, frame)
            for call in _calls(scope):
                if isinstance(call.func, ast.Attribute) and call.func.attr in words:
                    for frame in self._frames(scope):
                        yield from self._connected(call, scope, frame)

    def _decorated(
        self, node: ast.Call, scope: Scope, around: Scope, frame: Frame | None
    ) -> Iterator[tuple[str, Registration]]:
        r = self._resolver
        for callee in r.values(node.func, around, frame):
            if isinstance(callee, External) and r.catalogue.marks("registers", callee.name):
                given = r.arguments(node, around, frame)
                receiver = FunctionValue(scope.module.function(scope), None, frame)
                signals = self._owner(node, around, frame) or (
                    given.positional[0] if given.positional else ()
                )
                for value in signals:
                    for signal in _each(value):
                        yield _name(signal), (self._senders(given), receiver)

    def _connected(
        self, node: ast.Call, scope: Scope, frame: Frame | None
    ) -> Iterator[tuple[str, Registration]]:
        r = self._resolver
        for callee in r.values(node.func, scope, frame):
            if not isinstance(callee, External) or not r.catalogue.marks("registers", callee.name):
                continue
            given = r.arguments(node, scope, frame)
            handlers = given.positional[0] if given.positional else given.keyword("receiver")
            for receiver in handlers:
                for signal in self._owner(node, scope, frame):
                    if isinstance(receiver, FunctionValue):
                        yield _name(signal), (self._senders(given, 1), receiver)

    # -- in functions that register what they are given -----

    def _frames(self, scope: Scope) -> Sequence[Frame | None]:
        """The frames in which code of a scope runs: a function's are those of its callers, where it takes
        arguments."""
        frame = frame_at(self._resolver, scope)
        return self._called(frame.function, HOPS) or (frame,) if frame is not None else (None,)

    def _called(self, function: Function, hops: int) -> tuple[Frame, ...]:
        r = self._resolver
        own = [name for name in function.parameters if name != function.receiver_name]
        if not own or not hops or function.parent is not None:
            return ()
        cls = function.owner if function.name == "__init__" else None
        word = cls.name if cls is not None else function.name
        paths = r.project.files_with(word)
        if len(paths) > MANY or (cls is None and word.startswith("__")):
            return ()
        found: dict[Frame, None] = {}
        for module in r.project.modules(paths):
            for scope in module.scopes:
                for call in _calls(scope):
                    if _is_named(call.func, word):
                        found.update(dict.fromkeys(self._by(call, scope, function, hops)))
        return tuple(found)

    def _by(self, call: ast.Call, scope: Scope, function: Function, hops: int) -> Iterator[Frame]:
        """The frames in which a call runs the function, whichever way its own function is called."""
        r = self._resolver
        frame = frame_at(r, scope)
        for outer in (self._called(frame.function, hops - 1) if frame is not None else ()) or (frame,):
            for callee in r.values(call.func, scope, outer):
                if isinstance(callee, ClassValue) and function.name == "__init__":
                    made = Instance(callee.cls, exact=True)
                    constructors = r.attribute(made, function.name)
                else:
                    constructors = (callee,)
                for value in constructors:
                    if isinstance(value, FunctionValue) and value.function is function:
                        yield calls.frame_of(r, value, r.arguments(call, scope, outer))

    def _owner(self, node: ast.Call, scope: Scope, frame: Frame | None) -> Values:
        """What `connect` is read from: the signal itself keeps its name, its method does not."""
        r = self._resolver
        found = r.values(node.func.value, scope, frame) if isinstance(node.func, ast.Attribute) else ()
        return tuple(value for value in found if _name(value))

    def _senders(self, given: Arguments, place: int | None = None) -> Values | None:
        """The argument `sender`; `place` is where it may stand without its name."""
        named = dict(given.keywords)
        if "sender" in named:
            found = named["sender"]
        elif place is not None and place < len(given.positional):
            found = given.positional[place]
        else:
            return () if given.opaque else None
        return None if Constant(None) in found else union(found, *map(self._labelled, found))

    def _labelled(self, sender: Value) -> Values:
        """The class that a sender's text names."""
        text = sender.value if isinstance(sender, Constant) else None
        return labels.exact(self._resolver, text) if isinstance(text, str) else ()


def _told(registration: Registration) -> Sequence[str]:
    senders, receiver = registration
    return (
        receiver.function.module.path,
        receiver.function.qualname,
        str(receiver.function.line),
        repr(senders),
    )


def _calls(scope: Scope) -> list[ast.Call]:
    """The calls that run when a module, a class's or a function's body, or a comprehension does, those last in the text
    first."""
    body = [] if scope.kind == "lambda" else getattr(scope.node, "body", None) or branches(scope.node)
    stack: list[ast.AST] = list(body)
    found = []
    while stack:
        node = stack.pop()
        if id(node) not in scope.children:
            if isinstance(node, ast.Call):
                found.append(node)
            stack.extend(branches(node))
    return found


def _is_named(node: ast.expr, word: str) -> bool:
    return (node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")) == word


def _name(value: Value) -> str:
    return value.name if isinstance(value, (External, Object)) else ""


def _each(value: Value) -> Values:
    if isinstance(value, Collection):
        return tuple(signal for values in value.items for signal in values)
    return (value,)
