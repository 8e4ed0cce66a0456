"""The modules, classes and functions of a project, as objects that values can point to."""

from __future__ import annotations

import ast
from functools import cached_property

from .asks import Asks
from .dependencies import Dependencies
from .scopes import COMPREHENSIONS, Binding, FunctionNode, Scope, build
from .walk import branches


class Module:
    """One parsed file. `name` is its dotted name; a package's is that of its folder.

    Who gets one rests on its outline (see `outline`). Who reads more notes it: `Scope.read`, `read`."""

    __slots__ = (
        "__dict__",
        "classes",
        "dependencies",
        "functions",
        "infra",
        "is_package",
        "name",
        "path",
        "scope",
        "tree",
    )

    def __init__(
        self,
        path: str,
        name: str,
        tree: ast.Module,
        dependencies: Dependencies,
        *,
        is_package: bool,
        infra: bool = False,
    ) -> None:
        self.path = path
        self.name = name
        self.tree = tree
        self.dependencies = dependencies
        self.is_package = is_package
        self.infra = infra
        self.scope = build(tree)
        self.scope.owner = self
        self.functions: dict[int, Function] = {}
        self.classes: dict[int, Class] = {}

    def __repr__(self) -> str:
        return f"<module {self.name}>"

    def absolute(self, target: str, level: int) -> str:
        """The dotted name that `from <level dots><target>` means here; empty where it leaves the project."""
        if level == 0:
            return target
        parts = self.name.split(".") if self.name else []
        keep = len(parts) - level + (1 if self.is_package else 0)
        if keep < 0:
            return ""
        return ".".join([*parts[:keep], *([target] if target else [])])

    def function(self, scope: Scope) -> Function:
        """The function that a function or lambda scope belongs to."""
        key = id(scope.node)
        if key not in self.functions:
            self.functions[key] = Function(self, scope)
        return self.functions[key]

    def cls(self, scope: Scope) -> Class:
        """The class that a class scope belongs to."""
        key = id(scope.node)
        if key not in self.classes:
            self.classes[key] = Class(self, scope)
        return self.classes[key]

    def read(self) -> None:
        """Whoever does so rests on the module's whole text."""
        self.dependencies.note("module", self.path)

    @property
    def scopes(self) -> list[Scope]:
        """All scopes, outer ones first."""
        self.read()
        return self.all_scopes

    @property
    def class_scopes(self) -> list[Scope]:
        """The scopes of all classes, which are in the outline wherever they stand."""
        return [scope for scope in self.all_scopes if scope.kind == "class"]

    @cached_property
    def all_scopes(self) -> list[Scope]:
        """The same, for who notes himself what he reads there."""
        found = [self.scope]
        for scope in found:
            found.extend(scope.children.values())
        return found

    @cached_property
    def scope_of(self) -> dict[int, Scope]:
        """The scope that a function's or class's node opens, by the node's `id`."""
        return {id(scope.node): scope for scope in self.all_scopes}


