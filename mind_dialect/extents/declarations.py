"""
Facts in text, as a function declares them:

    fact ::= name "in" integer ".." [integer] | expr ("==" | "!=" | "<=" | "<" | ">=" | ">") expr | expr "%" integer "==" integer
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial

from ..lazy_dataclass import dataclass
from .expr import MAX_COEFFICIENT, Extent, TooLarge, extent, symbol
from .facts import Facts
from .operations import evaluate, has_value, mod
from .text import ExtentSyntaxError, extent_text, parse_extent

NAME = re.compile(r"[^\W\d]\w*")
RANGE = re.compile(r"\s*([^\W\d]\w*)\s+in\s+([0-9]+)\s*\.\.\s*([0-9]+)?\s*")
REMAINDER = re.compile(r"([^%]*)%\s*([0-9]+)\s*==\s*([0-9]+)\s*")
RELATION = re.compile(r"==|!=|<=|>=|<|>")
RELATIONS: dict[str, tuple[Callable[[int, int], bool], Callable[[Facts, Extent, Extent, str], None]]] = {
    "==": (operator.eq, lambda facts, a, b, source: facts.assume_eq(a, b, source)),
    "!=": (operator.ne, lambda facts, a, b, source: facts.assume_ne(a, b, source)),
    ">=": (operator.ge, lambda facts, a, b, source: facts.assume_ge(a, b, source)),
    ">": (operator.gt, lambda facts, a, b, source: facts.assume_ge(a, b + 1, source)),
    "<=": (operator.le, lambda facts, a, b, source: facts.assume_ge(b, a, source)),
    "<": (operator.lt, lambda facts, a, b, source: facts.assume_ge(b, a + 1, source)),
}
"""The comparison of sizes and the assumption about expressions, by sign."""

Relation = tuple[Extent, str, Extent]


@dataclass(frozen=True)
class Declaration:
    """A fact that a text says: of which names, whether sizes have it, and how it is assumed."""

    text: str
    names: tuple[str, ...]
    holds: Callable[[Mapping[str, int]], bool]
    """Predicate of sizes of all the names; False where an expression has no value for them."""
    assume: Callable[[Facts, str], None]
    """Assume it of a source; `Contradiction` as of `Facts`."""
    form: str
    """The relation of the values of `sides`, as a Python expression with fields in their places."""
    sides: tuple[Extent, ...]
    relations: Callable[[], list[Relation]]
    """Return the fact as relations that all hold; `TooLarge` where a remainder is beyond the limits."""

    @property
    def divides(self) -> bool:
        """Return whether a side has a quotient by names, and so no value for all sizes."""
        return not all(map(has_value, self.sides))


@lru_cache(1024)
def parse_declaration(text: str) -> Declaration:
    """
    Return the fact that a text says; `ExtentSyntaxError` for a text that is none, `TooLarge` beyond the limits.

    >>> fact = parse_declaration("P + T <= 1024")
    >>> fact.names, fact.holds({"P": 1000, "T": 24}), fact.holds({"P": 1000, "T": 25})
    (('P', 'T'), True, False)
    """
    if (found := RANGE.fullmatch(text)) is not None:
        name, low, high = found.groups()
        lo, hi = _integer(low), None if high is None else _integer(high)
        within = range(lo, (MAX_COEFFICIENT if hi is None else hi) + 1)
        form = f"{lo} <= {{}}" if hi is None else f"{lo} <= {{}} <= {hi}"
        e = symbol(name)
        ends: list[Relation] = [(e, ">=", extent(lo)), *([] if hi is None else [(e, "<=", extent(hi))])]
        return _declaration(text, form, lambda v: v[0] in within, lambda f, s: f.assume_range(name, lo, hi, s), lambda: ends, e)
    if (found := REMAINDER.fullmatch(text)) is not None:
        n, r = _integer(found[2]), _integer(found[3])
        if not 0 <= r < n:
            raise ExtentSyntaxError(f"remainder {r} of a division by {n}, expected less than the divisor,", text, found.start(3))
        e = parse_extent(found[1])
        form = f"{'{}' if NAME.fullmatch(found[1].strip()) else '({})'} % {n} == {r}"
        rest = partial(_remainder_is, e, n, r)
        return _declaration(text, form, lambda v: v[0] % n == r, lambda f, s: f.assume_remainder(e, n, r, s), rest, e)
    if (found := RELATION.search(text)) is None:
        raise ExtentSyntaxError("expected a range, a relation or a remainder, found none", text, 0)
    left, right = parse_extent(text[: found.start()]), _parse_from(text, found.end())
    same: list[Relation] = [(left, found[0], right)]
    compare, assume = RELATIONS[found[0]]
    form = f"{{}} {found[0]} {{}}"
    return _declaration(text, form, lambda v: compare(*v), lambda f, s: assume(f, left, right, s), lambda: same, left, right)


def _remainder_is(e: Extent, n: int, r: int) -> list[Relation]:
    return [(mod(e, extent(n)), "==", extent(r))]


_SWAPPED = {"==": "==", "!=": "!=", ">=": "<=", ">": "<", "<=": ">=", "<": ">"}


def relation_text(a: Extent, relation: str, b: Extent) -> str:
    """
    Return a relation as a declaration, with what is subtracted on the other side, and a number on the right.

    >>> relation_text(parse_extent("T-2"), ">=", parse_extent("0")), relation_text(parse_extent("64-T"), ">=", parse_extent("0"))
    ('T >= 2', 'T <= 64')
    >>> zero = parse_extent("0")
    >>> relation_text(parse_extent("T mod 4"), "==", zero), relation_text(parse_extent("100-B-T"), ">", zero)
    ('T % 4 == 0', 'B+T < 100')
    """
    d = a - b
    if d.is_constant:
        return f"{extent_text(a)} {relation} {extent_text(b)}"
    if relation == "==" and (found := _remainder(d)) is not None:
        return found
    left = Extent({m: c for m, c in d.terms.items() if c > 0})
    right = Extent({m: -c for m, c in d.terms.items() if c < 0})
    if left.is_constant and not right.is_constant:
        left, relation, right = right, _SWAPPED[relation], left
    return f"{extent_text(left)} {relation} {extent_text(right)}"


def _remainder(d: Extent) -> str | None:
    """Return `e % n == 0` where `d == 0` says `e - n * (e floordiv n) == 0`."""
    for m, c in d.sorted_terms:
        if len(m) == 1 and m[0].kind == "div" and m[0].args[1] == extent(abs(c)):
            e = (d - Extent({m: c})) * (1 if c < 0 else -1)
            if e == m[0].args[0]:
                text = extent_text(e)
                return f"{text if NAME.fullmatch(text) else f'({text})'} % {abs(c)} == 0"
    return None


def substituted_texts(text: str, values: Mapping[str, int | str]) -> tuple[str, ...]:
    """
    Return the texts of a fact with sizes or expressions in the place of names.

    >>> substituted_texts("T % 8 == 0", {"T": "P+T"}), substituted_texts("T >= B", {"B": 4})
    (('(P+T) % 8 == 0',), ('T >= 4',))
    >>> substituted_texts("T in 1..64", {"T": "P+1"})
    ('1 <= P+1', 'P+1 <= 64')
    """
    if (found := RANGE.fullmatch(text)) is not None:
        name, lo, hi = found.groups()
        value = values.get(name, name)
        if isinstance(value, str) and NAME.fullmatch(value):
            return (f"{value} in {lo}..{hi or ''}",)
        return (f"{lo} <= {value}", *(() if hi is None else (f"{value} <= {hi}",)))

    def shown(match: re.Match[str]) -> str:
        value = str(values.get(match[0], match[0]))
        return value if value.isalnum() or NAME.fullmatch(value) else f"({value})"

    return (NAME.sub(shown, text),)


def _declaration(
    text: str,
    form: str,
    test: Callable[[list[int]], bool],
    assume: Callable[[Facts, str], None],
    relations: Callable[[], list[Relation]],
    *sides: Extent,
) -> Declaration:
    """Return a fact whose test is asked about the values of expressions."""

    def holds(sizes: Mapping[str, int]) -> bool:
        try:
            return test([evaluate(e, sizes) for e in sides])
        except ZeroDivisionError:
            return False

    names = tuple(sorted({name for e in sides for name in e.names}))
    return Declaration(text, names, holds, assume, form, sides, relations)


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
    parse_declaration(text).assume(facts, source or text)


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
