"""Scopes and bindings: which names a module binds, where, and to what.

One pass with an explicit stack, so that deep nesting is no danger. Nothing is evaluated here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .walk import LEAVES, parts_of

if TYPE_CHECKING:
    from .modules import Module

Position = tuple[int, int]
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


START: Position = (0, 0)
END: Position = (1 << 30, 0)
"""Behind everything: a binding that stands directly in a module, class or function is certain to its end."""


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """One way in which a name comes to stand for something.

    `kind` is "value" (an assignment), "item" (a loop target), "outer item" (a comprehension's first one,
    which is evaluated around it), "enter" (`with ... as`), "import", "from", "def", "class", "parameter",
    "annotation" or "opaque". `path` says which element of a tuple is meant. The binding holds from `start`
    on; it is certain for everything up to `until`, the end of the statements it stands among."""

    kind: str
    node: ast.AST
    start: Position
    until: Position
    path: tuple[int, ...] = ()
    annotation: ast.expr | None = None
    target: str = ""
    level: int = 0
    item: str | None = None
    name: str = ""
    elsewhere: bool = False
    """Whether another scope binds the name here (`global`, `nonlocal`): at a time that nobody knows."""


@dataclass(slots=True, eq=False)
class Scope:
    """A module, class, function, lambda or comprehension, with the names that it binds."""

    kind: str
    node: ast.AST
    parent: Scope | None
    name: str
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    stars: list[tuple[str, int, Position]] = field(default_factory=list)
    foreign: dict[str, str] = field(default_factory=dict)
    loops: list[tuple[Position, Position]] = field(default_factory=list)
    attributes: list[tuple[str, str, Binding]] = field(default_factory=list)
    children: dict[int, Scope] = field(default_factory=dict)
    returns: list[ast.expr] = field(default_factory=list)
    yields: list[ast.Yield | ast.YieldFrom] = field(default_factory=list)
    owner: Module | None = None
    bit: int | None = None
    """The question what the function's body says, once it was asked."""

    @property
    def module(self) -> Module:
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        assert scope.owner is not None
        return scope.owner

    @property
    def qualname(self) -> str:
        if self.parent is None or self.parent.kind == "module":
            return self.name
        return f"{self.parent.qualname}.{self.name}"

    def read(self) -> None:
        """Whoever does so rests on the body of the outermost function that this stands in, if there is one."""
        body, scope = None, self
        while scope.parent is not None:
            if scope.kind == "function":
                body = scope
            scope = scope.parent
        if body is not None and scope.owner is not None:
            dependencies = scope.owner.dependencies
            if body.bit is None:
                body.bit = dependencies.bit("body", f"{scope.owner.path}\n{body.qualname}")
            dependencies.mask |= body.bit

    def bind(self, name: str, binding: Binding) -> None:
        scope = self
        if name in self.foreign:
            scope, binding = self.home(name), replace(binding, elsewhere=True)
        scope.bindings.setdefault(name, []).append(binding)

    def home(self, name: str) -> Scope:
        """The scope that a `global` or `nonlocal` name belongs to."""
        scope = self
        if self.foreign.get(name) == "global":
            while scope.parent is not None:
                scope = scope.parent
            return scope
        parent = self.parent
        while parent is not None and (parent.kind != "function" or name not in parent.bindings):
            parent = parent.parent
        return parent or self


def position(node: ast.AST) -> Position:
    return (node.lineno, node.col_offset)  # type: ignore[attr-defined]


