"""The flake8 plugin, in the real flake8: the same findings at the same places as the command line's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

Places = list[tuple[str, int, int, str]]

SPAWN = "import threading\n\nthreading.Thread(target=print).start()\n"
PROJECT: Mapping[str, str | bytes] = {
    "pyproject.toml": '[tool.concurrency-gate]\ninfra = ["app/infra/**"]\nexclude = ["app/made/**"]\n',
    "app/__init__.py": "",
    "app/again.py": "from threading import Thread as Handed\n",
    "app/through.py": "from app.again import *\n\n\nHanded(target=print)\n",
    "app/infra/work.py": SPAWN,
    "app/made/schema_pb2.py": SPAWN,
    "app/tests/test_work.py": SPAWN,
    "app/blanket.py": "import threading\nthreading.Thread(target=print)  # noqa\n",
    "app/named.py": "import threading\nthreading.Thread(target=print)  # noqa: CG101\n",
    "app/half_named.py": "import threading\nthreading.Thread(target=print)  # noqa: CG\n",
    "app/other.py": "import threading\nthreading.Thread(target=print)  # noqa: E501\n",
    "app/long.py": "import threading\nthreading.Thread(\n    target=print,  # noqa: E501,CG1\n).start()\n",
    "app/string.py": "import threading\nx = '# noqa'; threading.Thread(target=print)\n",
    "app/text.py": 'import threading\nthreading.Thread(target=print, name="""\n# noqa\n""")\n',
    "app/one_line.py": "import threading; threading.Thread(target=print)  # noqa",
    "app/whole.py": f"# flake8: noqa\n{SPAWN}",
    "app/whole_clean.py": "# flake8: noqa\nimport os\n",
    "app/umlauts.py": "import threading\n'ä€𝄞'; threading.Thread(target=print)\n",
    "app/latin.py": b"# coding: latin-1\nx = '\xff'\nimport threading\nthreading.Thread(target=print)\n",
    "app/marked.py": b"\xef\xbb\xbfimport threading\r\nthreading.Thread(target=print)\r\n",
    "app/undecodable.py": b"x = '\xff'\n",
    "app/unparsable.py": "def broken(:\n",
    "app/newer.py": f"type Names[T] = list[T]\n{SPAWN}",
    "app/empty.py": "",
    "app/with space.py": SPAWN,
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    write(root, PROJECT)
    return root


