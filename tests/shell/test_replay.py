"""The fast lane: it is taken when nothing changed, it is cheap, and it is never taken wrongly."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from concurrency_gate.seal import FOLDER, seal
from tests.shell.conftest import Project

BAD = b"x = '\xff'\n"

# Written into the environment's start-up, these say what a run opened and imported.
WITNESS = """
import atexit, os, sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event in ("open", "os.open") else None)
def tell(path=os.environ["WITNESS"]):
    names = sorted({name.partition(".")[0] for name in sys.modules})
    files = sorted({name for name in opened if name.endswith(".py") and "project" in name})
    import json
    lines = json.dumps({"modules": names, "files": files})
    with open(path, "w") as file:
        file.write(lines)
atexit.register(tell)
"""


class Lane:
    """Runs a command and knows whether it was replayed: the full run imports click."""

    def __init__(self, project: Project, tmp_path: Path) -> None:
        self.project = project
        self._hook = tmp_path / "hook"
        self._hook.mkdir()
        (self._hook / "sitecustomize.py").write_text(WITNESS)
        self.modules: list[str] = []
        self.files: list[str] = []

    def run(
        self, *arguments: str, cwd: Path | None = None, env: dict[str, str] | None = None
    ) -> tuple[int, str, bool]:
        log = self._hook / "log.json"
        log.unlink(missing_ok=True)
        environment = {"PYTHONPATH": str(self._hook), "WITNESS": str(log), **(env or {})}
        completed = self.project.run(*arguments, cwd=cwd, env=environment)
        told = json.loads(log.read_text())
        self.modules, self.files = told["modules"], told["files"]
        return completed.returncode, completed.stdout, "click" not in self.modules

    def settled(self, *arguments: str, cwd: Path | None = None) -> tuple[int, str]:
        """The outcome, after a second run has shown that it is replayed."""
        self.project.age()
        code, out, _ = self.run(*arguments, cwd=cwd)
        assert self.run(*arguments, cwd=cwd) == (code, out, True)
        return code, out


@pytest.fixture
def lane(project: Project, tmp_path: Path) -> Lane:
    project.write({"pyproject.toml": "", "src/a.py": "x = 1\n", "src/b.py": BAD, "tests/test_a.py": ""})
    return Lane(project, tmp_path)


@pytest.mark.parametrize("with_git", [False, True])
@pytest.mark.parametrize(
    "arguments", [["check"], ["check", "src"], ["check", "--format", "json", "src/b.py"]]
)
def test_a_run_in_which_nothing_changed_reads_and_imports_nothing(
    lane: Lane, with_git: bool, arguments: list[str]
) -> None:
    if with_git:
        lane.project.git("init").git("add", ".")
    code, out = lane.settled(*arguments)
    assert code == 1
    assert "src/b.py" in out
    assert lane.files == []
    heavy = {"click", "libcst", "tomllib", "ast", "pickle", "tempfile", "json", "subprocess", "dataclasses"}
    assert not heavy.intersection(lane.modules)


def test_the_full_run_does_read(lane: Lane) -> None:
    """So that the test above can fail."""
    assert lane.run("check")[2] is False
    assert any(name.endswith("src/b.py") for name in lane.files)


def test_what_git_does_meanwhile_changes_nothing(lane: Lane) -> None:
    lane.project.git("init").git("add", ".")
    lane.settled("check")
    lane.project.git("commit", "-m", "x").git("gc")
    (lane.project.root / "src/notes.txt").write_text("a new file that is no Python")
    assert lane.run("check")[2] is True


CHANGES: dict[str, Callable[[Path], object]] = {
    "content": lambda root: (root / "src/a.py").write_bytes(BAD),
    "same size": lambda root: (root / "src/a.py").write_text("x = 2\n"),
    "same size and time": lambda root: keep_times(root / "src/a.py", "x = 2\n"),
    "test file": lambda root: (root / "tests/test_a.py").write_text("y"),
    "new file": lambda root: (root / "src/c.py").write_bytes(BAD),
    "new file in new folder": lambda root: (make(root / "new") / "c.py").write_bytes(BAD),
    "removed": lambda root: (root / "src/b.py").unlink(),
    "renamed": lambda root: (root / "src/b.py").rename(root / "src/z.py"),
    "replaced": lambda root: (
        (root / "src/z").write_text("x = 1\n") and (root / "src/z").replace(root / "src/a.py")
    ),
    "mode": lambda root: (root / "src/a.py").chmod(0o755),
    "touched": lambda root: (root / "src/a.py").touch(),
    "configuration": lambda root: (root / "pyproject.toml").write_text("[tool.concurrency-gate]"),
    "nearer configuration": lambda root: (root / "concurrency-gate.toml").write_text(
        'exclude = ["src/b.py"]'
    ),
    "ignored": lambda root: (root / ".gitignore").write_text("src/b.py\n"),
    "ignored by the clone": lambda root: (root / ".git/info/exclude").write_text("src/b.py\n"),
    "environment": lambda root: (root / "src/pyvenv.cfg").write_text(""),
    "no repository": lambda root: shutil.rmtree(root / ".git"),
}


def keep_times(path: Path, text: str) -> None:
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def make(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen(lane: Lane, change: str) -> None:
    lane.project.git("init")
    lane.settled("check")
    CHANGES[change](lane.project.root)
    code, out, replayed = lane.run("check")
    assert not replayed
    fresh = lane.project.run("check", "--no-cache")
    assert (code, out) == (fresh.returncode, fresh.stdout)


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_link_to_elsewhere_is_seen(lane: Lane, tmp_path: Path) -> None:
    target = tmp_path / "target.py"
    target.write_text("x = 1\n")
    (lane.project.root / "src/link.py").symlink_to(target)
    assert lane.settled("check")[1].count("CG902") == 1
    target.write_bytes(BAD)
    _, out, replayed = lane.run("check")
    assert not replayed
    assert out.count("CG902") == 2


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_path_given_through_a_link_is_not_recorded(lane: Lane) -> None:
    link = lane.project.root.parent / "link"
    link.symlink_to(lane.project.root, target_is_directory=True)
    lane.project.age()
    for _ in range(2):
        assert lane.run("check", str(link))[2] is False


def test_another_command_line_or_place_is_another_run(lane: Lane) -> None:
    lane.settled("check")
    root = lane.project.root
    assert lane.run("check", "src")[2] is False
    assert lane.run("check", "--select", "CG9")[2] is False
    assert lane.run("check", cwd=root / "src")[2] is False
    assert lane.run("check", env={"NO_COLOR": "1"})[2] is False
    assert lane.run("check", "--no-cache")[2] is False
    assert lane.run("check")[2] is True
    assert lane.run("check", str(root), cwd=root.parent)[2] is False
    assert lane.run("check", str(root), cwd=root.parent)[2] is True


def test_a_rule_pack_that_cannot_be_imported_any_more_is_missed(lane: Lane, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "acme_rules.py").write_text("RULES = ()\n")
    lane.project.write({"concurrency-gate.toml": 'rule-packs = ["acme_rules"]'}).age()
    with_pack = {"PYTHONPATH": str(tmp_path / "site")}
    assert lane.project.run("check", env=with_pack).returncode == 1
    assert lane.project.run("check", env=with_pack).returncode == 1
    assert lane.project.run("check").returncode == 2


def test_a_file_as_fresh_as_the_run_is_not_trusted(lane: Lane) -> None:
    """A second change within the clock's tick would bear the same time."""
    script = (
        "import sys, pathlib; from concurrency_gate import replay, cli\n"
        "real = replay._file_system_time\n"
        "def at_once(folder):\n"
        "    pathlib.Path('src/a.py').write_text('x = 3\\n')\n"
        "    return real(folder)\n"
        "replay._file_system_time = at_once\n"
        "sys.exit(cli.run(['check']))\n"
    )
    lane.project.age()
    completed = subprocess.run(
        [sys.executable, "-c", script], cwd=lane.project.root, capture_output=True, check=False
    )
    assert completed.returncode == 1
    assert lane.run("check")[2] is False


