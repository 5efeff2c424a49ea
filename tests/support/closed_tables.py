"""Tables that a test closes: what is missing is named with its table, and so is a row that is left over."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def expect_rows(table: str, found: Iterable[Any], wanted: Iterable[Any]) -> None:
    """Fail unless a table has a row for each of `wanted`, op classes or other keys, and no other row."""
    found, wanted = set(found), set(wanted)
    missing, left_over = names(wanted - found), names(found - wanted)
    assert not missing, f"{table} has no row for {', '.join(missing)}"
    assert not left_over, f"{table} has rows for {', '.join(left_over)}, which it must not have"


def names(keys: Iterable[Any]) -> list[str]:
    """The names of ops, or other keys as text, in order."""
    return sorted(str(getattr(key, "name", key)) for key in keys)
