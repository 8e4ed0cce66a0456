"""Call paths out of transaction blocks, by syntax alone: what `recall.py` plants its calls at the end of.

This shares nothing with the gate's resolver but the parser, so that it can contradict it. An edge is only
drawn where a reader would be sure: a name that is defined or imported, a method on `self`, `cls` or
`super()`, a variable that was built or annotated, a method or property name that one class alone defines, a
function handed to one that calls its parameter, a name handed as a string to a dispatcher.
"""

from __future__ import annotations

import ast
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from concurrency_gate.facts.syntax import parse

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
SKIPPED = {"tests", "test", "migrations", "benchmark", "node_modules"}
DEFERRING = ("on_commit", "call_event", "after_commit", "delay", "apply_async")
OPENERS = ("atomic",)


@dataclass(eq=False)
class Cls:
    module: Module
    name: str
    node: ast.ClassDef
    methods: dict[str, Fn] = field(default_factory=dict)
    below: list[Cls] = field(default_factory=list)

    def order(self, seen: frozenset[str] = frozenset()) -> list[Cls]:
        """The class and its known bases, depth first."""
        found = [self]
        for base in self.node.bases:
            target = self.module.resolve(base.value if isinstance(base, ast.Subscript) else base)
            if isinstance(target, Cls) and target.name not in seen:
                found += target.order(seen | {self.name})
        return list(dict.fromkeys(found))

    def method(self, name: str, skip: int = 0) -> Fn | None:
        return next((c.methods[name] for c in self.order()[skip:] if name in c.methods), None)


@dataclass(eq=False)
class Fn:
    module: Module
    name: str
    node: FunctionNode
    owner: Cls | None = None

    @property
    def is_plain(self) -> bool:
        """A body that runs when the function is called."""
        inner = (n for n in own_nodes(self.node.body))
        return not isinstance(self.node, ast.AsyncFunctionDef) and not any(
            isinstance(n, (ast.Yield, ast.YieldFrom)) for n in inner
        )

    @property
    def decorators(self) -> list[str]:
        return [ast.unparse(d) for d in self.node.decorator_list]

    def calls_parameter(self, index: int, keyword: str | None) -> bool:
        names = [a.arg for a in (*self.node.args.posonlyargs, *self.node.args.args)]
        names = names[1:] if self.owner is not None else names
        wanted = keyword or (names[index] if index < len(names) else None)
        called = {
            n.func.id
            for n in own_nodes(self.node.body)
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
        }
        return wanted in called and not any(word in ast.unparse(self.node) for word in DEFERRING)


