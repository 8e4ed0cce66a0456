"""The library needs the standard library alone, and importing it costs next to nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import concurrency_gate.runtime as runtime

ALONE = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"libcst", "click", "flake8", "psycopg"}:
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
"""


def python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_every_public_name_is_there() -> None:
    assert all(getattr(runtime, name) for name in runtime.__all__)
    assert set(runtime.__all__) <= set(dir(runtime))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = runtime.nonsense


def test_it_needs_the_standard_library_alone() -> None:
    assert (
        python(f"{ALONE}\nfrom concurrency_gate.runtime import *\nprint(detach(max, 1, 2).result(5))") == "2"
    )


def test_importing_the_package_imports_none_of_its_modules() -> None:
    listed = "[name for name in sys.modules if 'concurrency_gate.runtime.' in name]"
    assert python(f"import sys, concurrency_gate.runtime; print({listed})") == "[]"


def test_names_survive_the_import_of_modules_alike() -> None:
    """A module that had the name of a function would take its place in the package."""
    modules = set(runtime._HOME.values())
    assert modules.isdisjoint(runtime.__all__)
