"""From bytes to a syntax tree, also where the code is newer than the running interpreter.

`ast` reads about ten times as many lines a second as LibCST, but only the grammar of the interpreter it runs in.
What it cannot read goes through LibCST, which rewrites newer syntax to older without moving a line.
"""

from __future__ import annotations

import ast
import warnings


class Unparsable(Exception):
    """The text is not Python that can be read. `line` is 1 where it is not known."""

    def __init__(self, reason: str, line: int = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


def parse(data: bytes) -> ast.Module:
    """The module's tree. Columns are UTF-8 byte offsets, as `ast` gives them. Raises `Unparsable`."""
    try:
        return _parse(data)
    except SyntaxError as error:
        try:
            from .downlevel import downlevel

            return _parse(downlevel(data))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise Unparsable(_reason(error), error.lineno or 1) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Unparsable(_reason(error)) from None


def _parse(data: bytes) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in the code we read are not our business
        return ast.parse(data)


def _reason(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return error.msg or "invalid syntax"
    if isinstance(error, (RecursionError, MemoryError)):
        return "nested too deeply"
    return str(error) or type(error).__name__
