"""
The tokens of one line of Core IR text, and the places of errors.

A statement stands on one line. Its tokens are plain strings, found by one regular expression at C speed; where a token
stands is worked out only when an error needs it.
"""

from __future__ import annotations

import json
import math
import re

from xdsl.utils.lexer import Input, Span

from mind_dialect.errors import MindError, MindParseError, brief, error

from .types import TYPE_TOKEN

_TOKEN = re.compile(
    rf"""
      %\w+                                        # a value
    | {TYPE_TOKEN}
    | [A-Za-z_][\w.]*                             # a word
    | [-+]?(?:\d|\.\d)[\w.]*(?:(?<=[eE])[-+]\w*)? # a number, well-formed or not
    | [-+](?:inf|nan)\b
    | "(?:[^"\\]|\\.)*"                           # a string
    | \#.*                                        # a comment
    | [^ \t\r]                                    # anything else, one character
    """,
    re.ASCII | re.VERBOSE,
)
split = _TOKEN.findall
"""The tokens of a line; only blanks are between them."""

LONGEST_MESSAGE = 1000
PUNCTUATION = frozenset("(){}[],=:@?")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")
_SPECIAL = {"nan": math.nan, "inf": math.inf, "+inf": math.inf, "-inf": -math.inf}
_ESCAPE = re.compile(r'\\(u[0-9a-fA-F]{4}|["\\/bfnrt])|\\(.?)')
_WORD = re.compile(r"[A-Za-z_][\w.]*", re.ASCII)
_SURROGATE = re.compile("[\ud800-\udfff]")


def is_word(text: str) -> bool:
    """Return whether a string needs no quotes."""
    return _WORD.fullmatch(text) is not None


def quoted(text: str) -> str:
    """
    A string as text: bare if it is a word, else JSON.

    >>> quoted("w.0"), quoted('a "b"')
    ('w.0', '"a \\\\"b\\\\""')
    """
    return text if is_word(text) else json.dumps(text)


def number(token: str) -> int | float | None:
    """
    The number that `token` writes, None if it is none; E1005 if ill-formed, E4005 if beyond the range of f64.

    >>> number("-7"), number("1e-07"), number("-inf"), number("x")
    (-7, 1e-07, -inf, None)
    """
    if _INTEGER.fullmatch(token):
        try:
            return int(token)
        except ValueError:
            issue = f"a number of {len(token)} digits, expected at most 4300"
            raise error("E1005", issue, text=brief(token)) from None
    if _FLOAT.fullmatch(token):
        if math.isinf(value := float(token)):
            issue = "is beyond the finite range; write inf for infinity"
            raise error("E4005", f"{brief(token)} {issue}", dtype="f64", issue=issue)
        return value
    if token in _SPECIAL:
        return _SPECIAL[token]
    if token[:1] in "-+.0123456789" and token not in ("", ".", "-", "+"):
        raise error("E1005", f"{brief(token)!r} is not a number", text=brief(token))
    return None


def string(token: str) -> str:
    """The text of a quoted token; E1004 for an escape that JSON does not know and for half a surrogate pair."""
    for match in _ESCAPE.finditer(token):
        if match[1] is None:
            raise error("E1004", f"unknown escape \\{match[2]}, expected one of JSON's", escape=f"\\{match[2]}")
    text: str = json.loads(token, strict=False)
    if (half := _SURROGATE.search(text)) is not None:
        raise error("E1004", f"{half[0]!r} is half of a surrogate pair", escape=ascii(half[0])[1:-1])
    return text


class Line:
    """One line of a text, which errors can point into."""

    def __init__(self, text: str, name: str, start: int, line: str):
        self.text, self.name, self.start, self.line = text, name, start, line

    def places(self) -> list[tuple[int, int]]:
        """Return the start and end of each token."""
        return [match.span() for match in _TOKEN.finditer(self.line)]

    def error(self, first: int, last: int, err: MindError) -> MindParseError:
        """`err`, at the tokens from `first` to before `last`; past the last token it is the end of the line."""
        places = [*self.places(), (len(self.line.rstrip()), len(self.line.rstrip()) + 1)]
        start, end = places[min(first, len(places) - 1)][0], places[min(max(first, last - 1), len(places) - 1)][1]
        return self.error_at(start, end, err)

    def error_at(self, start: int, end: int, err: MindError) -> MindParseError:
        """`err`, at columns from 0; of a message that quotes a huge name, the start."""
        message = err.message if len(err.message) <= LONGEST_MESSAGE else f"{err.message[:LONGEST_MESSAGE]}..."
        # half a surrogate pair cannot be printed
        text, message = _SURROGATE.sub("\ufffd", self.text), _SURROGATE.sub("\ufffd", message)
        err = MindError(err.code, message, err.context, err.op)
        return MindParseError(Span(self.start + start, self.start + end, Input(text, self.name)), err)

    def unexpected(self, i: int, token: str, expected: str) -> MindParseError:
        """Token `i` is not what the grammar wants: E1002, E1003 or E1007 by what it is."""
        start = self.places()[i][0] if token else 0
        if token == '"':
            return self.error_at(start, len(self.line.rstrip()), error("E1003", "unterminated string", start=start + 1))
        if (bad := _bad_character(token, self.line[start + 1 : start + 2])) is not None:
            char = self.line[start + bad]
            return self.error_at(start + bad, start + bad + 1, error("E1002", f"invalid character {char!a}", char=char))
        found = brief(token) if token else "the end of the line"
        return self.error(i, i + 1, error("E1007", f"expected {expected}, found {found}"))


def is_id(token: str) -> bool:
    """Return whether a token that starts with % names a value: a number or an identifier follows."""
    return token[1:].isdecimal() or token[1:].isidentifier()


def _bad_character(token: str, after: str) -> int | None:
    """The place in `token`, or just after it, of a character that no token may have there."""
    if token == "%":
        return 1 if after.strip() else None
    if token[:1] == "%" and not is_id(token):
        return next(k for k in range(1, len(token)) if not token[k].isdecimal())
    if len(token) == 1 and token not in PUNCTUATION and not (token.isascii() and (token.isalnum() or token == "_")):
        return 0
    return None