def write(root: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def run(
    root: Path, *arguments: str, data: bytes | None = None, python: str = sys.executable
) -> subprocess.CompletedProcess[str]:
    command = [python, "-P", "-m", *arguments]
    done = subprocess.run(
        command,
        cwd=root,
        input=data,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())


def flake8(root: Path, *arguments: str, python: str = sys.executable, data: bytes | None = None) -> Places:
    form = "--format=%(path)s\t%(row)d\t%(col)d\t%(code)s"
    done = run(root, "flake8", form, *arguments, python=python, data=data)
    assert done.stderr == ""
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert all(len(row) == 4 for row in rows), done.stdout
    found = [(os.path.normpath(path), int(row), int(col), code) for path, row, col, code in rows]
    return sorted(place for place in found if place[3].startswith("CG"))


def command_line(root: Path, *arguments: str) -> Places:
    done = run(root, "concurrency_gate", "check", "--format=json", "--no-cache", *arguments)
    found = json.loads(done.stdout)["findings"]
    return sorted((f["path"], f["line"], f["column"], f["code"]) for f in found)


def test_the_same_findings_at_the_same_places(project: Path) -> None:
    wanted = command_line(project)
    assert {code for *_, code in wanted} == {"CG101", "CG901", "CG902"}
    assert flake8(project) == wanted


@pytest.mark.parametrize(
    "arguments",
    [("-j1",), ("-j2",), ("--select=CG",), ("app",), ("--disable-noqa",), ("--max-line-length=200",)],
)
def test_however_flake8_is_called(project: Path, arguments: tuple[str, ...]) -> None:
    assert flake8(project, *arguments) == command_line(project)


def test_files_that_are_named_are_judged_as_the_command_line_judges_them(project: Path) -> None:
    names = ["app/through.py", "app/infra/work.py", "app/tests/test_work.py", "app/whole.py", "app/empty.py"]
    assert flake8(project, *names) == command_line(project, *names)
    assert flake8(project / "app", "through.py") == [("through.py", 4, 1, "CG101")]


def test_verdicts_are_kept_and_a_changed_helper_turns_them(project: Path) -> None:
    imports = "from django.db import transaction\n\nfrom app.bank import pay\n\n\n"
    charge = f"{imports}@transaction.atomic\ndef charge():\n    pay()\n"
    write(project, {"app/charge.py": charge, "app/bank.py": "def pay():\n    pass\n"})
    before = flake8(project, "-j2")
    assert flake8(project, "-j2") == before == command_line(project)
    write(project, {"app/bank.py": "import requests\n\n\ndef pay():\n    requests.post('https://bank')\n"})
    assert [place for place in flake8(project, "-j2") if place not in before] == [
        ("app/charge.py", 8, 5, "CG201")
    ]
    assert flake8(project, "app/charge.py") == [("app/charge.py", 8, 5, "CG201")]


def test_a_link_to_the_project_changes_nothing(project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    assert len(flake8(tmp_path / "link")) == len(command_line(project))


def test_a_file_that_git_ignores_is_judged_only_if_it_is_named(project: Path) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=project, check=True)
    write(project, {".gitignore": "made_*.py\n", "app/made_up.py": SPAWN})
    assert flake8(project) == command_line(project)
    assert flake8(project, "app/made_up.py") == [("app/made_up.py", 3, 1, "CG101")]


@pytest.mark.parametrize(
    "name", ["app/through.py", "app/brand_new.py", "app/infra/new.py", "app/tests/test_new.py"]
)
def test_standard_input(project: Path, name: str) -> None:
    text = "from app.again import Handed\n\nHanded(target=print)  # noqa\n"
    found = flake8(project, "--stdin-display-name", name, "-", data=text.encode())
    judged = "infra" not in name and "tests" not in name
    assert found == ([(name, 3, 1, "CG101"), (name, 3, 23, "CG901")] if judged else [])


@pytest.mark.parametrize("data", [SPAWN.encode(), b"# coding: latin-1\n'\xe9'\n" + SPAWN.encode()])
def test_standard_input_without_a_name(project: Path, data: bytes) -> None:
    line = data.count(b"\n")
    assert flake8(project, "-", data=data) == [("stdin", line, 1, "CG101")]


def test_flake8_s_own_ignores_still_hold(project: Path) -> None:
    assert flake8(project, "--extend-ignore=CG9", "app/blanket.py") == [("app/blanket.py", 2, 1, "CG101")]


def test_the_message_says_what_and_what_instead_on_one_line(project: Path) -> None:
    done = run(project, "flake8", "--select=CG", "app/through.py")
    (line,) = done.stdout.splitlines()
    assert line.startswith("app/through.py:4:1: CG101 threading.Thread starts a thread")
    assert "(bare-thread); instead: use concurrency_gate.runtime" in line


@pytest.mark.parametrize("arguments", [("-j2",), ("-",)])
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            '[tool.concurrency-gate]\ninfar = ["x/**"]',
            "pyproject.toml: infar: there is no such key; did you mean",
        ),
        (
            '[tool.concurrency-gate]\nrule-packs = ["no.such.pack"]',
            'rule-packs: "no.such.pack" does not import',
        ),
        ('[tool.concurrency-gate]\nselect = ["CG7"]', 'select: no rule has the code "CG7"'),
        ("[tool.concurrency-gate", "pyproject.toml: not TOML"),
    ],
)
def test_a_mistake_in_the_configuration_is_one_clear_line(
    project: Path, settings: str, said: str, arguments: tuple[str, ...]
) -> None:
    (project / "pyproject.toml").write_text(settings)
    done = run(project, "flake8", *arguments, data=b"x = 1\n")
    assert done.returncode == 1
    assert done.stderr == ""
    first, second = done.stdout.splitlines()
    assert "critical error" in first
    assert second.startswith("concurrency-gate: ")
    assert said in second


def test_files_of_two_projects_are_each_judged_by_their_own(tmp_path: Path) -> None:
    write(tmp_path, {f"{name}/{file}": text for name in ("one", "two") for file, text in PROJECT.items()})
    (tmp_path / "two/pyproject.toml").write_text('[tool.concurrency-gate]\nselect = ["CG9"]\n')
    found = flake8(tmp_path, "one", "two")
    assert [place for place in found if place[0].startswith("one")] == [
        (f"one/{path}", *rest) for path, *rest in command_line(tmp_path / "one")
    ]
    assert {code for path, *_, code in found if path.startswith("two")} == {"CG902"}


PACK = """\
from concurrency_gate.rule import ModuleRule


class Crash(ModuleRule):
    code, name, kinds = "AC001", "crash", frozenset({"thread"})
    summary = why = instead = "It crashes."

    def visit_Call(self, node):
        raise RuntimeError("on\\npurpose")


RULES = (Crash,)
"""


def test_a_rule_that_crashes_is_reported_and_the_others_judge(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project.parent, {"crashing_pack.py": PACK})
    monkeypatch.setenv("PYTHONPATH", str(project.parent))
    (project / "pyproject.toml").write_text('[tool.concurrency-gate]\nrule-packs = ["crashing_pack"]\n')
    done = run(project, "flake8", "--select=CG", "app/through.py", "app/unparsable.py")
    lines = done.stdout.splitlines()
    assert any("CG000 AC001 crashed on this file: RuntimeError: on purpose" in line for line in lines)
    assert any("app/through.py:4:1: CG101" in line for line in lines)
    assert any("app/unparsable.py:1:1: CG902" in line for line in lines)


@pytest.mark.heavy
@pytest.mark.parametrize("version", ["flake8>=6.0,<6.1", "flake8>=6.1,<7", "flake8>=7,<7.1"])
def test_older_releases_of_flake8(version: str, project: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", version, str(ROOT)], check=True, capture_output=True
    )
    assert flake8(project, "-j2", python=python) == command_line(project)