class Function:
    """A function, method or lambda."""

    __slots__ = ("__dict__", "module", "node", "scope")

    def __init__(self, module: Module, scope: Scope) -> None:
        self.module = module
        self.scope = scope
        self.node: FunctionNode = scope.node  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<function {self.module.name}.{self.qualname}>"

    @property
    def name(self) -> str:
        return self.scope.name

    @cached_property
    def qualname(self) -> str:
        return self.scope.qualname

    @property
    def line(self) -> int:
        return self.node.lineno

    @cached_property
    def owner(self) -> Class | None:
        """The class that this is a method of."""
        parent = self.scope.parent
        return self.module.cls(parent) if parent is not None and parent.kind == "class" else None

    @cached_property
    def parent(self) -> Function | None:
        """The function around this one; a class in between does not hide it."""
        scope = self.scope.parent
        while scope is not None and scope.kind not in ("function", "lambda"):
            scope = scope.parent
        return self.module.function(scope) if scope is not None else None

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters that a positional argument can fill."""
        args = self.node.args
        return tuple(argument.arg for argument in (*args.posonlyargs, *args.args))

    @cached_property
    def defaults(self) -> dict[str, ast.expr]:
        args = self.node.args
        named = self.parameters[len(self.parameters) - len(args.defaults) :]
        found = dict(zip(named, args.defaults, strict=True))
        for argument, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            if default is not None:
                found[argument.arg] = default
        return found

    @cached_property
    def optional(self) -> frozenset[str]:
        """Parameters that are None unless they are given."""
        return frozenset(
            name
            for name, default in self.defaults.items()
            if isinstance(default, ast.Constant) and default.value is None
        )

    @cached_property
    def decorator_names(self) -> frozenset[str]:
        """Last words of the decorators: cheap to test before anything is resolved."""
        found = set()
        for decorator in getattr(self.node, "decorator_list", ()):
            target = decorator.func if isinstance(decorator, ast.Call) else decorator
            found.add(target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", ""))
        return frozenset(found)

    @cached_property
    def is_abstract(self) -> bool:
        """Whether a class below has to define it: on an instance what it says itself does not run."""
        if "abstractmethod" in self.decorator_names:
            return True
        body = [node for node in self.body if not _is_constant(node) or node.value.value is Ellipsis]  # type: ignore[attr-defined]
        if len(body) > 1:
            return False
        if body and isinstance(body[0], ast.Raise) and body[0].exc is not None:
            raised = body[0].exc.func if isinstance(body[0].exc, ast.Call) else body[0].exc
            return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
        return self.owner is not None and self.owner.is_interface and (not body or _is_constant(body[0]))

    @property
    def is_async(self) -> bool:
        return isinstance(self.node, ast.AsyncFunctionDef)

    @property
    def is_generator(self) -> bool:
        self.scope.read()
        return bool(self.scope.yields)

    @cached_property
    def receiver_name(self) -> str | None:
        """The parameter that stands for the instance or class, in a method that has one."""
        if self.owner is None or "staticmethod" in self.decorator_names or not self.parameters:
            return None
        return self.parameters[0]

    @property
    def asks(self) -> Asks:
        """What the body asks of what it is given."""
        self.scope.read()
        return self._asks

    @cached_property
    def _asks(self) -> Asks:
        return Asks(self)

    @property
    def nodes(self) -> list[ast.AST]:
        """Everything in the function but leaves."""
        self.scope.read()
        found: list[ast.AST] = [self.node]
        for node in found:
            found += branches(node)
        return found

    @property
    def vararg(self) -> str | None:
        return self.node.args.vararg.arg if self.node.args.vararg else None

    @property
    def kwarg(self) -> str | None:
        return self.node.args.kwarg.arg if self.node.args.kwarg else None

    @property
    def body(self) -> list[ast.stmt]:
        self.scope.read()
        if isinstance(self.node, ast.Lambda):
            return [ast.copy_location(ast.Expr(self.node.body), self.node.body)]
        return self.node.body


class Class:
    """A class of the project."""

    __slots__ = ("__dict__", "module", "node", "scope")

    def __init__(self, module: Module, scope: Scope) -> None:
        self.module = module
        self.scope = scope
        self.node: ast.ClassDef = scope.node  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<class {self.module.name}.{self.qualname}>"

    @property
    def name(self) -> str:
        return self.scope.name

    @cached_property
    def qualname(self) -> str:
        return self.scope.qualname

    @cached_property
    def is_interface(self) -> bool:
        """Whether it only says what classes have, by the word of its base."""
        return self.is_protocol or "Interface" in self._base_words

    @property
    def is_protocol(self) -> bool:
        """Whether it is a `typing.Protocol`: any class that has its members is one of it."""
        return "Protocol" in self._base_words

    @cached_property
    def _base_words(self) -> frozenset[str]:
        words = (base.value if isinstance(base, ast.Subscript) else base for base in self.node.bases)
        return frozenset(getattr(word, "attr", getattr(word, "id", "")) for word in words)

    @cached_property
    def methods(self) -> dict[str, list[Function]]:
        """Functions defined directly in the class, by name (a property's setter shares the getter's)."""
        found: dict[str, list[Function]] = {}
        for child in self.scope.children.values():
            if child.kind == "function":
                found.setdefault(child.name, []).append(self.module.function(child))
        return found

    @cached_property
    def member_names(self) -> frozenset[str]:
        """Everything that the class itself defines: in its body, or on `self` in its methods."""
        return frozenset(self.scope.bindings) | frozenset(name for name, *_ in self.assigned)

    @cached_property
    def assigned(self) -> list[tuple[str, Function, Binding]]:
        """`self.name = ...` in the methods, as (name, method, binding)."""
        found: list[tuple[str, Function, Binding]] = []
        for methods in self.methods.values():
            for method in methods:
                receiver = method.receiver_name
                pending = [method.scope]
                while pending:
                    scope = pending.pop()
                    function = self.module.function(scope) if scope.kind == "function" else method
                    found.extend(
                        (name, function, bound)
                        for owner, name, bound in scope.attributes
                        if owner == receiver
                    )
                    pending.extend(
                        child
                        for child in scope.children.values()
                        if child.kind in ("function", "comprehension")
                    )
        return found


def _is_constant(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def own_nodes(body: list[ast.stmt]) -> list[ast.AST]:
    """The nodes that run when the body runs, in the order of the text: nested functions, lambdas and classes'
    methods are left out, but their decorators and defaults are not."""
    found: list[ast.AST] = []
    stack: list[ast.AST] = list(reversed(body))
    while stack:
        node = stack.pop()
        found.append(node)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inner: list[ast.AST] = [*node.decorator_list, *node.args.defaults]
            inner += [default for default in node.args.kw_defaults if default is not None]
        elif isinstance(node, ast.Lambda):
            inner = []
        elif isinstance(node, ast.AnnAssign):
            inner = [part for part in (node.target, node.value) if part is not None]
        else:
            inner = list(ast.iter_child_nodes(node))
        stack.extend(reversed(inner))
    return found


__all__ = ["COMPREHENSIONS", "Class", "Function", "Module", "own_nodes"]
