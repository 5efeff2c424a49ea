"""
MLIR's lexer with coded errors and bounds: strings in linear time, numbers of a sane length.

xDSL's pattern for strings backtracks exponentially when the closing quote is missing, a number of 5,000 digits is a bare
`ValueError`, and `1.0e400` silently becomes infinity.
"""

from __future__ import annotations

import math
import re

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Position, Span
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind

from mind_dialect.errors import MindError, MindParseError, error

MAX_DIGITS = 1000
"""Numbers of more characters than this are refused."""


class CodedLexer(MLIRLexer):
    """Raises E1003 and E1004 for strings, E1005 for numbers, E4005 for floats beyond the range of f64."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def _lex_string_literal(self, start_pos: Position) -> MLIRToken:
        try:
            return super()._lex_string_literal(start_pos)
        except ParseError:
            raise self._bad_string(start_pos) from None

    def _bad_string(self, start: Position) -> MindParseError:
        """Say what keeps the text from `start` from being a string."""
        text = self.input.content
        good = re.compile(r'(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+').match(text, start + 1)
        stop = start + 1 if good is None else good.end()
        if text[stop : stop + 1] == "\\" and text[stop + 1 : stop + 2] not in ("", "\n", "\v", "\f"):
            escape = text[stop : stop + 2]
            message = f"invalid escape sequence '{escape}', expected \\n, \\t, \\\\, \\\" or two hex digits"
            return self._coded(stop, stop + 2, error("E1004", message, escape=escape))
        message = "unterminated string: the closing quote must stand on the same line"
        return self._coded(start, max(stop, start + 1), error("E1003", message, start=start))

    def _lex_number(self, start_pos: Position) -> MLIRToken:
        token = super()._lex_number(start_pos)
        text = token.text
        if len(text) > MAX_DIGITS:
            message = f"a number of {len(text)} characters, at most {MAX_DIGITS} are read"
            raise self._coded(start_pos, self.pos, error("E1005", message, text=text[:20] + "..."))
        if not "0" <= text[0] <= "9":
            raise self._coded(start_pos, self.pos, error("E1005", f"invalid number {text!r}, expected digits 0 to 9", text=text))
        if token.kind is MLIRTokenKind.FLOAT_LIT and len(text) > 4 and math.isinf(float(text)):
            raise self._coded(start_pos, self.pos, beyond(text, "f64"))
        return token

    def _coded(self, start: Position, end: Position, err: MindError) -> MindParseError:
        return MindParseError(Span(start, end, self.input), err)


def beyond(text: str, dtype: str) -> MindError:
    """E4005: a finite number that the type would round to infinity."""
    issue = f"{text[:40]} is beyond the finite range of {dtype}"
    return error("E4005", issue, dtype=dtype, issue=issue)