def end(node: ast.AST) -> Position:
    return (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


def build(tree: ast.Module) -> Scope:
    """The module's scope, with all scopes in it as its descendants, keyed by `id` of their node."""
    module = Scope("module", tree, None, "")
    builder = _Builder()
    builder.statements(tree.body, module, END)
    builder.run()
    return module


class _Builder:
    def __init__(self) -> None:
        self.stack: list[tuple[ast.AST, Scope, Position]] = []

    def run(self) -> None:
        while self.stack:
            node, scope, until = self.stack.pop()
            visit = _VISITORS.get(type(node))
            if visit is not None:
                visit(self, node, scope, until)
            else:
                self.generic(node, scope, until)

    def statements(self, body: list[ast.stmt], scope: Scope, until: Position | None = None) -> None:
        """Queue a suite so that it is visited in the order of the text."""
        if body:
            until = until or end(body[-1])
            self.stack.extend((statement, scope, until) for statement in reversed(body))

    def push(self, nodes: Iterable[ast.AST | None], scope: Scope, until: Position) -> None:
        self.stack.extend((node, scope, until) for node in nodes if type(node) not in LEAVES)  # type: ignore[misc]

    def generic(self, node: ast.AST, scope: Scope, until: Position) -> None:
        suites: list[list[ast.stmt]] = []
        kind = type(node)
        for name in parts_of(kind):
            value = getattr(node, name, None)
            if type(value) is list:
                if value and isinstance(value[0], ast.stmt):
                    suites.append(value)
                elif value:
                    self.push(value, scope, until)
            elif type(value) not in LEAVES and isinstance(value, ast.AST):
                self.stack.append((value, scope, until))
        for suite in reversed(suites):
            self.statements(suite, scope)

    # -- scopes ---------------------------------------------------------------------------------------------

    def function(self, node: ast.AST, scope: Scope, until: Position) -> None:
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        scope.bind(node.name, Binding("def", node, position(node), until))
        inner = scope.children[id(node)] = Scope("function", node, scope, node.name)
        self.parameters(node.args, inner, end(node))
        self.push([*node.decorator_list, *_defaults(node.args)], scope, until)
        self.declare_foreign(node.body, inner)
        self.statements(node.body, inner, END)

    def lambda_(self, node: ast.AST, scope: Scope, until: Position) -> None:
        assert isinstance(node, ast.Lambda)
        inner = scope.children[id(node)] = Scope("lambda", node, scope, "<lambda>")
        self.parameters(node.args, inner, end(node))
        inner.returns.append(node.body)
        self.push(_defaults(node.args), scope, until)
        self.stack.append((node.body, inner, end(node)))

    def class_(self, node: ast.AST, scope: Scope, until: Position) -> None:
        assert isinstance(node, ast.ClassDef)
        scope.bind(node.name, Binding("class", node, position(node), until))
        inner = scope.children[id(node)] = Scope("class", node, scope, node.name)
        self.push([*node.decorator_list, *node.bases, *(k.value for k in node.keywords)], scope, until)
        self.statements(node.body, inner, END)

    def comprehension(self, node: ast.AST, scope: Scope, until: Position) -> None:
        inner = scope.children[id(node)] = Scope("comprehension", node, scope, "<comprehension>")
        stop = end(node)
        first = node.generators[0].iter  # type: ignore[attr-defined]
        for generator in node.generators:  # type: ignore[attr-defined]
            kind = "outer item" if generator.iter is first else "item"
            self.bind_target(generator.target, kind, generator.iter, inner, position(node), stop)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]  # type: ignore[attr-defined]
        for generator in node.generators:  # type: ignore[attr-defined]
            parts += [*([] if generator.iter is first else [generator.iter]), *generator.ifs]
        self.push(parts, inner, stop)
        self.stack.append((first, scope, until))  # evaluated where the comprehension stands

    def declare_foreign(self, body: list[ast.stmt], scope: Scope) -> None:
        pending: list[ast.stmt] = list(body)
        while pending:
            statement = pending.pop()
            if isinstance(statement, (ast.Global, ast.Nonlocal)):
                kind = "global" if isinstance(statement, ast.Global) else "nonlocal"
                scope.foreign.update(dict.fromkeys(statement.names, kind))
            elif not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                for name in ("body", "orelse", "finalbody"):
                    pending.extend(getattr(statement, name, ()))
                for clause in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
                    pending.extend(clause.body)

    def parameters(self, args: ast.arguments, scope: Scope, until: Position) -> None:
        for argument in _all_parameters(args):
            bound = Binding("parameter", argument, position(argument), until, annotation=argument.annotation)
            scope.bindings.setdefault(argument.arg, []).append(bound)

    # -- statements and expressions that bind ------------------------------------------------------------

    def import_(self, node: ast.AST, scope: Scope, until: Position) -> None:
        assert isinstance(node, ast.Import)
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            target = alias.name if alias.asname else name
            scope.bind(name, Binding("import", node, position(node), until, target=target))

    def import_from(self, node: ast.AST, scope: Scope, until: Position) -> None:
        assert isinstance(node, ast.ImportFrom)
        target = node.module or ""
        for alias in node.names:
            if alias.name == "*":
                scope.stars.append((target, node.level, position(node)))
                continue
            bound = Binding(
                "from", node, position(node), until, target=target, level=node.level, item=alias.name
            )
            scope.bind(alias.asname or alias.name, bound)

    def assign(self, node: ast.AST, scope: Scope, until: Position) -> None:
        assert isinstance(node, ast.Assign)
        for target in node.targets:
            self.bind_target(target, "value", node.value, scope, end(node), until)
        self.push([*node.targets, node.value], scope, until)

    def augmented(self, node: ast.AST, scope: Scope, until: Position) -> None:
        """`self.flag |= other` puts something else there, which nobody knows. A name keeps what it is bound to."""
        assert isinstance(node, ast.AugAssign)
        if isinstance(node.target, ast.Attribute):
            self.bind_simple(node.target, Binding("opaque", node, end(node), until), scope)
        self.generic(node, scope, until)

    def annotated(self, node: ast.AST, scope: Scope, until: Position) -> None:
        assert isinstance(node, ast.AnnAssign)
        kind = "value" if node.value is not None else "annotation"
        name = _target_name(node.target)
        bound = Binding(kind, node.value or node, end(node), until, annotation=node.annotation, name=name)
        self.bind_simple(node.target, bound, scope)
        self.push([node.target, node.value], scope, until)

    def type_alias(self, node: ast.AST, scope: Scope, until: Position) -> None:
        bound = Binding("value", node.value, end(node), until)  # type: ignore[attr-defined]
        self.bind_simple(node.name, bound, scope)  # type: ignore[attr-defined]

    def walrus(self, node: ast.AST, scope: Scope, until: Position) -> None:
        assert isinstance(node, ast.NamedExpr)
        home = scope
        while home.kind == "comprehension" and home.parent is not None:
            home = home.parent
        home.bind(node.target.id, Binding("value", node.value, end(node), end(node)))
        self.stack.append((node.value, scope, until))

    def loop(self, node: ast.AST, scope: Scope, until: Position) -> None:
        assert isinstance(node, (ast.For, ast.AsyncFor))
        scope.loops.append((position(node), end(node)))
        inside = end(node.body[-1])
        self.bind_target(node.target, "item", node.iter, scope, end(node.iter), inside)
        self.statements(node.orelse, scope)
        self.statements(node.body, scope)
        self.push([node.target, node.iter], scope, until)

    def while_(self, node: ast.AST, scope: Scope, until: Position) -> None:
        scope.loops.append((position(node), end(node)))
        self.generic(node, scope, until)

    def with_(self, node: ast.AST, scope: Scope, until: Position) -> None:
        assert isinstance(node, (ast.With, ast.AsyncWith))
        for item in node.items:
            if item.optional_vars is not None:
                self.bind_target(
                    item.optional_vars, "enter", item.context_expr, scope, end(item.context_expr), until
                )
                self.push([item.optional_vars], scope, until)
            self.push([item.context_expr], scope, until)
        self.statements(node.body, scope)

    def handler(self, node: ast.AST, scope: Scope, until: Position) -> None:
        assert isinstance(node, ast.ExceptHandler)
        if node.name:
            scope.bind(node.name, Binding("opaque", node, position(node), end(node)))
        self.generic(node, scope, until)

    def capture(self, node: ast.AST, scope: Scope, until: Position) -> None:
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if name:
            scope.bind(name, Binding("opaque", node, position(node), until))
        self.generic(node, scope, until)

    def return_(self, node: ast.AST, scope: Scope, until: Position) -> None:
        assert isinstance(node, ast.Return)
        if node.value is not None:
            scope.returns.append(node.value)
            self.stack.append((node.value, scope, until))

    def yield_(self, node: ast.AST, scope: Scope, until: Position) -> None:
        assert isinstance(node, (ast.Yield, ast.YieldFrom))
        scope.yields.append(node)
        self.generic(node, scope, until)

    def bind_target(
        self,
        target: ast.expr,
        kind: str,
        value: ast.expr,
        scope: Scope,
        start: Position,
        until: Position,
        path: tuple[int, ...] = (),
    ) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for index, element in enumerate(target.elts):
                if isinstance(element, ast.Starred):
                    self.bind_simple(element.value, Binding("opaque", target, start, until), scope)
                else:
                    self.bind_target(element, kind, value, scope, start, until, (*path, index))
        else:
            self.bind_simple(
                target, Binding(kind, value, start, until, path, name=_target_name(target)), scope
            )

    def bind_simple(self, target: ast.expr, bound: Binding, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            scope.bind(target.id, bound)
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            scope.attributes.append((target.value.id, target.attr, bound))


def _target_name(target: ast.expr) -> str:
    return target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")


def _all_parameters(args: ast.arguments) -> Iterator[ast.arg]:
    yield from (*args.posonlyargs, *args.args, *args.kwonlyargs)
    yield from (extra for extra in (args.vararg, args.kwarg) if extra is not None)


def _defaults(args: ast.arguments) -> list[ast.expr]:
    return [*args.defaults, *(default for default in args.kw_defaults if default is not None)]


_VISITORS = {
    ast.FunctionDef: _Builder.function,
    ast.AsyncFunctionDef: _Builder.function,
    ast.Lambda: _Builder.lambda_,
    ast.ClassDef: _Builder.class_,
    ast.ListComp: _Builder.comprehension,
    ast.SetComp: _Builder.comprehension,
    ast.DictComp: _Builder.comprehension,
    ast.GeneratorExp: _Builder.comprehension,
    ast.Import: _Builder.import_,
    ast.ImportFrom: _Builder.import_from,
    ast.Assign: _Builder.assign,
    ast.AnnAssign: _Builder.annotated,
    ast.AugAssign: _Builder.augmented,
    ast.NamedExpr: _Builder.walrus,
    ast.For: _Builder.loop,
    ast.AsyncFor: _Builder.loop,
    ast.While: _Builder.while_,
    ast.With: _Builder.with_,
    ast.AsyncWith: _Builder.with_,
    ast.ExceptHandler: _Builder.handler,
    ast.MatchAs: _Builder.capture,
    ast.MatchStar: _Builder.capture,
    ast.MatchMapping: _Builder.capture,
    ast.Return: _Builder.return_,
    ast.Yield: _Builder.yield_,
    ast.YieldFrom: _Builder.yield_,
}
if hasattr(ast, "TypeAlias"):  # Python 3.12 and later
    _VISITORS[ast.TypeAlias] = _Builder.type_alias
