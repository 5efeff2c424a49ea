"""
Dimensions as types hold them: a size, the canonical text of an expression such as `"B"` or `"P+T"`, or `"?"` for nothing known.

Equal texts are equal normal forms, so equality of dimensions is equality of Python objects. An expression here divides by numbers
only, so that it has a value for all sizes of its names. Questions about dimensions are answered for all sizes of names, or for
those that the facts of a function allow, inside of `under`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from functools import lru_cache, reduce

from .expr import Extent, TooLarge, extent
from .facts import Facts
from .operations import evaluate, floordiv, has_value, max_of, min_of, substitute
from .recording import Dim, recorder
from .text import ExtentSyntaxError, extent_text, parse_extent

UNKNOWN = "?"


def dim_of(e: Extent) -> Dim:
    """
    Return the dimension of an expression.

    >>> dim_of(parse_extent("T + P")), dim_of(parse_extent("T - T + 4"))
    ('P+T', 4)
    """
    return e.constant if e.is_constant else extent_text(e)


def extent_of(dim: Dim) -> Extent:
    """Return the expression of a dimension that is known; `ExtentSyntaxError` or `TooLarge` for a text that is none."""
    return extent(dim) if isinstance(dim, int) else parse_extent(dim)


@lru_cache(4096)
def canonical(text: str) -> Dim:
    """
    Return the dimension that a text says; `ExtentSyntaxError` or `TooLarge` for a text that is none.

    >>> canonical("B*2"), canonical("B"), canonical("B*T floordiv 2")
    ('2*B', 'B', 'B*T floordiv 2')
    """
    e = parse_extent(text)
    if not has_value(e):
        raise ExtentSyntaxError("a quotient by names, which may be 0, expected one by a number,", text, 0)
    return dim_of(e)


def dim_texts(encoding: str) -> list[str]:
    """
    Return the parts of an encoding, split at commas outside of parentheses.

    >>> dim_texts("B,*,max(B,T)")
    ['B', '*', 'max(B,T)']
    """
    if "(" not in encoding:
        return encoding.split(",")
    parts, depth = [""], 0
    for c in encoding:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def is_expression(dim: Dim) -> bool:
    """
    Return whether a dimension is neither a size, a name nor unknown.

    >>> is_expression("P+T"), is_expression("T"), is_expression("?")
    (True, False, False)
    """
    return isinstance(dim, str) and dim != UNKNOWN and not dim.isidentifier()


@lru_cache(4096)
def names_in(dim: Dim) -> tuple[str, ...]:
    """
    Return the names in a dimension, sorted.

    >>> names_in("P+T"), names_in("T"), names_in(4), names_in("?")
    (('P', 'T'), ('T',), (), ())
    """
    if isinstance(dim, int) or dim == UNKNOWN:
        return ()
    return tuple(sorted(parse_extent(dim).names)) if is_expression(dim) else (dim,)


def _computed(operation: str, of: Callable[[Extent, Extent], Extent], a: Dim, b: Dim) -> Dim:
    """Return the dimension; where no expression holds it, the name that a recorder gives it, else unknown."""
    if UNKNOWN in (a, b):
        return UNKNOWN
    try:
        e = of(extent_of(a), extent_of(b))
    except TooLarge:
        e = None
    if e is not None and has_value(e):
        return dim_of(e)
    return UNKNOWN if (record := recorder()) is None else record.define(operation, a, b)


def add_dims(a: Dim, b: Dim) -> Dim:
    """
    Return the sum; unknown if either is, or if the text would be too large. So do the other operations.

    >>> add_dims("T", "P"), add_dims("T", 1), add_dims("T", "?")
    ('P+T', 'T+1', '?')
    """
    return a + b if isinstance(a, int) and isinstance(b, int) else _computed("+", Extent.__add__, a, b)


def sub_dims(a: Dim, b: Dim) -> Dim:
    """
    Return the difference, which may be negative.

    >>> sub_dims("P+T", "T"), sub_dims("T", 1)
    ('P', 'T-1')
    """
    return a - b if isinstance(a, int) and isinstance(b, int) else _computed("-", Extent.__sub__, a, b)


def mul_dims(a: Dim, b: Dim) -> Dim:
    """
    Return the product.

    >>> mul_dims("T", 2), mul_dims("T", "B")
    ('2*T', 'B*T')
    """
    return a * b if isinstance(a, int) and isinstance(b, int) else _computed("*", Extent.__mul__, a, b)


def product_dims(dims: Iterable[Dim]) -> Dim:
    """
    Return the product of all, which is the number of elements of a shape.

    >>> product_dims(("B", 2, 3)), product_dims(())
    ('6*B', 1)
    """
    return reduce(mul_dims, dims, 1)


def floordiv_dims(a: Dim, b: Dim) -> Dim:
    """
    Return the quotient, rounded down; unknown where the divisor may be 0.

    >>> floordiv_dims("64*T", 8), floordiv_dims("T", 8), floordiv_dims("T", 0), floordiv_dims("B*T", "T")
    ('8*T', 'T floordiv 8', '?', '?')
    """
    return UNKNOWN if b == 0 else _computed("//", floordiv, a, b)


def ceildiv_dims(a: Dim, b: int) -> Dim:
    """
    Return the quotient by a positive number, rounded up.

    >>> ceildiv_dims(7, 2), ceildiv_dims("T", 8), ceildiv_dims("2*T", 2)
    (4, 'T ceildiv 8', 'T')
    """
    return sub_dims(0, floordiv_dims(sub_dims(0, a), b))


def exact_quotient(a: Dim, b: Dim) -> Dim:
    """
    Return the quotient where it is known to be exact and the divisor at least 1, so that factors cancel.

    >>> exact_quotient("12*B*T", "4*T"), exact_quotient("B", 4)
    ('3*B', 'B floordiv 4')
    """

    def quotient(e: Extent, d: Extent) -> Extent:
        return floordiv(e, d, positive=lambda _: True)

    return _computed("//", quotient, a, b)


def max_dims(a: Dim, b: Dim) -> Dim:
    """
    Return the greater one.

    >>> max_dims("T", "B"), max_dims("T", 0)
    ('max(B,T)', 'T')
    """
    return _computed("max", max_of, a, b)


def min_dims(a: Dim, b: Dim) -> Dim:
    """
    Return the lesser one.

    >>> min_dims("T", "B"), min_dims("T", 0)
    ('min(B,T)', 0)
    """
    return _computed("min", min_of, a, b)


def substituted(dim: Dim, values: Mapping[str, Dim]) -> Dim:
    """
    Return a dimension with others in the place of names; unknown if one of those is.

    >>> substituted("P+T", {"T": 4}), substituted("P+T", {"T": "2*P"}), substituted("T", {"P": 1})
    ('P+4', '3*P', 'T')
    """
    if not is_expression(dim):
        return values.get(dim, dim) if isinstance(dim, str) else dim
    here = {name: values[name] for name in names_in(dim) if name in values}
    if not here:
        return dim
    if UNKNOWN in here.values():
        return UNKNOWN
    try:
        return dim_of(substitute(extent_of(dim), {name: extent_of(d) for name, d in here.items()}))
    except TooLarge:
        return UNKNOWN


def size_in(dim: Dim, sizes: Mapping[str, int]) -> int | None:
    """
    Return the size of a dimension for sizes of names; None where one is missing.

    >>> size_in("P+T", {"P": 2, "T": 3}), size_in("P+T", {"P": 2}), size_in("?", {})
    (5, None, None)
    """
    if isinstance(dim, int):
        return dim
    if not is_expression(dim):
        return sizes.get(dim)
    return evaluate(extent_of(dim), sizes) if all(name in sizes for name in names_in(dim)) else None


_ASKED: ContextVar[Callable[[], Facts] | None] = ContextVar("facts", default=None)


class under:
    """
    A context in which questions about dimensions are answered under facts, which are asked for only if one is open without them.

    >>> facts = Facts()
    >>> facts.assume_ge(parse_extent("T"), 8)
    >>> with under(lambda: facts):
    ...     is_nonnegative("T-8"), are_unequal("T", 4)
    (True, True)
    >>> is_nonnegative("T-8"), are_unequal("T", 4)
    (None, False)
    """

    __slots__ = ("_facts", "_token")

    def __init__(self, facts: Callable[[], Facts] | None):
        self._facts = facts

    def __enter__(self) -> None:
        self._token = _ASKED.set(self._facts)

    def __exit__(self, *_: object) -> None:
        _ASKED.reset(self._token)


def are_equal(a: Dim, b: Dim) -> bool | None:
    """
    Return whether two dimensions are equal: True for all sizes of their names that the facts allow, False for none, None if
    undecided.

    >>> are_equal(3, 4), are_equal("T", "T"), are_equal("T", "T+1"), are_equal("B", "T"), are_equal("?", "?")
    (False, True, False, None, None)
    """
    if a == b:
        return None if a == UNKNOWN else True
    if UNKNOWN in (a, b):
        return None
    if isinstance(a, int) and isinstance(b, int):
        return False
    found = _are_always_equal(a, b) if is_expression(a) or is_expression(b) else None
    if found is not None or (facts := _ASKED.get()) is None:
        return found
    return _are_equal(facts(), a, b)


def _are_equal(facts: Facts, a: Dim, b: Dim) -> bool | None:
    try:
        return facts.eq(extent_of(a), extent_of(b))
    except TooLarge:
        return None


@lru_cache(4096)
def _are_always_equal(a: Dim, b: Dim) -> bool | None:
    return _are_equal(Facts(), a, b)


def are_unequal(a: Dim, b: Dim) -> bool:
    """
    Return whether two dimensions differ for all sizes of their names that the facts allow.

    >>> are_unequal(3, 4), are_unequal("T", "T+1"), are_unequal("B", "T"), are_unequal("2*B", 3)
    (True, True, False, True)
    """
    return are_equal(a, b) is False


def is_nonnegative(dim: Dim) -> bool | None:
    """
    Decide whether a dimension is at least 0: True for all sizes of its names that the facts allow, False for none, None if
    undecided.

    >>> is_nonnegative("P+T"), is_nonnegative("-T-1"), is_nonnegative("N-2"), is_nonnegative("?")
    (True, False, None, None)
    """
    if isinstance(dim, int):
        return dim >= 0
    if dim == UNKNOWN:
        return None
    found = _is_always_nonnegative(dim)
    if found is not None or (facts := _ASKED.get()) is None:
        return found
    return facts().ge(extent_of(dim), 0)


@lru_cache(4096)
def _is_always_nonnegative(dim: str) -> bool | None:
    return Facts().ge(extent_of(dim), 0)


def are_related(a: Dim, relation: str, b: Dim) -> bool | None:
    """
    Decide whether a relation holds between two dimensions: True for all sizes of names, False for none, None if undecided.

    >>> are_related("T", "<", "T+1"), are_related("T", "!=", "T"), are_related("B", "<=", "T"), are_related("T", ">=", "?")
    (True, False, None, None)
    """
    match relation:
        case "==":
            return are_equal(a, b)
        case "!=":
            return None if (found := are_equal(a, b)) is None else not found
        case ">=":
            return is_nonnegative(sub_dims(a, b))
        case "<=":
            return is_nonnegative(sub_dims(b, a))
        case ">":
            return is_nonnegative(sub_dims(sub_dims(a, b), 1))
        case "<":
            return is_nonnegative(sub_dims(sub_dims(b, a), 1))
        case _:
            raise ValueError(relation)


def misfit_text(what: str, axis: int, dim: Dim, found: int, expected: int | None) -> str:
    """
    Say that a dimension of an argument has another size than its type says; None is expected where names have no sizes.

    >>> misfit_text("input x", 1, "T+1", 7, 9), misfit_text("input x", 0, "T", 7, 9)
    ('input x: dimension 1 has size 7, expected T+1 = 9', 'input x: dimension 0, T, has size 7, elsewhere 9; expected one size')
    """
    if is_expression(dim) and expected is not None:
        return f"{what}: dimension {axis} has size {found}, expected {dim} = {expected}"
    elsewhere = "is not known: no input has all its names" if expected is None else f"elsewhere {expected}"
    return f"{what}: dimension {axis}, {dim}, has size {found}, {elsewhere}; expected one size"


def simplicity(dim: Dim) -> tuple[bool, bool, int, str]:
    """Return the key that sorts dimensions known to be equal: sizes first, then names by text, then short expressions."""
    return isinstance(dim, str), is_expression(dim), len(str(dim)) if is_expression(dim) else 0, str(dim)
