"""What opens a transaction: names of the catalogue, and wrappers of the project, recognised by reading."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from concurrency_gate.facts import calls
from concurrency_gate.facts.conditions import holds
from concurrency_gate.facts.dependencies import Answers
from concurrency_gate.facts.scopes import Scope
from concurrency_gate.facts.values import (
    External,
    Frame,
    FunctionValue,
    Instance,
    Object,
    Suspended,
    Value,
)

from . import early
from .stretches import Stretch, left_open, stretches
from .walk import running

if TYPE_CHECKING:
    from concurrency_gate.catalogue import Entry
    from concurrency_gate.facts.resolver import Resolver

OPENING = {"transaction", "atomic", "begin", "begin_nested"}
_CONNECTIONS = {"conn", "connection", "db", "database", "session", "sess", "engine", "pool", "cursor", "cur"}
_BEGINS = re.compile(r"(begin|start\s+transaction)\b")
SQL = r"(?i)[\"']\s*(?:begin|start\s+transaction)\b"
"""What the text of a file that begins a transaction in SQL holds."""
_ENDS = re.compile(r"(commit|end|abort|rollback)\b(?!.*\bto\b)")
_HELPERS = 3
"""How many helpers deep a begin or a commit is looked for."""


@dataclass(frozen=True, slots=True)
class Opener:
    """What opens a transaction, by its name; `library` and `instead` are the catalogue's."""

    name: str
    library: str = ""
    instead: str = ""


