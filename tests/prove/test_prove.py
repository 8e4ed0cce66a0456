"""`prove` agrees with a sound configuration by every way, and blames the line of a bad one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from concurrency_gate import cli, gate
from concurrency_gate.config import Config
from concurrency_gate.rule import ModuleRule

DEMO = Path(__file__).parents[2] / "fixtures" / "demo"

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "acme"
    shutil.copytree(DEMO, root)
    monkeypatch.chdir(root)
    return root


def prove(capsys: Capture, *arguments: str) -> tuple[int, str]:
    code = cli.run(["prove", *arguments])
    output = capsys.readouterr()
    assert "internal error" not in output.err
    return code, output.out + output.err


def configure(root: Path, settings: str) -> None:
    (root / "pyproject.toml").write_text(f"[tool.concurrency-gate]\n{settings}\n")


def contents(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_every_rule_is_seen_red_and_the_project_stays_as_it_is(demo: Path, capsys: Capture) -> None:
    before = contents(demo)
    code, text = prove(capsys)
    assert code == 0, text
    assert contents(demo) == before
    lines = text.splitlines()
    for rule in gate.rules(Config(root=demo)):
        red = [line for line in lines if f"✓ {rule.code} " in line and line.endswith(" red")]
        exempt = [line for line in lines if f"✓ {rule.code} " in line and line.endswith("exempt as infra")]
        assert red, rule.code
        assert bool(exempt) == (issubclass(rule, ModuleRule) and rule.exempt_in_infra)
        assert all("src/acme/infra/" in line for line in exempt)
    assert lines[-1].startswith("Proved")


@pytest.mark.heavy
@pytest.mark.parametrize("way", ["flake8", "pre-commit"])
def test_by_way_of_other_programs(way: str, demo: Path, capsys: Capture) -> None:
    code, text = prove(capsys, "--via", way)
    assert code == 0, text
    assert f"no findings by {way}" in text
    for rule in gate.rules(Config(root=demo)):
        shows = way != "flake8" or not rule.planted_settings
        assert (f"✓ {rule.code} " in text) == shows


@pytest.mark.parametrize(
    ("settings", "blame"),
    [
        ('exclude = ["src/**"]', 'pyproject.toml:2: exclude has "src/**"'),
        ('\nexclude = [\n  "docs/**",\n  "src/acme/**",\n]', 'pyproject.toml:5: exclude has "src/acme/**"'),
        ('infra = ["**"]', 'pyproject.toml:2: infra has "**"'),
        ('infra = ["src/acme"]', 'pyproject.toml:2: infra has "src/acme"'),
    ],
)
def test_what_lets_everything_through_is_blamed(
    settings: str, blame: str, demo: Path, capsys: Capture
) -> None:
    configure(demo, settings)
    code, text = prove(capsys)
    assert code == 1
    assert blame in text.partition("Not proved")[2]


def test_an_excluded_package_that_the_application_imports_is_blamed(demo: Path, capsys: Capture) -> None:
    (demo / "src/shop").mkdir()
    (demo / "src/shop/__init__.py").touch()
    (demo / "src/shop/desk.py").write_text("from acme.orders import service\n")
    configure(demo, 'exclude = ["src/acme/**"]')
    code, text = prove(capsys)
    assert code == 1
    assert 'pyproject.toml:2: exclude has "src/acme/**"' in text


def test_a_package_that_roots_miss_is_blamed(demo: Path, capsys: Capture) -> None:
    stock = demo / "services/stock/warehouse/shelves.py"
    stock.parent.mkdir(parents=True)
    stock.write_text("SHELVES = 12\n")
    (demo / "src/acme/stock.py").write_text("from warehouse.shelves import SHELVES\n")
    code, text = prove(capsys)
    assert code == 1
    assert 'pyproject.toml: roots misses "services/stock"' in text
    configure(demo, 'infra = ["src/acme/infra/**"]\nroots = ["src", "services/stock"]')
    assert prove(capsys)[0] == 0


def test_a_library_that_is_named_like_a_package_inside_is_no_missed_root(demo: Path, capsys: Capture) -> None:
    (demo / "src/acme/graphql").mkdir()
    (demo / "src/acme/graphql/language.py").touch()
    (demo / "src/acme/schema.py").write_text("from graphql.language import parse\n")
    assert prove(capsys)[0] == 0


def test_a_project_with_findings_can_be_proved(demo: Path, capsys: Capture) -> None:
    with (demo / "src/acme/mail.py").open("a") as file:
        file.write("\nimport os\n\nos.fork()\n")
    code, text = prove(capsys)
    assert code == 0, text
    assert "1 finding by the command line, as in the project" in text
    assert "src/acme/mail.py" not in text


def test_without_a_configuration(demo: Path, capsys: Capture) -> None:
    (demo / "pyproject.toml").write_text("")
    code, text = prove(capsys)
    assert code == 0, text
    assert "exempt as infra" not in text


def test_rules_that_are_not_selected_are_not_planted(demo: Path, capsys: Capture) -> None:
    configure(demo, 'select = ["CG102"]\ninfra = ["src/acme/infra/**"]')
    code, text = prove(capsys)
    assert code == 0, text
    assert "CG102" in text
    assert "CG101" not in text


PACK = """\
from concurrency_gate.rule import ModuleRule


class NoFork(ModuleRule):
    code = "AC001"
    name = "no-fork"
    kinds = frozenset({"process"})
    summary = "The shop does not fork."
    why = "Its connections do not survive it."
    instead = "ask the platform team"
    plant = %r

    def visit_Call(self, node):
        if self.file.uses_at(node.func, self.kinds) and node.func.attr.value == "fork":
            self.report(node, "os.fork copies every connection")


RULES = (NoFork,)
"""


@pytest.mark.parametrize(
    ("plant", "code", "said"),
    [
        ("import os\n\nos.fork()\n", 0, "✓ AC001 no-fork"),
        ("import os\n\nos.getpid()\n", 1, "✗ AC001 no-fork"),
        ("", 1, "the rule brings no plant"),
    ],
)
def test_a_team_s_rule_is_proved_too(
    plant: str,
    code: int,
    said: str,
    demo: Path,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = f"acme_rules_{len(plant)}"
    (tmp_path / f"{name}.py").write_text(PACK % plant)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    configure(demo, f'infra = ["src/acme/infra/**"]\nrule-packs = ["{name}"]')
    got, text = prove(capsys)
    assert (got, said in text) == (code, True), text


@pytest.mark.heavy
def test_what_flake8_itself_lets_through_is_blamed(demo: Path, capsys: Capture) -> None:
    (demo / "setup.cfg").write_text(
        "[flake8]\nper-file-ignores =\n    src/acme/live.py: CG1\nextend-ignore = CG102\n"
    )
    code, text = prove(capsys, "--via", "flake8")
    assert code == 1
    assert "setup.cfg:2: per-file-ignores" in text


def test_a_folder_without_python_is_one_line(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, text = prove(capsys)
    assert code == 2
    assert "no Python file" in text
