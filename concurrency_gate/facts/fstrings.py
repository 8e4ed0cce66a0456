"""Rewrite f-strings that are newer than the running interpreter: to the tuple of what they format.

Since Python 3.12 an f-string may nest quotes of its own kind, and hold line ends, comments and backslashes in
its expressions (PEP 701). Each expression stays at its line and column, and so does everything around the
string.
"""

from __future__ import annotations

import re

from .downlevel import blank

DEEPEST = 40
"""How deep f-strings may nest before we give up."""

_TOKEN = re.compile(rb"""#[^\r\n]*|([rRbBuUfFtT]{0,2})('''|\"\"\"|'|")|[A-Za-z_0-9]+|.""", re.DOTALL)
_REST = {
    quote: re.compile(pattern, re.DOTALL)
    for quote, pattern in {
        b"'": rb"(?:[^'\\\r\n]|\\.)*'",
        b'"': rb'(?:[^"\\\r\n]|\\.)*"',
        b"'''": rb"(?:[^\\]|\\.)*?'''",
        b'"""': rb'(?:[^\\]|\\.)*?"""',
    }.items()
}
_GAP = re.compile(rb"(?:[ \t\f\r\n]|\\\r?\n|#[^\r\n]*)*")
_PLAIN = re.compile(rb"([rRbBuUfFtT]{0,2})('''|\"\"\"|'|\")")
_SHOWN = re.compile(rb"=\s*[}!:]")
_OPENING, _CLOSING = b"([{", b")]}"


def rewrite(data: bytes) -> bytes:
    """The same module with tuples in place of f-strings. Raises ValueError where strings do not end."""
    return bytes(_Rewriter(data).run())


class _Rewriter:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.text = bytearray(data)

    def run(self) -> bytearray:
        at = 0
        while at < len(self.data):
            at = self._token(at, 0)
        return self.text

    def _token(self, at: int, depth: int) -> int:
        """Pass over one token of code; gives the offset behind it."""
        match = _TOKEN.match(self.data, at)
        assert match is not None
        if match.group(2) is None:
            return match.end()
        if b"f" not in match.group(1).lower():
            return self._plain(match)
        stop = self._formatted(match, depth)
        while True:  # strings that are joined to this one
            after = _GAP.match(self.data, stop)
            joined = _PLAIN.match(self.data, after.end() if after else stop)
            if joined is None or b"f" in joined.group(1).lower():
                return stop
            start, stop = joined.start(), self._plain(joined)
            self.text[start:stop] = blank(self.data[start:stop])

    def _plain(self, match: re.Match[bytes]) -> int:
        rest = _REST[match.group(2)].match(self.data, match.end())
        if rest is None:
            raise ValueError("a string does not end")
        return rest.end()

    def _formatted(self, match: re.Match[bytes], depth: int) -> int:
        """An f-string becomes the tuple of its expressions."""
        if depth > DEEPEST:
            raise ValueError("f-strings nest too deeply")
        quote, raw = match.group(2), b"r" in match.group(1).lower()
        kept: list[tuple[int, int]] = []
        stop = self._literal(match.end(), quote, raw, depth, kept)
        inner = bytes(self.text[match.start() : stop])
        self.text[match.start() : stop] = b"(" + blank(self.data[match.start() + 1 : stop - 1]) + b")"
        for start, end in kept:
            offset = match.start()
            self.text[start:end] = inner[start - offset : end - offset]
            self.text[end : end + 1] = b" " if inner[: end - offset].rstrip().endswith(b",") else b","
        return stop

    def _literal(self, at: int, quote: bytes, raw: bool, depth: int, kept: list[tuple[int, int]]) -> int:
        """Pass over text and fields up to the closing quote, or, in a format specification, the closing
        brace."""
        while at < len(self.data):
            if quote and self.data.startswith(quote, at):
                return at + len(quote)
            char = self.data[at : at + 1]
            if char == b"\\":
                named = not raw and self.data.startswith(b"\\N{", at)
                at = (
                    self.data.index(b"}", at) + 1
                    if named
                    else at + 1 + (self.data[at + 1 : at + 2] not in b"{}")
                )
            elif char == b"{" and quote and self.data.startswith(b"{{", at):
                at += 2
            elif char == b"{":
                at = self._field(at + 1, raw, depth, kept)
            elif char == b"}" and not quote:
                return at
            else:
                at += 1
        raise ValueError("an f-string does not end")

    def _field(self, start: int, raw: bool, depth: int, kept: list[tuple[int, int]]) -> int:
        """`{expression!r:specification}`, from behind its opening brace."""
        at, level = start, 0
        while at < len(self.data):
            char = self.data[at : at + 1]
            pair = self.data[at : at + 2]
            if char in _OPENING:
                level += 1
            elif char in _CLOSING and level:
                level -= 1
            elif not level and (
                char in b"}:" or (char == b"!" and pair != b"!=") or _SHOWN.match(self.data, at)  # {x=}
            ):
                break
            at = at + 2 if pair in (b"==", b"!=", b"<=", b">=") else self._token(at, depth + 1)
        kept.append((start, at))
        while self.data[at : at + 1] not in (b"}", b":", b""):
            at += 1
        if self.data[at : at + 1] == b":":
            at = self._literal(at + 1, b"", raw, depth, kept)
        return at + 1
