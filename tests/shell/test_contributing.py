"""The rule in CONTRIBUTING.md, taken at its word."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from textwrap import dedent

import pytest

from tests.shell.conftest import Project

TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text("utf-8")


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """The example as a team's rule pack."""
    example = re.search(r"^( *)```python\n(.*?)^ *```", TEXT, re.MULTILINE | re.DOTALL)
    assert example
    file = tmp_path / "site" / "acme_rules" / "__init__.py"
    file.parent.mkdir(parents=True)
    file.write_text(dedent(example[2]))
    return file


def test_the_example_is_a_rule_that_works(project: Project, pack: Path) -> None:
    (rule,) = runpy.run_path(str(pack))["RULES"]
    project.write(
        {
            "concurrency-gate.toml": 'rule-packs = ["acme_rules"]',
            "red.py": rule.red[0],
            "green.py": rule.green[0],
        }
    )
    completed = project.run("check", "--format", "json", env={"PYTHONPATH": str(pack.parents[1])})
    assert [(f["path"], f["code"]) for f in json.loads(completed.stdout)["findings"]] == [
        ("red.py", rule.code)
    ]


def test_its_explanation_is_printed(project: Project, pack: Path) -> None:
    project.write({"concurrency-gate.toml": 'rule-packs = ["acme_rules"]'})
    completed = project.run("explain", "AC201", env={"PYTHONPATH": str(pack.parents[1])})
    assert completed.stdout.startswith("AC201 bare-enqueue\n")


def test_the_commands_it_names_exist() -> None:
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    for target in set(re.findall(r"(?:`|\$ )make ([a-z-]+)", TEXT)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
