"""One run: files through sieve and facts to the rules, and the rules' findings into a report."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence

from concurrency_gate import catalogue, sieve
from concurrency_gate.cache import Store
from concurrency_gate.config import Config
from concurrency_gate.facts.project import File, Project
from concurrency_gate.facts.resolver import Resolver
from concurrency_gate.facts.syntax import Unparsable, parse
from concurrency_gate.facts.uses import Use, uses
from concurrency_gate.inspection import Inspection, Outcome, Unread
from concurrency_gate.rule import Failure, Finding, ModuleRule, Report, ReviewRule, Rule, RunRule, Summary
from concurrency_gate.sources import Sources, Unreadable, decode, read

JUDGED = ("application", "infra")


class Run:
    """Made for one report. Not thread-safe."""

    def __init__(
        self,
        sources: Sources,
        config: Config,
        rules: Sequence[type[Rule]],
        overrides: Mapping[str, bytes],
        store: Store | None,
    ) -> None:
        self.sources = sources
        self.config = config
        self.rules = rules
        self.overrides = overrides
        self.store = store
        self.unread: dict[str, Unread] = {}
        self.failures: list[Failure] = []
        files = [
            File(source.path, source.role == "infra")
            for source in sources.project
            if source.role != "test"
        ]
        known = {file.path for file in files}
        files += [File(s.path, s.role == "infra") for s in sources.selected if s.path not in known]
        self.project = Project(files, self.read, config.roots)
        self.resolver = Resolver(self.project, catalogue.load(config.catalogue))

    def read(self, path: str) -> bytes:
        """A file's bytes; empty, and noted, where it has none that can be read."""
        absolute = self.sources.root / path
        try:
            return self.overrides[str(absolute)] if str(absolute) in self.overrides else read(absolute)
        except Unreadable as error:
            self.unread[path] = Unread(path, 1, error.reason)
            return b""

    def report(self, progress: Callable[[int, int], None] | None = None) -> Report:
        """Judge. Garbage collection waits: nothing here is garbage before the run ends."""
        collecting = gc.isenabled()
        gc.disable()
        try:
            return self._report(progress)
        finally:
            if collecting:
                gc.enable()

    def _report(self, progress: Callable[[int, int], None] | None) -> Report:
        judged = [source for source in self.sources.selected if source.role in JUDGED]
        module_rules = [rule for rule in self.rules if issubclass(rule, ModuleRule)]
        kinds = frozenset(kind for rule in module_rules for kind in rule.kinds)
        suspects = set(sieve.suspects(self.resolver, kinds))
        findings: list[Finding] = []
        needy: set[str] = set()
        for done, source in enumerate(judged, start=1):
            if self._is_readable(source.path) and source.path in suspects:
                found, is_needy = self._judge(source.path, source.role == "infra", module_rules, kinds)
                findings += found
                if is_needy:
                    needy.add(source.path)
            if progress:
                progress(done, len(judged))
        outcome = Outcome(
            self.config,
            dict(self.sources.roles),
            len(self.sources.selected) == len(self.sources.project),
            frozenset(needy),
            [unread for path, unread in self.unread.items() if path in {s.path for s in judged}],
        )
        for rule in self.rules:
            if issubclass(rule, RunRule):
                findings += rule().conclude(outcome)
        return Report(tuple(sorted(set(findings))), tuple(sorted(self.failures)), self._summary())

    def _is_readable(self, path: str) -> bool:
        """Whether a file can be decoded and parsed; what cannot is noted, also where the sieve would clear it."""
        data = self.project.text(path)
        if path in self.unread:
            return False
        try:
            if not data.isascii():
                decode(data)
            if self.project.is_parsed(path):
                self.project.module(path)
            else:
                parse(data)
        except Unreadable as error:
            self.unread[path] = Unread(path, 1, error.reason)
        except Unparsable as error:
            self.unread[path] = Unread(path, error.line, f"cannot be parsed: {error.reason}")
        if path in self.project.unparsable:
            error = self.project.unparsable[path]
            self.unread[path] = Unread(path, error.line, f"cannot be parsed: {error.reason}")
        return path not in self.unread

    def _judge(
        self, path: str, infra: bool, rules: Sequence[type[ModuleRule]], kinds: frozenset[str]
    ) -> tuple[list[Finding], bool]:
        """A file's findings, and whether it holds what only an infra path may."""
        module = self.project.module(path)
        if module is None:
            return [], False
        found = uses(self.resolver, module, kinds)
        exempt = frozenset(kind for rule in rules if rule.exempt_in_infra for kind in rule.kinds)
        needy = infra and any(use.entry.kind in exempt for use in found)
        asked = [rule for rule in rules if not (infra and rule.exempt_in_infra)]
        wanted = frozenset(kind for rule in asked for kind in rule.kinds)
        found = [use for use in found if use.entry.kind in wanted]
        if not found:
            return [], needy
        return self._ask(path, asked, found), needy

    def _ask(self, path: str, rules: Sequence[type[ModuleRule]], found: Sequence[Use]) -> list[Finding]:
        """Show a file to the rules. One that crashes is reported, and the others still judge."""
        from concurrency_gate import concrete

        module = self.project.module(path)
        assert module is not None
        text = decode(self.project.text(path)).removeprefix("\ufeff")
        findings: list[Finding] = []
        for rule in rules:
            uses_of = [use for use in found if use.entry.kind in rule.kinds]
            if not uses_of:
                continue
            file = Inspection(path, text, uses_of)
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

    def _summary(self) -> Summary:
        counts = dict.fromkeys(("application", "infra", "excluded", "test"), 0)
        for source in self.sources.selected:
            counts[source.role] += 1
        return Summary(counts["application"], counts["infra"], counts["excluded"], counts["test"])
