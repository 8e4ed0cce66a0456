"""The commands: arguments in, exit code out."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import click

from concurrency_gate import __version__, cache, config, gate, replay, report, sources
from concurrency_gate.catalogue_format import CatalogueError
from concurrency_gate.config import Config, ConfigError
from concurrency_gate.report.explanation import explanation
from concurrency_gate.report.progress import Progress
from concurrency_gate.rule import Report

CLEAN, FOUND, FAILED = 0, 1, 2


def run(arguments: Sequence[str]) -> int:
    """Run the command line `arguments` (without the program's name) and return the exit code: 0 clean,
    1 findings, 2 could not do the job. Nothing that goes wrong ends in a traceback or in another code."""
    try:
        result: object = commands.main(
            list(arguments), prog_name="concurrency-gate", standalone_mode=False, obj=tuple(arguments)
        )
    except click.ClickException as error:
        error.show()
        return FAILED
    except (ConfigError, sources.PathError, CatalogueError) as error:
        click.echo(f"concurrency-gate: {error}", err=True)
        return FAILED
    except (KeyboardInterrupt, click.Abort):
        click.echo("concurrency-gate: interrupted", err=True)
        return FAILED
    except Exception as error:
        if os.environ.get("CONCURRENCY_GATE_DEBUG"):
            traceback.print_exc()
        frame = traceback.extract_tb(error.__traceback__)[-1]
        cause = f"{type(error).__name__}: {error} ({Path(frame.filename).name}, line {frame.lineno})"
        click.echo(
            f"concurrency-gate: internal error: {' '.join(cause.split())}; "
            "CONCURRENCY_GATE_DEBUG=1 shows where, please report it",
            err=True,
        )
        return FAILED
    return result if isinstance(result, int) else CLEAN


class _Commands(click.Group):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            close = get_close_matches(args[0], known, n=1)
            mend = f"did you mean {close[0]}?" if close else f"the commands are {', '.join(known)}."
            raise click.UsageError(f"There is no command {args[0]!r}; {mend}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands)
@click.version_option(__version__, prog_name="concurrency-gate")
def commands() -> None:
    """Keep concurrency bounded, time-limited and stoppable."""


def _codes(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(code.strip() for value in values for code in value.split(",") if code.strip())


@commands.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--format", "form", type=click.Choice(report.FORMATS), default="text", show_default=True)
@click.option("--output", type=click.Path(dir_okay=False), help="Write the report to this file.")
@click.option("--config", "file", type=click.Path(), help="Use this file instead of the one found upwards.")
@click.option(
    "--select", multiple=True, callback=_codes, help="Codes or prefixes, instead of the configuration's."
)
@click.option(
    "--ignore", multiple=True, callback=_codes, help="Codes or prefixes, instead of the configuration's."
)
@click.option(
    "--jobs", "-j", type=click.IntRange(min=1), help="Processes; one for each core that pays by default."
)
@click.option("--no-cache", is_flag=True, help="Neither read nor write what earlier runs worked out.")
@click.option(
    "--cache-dir", type=click.Path(file_okay=False), help="Keep the cache there, not in the project."
)
@click.option(
    "--possible", is_flag=True, help="Show possible findings too; they do not change the exit code."
)
@click.option("--explain-unresolved", is_flag=True, help="List the calls that could not be resolved.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.pass_obj
def check(
    arguments: tuple[str, ...],
    paths: tuple[str, ...],
    form: str,
    output: str | None,
    file: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    jobs: int | None,
    no_cache: bool,
    cache_dir: str | None,
    possible: bool,
    explain_unresolved: bool,
    color: str,
) -> int:
    """Judge the files under PATHS (the working directory by default).

    Exits with 0 if they are clean, 1 if there are findings, 2 if the job could not be done.
    """
    settings = _settings(paths, file, select, ignore)
    store = None if no_cache else cache.open_store(settings, cache_dir)
    recorder = replay.Recorder(store, arguments) if store else None
    found = sources.discover([Path(path) for path in paths or (".",)], settings)
    with Progress() as progress:
        outcome = gate.judge(found, settings, jobs=jobs, progress=progress, store=store)
    if store:
        store.save()

    options = report.Options(
        root=settings.root,
        color=_wants_color(color) and output is None,
        possible=possible,
        explain_unresolved=explain_unresolved,
        min_resolved=settings.min_resolved,
    )
    text = report.render(form, outcome, options)
    try:
        replay.emit(text, output)
    except OSError as error:
        raise click.ClickException(f"{output}: cannot be written: {error.strerror}") from error
    code = _exit_code(outcome, settings)
    if recorder and code != FAILED:
        recorder.record(found, settings, paths, replay.Outcome(code, text, output))
    return code


@commands.command()
@click.argument("code")
@click.option("--config", "file", type=click.Path(), help="Use this file instead of the one found upwards.")
def explain(code: str, file: str | None) -> None:
    """Say what a rule finds, why, and what to write instead."""
    known = {rule.code: rule for rule in gate.rules(_settings((), file))}
    rule = known.get(code.upper())
    if rule is None:
        close = get_close_matches(code.upper(), known, n=1)
        mend = f"did you mean {close[0]}?" if close else "`concurrency-gate rules` lists them."
        raise click.UsageError(f"There is no rule {code!r}; {mend}")
    click.echo(explanation(rule))


@commands.command()
@click.option("--config", "file", type=click.Path(), help="Use this file instead of the one found upwards.")
def rules(file: str | None) -> None:
    """List the rules."""
    for rule in sorted(gate.rules(_settings((), file)), key=lambda rule: rule.code):
        click.echo(f"{rule.code}  {rule.name:<26}  {rule.summary}")


@commands.command()
@click.option("--via", type=click.Choice(["cli", "flake8", "pre-commit"]), default="cli", show_default=True)
@click.option("--config", "file", type=click.Path(), help="Use this file instead of the one found upwards.")
def prove(via: str, file: str | None) -> int:
    """Plant violations in a scratch copy of the project and see that the gate turns red."""
    from concurrency_gate import prove as proof

    return proof.run(_settings((), file), via)


def _settings(
    paths: Sequence[str], file: str | None, select: tuple[str, ...] = (), ignore: tuple[str, ...] = ()
) -> Config:
    settings = config.load(Path(file)) if file is not None else config.find_for([Path(p) for p in paths])
    given = {key: codes for key, codes in (("select", select), ("ignore", ignore)) if codes}
    return settings.override(**given) if given else settings


def _exit_code(outcome: Report, settings: Config) -> int:
    if outcome.errors:
        return FAILED
    return FOUND if outcome.findings or report.is_blind(outcome.summary, settings.min_resolved) else CLEAN


def _wants_color(choice: str) -> bool:
    if choice == "auto":
        # https://no-color.org: any value but the empty one
        on_terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        return not os.environ.get("NO_COLOR") and (bool(os.environ.get("FORCE_COLOR")) or on_terminal)
    return choice == "always"