class Module:
    def __init__(self, path: str, name: str, tree: ast.Module, project: Project) -> None:
        self.path, self.name, self.tree, self.project = path, name, tree, project
        self.env: dict[str, tuple[str, str | None] | Cls | Fn] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    shown = alias.asname or alias.name.partition(".")[0]
                    self.env[shown] = (alias.name if alias.asname else shown, None)
            elif isinstance(node, ast.ImportFrom):
                base = self._absolute(node)
                for alias in node.names:
                    self.env.setdefault(alias.asname or alias.name, (base, alias.name))
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.env[node.name] = Fn(self, node.name, node)
            elif isinstance(node, ast.ClassDef):
                cls = self.env[node.name] = Cls(self, node.name, node)
                for part in node.body:
                    if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
                        cls.methods[part.name] = Fn(self, part.name, part, cls)

    def _absolute(self, node: ast.ImportFrom) -> str:
        parts = self.name.split(".")
        if not self.path.endswith("__init__.py"):
            parts = parts[:-1]
        parts = parts[: len(parts) - node.level + 1] if node.level else []
        return ".".join([*parts, *([node.module] if node.module else [])])

    @property
    def classes(self) -> list[Cls]:
        return [value for value in self.env.values() if isinstance(value, Cls)]

    def named(self, name: str, hops: int = 6) -> Module | Cls | Fn | None:
        known = self.env.get(name)
        if not isinstance(known, tuple):
            return known
        base, item = known
        if item is None or not hops:
            return self.project.modules.get(base)
        source = self.project.modules.get(base)
        found = source.named(item, hops - 1) if source is not None else None
        return found or self.project.modules.get(f"{base}.{item}")

    def resolve(self, node: ast.expr) -> Module | Cls | Fn | None:
        if isinstance(node, ast.Name):
            return self.named(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.resolve(node.value)
            if isinstance(owner, Module):
                return owner.named(node.attr) or self.project.modules.get(f"{owner.name}.{node.attr}")
            if isinstance(owner, Cls):
                return owner.method(node.attr)
        return None


class Project:
    def __init__(self, root: Path, package: Path) -> None:
        self.modules: dict[str, Module] = {}
        for file in sorted(package.rglob("*.py")):
            path = file.relative_to(root).as_posix()
            if not SKIPPED.intersection(path.split("/")) and not file.name.startswith(("test_", "conftest")):
                name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
                self.modules[name] = Module(path, name, parse(file.read_bytes()), self)
        owners: dict[str, list[Fn]] = defaultdict(list)
        for module in self.modules.values():
            for cls in module.classes:
                for above in cls.order()[1:]:
                    above.below.append(cls)
                for name, method in cls.methods.items():
                    owners[name].append(method)
        functions = Counter(f for m in self.modules.values() for f, v in m.env.items() if isinstance(v, Fn))
        self.owners = owners
        self.unique = {
            n: f[0]
            for n, f in owners.items()
            if len(f) == 1 and len(n) > 9 and "_" in n.strip("_") and not functions[n]
        }


@dataclass(frozen=True)
class Hop:
    kind: str
    target: Fn
    receiver: Cls | None = None


@dataclass(frozen=True)
class Start:
    """A call in a block: the lines it stands on, and what it may lead to."""

    module: Module
    first: int
    last: int
    hops: tuple[Hop, ...]


def own_nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes that run with the body: none of nested functions, nor what is handed to a deferrer."""
    stack: list[ast.AST] = list(reversed(body))
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(node, ast.Call) and any(word in ast.unparse(node.func) for word in DEFERRING):
            continue
        yield node
        stack += reversed(list(ast.iter_child_nodes(node)))


class Paths:
    """Random walks. `draw` gives (start, hops), each of them a way that the program can go."""

    def __init__(self, project: Project, seed: int, longest: int = 10) -> None:
        self.project = project
        self.random = random.Random(seed)
        self.longest = longest
        self.starts = [start for module in project.modules.values() for start in self._starts(module)]

    def draw(self) -> tuple[Start, list[Hop]]:
        start = self.random.choice(self.starts)
        hops = [self.random.choice(start.hops)]
        while len(hops) < self.longest and self.random.random() > 0.2:
            at = hops[-1]
            seen = {hop.target for hop in hops}
            onward = [
                h
                for _, found in self.hops(at.target.node.body, at.target, at.receiver)
                for h in found
                if h.target not in seen
            ]
            if not onward:
                break
            hops.append(self.random.choice(onward))
        return start, hops

    def _starts(self, module: Module) -> Iterator[Start]:
        functions = [v for v in module.env.values() if isinstance(v, Fn) and v.module is module]
        functions += [f for cls in module.classes if cls.module is module for f in cls.methods.values()]
        for function in functions:
            bodies = [
                node.body
                for node in own_nodes(function.node.body)
                if isinstance(node, ast.With) and any(_opens(item.context_expr) for item in node.items)
            ]
            if any(_opens(d) for d in function.node.decorator_list):
                bodies = [function.node.body]
            for body in bodies:
                for node, hops in self.hops(body, function, function.owner):
                    yield Start(module, node.lineno, node.end_lineno or node.lineno, tuple(hops))

    def hops(
        self, body: list[ast.stmt], fn: Fn, receiver: Cls | None
    ) -> Iterator[tuple[ast.expr, list[Hop]]]:
        types = self._types(fn)
        for node in own_nodes(body):
            found: list[Hop] = []
            if isinstance(node, ast.Call):
                found = [*self._call(node, fn, receiver, types), *self._handed(node, fn)]
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                found = list(self._property(node))
            found = [hop for hop in found if hop.target.is_plain]
            if found and isinstance(node, ast.expr):
                yield node, found

    def _call(
        self, node: ast.Call, fn: Fn, receiver: Cls | None, types: dict[str, tuple[str, Cls]]
    ) -> Iterator[Hop]:
        func = node.func
        if isinstance(func, ast.Name):
            target = fn.module.named(func.id) if func.id not in types else None
            if isinstance(target, Fn):
                yield Hop("function", target)
            elif isinstance(target, Cls) and (init := target.method("__init__")):
                yield Hop("constructor", init, target)
        elif isinstance(func, ast.Attribute):
            yield from self._method(func, fn, receiver, types)

    def _method(
        self, func: ast.Attribute, fn: Fn, receiver: Cls | None, types: dict[str, tuple[str, Cls]]
    ) -> Iterator[Hop]:
        owner = func.value
        first = fn.node.args.args[0].arg if fn.owner is not None and fn.node.args.args else ""
        if (
            isinstance(owner, ast.Name)
            and owner.id == first
            and fn.owner is not None
            and receiver is not None
        ):
            yield from self._on(receiver, func.attr, "self or cls")
        elif isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super":
            if fn.owner is not None and receiver is not None and fn.owner in receiver.order():
                behind = receiver.method(func.attr, receiver.order().index(fn.owner) + 1)
                if behind is not None:
                    yield Hop("super", behind, receiver)
        elif isinstance(owner, ast.Name) and owner.id in types:
            kind, cls = types[owner.id]
            yield from self._on(cls, func.attr, kind)
        else:
            target = fn.module.resolve(func)
            if isinstance(target, Fn):
                yield Hop("class method" if target.owner else "function of a module", target, target.owner)
            elif (
                func.attr in self.project.unique
                and fn.module.resolve(owner) is None
                and not _is_property(self.project.unique[func.attr])
            ):
                target = self.project.unique[func.attr]
                yield Hop("untyped receiver, unique name", target, target.owner)

    def _on(self, cls: Cls, name: str, kind: str) -> Iterator[Hop]:
        """The method of the class, and its overrides below, each with the class that it then runs for."""
        target = cls.method(name)
        if target is not None and not _is_property(target):
            yield Hop(kind, target, cls)
        for below in cls.below:
            if name in below.methods:
                yield Hop(f"override below {kind}", below.methods[name], below)

    def _property(self, node: ast.Attribute) -> Iterator[Hop]:
        target = self.project.unique.get(node.attr)
        if target is not None and _is_property(target):
            yield Hop("property, unique name", target, target.owner)

    def _handed(self, node: ast.Call, fn: Fn) -> Iterator[Hop]:
        """Functions handed to one that calls its parameter, and names handed to a dispatcher."""
        callee = fn.module.resolve(node.func)
        places = [(i, None, a) for i, a in enumerate(node.args)] + [
            (0, k.arg, k.value) for k in node.keywords if k.arg
        ]
        for index, keyword, value in places:
            if isinstance(callee, Fn) and isinstance(value, (ast.Name, ast.Attribute)):
                target = fn.module.resolve(value)
                if isinstance(target, Fn) and callee.calls_parameter(index, keyword):
                    yield Hop("callback", target, target.owner)
            if (
                isinstance(value, ast.Constant)
                and value.value == fn.name
                and fn.owner
                and "getattr" in ast.unparse(fn.owner.node)
            ):
                for target in self.project.owners.get(fn.name, ()):
                    if target.owner is not fn.owner and target.owner is not None:
                        yield Hop("name handed to a dispatcher", target, target.owner)

    def _types(self, fn: Fn) -> dict[str, tuple[str, Cls]]:
        """Variables of which the class stands in the text: annotated parameters, and those built once."""
        found: dict[str, tuple[str, Cls]] = {}
        assigned = Counter(
            n.id for n in own_nodes(fn.node.body) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        )
        for argument in (*fn.node.args.args, *fn.node.args.kwonlyargs):
            cls = self._annotated(fn.module, argument.annotation)
            if cls is not None and not assigned[argument.arg]:
                found[argument.arg] = ("annotation", cls)
        for node in own_nodes(fn.node.body):
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.targets[0], ast.Name)
                and isinstance(node.value, ast.Call)
            ):
                built = fn.module.resolve(node.value.func)
                if isinstance(built, Cls) and assigned[node.targets[0].id] == 1:
                    found[node.targets[0].id] = ("construction", built)
        return found

    def _annotated(self, module: Module, node: ast.expr | None) -> Cls | None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = ast.parse(node.value, mode="eval").body if node.value.isidentifier() else None
        if isinstance(node, ast.BinOp):
            return self._annotated(module, node.left) or self._annotated(module, node.right)
        target = module.resolve(node) if node is not None else None
        return target if isinstance(target, Cls) else None


def _is_property(fn: Fn) -> bool:
    return any("property" in text for text in fn.decorators)


def _opens(node: ast.expr) -> bool:
    text = ast.unparse(node)
    return any(word in text for word in OPENERS) and "non_atomic" not in text
