"""Transactions that calls begin and end: what runs between `BEGIN` and every `COMMIT`, on every way.

The machine follows the text with the set of transactions that may be open. None stands for "none is"; the
empty set for "nobody gets here".
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from concurrency_gate.facts.scopes import Scope
from concurrency_gate.facts.values import Frame

from .walk import running

if TYPE_CHECKING:
    from concurrency_gate.facts.resolver import Resolver

    from .openers import Opener

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_PASSES = 3
"""Passes of a loop that are followed: what one leaves open shows in the next."""


class Marks(Protocol):
    """What begins and ends transactions, asked for each node that runs."""

    def begun(self, node: ast.AST, scope: Scope, frame: Frame | None) -> Opener | None:
        """The transaction that the node leaves open."""

    def woken(self, node: ast.AST, scope: Scope, frame: Frame | None) -> Opener | None:
        """The transaction that reading something in the node begins, before its outermost call runs."""

    def ended(self, node: ast.Call, opener: Opener, scope: Scope, frame: Frame | None) -> bool:
        """Whether the call ends what `opener` began."""

    def entered(self, node: ast.expr, scope: Scope, frame: Frame | None) -> Opener | None:
        """The transaction that `with node:` opens, which ends with its block."""

    def left(self, node: ast.expr, opener: Opener, scope: Scope, frame: Frame | None) -> bool:
        """Whether leaving `with node:` ends what `opener` began."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A transaction that may be open: by what, since which line, and under which test, where one decides."""

    opener: Opener
    line: int
    test: str = ""


States = frozenset[Begun | None]
_NOWHERE: States = frozenset()


class Stretch(NamedTuple):
    """What runs while a transaction is open, with what opened it and the line where. `maybe`: there is a way to this
    code on which it has not begun."""

    opener: Opener
    line: int
    nodes: list[ast.AST]
    maybe: bool = False


def stretches(
    r: Resolver, marks: Marks, body: list[ast.stmt], scope: Scope, frame: Frame | None
) -> Iterator[Stretch]:
    """Each transaction that a call in the body begins, with what runs before a call ends it."""
    begins = any(marks.begun(visit.node, visit.scope, frame) for visit in running(r, body, scope, frame))
    if not begins and not any(marks.woken(statement, scope, frame) for statement in body):
        return
    machine = _Machine(r, marks, scope, frame)
    machine.suite(body, frozenset({None}))
    for begun, nodes in machine.found.items():
        for maybe in (False, True):
            within = [node for key, node in nodes.items() if ((begun, key) in machine.maybe) is maybe]
            if within:
                yield Stretch(begun.opener, begun.line, within, maybe)


def until_ended(
    r: Resolver,
    marks: Marks,
    body: list[ast.stmt],
    opened: tuple[Opener, int],
    scope: Scope,
    frame: Frame | None,
) -> list[ast.AST]:
    """What of a block runs before a call in it ends the transaction that it was entered for: by what, in which line."""
    machine = _Machine(r, marks, scope, frame)
    begun = Begun(*opened)
    machine.suite(body, frozenset({begun}))
    return list(machine.found.get(begun, {}).values())


def left_open(
    r: Resolver, marks: Marks, body: list[ast.stmt], scope: Scope, frame: Frame | None
) -> Opener | None:
    """The transaction that is open when the body has run."""
    machine = _Machine(r, marks, scope, frame)
    states = machine.suite(body, frozenset({None})) | machine.leaving
    return next((state.opener for state in _ordered(states)), None)


