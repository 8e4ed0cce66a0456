"""Every name in the packaged catalogue is a name in the real package: the standard library's in this process,
the others' in a virtual environment of their own, built from requirements.txt."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.catalogue import claims, verify

HERE = Path(__file__).parent
LIBRARIES = claims.libraries()
OWN = [library for library in LIBRARIES.values() if library.distribution is None]
OTHERS = [library for library in LIBRARIES.values() if library.distribution is not None]


def _normal(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _pins() -> dict[str, str]:
    lines = (HERE / "requirements.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if "==" in line)


def _wanted(libraries: list[claims.Library], due: bool) -> list[tuple[claims.Library, claims.Claim]]:
    return [
        (library, claim)
        for library in libraries
        for claim in claims.claims(library)
        if claims.due(library, claim) is due
    ]


def _idle(noted: list[tuple[claims.Library, claims.Claim]], failed: set[str]) -> list[str]:
    """The notes that excuse nothing: all that they cover holds."""
    needed: dict[tuple[str, str], bool] = {}
    for library, claim in noted:
        for key in library.notes_on(claim):
            needed[library.name, key] = needed.get((library.name, key), False) or claim[1] in failed
    return [f"{library}: {key}" for (library, key), used in needed.items() if not used]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("library", OWN, ids=lambda library: library.name)
def test_names_of_the_standard_library_exist(library: claims.Library) -> None:
    assert verify.faults(claim for _, claim in _wanted([library], due=True)) == []


def test_notes_on_the_standard_library_are_needed() -> None:
    noted = _wanted(OWN, due=False)
    failed = {name for name, _ in verify.faults(claim for _, claim in noted)}
    assert _idle(noted, failed) == []


def test_every_distribution_is_pinned_in_the_version_that_the_catalogue_states() -> None:
    pins = _pins()
    for library in OTHERS:
        assert library.distribution is not None
        pinned = pins.get(_normal(library.distribution))
        assert library.version == pinned, f"{library.name}: {library.version} is stated, {pinned} is pinned"


def test_what_cannot_be_installed_carries_a_reason() -> None:
    absent = [library for library in OTHERS if _normal(library.distribution or "") not in _pins()]
    assert [(library.name, claim) for library, claim in _wanted(absent, due=True)] == []


def _interpreter() -> str | None:
    """A Python that is new enough for the pinned versions: 3.12, for Django 6."""
    if sys.version_info >= (3, 12):
        return sys.executable
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    versions = sorted(root.glob("versions/3.1[23].*/bin/python"))
    for candidate in (*map(shutil.which, ("python3.12", "python3.13")), *map(str, versions)):
        if candidate and subprocess.run([candidate, "-c", ""], capture_output=True).returncode == 0:
            return candidate
    return None


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The interpreter of a fresh environment with the pinned packages."""
    interpreter = _interpreter()
    if interpreter is None:
        pytest.skip("needs Python 3.12 or 3.13, for which the packages are pinned")
    folder = tmp_path_factory.mktemp("packages")
    subprocess.run([interpreter, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    options = ["-q", "--no-deps", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([python, "-m", "pip", "install", *options, "-r", HERE / "requirements.txt"], check=True)
    yield python
    shutil.rmtree(folder)


def _verify(python: Path, noted: list[tuple[claims.Library, claims.Claim]]) -> list[list[str]]:
    done = subprocess.run(
        [python, HERE / "verify.py"],
        input=json.dumps([claim for _, claim in noted]),
        capture_output=True,
        text=True,
        cwd=python.parent,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    faults: list[list[str]] = json.loads(done.stdout)
    return faults


@pytest.mark.heavy
def test_names_of_packages_exist(python: Path) -> None:
    assert _verify(python, _wanted(OTHERS, due=True)) == []


@pytest.mark.heavy
def test_notes_on_packages_are_needed(python: Path) -> None:
    noted = _wanted(OTHERS, due=False)
    failed = {name for name, _ in _verify(python, noted)}
    assert _idle(noted, failed) == []
