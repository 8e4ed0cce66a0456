"""Rewrite syntax that is newer than the running interpreter, keeping every line where it was.

Only what Python 3.11, the oldest interpreter we run on, cannot read: type parameters and `type` statements (3.12), a
default for a type parameter (3.13), `except A, B:` without parentheses (3.14), and nested quotes in f-strings (3.12).
"""

from __future__ import annotations

import libcst as cst


def downlevel(data: bytes) -> bytes:
    """The same module in older syntax. Raises ValueError if LibCST cannot read it either."""
    try:
        module = cst.parse_module(data)
    except cst.ParserSyntaxError as error:
        raise ValueError(str(error)) from None
    return module.visit(_Older()).bytes


class _Older(cst.CSTTransformer):
    """Drops what the gate does not need to know. Nothing here changes a line's number."""

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        return updated_node.with_changes(type_parameters=None)

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        return updated_node.with_changes(type_parameters=None)

    def leave_TypeAlias(self, original_node: cst.TypeAlias, updated_node: cst.TypeAlias) -> cst.Assign:
        return cst.Assign(targets=[cst.AssignTarget(updated_node.name)], value=updated_node.value)

    def leave_ExceptHandler(
        self, original_node: cst.ExceptHandler, updated_node: cst.ExceptHandler
    ) -> cst.ExceptHandler:
        kind = updated_node.type
        if isinstance(kind, cst.Tuple) and not kind.lpar:
            kind = kind.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
            return updated_node.with_changes(type=kind)
        return updated_node

    def leave_FormattedString(
        self, original_node: cst.FormattedString, updated_node: cst.FormattedString
    ) -> cst.BaseExpression:
        """An f-string as the tuple of what it formats: the calls in it count, its text does not."""
        parts = [
            cst.Element(part.expression)
            for part in updated_node.parts
            if isinstance(part, cst.FormattedStringExpression)
        ]
        breaks = "\n" * cst.Module([]).code_for_node(original_node).count("\n")
        if breaks:  # a triple-quoted string: only the columns may move, so leave it as it is
            return updated_node
        return cst.Tuple(parts) if parts else cst.SimpleString('""')
