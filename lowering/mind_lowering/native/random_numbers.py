"""
Random numbers, as `ptir_kernels/random.py` defines them: some blocks of Philox4x32-10 at once, one in each lane.

The seed of a call is in its record. Uniform numbers are those of NumPy bit for bit; normal ones go through this target's
logarithm, sine and cosine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from mind_dialect.ptir.types import BF16, F16, F64, PtirDType

from . import vmath
from .casts import cast
from .failures import Failure, Sites
from .ir import Function
from .kernel_steps import Draw
from .kernel_text import argument, fail_where
from .lanes import Lanes, ones, register
from .record import Record
from .target_info import TargetInfo

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
LOW = 0xFFFFFFFF
VECTORS = 64
"""Vectors of blocks in a unit of work."""
_PRECISION = {BF16: 8, F16: 11}
"""Bits of significand, where those are fewer than the 24 bits that are drawn."""


def emit_draw(f: Function, host: TargetInfo, step: Draw, sites: Sites) -> int:
    """Emit a draw; how many units of work it has."""
    lanes = Lanes(f, host, host.lanes(8), hint="word")
    count, each = step.target.count, 4 * lanes.width
    base = argument(f, 0, "numbers")
    key, top = _key(f, host, step)
    keys, high = _keys(lanes, *key), lanes.splat("i64", top)

    def some(v: str, left: int) -> None:
        blocks = lanes.count(f.mul(v, lanes.width))
        words = _philox(lanes, blocks, high, keys)
        numbers = _normal(lanes, words) if step.normal else _uniform(lanes, words, step.target.dtype)
        wide = Lanes(f, host, each, None if left == each else ones(each, left))
        place = f.mul(v, each)
        if host.checked:
            last = f.add(place, str(left - 1))
            beyond = f.op(f"icmp uge i64 {last}, {count}", "beyond")
            fail_where(Lanes(f, host, 1), sites, beyond, Failure.OUTSIDE, None, [("i64", last, True)])
        x = _in_iteration(lanes, wide, register(F64 if step.normal else step.target.dtype), numbers)
        wide.store(step.target.dtype, cast(wide, x, F64, step.target.dtype) if step.normal else x, base, place, 1)

    full, rest = divmod(count, each)
    units = max(1, -(-full // VECTORS))
    last = f.least(f.mul("%end", VECTORS), str(full))
    for v in f.each(f.mul("%begin", VECTORS), last, hint="v"):
        some(v, each)
    if rest:
        f.when(f.op(f"icmp eq i64 %end, {units}", "last"), lambda: some(str(full), rest))
    f.ret("0")
    return units


def _key(f: Function, host: TargetInfo, step: Draw) -> tuple[tuple[str, str], str]:
    """The two words of the key, which each loop makes another one by its iteration, and the high half of the seed."""
    record = f.op("load ptr, ptr %args, align 8", "record")
    seed = f.op(f"load i64, ptr {f.address('i64', record, str(int(Record.SEED)))}, align 8", "seed")
    key, high = (f.op(f"and i64 {seed}, {LOW}", "key"), str(step.ordinal & LOW)), f.op(f"lshr i64 {seed}, 32", "high")
    one = Lanes(f, host, 1, hint="key")
    for i in range(len(step.iterations)):
        iteration = f.op(f"load i64, ptr {argument(f, 1 + i, 'iteration')}, align 8", "iteration")
        first, second, *_ = _philox(one, iteration, high, _keys(one, *key), last=1)
        key = first, second
    return key, high


def _keys(lanes: Lanes, first: str, second: str) -> list[tuple[str, str]]:
    """The two words of the key of each round, in every lane, given those of the first one."""
    f = lanes.function

    def word(begin: str, step: int) -> str:
        moved = f.add(begin, str(step))
        if moved.isdigit():
            return lanes.number("i64", int(moved) & LOW)
        return lanes.splat("i64", f.op(f"and i64 {moved}, {LOW}", "key"))

    return [(word(first, i * WEYL[0]), word(second, i * WEYL[1])) for i in range(ROUNDS)]


def _philox(lanes: Lanes, blocks: str, high: str, keys: Sequence[tuple[str, str]], last: int = 0) -> list[str]:
    """The four words of each block, in 64 bits each; `last` is the last word of its counter."""

    def op(code: str, a: str, b: str) -> str:
        return lanes.binary(code, "i64", a, b)

    low, half = lanes.number("i64", LOW), lanes.number("i64", 32)
    c0, c1, c2, c3 = op("and", blocks, low), op("lshr", blocks, half), high, lanes.number("i64", last)
    for k0, k1 in keys:
        p0, p1 = (op("mul", c, lanes.number("i64", m)) for c, m in zip((c0, c2), MULTIPLIERS, strict=True))
        c0, c2 = (op("xor", op("xor", op("lshr", p, half), c), k) for p, c, k in ((p1, c1, k0), (p0, c3, k1)))
        c1, c3 = op("and", p1, low), op("and", p0, low)
    return [c0, c1, c2, c3]


def _uniform(lanes: Lanes, words: Sequence[str], dtype: PtirDType) -> list[str]:
    """The top bits of each word, as a number below 1: exact in the dtype."""
    bits, type = min(24, _PRECISION.get(dtype, 24)), register(dtype)
    found: list[str] = []
    for word in words:
        top = lanes.convert("trunc", "i64", "i32", lanes.binary("lshr", "i64", word, lanes.number("i64", 32 - bits)))
        number = lanes.convert("sitofp", "i32", type, top)
        found.append(lanes.binary("fmul", type, number, lanes.number(type, 2.0**-bits)))
    return found


def _normal(lanes: Lanes, words: Sequence[str]) -> list[str]:
    """Two numbers of mean 0 and variance 1 from two words, by Box and Muller, in f64."""

    def number(value: float) -> str:
        return lanes.number("double", value)

    def op(code: str, a: str, b: str) -> str:
        return lanes.binary(code, "double", a, b)

    unit: list[str] = []
    for word in words:
        top = lanes.convert("trunc", "i64", "i32", lanes.binary("lshr", "i64", word, lanes.number("i64", 8)))
        unit.append(lanes.convert("sitofp", "i32", "double", top))
    found: list[str] = []
    for first, second in ((unit[0], unit[1]), (unit[2], unit[3])):
        inside = op("fmul", op("fadd", first, number(1.0)), number(2.0**-24))  # in (0, 1]
        radius = lanes.intrinsic("sqrt", "double", op("fmul", number(-2.0), vmath.call(lanes, "log", "double", [inside])))
        angle = op("fmul", second, number(2.0**-24 * 2.0 * math.pi))
        found += [op("fmul", radius, vmath.call(lanes, code, "double", [angle])) for code in ("cos", "sin")]
    return found


def _in_iteration(lanes: Lanes, wide: Lanes, type: str, four: Sequence[str]) -> str:
    """Four vectors as one, their first lanes, then their second ones, and so on."""
    n, f = lanes.width, lanes.function
    if n == 1:
        found = "poison"
        for i, x in enumerate(four):
            found = f.op(f"insertelement {wide.of(type)} {found}, {type} {x}, i64 {i}")
        return found
    of, pairs = lanes.of(type), list[str]()
    joined = ", ".join(f"i32 {i}" for i in range(2 * n))
    for a, b in ((four[0], four[1]), (four[2], four[3])):
        pairs.append(f.op(f"shufflevector {of} {a}, {of} {b}, <{2 * n} x i32> <{joined}>"))
    double = f"<{2 * n} x {type}>"
    iterations = ", ".join(f"i32 {i + n * k}" for i in range(n) for k in range(4))
    return f.op(f"shufflevector {double} {pairs[0]}, {double} {pairs[1]}, <{4 * n} x i32> <{iterations}>")
