"""Questions whose answers are known from algebra: what the engine must decide, and what it must not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mind_dialect.extents import (
    Contradiction,
    Extent,
    Facts,
    TooLarge,
    ceildiv,
    evaluate,
    extent,
    floordiv,
    max_of,
    min_of,
    mod,
    parse_extent,
    substitute,
    symbol,
)

B, H, P, T = map(symbol, ("B", "H", "P", "T"))


def positive(*names: str) -> Facts:
    known = Facts()
    for name in names:
        known.assume_range(name, 1)
    return known


EQUAL = [
    ("B*T", "T*B"),
    ("B*2 floordiv 2", "B"),
    ("(P+T)-T", "P"),
    ("(B+T)*(B-T)", "B*B-T*T"),
    ("(T+4) floordiv 2-T floordiv 2", "2"),
    ("(T-T mod 3) floordiv 3*3", "T-T mod 3"),
    ("T floordiv 4 floordiv 2", "T floordiv 8"),
    ("T ceildiv 8", "(T+7) floordiv 8"),
    ("T ceildiv 2+T floordiv 2", "T"),
    ("(T-3) floordiv 2+1", "(T-1) floordiv 2"),
    ("4*T mod 2", "0"),
    ("(4*T+3) mod 2", "1"),
    ("max(B,T)+min(B,T)", "B+T"),
    ("max(T,0)", "T"),
    ("max(2*B,2*T)", "2*max(B,T)"),
    ("max(B,max(T,P))", "max(max(P,B),T)"),
    ("min(B*T,B*P)", "B*min(P,T)"),
    ("B*(T+1) floordiv (T+1)", "B"),
    ("0 floordiv (T+1)", "0"),
    ("(0-2) mod 3", "1"),
]
DIFFERENT = [
    ("T", "T+1"),
    ("2*B", "2*T+1"),
    ("4*B", "6*T+3"),
    ("T", "-1-B"),
    ("max(B,T)", "0-1"),
    ("T floordiv 8", "T floordiv 8+2"),
]
UNDECIDED = [
    ("B", "T"),
    ("T", "1"),
    ("T", "0"),
    ("max(B,1)", "B"),
    ("B*T floordiv T", "B"),
    ("0 floordiv T", "0"),
    ("T floordiv T", "1"),
    ("(T floordiv 8)*8", "T"),
    ("B*T", "B*P"),
]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [(a, b, answer) for rows, answer in ((EQUAL, True), (DIFFERENT, False), (UNDECIDED, None)) for a, b in rows],
)
def test_equality_without_facts(left: str, right: str, expected: bool | None) -> None:
    assert Facts().eq(parse_extent(left), parse_extent(right)) is expected
    assert Facts().ne(parse_extent(left), parse_extent(right)) is (None if expected is None else not expected)


@pytest.mark.parametrize(
    ("larger", "smaller", "expected"),
    [
        ("T", "T floordiv 2", True),
        ("max(B,T)", "min(B,T)", True),
        ("4", "T mod 5", True),
        ("B*T", "0", True),
        ("T*T", "T", None),  # true, but no rule shows it without T >= 1
        ("T", "(T-1) floordiv 2*2", True),
        ("T floordiv 8", "T ceildiv 8", None),
        ("T ceildiv 8", "T floordiv 8", True),
        ("0-1", "T", False),
        ("T", "T+1", False),
        ("B", "T", None),
        ("B*T floordiv T", "0", None),  # no value where T is 0
    ],
)
def test_order_without_facts(larger: str, smaller: str, expected: bool | None) -> None:
    assert Facts().ge(parse_extent(larger), parse_extent(smaller)) is expected


def test_a_factor_cancels_only_where_it_is_not_zero() -> None:
    quotient = floordiv(B * T, T)
    assert Facts().eq(quotient, B) is None
    assert positive("T").eq(quotient, B) is True
    assert positive("B").eq(quotient, B) is None


def test_a_range_bounds_products_and_sums() -> None:
    known = Facts()
    known.assume_range("T", 0, 1024)
    assert known.ge(1024 * B, B * T) is True
    assert known.ge(1023 * B, B * T) is None
    known.assume_ge(extent(1024), P + T)
    assert known.ge(extent(8192), 8 * P) is True


def test_order_is_transitive() -> None:
    known = Facts()
    known.assume_ge(P, T)
    known.assume_ge(T, B)
    assert known.ge(P, B) is True
    assert known.eq(max_of(P, B), P) is True
    assert known.ge(B, P) is None


def test_a_remainder_is_known_of_multiples_and_parts() -> None:
    known = Facts()
    known.assume_remainder(T, 8)
    known.assume_range("T", 1, 99)
    assert known.bounds(T) == (8, 96)
    assert [known.divides(n, T) for n in (1, 2, 4, 8)] == [True] * 4
    assert known.divides(16, T) is None
    assert known.divides(4, T + 1) is False
    assert known.eq(T, 12) is False
    assert known.eq(floordiv(T, 8) * 8, T) is True


@pytest.mark.parametrize("text", ["T floordiv 4*4", "T-T mod 4", "(T ceildiv 4)*4"])
def test_a_rounded_size_equal_to_itself_is_a_multiple(text: str) -> None:
    known = Facts()
    known.assume_eq(parse_extent(text), T)
    assert known.eq(mod(T, 2), 0) is True


def test_equal_products_are_substituted() -> None:
    known = Facts()
    known.assume_eq(B * T, H * P)
    assert known.eq(B * T * B, H * P * B) is True
    assert known.ge(H * P, B * T) is True


def test_coprime_multiples_share_a_factor() -> None:
    known = Facts()
    known.assume_eq(2 * B, 3 * T)
    assert known.divides(3, B) is True
    assert known.divides(2, T) is True
    assert known.divides(2, B) is None


def test_a_disequality_tightens_a_bound() -> None:
    known = Facts()
    known.assume_ne(T, 1)
    assert known.ge(T, 2) is None
    known.assume_range("T", 1)
    assert known.ge(T, 2) is True


def test_an_inequality_is_not_multiplied_by_a_factor_of_unknown_sign() -> None:
    known = Facts()
    known.assume_range("H", 3)
    half = floordiv(B - T, 2)
    assert known.ge(H * half, 3 * half) is None


def test_a_quotient_of_a_negative_dividend_may_be_negative() -> None:
    known = Facts()
    known.assume_remainder(B - T, 4)
    assert known.ge(B, T) is None
    assert known.divides(4, B - T) is True


def test_a_rounded_difference_equal_to_itself_may_be_negative() -> None:
    known = Facts()
    known.assume_eq(floordiv(B - T, 4) * 4, B - T)
    assert known.ge(B, T) is None
    assert known.divides(4, B - T) is True


def test_a_fact_of_a_scope_does_not_leave_it() -> None:
    outer = Facts()
    outer.assume_range("T", 0, 8)
    assert outer.eq(B, T) is None
    inner = outer.copy()
    inner.assume_eq(B, T)
    assert inner.eq(B, T) is True
    assert inner.bounds(B) == (0, 8)
    assert outer.eq(B, T) is None
    assert outer.ge(extent(8), B) is None


Assume = Callable[[Facts, str], None]
CONTRADICTIONS: list[tuple[Assume, Assume]] = [
    (lambda f, s: f.assume_range("T", 1, 4, source=s), lambda f, s: f.assume_ge(T, 8, source=s)),
    (lambda f, s: f.assume_remainder(T, 8, source=s), lambda f, s: f.assume_eq(T, 12, source=s)),
    (lambda f, s: f.assume_eq(B, T, source=s), lambda f, s: f.assume_ge(B, T + 1, source=s)),
    (lambda f, s: f.assume_ne(B, T, source=s), lambda f, s: f.assume_eq(T, B, source=s)),
    (lambda f, s: f.assume_eq(B, 2 * T, source=s), lambda f, s: f.assume_remainder(B, 2, 1, source=s)),
    (lambda f, s: f.assume_ge(B * T, 5, source=s), lambda f, s: f.assume_eq(B, 0, source=s)),
    (lambda f, s: f.assume_ne(T, 3, source=s), lambda f, s: f.assume_range("T", 3, 3, source=s)),
]


@pytest.mark.parametrize(("first", "second"), CONTRADICTIONS)
def test_a_contradiction_names_both_sources(first: Assume, second: Assume) -> None:
    for one, other in ((first, second), (second, first)):
        known = Facts()
        one(known, "the declaration")
        with pytest.raises(Contradiction) as refused:
            other(known, "argument 1")
        assert refused.value.source == "argument 1"
        assert refused.value.earlier == ("the declaration",)
        assert "argument 1" in str(refused.value)
        assert "the declaration" in str(refused.value)


def test_a_chain_of_sources_is_named() -> None:
    known = Facts()
    known.assume_eq(B, T, source="add")
    known.assume_range("T", 5, source="x")
    with pytest.raises(Contradiction) as refused:
        known.assume_range("B", 0, 3, source="y")
    assert refused.value.earlier == ("add", "x")


def test_a_fact_that_can_never_hold_needs_no_other() -> None:
    with pytest.raises(Contradiction, match="can never hold"):
        Facts().assume_eq(T, T + 1, source="x")


@pytest.mark.parametrize(
    "grow",
    [
        lambda e: e * e,
        lambda e: (e + B) * (e + T + P + H),
        lambda e: max_of(floordiv(e, 3), floordiv(e + B * T, 5)),
        lambda e: e * (1 << 20),
    ],
)
def test_growth_ends_at_the_limits(grow: Callable[[Extent], Extent]) -> None:
    def grown() -> Extent:
        e: Extent = T + 1
        for _ in range(12):
            e = grow(e)
        return e

    with pytest.raises(TooLarge):
        grown()


def test_a_question_beyond_the_limits_is_undecided() -> None:
    e = T * ((1 << 62) - 1)
    known = Facts()
    assert known.eq(e, -1 * e) is None
    assert known.ge(e, -1 * e) is None


def test_a_division_by_zero_is_refused_and_by_a_name_that_is_zero_undecided() -> None:
    with pytest.raises(ZeroDivisionError):
        floordiv(B, 0)
    known = Facts()
    known.assume_eq(T, 0)
    assert known.eq(floordiv(B, T), B) is None
    assert known.eq(floordiv(B, T), floordiv(B, T)) is True


def test_substitution_is_simultaneous() -> None:
    assert substitute(B - T, {"B": T, "T": B}) == T - B
    assert substitute(max_of(B, ceildiv(T, 4)), {"T": extent(9)}) == max_of(B, extent(3))
    assert evaluate(min_of(B * T, P), {"B": 1 << 40, "T": 1 << 40, "P": 1 << 70}) == 1 << 70
