"""Facts in text: what each form says, and what is refused."""

from __future__ import annotations

import pytest

from mind_dialect.extents import Contradiction, ExtentSyntaxError, Facts, TooLarge, declare, parse_extent

T, P, B = map(parse_extent, ("T", "P", "B"))


def declared(*texts: str) -> Facts:
    known = Facts()
    for text in texts:
        declare(known, text)
    return known


@pytest.mark.parametrize(
    ("text", "larger", "smaller", "expected"),
    [
        ("T in 2..9", "9", "T", True),
        ("T in 2..9", "T", "2", True),
        ("T in 2..9", "8", "T", None),
        ("T in 2..", "T", "2", True),
        ("T in 2..", "9", "T", None),
        ("T < P", "P", "T+1", True),
        ("T <= P", "P", "T", True),
        ("T <= P", "P", "T+1", None),
        ("T > P", "T", "P+1", True),
        ("T >= P", "T", "P", True),
        ("T == 2*P", "T", "P", True),
        ("T != 0", "T", "1", True),
        ("P + T <= 8", "8", "T", True),
    ],
)
def test_a_declared_order(text: str, larger: str, smaller: str, expected: bool | None) -> None:
    assert declared(text).ge(parse_extent(larger), parse_extent(smaller)) is expected


@pytest.mark.parametrize(("text", "remainder"), [("T % 8 == 0", 0), ("T%8==3", 3), ("P + T % 8 == 5", 5), ("T mod 8 == 0", 0)])
def test_a_declared_remainder(text: str, remainder: int) -> None:
    of = P + T if "P" in text else T
    assert declared(text).divides(8, of - remainder) is True
    assert declared(text).divides(8, of - remainder - 1) is False


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 0),
        ("T", 0),
        ("T in 1", 0),
        ("T in 1...4", 0),
        ("T in B..4", 0),
        ("T % 8 == 8", 9),
        ("T % 0 == 0", 9),
        ("T % B == 0", 2),
        ("T == ", 5),
        ("T == P == B", 7),
        ("T <= P +", 8),
        ("<= P", 0),
    ],
)
def test_no_fact(text: str, column: int) -> None:
    with pytest.raises(ExtentSyntaxError) as refused:
        declared(text)
    assert refused.value.column == column


@pytest.mark.parametrize("text", ["T in 0.." + "9" * 5000, f"T % {1 << 62} == 0", f"T <= {1 << 62}"])
def test_a_size_beyond_the_limits(text: str) -> None:
    with pytest.raises(TooLarge):
        declared(text)


@pytest.mark.parametrize(
    "texts", [("T in 1..4", "T > 4"), ("T % 2 == 0", "T == 2*B + 1"), ("T == B", "T != B"), ("P + T <= 3", "T in 4..8")]
)
def test_contradictory_declarations_are_both_named(texts: tuple[str, str]) -> None:
    for first, second in (texts, texts[::-1]):
        with pytest.raises(Contradiction) as refused:
            declared(first, second)
        assert (refused.value.source, refused.value.earlier) == (second, (first,))


def test_an_empty_range_contradicts_itself() -> None:
    with pytest.raises(Contradiction, match=r"T in 5\.\.2"):
        declared("T in 5..2")
