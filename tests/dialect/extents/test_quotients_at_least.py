"""A quotient that is at least a number says as much of its dividend."""

from __future__ import annotations

import pytest

from mind_dialect.extents import Contradiction, Facts, parse_extent, without_quotient


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(T floordiv 5)-4", "T-20"),
        ("(T+3) floordiv 5", "T+3"),
        ("((T-1) floordiv 2) floordiv 3-2", "T-13"),
        ("2*(T floordiv 5)-4", "2*(T floordiv 5)-4"),
        ("(T floordiv 5)+B", "(T floordiv 5)+B"),
        ("4-(T floordiv 5)", "4-(T floordiv 5)"),
        ("T-4", "T-4"),
    ],
)
def test_the_same_sizes_are_allowed(text: str, expected: str) -> None:
    e = parse_extent(text)
    assert without_quotient(e) == parse_extent(expected)


def test_facts_hold_of_the_dividend() -> None:
    facts = Facts()
    facts.assume_ge(parse_extent("T floordiv 5"), 4)
    assert facts.ge(parse_extent("T"), 20) is True
    assert facts.ge(parse_extent("T floordiv 10"), 2) is True
    assert facts.ge(parse_extent("T"), 21) is None
    with pytest.raises(Contradiction):
        facts.assume_ge(parse_extent("18"), parse_extent("T"))
