"""Where a module uses a name that the catalogue knows: called, handed on, or derived from.

A reference counts like a call, for whoever gets it can call it. What only talks about a class does not count:
annotations, `isinstance`, `except`, comparisons, subscripts, and reading an attribute of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .calls import returned
from .conditions import holds
from .exports import names_on_demand
from .mentions import Mentions
from .modules import Class, Module
from .names import bound
from .scopes import Position, Scope, end, position
from .values import ClassValue, Collection, External, Frame, FunctionValue, Object, Partial, Value

if TYPE_CHECKING:
    from concurrency_gate.catalogue import Entry

    from .resolver import Resolver

_TALK = {
    "builtins.isinstance",
    "builtins.issubclass",
    "typing.cast",
    "builtins.hasattr",
    "typing.TypeVar",
    "typing.NewType",
}
_NAMING = (ast.Name, ast.Attribute)


@dataclass(frozen=True, slots=True)
class Use:
    """A known name at a place. `name` is its canonical spelling; `form` is "call", "reference" or "base"; `through`
    names the project class by which a class is derived."""

    start: Position
    end: Position
    entry: Entry
    name: str
    form: str
    through: str = ""


def uses(r: Resolver, module: Module, kinds: frozenset[str], mentions: Mentions) -> list[Use]:
    """All uses of names of these kinds, in the order of the text. Only lines that `mentions` tells of are looked at."""
    found: dict[tuple[Position, Position, str], Use] = {}
    for scope in module.scopes:
        if not mentions.touch(scope.node):
            continue
        frame = frame_at(r, scope)
        for node, form, call in _candidates(r, scope, frame, mentions):
            for use in _judge(r, node, form, call, scope, frame, kinds):
                found.setdefault((use.start, use.end, use.entry.kind), use)
    return sorted(found.values(), key=lambda use: (use.start, use.end, use.entry.kind))


def frame_at(r: Resolver, scope: Scope) -> Frame | None:
    """The default frame of the function that a scope stands in."""
    current: Scope | None = scope
    while current is not None and current.kind not in ("function", "lambda"):
        current = current.parent
    return r.default_frame(current.module.function(current)) if current is not None else None


def handed_on(r: Resolver, module: Module, names: Set[str], kinds: frozenset[str]) -> Iterator[str]:
    """Those of a module's names under which other modules get what is asked for: aliases, derived classes, attributes,
    collections, functions that return it. Files that use one of these need not hold a word of the catalogue."""
    for scope in module.scopes:
        frame = frame_at(r, scope)
        if scope.kind in ("module", "class"):
            for name in sorted(names & scope.bindings.keys()):
                if name == "__getattr__" and scope.kind == "module":
                    yield from sorted(names_on_demand(module))
                bindings = scope.bindings[name]
                values = (v for binding in bindings for v in bound(r, binding, scope, frame))
                if any(_gives(r, value, kinds) for value in values):
                    yield name
        for _, name, binding in scope.attributes:
            if name in names and any(_gives(r, value, kinds) for value in bound(r, binding, scope, frame)):
                yield name


def _gives(r: Resolver, value: Value, kinds: frozenset[str], depth: int = 3) -> bool:
    """Whether a use of what is asked for can begin with this value."""
    if isinstance(value, Collection):
        return depth > 0 and any(_gives(r, v, kinds, depth - 1) for values in value.items for v in values)
    if isinstance(value, FunctionValue):
        if not depth or value.function.is_async:
            return False
        given = returned(r, r.default_frame(value.function))
        return any(_gives(r, v, kinds, depth - 1) for v in given)
    return bool(_entries(r, value, kinds) or _base_entry(r, value, kinds))


def _candidates(
    r: Resolver, scope: Scope, frame: Frame | None, mentions: Mentions
) -> Iterator[tuple[ast.expr, str, ast.Call | None]]:
    """(expression, form, call) for each place where a name may be used."""
    node = scope.node
    if isinstance(node, ast.ClassDef):
        roots: Iterable[ast.AST] = node.body
    elif isinstance(node, ast.Lambda):
        roots = [node.body]
    elif scope.kind == "comprehension":
        roots = [part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.comprehension)]
        for generator in node.generators:  # type: ignore[attr-defined]
            outer = generator is node.generators[0]  # type: ignore[attr-defined]
            roots += [generator.target, *([] if outer else [generator.iter]), *generator.ifs]
    else:
        roots = node.body  # type: ignore[attr-defined]
    stack: list[ast.AST] = list(roots)[::-1]
    asked: set[ast.AST] = set()
    while stack:
        current = stack.pop()
        if not mentions.touch(current):
            continue
        if isinstance(current, _NAMING):
            if isinstance(current.ctx, ast.Load):
                yield current, "reference", None
            inner: ast.expr = current
            while isinstance(inner, ast.Attribute):
                inner = inner.value
            if not isinstance(inner, ast.Name):
                stack.append(inner)
        elif isinstance(current, ast.Call):
            yield current.func, "call", current
            if current not in asked:
                yield current, "reference", None
            if not isinstance(current.func, _NAMING):
                stack.append(current.func)
            elif isinstance(current.func, ast.Attribute):
                stack.extend(_behind(current.func))
            talk = any(
                isinstance(v, External) and v.name in _TALK for v in r.values(current.func, scope, frame)
            )
            arguments = (*current.args, *(keyword.value for keyword in current.keywords))
            stack.extend(a for a in arguments if not (talk and isinstance(a, (*_NAMING, ast.Tuple))))
        else:
            for child, form in _children(current, scope):
                if form == "base":
                    yield child, "base", None  # type: ignore[misc]
                elif form == "asked" and isinstance(child, _NAMING):
                    stack.extend(_behind(child))
                else:
                    if form == "asked":
                        asked.add(child)
                    stack.append(child)


def _behind(node: ast.Name | ast.Attribute) -> Iterator[ast.AST]:
    """What an attribute chain is read from, where it is more than a name: the call in `get().run`."""
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    if not isinstance(inner, ast.Name):
        yield inner


def _children(node: ast.AST, scope: Scope) -> Iterator[tuple[ast.AST, str]]:
    """The parts of a node that this scope evaluates and that hand something on."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        parts: list[ast.AST] = [*node.decorator_list, *node.args.defaults]
        parts += [default for default in node.args.kw_defaults if default is not None]
    elif isinstance(node, ast.ClassDef):
        for base in node.bases:
            yield base, "base"
        parts = [*node.decorator_list, *(keyword.value for keyword in node.keywords)]
    elif isinstance(node, ast.Lambda):
        parts = [*node.args.defaults, *(default for default in node.args.kw_defaults if default is not None)]
    elif id(node) in scope.children:
        parts = [node.generators[0].iter]  # type: ignore[attr-defined] # the rest of a comprehension is its own scope
    elif isinstance(node, ast.AnnAssign):
        parts = [node.target]
        if node.value is not None and not (
            _names_type(node.annotation) and not isinstance(node.value, ast.Call)
        ):
            parts.append(node.value)
    elif type(node).__name__ == "TypeAlias":  # Python 3.12 and later
        parts = []
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        parts = [part for part in (node.left, node.right) if not isinstance(part, _NAMING)]  # `Thread | None`
    elif isinstance(node, ast.ExceptHandler):
        parts = list(node.body)
    elif isinstance(node, (ast.Compare, ast.If, ast.While, ast.IfExp, ast.Assert)):
        for part in ast.iter_child_nodes(node):
            if isinstance(node, ast.Compare) or part is node.test:
                yield from ((leaf, "asked") for leaf in _asked(part))
            else:
                yield part, ""
        return
    elif isinstance(node, ast.Subscript):
        parts = [node.value] if isinstance(node.slice, (*_NAMING, ast.Tuple)) else [node.value, node.slice]
    elif isinstance(node, ast.match_case):
        parts = [part for part in (node.guard, *node.body) if part is not None]
    elif isinstance(node, ast.Expr) and isinstance(node.value, _NAMING):
        parts = []  # a bare name as a statement does nothing
    else:
        parts = list(ast.iter_child_nodes(node))
    for part in parts:
        yield part, ""


