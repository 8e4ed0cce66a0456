"""check(paths, config) -> Report: the one way in, for the command line, flake8 and tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from concurrency_gate.cache import Store
from concurrency_gate.config import Config
from concurrency_gate.report.explanation import Explained
from concurrency_gate.rule import Finding, Report, Summary
from concurrency_gate.sources import Sources, Unreadable, decode, discover, read

Progress = Callable[[int, int], None]
"""Told how many files are done, of how many."""


def check(
    paths: Sequence[Path],
    config: Config,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    overrides: Mapping[str, bytes] | None = None,
    store: Store | None = None,
) -> Report:
    """Judge the files at or under `paths`. Raises PathError and ConfigError."""
    found = discover(paths, config)
    return judge(found, config, jobs=jobs, progress=progress, overrides=overrides, store=store)


def judge(
    sources: Sources,
    config: Config,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    overrides: Mapping[str, bytes] | None = None,
    store: Store | None = None,
) -> Report:
    """Judge the selected files of a project that is already listed."""
    del config, jobs, store
    counts = dict.fromkeys(("application", "infra", "test", "excluded"), 0)
    findings = []
    for done, source in enumerate(sources.selected, start=1):
        counts[source.role] += 1
        path = sources.root / source.path
        try:
            if source.role in ("application", "infra"):
                decode((overrides or {}).get(str(path)) or read(path))
        except Unreadable as error:
            message = f"the file {error.reason}"
            instead = "mend the file, or exclude it"
            findings.append(Finding(source.path, 1, 1, 1, 1, "CG902", "unreadable-file", message, instead))
        if progress:
            progress(done, len(sources.selected))
    summary = Summary(counts["application"], counts["infra"], counts["excluded"], counts["test"])
    return Report(tuple(sorted(findings)), (), summary)


def rules(config: Config) -> Sequence[Explained]:
    """The rules of the configured packs."""
    config.packs()
    return ()
