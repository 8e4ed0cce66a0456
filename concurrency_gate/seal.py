"""Small files behind a checksum, in a folder that nobody else wrote: what the cache and the fast lane share.

The fast lane is little more than this module, `tree` and `replay`, so importing it must stay cheap.
"""

from __future__ import annotations

import os

try:
    from _blake2 import blake2b  # where hashlib has it from, but without OpenSSL, which takes 4 ms to load
except ImportError:
    from hashlib import blake2b

FOLDER = ".concurrency-gate-cache"
"""The cache's name in the project's root."""

_MOST_BYTES = 128 * 1024 * 1024
_DIGEST_CHARS = 32


def digest(data: bytes) -> str:
    """The name of a content: 32 hexadecimal characters."""
    return blake2b(data, digest_size=_DIGEST_CHARS // 2).hexdigest()


def seal(body: bytes) -> bytes:
    """`body` behind its checksum, with a line end after it."""
    return digest(body).encode("ascii") + b" " + body + b"\n"


def unseal(sealed: bytes) -> bytes | None:
    """What `seal` was given; None for anything that it did not write."""
    body = sealed[_DIGEST_CHARS + 1 : -1]
    return body if sealed == seal(body) else None


def write(path: str, *chunks: bytes) -> bool:
    """Replace a file in one step: readers see the old or the new. False where it cannot be written."""
    import tempfile

    try:
        handle, scratch = tempfile.mkstemp(dir=os.path.dirname(path), prefix="new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(chunks)
            os.replace(scratch, path)
        except OSError:
            os.unlink(scratch)
            raise
    except OSError:
        return False
    return True


def read(path: str) -> bytes:
    """What `write` wrote; nothing where that is not to be had, or is more than any cache of ours."""
    try:
        with open(path, "rb") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return b""


def witness(folder: str) -> str:
    """Something about the cache in `folder` that no copy of it shares; "" where it cannot be trusted at all.

    A pull request can bring a cache whose entries say "clean", and the checksums to go with them. It cannot
    foretell the inode and the change time that its .gitignore file will get when it is checked out.
    """
    try:
        status = os.lstat(os.path.join(folder, ".gitignore"))
    except OSError:
        return ""
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        return ""  # on a shared machine, the folder above the project may be anybody's
    return f"{status.st_ino}-{status.st_ctime_ns}"
