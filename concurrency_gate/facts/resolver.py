"""The one resolver: what does this expression stand for?

`Resolver.values(expression, scope, frame)` is the question that every rule, the reach analysis and the flake8
plugin ask. Answers are memoised; an answer that was computed while a cycle was cut is kept only at the head
of the cycle, since anywhere else it would depend on who asked first.

The parts: each kind of expression (`expressions.py`), names (`names.py`), attributes and classes (`members.py`), calls
(`calls.py`), annotations (`hints.py`), and what Python itself does with values (`intrinsics.py`).
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Hashable
from itertools import islice
from typing import TYPE_CHECKING

from . import callers, calls, classes, generics, hints, members, relations
from .expressions import EVALUATORS, constant
from .libraries import Libraries
from .modules import Class, Function
from .scopes import Scope
from .values import (
    Arguments,
    ClassValue,
    Constant,
    External,
    Frame,
    Instance,
    Value,
    Values,
    union,
    value_depth,
)

if TYPE_CHECKING:
    from concurrency_gate.catalogue import Catalogue

    from .project import Project

DEPTH = 250
"""How many evaluations may nest before the answer is "unknown"; a renaming takes about three."""

FRAMES = 12
"""How many of Python's frames one evaluation takes at most."""

ROUNDS = 6
"""How often a cycle is gone round before what it says then is taken."""

_UNCUT = DEPTH + 1

NESTING = 5
"""How many calls deep arguments are followed into frames: four stacked decorators are real."""


