"""
Random numbers, bit for bit those of our kernels: Philox4x32-10 spelled out in 32-bit arithmetic, products in 64.

The run's seed is an input of the program: two words of ui32, the low one first, so that no 64-bit integer crosses its signature.
`ptir_kernels/random.py` says which key and which counter belong to which number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.extents.dims import ceildiv_dims, mul_dims, product_dims
from mind_dialect.ptir.types import F32, F64, UI32, UI64, PtirDType
from mind_dialect.ptir_shapes import Dim

from ..ptir_kernels import random as kernels
from .builder import StablehloBuilder, Values, shape_of, static
from .elementwise import Rule, cast_to

Words = tuple[SSAValue, ...]


def _uniform(b: StablehloBuilder, op: ptir.RngUniformOp, x: Values) -> SSAValue:
    """As many leading bits of a word as the dtype holds exactly, at most 24, as a fraction."""
    result = op.result_spec()
    bits = kernels.uniform_bits(result.dtype.name)
    count = product_dims(result.shape)
    words = b.slice(_words(b, op, count), [0], [count])
    fraction = b("multiply", _top(b, words, bits, F32), b.fill(2.0**-bits, (F32, (count,))))
    return b.reshape(cast_to(b, fraction, result.dtype), static(result))


def _normal(b: StablehloBuilder, op: ptir.RngNormalOp, x: Values) -> SSAValue:
    """Two numbers from two words (Box and Muller), in f64 and rounded once."""
    result = op.result_spec()
    count = product_dims(result.shape)
    words = _words(b, op, count)
    half = mul_dims(_blocks(count), 2)
    pairs = b.reshape(_top(b, words, 24, F64), (half, 2))
    first, second = (b.slice(pairs, [0, i], [half, i + 1]) for i in (0, 1))
    unit = b("multiply", b("add", first, b.like(1.0, first)), b.like(2.0**-24, first))
    radius = b("sqrt", b("multiply", b.like(-2.0, unit), b("log", unit)))
    angle = b("multiply", second, b.like(2.0**-24 * 2.0 * math.pi, second))
    both = b.concat([b("multiply", radius, b(name, angle)) for name in ("cosine", "sine")], 1)
    numbers = b.slice(b.reshape(both, (mul_dims(half, 2),)), [0], [count])
    return b.reshape(cast_to(b, numbers, result.dtype), static(result))


def _top(b: StablehloBuilder, words: SSAValue, bits: int, dtype: PtirDType) -> SSAValue:
    """The leading bits of words as whole numbers."""
    return b.convert(b("shift_right_logical", words, b.like(32 - bits, words)), dtype)


def _words(b: StablehloBuilder, op: ptir.RandomOp, count: Dim) -> SSAValue:
    """At least `count` words, four for each block."""
    blocks = _blocks(count)
    seed = _seed_words(b)
    number = b.iota(UI32, (blocks,), 0)
    zero = b.like(0, number)
    high = b.broadcast(seed[1], (blocks,), [])
    found = philox(b, (number, zero, high, zero), _key(b, op, seed))
    return b.reshape(b.concat([b.reshape(w, (blocks, 1)) for w in found], 1), (mul_dims(blocks, 4),))


def _blocks(count: Dim) -> Dim:
    """The number of blocks of four words."""
    return ceildiv_dims(count, 4)


def _seed_words(b: StablehloBuilder) -> Words:
    assert b.seed is not None
    return tuple(b.reshape(b.slice(b.seed, [i], [i + 1]), ()) for i in (0, 1))


def _key(b: StablehloBuilder, op: ptir.RandomOp, seed: Words) -> Words:
    """The low half of the seed and the op's ordinal; in loops a block of them for each iteration around, outermost first."""
    key: Words = (seed[0], b.scalar(b.draws[op], UI32))
    for number in b.iterations:
        wide = b.convert(number, UI64)
        low, high = (b.convert(v, UI32) for v in (wide, b("shift_right_logical", wide, b.scalar(32, UI64))))
        key = philox(b, (low, high, seed[1], b.scalar(1, UI32)), key)[:2]
    return key


def philox(b: StablehloBuilder, counter: Words, key: Words) -> Words:
    """Ten rounds on four words of ui32, of one shape, with a key of two scalars."""
    c0, c1, c2, c3 = counter
    shape = shape_of(c0)
    k0, k1 = key
    for _ in range(kernels.ROUNDS):
        (high0, low0), (high1, low1) = (_product(b, c, m) for c, m in zip((c0, c2), kernels.MULTIPLIERS, strict=True))
        c0 = b("xor", b("xor", high1, c1), b.broadcast(k0, shape, []))
        c2 = b("xor", b("xor", high0, c3), b.broadcast(k1, shape, []))
        c1, c3 = low1, low0
        k0, k1 = (b("add", k, b.scalar(w, UI32)) for k, w in zip((k0, k1), kernels.WEYL, strict=True))
    return c0, c1, c2, c3


def _product(b: StablehloBuilder, x: SSAValue, factor: int) -> tuple[SSAValue, SSAValue]:
    """The high and the low word of a product."""
    wide = b("multiply", wide_x := b.convert(x, UI64), b.like(factor, wide_x))
    return b.convert(b("shift_right_logical", wide, b.like(32, wide)), UI32), b.convert(wide, UI32)


RULES: Mapping[type[ptir.PtirOp], Rule] = {ptir.RngUniformOp: _uniform, ptir.RngNormalOp: _normal}
"""Each rule returns the one result of its op."""
