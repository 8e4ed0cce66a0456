"""From bytes to a syntax tree, also where the code is newer than the running interpreter.

`ast` reads about ten times as many lines a second as LibCST, but only the grammar of the interpreter it runs
in. What it cannot read is rewritten to older syntax, in place.
"""

from __future__ import annotations

import ast
import re
import symtable
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress

_FORMATTED = re.compile(rb"""\b[rR]?[fF][rR]?["']""")
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


class Unparsable(Exception):  # noqa: N818 - says what the file is; it becomes a finding
    """The text is not Python that can be read. `line` is 1 where it is not known."""

    def __init__(self, reason: str, line: int = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


def parse(data: bytes) -> ast.Module:
    """The module's tree. Columns are UTF-8 byte offsets, as `ast` gives them. Raises `Unparsable`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in the code we read are not our business
        try:
            return ast.parse(data)
        except SyntaxError as error:
            first = error
        except _UNREADABLE as error:
            raise Unparsable(_reason(error)) from None
        for older in _rewritten(data):
            try:
                return ast.parse(older)
            except _UNREADABLE:
                continue
    raise Unparsable(_reason(first), first.lineno or 1)


def prove_readable(data: bytes) -> None:
    """Raise `Unparsable` exactly if `parse` would, without making a tree of what is plain."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            symtable.symtable(data, "", "exec")  # type: ignore[arg-type] # takes bytes as `compile` does
    except _UNREADABLE:
        parse(data)


def _rewritten(data: bytes) -> Iterator[bytes]:
    """The text in older syntax, by the cheaper means first."""
    from .downlevel import downlevel

    older = downlevel(data)
    if older != data:
        yield older
    if sys.version_info < (3, 12) and _FORMATTED.search(data):
        from .fstrings import rewrite

        with suppress(ValueError):
            yield rewrite(older)


def _reason(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return error.msg or "invalid syntax"
    if isinstance(error, (RecursionError, MemoryError)):
        return "nested too deeply"
    return str(error) or type(error).__name__
