from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from concurrency_gate.report.progress import Progress
from tests.shell.conftest import Project

BAD = "x = '\xff'\n".encode("latin-1")


@pytest.mark.parametrize(
    ("files", "arguments", "code"),
    [
        ({"a.py": "x = 1\n"}, ["check"], 0),
        ({"a.py": "x = 1\n"}, ["check", "a.py"], 0),
        ({"a.py": ""}, ["check", "--no-cache"], 0),
        ({"a.py": BAD}, ["check"], 1),
        ({"a.py": BAD}, ["check", "--format", "json"], 1),
        ({"a.py": BAD, "b.py": ""}, ["check", "b.py"], 0),
        ({"a.py": BAD, "pyproject.toml": '[tool.concurrency-gate]\nexclude = ["a.py"]'}, ["check"], 0),
        ({"test_a.py": BAD}, ["check"], 0),
        ({"a.txt": ""}, ["check"], 2),
        ({"a.py": ""}, ["check", "b.py"], 2),
        ({"a.py": "", "docs/x.md": ""}, ["check", "docs"], 2),
        ({"a.py": "", "concurrency-gate.toml": "x = 1"}, ["check"], 2),
        ({"a.py": ""}, ["check", "--config", "nowhere.toml"], 2),
        ({"a.py": ""}, ["check", "--frmat", "json"], 2),
        ({"a.py": ""}, ["check", "--format", "jsn"], 2),
        ({"a.py": ""}, ["check", "--jobs", "0"], 2),
        ({"a.py": ""}, ["check", "--output", "no/such/folder/report.txt"], 2),
        ({"a.py": ""}, ["chek"], 2),
        ({"a.py": ""}, ["explain", "XX999"], 2),
        ({"a.py": ""}, ["rules"], 0),
        ({"a.py": ""}, ["--help"], 0),
        ({"a.py": ""}, ["check", "--help"], 0),
        ({"a.py": ""}, ["--version"], 0),
        ({"a.py": ""}, [], 2),
    ],
)
def test_exit_code(project: Project, files: dict[str, str | bytes], arguments: list[str], code: int) -> None:
    completed = project.write(files).run(*arguments)
    assert completed.returncode == code, completed.stderr
    assert "Traceback" not in completed.stderr
    assert (completed.stderr == "") == (code != 2)


@pytest.mark.parametrize(
    ("arguments", "mend"),
    [
        (["chek"], "did you mean check?"),
        (["zzz"], "the commands are check, explain, prove, rules"),
        (["check", "--fromat", "json"], "Did you mean '--format'?"),
        (["check", "a.pt"], "did you mean a.py?"),
    ],
)
def test_usage_error_names_the_mend(project: Project, arguments: list[str], mend: str) -> None:
    completed = project.write({"a.py": ""}).run(*arguments)
    assert completed.returncode == 2
    assert mend in completed.stderr


def test_output_goes_to_a_file(project: Project) -> None:
    completed = project.write({"a.py": BAD}).run("check", "--format", "json", "--output", "report.json")
    assert (completed.returncode, completed.stdout) == (1, "")
    assert json.loads((project.root / "report.json").read_text())["findings"][0]["code"] == "CG902"


def test_paths_are_relative_to_the_root_wherever_the_run_starts(project: Project) -> None:
    project.write({"setup.py": "", "src/pkg/a.py": BAD})
    for cwd, path in [
        (project.root, "src"),
        (project.root / "src/pkg", "."),
        (project.root.parent, "project/src"),
    ]:
        completed = project.run("check", "--format", "json", path, cwd=cwd)
        assert [finding["path"] for finding in json.loads(completed.stdout)["findings"]] == ["src/pkg/a.py"]


def test_summary_counts_every_role(project: Project) -> None:
    project.write(
        {
            "concurrency-gate.toml": 'infra = ["infra/**"]\nexclude = ["gen/**"]',
            "a.py": "",
            "infra/a.py": "",
            "gen/a.py": BAD,
            "gen/b.py": "",
            "tests/a.py": BAD,
        }
    )
    summary = json.loads(project.run("check", "--format", "json").stdout)["summary"]
    assert {key: summary[key] for key in ("infra", "excluded", "tests")} == {
        "infra": 1,
        "excluded": 2,
        "tests": 1,
    }
    assert project.run("check").stdout.endswith("; 1 exempt as infra, 2 excluded, 1 test code.\n")


def test_unreadable_files_of_every_kind_are_findings(project: Project) -> None:
    project.write(
        {"nul.py": b"x\0", "latin.py": BAD, "coding.py": b"# coding: klingon\n", "elf.py": b"\x7fELF\x80"}
    )
    (project.root / "huge.py").touch()
    os.truncate(project.root / "huge.py", 65 * 1024 * 1024)
    if os.name == "posix":
        (project.root / "loop.py").symlink_to("loop.py")
        os.mkfifo(project.root / "pipe.py")
    completed = project.run("check", "--format", "json")
    assert completed.returncode == 1
    found = {finding["path"]: finding["code"] for finding in json.loads(completed.stdout)["findings"]}
    assert found == {path.name: "CG902" for path in project.root.glob("*.py")}


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX file names")
def test_names_that_nobody_expects_are_printed_on_one_line(project: Project) -> None:
    project.write({"new\nline.py": BAD, "\udcff.py": BAD, "esc\x1b[2K.py": BAD})
    lines = project.run("check").stdout.splitlines()
    assert [line.split(":")[0] for line in lines if "CG902" in line] == [
        "esc\\x1b[2K.py",
        "new\\nline.py",
        "\\udcff.py",
    ]
    paths = [
        finding["path"] for finding in json.loads(project.run("check", "--format", "json").stdout)["findings"]
    ]
    assert paths == ["esc\x1b[2K.py", "new\nline.py", "\udcff.py"]