class Openers:
    """Recognises openers; wrappers are read once for each way in which they are called."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._known: Answers[Hashable, Opener | None] = Answers(resolver.project.dependencies)
        self._words: Answers[str, frozenset[str]] = Answers(resolver.project.dependencies)
        self._beginning = resolver.libraries.words({"begins"})

    # -- entering ---------------------------------------------------------------------------

    def entered(self, node: ast.expr, scope: Scope, frame: Frame | None) -> Opener | None:
        """The transaction that `with node:` opens; None if it opens none that is known."""
        r = self._resolver
        if isinstance(node, ast.Call):
            callees = r.values(node.func, scope, frame)
            for callee in callees:
                if isinstance(callee, External):
                    for entry in r.catalogue.marks("blocks", callee.name):
                        if entry.when is None or holds(entry.when, node):
                            return opener_of(entry, callee.name)
            if not callees:
                return _by_shape(node)
        for value in r.values(node, scope, frame):
            found = self.of_value(value)
            if found is not None:
                return found
        return None

    def of_value(self, value: Value) -> Opener | None:
        """The transaction that entering the value opens."""
        if isinstance(value, Suspended):
            return self.manager(value.frame) if value.kind == "manager" else None
        if isinstance(value, Instance):
            return self._instance(value)
        if isinstance(value, Object):
            return self.named(value.type) or self.named(value.type.removesuffix("()"))
        if isinstance(value, External):
            return self.named(value.name)
        return None

    def named(self, name: str) -> Opener | None:
        entry = next((e for e in self._resolver.catalogue.marks("blocks", name) if e.when is None), None)
        return opener_of(entry, name) if entry is not None else None

    def manager(self, frame: Frame) -> Opener | None:
        """A context manager function that yields while a transaction is open."""
        return self.once(("manager", frame), lambda: self._yielding(frame))

    def _yielding(self, frame: Frame) -> Opener | None:
        scope = frame.function.scope
        for stretch in self.blocks(frame.function.body, scope, frame):
            if any(
                isinstance(v.node, (ast.Yield, ast.YieldFrom))
                for v in running(self._resolver, stretch.nodes, scope, frame)
            ):
                return stretch.opener
        return None

    def _instance(self, value: Instance) -> Opener | None:
        """An object whose `__enter__` begins, or enters, a transaction."""
        return self.once(("instance", value), lambda: self._entering(value))

    def _entering(self, value: Instance) -> Opener | None:
        r = self._resolver
        for name in ("__enter__", "__aenter__"):
            for method in r.attribute(value, name):
                if isinstance(method, External):
                    found = self.named(method.name.rpartition(".")[0])
                elif isinstance(method, FunctionValue):
                    found = self._leaving_open(calls.frame_of(r, method, calls.NOTHING), _HELPERS)
                else:
                    found = None
                if found is not None:
                    return found
        return None

    def _leaving_open(self, frame: Frame, depth: int) -> Opener | None:
        """The transaction that a function, or a helper that it calls, begins and leaves open."""
        r = self._resolver
        body, scope = frame.function.body, frame.function.scope
        found = left_open(r, self, body, scope, frame)
        if found is not None or not depth:
            return found
        for visit in running(r, body, scope, frame):
            if isinstance(visit.node, ast.Call):
                for callee in r.values(visit.node.func, visit.scope, frame):
                    if isinstance(callee, FunctionValue):
                        inner = calls.frame_of(r, callee, r.arguments(visit.node, visit.scope, frame))
                        leaving = partial(self._leaving_open, inner, depth - 1)
                        found = self.once(("open", inner), leaving)
                        if found is not None:
                            return found
        return None

    # -- begin and end by calls ---------------------------------------------------------------------------

    def begun(self, node: ast.AST, scope: Scope, frame: Frame | None) -> Opener | None:
        """What this node leaves open: `conn.begin()`, `execute("BEGIN")`, `stack.enter_context(atomic())`."""
        r = self._resolver
        if isinstance(node, ast.Await):
            return self._awaited(node, scope, frame)
        if not isinstance(node, ast.Call):
            return None
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr in ("__enter__", "__aenter__"):
            return self.entered(func.value, scope, frame)
        if (
            isinstance(func, ast.Attribute)
            and func.attr in ("enter_context", "enter_async_context")
            and node.args
        ):
            return self.entered(node.args[0], scope, frame)
        sql = _sql(node)
        states = bool(_BEGINS.match(sql))
        if isinstance(func, ast.Attribute) and not states and func.attr not in self._beginning:
            return None  # most calls are told apart by their name, before anything is resolved
        for callee in r.values(func, scope, frame):
            if isinstance(callee, External):
                for entry in r.catalogue.marks("begins", callee.name):
                    if entry.when is None or holds(entry.when, node):
                        return opener_of(entry, callee.name)
                for entry in r.catalogue.marks("statements", callee.name) if states else ():
                    return Opener(sql.upper().rstrip("; "), entry.library, entry.instead)
        return None

    def _awaited(self, node: ast.Await, scope: Scope, frame: Frame | None) -> Opener | None:
        """What an object begins when it is awaited."""
        for value in self._resolver.values(node.value, scope, frame):
            if isinstance(value, Object):
                for entry in self._resolver.catalogue.marks("begins", f"{value.type}.__await__"):
                    return opener_of(entry, value.type)
        return None

    def woken(self, node: ast.AST, scope: Scope, frame: Frame | None) -> Opener | None:  # noqa: ARG002
        """None: what is begun by a call is not begun by reading."""
        return None

    def ended(self, node: ast.Call, opener: Opener, scope: Scope, frame: Frame | None) -> bool:
        """Whether this call, or a helper that it calls, ends what `opener` began."""
        return self._ends(node, opener, scope, frame, _HELPERS)

    def _ends(self, node: ast.Call, opener: Opener, scope: Scope, frame: Frame | None, depth: int) -> bool:
        r = self._resolver
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("__exit__", "__aexit__"):
            return True
        for callee in r.values(node.func, scope, frame):
            if isinstance(callee, External):
                for entry in r.catalogue.marks("ends", callee.name):
                    if entry.library == opener.library and (entry.when is None or holds(entry.when, node)):
                        return True
                for entry in r.catalogue.marks("statements", callee.name):
                    if entry.library == opener.library and _ENDS.match(_sql(node)):
                        return True
            elif isinstance(callee, FunctionValue) and depth:
                inner = calls.frame_of(r, callee, r.arguments(node, scope, frame))
                key = ("end", inner, opener.library)
                if self.once(key, partial(self._ending, inner, opener, depth - 1)):
                    return True
        return False

    def _ending(self, frame: Frame, opener: Opener, depth: int) -> Opener | None:
        """The opener, if a function may end it: what it does on one way, it is trusted to do on all."""
        body, scope = frame.function.body, frame.function.scope
        for visit in running(self._resolver, body, scope, frame):
            if isinstance(visit.node, ast.Call) and self._ends(visit.node, opener, visit.scope, frame, depth):
                return opener
        return None

    def left(self, node: ast.expr, opener: Opener, scope: Scope, frame: Frame | None) -> bool:
        """Whether leaving `with node:` closes what the transaction belongs to."""
        marks = self._resolver.catalogue.marks
        return any(
            entry.library == opener.library
            for name in self.closed(node, scope, frame)
            for entry in marks("ends", f"{name}.close")
        )

    def closed(self, node: ast.expr, scope: Scope, frame: Frame | None) -> Iterator[str]:
        """The types that `with node:` closes when it is left: of what is entered, or of what that holds."""
        for value in self._resolver.values(node, scope, frame):
            if isinstance(value, Object):
                yield value.type
                for method in ("__exit__", "__aexit__"):
                    links = self._resolver.catalogue.calls(f"{value.type}.{method}")
                    if isinstance(value.item, Object) and any(link.receiver.name == "item" for link in links):
                        yield value.item.type

    # -- blocks in a body ---------------------------------------------------------------------------

    def blocks(self, body: list[ast.stmt], scope: Scope, frame: Frame | None) -> Iterator[Stretch]:
        """Each transaction that the body opens, with the line where, and what runs while it is open."""
        for visit in running(self._resolver, body, scope, frame):
            node = visit.node
            if isinstance(node, (ast.With, ast.AsyncWith)):
                for index, item in enumerate(node.items):
                    opener = self.entered(item.context_expr, visit.scope, frame)
                    if opener is not None and not early.is_off(
                        self._resolver, node, item, visit.scope, frame
                    ):
                        inner = [
                            *node.items[index + 1 :],
                            *early.held(self._resolver, self, node, item, opener, visit.scope, frame),
                        ]
                        yield Stretch(opener, item.context_expr.lineno, inner)
                        break
        yield from stretches(self._resolver, self, body, scope, frame)

    @property
    def transacting(self) -> frozenset[str]:
        """Words of what runs in a transaction of its own; where only signals would run, if they are known."""
        return self._words.once("transacting", self._transacting, frozenset())

    def _transacting(self) -> frozenset[str]:
        catalogue, project = self._resolver.catalogue, self._resolver.project
        found = set()
        for name in catalogue.data["marks"]["transacts"]:
            signals = [signal.rpartition(".")[2] for signal in catalogue.fires(name)]
            if catalogue.calls(name) or not signals or any(map(project.files_with, signals)):
                found.add(name.rpartition(".")[2])
        return frozenset(found)

    def transacted(
        self, body: list[ast.stmt], scope: Scope, frame: Frame | None
    ) -> Iterator[tuple[Opener, ast.Call, Scope]]:
        """Each call that opens a transaction and ends it before it returns, and runs something meanwhile."""
        r = self._resolver
        for visit in running(r, body, scope, frame):
            node = visit.node
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr in self.transacting:
                for callee in r.values(node.func, visit.scope, frame):
                    entries = (
                        r.catalogue.marks("transacts", callee.name) if isinstance(callee, External) else ()
                    )
                    for entry in entries[:1]:
                        yield opener_of(entry, entry.name), node, visit.scope

    def once(self, key: Hashable, compute: Callable[[], Opener | None]) -> Opener | None:
        return self._known.once(key, compute, None)


def opener_of(entry: Entry, name: str) -> Opener:
    """The opener that an entry names, in the short spelling that its users know: the last two words."""
    return Opener(".".join(name.split(".")[-2:]), entry.library, entry.instead)


def _sql(node: ast.Call) -> str:
    """The SQL text that a call is given, in lower case; empty where it is no literal."""
    first = node.args[0] if node.args else None
    if isinstance(first, ast.Call) and first.args:  # text("BEGIN")
        first = first.args[0]
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return first.value.strip().lower()
    return ""


def _by_shape(node: ast.Call) -> Opener | None:
    """`with conn.transaction():` on a receiver known by its name alone: the form says enough."""
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr not in OPENING:
        return None
    owner = func.value
    word = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    if word.lower().strip("_").rpartition("_")[2] not in _CONNECTIONS:
        return None
    return Opener(ast.unparse(func))
