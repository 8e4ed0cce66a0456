"""The published hooks, as another repository uses them: pre-commit clones this one and installs it by pip."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]
RED = "import threading\n\nthreading.Thread(target=print).start()\n"
GREEN = "from concurrency_gate.runtime import detach\n\ndetach(print, name='greeting', timeout=5)\n"


class Repository:
    """A git repository in which somebody commits, with nothing of this machine's settings."""

    def __init__(self, root: Path, home: Path) -> None:
        root.mkdir()
        self.root = root
        outer = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        somebody = {
            f"GIT_{who}_{what}": "ada" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        self._environment = {**outer, **somebody, **alone, "PRE_COMMIT_HOME": str(home)}
        self.run("git", "init", "--quiet")

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.root, env=self._environment, capture_output=True, text=True, check=False
        )

    def commit(self) -> subprocess.CompletedProcess[str]:
        self.run("git", "add", "--all")
        return self.run("git", "commit", "--message", "change")

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """pre-commit's own folder, where it keeps what it installed."""
    return tmp_path_factory.mktemp("pre-commit")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, home: Path) -> tuple[Path, str]:
    """This repository as it is now, committed, and its revision."""
    repository = Repository(tmp_path_factory.mktemp("published") / "gate", home)
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in names:
        if name and os.path.lexists(ROOT / name):
            (repository.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, repository.root / name, follow_symlinks=False)
    assert repository.commit().returncode == 0
    return repository.root, repository.run("git", "rev-parse", "HEAD").stdout.strip()


@pytest.mark.parametrize("hook", ["concurrency-gate", "concurrency-gate-all"])
def test_a_planted_violation_stops_the_commit_and_the_mended_file_goes_through(
    hook: str, published: tuple[Path, str], home: Path, tmp_path: Path
) -> None:
    source, revision = published
    shop = Repository(tmp_path / "shop", home)
    shop.write(
        ".pre-commit-config.yaml",
        f"repos:\n  - repo: {source}\n    rev: {revision}\n    hooks:\n      - id: {hook}\n",
    )
    shop.write("pyproject.toml", '[tool.concurrency-gate]\ninfra = ["shop/infra/**"]\n')
    shop.write("shop/infra/clock.py", RED)
    assert shop.commit().returncode == 0
    assert shop.run(sys.executable, "-P", "-m", "pre_commit", "install").returncode == 0

    shop.write("shop/orders.py", RED)
    stopped = shop.commit()
    assert stopped.returncode == 1
    assert "shop/orders.py:3:1: CG101 threading.Thread" in stopped.stderr + stopped.stdout
    assert "clock.py" not in stopped.stderr + stopped.stdout

    shop.write("shop/orders.py", GREEN)
    mended = shop.commit()
    assert mended.returncode == 0, mended.stderr
    assert shop.run("git", "status", "--porcelain").stdout.strip() in ("", "?? .concurrency-gate-cache/")
