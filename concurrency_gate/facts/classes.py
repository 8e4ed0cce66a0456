"""Classes of the project: bases, method resolution order and subclasses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .dependencies import Answers
from .modules import Class
from .values import ClassValue, External, Object

if TYPE_CHECKING:
    from .resolver import Resolver

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
        found = []
        for module in project.modules(project.files_with_base(cls.name)):
            for scope in module.class_scopes:
                if scope.node.bases:  # type: ignore[attr-defined]
                    candidate = module.cls(scope)
                    if candidate is not cls and cls in self.bases(candidate):
                        found.append(candidate)
        return found

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
