"""Types of tensors are read once: text repeats them at every op, and reading one token by token costs more than all else."""

from __future__ import annotations

import re
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import TypeAttribute
from xdsl.parser import Parser
from xdsl.utils.mlir_lexer import MLIRTokenKind

from .errors import MindParseError, brief, error
from .shapes import MAX_EXTENT

_ELEMENT = r"(?:[su]?i\d{1,4}|bf16|f16|f32|f64|index|complex<f(?:32|64)>)"
TENSOR = rf"tensor<(?:(?:\d{{1,19}}|\?)x)*{_ELEMENT}>"
"""The types of tensors that are remembered."""
_ONE = re.compile(TENSOR)
_SEVERAL = rf"\((?:{TENSOR}(?:, {TENSOR})*+)?\)"
_FUNCTION = re.compile(rf"{_SEVERAL} -> (?:{TENSOR}|{_SEVERAL})")
MOST_REMEMBERED = 1 << 12


class TypeParser(Parser):
    """A parser that remembers types of tensors, and of functions of tensors, by their text."""

    def __init__(self, ctx: Context, input: str | bytes, name: str = "<unknown>"):
        super().__init__(ctx, input, name)
        self._types: dict[str, Any] = {}

    def parse_optional_type(self) -> TypeAttribute | None:
        """As xDSL's."""
        token = self._current_token
        if token.kind is not MLIRTokenKind.BARE_IDENT:
            return super().parse_optional_type()
        return self._remembered(_ONE, super().parse_optional_type)

    def parse_optional_function_type(self) -> FunctionType | None:
        """As xDSL's."""
        if self._current_token.kind is not MLIRTokenKind.L_PAREN:
            return None
        return self._remembered(_FUNCTION, super().parse_optional_function_type)

    def parse_shape_dimension(self, allow_dynamic: bool = True) -> int:
        """As xDSL's; E3006 for an extent that no tensor can have, which MLIR refuses in types that nothing uses too."""
        start = self._current_token.span
        extent = super().parse_shape_dimension(allow_dynamic)
        if extent > MAX_EXTENT:
            shown = brief(extent)
            found = error("E3006", f"extent {shown}, expected at most 2^63 - 1", shape=(shown,), index=0, value=shown)
            raise MindParseError(start, found)
        return extent

    def _remembered(self, pattern: re.Pattern[str], parse: Any) -> Any:
        """Return the earlier result of `parse` for the same text, if `pattern` says that the text is a whole type."""
        start = self._current_token.span.start
        match = pattern.match(self.lexer.input.content, start)
        if match is None:
            return parse()
        if (known := self._types.get(match[0])) is not None:
            self._resume_from(match.end())
            return known
        type = parse()
        if len(self._types) < MOST_REMEMBERED:
            self._types[match[0]] = type
        return type
