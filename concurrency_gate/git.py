"""Asking git: the one place of the gate that starts a process by hand, and therefore on its own allow-list.

Importing subprocess would take longer than git takes to list thousands of files.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Nothing that the repository brings is run: no fsmonitor hook, and ls-files knows no other. That is what
# makes it safe to accept a repository of another owner, as containers in CI have them all the time.
_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "safe.directory=*")


def start_git(root: str, arguments: Sequence[str]) -> Callable[[], bytes | None]:
    """Start git in the folder `root`. Calling the result waits for what it prints; None where it fails, or
    where there is no git."""
    command = [*_GIT, "-C", root, *arguments]
    # A hook's GIT_DIR and GIT_INDEX_FILE are relative to another folder, or name a half-made index.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    if not hasattr(os, "posix_spawnp"):
        return _start_elsewhere(command, environment)

    reading, writing = os.pipe()
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, writing, 1),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    try:
        process = os.posix_spawnp(command[0], command, environment, file_actions=actions)
    except (OSError, ValueError):
        os.close(reading)
        return lambda: None
    finally:
        os.close(writing)

    def wait() -> bytes | None:
        with open(reading, "rb") as pipe:
            output = pipe.read()
        try:
            _, status = os.waitpid(process, 0)
        except ChildProcessError:  # the embedding program ignores SIGCHLD, and the status is lost
            return output or None
        return output if status == 0 else None

    return wait


def _start_elsewhere(command: list[str], environment: dict[str, str]) -> Callable[[], bytes | None]:
    """The same on Windows."""
    import subprocess

    def wait() -> bytes | None:
        try:
            completed = subprocess.run(
                command, env=environment, stdin=subprocess.DEVNULL, capture_output=True
            )
        except OSError:
            return None
        return completed.stdout if completed.returncode == 0 else None

    return wait