@pytest.mark.parametrize(
    ("arguments", "env", "colored"),
    [
        ([], {}, False),
        (["--color", "always"], {}, True),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
    ],
)
def test_color_off_a_terminal(
    project: Project, arguments: list[str], env: dict[str, str], colored: bool
) -> None:
    completed = project.write({"a.py": BAD}).run(
        "check", *arguments, env={"NO_COLOR": "", "FORCE_COLOR": "", **env}
    )
    assert ("\x1b[" in completed.stdout) is colored


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    ("env", "colored"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_color_on_a_terminal(project: Project, env: dict[str, str], colored: bool) -> None:
    project.write({"a.py": BAD}).age()
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "", "FORCE_COLOR": "", **env}
    for _ in range(2):  # the second is replayed
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "concurrency_gate", "check"]
        completed = subprocess.run(command, cwd=project.root, stdout=theirs, env=environment, check=False)
        os.close(theirs)
        output = os.read(ours, 65536)
        os.close(ours)
        assert completed.returncode == 1
        assert (b"\x1b[" in output) is colored


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_a_reader_that_has_enough_changes_no_verdict(project: Project) -> None:
    project.write({f"{'x' * 90}{i}.py": BAD for i in range(900)}).age()
    for _ in range(2):
        command = f"'{sys.executable}' -m concurrency_gate check | head -n 1; exit ${{PIPESTATUS[0]}}"
        completed = subprocess.run(
            ["bash", "-c", command], cwd=project.root, capture_output=True, text=True, check=False
        )
        assert (completed.returncode, completed.stderr) == (1, "")


@pytest.mark.skipif(os.name != "posix", reason="needs an ASCII locale")
def test_output_that_the_terminal_cannot_encode(project: Project) -> None:
    env = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    completed = project.write({"ü.py": BAD}).run("check", env=env)
    assert completed.returncode == 1
    assert completed.stdout.startswith("\\xfc.py:1:1: CG902")


def test_a_rule_pack_that_does_not_import(project: Project) -> None:
    project.write({"a.py": "", "concurrency-gate.toml": 'rule-packs = ["no_such_pack"]'})
    completed = project.run("rules")
    assert completed.returncode == 2
    assert completed.stderr.startswith(
        'concurrency-gate: concurrency-gate.toml: rule-packs: "no_such_pack" does not'
    )


JUDGES = {
    "crash": "raise KeyError('x\\ny')",
    "interrupt": "raise KeyboardInterrupt",
    "exhausted": "raise MemoryError",
    "catalogue": "raise catalogue_format.CatalogueError('catalogue.local: remove it')",
    "failed rule": "return rule.Report(errors=(rule.Failure('a.py', 'CG101', 'boom'),))",
}


@pytest.mark.parametrize(
    ("judge", "output"),
    [
        ("crash", "internal error: KeyError: 'x\\ny' (<string>, line 3)"),
        ("interrupt", "interrupted"),
        ("exhausted", "internal error: MemoryError"),
        ("catalogue", "catalogue.local: remove it"),
        ("failed rule", "internal error: CG101 in a.py: boom"),
    ],
)
def test_what_goes_wrong_inside_is_no_traceback_and_no_finding(
    project: Project, judge: str, output: str
) -> None:
    project.write({"a.py": ""}).age()
    script = (
        "import sys; from concurrency_gate import catalogue_format, cli, gate, replay, rule\n"
        "def judge(*_, **__):\n"
        f"    {JUDGES[judge]}\n"
        "gate.judge = judge\n"
        "sys.exit(replay.replay(['check']) or cli.run(['check']))\n"
    )
    for _ in range(2):  # neither is such a run replayed
        completed = subprocess.run(
            [sys.executable, "-c", script], cwd=project.root, capture_output=True, text=True, check=False
        )
        assert completed.returncode == 2
        assert output in completed.stdout + completed.stderr
        assert "Traceback" not in completed.stderr


@pytest.mark.parametrize("on_terminal", [True, False])
def test_progress_is_drawn_and_wiped_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, on_terminal: bool
) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: on_terminal)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("concurrency_gate.report.progress._PATIENCE", 0)
    with Progress() as progress:
        progress(0, 0)
        progress(500, 2000)
    drawn = f"\r[{'#' * 7:<30}] 500 of 2,000 files\r\x1b[K"
    assert terminal.getvalue() == (drawn if on_terminal else "")


def test_the_checked_code_is_neither_imported_nor_run(project: Project, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    names = ["a.py", "click.py", "libcst.py", "json.py", "array.py", "subprocess.py", "sitecustomize.py"]
    project.write({name: f"open({str(mark)!r}, 'w')\n" for name in names})
    completed = project.run("check")
    assert completed.returncode == 0, completed.stderr
    assert not mark.exists()
