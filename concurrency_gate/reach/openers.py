"""What opens a transaction: names of the catalogue, and wrappers of the project that are recognised by reading them."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from concurrency_gate.facts import calls
from concurrency_gate.facts.conditions import holds
from concurrency_gate.facts.modules import Class, Function
from concurrency_gate.facts.scopes import Scope
from concurrency_gate.facts.values import (
    Arguments,
    External,
    Frame,
    FunctionValue,
    Instance,
    Object,
    Suspended,
    Value,
)

from .walk import running

if TYPE_CHECKING:
    from concurrency_gate.catalogue import Entry
    from concurrency_gate.facts.resolver import Resolver

_OPENING = {"transaction", "atomic", "begin", "begin_nested"}
_CONNECTIONS = {"conn", "connection", "db", "database", "session", "sess", "engine", "pool", "cursor", "cur"}
_BEGINS = ("begin", "start transaction")
_ENDS = ("commit", "rollback", "end", "abort")


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
        self._known: dict[Hashable, tuple[Opener | None, int]] = {}
        self._active: set[Hashable] = set()
        self._beginning = resolver.catalogue.words({"begins"})

    # -- entering ---------------------------------------------------------------------------------------------------

    def entered(self, node: ast.expr, scope: Scope, frame: Frame | None) -> Opener | None:
        """The transaction that `with node:` opens; None if it opens none that is known."""
        r = self._resolver
        if isinstance(node, ast.Call):
            callees = r.values(node.func, scope, frame)
            for callee in callees:
                if isinstance(callee, External):
                    for entry in r.catalogue.marks("blocks", callee.name):
                        if entry.when is None or holds(entry.when, node):
                            return _opener(entry, callee.name)
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
            return self._manager(value.frame) if value.kind == "manager" else None
        if isinstance(value, Instance):
            return self._instance(value)
        if isinstance(value, Object):
            return self._named(value.type) or self._named(value.type.removesuffix("()"))
        if isinstance(value, External):
            return self._named(value.name)
        return None

    def _named(self, name: str) -> Opener | None:
        entry = next((e for e in self._resolver.catalogue.marks("blocks", name) if e.when is None), None)
        return _opener(entry, name) if entry is not None else None

    def _manager(self, frame: Frame) -> Opener | None:
        """A context manager function that yields while a transaction is open."""
        return self._once(("manager", frame), lambda: self._yielding(frame))

    def _yielding(self, frame: Frame) -> Opener | None:
        scope = frame.function.scope
        for opener, nodes in self.blocks(frame.function.body, scope, frame):
            if any(isinstance(v.node, (ast.Yield, ast.YieldFrom)) for v in running(self._resolver, nodes, scope, frame)):
                return opener
        return None

    def _instance(self, value: Instance) -> Opener | None:
        """An object whose `__enter__` begins, or enters, a transaction."""
        return self._once(("instance", value), lambda: self._entering(value))

    def _entering(self, value: Instance) -> Opener | None:
        r = self._resolver
        for name in ("__enter__", "__aenter__"):
            for method in r.attribute(value, name):
                if isinstance(method, External):
                    found = self._named(method.name.rpartition(".")[0])
                    if found is not None:
                        return found
                elif isinstance(method, FunctionValue):
                    frame = calls.frame_of(r, method, calls.NOTHING)
                    for visit in running(r, frame.function.body, frame.function.scope, frame):
                        if isinstance(visit.node, ast.Call):
                            found = self.begun(visit.node, visit.scope, frame)
                            if found is not None:
                                return found
        return None

    def injected(self, dependency: Value) -> Opener | None:
        """The transaction in which a dependency, a generator function, yields."""
        if not isinstance(dependency, FunctionValue) or not dependency.function.is_generator:
            return self.of_value(dependency)
        return self._manager(calls.frame_of(self._resolver, dependency, calls.NOTHING))

    # -- begin and end by calls -------------------------------------------------------------------------------------------

    def begun(self, node: ast.Call, scope: Scope, frame: Frame | None) -> Opener | None:
        """The transaction that this call leaves open: `conn.begin()`, `execute("BEGIN")`, `stack.enter_context(atomic())`."""
        r = self._resolver
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr in ("__enter__", "__aenter__"):
            return self.entered(func.value, scope, frame)
        if isinstance(func, ast.Attribute) and func.attr in ("enter_context", "enter_async_context") and node.args:
            return self.entered(node.args[0], scope, frame)
        sql = _sql(node)
        states = sql.startswith(_BEGINS)
        if isinstance(func, ast.Attribute) and not states and func.attr not in self._beginning:
            return None  # most calls are told apart by their name, before anything is resolved
        for callee in r.values(func, scope, frame):
            if isinstance(callee, External):
                for entry in r.catalogue.marks("begins", callee.name):
                    if entry.when is None or holds(entry.when, node):
                        return _opener(entry, callee.name)
                for entry in r.catalogue.marks("statements", callee.name) if states else ():
                    return _opener(entry, f'{callee.name}("{sql.upper()}")')
        return None

    def ended(self, node: ast.Call, opener: Opener, scope: Scope, frame: Frame | None) -> bool:
        """Whether this call ends what `opener` began."""
        r = self._resolver
        for callee in r.values(node.func, scope, frame):
            if not isinstance(callee, External):
                continue
            for entry in r.catalogue.marks("ends", callee.name):
                if entry.library == opener.library and (entry.when is None or holds(entry.when, node)):
                    return True
            for entry in r.catalogue.marks("statements", callee.name):
                if entry.library == opener.library and _sql(node).startswith(_ENDS):
                    return True
        return False

    # -- decorators ---------------------------------------------------------------------------------------------------

    def decorating(self, function: Function, scope: Scope, frame: Frame | None) -> Opener | None:
        """The transaction that a function's decorators wrap around it."""
        r = self._resolver
        inner = FunctionValue(function, None, frame)
        for node in getattr(function.node, "decorator_list", ()):
            named = node.func if isinstance(node, ast.Call) else node
            for value in r.values(named, scope, frame):
                if isinstance(value, External):
                    for entry in r.catalogue.marks("decorators", value.name):
                        return _opener(entry, value.name)
                    if r.catalogue.marks("wraps", value.name) and isinstance(node, ast.Call) and node.args:
                        found = self.wrapping(node.args[0], scope, frame)
                        if found is not None:
                            return found
            for value in r.values(node, scope, frame):
                found = self.of_value(value)  # a context manager also decorates
                if found is None and isinstance(value, (FunctionValue, Instance)):
                    found = self._wrapper(value, inner)
                if found is not None:
                    return found
        return None

    def wrapping(self, node: ast.expr, scope: Scope, frame: Frame | None) -> Opener | None:
        """The transaction that a decorator, given as an expression, opens: `method_decorator(atomic)`."""
        named = node.func if isinstance(node, ast.Call) else node
        for value in self._resolver.values(named, scope, frame):
            if isinstance(value, External):
                for entry in self._resolver.catalogue.marks("decorators", value.name):
                    return _opener(entry, value.name)
        return None

    def _wrapper(self, decorator: Value, inner: FunctionValue) -> Opener | None:
        """A project decorator whose wrapper calls the function inside a transaction."""
        return self._once(("wrapper", decorator, inner), lambda: self._calling(decorator, inner))

    def _calling(self, decorator: Value, inner: FunctionValue) -> Opener | None:
        r = self._resolver
        for made in calls.result(r, decorator, Arguments(((inner,),))):
            if not isinstance(made, FunctionValue) or made.function is inner.function:
                continue
            frame = r.frame(made.function, made.receiver, (), made.closure)
            scope = made.function.scope
            for opener, nodes in self.blocks(made.function.body, scope, frame):
                for visit in running(r, nodes, scope, frame):
                    if isinstance(visit.node, ast.Call):
                        callees = r.values(visit.node.func, visit.scope, frame)
                        if any(isinstance(c, FunctionValue) and c.function is inner.function for c in callees):
                            return opener
        return None

    # -- blocks in a body ---------------------------------------------------------------------------------------------

    def blocks(
        self, body: list[ast.stmt], scope: Scope, frame: Frame | None
    ) -> Iterator[tuple[Opener, list[ast.AST]]]:
        """Each transaction that the body opens, with what runs while it is open."""
        from .stretches import stretches

        for visit in running(self._resolver, body, scope, frame):
            node = visit.node
            if isinstance(node, (ast.With, ast.AsyncWith)):
                for index, item in enumerate(node.items):
                    opener = self.entered(item.context_expr, visit.scope, frame)
                    if opener is not None:
                        yield opener, [*node.items[index + 1 :], *node.body]
                        break
        yield from stretches(self._resolver, self, body, scope, frame)

    def _once(self, key: Hashable, compute: object) -> Opener | None:
        dependencies = self._resolver.project.dependencies
        known = self._known.get(key)
        if known is not None:
            dependencies.mask |= known[1]
            return known[0]
        if key in self._active:
            return None
        self._active.add(key)
        outer, dependencies.mask = dependencies.mask, 0
        try:
            found: Opener | None = compute()  # type: ignore[operator]
        finally:
            self._active.discard(key)
        self._known[key] = (found, dependencies.mask)
        dependencies.mask |= outer
        return found

    def exported(self, function: Function) -> bool:
        """Whether calling, entering or decorating with this function may open a transaction for somebody else."""
        frame = self._resolver.default_frame(function)
        scope = function.scope
        if any(self.of_value(v) for node in scope.returns for v in self._resolver.values(node, scope, frame)):
            return True
        for _, nodes in self.blocks(function.body, scope, frame):
            for visit in running(self._resolver, nodes, scope, frame):
                if isinstance(visit.node, (ast.Yield, ast.YieldFrom)):
                    return True
                if isinstance(visit.node, ast.Call) and isinstance(visit.node.func, ast.Name):
                    if _is_handed_in(visit.node.func.id, function):
                        return True
        return False

    def opens(self, cls: Class) -> bool:
        """Whether entering an instance of the class opens a transaction."""
        return self._instance(Instance(cls, exact=True)) is not None


def _is_handed_in(name: str, function: Function) -> bool:
    current: Function | None = function
    while current is not None:
        if name in current.parameters:
            return True
        current = current.parent
    return False


def _opener(entry: Entry, name: str) -> Opener:
    return Opener(name, entry.library, entry.instead)


def _sql(node: ast.Call) -> str:
    """The SQL text that a call is given, in lower case; empty where it is no literal."""
    first = node.args[0] if node.args else None
    if isinstance(first, ast.Call) and first.args:  # text("BEGIN")
        first = first.args[0]
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return first.value.strip().lower()
    return ""


def _by_shape(node: ast.Call) -> Opener | None:
    """`with conn.transaction():` on a receiver of which nothing is known but its name: the form says enough."""
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr not in _OPENING:
        return None
    owner = func.value
    word = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    if word.lower().strip("_").rpartition("_")[2] not in _CONNECTIONS:
        return None
    return Opener(ast.unparse(func))
