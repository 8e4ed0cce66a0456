"""Rewrite f-strings that are newer than the running interpreter: to the tuple of what they format.

Since Python 3.12 an f-string may nest quotes of its own kind (PEP 701). LibCST finds their parts, and each expression
stays at its line and column.
"""

from __future__ import annotations

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper

from .downlevel import blank


def rewrite(data: bytes) -> bytes:
    """The same module with tuples in place of f-strings. Raises ValueError if LibCST cannot read it."""
    try:
        wrapper = MetadataWrapper(cst.parse_module(data), unsafe_skip_copy=True)
    except cst.ParserSyntaxError as error:
        raise ValueError(str(error)) from None
    visitor = _Strings(data)
    wrapper.visit(visitor)
    return bytes(visitor.text)


class _Strings(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (ByteSpanPositionProvider,)

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.data = data
        self.text = bytearray(data)
        self.parts: set[cst.BaseString] = set()

    def visit_ConcatenatedString(self, node: cst.ConcatenatedString) -> None:
        self._open(node)
        self.parts.update((node.left, node.right))

    def visit_FormattedString(self, node: cst.FormattedString) -> None:
        self._open(node)

    def _open(self, node: cst.BaseString) -> None:
        """Blank the whole string, but the brackets that make a tuple of it."""
        if node not in self.parts:
            start, stop = self._span(node)
            self.text[start:stop] = b"(" + blank(self.data[start + 1 : stop - 1]) + b")"

    def visit_FormattedStringExpression(self, node: cst.FormattedStringExpression) -> None:
        """Put the expression back, with a comma where something must follow it."""
        start, stop = self._span(node.expression)
        while self.data[start - 1 : start] not in (b"{", b""):
            start -= 1
        while self.data[stop : stop + 1] not in (b"}", b"!", b":", b"=", b""):
            stop += 1
        self.text[start:stop] = self.data[start:stop]
        self.text[stop : stop + 1] = b","

    def _span(self, node: cst.CSTNode) -> tuple[int, int]:
        span = self.get_metadata(ByteSpanPositionProvider, node)
        return span.start, span.start + span.length