class _Machine:
    def __init__(self, r: Resolver, marks: Marks, scope: Scope, frame: Frame | None) -> None:
        self._resolver = r
        self._marks = marks
        self._scope = scope
        self._frame = frame
        self.found: dict[Begun, dict[int, ast.AST]] = {}
        self.maybe: set[tuple[Begun, int]] = set()
        self.leaving = self._breaking = self._continuing = self._seen = _NOWHERE

    def suite(self, body: list[ast.stmt], states: States) -> States:
        """The states behind the suite."""
        for statement in body:
            if not states:
                break
            self._seen |= states
            states = self._statement(statement, states)
            self._seen |= states
        return states

    def _statement(self, node: ast.stmt, states: States) -> States:
        if isinstance(node, _FUNCTIONS):
            return states
        if isinstance(node, ast.If):
            return self._if(node, states)
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            return self._loop(node, states)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            return self._with(node, states)
        if isinstance(node, (ast.Try, ast.TryStar)):
            return self._try(node, states)
        if isinstance(node, ast.Match):
            states = self._runs(node.subject, states)
            return states.union(*(self.suite(case.body, states) for case in node.cases))
        if isinstance(node, ast.Break):
            self._breaking |= states
            return _NOWHERE
        if isinstance(node, ast.Continue):
            self._continuing |= states
            return _NOWHERE
        states = self._runs(node, states)
        if isinstance(node, ast.Return):
            self.leaving |= states
        return _NOWHERE if isinstance(node, (ast.Return, ast.Raise)) else states

    def _if(self, node: ast.If, states: States) -> States:
        """A transaction that began under a test is open where the same test is asked again, and only
        there."""
        states = self._runs(node.test, states)
        test = ast.unparse(node.test)
        begun_here = any(state is not None and state.test == test for state in states)
        there = self.suite(node.body, states - {None} if begun_here else states)
        elsewhere = self.suite(node.orelse, _map(states, lambda s: None if s.test == test else s))
        if None in elsewhere:
            there = _map(there, lambda s: s if s in states else replace(s, test=test))
            for state in [s for s in self.found if replace(s, test=test) in there]:
                tested = replace(state, test=test)
                self.found[tested] = {**self.found[state], **self.found.get(tested, {})}
                self.maybe |= {(tested, key) for s, key in self.maybe if s == state}
        return there | elsewhere

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, states: States) -> States:
        outer = self._breaking, self._continuing
        self._breaking = _NOWHERE
        if not isinstance(node, ast.While):
            states = self._begins(node, self._runs(node.iter, states))
        for _ in range(_PASSES):
            self._continuing = _NOWHERE
            if isinstance(node, ast.While):
                states |= self._runs(node.test, states)
            after = states | self.suite(node.body, states) | self._continuing
            if after == states:
                break
            states = after
        endless = (
            isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
        )
        rest = self.suite(node.orelse, _NOWHERE if endless else states) | self._breaking
        self._breaking, self._continuing = outer
        return rest

    def _with(self, node: ast.With | ast.AsyncWith, states: States) -> States:
        marks, where = self._marks, (self._scope, self._frame)
        for item in node.items:
            if marks.entered(item.context_expr, *where) is None:
                states = self._runs(item.context_expr, states)
        before = states
        states = self.suite(node.body, states)
        if _is_stack(node):  # what it was given ends with its block
            return _map(states, lambda s: s if s in before else None)
        for item in node.items:
            expression = item.context_expr
            states = _map(states, lambda s: None if marks.left(expression, s.opener, *where) else s)  # noqa: B023
        return states

    def _try(self, node: ast.Try | ast.TryStar, states: States) -> States:
        outer = self.leaving, self._breaking, self._continuing, self._seen
        self.leaving = self._breaking = self._continuing = _NOWHERE
        self._seen = states
        after = self.suite(node.body, states)
        raised = self._seen
        after = self.suite(node.orelse, after)
        for handler in node.handlers:
            after |= self.suite(handler.body, raised)
        ways = [self.leaving, self._breaking, self._continuing]
        self.leaving, self._breaking, self._continuing = outer[:3]
        self._seen |= outer[3]
        if not node.finalbody:
            passed = ways
        else:
            passed = [self.suite(node.finalbody, way) for way in ways]
            if not node.handlers:
                self.suite(node.finalbody, raised)  # on the way out of an error that nobody handles
            after = self.suite(node.finalbody, after)
        self.leaving |= passed[0]
        self._breaking |= passed[1]
        self._continuing |= passed[2]
        return after

    def _runs(self, node: ast.stmt | ast.expr, states: States) -> States:
        """One statement or expression: what it runs stands in what is open before it, unless it ends that."""
        if None in states:
            woken = self._marks.woken(node, self._scope, self._frame)
            if woken is not None:
                begun = Begun(woken, node.lineno)
                states = frozenset(begun if state is None else state for state in states)
        began: Begun | None = None
        ended: set[Begun] = set()
        opened = _ordered(states)
        for visit in running(self._resolver, [node], self._scope, self._frame):
            if not isinstance(visit.node, (ast.Call, ast.Await, ast.comprehension)):
                continue
            call = visit.node
            if isinstance(call, ast.Call):
                over = {s for s in opened if self._marks.ended(call, s.opener, visit.scope, self._frame)}
                ended |= over
                if over:
                    continue
            opener = self._marks.begun(call, visit.scope, self._frame) if began is None else None
            if opener is not None:
                began = Begun(opener, getattr(call, "lineno", node.lineno))
        for state in opened:
            if state not in ended:
                self.found.setdefault(state, {})[id(node)] = node
                if None in states:
                    self.maybe.add((state, id(node)))
        states = _map(states, lambda s: None if s in ended else s)
        return self._open(began, states) if began is not None else states

    def _begins(self, node: ast.AST, states: States) -> States:
        """What is open once a loop has asked for its first element."""
        opener = self._marks.begun(node, self._scope, self._frame) if None in states else None
        return self._open(Begun(opener, node.lineno), states) if opener is not None else states  # type: ignore[attr-defined]

    def _open(self, begun: Begun, states: States) -> States:
        self.found.setdefault(begun, {})
        return frozenset(begun if state is None else state for state in states)


def _map(states: States, change: Callable[[Begun], Begun | None]) -> States:
    return frozenset(change(state) if state is not None else None for state in states)


def _ordered(states: Iterable[Begun | None]) -> list[Begun]:
    return sorted((s for s in states if s is not None), key=lambda s: (s.line, s.opener.name, s.test))


def _is_stack(node: ast.With | ast.AsyncWith) -> bool:
    """Whether a stack of contexts is entered: what was pushed on it is left with the block."""
    return any("ExitStack" in ast.unparse(item.context_expr) for item in node.items)
