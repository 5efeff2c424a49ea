"""
Data of constants in the section `{-# dialect_resources: ... #-}` at the end of a text, as torch-mlir writes weights.

MLIR's description of the section: https://mlir.llvm.org/docs/LangRef/#file-metadata-dictionary
"""

from __future__ import annotations

import re
from typing import Any

from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.utils.mlir_lexer import MLIRTokenKind

from .errors import MindParseError, error
from .mlir_literals import LiteralParser

_BEGIN = "{-#"
_BLOB = re.compile(r'([\w.$-]+)\s*:\s*"(0[xX][0-9A-Fa-f]*)"')
_ALIGNMENT = 4
"""A blob begins with the bytes of its alignment, the lowest first."""


class ResourceParser(LiteralParser):
    """A parser that reads `dense_resource<name>` as the literal of the bytes that the text has under this name."""

    _blobs: dict[str, tuple[int, int]] | None = None

    def _parse_builtin_dense_resource_attr(self) -> Any:
        """As xDSL's for a name under which the text has no bytes."""
        text = self.lexer.input.content
        match = re.compile(r"\s*<\s*([\w.$-]+)").match(text, self._current_token.span.start)
        if match is None or (blob := self._find_blobs().get(match[1])) is None:
            return super()._parse_builtin_dense_resource_attr()
        self.parse_characters("<", " in dense_resource attribute")
        token = self._current_token.span
        self.parse_identifier(" for resource handle")
        self.parse_characters(">", " in dense_resource attribute")
        self.parse_characters(":", " in dense_resource attribute")
        type = self._checked_dense_type()
        digits = text[slice(*blob)]
        head = 2 + 2 * _ALIGNMENT
        if len(digits) < head:
            issue = f"the resource {match[1]} has no alignment, expected 8 digits before those of its elements"
            raise MindParseError(token, error("E1007", issue))
        return self.literal_of_hex(digits[:2] + digits[head:], type, token)

    def _find_blobs(self) -> dict[str, tuple[int, int]]:
        """Return where the text has the bytes of each resource, by name."""
        if self._blobs is None:
            text = self.lexer.input.content
            start = text.rfind(_BEGIN)
            found = _BLOB.finditer(text, start) if start >= 0 else ()
            self._blobs = {match[1]: match.span(2) for match in found}
        return self._blobs

    def _parse_resource(self, dialect_name: str, interface: OpAsmDialectInterface) -> None:
        """As xDSL's, which keeps the bytes for the rest of the process, but not for resources that are literals already."""
        if dialect_name != "builtin" or self._current_token.text not in self._find_blobs():
            super()._parse_resource(dialect_name, interface)
            return
        self.parse_identifier()
        self._parse_token(MLIRTokenKind.COLON, "expected `:`")
        self.parse_str_literal()
