"""
Rows of `rng_bit_generator`: the counter-based generators Threefry2x32 and Philox4x32-10, bit for bit as XLA defines them.

Both are functions of a key and a counter (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011). The
state is the key, a counter, and for Philox perhaps a second word of the counter, all of ui64; the new state counts on. Which
number is made of which word, and the state, are those of XLA's `hlo/builder/lib/prng.cc` and `rng_bit_generator_expander.cc`.
What StableHLO calls DEFAULT is Philox, as on XLA's CPU and GPU.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import UI32, UI64

from ..landing import INTEGER_KINDS
from ..unsupported import Refused
from .converter import StablehloConverter, Values
from .foreign import ForeignOp
from .structural import static

Words = tuple[SSAValue, ...]
ALGORITHMS = ("DEFAULT", "THREE_FRY", "PHILOX")
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
"""By how many bits the rounds of Threefry rotate a word, in groups of four rounds."""
PARITY = 0x1BD11BDA
PHILOX_ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)


def rng_bit_generator(to: StablehloConverter, op: ForeignOp) -> Values:
    """The new state, and bits as integers. Raises `Refused` for bits as other numbers."""
    algorithm, state = op.word("rng_algorithm", ALGORITHMS), op.operands[0]
    if len(op.results) != 2:
        raise Refused(f"{len(op.results)} results instead of a state and bits")
    dtype, shape = op.results[1]
    sizes = static(shape)
    if dtype.kind not in INTEGER_KINDS or sizes is None:
        what = f"random bits as {dtype}" if sizes is not None else "random bits for a dimension whose size is not known"
        raise Refused(what, "generate integers of static shape, and convert them")
    allowed = ((2,),) if algorithm == "THREE_FRY" else ((2,), (3,))
    if to.dtype(state) is not UI64 or to.shape(state) not in allowed:
        expected = " or ".join(f"tensor<{n}xui64>" for (n,) in allowed)
        raise Refused(f"a state of {to.dtype(state)}{list(to.shape(state))}", f"{algorithm} takes {expected}")
    words = [to.reshape(to.part(state, 0, i, i + 1), ()) for i in range(3 if to.shape(state) == (3,) else 2)]
    if 0 in sizes:
        return [state, to.fill(0, dtype, shape)]
    generate = _three_fry if algorithm == "THREE_FRY" else _philox
    counted, bits = generate(to, words, dtype.bits, sizes)
    return [to.concat([to.reshape(v, (1,)) for v in counted], 0), to.wrap(bits, dtype)]


def _halves(to: StablehloConverter, x: SSAValue) -> Words:
    """The low and the high 32 bits."""
    return to.wrap(x, UI32), to.wrap(to.emit(ptir.ShiftRightLogicalOp, x, to.like(32, x)), UI32)


def _whole(to: StablehloConverter, low: SSAValue, high: SSAValue) -> SSAValue:
    """64 bits of two halves."""
    wide = to.wrap(high, UI64)
    return to.emit(ptir.OrOp, to.wrap(low, UI64), to.emit(ptir.ShiftLeftOp, wide, to.like(32, wide)))


def _counters(to: StablehloConverter, start: SSAValue, count: int) -> SSAValue:
    """`start`, `start + 1`, and on."""
    return to.emit(ptir.AddOp, to.broadcast(start, (count,)), to.emit(ptir.IotaOp, shape=(count,), dtype=UI64, axis=0))


def _plus(to: StablehloConverter, x: SSAValue, number: int) -> SSAValue:
    return to.emit(ptir.AddOp, x, to.like(number, x))


# Threefry


def _three_fry(to: StablehloConverter, state: Sequence[SSAValue], bits: int, shape: tuple[int, ...]) -> tuple[Words, SSAValue]:
    """
    A number of 64 bits takes both words of a counter.

    Narrower ones take a word each: the two words of a counter are neighbours along one axis, the first of even extent, else the
    first of the longest.
    """
    key, start = state
    if bits == 64:
        words = three_fry(to, _halves(to, _counters(to, start, math.prod(shape))), _halves(to, key))
        return (key, _plus(to, start, math.prod(shape))), to.reshape(_whole(to, *words), shape)
    axis = next((i for i, n in enumerate(shape) if n % 2 == 0), shape.index(max(shape)) if shape else 0)
    rounded = tuple(n + n % 2 if i == axis else n for i, n in enumerate(shape)) or (2,)
    half = (*rounded[:axis], rounded[axis] // 2, 1, *rounded[axis + 1 :])
    count = math.prod(half)
    words = three_fry(to, _halves(to, _counters(to, start, count)), _halves(to, key))
    both = to.reshape(to.concat([to.reshape(w, half) for w in words], axis + 1), rounded)
    found = to.part(both, axis, 0, shape[axis]) if shape else to.reshape(to.part(both, 0, 0, 1), ())
    return (key, _plus(to, start, count)), found


def three_fry(to: StablehloConverter, counter: Words, key: Words) -> Words:
    """Twenty rounds on two words of ui32, of one shape, with a key of two scalars."""
    shape = to.shape(counter[0])
    parity = to.emit(ptir.XorOp, to.emit(ptir.XorOp, to.like(PARITY, key[0]), key[0]), key[1])
    keys = [to.broadcast(k, shape) for k in (*key, parity)]
    x, y = (to.emit(ptir.AddOp, c, k) for c, k in zip(counter, keys, strict=False))
    for group in range(5):
        for distance in ROTATIONS[group % 2]:
            x = to.emit(ptir.AddOp, x, y)
            left = to.emit(ptir.ShiftLeftOp, y, to.like(distance, y))
            right = to.emit(ptir.ShiftRightLogicalOp, y, to.like(32 - distance, y))
            y = to.emit(ptir.XorOp, x, to.emit(ptir.OrOp, left, right))
        x = to.emit(ptir.AddOp, x, keys[(group + 1) % 3])
        y = _plus(to, to.emit(ptir.AddOp, y, keys[(group + 2) % 3]), group + 1)
    return x, y


# Philox


def _philox(to: StablehloConverter, state: Sequence[SSAValue], bits: int, shape: tuple[int, ...]) -> tuple[Words, SSAValue]:
    """
    Each counter of 128 bits gives four words in a row; a number of 64 bits takes two.

    The high half of a counter that the state has no word for is the key.
    """
    key, low = state[:2]
    high = state[2] if len(state) == 3 else key
    size = math.prod(shape)
    blocks = -(-size * max(bits, 32) // 128)
    counters, carried = _wide_counters(to, low, high, blocks)
    words = philox(to, (*_halves(to, counters), *_halves(to, carried)), _halves(to, key))
    numbers = [_whole(to, *words[:2]), _whole(to, *words[2:])] if bits == 64 else list(words)
    flat = to.reshape(to.concat([to.reshape(v, (blocks, 1)) for v in numbers], 1), (blocks * len(numbers),))
    end = _plus(to, low, blocks)
    counted: Words = (key, end)
    if len(state) == 3:
        carry = to.compare("less", end, low)
        counted = (*counted, to.select(carry, _plus(to, high, 1), high))
    return counted, to.reshape(to.part(flat, 0, 0, size), shape)


def _wide_counters(to: StablehloConverter, low: SSAValue, high: SSAValue, count: int) -> Words:
    """The low and high words of a counter of 128 bits, and of those after it."""
    counters = _counters(to, low, count)
    carry = to.compare("less", counters, to.broadcast(low, (count,)))
    return counters, to.select(carry, to.broadcast(_plus(to, high, 1), (count,)), to.broadcast(high, (count,)))


def philox(to: StablehloConverter, counter: Words, key: Words) -> Words:
    """Ten rounds on four words of ui32, of one shape, with a key of two scalars."""
    c0, c1, c2, c3 = counter
    shape = to.shape(c0)
    for _ in range(PHILOX_ROUNDS):
        (low0, high0), (low1, high1) = (_product(to, c, m) for c, m in zip((c0, c2), MULTIPLIERS, strict=True))
        k0, k1 = (to.broadcast(k, shape) for k in key)
        c0 = to.emit(ptir.XorOp, to.emit(ptir.XorOp, high1, c1), k0)
        c2 = to.emit(ptir.XorOp, to.emit(ptir.XorOp, high0, c3), k1)
        c1, c3 = low1, low0
        key = tuple(_plus(to, k, w) for k, w in zip(key, WEYL, strict=True))
    return c0, c1, c2, c3


def _product(to: StablehloConverter, x: SSAValue, factor: int) -> Words:
    """The low and the high word of a product."""
    wide = to.wrap(x, UI64)
    return _halves(to, to.emit(ptir.MulOp, wide, to.like(factor, wide)))
