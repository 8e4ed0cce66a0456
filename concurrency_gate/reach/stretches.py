"""Transactions that calls begin and end: what runs between `BEGIN` and every `COMMIT`, on every way."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from concurrency_gate.facts.scopes import Scope
from concurrency_gate.facts.values import Frame

from .walk import running

if TYPE_CHECKING:
    from concurrency_gate.facts.resolver import Resolver

    from .openers import Opener, Openers

_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def stretches(
    r: Resolver, openers: Openers, body: list[ast.stmt], scope: Scope, frame: Frame | None
) -> Iterator[tuple[Opener, list[ast.AST]]]:
    """Each transaction that a call in the body begins, with the statements that run before a call ends it."""
    if not any(
        isinstance(visit.node, ast.Call) and openers.begun(visit.node, visit.scope, frame) is not None
        for visit in running(r, body, scope, frame)
    ):
        return
    machine = _Machine(r, openers, scope, frame)
    machine.suite(body, None)
    for opener, nodes in machine.found.items():
        if nodes:
            yield opener, nodes


class _Machine:
    """Follows the text: the state is the open transaction, or None; a way that leaves the suite has no state."""

    def __init__(self, r: Resolver, openers: Openers, scope: Scope, frame: Frame | None) -> None:
        self._resolver = r
        self._openers = openers
        self._scope = scope
        self._frame = frame
        self.found: dict[Opener, list[ast.AST]] = {}

    def suite(self, body: list[ast.stmt], state: Opener | None) -> tuple[Opener | None, bool]:
        """(state after the suite, whether the end is reached at all)."""
        for statement in body:
            state = self._statement(statement, state)
            if isinstance(statement, _LEAVING) or self._left:
                self._left = False
                return state, False
        return state, True

    _left = False

    def _statement(self, node: ast.stmt, state: Opener | None) -> Opener | None:
        if isinstance(node, _FUNCTIONS):
            return state
        if isinstance(node, ast.If):
            state = self._expressions([node.test], state)
            return self._join([self.suite(node.body, state), self.suite(node.orelse, state)])
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            header: ast.expr = node.test if isinstance(node, ast.While) else node.iter
            state = self._expressions([header], state)
            after, _ = self.suite(node.body, state)
            if after is not None and state is None:
                self.suite(node.body, after)  # a second pass meets what the first left open
            rest, _ = self.suite(node.orelse, after)
            return rest or state
        if isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                if self._openers.entered(item.context_expr, self._scope, self._frame) is None:
                    state = self._expressions([item.context_expr], state)
            inner, reached = self.suite(node.body, state)
            self._left = not reached
            # What an ExitStack was given ends with its block.
            return inner if state is not None or not _is_stack(node) else None
        if isinstance(node, (ast.Try, ast.TryStar)):
            return self._try(node, state)
        if isinstance(node, ast.Match):
            state = self._expressions([node.subject], state)
            return self._join([*(self.suite(case.body, state) for case in node.cases), (state, True)])
        return self._expressions([node], state)

    def _try(self, node: ast.Try | ast.TryStar, state: Opener | None) -> Opener | None:
        after, reached = self.suite(node.body, state)
        within = state or after or self._begun_in(node.body)
        if reached:
            after, reached = self.suite(node.orelse, after)
        ways = [(after, reached)]
        ways += [self.suite(handler.body, within) for handler in node.handlers]
        joined = self._join(ways)
        left = self._left
        self._left = False
        final, passed = self.suite(node.finalbody, joined or (within if left else joined))
        self._left = left or not passed
        return final

    def _begun_in(self, body: list[ast.stmt]) -> Opener | None:
        for visit in running(self._resolver, body, self._scope, self._frame):
            if isinstance(visit.node, ast.Call):
                opener = self._openers.begun(visit.node, visit.scope, self._frame)
                if opener is not None:
                    return opener
        return None

    def _join(self, ways: list[tuple[Opener | None, bool]]) -> Opener | None:
        self._left = not any(reached for _, reached in ways)
        return next((state for state, reached in ways if reached and state is not None), None)

    def _expressions(self, nodes: list[ast.AST], state: Opener | None) -> Opener | None:  # type: ignore[type-arg,unused-ignore]
        for node in nodes:
            begun: Opener | None = None
            ended = False
            for visit in running(self._resolver, [node], self._scope, self._frame):
                if isinstance(visit.node, ast.Call):
                    if state is not None and self._openers.ended(visit.node, state, visit.scope, self._frame):
                        ended = True
                    else:
                        begun = begun or self._openers.begun(visit.node, visit.scope, self._frame)
            if state is not None and not ended:
                self.found.setdefault(state, []).append(node)
            if ended:
                state = None
            if begun is not None:
                state = state or begun
        return state


def _is_stack(node: ast.With | ast.AsyncWith) -> bool:
    """Whether a stack of contexts is entered: what was pushed on it is left with the block."""
    return any("ExitStack" in ast.unparse(item.context_expr) for item in node.items)
