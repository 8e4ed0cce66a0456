"""Small projects after real faults, judged by the command line: what must be found, and what must not."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from concurrency_gate import cli

OWN = Path(__file__).parents[1] / "data" / "cases"
SHARED = Path(__file__).parents[3] / "shared" / "cases"
SPAWN = "CG1"

Found = set[tuple[str, int, int, str]]


def check(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Found:
    monkeypatch.chdir(folder)
    code = cli.run(["check", "--format", "json", "--no-cache"])
    report = json.loads(capsys.readouterr().out)
    assert report["errors"] == []
    assert code == bool(report["findings"])
    return {(f["path"], f["line"], f["column"], f["code"]) for f in report["findings"]}


def copied(case: Path, folder: Path, settings: str = "") -> Path:
    root = folder / case.name
    shutil.copytree(case, root)
    if not (root / "pyproject.toml").exists():
        (root / "pyproject.toml").write_text(f"[tool.concurrency-gate]\n{settings}")
    return root


def expected(case: Path) -> Iterator[tuple[str, int, int, str]]:
    for path in case.rglob("*.py"):
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            for code, column in re.findall(r"# error: (\w+) (\d+)", line):
                yield path.relative_to(case).as_posix(), number, int(column), code


@pytest.mark.parametrize("case", sorted(OWN.iterdir()), ids=lambda case: case.name)
def test_exactly_what_the_comments_say_is_found(
    case: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = set(expected(case))
    assert bool(wanted) != case.name.startswith("clean_")
    assert check(copied(case, tmp_path), capsys, monkeypatch) == wanted


def shared_cases() -> Iterator[object]:
    for meta in sorted(SHARED.glob("*/case.json")):
        case = json.loads(meta.read_text())
        spoken_of = [*case["expected"], *case["expected_absent"]]
        if not case.get("contested") and any(p.get("family", "spawn") == "spawn" for p in spoken_of):
            yield pytest.param(meta.parent, case, id=case["id"])


@pytest.mark.skipif(not SHARED.is_dir(), reason="there is no folder of cases beside the repository")
@pytest.mark.parametrize(("folder", "case"), list(shared_cases()))
def test_shared_cases_of_the_spawn_family(
    folder: Path,
    case: dict[str, list[dict[str, object]]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = copied(folder, tmp_path, 'select = ["CG"]\ninclude-tests = false\n')
    found = check(root, capsys, monkeypatch)
    places = {(path, line) for path, line, _, code in found if code.startswith(SPAWN)}
    for want in case["expected"]:
        if want["family"] == "spawn":
            accepted = [want, *_as_places(want.get("also_accept", []))]
            assert any((place["file"], place["line"]) in places for place in accepted), want
    for never in case["expected_absent"]:
        if never.get("family", "spawn") == "spawn":
            assert (never["file"], never["line"]) not in places, never


def _as_places(value: object) -> list[dict[str, object]]:
    assert isinstance(value, list)
    return value
