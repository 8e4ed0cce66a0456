"""From files to findings: through sieve and facts to the rules, one file at a time or all in one run."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property

from concurrency_gate import catalogue, sieve
from concurrency_gate.cache import Store
from concurrency_gate.config import Config
from concurrency_gate.facts.project import File, Project
from concurrency_gate.facts.proofs import Proofs
from concurrency_gate.facts.resolver import Resolver
from concurrency_gate.facts.syntax import Unparsable, prove_readable
from concurrency_gate.facts.uses import Use, uses
from concurrency_gate.inspection import Inspection, Outcome, Unread
from concurrency_gate.reach.analysis import Analysis, Reached
from concurrency_gate.reach.findings import Reach
from concurrency_gate.rule import (
    Failure,
    Finding,
    ModuleRule,
    Report,
    ReviewRule,
    Rule,
    RunRule,
    Step,
    Summary,
)
from concurrency_gate.seal import digest
from concurrency_gate.sieve import Sieve
from concurrency_gate.sources import Sources, Unreadable, decode, read
from concurrency_gate.verdicts import Memory, Verdict

JUDGED = ("application", "infra")


class Session:
    """What is known of a project, kept from one judged file to the next. Not thread-safe; survives a fork.

    Files are read once: a change on disk during a session goes unseen.
    """

    def __init__(
        self,
        sources: Sources,
        config: Config,
        rules: Sequence[type[Rule]],
        overrides: Mapping[str, bytes],
        store: Store | None = None,
    ) -> None:
        self.sources = sources
        self.config = config
        self.rules = rules
        self.overrides = overrides
        self._prefix = str(sources.root / "_").removesuffix("_")
        self.unread: dict[str, Unread] = {}
        self._unreadable: set[str] = set()
        self.needy: set[str] = set()
        self.failures: list[Failure] = []
        self._module_rules = [rule for rule in rules if issubclass(rule, ModuleRule)]
        self._kinds = frozenset(kind for rule in self._module_rules for kind in rule.kinds)
        self.judged = {source.path: source.role for source in sources.selected if source.role in JUDGED}
        roles = {source.path: source.role for source in sources.project if source.role != "test"}
        files = [File(path, role == "infra") for path, role in (roles | self.judged).items()]
        self.project = Project(files, self.read, config.roots, kept=store is not None)
        given = [path for path in self.judged if str(sources.root / path) in overrides]
        self.memory = Memory(store, self.project, sources.stamps, given) if store is not None else None
        self.catalogue = catalogue.load(config.catalogue)
        self.names = Resolver(self.project, self.catalogue, nesting=0)
        self.possible: set[Finding] = set()
        self.calls: set[Step] = set()
        self.unresolved: set[Step] = set()

    def read(self, path: str) -> bytes:
        """A file's bytes; empty, and noted, where it has none that can be read."""
        absolute = self._prefix + path
        try:
            return self.overrides[absolute] if absolute in self.overrides else read(absolute)
        except Unreadable as error:
            self.unread[path] = Unread(path, 1, error.reason)
            self._unreadable.add(path)  # not a matter of its text, so it is asked anew each time
            return b""

    @cached_property
    def analysis(self) -> Analysis:
        """What transaction blocks reach. The first question reads the project."""
        effects = frozenset(kind for rule in self._module_rules for kind in rule.effects)
        return Analysis(Resolver(self.project, self.catalogue), self.config, effects)

    @cached_property
    def sieves(self) -> tuple[Sieve, Sieve]:
        """What may use a name of the catalogue, and what may hold a transaction block. The first question
        reads the project, but for what is known of it from earlier runs."""
        known = self.memory.tapes if self.memory is not None else [{}, {}]
        with _without_collector():
            named = sieve.of_kinds(self.names, self._kinds, known[0])
            return named, self.analysis.sieve(known[1])

    def is_suspect(self, path: str) -> bool:
        """Whether no sieve clears a file."""
        return any(path in each.tapes for each in self.sieves)

    def known(self, path: str) -> Verdict | None:
        """What an earlier run found in a file, if it still holds."""
        return self.memory.verdict(path, self._words(path)) if self.memory is not None else None

    def judge(self, path: str, *, parses: bool = False) -> list[Finding]:
        """What the rules find in one of the `judged` files; what is possible only is noted. `parses`: the caller knows
        that the file is Python, so one that the sieve clears is not parsed."""
        verdict = self.known(path)
        if verdict is None:
            with _without_collector():
                verdict = self._judge(path, parses)
        if verdict.unread is not None:
            self.unread[path] = verdict.unread
        if verdict.needy:
            self.needy.add(path)
        self.calls |= verdict.calls
        self.unresolved |= verdict.unresolved
        sure = [finding for finding in verdict.findings if finding.doubt <= self.config.max_doubt]
        self.possible |= {*verdict.findings} - {*sure}
        return sure

    def save(self) -> None:
        """Hand what this session found to the store."""
        if self.memory is not None:
            self.memory.save([each.tapes for each in self.sieves])

    def conclude(self, paths: Sequence[str], *, whole: bool) -> list[Finding]:
        """What the rules about the run find once `paths` are judged; `whole`: they are the whole project."""
        outcome = Outcome(
            self.config,
            dict(self.sources.roles),
            whole,
            frozenset(self.needy),
            [self.unread[path] for path in paths if path in self.unread],
        )
        asked = [rule for rule in self.rules if issubclass(rule, RunRule)]
        return [finding for rule in asked for finding in rule().conclude(outcome)]

    def _is_readable(self, path: str, parses: bool) -> bool:
        """Whether a file can be decoded and parsed; what cannot is noted, also if the sieve would clear
        it."""
        data = self.project.text(path)
        if path in self.unread:
            return False
        try:
            if not data.isascii() or b"\0" in data:
                decode(data)
            if self.project.is_parsed(path):
                self.project.module(path)
            elif not parses:
                prove_readable(data)
        except Unreadable as error:
            self.unread[path] = Unread(path, 1, error.reason)
        except Unparsable as error:
            self.unread[path] = Unread(path, error.line, f"cannot be parsed: {error.reason}")
        unparsable = self.project.unparsable.get(path)
        if unparsable is not None:
            self.unread[path] = Unread(path, unparsable.line, f"cannot be parsed: {unparsable.reason}")
        return path not in self.unread

    def _words(self, path: str) -> str:
        """A digest of the words that reached a file; empty if none did."""
        families = [sorted(each.words(path)) for each in self.sieves]
        return digest(repr(families).encode("utf-8", "surrogatepass")) if any(families) else ""

    def _judge(self, path: str, parses: bool) -> Verdict:
        verdict, failed = Verdict(words=self._words(path)), len(self.failures)
        dependencies = self.project.dependencies
        dependencies.mask = 0
        dependencies.note("module", path)
        if self._is_readable(path, parses) and self.is_suspect(path):
            self._find(path, self.judged[path] == "infra", verdict)
        verdict.unread = self.unread.get(path)
        verdict.mask = dependencies.mask
        if self.memory is not None and path not in self._unreadable and len(self.failures) == failed:
            self.memory.keep(path, verdict)
        return verdict

    def _find(self, path: str, infra: bool, verdict: Verdict) -> None:
        """Note in the verdict what a suspect holds."""
        module = self.project.module(path)
        if module is None:
            return
        named, blocks = (each.mentions(path) for each in self.sieves)
        found = uses(self.names, module, self._kinds, named) if named is not None else []
        exempt = frozenset(kind for rule in self._module_rules if rule.exempt_in_infra for kind in rule.kinds)
        verdict.needy = infra and any(use.entry.kind in exempt for use in found)
        asked = [rule for rule in self._module_rules if not (infra and rule.exempt_in_infra)]
        wanted = frozenset(kind for rule in asked for kind in rule.kinds)
        found = [use for use in found if use.entry.kind in wanted]
        reached = self.analysis.of_module(module, blocks) if blocks is not None else Reached()
        verdict.calls, verdict.unresolved = reached.calls, reached.unresolved
        if found or reached.reaches:
            verdict.findings = self._ask(path, asked, found, reached.reaches)

    def _ask(
        self, path: str, rules: Sequence[type[ModuleRule]], found: Sequence[Use], reaches: Sequence[Reach]
    ) -> list[Finding]:
        """Show a file to the rules. One that crashes is reported, and the others still judge."""
        from concurrency_gate import concrete

        module = self.project.module(path)
        assert module is not None
        text = decode(self.project.text(path)).removeprefix("\ufeff")
        findings: list[Finding] = []
        for rule in rules:
            uses_of = [use for use in found if use.entry.kind in rule.kinds]
            reaches_of = [reach for reach in reaches if reach.kind in rule.effects]
            if not uses_of and not reaches_of:
                continue
            file = Inspection(path, text, uses_of, reaches_of)
            try:
                concrete.visit(file, module.tree, [rule(file)])
            except Exception as error:  # a rule is foreign code: whatever it raises, the others must be heard
                self.failures.append(Failure(path, rule.code, f"{type(error).__name__}: {error}"))
            findings += file.findings
        findings.sort()
        for review in self.rules:
            if issubclass(review, ReviewRule):
                findings += review().review(Inspection(path, text), tuple(findings))
        return findings


