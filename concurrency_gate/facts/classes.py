"""Classes of the project: bases, method resolution order and subclasses."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .dependencies import Answers
from .modules import Class
from .values import ClassValue, External, Object

if TYPE_CHECKING:
    from .resolver import Resolver

MANY = 200
"""A protocol whose members' names stand in more files than this says nothing about who implements it."""

Base = Class | str
"""A class of the project, or the dotted name of one outside it."""


class Classes:
    """Bases, method resolution order and subclasses; each computed once."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        dependencies = resolver.project.dependencies
        self._orders: Answers[Class, tuple[Base, ...]] = Answers(dependencies)
        self._below: Answers[Class, tuple[Class, ...]] = Answers(dependencies)

    def bases(self, cls: Class) -> tuple[Base, ...]:
        """The direct bases that are known, in order."""
        r = self._resolver
        scope = cls.scope.parent
        assert scope is not None
        found: list[Base] = []
        frame = r.default_frame(cls.module.function(scope)) if scope.kind == "function" else None
        for node in cls.node.bases:
            for value in r.values(node, scope, frame):
                if isinstance(value, ClassValue) and value.cls is not cls:
                    found.append(value.cls)
                elif isinstance(value, External):
                    found.append(value.name)
                elif isinstance(value, Object) and value.type.endswith("()"):
                    found.append(value.type)  # a base that a library's function makes: declarative_base()
        return tuple(dict.fromkeys(found))

    def order(self, cls: Class) -> tuple[Base, ...]:
        """The method resolution order: the class first, external bases as names. Where Python would refuse
        the bases, or a base is only known in part, the order is depth first."""
        return self._orders.once(cls, lambda: self._order(cls), (cls,))

    def _order(self, cls: Class) -> tuple[Base, ...]:
        bases = self.bases(cls)
        orders: list[list[Base]] = [list(self.order(b)) if isinstance(b, Class) else [b] for b in bases]
        merged = _linearise([*orders, [*bases]])
        if merged is None:
            merged = list(dict.fromkeys(base for order in orders for base in order))
        return (cls, *merged)

    def subclasses(self, cls: Class) -> tuple[Class, ...]:
        """All classes of the project below this one, in the order of files and lines."""
        return self._below.once(cls, lambda: self._subclasses(cls), ())

    def _subclasses(self, cls: Class) -> tuple[Class, ...]:
        found: dict[Class, None] = {}
        queue = [cls]
        for current in queue:
            for child in self._directly_below(current):
                if child not in found and child is not cls:
                    found[child] = None
                    queue.append(child)
        return tuple(sorted(found, key=lambda c: (c.module.path, c.node.lineno)))

    def _directly_below(self, cls: Class) -> list[Class]:
        project = self._resolver.project
        found = [*self._declared(cls), *(self._matching(cls) if cls.is_protocol else ())]
        for module in project.modules(project.files_with_base(cls.name)):
            for scope in module.class_scopes:
                if scope.node.bases:  # type: ignore[attr-defined]
                    candidate = module.cls(scope)
                    if candidate is not cls and cls in self.bases(candidate):
                        found.append(candidate)
        return found

    def _matching(self, interface: Class) -> list[Class]:
        """The classes that have all members of a protocol, which need not name it."""
        r = self._resolver
        order = [base for base in self.order(interface) if isinstance(base, Class)]
        wanted = {name for base in order for name in base.member_names if not name.startswith("_")}
        if not wanted:
            return []
        paths = set.intersection(*(set(r.project.files_with(name)) for name in wanted))
        if len(paths) > MANY:
            return []
        return [
            candidate
            for module in r.project.modules(sorted(paths))
            for candidate in map(module.cls, module.class_scopes)
            if not candidate.is_protocol
            and wanted & candidate.member_names
            and self._has(candidate, interface, wanted)
        ]

    def _has(self, cls: Class, interface: Class, wanted: set[str]) -> bool:
        """Whether a class has these members of a protocol, methods with the same parameters, as type checkers ask."""
        order = [base for base in self.order(cls) if isinstance(base, Class)]
        for name in wanted:
            owner = next((base for base in order if name in base.member_names), None)
            if owner is None:
                return False
            for said, own in zip(interface.methods.get(name, ()), owner.methods.get(name, ()), strict=False):
                more = own.parameters[len(said.parameters) :]
                if own.parameters[1 : len(said.parameters)] != said.parameters[1:]:
                    return False
                if own.is_async is not said.is_async or any(name not in own.defaults for name in more):
                    return False
        return True

    def _declared(self, interface: Class) -> list[Class]:
        """The classes that a decorator declares to implement an interface, `@implementer(IMailer)`."""
        r = self._resolver
        declaring = {name.rpartition(".")[2] for name in r.catalogue.data["marks"]["implements"]}
        found: list[Class] = []
        for word in sorted(declaring):
            paths = set(r.project.files_with(word))
            paths = paths and paths.intersection(r.project.files_with(interface.name))
            for module in r.project.modules(sorted(paths)):
                found += [c for c in map(module.cls, module.class_scopes) if self._is_declared(c, interface)]
        return found

    def _is_declared(self, cls: Class, interface: Class) -> bool:
        r, scope = self._resolver, cls.scope.parent
        for node in cls.node.decorator_list if scope is not None else ():
            if not isinstance(node, ast.Call):
                continue
            assert scope is not None
            named = r.values(node.func, scope, None)
            if any(isinstance(v, External) and r.catalogue.marks("implements", v.name) for v in named):
                given = (value for each in node.args for value in r.values(each, scope, None))
                if any(isinstance(value, ClassValue) and value.cls is interface for value in given):
                    return True
        return False

    def derives(self, cls: Class, base: Base) -> bool:
        """Whether the class is, or derives from, a class of the project or an external one by name."""
        catalogue = self._resolver.catalogue
        for known in self.order(cls):
            if known == base:
                return True
            if isinstance(known, str) and isinstance(base, str) and catalogue.is_subclass(known, base):
                return True
        return False


def _linearise(orders: list[list[Base]]) -> list[Base] | None:
    """C3 (docs.python.org, "The Python 2.3 Method Resolution Order"); None where there is no such order."""
    merged: list[Base] = []
    orders = [order for order in orders if order]
    while orders:
        tails = {id(b) if isinstance(b, Class) else b for order in orders for b in order[1:]}
        head = next(
            (o[0] for o in orders if (id(o[0]) if isinstance(o[0], Class) else o[0]) not in tails), None
        )
        if head is None:
            return None
        merged.append(head)
        orders = [[b for b in order if b != head] for order in orders]
        orders = [order for order in orders if order]
    return merged
