from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest


class Project:
    """A project on disk, and the command line run in it as users run it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, files: Mapping[str, str | bytes]) -> Project:
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return self

    def git(self, *arguments: str) -> Project:
        identity = [
            "-c",
            "user.name=Ada",
            "-c",
            "user.email=ada@example.org",
            "-c",
            "init.defaultBranch=main",
        ]
        subprocess.run(["git", *identity, *arguments], cwd=self.root, check=True, capture_output=True)
        return self

    def age(self) -> Project:
        """Wait until the file system's clock has left the last change behind, as a person at a keyboard does.
        Bounded by the clock's tick; nothing else is waited for."""
        probe = self.root / ".tick"
        last = max(p.lstat().st_ctime_ns for p in [self.root, *self.root.rglob("*")])
        while True:
            probe.write_bytes(b"")
            if probe.stat().st_ctime_ns > last + 50_000_000:
                probe.unlink()
                return self

    def run(
        self, *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "concurrency_gate", *arguments],
            cwd=cwd or self.root,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "project"
    root.mkdir()
    return Project(root)
