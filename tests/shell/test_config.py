from __future__ import annotations

import re
from pathlib import Path

import pytest

from concurrency_gate import config
from concurrency_gate.config import Config, ConfigError
from tests.shell.conftest import Project

MISTAKES = [
    ('infr = ["src/**"]', 'infr: there is no such key; did you mean "infra"?'),
    ("include_tests = true", 'include_tests: there is no such key; did you mean "include-tests"?'),
    ("zzz = 1", "zzz: there is no such key; the keys are infra, roots, exclude"),
    ('infra = "src/**"', 'infra: expected a list of strings, got a string; write ["src/**"]'),
    ("infra = 3", "infra: expected a list of strings, got a number"),
    ("infra = [3]", "infra: expected a list of strings, but one of its items is a number"),
    ('infra = ["src/a**"]', 'infra: bad glob "src/a**"'),
    ('exclude = ["/abs"]', 'exclude: bad glob "/abs": patterns start at the project root'),
    ('exclude = ["line\\nbreak/../x"]', 'exclude: bad glob "line\\nbreak/../x"'),
    ('roots = ["scr"]', 'roots: there is no folder "scr"; did you mean "src"?'),
    ('roots = ["../src"]', 'roots: "../src" is not a folder of the project'),
    ('include-tests = "no"', "include-tests: expected true or false, got a string"),
    ("cache = 1", "cache: expected true or false, got a number"),
    ("storage = []", "storage: expected true or false, got a list"),
    ("min-resolved = true", "min-resolved: expected a number from 0 to 1, got true or false"),
    ("max-doubt = true", "max-doubt: expected a whole number, got true or false"),
    ("max-doubt = -1", "max-doubt: expected a whole number from 0 up, got -1"),
    ("min-resolved = 90", "min-resolved: expected a number from 0 to 1, got 90"),
    ("min-resolved = nan", "min-resolved: expected a number from 0 to 1, got nan"),
    ("min-resolved = 2026-11-29", "min-resolved: expected a number from 0 to 1, got a date or time"),
    ('transactional = ["acme jobs"]', 'transactional: "acme jobs" is not a dotted name'),
    ('detached = ["acme..Jobs"]', 'detached: "acme..Jobs" is not a dotted name'),
    ('rule-packs = ["acme-rules"]', 'rule-packs: "acme-rules" is not a dotted name'),
    ("select = {}", "select: expected a list of strings, got a table"),
    ("catalogue = 3", "catalogue: expected a table, got a number"),
    ('catalogue = { netwrk = ["a.b"] }', "catalogue: netwrk: "),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES)
@pytest.mark.parametrize("name", ["concurrency-gate.toml", "pyproject.toml"])
def test_a_mistake_is_one_line_with_file_key_and_mend(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str, text: str, message: str
) -> None:
    header = "[tool.concurrency-gate]\n" if name == "pyproject.toml" else ""
    project.write({name: header + text, "src/a.py": ""})
    monkeypatch.chdir(project.root)
    with pytest.raises(ConfigError) as caught:
        config.find(project.root / "src/a.py")
    assert str(caught.value).startswith(f"{name}: {message}")
    assert str(caught.value).isprintable()
    completed = project.run("check")
    assert (completed.returncode, completed.stdout) == (2, "")
    assert completed.stderr == f"concurrency-gate: {caught.value}\n"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"concurrency-gate.toml": "infra = ["}, "concurrency-gate.toml: not TOML"),
        ({"concurrency-gate.toml": "[" * 5000}, "concurrency-gate.toml: not TOML"),
        ({"concurrency-gate.toml": b'infra = ["\xff"]'}, "concurrency-gate.toml: not UTF-8 (byte 10)"),
        (
            {"concurrency-gate.toml": "[tool.concurrency-gate]"},
            "concurrency-gate.toml: tool: in this file the keys",
        ),
        (
            {"pyproject.toml": "[tool]\nconcurrency-gate = 3"},
            "pyproject.toml: tool.concurrency-gate: expected a table",
        ),
        (
            {"concurrency-gate.toml": "", "pyproject.toml": "[tool.concurrency-gate]"},
            "concurrency-gate.toml: [tool.concurrency-gate] in pyproject.toml beside it says it too",
        ),
    ],
)
def test_a_file_that_cannot_be_taken(
    project: Project, monkeypatch: pytest.MonkeyPatch, files: dict[str, str | bytes], message: str
) -> None:
    project.write(files)
    monkeypatch.chdir(project.root)
    with pytest.raises(ConfigError, match=re.escape(message)):
        config.find(project.root)


def test_everything_that_can_be_said(project: Project) -> None:
    project.write(
        {
            "src/a.py": "",
            "concurrency-gate.toml": """
                infra = ["src/infra/**"]
                roots = ["src/"]
                exclude = ["gen/**"]
                include-tests = true
                select = ["CG1", "CG2"]
                ignore = ["CG104"]
                rule-packs = ["acme_rules"]
                transactional = ["acme.jobs.Handler.run"]
                detached = ["acme.jobs.Detached"]
                cache = true
                storage = true
                max-doubt = 3
                min-resolved = 1
                [catalogue]
                network = ["acme.http.get"]
            """,
        }
    )
    found = config.find(project.root / "src")
    assert found == Config(
        root=project.root,
        file=project.root / "concurrency-gate.toml",
        infra=("src/infra/**",),
        roots=("src",),
        exclude=("gen/**",),
        include_tests=True,
        select=("CG1", "CG2"),
        ignore=("CG104",),
        rule_packs=("concurrency_gate.rules", "acme_rules"),
        transactional=("acme.jobs.Handler.run",),
        detached=("acme.jobs.Detached",),
        cache=True,
        storage=True,
        max_doubt=3,
        min_resolved=1.0,
        catalogue={"network": ["acme.http.get"]},
    )


