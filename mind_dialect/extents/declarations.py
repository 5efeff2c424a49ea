"""
Facts in text, as a function declares them:

    fact ::= name "in" integer ".." [integer] | expr ("==" | "!=" | "<=" | "<" | ">=" | ">") expr | expr "%" integer "==" integer
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .expr import MAX_COEFFICIENT, Extent, TooLarge
from .facts import Facts
from .text import ExtentSyntaxError, parse_extent

RANGE = re.compile(r"\s*([^\W\d]\w*)\s+in\s+([0-9]+)\s*\.\.\s*([0-9]+)?\s*")
REMAINDER = re.compile(r"([^%]*)%\s*([0-9]+)\s*==\s*([0-9]+)\s*")
RELATION = re.compile(r"==|!=|<=|>=|<|>")
RELATIONS: dict[str, Callable[[Facts, Extent, Extent, str], None]] = {
    "==": lambda facts, a, b, source: facts.assume_eq(a, b, source),
    "!=": lambda facts, a, b, source: facts.assume_ne(a, b, source),
    ">=": lambda facts, a, b, source: facts.assume_ge(a, b, source),
    ">": lambda facts, a, b, source: facts.assume_ge(a, b + 1, source),
    "<=": lambda facts, a, b, source: facts.assume_ge(b, a, source),
    "<": lambda facts, a, b, source: facts.assume_ge(b, a + 1, source),
}


def declare(facts: Facts, text: str, source: str = "") -> None:
    """
    Assume what a text says; the source is the text itself unless given.

    `ExtentSyntaxError` for a text that is no fact, `TooLarge` beyond the limits, `Contradiction` with both sources.

    >>> facts = Facts()
    >>> for text in ("T in 1..100", "T % 8 == 0", "P + T <= 1024"):
    ...     declare(facts, text)
    >>> facts.bounds(parse_extent("T")), facts.ge(parse_extent("1016"), parse_extent("P"))
    ((8, 96), True)
    >>> declare(facts, "T > 96")
    Traceback (most recent call last):
    ...
    mind_dialect.extents.facts.Contradiction: T >= 97 (T > 96) contradicts T in 1..100, T % 8 == 0, P + T <= 1024
    """
    source = source or text
    if (found := RANGE.fullmatch(text)) is not None:
        name, lo, hi = found.groups()
        return facts.assume_range(name, _integer(lo), None if hi is None else _integer(hi), source)
    if (found := REMAINDER.fullmatch(text)) is not None:
        n, r = _integer(found[2]), _integer(found[3])
        if not 0 <= r < n:
            raise ExtentSyntaxError(f"remainder {r} of a division by {n}, expected less than the divisor,", text, found.start(3))
        return facts.assume_remainder(parse_extent(found[1]), n, r, source)
    if (found := RELATION.search(text)) is None:
        raise ExtentSyntaxError("expected a range, a relation or a remainder, found none", text, 0)
    left, right = parse_extent(text[: found.start()]), _parse_from(text, found.end())
    return RELATIONS[found[0]](facts, left, right, source)


def _parse_from(text: str, start: int) -> Extent:
    """Return the expression from a column on; an error counts from the beginning of the text."""
    try:
        return parse_extent(text[start:])
    except ExtentSyntaxError as refused:
        raise ExtentSyntaxError(refused.message, text, start + refused.column) from None


def _integer(digits: str) -> int:
    if len(digits) > 20 or (value := int(digits)) >= MAX_COEFFICIENT:
        raise TooLarge("a size of more than 62 bits")
    return value
