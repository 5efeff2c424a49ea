"""Transposes in vector registers: squares of as many vectors as a vector has lanes."""

from __future__ import annotations

from collections.abc import Sequence

from .lanes import Lanes


def transposed(lanes: Lanes, type: str, rows: Sequence[str]) -> list[str]:
    """
    Emit the transpose of a square of vectors and return its columns.

    For each bit of their numbers, vectors that differ in that bit exchange halves: `width * log2(width)` shuffles.
    """
    width, of, bit = lanes.width, lanes.of(type), 1
    found = list(rows)
    while bit < width:
        made = list(found)
        low = ", ".join(f"i32 {i if not i & bit else width + (i ^ bit)}" for i in range(width))
        high = ", ".join(f"i32 {(i | bit) if not i & bit else width + i}" for i in range(width))
        for i in range(width):
            if not i & bit:
                pair = f"{of} {found[i]}, {of} {found[i | bit]}"
                made[i] = lanes.op(f"shufflevector {pair}, <{width} x i32> <{low}>")
                made[i | bit] = lanes.op(f"shufflevector {pair}, <{width} x i32> <{high}>")
        found, bit = made, bit * 2
    return found
