"""
What every Core IR op computes, in plain loops over the formulas of the specification: no NumPy, nothing of the lowering.

A tensor is a shape and its elements in row-major order, as Python numbers. An expected element is a number and a tolerance:
0 means bit for bit, the sign of a zero included.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

from mind_dialect import core

Index = tuple[int, ...]
Number = int | float
EPS = {"f32": 2.0**-23, "f64": 2.0**-52}


@dataclass(frozen=True)
class Tensor:
    dtype: str
    shape: Index
    flat: list[Number]

    def __getitem__(self, index: Index) -> Number:
        place = 0
        for i, n in zip(index, self.shape, strict=True):
            assert 0 <= i < n
            place = place * n + i
        return self.flat[place]

    def places(self) -> Iterator[Index]:
        return places(self.shape)


@dataclass(frozen=True)
class Expected:
    value: Number
    tolerance: float = 0.0


def places(shape: Index) -> Iterator[Index]:
    return product(*map(range, shape))


def store(value: Number, dtype: str) -> Number:
    """`value` as `dtype` holds it: integers wrap, floats round to nearest and overflow to infinity."""
    if dtype in ("i32", "i64"):
        bits = int(dtype[1:])
        return (int(value) + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
    if dtype == "f64" or not math.isfinite(value):
        return float(value)
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def total(terms: list[Number], dtype: str, divisor: int = 1) -> Expected:
    """A sum, in any order: exact for integers, within count * eps * sum|terms| for floats."""
    if dtype in ("i32", "i64"):
        return Expected(truncated(int(store(sum(terms), dtype)), divisor))
    if not all(map(math.isfinite, terms)):
        return Expected(sum(terms) / divisor)
    bound = (len(terms) + 2) * EPS[dtype] * math.fsum(map(abs, terms)) / divisor
    return Expected(math.fsum(terms) / divisor, bound + 2.0**-149)


def truncated(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def aligned(t: Tensor, place: Index) -> Number:
    """The element that broadcasting `t` puts at `place`."""
    place = place[len(place) - len(t.shape) :]
    return t[tuple(0 if n == 1 else i for i, n in zip(place, t.shape, strict=True))]


def divided(a: Number, b: Number) -> Number:
    if isinstance(a, int):
        return truncated(a, int(b))
    if b == 0:
        sign = math.copysign(1.0, a) * math.copysign(1.0, b)
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, sign)
    return a / b


def product_of(a: Number, b: Number) -> Number:
    return a * b


def exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def log(x: float) -> float:
    return math.nan if math.isnan(x) or x < 0 else -math.inf if x == 0 else math.log(x)


def binary(f: Callable[[Number, Number], Number]):
    return lambda out, a, b: [Expected(store(f(aligned(a, p), aligned(b, p)), a.dtype)) for p in places(out)]


def unary(f: Callable[..., Number], ulps: int = 0):
    def run(out: Index, x: Tensor) -> list[Expected]:
        values = [store(f(v), x.dtype) for v in x.flat]
        return [Expected(v, ulps * EPS[x.dtype] * abs(v) + 2.0**-149 if ulps else 0.0) for v in values]

    return run


def reduced(x: Tensor, axes: Index) -> tuple[list[int], dict[Index, list[Number]]]:
    chosen = [a % len(x.shape) for a in axes] or list(range(len(x.shape)))
    groups: dict[Index, list[Number]] = {p: [] for p in places(tuple(n for i, n in enumerate(x.shape) if i not in chosen))}
    for p in x.places():
        groups[tuple(i for a, i in enumerate(p) if a not in chosen)].append(x[p])
    return chosen, groups


def sum_(out: Index, x: Tensor, axes: Index, keepdims: bool) -> list[Expected]:
    return [total(terms, x.dtype) for terms in reduced(x, axes)[1].values()]


def mean(out: Index, x: Tensor, axes: Index, keepdims: bool) -> list[Expected]:
    chosen, groups = reduced(x, axes)
    return [total(terms, x.dtype, math.prod(x.shape[a] for a in chosen)) for terms in groups.values()]


def same(out: Index, x: Tensor, **_: object) -> list[Expected]:
    return [Expected(v) for v in x.flat]


def transpose(out: Index, x: Tensor, permutation: Index) -> list[Expected]:
    found = []
    for p in places(out):
        source = [0] * len(p)
        for i, axis in enumerate(permutation):
            source[axis] = p[i]
        found.append(Expected(x[tuple(source)]))
    return found


def slice_(out: Index, x: Tensor, starts: Index, ends: Index, steps: Index) -> list[Expected]:
    starts = tuple(max(0, s) for s in starts)
    return [Expected(x[tuple(s + i * d for s, i, d in zip(starts, p, steps, strict=True))]) for p in places(out)]


def gather(out: Index, x: Tensor, indices: Tensor) -> list[Expected]:
    k = len(indices.shape)
    return [Expected(x[(int(indices[p[:k]]), *p[k:])]) for p in places(out)]


def products(terms: list[tuple[Number, Number]], dtype: str) -> Expected:
    return total([a * b for a, b in terms], dtype)


def dot(out: Index, a: Tensor, b: Tensor) -> list[Expected]:
    m = len(a.shape) - 1
    return [products([(a[(*p[:m], k)], b[(k, *p[m:])]) for k in range(b.shape[0])], a.dtype) for p in places(out)]


def matmul(out: Index, a: Tensor, b: Tensor) -> list[Expected]:
    def at(t: Tensor, batch: Index, row: int, column: int) -> Number:
        lead = batch[len(batch) - (len(t.shape) - 2) :]
        return t[(*(0 if n == 1 else i for i, n in zip(lead, t.shape, strict=False)), row, column)]

    depth = a.shape[-1]
    return [products([(at(a, batch, i, k), at(b, batch, k, j)) for k in range(depth)], a.dtype) for *batch, i, j in places(out)]


def pads(x: Index, filter: Index, strides: Index, padding: object) -> list[int]:
    """The padding before the first row and column."""
    if padding == "Valid":
        return [0, 0]
    if padding == "Same":
        out = [math.ceil(x[1 + d] / strides[d]) for d in (0, 1)]
        return [max((out[d] - 1) * strides[d] + filter[d] - x[1 + d], 0) // 2 for d in (0, 1)]
    return [pair[0] for pair in padding]


def taps(x: Index, filter: Index, out: Index, strides: Index, padding: object) -> Iterator[tuple[Index, Index, Index]]:
    """Every (input, filter, output) place that meets in a convolution."""
    before = pads(x, filter, strides, padding)
    for n, oh, ow, f in places(out):
        for i, j, c in places(filter[:3]):
            h, w = oh * strides[0] + i - before[0], ow * strides[1] + j - before[1]
            if 0 <= h < x[1] and 0 <= w < x[2]:
                yield (n, h, w, c), (i, j, c, f), (n, oh, ow, f)


def collected(shape: Index, dtype: str, terms: Iterator[tuple[Index, Number]]) -> list[Expected]:
    sums: dict[Index, list[Number]] = {p: [] for p in places(shape)}
    for place, term in terms:
        sums[place].append(term)
    return [total(found, dtype) for found in sums.values()]


def conv2d(out: Index, x: Tensor, w: Tensor, strides: Index, padding: object) -> list[Expected]:
    met = taps(x.shape, w.shape, out, strides, padding)
    return collected(out, x.dtype, ((o, x[i] * w[f]) for i, f, o in met))


def backward_input(out: Index, g: Tensor, w: Tensor, shape: Index, strides: Index, padding: object) -> list[Expected]:
    met = taps(shape, w.shape, g.shape, strides, padding)
    return collected(out, g.dtype, ((i, g[o] * w[f]) for i, f, o in met))


def backward_filter(out: Index, x: Tensor, g: Tensor, shape: Index, strides: Index, padding: object) -> list[Expected]:
    met = taps(x.shape, shape, g.shape, strides, padding)
    return collected(out, x.dtype, ((f, x[i] * g[o]) for i, f, o in met))


def scattered(out: Index, pairs: Iterator[tuple[Index, Number]], dtype: str) -> list[Expected]:
    """Zeros, each number added at its place, one after the other."""
    sums: dict[Index, Number] = {p: 0 if dtype[0] == "i" else 0.0 for p in places(out)}
    for place, value in pairs:
        sums[place] = store(sums[place] + value, dtype)
    return [Expected(v) for v in sums.values()]


def scatter_add(out: Index, indices: Tensor, updates: Tensor, shape: Index) -> list[Expected]:
    k = len(indices.shape)
    return scattered(out, (((int(indices[p[:k]]), *p[k:]), updates[p]) for p in updates.places()), updates.dtype)


def slice_scatter(out: Index, x: Tensor, shape: Index, starts: Index, steps: Index) -> list[Expected]:
    placed = {tuple(s + i * d for s, i, d in zip(starts, p, steps, strict=True)): x[p] for p in x.places()}
    return [Expected(placed.get(p, 0)) for p in places(out)]


ORACLES: dict[type[core.CoreOp], Callable[..., list[Expected]]] = {
    core.ConstI64Op: lambda out, value: [Expected(value)],
    core.ConstF32Op: lambda out, value: [Expected(store(value, "f32"))],
    core.ConstF64Op: lambda out, value: [Expected(value)],
    core.ConstantOp: lambda out, value: [Expected(v) for v in value.values() * (math.prod(out) if value.is_fill else 1)],
    core.AddOp: binary(lambda a, b: a + b),
    core.SubOp: binary(lambda a, b: a - b),
    core.MulOp: binary(product_of),
    core.DivOp: binary(divided),
    core.SumOp: sum_,
    core.MeanOp: mean,
    core.ReshapeOp: same,
    core.TransposeOp: transpose,
    core.ExpandDimsOp: same,
    core.SqueezeOp: same,
    core.IndexOp: lambda out, x, indices: [Expected(x[tuple(indices)])],
    core.SliceOp: slice_,
    core.GatherOp: gather,
    core.DotOp: dot,
    core.MatMulOp: matmul,
    core.Conv2dOp: conv2d,
    core.ReluOp: unary(lambda x: x if x > 0 else 0.0),
    core.NegOp: unary(lambda x: -x),
    core.ExpOp: unary(exp, ulps=4),
    core.LogOp: unary(log, ulps=4),
    core.ReluGradOp: lambda out, g, x: [Expected(a if b > 0 else 0.0) for a, b in zip(g.flat, x.flat, strict=True)],
    core.ReciprocalOp: unary(lambda x: divided(1.0, x)),
    core.BroadcastToOp: lambda out, x, shape: [Expected(aligned(x, p)) for p in places(out)],
    core.ScatterAddOp: scatter_add,
    core.SliceScatterOp: slice_scatter,
    core.IndexScatterOp: lambda out, x, shape, indices: [Expected(x.flat[0] if p == tuple(indices) else 0) for p in places(out)],
    core.Conv2dBackwardInputOp: backward_input,
    core.Conv2dBackwardFilterOp: backward_filter,
}
