"""What a framework's settings say: assignments in the project's modules, in a literal or key by key."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from typing import TYPE_CHECKING

from concurrency_gate.facts import exports, names
from concurrency_gate.facts.modules import Class
from concurrency_gate.facts.values import Constant, Instance, Object, Values

if TYPE_CHECKING:
    from concurrency_gate.facts.modules import Module
    from concurrency_gate.facts.resolver import Resolver

Path = tuple[str, ...]


def said(r: Resolver, path: str, among: Set[str] = frozenset()) -> Iterator[ast.expr]:
    """The expressions that a setting is given, anywhere in the project or `among` some files; `*` in its path is any
    key."""
    wanted = tuple(path.split("."))
    holding = [set(r.project.files_with(word)) for word in wanted if word != "*"]
    paths = [path for path in r.project.files_with(wanted[0]) if all(path in paths for paths in holding)]
    if among:
        paths = [path for path in paths if path in among]
    for module in r.project.modules(paths):
        for statement in _statements(module.tree.body):
            for given, value in _assigned(statement):
                yield from _within(given, value, wanted)


def agreed(r: Resolver, name: str) -> Constant | None:
    """The text, None or truth value that every assignment of a setting agrees on; None where one reads it from
    elsewhere. Where entry points of the project name their settings modules, only those count."""
    named = frozenset(_named_modules(r))
    found = {_plain(value) for value in said(r, name, among=named)}
    return found.pop() if len(found) == 1 else None


def _plain(node: ast.expr) -> Constant | None:
    value = node.value if isinstance(node, ast.Constant) else ...
    return Constant(value) if value is None or isinstance(value, (str, bool)) else None


def _named_modules(r: Resolver) -> Iterator[str]:
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


def _within(given: Path, value: ast.expr, wanted: Path) -> Iterator[ast.expr]:
    """What the value says of the wanted path, seen from where it is assigned."""
    if len(given) > len(wanted) or not all(w in ("*", g) for g, w in zip(given, wanted, strict=False)):
        return
    if len(given) == len(wanted):
        yield value
    elif isinstance(value, ast.Dict):
        for key, inner in zip(value.keys, value.values, strict=True):
            if key is None:
                yield from _within(given, inner, wanted)
            else:
                name = str(key.value) if isinstance(key, ast.Constant) else "*"
                yield from _within((*given, name), inner, wanted)
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict":
        for keyword in value.keywords:
            if keyword.arg is not None:
                yield from _within((*given, keyword.arg), keyword.value, wanted)
    elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr):
        yield from _within(given, value.left, wanted)
        yield from _within(given, value.right, wanted)


def stores_remotely(r: Resolver) -> bool:
    """Whether the settings name a storage backend that is known to be on the network, or a class of the project's that
    derives from one."""
    return any(
        isinstance(value, ast.Constant)
        and isinstance(value.value, str)
        and any(r.catalogue.marks("remote", name) for name in _with_bases(r, value.value))
        for setting in r.catalogue.settings
        if setting.role == "storage"
        for value in said(r, setting.path)
    )


def instances(r: Resolver, setting: str) -> Values:
    """An instance of the class that a setting names, of the project or of a library that is known; nothing where
    assignments of it differ. Where all leave it to the environment it is the only one that the project has."""
    named = agreed(r, setting)
    if named is None:
        return tuple(Instance(cls, exact=True) for cls in _left_open(r, setting))
    if not isinstance(named.value, str):
        return ()
    own = tuple(Instance(value.cls, exact=True) for value in exports.classes_named(r, named.value))
    return own or ((Object(named.value),) if r.catalogue.is_known(named.value) else ())


def _left_open(r: Resolver, setting: str) -> list[Class]:
    """The project's class of the kind that a setting names, where no assignment of it tells which: programs do not keep
    one that they have no use for."""
    given = list(said(r, setting, among=frozenset(_named_modules(r))))
    if not given or any(_holds_text(value) for value in given):
        return []
    bases = [known.role for known in r.catalogue.settings if known.path == setting]
    found = [
        cls
        for base in bases
        for module in r.project.modules(r.project.files_with_base(base.rpartition(".")[2]))
        for cls in map(module.cls, module.class_scopes)
        if r.classes.derives(cls, base)
    ]
    return found if len(found) == 1 else []


def _holds_text(value: ast.expr) -> bool:
    """Whether a dotted name is written in it: also as a default of what is asked of the environment."""
    texts = (node.value for node in ast.walk(value) if isinstance(node, ast.Constant))
    return any(isinstance(text, str) and "." in text for text in texts)


def _with_bases(r: Resolver, name: str) -> Iterator[str]:
    """The name of a class, and where it is the project's those of the libraries' that it derives from."""
    yield name
    for value in exports.classes_named(r, name):
        yield from (base for base in r.classes.order(value.cls) if isinstance(base, str))
