"""README.md says what is true: every command in it runs, and its tables and its picture come from the real thing."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from concurrency_gate import config, gate

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
DEMO = ROOT / "fixtures" / "demo"

HEAVY = {"make demo", "make test", "python -m pip install .", "concurrency-gate prove --via pre-commit"}

SHOP = {
    "pyproject.toml": "",
    "shop/__init__.py": "",
    "shop/bank.py": """\
import requests


class Gateway:
    def capture(self, order):
        return requests.post("https://bank.example/charge", json={"order": order.pk}, timeout=10)
""",
    "shop/orders.py": '''\
from django.db import transaction

from shop.bank import Gateway


# The gateway is made anew for each order, so that a bank can be changed while the shop runs.
def charge(order):
    # The bank may take its time.
    return Gateway().capture(order)


def pay(order):
    """The order is locked until the bank has answered."""
    with transaction.atomic():
        order.save()
        charge(order)
''',
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands() -> Iterator[object]:
    for block in blocks("console"):
        for line in block.splitlines():
            assert line.startswith("$ "), line
            command = line.removeprefix("$ ")
            yield pytest.param(command, marks=[pytest.mark.heavy] if command in HEAVY else [])


def table(title: str) -> list[list[str]]:
    section = README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    shutil.copytree(DEMO, tmp_path / "acme", ignore=shutil.ignore_patterns(".concurrency-gate-cache"))
    return tmp_path / "acme"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The repository as it is now, with an environment in it."""
    root = tmp_path / "clone"
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in names:
        if name and os.path.lexists(ROOT / name):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name, follow_symlinks=False)
    return root


@pytest.mark.parametrize("command", list(commands()))
def test_every_command_runs(command: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    here = command.startswith(("make ", "python -m pip"))
    folder: Path = request.getfixturevalue("clone" if here else "demo")
    programs = Path(sys.executable).parent
    if here:
        venv.create(tmp_path / "venv", with_pip=True)
        programs = tmp_path / "venv" / "bin"
    environment = {
        **os.environ,
        "PATH": os.pathsep.join((str(programs), os.environ["PATH"])),
        "PRE_COMMIT_HOME": str(tmp_path / "pre-commit"),
        # `make test` runs this very test: there it is enough to see that all of them are found.
        "PYTEST_ADDOPTS": "--collect-only",
        "PYTHONUTF8": "1",
    }
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if "prove" in command or command == "make demo":
        assert "Proved" in done.stdout


def test_the_picture_is_what_the_command_line_prints(tmp_path: Path) -> None:
    for name, text in SHOP.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    check = [sys.executable, "-P", "-m", "concurrency_gate", "check", "--no-cache"]
    done = subprocess.run(check, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    (picture,) = blocks("text")
    assert done.stdout.startswith(picture)


def test_the_table_of_rules_is_complete() -> None:
    rules = sorted(gate.rules(config.Config(root=ROOT)), key=lambda rule: rule.code)
    assert table("Rules") == [[rule.code, rule.name, rule.summary] for rule in rules]


def test_the_table_of_keys_is_complete(tmp_path: Path) -> None:
    (tmp_path / config.OWN_FILE).write_text("no-such-key-at-all-anywhere = 1\n")
    with pytest.raises(config.ConfigError, match="the keys are ") as error:
        config.load(tmp_path / config.OWN_FILE)
    keys = str(error.value).partition("the keys are ")[2].split(", ")
    assert [row[0].strip("`") for row in table("Configuration")] == keys


def test_the_configuration_is_valid(tmp_path: Path) -> None:
    (example,) = blocks("toml")
    assert tomllib.loads(example)
    (tmp_path / config.SHARED_FILE).write_text(example)
    assert config.load(tmp_path / config.SHARED_FILE).transactional == ("acme.jobs.Handler.run",)


def test_the_hooks_exist() -> None:
    (example,) = blocks("yaml")
    named = [hook["id"] for hook in yaml.safe_load(example)["repos"][0]["hooks"]]
    assert named == [hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())]


def test_the_runtime_example_is_python_that_imports_what_there_is() -> None:
    from concurrency_gate import runtime

    (example,) = blocks("python")
    imports = [node for node in ast.parse(example).body if isinstance(node, ast.ImportFrom)]
    assert imports
    assert all(hasattr(runtime, alias.name) for node in imports for alias in node.names)


def test_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^):]+)\)", README)
    assert targets
    assert all((ROOT / target).exists() for target in targets)
