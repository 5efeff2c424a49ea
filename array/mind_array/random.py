"""
Random numbers from explicit keys: the same key gives the same numbers on every target and in every order of calls.

The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011), written in ops. A key is an array of two uint32. Word `i`
of a draw is word `i % 4` of the block with the counter `(i // 4, 0, 0, tag)`, the tag telling draws, splits and folds apart. A
key that is used twice gives the same numbers twice; nothing detects that, so split it.
"""

from __future__ import annotations

import math
from typing import Any

from mind_dialect import ptir

from .arguments import checked
from .array import Array
from .checks import whole
from .dtypes import check_category, check_fits, float32, float64, int64, kind_of, ptir_dtype, uint32, uint64
from .emit import constant, emit, no_memory
from .faults import fault
from .operands import array_of, axis_of, broadcast, cast, dtype_or, float_dtype, shape_of, static_size
from .rows import elementwise as e
from .rows.creation import asarray, iota
from .rows.indexing import take
from .rows.manipulation import concat, reshape, reshaped, stack
from .rows.mathematics import clip, where
from .rows.parts import nextafter
from .rows.reductions import argmax, argsort

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_LOW = 0xFFFFFFFF
_DRAW, _SPLIT, _FOLD = 0, 1, 2


def key(seed: int) -> Array:
    """Return the key of a seed, an integer from 0 to 2**64 - 1, or an array of rank 0 of integers."""
    if isinstance(seed, int) and not isinstance(seed, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        if not 0 <= seed < 1 << 64:
            raise fault("E1110", f"key: seed {seed}, expected 0 to 2**64 - 1", argument="seed", value=str(seed)[:40])
        return asarray([seed & _LOW, seed >> 32], dtype=uint32)
    given = array_of(seed, "key", "seed")
    check_category("key", given.dtype, "integer")
    if given.shape:
        raise fault("E1110", f"key: seed of shape {list(given.shape)}, expected rank 0", argument="seed", value=str(given.shape))
    wide = _as_bits(given)
    low = cast(e.bitwise_and(wide, constant(_LOW, uint64)), uint32)
    high = cast(emit(ptir.ShiftRightLogicalOp, wide, constant(32, uint64)), uint32)
    return stack([low, high])


def _as_bits(number: Array) -> Array:
    """An integer as 64 bits: of a negative number its two's complement, so that no two numbers become one."""
    if kind_of(number.dtype) == "u":
        return cast(number, uint64)
    return emit(ptir.BitcastOp, cast(number, int64), dtype=ptir_dtype(uint64))


def _checked(given: Any, function: str) -> Array:
    found = array_of(given, function, "key")
    if found.dtype != uint32 or found.shape != (2,):
        actual = f"{found.dtype}{list(found.shape)}"
        message = f"{function}: the key is {actual}, expected uint32[2]; ma.random.key(seed) makes one"
        raise fault("E2001", message, expected="uint32[2]", actual=actual)
    return found


def _philox(counter: list[Array], k0: Array, k1: Array) -> list[Array]:
    """Ten rounds on four words, each in an array of uint64."""
    shape = counter[0].shape
    low, half = constant(_LOW, uint64, shape), constant(32, uint64, shape)
    m = [constant(n, uint64, shape) for n in _MULTIPLIERS]
    c0, c1, c2, c3 = counter
    for i in range(10):
        p0, p1 = e.multiply(c0, m[0]), e.multiply(c2, m[1])
        keys = [e.bitwise_and(e.add(k, constant(i * w & _LOW, uint64, shape)), low) for k, w in zip((k0, k1), _WEYL, strict=True)]
        high = [emit(ptir.ShiftRightLogicalOp, p, half) for p in (p1, p0)]
        c0 = e.bitwise_xor(e.bitwise_xor(high[0], c1), keys[0])
        c1 = e.bitwise_and(p1, low)
        c2 = e.bitwise_xor(e.bitwise_xor(high[1], c3), keys[1])
        c3 = e.bitwise_and(p0, low)
    return [c0, c1, c2, c3]


def _blocks(given: Array, places: Array, tag: int) -> list[Array]:
    """The four words of the blocks with these numbers, as uint32."""
    shape = places.shape
    words = [broadcast(cast(given[i], uint64), shape) for i in range(2)]
    low, high = (
        e.bitwise_and(places, constant(_LOW, uint64, shape)),
        emit(ptir.ShiftRightLogicalOp, places, constant(32, uint64, shape)),
    )
    counter = [low, high, constant(0, uint64, shape), constant(tag, uint64, shape)]
    return [cast(w, uint32) for w in _philox(counter, *words)]


@checked
def bits(key: Any, shape: Any = ()) -> Array:
    """Return random uint32 of all values."""
    return _words(key, shape_of(shape, "bits"), "bits")


def _words(key: Any, extents: tuple[Any, ...], function: str) -> Array:
    """Random uint32 of a shape, for a function that errors name."""
    given = _checked(key, function)
    count = math.prod(extents)
    _check_count(count, extents)
    words = _blocks(given, iota((-(-count // 4),), 0, uint64), _DRAW)
    flat = reshape(stack(words, axis=-1), (-1,))
    return reshaped(flat[:count], extents)


def _check_count(count: Any, extents: tuple[Any, ...]) -> None:
    """E6004 for a number of elements that no attribute of an op holds."""
    if isinstance(count, int) and count >= 1 << 61:
        raise no_memory(extents, uint32)


@checked
def split(key: Any, num: int = 2) -> Array:
    """Return `num` new keys, an array `[num, 2]`; unpack it, or index it."""
    given, count = _checked(key, "split"), whole(num, "split", "num", 0)
    _check_count(count, (count, 2))
    words = _blocks(given, iota((count,), 0, uint64), _SPLIT)
    return stack(words[:2], axis=-1)


@checked
def fold_in(key: Any, data: Any) -> Array:
    """Return the key that an integer makes of a key, such as the number of a step."""
    given = _checked(key, "fold_in")
    number = array_of(data, "fold_in", "data")
    check_category("fold_in", number.dtype, "integer")
    if number.shape:
        message = f"fold_in: data of shape {list(number.shape)}, expected rank 0"
        raise fault("E1110", message, argument="data", value=str(number.shape))
    place = reshape(_as_bits(number), (1,))
    words = _blocks(given, place, _FOLD)
    return concat(words[:2], axis=0)


def _unit(key: Any, shape: tuple[int, ...], dtype: Any, function: str) -> Array:
    """Uniform in [0, 1): 24 bits of a word, or for float64 53 of two."""
    if dtype == float64:
        words = _words(key, (2, *shape), function)
        high, low = (
            cast(emit(ptir.ShiftRightLogicalOp, words[i], constant(n, uint32, shape)), float64) for i, n in ((0, 5), (1, 6))
        )
        return e.multiply(e.add(e.multiply(high, 67108864.0), low), 2.0**-53)
    precision = {"bfloat16": 8, "float16": 11}.get(str(dtype), 24)
    word = emit(ptir.ShiftRightLogicalOp, _words(key, shape, function), constant(32 - precision, uint32, shape))
    return cast(e.multiply(cast(word, float32), 2.0**-precision), dtype)


@checked
def uniform(key: Any, shape: Any = (), *, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None) -> Array:
    """Return numbers uniform in [minval, maxval), two numbers or arrays that broadcast to the shape, in `dtype`."""
    wanted, extents = float_dtype(dtype, "uniform"), shape_of(shape, "uniform")
    unit = _unit(key, extents, wanted, "uniform")
    if isinstance(minval, int | float) and isinstance(maxval, int | float) and (minval, maxval) == (0.0, 1.0):
        return unit
    return _between(unit, *(_bound(x, n, wanted, extents) for x, n in ((minval, "minval"), (maxval, "maxval"))))


def _bound(given: Any, name: str, dtype: Any, extents: tuple[Any, ...]) -> Array:
    """A bound of `uniform` in its dtype and shape; E2005 for a complex one."""
    found = array_of(given, "uniform", name)
    check_category(f"uniform: {name}", found.dtype, "real")
    return broadcast(cast(found, dtype), extents)


def _between(unit: Array, low: Array, high: Array) -> Array:
    """Numbers from `low` up to, not including, `high`: what rounds to `high` becomes the number before it."""
    found = e.add(e.multiply(unit, e.subtract(high, low)), low)
    before = emit(ptir.StopGradientOp, nextafter(high, low))
    return where(e.equal(found, high), before, found)


@checked
def normal(key: Any, shape: Any = (), *, dtype: Any = None) -> Array:
    """Return numbers of mean 0 and variance 1, two from two words by Box and Muller, rounded once."""
    wanted, extents = float_dtype(dtype, "normal"), shape_of(shape, "normal")
    count = math.prod(extents)
    words = reshape(_words(key, (-(-count // 2) * 2,), "normal"), (-1, 2))
    high = cast(emit(ptir.ShiftRightLogicalOp, words, constant(8, uint32, words.shape)), float64)
    first = e.multiply(e.add(high[:, 0], 1.0), 2.0**-24)
    radius = e.sqrt(e.multiply(e.log(first), -2.0))
    angle = e.multiply(high[:, 1], 2.0**-24 * 2.0 * math.pi)
    flat = reshape(stack([e.multiply(radius, e.cos(angle)), e.multiply(radius, e.sin(angle))], axis=-1), (-1,))
    return reshaped(cast(flat[:count], wanted), extents)


@checked
def truncated_normal(key: Any, lower: float, upper: float, shape: Any = (), *, dtype: Any = None) -> Array:
    """Return numbers of the normal distribution between two bounds, computed in float64 and rounded once."""
    wanted, extents = float_dtype(dtype, "truncated_normal"), shape_of(shape, "truncated_normal")
    least, most = float(lower), float(upper)
    if not least < most:
        raise fault("E1110", f"truncated_normal: from {least} to {most}", argument="upper", value=most)
    unit = cast(_unit(key, extents, wanted, "truncated_normal"), float64)
    low, high = (math.erf(bound / math.sqrt(2)) for bound in (least, most))
    scaled = emit(ptir.ErfInvOp, e.add(e.multiply(unit, high - low), low))
    return cast(clip(e.multiply(scaled, math.sqrt(2)), least, most), wanted)


@checked
def bernoulli(key: Any, p: Any = 0.5, shape: Any = None) -> Array:
    """Return True with probability `p`."""
    share = array_of(p, "bernoulli", "p")
    extents = shape_of(share.shape if shape is None else shape, "bernoulli")
    unit = _unit(key, extents, float32, "bernoulli")
    return e.less(unit, broadcast(cast(share, float32), extents))


@checked
def randint(key: Any, shape: Any = (), minval: int = 0, maxval: int = 2, *, dtype: Any = None) -> Array:
    """Return integers from `minval` up to, not including, `maxval`; the range holds at most 2**32 of them."""
    wanted, extents = dtype_or(dtype, int64), shape_of(shape, "randint")
    check_category("randint", wanted, "integer")
    low, high = whole(minval, "randint", "minval"), whole(maxval, "randint", "maxval")
    if not 0 < high - low <= 1 << 32:
        raise fault("E1110", f"randint: from {low} to {high}, expected 1 to 2**32 numbers", argument="maxval", value=high)
    check_fits(low, wanted)
    check_fits(high - 1, wanted)
    word = cast(_words(key, extents, "randint"), uint64)
    scaled = emit(
        ptir.ShiftRightLogicalOp, e.multiply(word, constant(high - low, uint64, extents)), constant(32, uint64, extents)
    )
    wide = uint64 if kind_of(wanted) == "u" else int64  # the distance from `minval` need not fit the dtype
    return cast(e.add(cast(scaled, wide), constant(low, wide, extents)), wanted)


@checked
def permutation(key: Any, x: Any, *, axis: int = 0) -> Array:
    """Return the numbers below `x` in random order, or the slices of an array along `axis`."""
    array = None if isinstance(x, int) and not isinstance(x, bool) else array_of(x, "permutation")
    if array is None or (not array.shape and kind_of(array.dtype) in "iu"):
        return argsort(_words(key, (whole(x, "permutation", "x", 0),), "permutation"))
    place = axis_of(axis, array.ndim, "permutation")
    return take(array, argsort(_words(key, (static_size(array.shape[place], "permutation"),), "permutation")), axis=place)


@checked
def categorical(key: Any, logits: Any, *, axis: int = -1) -> Array:
    """Return indices along `axis`, drawn in proportion to the exponentials of the logits."""
    array = array_of(logits, "categorical", "logits")
    check_category("categorical", array.dtype, "float")
    computed = array.dtype if array.dtype.itemsize > 2 else float32  # few bits would favour the first of equal sums
    unit = _unit(key, shape_of(array.shape, "categorical"), computed, "categorical")
    tiny = constant(2.0**-24, computed, array.shape)
    noise = e.negative(e.log(e.negative(e.log(emit(ptir.MaximumOp, unit, tiny)))))
    return argmax(e.add(cast(array, computed), noise), axis=axis)


__all__ = [
    "bernoulli",
    "bits",
    "categorical",
    "fold_in",
    "key",
    "normal",
    "permutation",
    "randint",
    "split",
    "truncated_normal",
    "uniform",
]
