"""The nodes of a body that can lead anywhere, each with the tests around it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from concurrency_gate.facts.scopes import Scope
from concurrency_gate.facts.walk import LEAVES, parts_of

if TYPE_CHECKING:
    from concurrency_gate.facts.resolver import Resolver


class Visit(NamedTuple):
    """A node with its parent and the scope that its names belong to; whether what follows it raises in the end; and
    those of the tests and handlers around it that may be taken or not."""

    node: ast.AST
    parent: ast.AST | None
    scope: Scope
    raises: bool = False
    unsure: tuple[Guard, ...] = ()


class Guard(NamedTuple):
    """An `if`, `for`, `case` or handler around a node, the branch of the `if` that the node stands in, and whether
    that ends in `raise`; or a `try` whose first statement comes before the node, and has not raised. `subject` is what
    a `case` is of."""

    node: ast.If | ast.For | ast.Try | ast.match_case | ast.ExceptHandler
    branch: bool
    raises: bool = False
    subject: ast.expr | None = None

    @property
    def line(self) -> int:
        return self.node.pattern.lineno if isinstance(self.node, ast.match_case) else self.node.lineno

    @property
    def is_check(self) -> bool:
        """Whether the other way only raises: that is no way which a program means to take."""
        if not isinstance(self.node, ast.If):
            return False
        return _raises(self.node.orelse if self.branch else self.node.body)

    @property
    def doubt(self) -> int:
        """How much it makes the way less likely: a branch that must be taken twice as much as an early way out, or a
        handler, that must not (docs/precision.md)."""
        return 2 if self.branch and not isinstance(self.node, ast.ExceptHandler) else 1

    def goes_on(self, before: Guard) -> bool:
        """Whether this is the `elif` of the `if` before: they are one test with several answers."""
        return isinstance(before.node, ast.If) and not before.branch and before.node.orelse == [self.node]

    @property
    def text(self) -> str:
        """What must hold for the node to run, in one line."""
        node = self.node
        if isinstance(node, ast.If):
            test = ast.unparse(node.test)
            return f"if {test}" if self.branch else f"unless {test}"
        if isinstance(node, ast.ExceptHandler):
            return f"except {ast.unparse(node.type)}" if node.type is not None else "except"
        return f"case {ast.unparse(node.pattern)}" if isinstance(node, ast.match_case) else ""


Guards = tuple[Guard, ...]


@dataclass(slots=True)
class Layout:
    """The nodes of a body that can lead anywhere, in the order of the text. `spans` says which of them stand in
    a statement, or in an expression right in one, by its `id`."""

    visits: list[tuple[Visit, Guards]] = field(default_factory=list)
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass(slots=True)
class _End:
    """Stands on the stack behind all that a node holds."""

    key: int
    start: int


_TELLING = frozenset(
    {
        ast.Call,
        ast.Await,
        ast.For,
        ast.AsyncFor,
        ast.comprehension,
        ast.With,
        ast.AsyncWith,
        ast.withitem,
        ast.Yield,
        ast.YieldFrom,
    }
)
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_HOLDERS = (ast.stmt, ast.withitem)
"""What the parts of are asked for one by one."""


def laid_out(r: Resolver, roots: Sequence[ast.AST], scope: Scope) -> Iterable[tuple[Visit, Guards]]:
    """What of a scope's layout stands in these nodes. A layout is made once: many frames run a body, and many
    questions are asked about each of its statements."""
    properties = r.project.property_names  # asked each time: whoever looks at a kept layout rests on them too
    body = getattr(scope.node, "body", None)
    if not isinstance(body, list):
        return _lay_out(properties, roots, scope).visits
    kept: dict[int, Layout] = scope.module.__dict__.setdefault("layouts", {})
    layout = kept.get(id(scope))
    if layout is None:
        layout = kept[id(scope)] = _lay_out(properties, body, scope)
    if roots is body:
        return layout.visits
    found: list[tuple[Visit, Guards]] = []
    for root in roots:
        span = layout.spans.get(id(root))
        found += layout.visits[span[0] : span[1]] if span else _lay_out(properties, [root], scope).visits
    return found


def _lay_out(properties: frozenset[str], roots: Sequence[ast.AST], scope: Scope) -> Layout:
    layout = Layout()
    found = layout.visits
    stack: list[tuple[ast.AST | _End, ast.AST | None, Scope, Guards]] = _suite(roots, None, scope, ())
    while stack:
        node, parent, where, guards = stack.pop()
        kind = type(node)
        if isinstance(node, _End):
            layout.spans[node.key] = (node.start, len(found))
            continue
        if parent is None or isinstance(parent, _HOLDERS) or isinstance(node, ast.stmt):
            stack.append((_End(id(node), len(found)), None, where, ()))
        if kind in _TELLING or (kind is ast.Attribute and node.attr in properties):  # type: ignore[attr-defined]
            found.append((Visit(node, parent, where), guards))
        if kind in _OPENING_SCOPES:
            where = where.children.get(id(node), where)
        if isinstance(node, ast.If):
            for branch, suite, other in ((False, node.orelse, node.body), (True, node.body, node.orelse)):
                if not _called(suite) & _put_off(other):
                    stack += _suite(suite, node, where, (*guards, Guard(node, branch, _raises(suite))))
            stack.append((node.test, node, where, guards))
            continue
        if isinstance(node, ast.For):
            stack += _suite(node.orelse, node, where, guards)
            stack += _suite(node.body, node, where, (*guards, Guard(node, True)))
            stack += [(node.target, node, where, guards), (node.iter, node, where, guards)]
            continue
        if isinstance(node, ast.Try):
            after = (*guards, Guard(node, True))
            stack += _suite(node.finalbody, node, where, guards)
            stack += _suite(node.handlers, node, where, guards)
            stack += _suite(node.orelse, node, where, after)
            stack += _suite(node.body[1:], node, where, after)
            stack += _suite(node.body[:1], node, where, guards)
            continue
        if isinstance(node, ast.match_case) and isinstance(parent, ast.Match):
            guards = (*guards, Guard(node, True, _raises(node.body), parent.subject))
        if isinstance(node, ast.ExceptHandler):
            guards = (*guards, Guard(node, True, _raises(node.body)))
        for part in reversed(_parts(node)):
            if isinstance(part, list):
                stack += _suite(part, node, where, guards)
            else:
                stack.append((part, node, where, guards))
    return layout


def _raises(suite: Sequence[ast.stmt]) -> bool:
    return bool(suite) and isinstance(suite[-1], ast.Raise)


_OPENING_SCOPES = frozenset(
    {ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp}
)


_QUEUES = frozenset({"append", "appendleft", "put", "put_nowait", "add"})


def _put_off(suite: Sequence[ast.stmt]) -> set[str]:
    """The names of what a branch puts into a queue to be called later. The branch that calls the same at once is there
    for where nobody works the queue off: outside of any transaction, or there would be no need to wait."""
    found: set[str] = set()
    for statement in suite:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _QUEUES:
            for argument in call.args:
                items = argument.elts[:1] if isinstance(argument, ast.Tuple) else [argument]
                found.update(item.id for item in items if isinstance(item, ast.Name))
    return found


def _called(suite: Sequence[ast.stmt]) -> set[str]:
    """The names of what a branch calls, as statements of their own."""
    calls = [statement.value for statement in suite if isinstance(statement, (ast.Expr, ast.Return))]
    return {call.func.id for call in calls if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)}


def _parts(node: ast.AST) -> list[ast.AST | list[ast.AST]]:
    """What of a node runs when it runs, in the order of the text; suites as they are."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [*node.decorator_list, *node.args.defaults]
    if isinstance(node, ast.ClassDef):
        return [node.body]  # type: ignore[list-item]
    if isinstance(node, ast.AnnAssign):
        return [node.value] if node.value is not None else []
    if isinstance(node, ast.Lambda):
        return []
    found: list[ast.AST | list[ast.AST]] = []
    for name in parts_of(type(node)):
        value = getattr(node, name, None)
        if type(value) is list:
            found.append([part for part in value if type(part) not in LEAVES])
        elif type(value) not in LEAVES and isinstance(value, ast.AST):
            found.append(value)
    return found


def _suite(
    nodes: Sequence[ast.AST], parent: ast.AST | None, scope: Scope, guards: Guards
) -> list[tuple[ast.AST | _End, ast.AST | None, Scope, Guards]]:
    """Nodes that run one after the other, the last one first: what follows `if test: return` stands in its other
    branch."""
    found: list[tuple[ast.AST | _End, ast.AST | None, Scope, Guards]] = []
    for node in nodes:
        found.append((node, parent, scope, guards))
        if isinstance(node, ast.If):
            for branch, suite in ((False, node.body), (True, node.orelse)):
                if suite and isinstance(suite[-1], _LEAVING):
                    guards = (*guards, Guard(node, branch))
    return found[::-1]