def _asked(node: ast.AST) -> Iterator[ast.AST]:
    """What a test or a comparison asks about: `spawn is None`, `not spawn`, `kind in (Thread, Process)`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield from _asked(node.operand)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from _asked(value)
    elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        for element in node.elts:
            yield from _asked(element)
    else:
        yield node


def _names_type(annotation: ast.expr) -> bool:
    """Whether an assignment with this annotation only names a type: `type A = ...` rewritten, `A: TypeAlias`."""
    if isinstance(annotation, ast.Constant):
        return annotation.value in ("", "TypeAlias")
    return getattr(annotation, "attr", getattr(annotation, "id", "")) == "TypeAlias"


def _judge(
    r: Resolver,
    node: ast.expr,
    form: str,
    call: ast.Call | None,
    scope: Scope,
    frame: Frame | None,
    kinds: frozenset[str],
) -> Iterator[Use]:
    if isinstance(node, ast.Call) and form == "reference" and not _fetches(r, node, scope, frame):
        return
    values = r.values(node, scope, frame)
    for value in values:
        if form == "base":
            found = _base_entry(r, value, kinds)
            if found is not None:
                entry, through = found
                name = through.module.name + "." + through.qualname if through is not None else ""
                yield Use(position(node), end(node), entry, entry.name, form, name)
                continue
        for entry, name in _entries(r, value, kinds):
            if entry.when is not None and (call is None or not holds(entry.when, call)):
                continue
            yield Use(position(node), end(node), entry, name, form)


def _fetches(r: Resolver, node: ast.Call, scope: Scope, frame: Frame | None) -> bool:
    """Whether a call only fetches what its arguments name: `getattr(asyncio, "create_task")`."""
    callees = r.values(node.func, scope, frame)
    return any(isinstance(v, External) and v.name == "builtins.getattr" for v in callees)


def _entries(r: Resolver, value: Value, kinds: frozenset[str]) -> list[tuple[Entry, str]]:
    while isinstance(value, Partial):
        value = value.target
    if isinstance(value, External):
        return [(entry, value.name) for entry in r.catalogue.effects(value.name) if entry.kind in kinds]
    if isinstance(value, Object):
        name = f"{value.type}.__call__"
        return [(entry, value.type) for entry in r.catalogue.effects(name) if entry.kind in kinds]
    return []


def _base_entry(r: Resolver, value: Value, kinds: frozenset[str]) -> tuple[Entry, Class | None] | None:
    """The entry that a base class brings, and the project class through which it does. A class that an infra path
    derives for others to use is the sanctioned way, so nothing is said of what derives from it."""
    if isinstance(value, External):
        entry = next((e for e in r.catalogue.effects(value.name) if e.kind in kinds), None)
        return (entry, None) if entry is not None else None
    if not isinstance(value, ClassValue):
        return None
    for base in r.classes.order(value.cls):
        if isinstance(base, Class):
            if base.module.infra:
                return None
        else:
            entry = next((e for e in r.catalogue.effects(base) if e.kind in kinds), None)
            if entry is not None:
                return entry, value.cls
    return None
