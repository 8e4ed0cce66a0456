"""Transaction blocks: where in a module a transaction is open, and the files that may hold one."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from concurrency_gate.facts import calls, exports
from concurrency_gate.facts.mentions import Mentions
from concurrency_gate.facts.modules import Class, Function, Module
from concurrency_gate.facts.scopes import Binding, Scope
from concurrency_gate.facts.uses import frame_at
from concurrency_gate.facts.values import External, Frame, FunctionValue, Object
from concurrency_gate.sieve import Sieve, Tape

from .implicit import Sessions
from .openers import OPENING, SQL, Opener, Openers
from .requests import Requests
from .stretches import Stretch
from .walk import running
from .wrappers import Wrappers, calls_back

if TYPE_CHECKING:
    from concurrency_gate.facts.resolver import Resolver

_USED = ("blocks", "decorators", "begins")
_KEPT = (ast.Call, ast.Name, ast.Attribute, ast.Subscript)
_DEFINED = ("handlers", "injects")
"""Marks of what a file uses, and of what it may only define or annotate with."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Code that runs while a transaction is open. `nodes` are what runs; `opener` says by what, `line`
    where."""

    opener: str
    line: int
    nodes: Sequence[ast.AST]
    scope: Scope
    frame: Frame | None
    instead: str
    implicit: bool = False
    maybe: bool = False
    """Whether there is a way to this code on which the transaction has not been opened."""
    place: ast.expr | None = None
    """The one call that runs in the transaction, where the arguments around it do not."""
    via: ast.expr | None = None
    """The call of a function elsewhere that runs what it is handed in a transaction: a finding stands there."""


class Blocks:
    """Finds the blocks of modules; `transactional` and `detached` are dotted names from the configuration."""

    def __init__(self, resolver: Resolver, transactional: Sequence[str], detached: Sequence[str]) -> None:
        self._resolver = resolver
        self._transactional = [name.rpartition(".") for name in transactional]
        self._detached = detached
        self._read: set[int] = set()
        self._openers = Openers(resolver)
        self._wrappers = Wrappers(resolver, self._openers)
        self._sessions = Sessions(resolver, self._openers)
        self._requests = Requests(resolver, self._wrappers)

    # -- which files ------------------------------------------------------------------------------------------------

    def sieve(self, known: Mapping[str, Tape]) -> Sieve:
        """The files that may hold a block: by the catalogue's words, and by those of wrappers that modules
        offer. `known` are
        the tapes of an earlier run."""
        project = self._resolver.project
        libraries = self._resolver.libraries
        narrower: list[tuple[str, Sequence[str]]] = []
        for module_word, word in libraries.sources_of("blocks"):
            together = set(project.files_with(module_word))
            narrower.append((word, [path for path in project.files_with(word) if path in together]))
        narrower += [
            (word, project.files_with(word, SQL)) for word in sorted(libraries.words({"statements"}))
        ]
        narrower += [(f".{word}", project.files_with(word, rf"\.{word}\(")) for word in sorted(OPENING)]
        narrower += self._requests.words()
        narrower += self._sessions.words()
        found = Sieve(project, lambda module, mentions, _: self._offered(module, mentions), known)
        found.spread(self._words(), narrower)
        return found

    def _words(self) -> list[str]:
        libraries = self._resolver.libraries
        words = {*libraries.mentions(_USED), *libraries.words(_DEFINED)}
        words |= {owner.rpartition(".")[2] for owner, _, _ in self._transactional}
        words |= {f".{word}" for word in self._openers.transacting}
        return sorted(words)

    def _offered(self, module: Module, mentions: Mentions) -> Iterator[str]:
        """Names by which other modules may open a transaction through this one. Only what stands on a line
        that a word
        reaches can be one."""
        for scope in module.scopes:
            if scope.kind in ("function", "class") and mentions.touch(scope.node):
                yield from self._wrapper(module, scope, mentions)
            for name, binding in _kept(scope):
                if mentions.touch(binding.node) and self._is_news(binding) and self._is_kept(binding, scope):
                    yield name
            for name, bindings in scope.bindings.items() if scope.kind == "module" else ():
                if any(b.kind == "from" and b.item != name and b.item in mentions.names for b in bindings):
                    yield name  # a wrapper under another name

    def _is_kept(self, binding: Binding, scope: Scope) -> bool:
        """Whether what a name is bound to opens transactions, or brings a dependency that does."""
        node = binding.node
        frame = frame_at(self._resolver, scope)
        if binding.kind == "annotation":
            assert binding.annotation is not None
            return any(
                map(self._sessions.brings, self._resolver.instance_of(binding.annotation, scope, frame))
            )
        assert isinstance(node, ast.expr)
        if isinstance(node, (ast.Subscript, ast.Call)) and self._wrappers.injects(node, scope):
            return True
        values = self._resolver.values(node, scope, frame)
        return any(
            self._sessions.brings(v) or (isinstance(v, (External, Object)) and self._openers.of_value(v))
            for v in values
        )

    def _wrapper(self, module: Module, scope: Scope, mentions: Mentions) -> Iterator[str]:
        if scope.kind == "class":
            if self._is_news(scope.node) and self._wrappers.opens(module.cls(scope)):
                order = self._resolver.classes.order(module.cls(scope))
                yield from (
                    base.name for base in order if isinstance(base, Class)
                )  # who enters it may know a base
            return
        function = module.function(scope)
        handed = [
            node for node in (*scope.returns, *scope.yields) if mentions.touch(node) and self._is_news(node)
        ]
        if self._hands_out(function, handed) or (
            self._is_news(scope.node) and self._wrappers.exported(function)
        ):
            while function.parent is not None:
                function = function.parent
            yield function.name

    def _hands_out(self, function: Function, handed: Sequence[ast.expr]) -> bool:
        """Whether something that a function returns or yields opens a transaction for whoever enters or uses it."""
        r = self._resolver
        frame = r.default_frame(function)
        values = [value for node in handed for value in r.values(node, function.scope, frame)]
        return any(self._openers.of_value(value) or self._sessions.brings(value) for value in values)

    def _is_news(self, node: ast.AST | Binding) -> bool:
        """Whether the node is met for the first time; from now on it has been."""
        known = len(self._read)
        self._read.add(id(node))
        return len(self._read) > known

    # -- which code --------------------------------------------------------------------------------------------------

    def of_module(self, module: Module, mentions: Mentions | None) -> list[Block]:
        """The module's blocks, outer ones first; only where it mentions what may open one."""
        found: list[Block] = []
        elsewhere = {function.scope for function in self._requests.of_module(module)}
        scopes = [
            scope
            for scope in module.scopes
            if mentions is None or scope in elsewhere or mentions.touch(scope.node)
        ]
        for scope in scopes:
            if scope.kind == "class":
                found += self._of_class(module.cls(scope))
        for scope in scopes:
            if scope.kind in ("function", "module", "class"):
                found += self._in_scope(module, scope)
                found += self._handed_to_runners(scope, mentions)
        return found

    def _in_scope(self, module: Module, scope: Scope) -> Iterator[Block]:
        frame = frame_at(self._resolver, scope)
        if scope.kind == "function":
            function = module.function(scope)
            opener = self._wrappers.around(function) or self._requests.of_module(module).get(function)
            if opener is not None:
                yield self._whole(function, opener)
                return
        body = scope.node.body  # type: ignore[attr-defined]
        for stretch in self._openers.blocks(body, scope, frame):
            yield _of_stretch(stretch, scope, frame)
        for opener, call, where in self._openers.transacted(body, scope, frame):
            yield Block(opener.name, call.lineno, [call], where, frame, opener.instead, place=call.func)
        for stretch in self._sessions.stretches(body, scope, frame):
            yield _of_stretch(stretch, scope, frame, implicit=True)

    def _handed_to_runners(self, scope: Scope, mentions: Mentions | None) -> Iterator[Block]:
        """What the scope hands to a function of the project that calls it in a transaction: `in_transaction(work)`."""
        r = self._resolver
        frame = frame_at(r, scope)
        for visit in running(r, scope.node.body, scope, frame):  # type: ignore[attr-defined]
            call = visit.node
            if not isinstance(call, ast.Call) or not (call.args or call.keywords):
                continue
            word = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if mentions is not None and word not in mentions.names:
                continue
            for callee in r.values(call.func, visit.scope, frame):
                if isinstance(callee, FunctionValue) and calls_back(callee.function):
                    inner = calls.frame_of(r, callee, r.arguments(call, visit.scope, frame))
                    for opener, run, where in self._wrappers.runs_given(inner):
                        name = f"{opener.name} of {callee.function.name}()"
                        yield Block(
                            name,
                            call.lineno,
                            [run],
                            where,
                            inner,
                            opener.instead,
                            place=run.func,
                            via=call.func,
                        )

    def _whole(self, function: Function, opener: Opener) -> Block:
        frame = self._resolver.default_frame(function)
        return Block(opener.name, function.line, function.body, function.scope, frame, opener.instead)

    # -- methods that somebody wraps -----------------------------------------------------------------------------------

    def _of_class(self, cls: Class) -> Iterator[Block]:
        r = self._resolver
        for opener, name in (*self._wrappers.on_class(cls), *self._handled(cls)):
            for method in cls.methods.get(name, ()):
                frame = r.default_frame(method)
                yield Block(opener.name, method.line, method.body, method.scope, frame, opener.instead)

    def _handled(self, cls: Class) -> Iterator[tuple[Opener, str]]:
        """Methods that a framework, or a runner of the project, wraps in a transaction."""
        r = self._resolver
        yield from self._wrappers.mixed_in(cls)
        for base in r.classes.order(cls):
            if isinstance(base, str):
                for name in cls.methods:
                    for entry in r.catalogue.marks("handlers", f"{base}.{name}"):
                        yield Opener(f"{base}.{name}", entry.library, entry.instead), name
        for owner, _, method in self._transactional:
            detached = any(self._derives(cls, marker) for marker in self._detached)
            if method in cls.methods and self._derives(cls, owner) and not detached:
                advice = "use a detached handler, which owns its transactions, or hand the call to a job of its own"
                yield Opener(f"{owner}.{method}", "", advice), method

    def _derives(self, cls: Class, dotted: str) -> bool:
        """Whether a class is, or derives from, the one that the configuration names, by whatever name it has there."""
        named = [value.cls for value in exports.classes_named(self._resolver, dotted)]
        return any(
            base in named
            or (f"{base.module.name}.{base.qualname}" if isinstance(base, Class) else base) == dotted
            for base in self._resolver.classes.order(cls)
        )


def _of_stretch(stretch: Stretch, scope: Scope, frame: Frame | None, *, implicit: bool = False) -> Block:
    opener, line, nodes, maybe = stretch
    return Block(opener.name, line, nodes, scope, frame, opener.instead, implicit, maybe)


def _kept(scope: Scope) -> Iterator[tuple[str, Binding]]:
    """What a module, class or instance keeps under a name, where it may be a connection or an opener."""
    bound = (
        [(name, b) for name, bs in scope.bindings.items() for b in bs]
        if scope.kind in ("module", "class")
        else []
    )
    for name, binding in (*bound, *((name, b) for _, name, b in scope.attributes)):
        said = binding.kind == "annotation" and scope.kind == "class"
        if said or (binding.kind == "value" and isinstance(binding.node, _KEPT)):
            yield name, binding


__all__ = ["Block", "Blocks"]
