"""Rows that expire: after a commit, reading an attribute of one asks the database again, which begins a transaction.

Followed within one function, for names that hold a row of a session of that function. SQLAlchemy's documentation,
"Committing", says what expires; what it is called is the catalogue's.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from concurrency_gate.facts import names
from concurrency_gate.facts.dependencies import Answers
from concurrency_gate.facts.scopes import Position, Scope, end, position
from concurrency_gate.facts.values import External, Frame, Instance, Object

from .walk import running

if TYPE_CHECKING:
    from concurrency_gate.catalogue import Implicit
    from concurrency_gate.facts.resolver import Resolver


@dataclass(frozen=True, slots=True)
class Read:
    """An attribute of an expired row, and what is known of the row's session."""

    node: ast.Attribute
    known: Implicit


@dataclass(slots=True)
class _Row:
    """A name that holds a row from `since` on; reading it loads it from `expired` on."""

    known: Implicit
    since: Position
    expired: Position | None = None


class Expiring:
    """Finds reads of expired rows. Each function is read once for each frame."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._rows: Answers[tuple[Scope, Frame | None], Mapping[str, _Row]] = Answers(
            resolver.project.dependencies
        )

    def read(self, node: ast.AST, scope: Scope, frame: Frame | None) -> Read | None:
        """The first attribute in the node that is read from a row that has expired before it."""
        if scope.kind != "function" or not self._resolver.catalogue.expiring:
            return None
        rows = self._rows_of(scope, frame)
        if not rows:
            return None
        called = {id(call.func) for call in ast.walk(node) if isinstance(call, ast.Call)}
        for part in ast.walk(node):
            if (
                not isinstance(part, ast.Attribute)
                or not isinstance(part.value, ast.Name)
                or id(part) in called
            ):
                continue
            row = rows.get(part.value.id)
            if row is None or row.expired is None or part.attr.startswith("_"):
                continue
            if isinstance(part.ctx, ast.Load) and position(part) > row.expired:
                return Read(part, row.known)
        return None

    def _rows_of(self, scope: Scope, frame: Frame | None) -> Mapping[str, _Row]:
        return self._rows.once((scope, frame), lambda: self._find_rows(scope, frame), {})

    def _find_rows(self, scope: Scope, frame: Frame | None) -> Mapping[str, _Row]:
        calls = list(self._calls(scope, frame))
        rows = dict(self._given(calls, scope, frame)) if calls else {}
        for call, known in calls:
            method = call.func.attr  # type: ignore[attr-defined]
            for row in rows.values():
                if method in known.expires and row.expired is None and position(call) > row.since:
                    row.expired = end(call)
        return rows

    def _calls(self, scope: Scope, frame: Frame | None) -> Iterator[tuple[ast.Call, Implicit]]:
        """The calls on sessions whose rows expire, in the order of the text."""
        r = self._resolver
        body = scope.node.body  # type: ignore[attr-defined]
        for visit in running(r, body, scope, frame):
            node = visit.node
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr not in r.catalogue.expiring:
                continue
            for callee in r.values(node.func, visit.scope, frame):
                receiver = callee.receiver if isinstance(callee, External) else None
                known = r.catalogue.implicit(receiver.type) if isinstance(receiver, Object) else None
                if known is not None and known.expires:
                    yield node, known
                    break

    def _given(
        self, calls: list[tuple[ast.Call, Implicit]], scope: Scope, frame: Frame | None
    ) -> Iterator[tuple[str, _Row]]:
        """The names that hold a row: what the session gave, and what it was handed."""
        for call, known in calls:
            if call.func.attr in known.takes and call.args and isinstance(call.args[0], ast.Name):  # type: ignore[attr-defined]
                yield call.args[0].id, _Row(known, end(call))
        for name, bindings in scope.bindings.items():
            for binding in bindings if len(bindings) == 1 else ():
                if binding.kind not in ("value", "item"):
                    continue
                inside = {id(node) for node in ast.walk(binding.node)}
                known_of = next((known for call, known in calls if id(call) in inside), None)
                if known_of is None:
                    continue
                if any(isinstance(v, Instance) for v in names.bound(self._resolver, binding, scope, frame)):
                    yield name, _Row(known_of, binding.start)
