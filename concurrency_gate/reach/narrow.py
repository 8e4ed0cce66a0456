"""What a test says of the name that is called on: under `if isinstance(x, Mailer)`, `x.send` is the mailer's."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from concurrency_gate.facts.modules import Class
from concurrency_gate.facts.scopes import Scope, position
from concurrency_gate.facts.values import ClassValue, External, Frame, FunctionValue, Instance, Value, Values

from .layout import Guard

if TYPE_CHECKING:
    from concurrency_gate.facts.resolver import Resolver


def narrowed(
    r: Resolver, callees: Values, func: ast.expr, guards: tuple[Guard, ...], scope: Scope, frame: Frame | None
) -> Values:
    """The callees without those of objects that the tests around the call rule out."""
    name = func.value.id if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) else None
    if name is None or len(callees) < 2:
        return callees
    for guard in guards:
        classes = _asked(r, guard, name, scope, frame)
        if classes and not _is_bound_since(guard, name, func, scope):
            callees = tuple(c for c in callees if _may_be(r, c, classes, guard.branch))
    return callees


def _asked(r: Resolver, guard: Guard, name: str, scope: Scope, frame: Frame | None) -> list[Class]:
    """The classes of the project of which an `isinstance(name, ...)` asks; none where it asks of others as well."""
    test = guard.node.test if isinstance(guard.node, ast.If) else None
    if not isinstance(test, ast.Call) or not isinstance(test.func, ast.Name) or test.func.id != "isinstance":
        return []
    if len(test.args) != 2 or not isinstance(test.args[0], ast.Name) or test.args[0].id != name:
        return []
    wanted = test.args[1].elts if isinstance(test.args[1], ast.Tuple) else [test.args[1]]
    values = [value for each in wanted for value in r.values(each, scope, frame) or (None,)]
    classes = [value.cls for value in values if isinstance(value, ClassValue)]
    return classes if len(classes) == len(values) else []


def _is_bound_since(guard: Guard, name: str, func: ast.expr, scope: Scope) -> bool:
    asked = position(guard.node)
    return any(asked < binding.start < position(func) for binding in scope.bindings.get(name, ()))


def _may_be(r: Resolver, callee: Value, classes: list[Class], holds: bool) -> bool:
    """Whether a callee's object may be of one of the classes, or of none of them where the test does not hold."""
    receiver = callee.receiver if isinstance(callee, (FunctionValue, External)) else None
    if not isinstance(receiver, Instance):
        return True
    is_one = any(r.classes.derives(receiver.cls, cls) for cls in classes)
    if not holds:
        return not is_one
    return is_one or (not receiver.exact and any(r.classes.derives(cls, receiver.cls) for cls in classes))