def report(
    session: Session, progress: Callable[[int, int], None] | None = None, jobs: int | None = None
) -> Report:
    """Judge all selected files in one run."""
    findings: list[Finding] = []
    with _without_collector():
        unknown = [path for path in session.judged if session.known(path) is None]
        texts = {path: session.project.text(path) for path in unknown}
        with Proofs(texts, jobs) as proofs:
            order = sorted(session.judged, key=lambda path: not session.is_suspect(path))
            proven: frozenset[str] | None = None
            for done, path in enumerate(order, start=1):
                if proven is None and not session.is_suspect(path):
                    proven = proofs.take()
                findings += session.judge(path, parses=proven is not None and path in proven)
                if progress:
                    progress(done, len(order))
        session.save()
    whole = len(session.sources.selected) == len(session.sources.project)
    findings += session.conclude(list(session.judged), whole=whole)
    return Report(
        tuple(sorted(set(findings))),
        tuple(sorted(session.failures)),
        _summary(session),
        tuple(sorted(session.possible)),
        tuple(sorted(session.unresolved)),
    )


def _summary(session: Session) -> Summary:
    counts = dict.fromkeys(("application", "infra", "excluded", "test"), 0)
    for source in session.sources.selected:
        counts[source.role] += 1
    return Summary(
        counts["application"],
        counts["infra"],
        counts["excluded"],
        counts["test"],
        len(session.calls),
        len(session.unresolved),
    )


@contextmanager
def _without_collector() -> Iterator[None]:
    """Garbage collection waits: nothing that a session makes is garbage before its end."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
