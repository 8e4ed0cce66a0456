"""What keeps a block from being a transaction, and what ends one before its block does."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from concurrency_gate.facts import names
from concurrency_gate.facts.conditions import holds
from concurrency_gate.facts.scopes import Scope
from concurrency_gate.facts.values import Frame, Instance, Object

from .stretches import until_ended

if TYPE_CHECKING:
    from concurrency_gate.catalogue import Condition
    from concurrency_gate.facts.resolver import Resolver

    from .openers import Opener, Openers


def held(
    r: Resolver,
    openers: Openers,
    node: ast.With | ast.AsyncWith,
    item: ast.withitem,
    opener: Opener,
    scope: Scope,
    frame: Frame | None,
) -> Sequence[ast.AST]:
    """What of a block runs in its transaction: all of it, unless something is called on what was entered that ends
    it before, as a unit of work's `commit()` does."""
    made = item.context_expr.func if isinstance(item.context_expr, ast.Call) else None
    places = (
        item.context_expr,
        item.optional_vars,
        made.value if isinstance(made, ast.Attribute) else None,
    )
    entered = {ast.unparse(place) for place in places if isinstance(place, (ast.Name, ast.Attribute))}
    entered -= {"self", "cls"}
    called = (
        part
        for statement in node.body
        for part in ast.walk(statement)
        if isinstance(part, ast.Call) and entered & _owners(part.func)
    )
    if not any(openers.ended(call, opener, scope, frame) for call in called):
        return node.body
    return until_ended(r, _On(openers, entered), node.body, (opener, item.context_expr.lineno), scope, frame)


@dataclass(frozen=True, slots=True)
class _On:
    """As `Openers`, but for what is called on other names than these: that may end other transactions."""

    openers: Openers
    names: set[str]

    def begun(self, node: ast.AST, scope: Scope, frame: Frame | None) -> Opener | None:
        return self.openers.begun(node, scope, frame)

    def woken(self, node: ast.AST, scope: Scope, frame: Frame | None) -> Opener | None:
        return self.openers.woken(node, scope, frame)

    def ended(self, node: ast.Call, opener: Opener, scope: Scope, frame: Frame | None) -> bool:
        return bool(self.names & _owners(node.func)) and self.openers.ended(node, opener, scope, frame)

    def entered(self, node: ast.expr, scope: Scope, frame: Frame | None) -> Opener | None:
        return self.openers.entered(node, scope, frame)

    def left(self, node: ast.expr, opener: Opener, scope: Scope, frame: Frame | None) -> bool:
        return self.openers.left(node, opener, scope, frame)


def _owners(node: ast.expr) -> set[str]:
    """What a method is read from, each a part of the next: `work` and `work.session` of `work.session.commit`."""
    found = set()
    while isinstance(node, ast.Attribute):
        node = node.value
        found.add(ast.unparse(node))
    return found


def is_off(
    r: Resolver, node: ast.With | ast.AsyncWith, item: ast.withitem, scope: Scope, frame: Frame | None
) -> bool:
    """Whether a connection that begins at its first statement is told to begin nothing: in the call that makes it,
    or by what is done first in the block."""
    made, name = item.context_expr, item.optional_vars
    if isinstance(made, ast.Await):
        made = made.value
    first = node.body[0]
    for value in r.values(item.context_expr, scope, frame):
        known = r.catalogue.implicit(value.type) if isinstance(value, Object) else None
        for condition in known.unless if known is not None and known.statements else ():
            if isinstance(made, ast.Call) and (
                holds(condition, made) or _pools(r, made, condition, scope, frame)
            ):
                return True
            again = [
                a for holder, a, _ in scope.attributes if isinstance(name, ast.Name) and holder == name.id
            ]
            if _sets(first, name, condition) and again.count(condition.parameter) == 1:
                return True
    return False


def _pools(r: Resolver, made: ast.Call, condition: Condition, scope: Scope, frame: Frame | None) -> bool:
    """Whether a connection comes from a pool that is given, among its options, what makes the condition hold."""
    pool = made.func.value if isinstance(made.func, ast.Attribute) else None
    return any(
        isinstance(key, ast.Constant)
        and key.value == condition.parameter
        and isinstance(value, ast.Constant)
        and value.value == condition.value
        for call in (_built(r, pool, scope, frame) if pool is not None else ())
        for option in call.keywords
        if isinstance(option.value, ast.Dict)
        for key, value in zip(option.value.keys, option.value.values, strict=True)
    )


def _built(r: Resolver, node: ast.expr, scope: Scope, frame: Frame | None) -> Iterator[ast.Call]:
    """The calls that a name, or an attribute of an object of the project, is bound to."""
    bound = []
    if isinstance(node, ast.Name):
        bound = [binding.node for binding, _ in names.definitions(r, node.id, scope)]
    elif isinstance(node, ast.Attribute):
        owners = r.values(node.value, scope, frame)
        classes = [owner.cls for owner in owners if isinstance(owner, Instance)]
        bound = [b.node for cls in classes for name, _, b in cls.assigned if name == node.attr]
    yield from (each for each in bound if isinstance(each, ast.Call))


def _sets(node: ast.stmt, name: ast.expr | None, condition: Condition) -> bool:
    """Whether a statement makes the condition hold, on the object of that name."""
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    return (
        isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and isinstance(name, ast.Name)
        and (target.value.id, target.attr) == (name.id, condition.parameter)
        and isinstance(node.value, ast.Constant)  # type: ignore[attr-defined]
        and node.value.value == condition.value  # type: ignore[attr-defined]
    )
