"""Rewrite syntax that is newer than the running interpreter, keeping every character that counts where it
was.

Only what Python 3.11, the oldest interpreter we run on, cannot read: type parameters and `type` statements
(3.12), a default for a type parameter (3.13), `except A, B:` without parentheses (3.14), and quotes of the
same kind nested in f-strings (3.12). Each is overwritten in place, so that lines and columns stay those of
the text.
"""

from __future__ import annotations

import re

_GENERIC = re.compile(rb"(?m)^[ \t]*(?:(?:async[ \t]+)?def|class|type)[ \t]+\w+[ \t]*(\[)")
_ALIAS = re.compile(rb"(?m)^([ \t]*)type[ \t]+(\w+)([ \t]*)(?==[^=])")
_EXCEPT = re.compile(rb"(?m)^[ \t]*except\*?[ \t]([^:#(]*,[^:#]*):")
MARK = b':""'
"""The annotation by which an assignment is known to have been a `type` statement."""

_NOT_BREAK = re.compile(rb"[^\r\n]")


def downlevel(data: bytes) -> bytes:
    """The same module without type parameters, `type` statements and bare tuples after `except`. What looks
    like one of these inside a string is rewritten as well: no string's text that we care for looks like
    that."""
    text = bytearray(data)
    for match in _GENERIC.finditer(data):
        stop = _closing(data, match.start(1))
        if stop:
            text[match.start(1) : stop] = blank(data[match.start(1) : stop])
    for match in _ALIAS.finditer(bytes(text)):
        alias = match.group(1) + match.group(2) + MARK
        text[match.start() : match.end()] = alias.ljust(match.end() - match.start())
    for match in _EXCEPT.finditer(bytes(text)):
        text[match.start(1) : match.end(1)] = match.group(1).replace(b",", b"|")
    return bytes(text)


def blank(text: bytes) -> bytes:
    """As many spaces; line ends stay."""
    return _NOT_BREAK.sub(b" ", text)


def _closing(data: bytes, start: int) -> int:
    """The offset behind the bracket that closes the one at `start`; 0 if none does."""
    depth = 0
    for at in range(start, min(len(data), start + 5000)):
        if data[at] == 0x5B:
            depth += 1
        elif data[at] == 0x5D:
            depth -= 1
            if not depth:
                return at + 1
    return 0
