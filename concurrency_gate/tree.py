"""Which Python files a project has, and whether they changed since.

The fast lane of a run in which nothing changed consists of these few functions, so this module imports
next to nothing: no pathlib, no re, no dataclasses.
"""

from __future__ import annotations

import os

from concurrency_gate.git import start_git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SUFFIXES = (".py", ".pyw")
_NEVER_SOURCE = ("__pycache__", "node_modules")
_VENV_MARK = "pyvenv.cfg"
_PATTERNS = [f"*{suffix}" for suffix in (*SUFFIXES, _VENV_MARK)]
_LIST = ["ls-files", "-c", "-o", "--exclude-standard", "-z", "--", *_PATTERNS]

Stamp = tuple[int, int, int, int, int]
"""What `stat` says: modification time and change time in nanoseconds, size in bytes, inode, mode."""


def start_listing(root: str) -> Callable[[], bytes]:
    """Start to list a project; calling the result waits for the raw listing, which is for `files` to read.

    Two equal listings mean the same files. Git decides what is ignored where there is git; elsewhere every
    file counts.
    """
    wait_for_git = start_git(root, _LIST)

    def wait() -> bytes:
        listing = wait_for_git()
        if listing is None:
            return _walk(root)
        # Git may list nothing because a repository further up ignores the whole project: then it has no say.
        has_a_say = listing or os.path.exists(os.path.join(root, ".git"))
        return listing if has_a_say else _walk(root)

    return wait


def files(root: str, listing: bytes) -> list[str]:
    """The project's Python files by a raw listing: relative to `root`, posix, sorted, bytes that are no UTF-8
    as surrogates.

    Left out are hidden folders, `__pycache__`, `node_modules`, virtual environments (by their `pyvenv.cfg`),
    and, where git lists, what a nested repository or a submodule holds, which is a project of its own. Links
    to folders are not followed. A file that is listed may be gone, since git lists what it tracks. A folder
    that may not be listed is listed itself, with a slash at its end.
    """
    listed = set(os.fsdecode(listing).split("\0"))
    environments = {path.removesuffix(_VENV_MARK) for path in listed if path.endswith("/" + _VENV_MARK)}
    libraries = {path.partition("/site-packages/")[0] for path in listed if "/site-packages/" in path}
    environments.update(_environment(root, folder) for folder in libraries)
    environments.discard("")
    inside = tuple(environments)
    wanted = (*SUFFIXES, "/")
    return sorted([p for p in listed if p.endswith(wanted) and not p.startswith(inside) and _is_source(p)])


def stamp(path: str) -> Stamp | None:
    """What changes when the file's content does. None where there is nothing (or a broken link)."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    # An inode is an unsigned number of 64 bits; within 63, five numbers go into an array of machine words.
    inode = status.st_ino & 0x7FFF_FFFF_FFFF_FFFF
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, inode, status.st_mode)


def _environment(root: str, library: str) -> str:
    """The virtual environment around the folder `library` that holds a site-packages; "" where there is none.

    Asked of the disk, since some ignore files hide pyvenv.cfg itself. An environment that was laid over the
    project's own root takes only its site-packages with it.
    """
    names = library.split("/")
    home = names[:-1] if names[-1] == "Lib" else names[:-2]
    if not os.path.exists(os.path.join(root, *home, _VENV_MARK)):
        return ""
    return "/".join(home) + "/" if home else library + "/site-packages/"


def _is_source(path: str) -> bool:
    if "/." not in "/" + path and not any(name in path for name in _NEVER_SOURCE):
        return True
    *folders, name = path.split("/")
    is_editor_lock = name.startswith(".#")  # Emacs: a link to nothing, beside every file that is being edited
    return not is_editor_lock and not any(f.startswith(".") or f in _NEVER_SOURCE for f in folders)


def _walk(root: str) -> bytes:
    """The listing where git has none."""
    found = []
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            entries = list(os.scandir(os.path.join(root, folder)))
        except OSError:
            found.append(folder)  # reading it fails, and that is reported
            continue
        if folder and any(entry.name == _VENV_MARK for entry in entries):
            continue
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                if not name.startswith(".") and name not in _NEVER_SOURCE:
                    waiting.append(f"{folder}{name}/")
            elif name.endswith(SUFFIXES):
                found.append(folder + name)
    return os.fsencode("\0".join(sorted(found)))
