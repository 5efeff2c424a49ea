"""Transposes in vector registers: squares of as many vectors as a vector has lanes."""

from __future__ import annotations

from collections.abc import Sequence

from mind_dialect.ptir.types import PtirDType

from .ir import Function, symbol
from .lanes import Lanes, register
from .target_info import TargetInfo

_BITS = {"float": 32, "double": 64, "half": 16, "bfloat": 16}
LANE_BITS = 128
"""Elements move within so many bits by one instruction on x86 and on NEON."""


def transposed(lanes: Lanes, type: str, rows: Sequence[str]) -> list[str]:
    """
    Emit the transpose of a square of vectors and return its columns: `width * log2(width)` shuffles.

    Within 128 bits vectors are interleaved, first by single elements, then by pairs and so on. Across them, for each bit of their
    numbers, vectors that differ in that bit exchange halves.
    """
    width = lanes.width
    block = min(width, LANE_BITS // (_BITS.get(type) or int(type[1:])))
    found, bit = list(rows), 1
    while bit < width:
        low, high = _interleaved(width, block, bit) if bit < block else _exchanged(width, bit)
        made = list(found)
        for i in range(width):
            if not i & bit:
                pair = f"{lanes.of(type)} {found[i]}, {lanes.of(type)} {found[i | bit]}"
                made[i], made[i | bit] = (lanes.op(f"shufflevector {pair}, <{width} x i32> <{mask}>") for mask in (low, high))
        found, bit = made, bit * 2
    digits = block.bit_length() - 1
    return [found[c - c % block + _reversed(c % block, digits)] for c in range(width)]


def copy_squares(
    f: Function, host: TargetInfo, dtype: PtirDType, width: int, ends: tuple[str, str], strides: tuple[int, int], count: str
) -> None:
    """
    Emit a copy of `width` lines of `count` elements to `count` lines of `width` elements, in whole squares.

    `ends` are the addresses of source and target, `strides` how many elements their lines are apart. Copies of a module that
    differ in nothing but these are calls of one function.
    """
    type = register(dtype)
    name = f"squares.{width}x{width}.{type}"
    if name not in f.module.functions:
        made = f.module.function(
            name, "void", [("ptr", "from"), ("i64", "apart"), ("ptr", "to"), ("i64", "step"), ("i64", "count")]
        )
        lanes = Lanes(made, host, width, hint="b")
        from_, to = _multiples(made, "%apart", width), _multiples(made, "%step", width)
        for k in made.each("0", "%count", width, hint="k"):
            source = made.address(type, "%from", k)
            target = made.address(type, "%to", made.op(f"mul nsw i64 {k}, %step", "i"))
            rows = [lanes.load(dtype, source, index, 1) for index in from_]
            for column, index in zip(transposed(lanes, type, rows), to, strict=True):
                lanes.store(dtype, column, target, index, 1)
        made.ret()
    (source, target), (apart, step) = ends, strides
    f.do(f"call void {symbol(name)}(ptr {source}, i64 {apart}, ptr {target}, i64 {step}, i64 {count})")


def _multiples(f: Function, stride: str, width: int) -> list[str]:
    """Return the multiples of a stride that is known when code runs, from 0 on."""
    return ["0", *(f.op(f"mul nsw i64 {stride}, {i}", "i") for i in range(1, width))]


def _interleaved(width: int, block: int, run: int) -> tuple[str, str]:
    """Return the masks that interleave runs of two vectors, those of the first and of the second half of each block."""
    masks: list[str] = []
    for half in (0, block // 2):
        starts = [first + half + i for first in range(0, width, block) for i in range(0, block // 2, run)]
        masks.append(_mask([base + start + i for start in starts for base in (0, width) for i in range(run)]))
    return masks[0], masks[1]


def _exchanged(width: int, bit: int) -> tuple[str, str]:
    """Return the masks that take from two vectors the lanes whose numbers lack a bit, and those that have it."""
    low = [i if not i & bit else width + (i ^ bit) for i in range(width)]
    high = [i | bit if not i & bit else width + i for i in range(width)]
    return _mask(low), _mask(high)


def _mask(lanes: Sequence[int]) -> str:
    return ", ".join(f"i32 {i}" for i in lanes)


def _reversed(number: int, digits: int) -> int:
    """Return the number whose binary digits are those of another one in reverse."""
    return sum((number >> i & 1) << (digits - 1 - i) for i in range(digits))