@pytest.mark.parametrize(
    ("files", "start", "root", "file"),
    [
        ({"a/b/x.py": ""}, "a/b/x.py", "a/b", None),
        ({"setup.py": "", "a/b/x.py": ""}, "a/b/x.py", ".", None),
        ({"setup.cfg": "", "a/pyproject.toml": "", "a/b/x.py": ""}, "a/b", "a", None),
        (
            {"concurrency-gate.toml": "", "a/pyproject.toml": "", "a/b/x.py": ""},
            "a/b",
            ".",
            "concurrency-gate.toml",
        ),
        ({"pyproject.toml": "[tool.concurrency-gate]", "a/x.py": ""}, "a", ".", "pyproject.toml"),
        ({"concurrency-gate.toml": "", "a/concurrency-gate.toml": ""}, "a", "a", "a/concurrency-gate.toml"),
        ({"concurrency-gate.toml": "", "a/.git/HEAD": "", "a/b/x.py": ""}, "a/b", "a", None),
        ({"pyproject.toml": "not toml, but not ours either [", "x.py": ""}, "x.py", ".", None),
        ({"pyproject.toml": "[tool.other]\nconcurrency-gate = 1", "x.py": ""}, "x.py", ".", None),
    ],
)
def test_found_upwards(
    project: Project, files: dict[str, str | bytes], start: str, root: str, file: str | None
) -> None:
    project.write(files)
    found = config.find(project.root / start)
    assert found.root == (project.root / root).resolve()
    assert found.file == (project.root / file if file else None)


def test_paths_of_two_projects_are_not_mixed(project: Project) -> None:
    project.write({"a/concurrency-gate.toml": "", "a/x.py": "", "b/concurrency-gate.toml": "", "b/x.py": ""})
    with pytest.raises(ConfigError, match="belong to two projects"):
        config.find_for([project.root / "a", project.root / "b/x.py"])
    completed = project.run("check", "a", "b")
    assert completed.returncode == 2
    assert "a/concurrency-gate.toml and b/concurrency-gate.toml" in completed.stderr


def test_paths_without_configuration_have_a_root_in_common(project: Project) -> None:
    project.write({"a/setup.py": "", "b/pyproject.toml": ""})
    assert config.find_for([project.root / "a", project.root / "b"]).root == project.root


def test_config_option(project: Project) -> None:
    project.write({"gate/strict.toml": "", "gate/x.py": "", "other/pyproject.toml": ""})
    assert project.run("check", "--config", "gate/strict.toml", "gate").returncode == 0
    for file, message in [("gate/strct.toml", "no such file"), ("other/pyproject.toml", "no table")]:
        completed = project.run("check", "--config", file)
        assert completed.returncode == 2
        assert completed.stderr.startswith(f"concurrency-gate: {file}: ")
        assert message in completed.stderr


KNOWN = ["CG101", "CG102", "CG201", "CG901", "CG902"]


@pytest.mark.parametrize(
    ("select", "ignore", "codes"),
    [
        ((), (), KNOWN),
        (("CG1",), (), ["CG101", "CG102", "CG902"]),
        (("CG1", "CG201"), ("CG102",), ["CG101", "CG201", "CG902"]),
        ((), ("CG",), ["CG902"]),
    ],
)
def test_codes(select: tuple[str, ...], ignore: tuple[str, ...], codes: list[str]) -> None:
    assert Config(root=Path(), select=select, ignore=ignore).codes(KNOWN) == set(codes)


@pytest.mark.parametrize(
    ("key", "entry", "message"),
    [
        ("select", "CG1O1", 'select: no rule has the code "CG1O1"; did you mean "CG101"?'),
        ("select", "", 'select: no rule has the code ""; write a code'),
        ("ignore", "cg101", 'ignore: no rule has the code "cg101"; did you mean "CG101"?'),
        ("ignore", "CG902", 'ignore: "CG902" cannot be ignored'),
    ],
)
def test_unknown_code_is_named_where_it_was_given(key: str, entry: str, message: str) -> None:
    in_file = Config(root=Path(), file=Path("pyproject.toml")).override(**{key: (entry,)})
    with pytest.raises(ConfigError, match=re.escape(f"--{message}")):
        in_file.codes(KNOWN)
    for_file = Config(Path(), Path("pyproject.toml"), **{key: (entry,)})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="^" + re.escape(f"pyproject.toml: {message}")):
        for_file.codes(KNOWN)


@pytest.mark.parametrize("text", [None, "raise SystemError('two\\nlines')", "import nothing_of_that_name"])
def test_rule_pack_that_does_not_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    if text is not None:
        (tmp_path / "broken_pack.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    broken = Config(root=tmp_path, file=tmp_path / "concurrency-gate.toml", rule_packs=("broken_pack",))
    with pytest.raises(
        ConfigError, match=r'rule-packs: "broken_pack" does not import \(.*install it'
    ) as caught:
        broken.packs()
    assert str(caught.value).isprintable()
