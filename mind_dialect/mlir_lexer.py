"""
MLIR's lexer with coded errors and bounds: strings in linear time, numbers of a sane length, names in any script.

xDSL's pattern for strings backtracks exponentially when the closing quote is missing, a number of 5,000 digits is a bare
`ValueError`, `1.0e400` silently becomes infinity, and a string that its own printer wrote with escapes for characters outside
ASCII is read as bytes.
"""

from __future__ import annotations

import math
import re
from typing import cast

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Position, Span, Token
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind, StringLiteral

from .errors import MindError, MindParseError, error

MAX_DIGITS = 1000
"""Numbers of more characters than this are refused."""


_SUFFIX = r"(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*+)"
_TOKENS = {
    MLIRTokenKind.PERCENT_IDENT: f"%{_SUFFIX}",
    MLIRTokenKind.BARE_IDENT: r"[a-zA-Z_][a-zA-Z0-9_$.]*+",
    MLIRTokenKind.INTEGER_LIT: r"(?!0x)[0-9]{1,18}(?![0-9.])",
    MLIRTokenKind.STRING_LIT: r'"[^"\\\n\v\f]*+"',
    MLIRTokenKind.AT_IDENT: r"@[a-zA-Z_][a-zA-Z0-9_$.]*+",
    MLIRTokenKind.HASH_IDENT: rf"#(?!-\}}){_SUFFIX}",
    MLIRTokenKind.EXCLAMATION_IDENT: f"!{_SUFFIX}",
    MLIRTokenKind.CARET_IDENT: rf"\^{_SUFFIX}",
}
"""Tokens that most of a text is made of; others, and what is none, are left to xDSL's functions."""
_MARKS = {mark: kind for kind in MLIRTokenKind if (mark := kind.value) in set(":,(){}[]<>=?") | {"->"}}
_TOKEN = re.compile(
    r"(?:[ \t\n\r\f\v]++|//[^\n]*+)*+(?:"
    + "|".join(f"({pattern})" for pattern in [r"->|[:,()}\[\]<>=?]|\{(?!-#)", *_TOKENS.values()])
    + ")"
)
_KINDS = (None, None, *_TOKENS)
"""By the number of the group of `_TOKEN`; marks are told apart by their text."""


class TextToken(Token[MLIRTokenKind, str]):
    """A token that stores its text, where the base class slices the input at each access."""

    text: str = ""  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]

    def __init__(self, kind: MLIRTokenKind, span: Span[str], text: str):
        super().__init__(kind, span)
        self.text = text  # pyright: ignore[reportIncompatibleMethodOverride]


class CodedLexer(MLIRLexer):
    """Raises E1003 and E1004 for strings, E1005 for numbers, E4005 for floats beyond the range of f64."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def lex(self) -> MLIRToken:
        """As xDSL's, with one pattern for blanks, comments and what most tokens are."""
        if (match := _TOKEN.match(self.input.content, self.pos)) is None:
            return super().lex()
        group: int = match.lastindex or 0
        text: str = match[group]
        self.pos = end = match.end()
        kind = _KINDS[group] or _MARKS[text]
        span = StringLiteral if kind is MLIRTokenKind.STRING_LIT else Span
        return TextToken(kind, span(end - len(text), end, self.input), text)

    def _lex_string_literal(self, start_pos: Position) -> MLIRToken:
        try:
            token = super()._lex_string_literal(start_pos)
        except ParseError:
            raise self._bad_string(start_pos) from None
        return self._as_text(token) if token.kind is MLIRTokenKind.BYTES_LIT else token

    def _as_text(self, token: MLIRToken) -> MLIRToken:
        """Return a string token for escapes that are UTF-8; `token` stays bytes for all else."""
        literal = cast(StringLiteral, token.span)
        try:
            literal.bytes_contents.decode()
        except UnicodeDecodeError:
            return token
        return Token(MLIRTokenKind.STRING_LIT, literal)

    def _bad_string(self, start: Position) -> MindParseError:
        """Say what keeps the text from `start` from being a string."""
        text = self.input.content
        # Not possessive: Python 3.11.2 counts the backslash of an escape that fails as matched.
        good = re.compile(r'(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*').match(text, start + 1)
        stop = start + 1 if good is None else good.end()
        if text[stop : stop + 1] == "\\" and text[stop + 1 : stop + 2] not in ("", "\n", "\v", "\f"):
            escape = text[stop : stop + 2]
            message = f"invalid escape sequence '{escape}', expected \\n, \\t, \\\\, \\\" or two hex digits"
            return self._coded(stop, stop + 2, error("E1004", message, escape=escape))
        message = "unterminated string: the closing quote must stand on the same line"
        return self._coded(start, max(stop, start + 1), error("E1003", message, start=start))

    def _lex_at_ident(self, start_pos: Position) -> MLIRToken:
        token = super()._lex_at_ident(start_pos)
        if token.text[1] == '"' and "\\" in token.text:
            data = StringLiteral(token.span.start + 1, token.span.end, token.span.input).bytes_contents
            try:
                data.decode()
            except UnicodeDecodeError as e:
                shown = data[e.start : e.start + 4]
                listed = ", ".join(f"0x{b:02X}" for b in shown)
                message = f"invalid UTF-8 at byte {e.start} of this name: [{listed}]"
                raise self._coded(start_pos, self.pos, error("E1001", message, offset=e.start, bytes=shown)) from None
        return token

    def _lex_number(self, start_pos: Position) -> MLIRToken:
        token = super()._lex_number(start_pos)
        text = token.text
        if len(text) > MAX_DIGITS:
            message = f"a number of {len(text)} characters, expected at most {MAX_DIGITS}"
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
