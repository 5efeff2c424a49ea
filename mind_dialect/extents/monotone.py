"""
Growth of an expression with a name: a bound of the name is a bound of the expression only if the expression never falls.

The facts decide whether one more of a name may give less. Where they do not, the form may: a quotient by a positive number grows
as what it divides does, a maximum as all of its operands do, a sum or a product of extents as each of its parts does.
"""

from __future__ import annotations

from .expr import Atom, Extent, TooLarge, extent, of_atom, symbol
from .facts import Facts
from .operations import substitute

MAX_NESTING = 6
"""The greatest nesting depth of maxima and quotients that are analysed."""


def is_nondecreasing(e: Extent, name: str, facts: Facts) -> bool:
    """
    Return whether `e` is known not to fall where a name grows by 1, the others as they are; False where it is not known.

    The facts must hold for the greater size as well, as lower bounds of names do.

    >>> from mind_dialect.extents import parse_extent
    >>> [is_nondecreasing(parse_extent(text), "T", Facts()) for text in ("T ceildiv 3", "max(T,B)-1", "8-T", "T mod 8")]
    [True, True, False, False]
    """
    return _grows(e, name, facts, MAX_NESTING)


def _grows(e: Extent, name: str, facts: Facts, depth: int) -> bool:
    if name not in e.names or _never_less(e, name, facts):
        return True
    if depth == 0:
        return False
    return any(all(_grows(part, name, facts, depth - 1) for part in parts) for parts in _parts(e)) or all(
        _term_grows(m, c, name, facts, depth) for m, c in e.sorted_terms
    )


def _never_less(e: Extent, name: str, facts: Facts) -> bool:
    try:
        return facts.ge(substitute(e, {name: symbol(name) + 1}), e) is True
    except TooLarge:
        return False


def _parts(e: Extent) -> list[list[Extent]]:
    """Return lists of expressions of which `e` is the maximum, the minimum, or the quotient by a positive number."""
    found: list[list[Extent]] = []
    for m, c in e.sorted_terms:
        if len(m) != 1 or m[0].kind == "name":
            continue
        (a,) = m
        rest = e - of_atom(a) * c
        try:
            if a.kind == "max":
                found.append([rest + x * c for x in a.args])
            elif abs(c) == 1 and a.args[1].is_constant and (k := a.args[1].constant) > 0:  # -floor(x/k) = floor((k-1-x)/k)
                found.append([rest * k + (a.args[0] if c == 1 else extent(k - 1) - a.args[0])])
        except TooLarge:
            continue
    return found


def _term_grows(m: tuple[Atom, ...], c: int, name: str, facts: Facts, depth: int) -> bool:
    """Return whether a number times a product grows: all factors do, and none is negative, or fall, for a negative number."""
    if not any(name in a.names for a in m):
        return True
    if len(m) > 1 and not all(facts.ge(of_atom(a), extent(0)) is True for a in m):
        return False
    return all(_atom_grows(a, 1 if c > 0 else -1, name, facts, depth) for a in m)


def _atom_grows(a: Atom, sign: int, name: str, facts: Facts, depth: int) -> bool:
    if name not in a.names:
        return True
    if a.kind == "name":
        return sign > 0
    if a.kind == "div" and not (a.args[1].is_constant and a.args[1].constant > 0):
        return False
    operands = a.args[:1] if a.kind == "div" else a.args
    return all(_grows(x * sign, name, facts, depth - 1) for x in operands)
