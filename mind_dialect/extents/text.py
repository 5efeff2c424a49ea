"""
Text of extents: `"P+T"`, `"2*B"`, `"T floordiv 8"`, `"max(B,T)"`; parsed, and printed in one canonical way.

The grammar, with binary operators from left to right:

    expr   ::= ["-"] term (("+" | "-") term)*
    term   ::= factor (("*" | "floordiv" | "ceildiv" | "mod") factor)*
    factor ::= integer | name | "(" expr ")" | ("max" | "min" | "floordiv" | "ceildiv" | "mod") "(" expr ("," expr)* ")"

A word of an operator is one only where an operator may stand, or before a parenthesis: every identifier is a legal name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from .expr import Atom, Extent, Monomial, TooLarge, extent, symbol
from .operations import ceildiv, floordiv, max_of, min_of, mod

MAX_TEXT, MAX_NESTING = 2000, 40
"""Characters of a text, and parentheses in parentheses."""
BINARY: dict[str, Callable[[Extent, Extent], Extent]] = {"floordiv": floordiv, "ceildiv": ceildiv, "mod": mod}
VARIADIC: dict[str, Callable[..., Extent]] = {"max": max_of, "min": min_of}
TOKEN = re.compile(r"\s*(?:(?P<integer>[0-9]+)|(?P<name>[^\W\d]\w*)|(?P<mark>[-+*(),]))")


class ExtentSyntaxError(ValueError):
    """A text that is no expression; `column` counts from 0."""

    def __init__(self, message: str, text: str, column: int):
        self.message, self.text, self.column = message, text, column
        super().__init__(f"{message} at column {column} of {text[:80]!r}")


@lru_cache(4096)
def parse_extent(text: str) -> Extent:
    """
    Return the expression that a text says.

    `ExtentSyntaxError` names the column; `TooLarge` is beyond the limits; division by the constant 0 is a syntax error.

    >>> parse_extent("T*2 + P")
    P + 2*T
    >>> parse_extent("T +")
    Traceback (most recent call last):
    ...
    mind_dialect.extents.text.ExtentSyntaxError: expected a size, a name or ( at column 3 of 'T +'
    """
    if len(text) > MAX_TEXT:
        raise TooLarge(f"a text of {len(text)} characters, expected at most {MAX_TEXT}")
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str):
        self._text, self._nesting = text, 0
        self._tokens = [*_tokens(text), ("end", "", len(text))]
        self._next = 0

    def whole(self) -> Extent:
        found = self._expr()
        if self._kind != "end":
            raise self._error("expected an operator")
        return found

    @property
    def _kind(self) -> str:
        return self._tokens[self._next][0]

    @property
    def _word(self) -> str:
        return self._tokens[self._next][1]

    def _error(self, message: str) -> ExtentSyntaxError:
        return ExtentSyntaxError(message, self._text, self._tokens[self._next][2])

    def _take(self, *words: str) -> str | None:
        """Return and pass the next token if it is one of these."""
        if (word := self._word) not in words:
            return None
        self._next += 1
        return word

    def _expr(self) -> Extent:
        found = -self._term() if self._take("-") else self._term()
        while sign := self._take("+", "-"):
            found = found + self._term() if sign == "+" else found - self._term()
        return found

    def _term(self) -> Extent:
        found = self._factor()
        while operator := self._take("*", *BINARY):
            operand = self._factor()
            found = found * operand if operator == "*" else self._divided(operator, (found, operand))
        return found

    def _divided(self, operator: str, operands: tuple[Extent, ...]) -> Extent:
        try:
            return BINARY[operator](*operands)
        except ZeroDivisionError:
            raise self._error("division by 0") from None

    def _factor(self) -> Extent:
        kind, word, _ = self._tokens[self._next]
        if kind == "integer":
            self._next += 1
            if len(word) > 20:
                raise TooLarge("a coefficient of more than 62 bits")
            return extent(int(word))
        if kind == "name":
            self._next += 1
            is_call = word in BINARY or word in VARIADIC
            return self._call(word) if is_call and self._word == "(" else symbol(word)
        if word != "(":
            raise self._error("expected a size, a name or (")
        (found,) = self._operands()
        return found

    def _call(self, word: str) -> Extent:
        operands = self._operands(more=True)
        if word in VARIADIC:
            return VARIADIC[word](*operands)
        if len(operands) != 2:
            raise self._error(f"{word} of {len(operands)} operands, expected 2, ending")
        return self._divided(word, operands)

    def _operands(self, more: bool = False) -> tuple[Extent, ...]:
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            raise TooLarge(f"parentheses nest deeper than {MAX_NESTING}")
        self._take("(")
        found = [self._expr()]
        while more and self._take(","):
            found.append(self._expr())
        if not self._take(")"):
            raise self._error("expected )")
        self._nesting -= 1
        return tuple(found)


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    position, end = 0, len(text.rstrip())
    while position < end:
        if (match := TOKEN.match(text, position)) is None:
            column = position + len(text[position:]) - len(text[position:].lstrip())
            raise ExtentSyntaxError(f"unexpected character {text[column]!r}", text, column)
        kind = match.lastgroup or ""
        yield kind, match[kind], match.start(kind)
        position = match.end()


@lru_cache(4096)
def extent_text(e: Extent) -> str:
    """
    Return the canonical text, which parses to the same normal form.

    Terms stand by falling degree, then by text, the constant last. Of the spellings with `mod`, `ceildiv`, `max` and `min`,
    the shortest is taken.

    >>> texts = "T + P", "T-T floordiv 2", "T - 8*floordiv(T,8)", "B + max(0,T-B)", "(T+7) floordiv 8"
    >>> [extent_text(parse_extent(t)) for t in texts]
    ['P+T', 'T ceildiv 2', 'T mod 8', 'max(B,T)', 'T ceildiv 8']
    """
    best, plain = _Display(e), _Display(e)
    for m, c in e.sorted_terms:
        if any(a.kind != "name" for a in m):
            best = min((best, *(found for found in best.folded(m, c))), key=lambda d: (len(d.text), d.text))
    try:
        if parse_extent(best.text) == e:
            return best.text
    except TooLarge:
        pass
    return plain.text


class _Display:
    """An expression to print, of which some terms have a spelling of their own."""

    def __init__(self, rest: Extent, spelled: tuple[tuple[int, Monomial, str], ...] = ()):
        self._rest, self._spelled = rest, spelled

    @property
    def text(self) -> str:
        terms = [(len(m), [a.text for a in m], _term_text(c, [_factor_text(a) for a in m])) for m, c in self._rest.sorted_terms]
        for c, m, text in self._spelled:
            terms.append((len(m) + 1, [text], _term_text(c, [*map(_factor_text, m), text])))
        joined = "".join(text for *_, text in sorted(terms, key=lambda t: (-t[0], t[1], t[2])))
        if not joined:
            return "0"
        # One term needs no parentheses around an infix operator.
        joined = joined.removeprefix("+")
        return joined[1:-1] if len(terms) == 1 and joined[0] == "(" and _closes_last(joined) else joined

    def folded(self, m: Monomial, c: int) -> Iterator[_Display]:
        """Yield the same value with a term written as a remainder, a rounded up quotient, a maximum or a minimum."""
        if m not in self._rest.terms:
            return
        for i, a in enumerate(m):
            others = m[:i] + m[i + 1 :]
            factor = Extent({others: 1})
            s = self._rest - Extent({m: c})
            found = _remainders(a, c) if a.kind == "div" else _choices(a, c) if a.kind == "max" else ()
            try:
                for k, moved, text in found:
                    yield _Display(s + moved * factor, (*self._spelled, (k, others, text)))
            except TooLarge:
                continue


def _remainders(a: Atom, c: int) -> Iterator[tuple[int, Extent, str]]:
    """Yield `k, e, text` with `c * a == e + k * text`, for text of a remainder or a rounded up quotient."""
    x, d = a.args
    divisor = _divisor_text(d)
    if d.is_constant and c % d.constant == 0:
        k = -c // d.constant
        yield k, x * -k, f"({_operand_text(x)} mod {divisor})"
    elif not d.is_constant:
        yield -c, x * 0, f"({_operand_text(-x)} ceildiv {divisor})"
    if d.is_constant:
        yield c, x * 0, f"({_operand_text(x - (d.constant - 1))} ceildiv {divisor})"
        if d.constant == 2:  # floor(x/2) + ceil(x/2) = x
            yield -c, x * c, f"({_operand_text(x)} ceildiv {divisor})"


def _choices(a: Atom, c: int) -> Iterator[tuple[int, Extent, str]]:
    """Yield `k, e, text` with `c * a == e + k * text`, for text of a maximum or, where c < 0, of a minimum."""
    name, sign = ("max", 1) if c > 0 else ("min", -1)
    for x in a.args:
        part = Extent({m: abs(k) for m, k in x.terms.items() if k * sign < 0})
        operands = sorted(extent_text(part + y * sign) for y in a.args)
        yield abs(c), part * -abs(c), f"{name}({','.join(operands)})"


def _term_text(c: int, factors: list[str]) -> str:
    return ("-" if c < 0 else "+") + "*".join([*([str(abs(c))] if abs(c) != 1 or not factors else []), *factors])


def _factor_text(a: Atom) -> str:
    if a.kind == "name":
        return a.text
    if a.kind == "max":
        return f"max({','.join(sorted(map(extent_text, a.args)))})"
    return f"({_operand_text(a.args[0])} floordiv {_divisor_text(a.args[1])})"


def _operand_text(e: Extent) -> str:
    """Return the text of the left operand of an infix operator: a product needs no parentheses there."""
    text = extent_text(e)
    return text if re.fullmatch(r"\w[\w*]*", text) else f"({text})"


def _divisor_text(d: Extent) -> str:
    """Return the text of the right operand of an infix operator: a product needs parentheses there."""
    text = extent_text(d)
    return text if re.fullmatch(r"\w+", text) else f"({text})"


def _closes_last(text: str) -> bool:
    """Return whether the first parenthesis is closed by the last character."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return i == len(text) - 1
    return False


__all__ = ["ExtentSyntaxError", "extent_text", "parse_extent"]
