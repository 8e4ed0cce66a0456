"""What a framework's settings say: assignments in the project's modules, in a literal or key by key."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from typing import TYPE_CHECKING

from . import names
from .values import Constant

if TYPE_CHECKING:
    from .modules import Module
    from .resolver import Resolver
    from .scopes import Scope

Path = tuple[str, ...]


def said(r: Resolver, path: str, among: Set[str] = frozenset()) -> Iterator[ast.expr]:
    """The expressions that a setting is given, anywhere in the project or `among` some files; `*` in its path is any
    key."""
    yield from (value for _, value in placed(r, path, among))


def placed(r: Resolver, path: str, among: Set[str] = frozenset()) -> Iterator[tuple[str, ast.expr]]:
    """The same, each with the key that stands for the `*`: `*` itself where that is not known."""
    wanted = tuple(path.split("."))
    holding = [set(r.project.files_with(word)) for word in wanted if word != "*"]
    paths = [path for path in r.project.files_with(wanted[0]) if all(path in paths for paths in holding)]
    if among:
        paths = [path for path in paths if path in among]
    for module in r.project.modules(paths):
        for statement in _statements(module.tree.body):
            for given, value in _assigned(statement):
                for keys, found, scope in _within(r, given, value, wanted, module.scope):
                    key = next((k for k, w in zip(keys, wanted, strict=True) if w == "*"), "*")
                    yield from ((key, meant) for meant, _ in _meant(r, found, scope))


def agreed(r: Resolver, name: str) -> Constant | None:
    """The text, None or truth value that every assignment of a setting agrees on; None where one reads it from
    elsewhere. Where entry points of the project name their settings modules, only those count."""
    named = frozenset(named_modules(r))
    found = {_plain(value) for value in said(r, name, among=named)}
    return found.pop() if len(found) == 1 else None


def _plain(node: ast.expr) -> Constant | None:
    value = node.value if isinstance(node, ast.Constant) else ...
    return Constant(value) if value is None or isinstance(value, (str, bool)) else None


def named_modules(r: Resolver) -> Iterator[str]:
    """The settings modules that the project's programs put into the environment, with those that they take over."""
    variables = [setting.path for setting in r.catalogue.settings if setting.role == "module"]
    pending = [
        found
        for variable in variables
        for module in r.project.modules(r.project.files_with(variable))
        for name in _put(module, variable)
        if (found := r.project.find(name, module.path)) is not None
    ]
    for module in pending:
        yield module.path
        for target, level, _ in module.scope.stars:
            source = names.source_of(r, module, target, level)
            if source is not None and source not in pending:
                pending.append(source)


def _put(module: Module, variable: str) -> Iterator[str]:
    """The texts in `os.environ.setdefault(variable, text)` and `os.environ[variable] = text`."""
    module.read()
    for node in ast.walk(module.tree):
        key: ast.expr | None = None
        value: ast.expr | None = None
        if isinstance(node, ast.Call) and len(node.args) == 2:
            key, value = node.args
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            key, value = node.targets[0].slice, node.value
        if isinstance(key, ast.Constant) and key.value == variable and isinstance(value, ast.Constant):
            yield str(value.value)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, also in branches and in classes; functions set nothing."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        yield statement
        for name in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, name, []))
        for handler in getattr(statement, "handlers", ()):
            yield from _statements(handler.body)


def _assigned(statement: ast.stmt) -> Iterator[tuple[Path, ast.expr]]:
    """(name and keys, value) of each assignment, `X["a"].update(b=...)` included."""
    if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            given = _path(target)
            if given:
                yield given, statement.value
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("update", "setdefault"):
            given = _path(call.func.value)
            if given and call.func.attr == "update":
                yield from ((given, argument) for argument in call.args)
                yield from (((*given, k.arg), k.value) for k in call.keywords if k.arg is not None)
            elif given and len(call.args) == 2 and isinstance(call.args[0], ast.Constant):
                yield (*given, str(call.args[0].value)), call.args[1]


def _path(node: ast.expr) -> Path:
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Subscript):
        owner = _path(node.value)
        key = node.slice.value if isinstance(node.slice, ast.Constant) else "*"
        return (*owner, str(key)) if owner else ()
    return ()


def _within(
    r: Resolver, given: Path, value: ast.expr, wanted: Path, scope: Scope, around: tuple[ast.expr, ...] = ()
) -> Iterator[tuple[Path, ast.expr, Scope]]:
    """What the value says of the wanted path, seen from where it is assigned, and the scope that this stands in."""
    if len(given) > len(wanted) or not all(w in ("*", g) for g, w in zip(given, wanted, strict=False)):
        return
    if len(given) == len(wanted):
        yield given, value, scope
        return
    for holder, where in _meant(r, value, scope):
        for key, inner in _parts(holder) if holder not in around else ():
            path = given if key is None else (*given, key)
            yield from _within(r, path, inner, wanted, where, (*around, holder))


def _parts(value: ast.expr) -> Iterator[tuple[str | None, ast.expr]]:
    """The keys and values of a dictionary; without a key, what is merged into it."""
    if isinstance(value, ast.Dict):
        for key, inner in zip(value.keys, value.values, strict=True):
            text = str(key.value) if isinstance(key, ast.Constant) else "*"
            yield (None if key is None else text), inner
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict":
        yield from ((k.arg, k.value) for k in value.keywords if k.arg is not None)
    elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr):
        yield None, value.left
        yield None, value.right


def _meant(r: Resolver, node: ast.expr, scope: Scope, hops: int = 3) -> Iterator[tuple[ast.expr, Scope]]:
    """An expression, or what is assigned to the name that it is."""
    found = names.definitions(r, node.id, scope) if isinstance(node, ast.Name) and hops else []
    if not found or any(binding.kind != "value" or binding.path for binding, _ in found):
        yield node, scope
        return
    for binding, where in found:
        if isinstance(binding.node, ast.expr):
            yield from _meant(r, binding.node, where, hops - 1)