class Resolver:
    """Not thread-safe. Holds the memo of one run over one `Project`. `nesting`: how many calls deep arguments are
    followed; for names alone none need be, and in a large library there are millions of ways."""

    def __init__(self, project: Project, catalogue: Catalogue, nesting: int = NESTING) -> None:
        self.project = project
        self.catalogue = catalogue
        self._nesting = nesting
        self._memo: dict[Hashable, tuple[Values, int]] = {}
        self._assumed: dict[Hashable, Values] = {}
        self._consulted: set[Hashable] = set()
        self._active: dict[Hashable, int] = {}
        self._provisional: dict[Hashable, tuple[Values, int, int]] = {}
        self._cut = _UNCUT
        self._frames: dict[Hashable, Frame] = {}
        self._defaults: dict[Function, Frame] = {}
        self._kept: list[ast.expr] = []
        self.libraries = Libraries(project, catalogue)
        self.classes = classes.Classes(self)
        self.callers = callers.Callers(self)
        self.relations = relations.Relations(self) if nesting else None
        sys.setrecursionlimit(max(sys.getrecursionlimit(), DEPTH * FRAMES + 1000))

    # -- frames ------------------------------------------------------------------------------------------

    def frame(
        self,
        function: Function,
        receiver: Value | None = None,
        arguments: tuple[tuple[str, Values], ...] = (),
        closure: Frame | None = None,
    ) -> Frame:
        """The one frame with these parts."""
        key = (function, receiver, arguments, closure)
        found = self._frames.get(key)
        if found is None:
            depth = 1 + max((value_depth(v) for _, values in arguments for v in values), default=-1)
            depth = max(depth, closure.depth if closure else 0, value_depth(receiver) if receiver else 0)
            if depth > self._nesting:
                return self._shallow(function, arguments)
            found = self._frames[key] = Frame(function, receiver, arguments, closure, depth)
        return found

    def _shallow(self, function: Function, arguments: tuple[tuple[str, Values], ...]) -> Frame:
        """The default frame, but for arguments that are names and nothing else: `import_module("threading")`."""
        named = tuple((name, values) for name, values in arguments if values and all(map(_is_name, values)))
        frame = self.default_frame(function)
        if not named:
            return frame
        key = (function, frame.receiver, named, frame.closure)
        found = self._frames.get(key)
        if found is None:
            found = self._frames[key] = Frame(function, frame.receiver, named, frame.closure, 0)
        return found

    def default_frame(self, function: Function) -> Frame:
        """The function as anybody may call it: on its class or one below, with unknown arguments."""
        found = self._defaults.get(function)
        if found is None:
            closure = self.default_frame(function.parent) if function.parent else None
            receiver: Value | None = None
            if function.owner is not None and function.receiver_name is not None:
                receiver = (
                    ClassValue(function.owner)
                    if "classmethod" in function.decorator_names
                    else Instance(function.owner)
                )
            found = Frame(function, receiver, (), closure, 0)
            key = (function, receiver, (), closure)
            found = self._defaults[function] = self._frames.setdefault(key, found)
        return found

    # -- evaluation --------------------------------------------------------------------------------------

    def values(self, node: ast.expr, scope: Scope, frame: Frame | None) -> Values:
        """What the expression may stand for, in this scope, when the function around it runs as `frame`."""
        kind = type(node)
        if kind is ast.Constant:
            return constant(node.value)  # type: ignore[attr-defined]
        evaluate = EVALUATORS.get(kind)
        if evaluate is None:
            return ()

        def compute() -> Values:
            scope.read()
            return evaluate(self, node, scope, frame)

        return self.memoised((id(node), frame), compute)

    def memoised(self, key: Hashable, compute: Callable[[], Values]) -> Values:
        """Compute once. Where a question comes round to itself, it is answered with what is assumed, at first nothing,
        until the answers agree with what was assumed: so none depends on where the cycle was entered."""
        dependencies = self.project.dependencies
        known = self._memo.get(key)
        if known is not None:
            dependencies.mask |= known[1]
            return known[0]
        provisional = self._provisional.get(key)
        if provisional is not None:
            dependencies.mask |= provisional[1]
            self._cut = min(self._cut, provisional[2])
            return provisional[0]
        level = self._active.get(key)
        if level is not None:
            self._cut = min(self._cut, level)
            self._consulted.add(key)
            return self._assumed.get(key, ())
        if len(self._active) >= DEPTH:
            self._cut = 0
            return ()
        level = self._active[key] = len(self._active)
        outer, outer_cut = dependencies.mask, self._cut
        since = len(self._provisional)
        try:
            for _ in range(ROUNDS):
                dependencies.mask, self._cut = 0, _UNCUT
                result = compute()
                if self._cut != level or self._agrees(key, result, since):
                    break
        finally:
            del self._active[key]
            cut, self._cut = self._cut, outer_cut
        if cut >= level:
            self._memo[key] = (result, dependencies.taken())
            self._settle(since, dependencies.mask)
        else:  # part of a cycle that began further out
            self._provisional[key] = (result, dependencies.taken(), cut)
            self._cut = min(outer_cut, cut)
        dependencies.mask |= outer
        return result

    def _agrees(self, key: Hashable, result: Values, since: int) -> bool:
        """Whether a cycle's answers are those that were assumed on the way; if not, they are assumed from now on, and
        what was computed with the others is dropped."""
        agrees = True
        inner = list(islice(self._provisional.items(), since, None))
        for part, values in ((key, result), *((part, answer[0]) for part, answer in inner)):
            assumed = self._assumed.get(part, ())
            if part in self._consulted and not set(values) <= set(assumed):
                self._assumed[part] = union(assumed, values)
                agrees = False
        if not agrees:
            for part, _ in inner:
                del self._provisional[part]
        return agrees

    def _settle(self, since: int, mask: int) -> None:
        """Keep what was computed inside a cycle that is done."""
        while len(self._provisional) > since:
            part, (values, _, _) = self._provisional.popitem()
            self._memo[part] = (values, mask)
        if not self._active:
            self._assumed.clear()
            self._consulted.clear()

    def keep(self, node: ast.expr) -> None:
        """Hold a node that belongs to no module's tree: the memo goes by identity."""
        self._kept.append(node)

    def attribute(self, value: Value, name: str) -> Values:
        """What `value.name` may stand for."""
        return members.attribute(self, value, name)

    def call(self, value: Value, arguments: Arguments) -> Values:
        """What calling the value gives."""
        return calls.result(self, value, arguments)

    def arguments(self, node: ast.Call, scope: Scope, frame: Frame | None) -> Arguments:
        return calls.arguments(self, node, scope, frame)

    def instance_of(
        self, node: ast.expr, scope: Scope, frame: Frame | None, method: Frame | None = None
    ) -> Values:
        """What an annotation says a value is. One of a signature stands outside the method whose receiver it speaks
        of."""
        return generics.solved(self, hints.instances(self, node, scope, frame), method or frame)

    def subclasses(self, cls: Class) -> tuple[Class, ...]:
        return self.classes.subclasses(cls)


def _is_name(value: Value) -> bool:
    return isinstance(value, (Constant, External)) and getattr(value, "receiver", None) is None


__all__ = ["Resolver", "Value"]