def test_output_file_is_written_again(lane: Lane) -> None:
    report = lane.project.root / "report.json"
    lane.settled("check", "--format", "json", "--output", "report.json")
    text = report.read_text()
    report.unlink()
    assert lane.run("check", "--format", "json", "--output", "report.json") == (1, "", True)
    assert report.read_text() == text


def test_named_cache_folder(lane: Lane, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    lane.settled("check", "--cache-dir", str(folder))
    lane.settled("check", f"--cache-dir={folder}")
    assert not (lane.project.root / FOLDER).exists()


def test_no_more_runs_are_kept_than_are_useful(lane: Lane) -> None:
    lane.project.age()
    for number in range(26):
        script = f"from concurrency_gate import cli; cli.run(['check', '--jobs', '{number + 1}'])"
        subprocess.run([sys.executable, "-c", script], cwd=lane.project.root, capture_output=True, check=True)
    assert len(list((lane.project.root / FOLDER / "runs").iterdir())) == 24


def record_of(project: Project) -> Path:
    (file,) = (project.root / FOLDER / "runs").iterdir()
    return file


def test_a_record_that_somebody_brings_is_foreign(lane: Lane) -> None:
    """A commit that holds a cache with a clean verdict, made by the gate itself, for exactly these files."""
    root = lane.project.root
    (root / "src/b.py").write_text("x = 1\n")
    assert lane.settled("check")[0] == 0
    shutil.copytree(root / FOLDER, root / "copy")
    shutil.rmtree(root / FOLDER)
    (root / "copy").rename(root / FOLDER)
    assert lane.run("check")[2] is False


MADE_UP = [
    b"",
    b"\xff",
    b"{name}",
    b"{name}\0" + b"0",
    b"{name}\0" + b"0\0clean\0\0{root}\0\0\0" + b"0",
    b"{name}\0" + b"0\0clean\0\0/nowhere\0\0\0" + b"0",
    b"{name}\0" + b"7\0clean\0\0{root}\0\0\0" + b"0",
    b"{name}\0" + b"x\0clean\0\0{root}\0\0\0" + b"0",
    b"{name}\0" + b"0\0clean\0\0{root}\0\0\0" + b"-5\0a.py\0/etc/passwd",
    b"{name}\0" + b"9" * 5000 + b"\0clean\0\0{root}\0\0\0" + b"0",
]


@pytest.mark.parametrize("content", MADE_UP)
def test_a_record_that_somebody_made_up_is_no_traceback(lane: Lane, content: bytes) -> None:
    code, out = lane.settled("check")
    file = record_of(lane.project)
    content = content.replace(b"{name}", file.name.encode()).replace(b"{root}", bytes(lane.project.root))
    for sealed in (seal(content), content):
        file.write_bytes(sealed)
        assert lane.run("check")[:2] == (code, out)


def test_a_record_in_the_place_of_another_is_not_taken_for_it(lane: Lane) -> None:
    lane.settled("check", "src/a.py")
    clean = record_of(lane.project)
    content = clean.read_bytes()
    clean.unlink()
    code, out = lane.settled("check", "src")
    record_of(lane.project).write_bytes(content)
    assert lane.run("check", "src") == (code, out, False)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), flip=st.integers(0, 255))
@pytest.mark.heavy
def test_random_damage_gives_no_other_verdict(lane: Lane, place: float, flip: int) -> None:
    expected = lane.project.run("check")
    file = record_of(lane.project)
    content = bytearray(file.read_bytes())
    at = int(len(content) * place)
    if flip:
        content[at] ^= flip
    else:
        del content[at:]
    file.write_bytes(content)
    damaged = lane.project.run("check")
    assert (damaged.returncode, damaged.stdout, damaged.stderr) == (expected.returncode, expected.stdout, "")


@pytest.mark.heavy
def test_four_thousand_files_take_a_moment(project: Project) -> None:
    project.write({f"src/p{i // 50}/q{i // 10}/m{i}.py": "x = 1\n" for i in range(4000)}).git("init").git(
        "add", "."
    ).age()
    assert project.run("check").returncode == 0
    took = []
    for _ in range(10):
        began = time.perf_counter()
        project.run("check")
        took.append(time.perf_counter() - began)
    # About 55 ms on an idle machine, start-up of an editable installation included.
    assert min(took) < 0.2
