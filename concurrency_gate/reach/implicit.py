"""Transactions that begin by themselves, at the first statement on a session or connection."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from concurrency_gate.catalogue_format import shape
from concurrency_gate.facts import calls, names
from concurrency_gate.facts.conditions import holds
from concurrency_gate.facts.dependencies import Answers
from concurrency_gate.facts.modules import Module
from concurrency_gate.facts.scopes import Scope
from concurrency_gate.facts.uses import frame_at
from concurrency_gate.facts.values import External, Frame, FunctionValue, Instance, Object, Suspended, Value

from .expiry import Expiring
from .openers import Opener, Openers
from .stretches import Stretch, stretches
from .walk import running

if TYPE_CHECKING:
    from concurrency_gate.catalogue import Condition, Implicit
    from concurrency_gate.facts.resolver import Resolver

_MAKING = ("returns", "enters", "attributes")
_LEVELS = ("AUTOCOMMIT", "ISOLATION_LEVEL_AUTOCOMMIT")
"""Isolation levels that open nothing."""
_CHANGES = ("insert", "update", "delete", "replace", "merge")


class Sessions:
    """What begins and ends implicit transactions. Where one may be switched off, by how it was made
    or by what is set on it in the module, nothing begins."""

    def __init__(self, resolver: Resolver, openers: Openers) -> None:
        self._resolver = resolver
        self._openers = openers
        self._expiring = Expiring(resolver)
        self._switched: Answers[Condition, bool] = Answers(resolver.project.dependencies)
        classes = resolver.catalogue.data["implicit"]
        known = filter(None, map(resolver.catalogue.implicit, classes))
        self._statements = frozenset().union(*(implicit.statements for implicit in known))
        self._consuming = resolver.catalogue.words({"consumes"})
        self._makers_of = frozenset(
            name.rpartition(".")[0]
            for key in _MAKING
            for name, text in resolver.catalogue.data[key].items()
            if resolver.catalogue.implicit(shape(text).name) is not None
        )

    def words(self) -> list[tuple[str, list[str]]]:
        """The words that bring a session or connection, each with the files that may make one."""
        r, classes = self._resolver, self._resolver.catalogue.data["implicit"]
        files = r.project.files_with
        found = {(name.partition(".")[0], name.rpartition(".")[2]) for name in classes}
        anywhere: set[str] = set()
        for key in _MAKING:
            for name, text in r.catalogue.data[key].items():
                made = shape(text)
                if r.catalogue.implicit(made.name) is None:
                    continue
                top, (owner, _, word) = name.partition(".")[0], name.rpartition(".")
                found.add((top, word))
                # What calling, entering or reading an instance gives: its class may be all that is named.
                found.add((top, owner.rpartition(".")[2]))
                if made.parameters and made.parameters[0].name == "self" and files(top):
                    anywhere.add(word)  # read off a class of the project, whose file alone names the library
        narrow = [(word, [p for p in files(word) if p in set(files(top))]) for top, word in sorted(found)]
        return [*narrow, *((word, list(files(word))) for word in sorted(anywhere))]

    def brings(self, value: Value) -> bool:
        """Whether this is a session or connection, or what makes one: a module that keeps it hands it on."""
        if not isinstance(value, Object):
            return False
        catalogue = self._resolver.catalogue
        return value.type in self._makers_of or catalogue.implicit(value.type) is not None

    def stretches(self, body: list[ast.stmt], scope: Scope, frame: Frame | None) -> Iterator[Stretch]:
        """Each implicit transaction of the body, with what runs while it is open."""
        return stretches(self._resolver, self, body, scope, frame)

    def begun(self, node: ast.AST, scope: Scope, frame: Frame | None) -> Opener | None:
        for place, method, receiver in self._asked(node, scope, frame):
            known = self._resolver.catalogue.implicit(receiver.type) if isinstance(receiver, Object) else None
            if known is None or method not in known.statements:
                continue
            if known.writes and isinstance(node, ast.Call) and not _changes(node):
                continue
            owner = place.value if isinstance(place, ast.Attribute) and method != "__iter__" else place
            if self._is_made_here(owner, scope, known):
                text = f"the transaction that {ast.unparse(place)} began"
                return Opener(text, known.library, known.instead)
        return None

    def _asked(
        self, node: ast.AST, scope: Scope, frame: Frame | None
    ) -> Iterator[tuple[ast.expr, str, Value | None]]:
        """What may be a statement: (its place, the method, what that belongs to). A method is called, or handed to a
        function of the project; a loop asks for an iterator, and so does `list(...)`."""
        r = self._resolver
        if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            yield from ((node.iter, "__iter__", value) for value in r.values(node.iter, scope, frame))
        elif isinstance(node, ast.Call):
            places = [a for a in node.args if isinstance(a, ast.Attribute) and a.attr in self._statements]
            word = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            # most calls are told apart by their words, before anything is resolved
            asked = node.args and (places or word in self._consuming)
            callees = r.values(node.func, scope, frame) if asked else ()
            if any(isinstance(c, External) and r.catalogue.marks("consumes", c.name) for c in callees):
                yield from ((a, "__iter__", v) for a in node.args for v in r.values(a, scope, frame))
            if not any(isinstance(callee, FunctionValue) for callee in callees):
                places = []
            if isinstance(node.func, ast.Attribute) and word in self._statements:
                places.insert(0, node.func)
            for place in places:
                for value in r.values(place, scope, frame):
                    if isinstance(value, External):
                        yield place, place.attr, value.receiver

    def woken(self, node: ast.AST, scope: Scope, frame: Frame | None) -> Opener | None:
        found = self._expiring.read(node, scope, frame)
        if (
            found is None
            or _is_switched(scope.module, found.known.keeps)
            or self._is_kept_elsewhere(found.known)
        ):
            return None
        text = f"the transaction that reading {ast.unparse(found.node)} began anew"
        return Opener(text, found.known.library, found.known.instead)

    def _is_kept_elsewhere(self, known: Implicit) -> bool:
        """Whether some module of the project, where the session may be made, keeps objects loaded."""
        project, keeps = self._resolver.project, known.keeps
        if keeps is None:
            return True
        return any(_is_switched(m, keeps) for m in project.modules(project.files_with(keeps.parameter)))

    def ended(self, node: ast.Call, opener: Opener, scope: Scope, frame: Frame | None) -> bool:
        if isinstance(node.func, ast.Attribute):
            for callee in self._resolver.values(node.func, scope, frame):
                receiver = callee.receiver if isinstance(callee, External) else None
                known = (
                    self._resolver.catalogue.implicit(receiver.type) if isinstance(receiver, Object) else None
                )
                if known is not None and known.library == opener.library and node.func.attr in known.ends:
                    return True
        return self._openers.ended(node, opener, scope, frame)

    def entered(self, node: ast.expr, scope: Scope, frame: Frame | None) -> Opener | None:
        return self._openers.entered(node, scope, frame)

    def left(self, node: ast.expr, opener: Opener, scope: Scope, frame: Frame | None) -> bool:
        """A block of the same library commits, rolls back or closes."""
        entered = self._openers.entered(node, scope, frame)
        if entered is not None and entered.library == opener.library:
            return not self._is_savepoint(node, scope, frame)
        for name in self._openers.closed(node, scope, frame):
            known = self._resolver.catalogue.implicit(name)
            if known is not None and known.library == opener.library and "close" in known.ends:
                return True
        for value in self._resolver.values(node, scope, frame):
            if any(self._ends_in(leaving, opener) for leaving in self._leaving(value)):
                return True
        return False

    def _is_savepoint(self, node: ast.expr, scope: Scope, frame: Frame | None) -> bool:
        if not isinstance(node, ast.Call):
            return False
        r = self._resolver
        callees = r.values(node.func, scope, frame)
        return any(isinstance(c, External) and r.catalogue.marks("savepoints", c.name) for c in callees)

    def _leaving(self, value: Value) -> Iterator[Frame]:
        """What of the project runs when a block is left, with what runs when it is entered."""
        if isinstance(value, Suspended) and value.kind == "manager":
            yield value.frame
        elif isinstance(value, Instance):
            for name in ("__exit__", "__aexit__"):
                for method in self._resolver.attribute(value, name):
                    if isinstance(method, FunctionValue):
                        yield calls.frame_of(self._resolver, method, calls.UNKNOWN)

    def _ends_in(self, within: Frame, opener: Opener) -> bool:
        function = within.function
        return any(
            isinstance(visit.node, ast.Call) and self.ended(visit.node, opener, visit.scope, within)
            for visit in running(self._resolver, function.body, function.scope, within)
        )

    # -- what may be switched off ---------------------------------------------------------------------------

    def _is_made_here(self, node: ast.expr, scope: Scope, known: Implicit) -> bool:
        """Whether one is sure to begin: nothing in the module speaks of a switch, and the connection is seen to be made
        there, or to be made in a project that speaks of none, or belongs to a library whose objects follow their
        session."""
        if any(_is_switched(scope.module, condition) for condition in known.unless):
            return False
        made = list(self._makers(node, scope, 4))
        if known.keeps is not None:
            modules = {module for module, _ in made}
            return not any(_is_switched(module, c) for module in modules for c in known.unless)
        here = any(module is scope.module and not pooled for module, pooled in made)
        return here or (bool(made) and not any(map(self._is_switched_anywhere, known.unless)))

    def _is_switched_anywhere(self, condition: Condition) -> bool:
        """Whether some module of the project, where the connection may come from, speaks of a switch."""
        return self._switched.once(condition, lambda: self._search_switch(condition), False)

    def _search_switch(self, condition: Condition) -> bool:
        project = self._resolver.project
        paths = {path for word in (condition.parameter, *_LEVELS) for path in project.files_with(word)}
        return any(_is_switched(module, condition) for module in project.modules(sorted(paths)))

    def _makers(self, node: ast.expr, scope: Scope, hops: int) -> Iterator[tuple[Module, bool]]:
        """The modules whose calls make what the expression is, and whether a pool or engine does: followed through
        names, attributes of the same object and functions of the project."""
        if isinstance(node, ast.Await):
            node = node.value
        if not hops:
            return
        if isinstance(node, ast.Call):
            for callee in self._resolver.values(node.func, scope, frame_at(self._resolver, scope)):
                if isinstance(callee, External):
                    yield scope.module, isinstance(callee.receiver, Object)
                elif isinstance(callee, FunctionValue):
                    callee.function.scope.read()
                    for returned in callee.function.scope.returns:
                        yield from self._makers(returned, callee.function.scope, hops - 1)
            maker = node.func.value if isinstance(node.func, ast.Attribute) else node.func
            yield from self._makers(maker, scope, hops - 1)
        elif isinstance(node, ast.Name):
            for binding, where in names.definitions(self._resolver, node.id, scope):
                if binding.kind in ("value", "enter") and isinstance(binding.node, ast.expr):
                    yield from self._makers(binding.node, where, hops - 1)
        elif isinstance(node, ast.Attribute):
            for owner in self._resolver.values(node.value, scope, frame_at(self._resolver, scope)):
                for name, method, bound in owner.cls.assigned if isinstance(owner, Instance) else ():
                    if name == node.attr and isinstance(bound.node, ast.expr):
                        yield from self._makers(bound.node, method.scope, hops - 1)


def _is_switched(module: Module, condition: Condition | None) -> bool:
    """Whether anything in the module may make the condition hold. Asked at each statement, so it is kept."""
    if condition is None:
        return False
    module.read()
    kept: dict[Condition, bool] = module.__dict__.setdefault("switched", {})
    if condition not in kept:
        kept[condition] = any(_may_switch(node, condition) for node in ast.walk(module.tree))
    return kept[condition]


def _may_switch(node: ast.AST, condition: Condition) -> bool:
    """An argument or an attribute of the condition's name, or an isolation level that opens nothing."""
    if isinstance(node, ast.Call):
        given = next((k.value for k in node.keywords if k.arg == condition.parameter), None)
        return given is not None and (not isinstance(given, ast.Constant) or holds(condition, node))
    if isinstance(node, ast.Attribute):
        is_set = isinstance(node.ctx, ast.Store) and node.attr == condition.parameter
        return is_set or "AUTOCOMMIT" in node.attr
    return isinstance(node, ast.Name) and "AUTOCOMMIT" in node.id


def _changes(node: ast.Call) -> bool:
    first = node.args[0] if node.args else None
    text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    return text.strip().lower().startswith(_CHANGES)
