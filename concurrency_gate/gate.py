"""check(paths, config) -> Report: the one way in, for the command line, flake8, `prove` and tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from concurrency_gate import run
from concurrency_gate.cache import Store
from concurrency_gate.config import Config, ConfigError
from concurrency_gate.rule import Report, Rule
from concurrency_gate.run import Session
from concurrency_gate.sources import PathError, Source, Sources, classifier, discover

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
    """Judge the selected files of a project that is already listed. `overrides` is text to use instead of
    that on disk, by absolute path. The outcome is the same for any number of jobs, with and without a
    store."""
    return run.report(
        Session(sources, config, selected_rules(config), overrides or {}, store), progress, jobs
    )


def session(
    paths: Sequence[Path],
    config: Config,
    *,
    overrides: Mapping[str, bytes] | None = None,
    store: Store | None = None,
) -> Session:
    """For judging the files at or under `paths` one by one, when and if somebody asks. A file in `overrides`
    is among them, whether or not it exists. Where nothing can be judged, `Session.judged` is empty."""
    overrides = overrides or {}
    try:
        found = discover([path for path in paths if path.exists()], config)
    except PathError:  # no Python file there
        found = Sources(config.root, (), (), {}, b"", ())
    role, root = classifier(config), config.root
    given = [Path(path).relative_to(root).as_posix() for path in overrides if Path(path).is_relative_to(root)]
    selected = {source.path: source for source in found.selected}
    selected |= {path: Source(path, role(path)) for path in given}
    found = replace(found, selected=tuple(selected.values()))
    return Session(found, config, selected_rules(config), overrides, store)


def rules(config: Config) -> list[type[Rule]]:
    """The rules of the configured packs. Raises ConfigError for a pack that offers none, and for a code that
    two rules claim."""
    found: dict[str, type[Rule]] = {}
    for pack in config.packs():
        name = f'"{pack.__name__}"'
        offered = getattr(pack, "RULES", None)
        if not isinstance(offered, (tuple, list)):
            raise config.mistake(
                "rule_packs", f'"{pack.__name__}" offers no rules; give it a tuple named RULES'
            )
        for rule in offered:
            if not (isinstance(rule, type) and issubclass(rule, Rule)):
                raise config.mistake("rule_packs", f"{name}: {rule!r} is no subclass of Rule")
            if found.setdefault(rule.code, rule) is not rule:
                raise config.mistake(
                    "rule_packs", f'"{pack.__name__}" claims {rule.code}, which is another rule\'s'
                )
    return list(found.values())


def selected_rules(config: Config) -> list[type[Rule]]:
    """The rules that the configuration selects."""
    known = rules(config)
    codes = config.codes(rule.code for rule in known)
    return [rule for rule in known if rule.code in codes]


__all__ = ["ConfigError", "Progress", "Session", "check", "judge", "rules", "selected_rules", "session"]
