"""The hooks, by the real pre-commit, in a real repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.shell.conftest import Project

ROOT = Path(__file__).parents[2]
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
BAD = b"x = '\xff'\n"


def test_the_visible_name_is_a_link_to_the_file_that_pre_commit_reads() -> None:
    assert (ROOT / "pre-commit-hooks.yaml").samefile(ROOT / ".pre-commit-hooks.yaml")
    assert [hook["id"] for hook in HOOKS] == ["concurrency-gate", "concurrency-gate-all"]
    assert HOOKS[1]["pass_filenames"] is False


def commit(project: Project, *files: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PRE_COMMIT_HOME": str(project.root.parent / "pre-commit-home"),
        **{
            f"GIT_{role}_{key}": "ada@example.org"
            for role in ("AUTHOR", "COMMITTER")
            for key in ("NAME", "EMAIL")
        },
    }
    project.git("add", *files)
    return subprocess.run(
        ["git", "commit", "-m", "change"],
        cwd=project.root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def hooked(project: Project, request: pytest.FixtureRequest) -> Project:
    """A repository in which one of the hooks runs as it is published, but from this environment."""
    hook = next(hook for hook in HOOKS if hook["id"] == request.param)
    local = {"repos": [{"repo": "local", "hooks": [{**hook, "language": "system"}]}]}
    project.write(
        {
            ".pre-commit-config.yaml": yaml.safe_dump(local),
            "pyproject.toml": "",
            "also.py": "",
            "good.py": "x = 1\n",
        }
    )
    project.git("init")
    subprocess.run(
        [sys.executable, "-m", "pre_commit", "install"], cwd=project.root, check=True, capture_output=True
    )
    assert commit(project, ".").returncode == 0
    return project


@pytest.mark.heavy
@pytest.mark.parametrize("hooked", ["concurrency-gate", "concurrency-gate-all"], indirect=True)
def test_a_violation_stops_the_commit_and_the_mended_file_goes_through(hooked: Project) -> None:
    hooked.write({"pkg/with space.py": BAD})
    stopped = commit(hooked, "pkg")
    assert stopped.returncode == 1
    assert "pkg/with space.py:1:1: CG902" in stopped.stderr
    hooked.write({"pkg/with space.py": "x = 'ü'\n"})
    assert commit(hooked, "pkg").returncode == 0


@pytest.mark.heavy
@pytest.mark.parametrize("hooked", ["concurrency-gate"], indirect=True)
def test_only_the_commit_s_files_are_judged(hooked: Project) -> None:
    hooked.write({"elsewhere.py": BAD, "new.py": "x = 1\n"})
    assert commit(hooked, "new.py").returncode == 0


@pytest.mark.heavy
@pytest.mark.parametrize("hooked", ["concurrency-gate-all"], indirect=True)
def test_the_whole_project_is_judged_even_if_only_its_configuration_changes(hooked: Project) -> None:
    hooked.git("rm", "--cached", "good.py").write({"good.py": BAD, ".gitignore": "good.py\n"})
    assert commit(hooked, ".gitignore").returncode == 0
    hooked.write({".gitignore": ""})
    stopped = commit(hooked, ".gitignore")
    assert (stopped.returncode, "good.py:1:1: CG902" in stopped.stderr) == (1, True)


@pytest.mark.heavy
@pytest.mark.parametrize("hooked", ["concurrency-gate"], indirect=True)
def test_many_files_are_split_over_several_calls(hooked: Project) -> None:
    long = "n" * 200
    hooked.write({f"{long}/{long}{i}.py": BAD if i == 700 else "x = 1\n" for i in range(1000)})
    stopped = commit(hooked, long)
    assert stopped.returncode == 1
    assert stopped.stderr.count("CG902") == 1
    assert stopped.stderr.count("Checked") > 1
