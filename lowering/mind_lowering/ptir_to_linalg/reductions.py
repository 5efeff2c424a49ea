"""Reductions, contraction, windows and normalisation, as linalg.generic: what is summed over, in which dtype."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import TensorType, i1, i64
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr

from mind_dialect import ptir
from mind_dialect.elements import Number
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import I1, SI64, Kind, PtirDType
from mind_passes.ptir.building import accumulator

from . import scalars
from .builder import Access, LinalgBuilder, Shape, dims, element_of, element_type, shape_of
from .structural import Values, padded, static

COMBINE: dict[str, scalars.Scalar] = {
    **{"sum": scalars.add, "prod": scalars.mul, "max": scalars.maximum, "min": scalars.minimum},
    **{kind: scalars.ARITHMETIC[op] for kind, op in (("and", ptir.AndOp), ("or", ptir.OrOp), ("xor", ptir.XorOp))},
}


def identity(kind: str, dtype: PtirDType) -> Number:
    """Return the number that leaves every number of `dtype` as it is; without an infinity, the greatest finite number."""
    if kind in ("sum", "prod"):
        return float(kind == "prod") if dtype.is_float else int(kind == "prod")
    if kind in ("or", "xor"):
        return False if dtype is I1 else 0
    if kind == "and" and dtype is not I1:
        return scalars.most(dtype) if dtype.kind is Kind.UNSIGNED else -1
    if dtype.is_float:
        greatest = 448.0 if dtype.name == "fp8_e4m3" else float("inf")
        return -greatest if kind == "max" else greatest
    if dtype is I1:
        return kind != "max"
    return scalars.least(dtype) if kind == "max" else scalars.most(dtype)


def cast_tensor(b: LinalgBuilder, source: PtirDType, target: PtirDType, x: SSAValue) -> SSAValue:
    """A tensor converted place by place."""
    if source is target:
        return x
    shape = shape_of(x)
    access = (x, dims(len(shape)))
    return b.each([access], shape, element_type(target), lambda c, v: [scalars.cast(c, source, target, v[0])])


def folded(
    b: LinalgBuilder, kind: str, dtypes: tuple[PtirDType, PtirDType], inputs: Sequence[Access], shape: Shape, loops: int
) -> SSAValue:
    """
    Fold by `kind` elements of the first dtype, those of the first input, in the second dtype.

    The first loops are those of the result's `shape`; the others are summed over. Further inputs only say how far they go.
    """
    source, wide = dtypes

    def body(c: LinalgBuilder, values: Sequence[SSAValue]) -> Values:
        return [COMBINE[kind](c, wide, [values[-1], scalars.cast(c, source, wide, values[0])])]

    start = b.fill(b.scalar(wide, identity(kind, source)), shape)
    kept = len(shape)
    return b.generic(inputs, [(start, dims(loops)[:kept])], loops, body, range(kept, loops))[0]


def reduced_axes(op: PtirOp, axes: Sequence[int]) -> tuple[list[int], list[int]]:
    """The axes that stay, and those that are reduced."""
    rank = len(op.operand_spec(0).shape)
    reduced = [a % rank for a in axes]
    return [a for a in range(rank) if a not in reduced], reduced


def order(kept: Sequence[int], reduced: Sequence[int]) -> list[AffineExpr]:
    """Return the loop along each axis, when the loops are those of the kept axes, then those of the reduced."""
    places = {axis: i for i, axis in enumerate((*kept, *reduced))}
    return [AffineExpr.dimension(places[axis]) for axis in range(len(places))]


def reduce(b: LinalgBuilder, op: ptir.ReduceOp, x: Values) -> Values:
    values, dtype, wide = op.values(), op.operand_spec(0).dtype, accumulator(op)
    kept, reduced = reduced_axes(op, values["axes"])
    shape = shape_of(x[0])
    if reduced:
        kind, target = values["kind"], tuple(shape[a] for a in kept)
        total = folded(b, kind, (dtype, wide), [(x[0], order(kept, reduced))], target, len(shape))
    else:
        total = cast_tensor(b, dtype, wide, x[0])
    return [b.reshape(cast_tensor(b, wide, op.result_spec().dtype, total), static(op))]


def arg_extreme(b: LinalgBuilder, op: ptir.ArgMaxOp | ptir.ArgMinOp, x: Values) -> Values:
    """The best element so far and its index; NaN is best, and of equals the lower index, whatever the order of the loop."""
    values, dtype = op.values(), op.operand_spec(0).dtype
    kind = "max" if isinstance(op, ptir.ArgMaxOp) else "min"
    kept, reduced = reduced_axes(op, [values["axis"]])
    target = tuple(shape_of(x[0])[a] for a in kept)
    if not prod(target):
        return [b.empty(TensorType(element_type(op.result_spec().dtype), static(op)))]

    def body(c: LinalgBuilder, v: Sequence[SSAValue]) -> Values:
        index = c(arith.IndexCastOp(c(linalg.IndexOp(len(kept))), i64))
        takes = _better(c, kind, dtype, (v[0], index), (v[1], v[2]))
        return [c(arith.SelectOp(takes, v[0], v[1])), c(arith.SelectOp(takes, index, v[2]))]

    start = b.fill(b.scalar(dtype, identity(kind, dtype)), target)
    first = b.fill(b.integer((1 << 63) - 1, i64), target)
    places = dims(len(kept))
    access = (x[0], order(kept, reduced))
    _, found = b.generic([access], [(start, places), (first, places)], len(kept) + 1, body, [len(kept)])
    return [b.reshape(_narrowed(b, op.result_spec().dtype, found), static(op))]


def _narrowed(b: LinalgBuilder, dtype: PtirDType, x: SSAValue) -> SSAValue:
    """Indices, which fit, in a dtype for indices."""
    if dtype is SI64:
        return x
    shape = shape_of(x)
    return b.each([(x, dims(len(shape)))], shape, element_type(dtype), lambda c, v: [scalars.wrap(c, SI64, dtype, v[0])])


def _better(
    b: LinalgBuilder, kind: str, dtype: PtirDType, new: tuple[SSAValue, SSAValue], old: tuple[SSAValue, SSAValue]
) -> SSAValue:
    """Return whether a new element is greater (of `min` less), or as great with a lower index."""
    greater = scalars.compare(b, "greater" if kind == "max" else "less", dtype, new[0], old[0])
    equal = scalars.compare(b, "equal", dtype, new[0], old[0])
    earlier = b(arith.CmpiOp(new[1], old[1], "slt"))
    if not dtype.is_float:
        return b(arith.OrIOp(greater, b(arith.AndIOp(equal, earlier))))
    nan, old_nan = (b(arith.CmpfOp(v, v, "uno")) for v in (new[0], old[0]))
    both, true = b(arith.AndIOp(nan, old_nan)), b.integer(1, i1)
    newly = b(arith.AndIOp(nan, b(arith.XOrIOp(old_nan, true))))
    tied = b(arith.AndIOp(b(arith.OrIOp(equal, both)), earlier))
    return b(arith.OrIOp(b(arith.OrIOp(greater, newly)), tied))


def cumulative(b: LinalgBuilder, op: ptir.CumulativeSumOp | ptir.CumulativeOp, x: Values) -> Values:
    """A loop along the axis that carries what there is so far and the tensor of results."""
    values, dtype = op.values(), op.operand_spec(0).dtype
    kind: str = values.get("kind", "sum")
    wide, shape = default_accumulator(dtype), static(op)
    axis: int = values["axis"] % len(shape)
    row = tuple(1 if i == axis else n for i, n in enumerate(shape))
    start = b.fill(b.scalar(wide, identity(kind, dtype)), row)
    out = b.empty(TensorType(element_of(x[0]), shape))

    def iteration(c: LinalgBuilder, v: Sequence[SSAValue]) -> Values:
        place, total, found = v
        if values["reverse"]:
            place = c(arith.SubiOp(c.index(shape[axis] - 1), place))
        starts: list[SSAValue | int] = [place if i == axis else 0 for i in range(len(shape))]
        new = _step(c, kind, (dtype, wide), c.slice(x[0], starts, row), total)
        said = cast_tensor(c, wide, dtype, total if values["exclusive"] else new)
        return [new, c.insert(said, found, starts)]

    return [loop(b, shape[axis], [start, out], iteration)[1]]


def _step(b: LinalgBuilder, kind: str, dtypes: tuple[PtirDType, PtirDType], x: SSAValue, total: SSAValue) -> SSAValue:
    source, wide = dtypes
    shape, places = shape_of(x), dims(len(shape_of(x)))

    def body(c: LinalgBuilder, v: Sequence[SSAValue]) -> Values:
        return [COMBINE[kind](c, wide, [v[1], scalars.cast(c, source, wide, v[0])])]

    return b.each([(x, places), (total, places)], shape, element_type(wide), body)


def loop(b: LinalgBuilder, count: int, carried: Values, iteration: Any) -> Values:
    """An scf.for from 0 to `count`; `iteration` takes the index and the carried values, and returns the carried values."""
    types: list[Attribute] = [b.index(0).type, *(v.type for v in carried)]
    region = b.region(types, iteration, lambda values: scf.YieldOp(*values))
    made = b.add(scf.ForOp(b.index(0), b.index(count), b.index(1), carried, region))
    return list(made.results)


# Contraction and windows


def product(source: PtirDType, wide: PtirDType, b: LinalgBuilder, v: Sequence[SSAValue]) -> Values:
    """The third value plus the exact product of the first two, rounded in the accumulator's dtype."""
    lhs, rhs = (scalars.cast(b, source, wide, x) for x in v[:2])
    return [scalars.add(b, wide, [v[2], scalars.mul(b, wide, [lhs, rhs])])]


def contraction(b: LinalgBuilder, op: PtirOp, accesses: Sequence[Access], shape: Shape, loops: int) -> SSAValue:
    """Products summed over the loops after those of `shape`, in the accumulator's dtype, then cast."""
    source, wide = op.operand_spec(0).dtype, accumulator(op)
    start = b.fill(b.scalar(wide, identity("sum", wide)), shape)
    outputs = [(start, dims(loops)[: len(shape)])]
    total = b.generic(accesses, outputs, loops, partial(product, source, wide), range(len(shape), loops))[0]
    return cast_tensor(b, wide, op.result_spec().dtype, total)


def dot_general(b: LinalgBuilder, op: ptir.DotGeneralOp, x: Values) -> Values:
    """Loops: batch, the rest of lhs, the rest of rhs, what is contracted."""
    values = op.values()
    ranks = len(shape_of(x[0])), len(shape_of(x[1]))
    batch = [[a % rank for a in values[name]] for name, rank in zip(("batch_lhs", "batch_rhs"), ranks, strict=True)]
    inner = [[a % rank for a in values[name]] for name, rank in zip(("contract_lhs", "contract_rhs"), ranks, strict=True)]
    free = [[a for a in range(ranks[i]) if a not in batch[i] and a not in inner[i]] for i in (0, 1)]
    kept = len(batch[0]) + len(free[0]) + len(free[1])
    loops = kept + len(inner[0])
    accesses: list[Access] = []
    for i, before in enumerate((len(batch[0]), len(batch[0]) + len(free[0]))):
        places = {a: n for n, a in enumerate(batch[i])}
        places |= {a: before + n for n, a in enumerate(free[i])}
        places |= {a: kept + n for n, a in enumerate(inner[i])}
        accesses.append((x[i], [AffineExpr.dimension(places[a]) for a in range(ranks[i])]))
    return [contraction(b, op, accesses, static(op), loops)]


def window_place(out: int, window: int, stride: int, dilation: int) -> AffineExpr:
    """Return the place `window` of the window at place `out`; both are numbers of loops."""
    return AffineExpr.dimension(out) * stride + AffineExpr.dimension(window) * dilation


def reduce_window(b: LinalgBuilder, op: ptir.ReduceWindowOp, x: Values) -> Values:
    """The input padded with the identity, then a reduction over the loops of the window, whose extents an empty tensor gives."""
    values, dtype, wide = op.values(), op.operand_spec(0).dtype, accumulator(op)
    shape, kind = static(op), values["kind"]
    rank = len(shape)
    lows, highs = [low for low, _ in values["padding"]], [high for _, high in values["padding"]]
    if not prod(shape):
        return [b.empty(TensorType(element_type(dtype), shape))]
    number = b.scalar(dtype, identity(kind, dtype))
    around = padded(b, x[0], number, lows, highs, [n - 1 for n in values["base_dilation"]])
    each = zip(values["strides"], values["window_dilation"], strict=True)
    places = [window_place(i, rank + i, stride, dilation) for i, (stride, dilation) in enumerate(each)]
    extents = b.empty(TensorType(element_of(x[0]), values["window_dims"]))
    accesses = [(around, places), (extents, dims(2 * rank)[rank:])]
    total = folded(b, kind, (dtype, wide), accesses, shape, 2 * rank)
    return [cast_tensor(b, wide, op.result_spec().dtype, total)]


def extract_patches(b: LinalgBuilder, op: ptir.ExtractPatchesOp, x: Values) -> Values:
    """Loops: batch, places, the window, channels; the last are merged."""
    values, shape = op.values(), static(op)
    spatial = len(values["window"])
    lows, highs = ([0, *(pair[i] for pair in values["padding"]), 0] for i in (0, 1))
    number = b.scalar(op.operand_spec(0).dtype, values["pad_value"].item())
    around = padded(b, x[0], number, lows, highs, [0] * (spatial + 2))
    each = enumerate(zip(values["strides"], values["dilation"], strict=True))
    places = [window_place(1 + i, 1 + spatial + i, stride, dilation) for i, (stride, dilation) in each]
    wide = (*shape[:-1], *values["window"], shape_of(x[0])[-1])
    loops = dims(len(wide))
    if not prod(wide):
        return [b.empty(TensorType(element_of(x[0]), shape))]
    access = (around, [loops[0], *places, loops[-1]])
    found = b.each([access], wide, element_of(x[0]), lambda c, v: [v[0]])
    return [b.reshape(found, shape)]


def convolution(b: LinalgBuilder, op: ptir.ConvolutionOp, x: Values) -> Values:
    """Loops: batch, places, groups, outputs of a group; the window, inputs of a group. Channels are split by group."""
    values, shape = op.values(), static(op)
    spatial, groups = len(values["strides"]), values["feature_group_count"]
    lows, highs = ([0, *(pair[i] for pair in values["padding"]), 0] for i in (0, 1))
    dtype = op.operand_spec(0).dtype
    holes = [0, *(n - 1 for n in values["base_dilation"]), 0]
    around = padded(b, x[0], b.scalar(dtype, identity("sum", dtype)), lows, highs, holes)
    filter = shape_of(x[1])
    if not prod(shape) or not groups:
        return [b.empty(TensorType(element_type(op.result_spec().dtype), shape))]
    outputs = shape[-1] // groups
    lhs = b.reshape(around, (*shape_of(around)[:-1], groups, filter[-2]))
    rhs = b.reshape(x[1], (*filter[:-1], groups, outputs))
    kept, loops = spatial + 3, 2 * spatial + 4
    each = enumerate(zip(values["strides"], values["window_dilation"], strict=True))
    places = [window_place(1 + i, kept + i, stride, dilation) for i, (stride, dilation) in each]
    loop_of = dims(loops)
    batch, group, out, inner = loop_of[0], loop_of[spatial + 1], loop_of[spatial + 2], loop_of[-1]
    accesses = [(lhs, [batch, *places, group, inner]), (rhs, [*loop_of[kept:-1], inner, group, out])]
    return [b.reshape(contraction(b, op, accesses, (*shape[:-1], groups, outputs), loops), shape)]


def layer_norm(b: LinalgBuilder, op: ptir.LayerNormOp, x: Values) -> Values:
    """The sum, the sum of squared differences from the mean, then each element; in f32, or f64 for f64."""
    values, shape = op.values(), static(op)
    dtype = op.operand_spec(0).dtype
    wide = default_accumulator(dtype)
    axis: int = values["feature_axis"] % len(shape)
    kept = [a for a in range(len(shape)) if a != axis]
    target, count = tuple(shape[a] for a in kept), float(shape[axis])
    total = folded(b, "sum", (dtype, wide), [(x[0], order(kept, [axis]))], target, len(shape))

    def centred(c: LinalgBuilder, v: SSAValue, summed: SSAValue) -> SSAValue:
        mean = c(arith.DivfOp(summed, c.scalar(wide, count)))
        return c(arith.SubfOp(scalars.cast(c, dtype, wide, v), mean))

    epsilon: float = wide.element.unpack(wide.element.pack([values["epsilon"]]))[0]  # pyright: ignore[reportAssignmentType]

    def square(c: LinalgBuilder, v: Sequence[SSAValue]) -> Values:
        difference = centred(c, v[0], v[1])
        return [c(arith.AddfOp(v[2], c(arith.MulfOp(difference, difference))))]

    def normal(c: LinalgBuilder, v: Sequence[SSAValue]) -> Values:
        variance = c(arith.DivfOp(v[2], c.scalar(wide, count)))
        deviation = c(math.SqrtOp(c(arith.AddfOp(variance, c.scalar(wide, epsilon)))))
        scaled = c(arith.DivfOp(centred(c, v[0], v[1]), deviation))
        gamma, beta = (scalars.cast(c, dtype, wide, p) for p in v[3:5])
        return [scalars.cast(c, wide, dtype, c(arith.AddfOp(c(arith.MulfOp(scaled, gamma)), beta)))]

    loops, rest = dims(len(shape)), dims(len(shape))[: len(kept)]
    start = b.fill(b.scalar(wide, 0.0), target)
    squares = b.generic([(x[0], order(kept, [axis])), (total, rest)], [(start, rest)], len(shape), square, [len(kept)])[0]
    without = [loops[a] for a in kept]
    along = [loops[axis]]
    inputs = [(x[0], loops), (total, without), (squares, without), (x[1], along), (x[2], along)]
    return [b.each(inputs, shape, element_type(dtype), normal)]


RULES: Mapping[type[PtirOp], Any] = {
    ptir.ReduceOp: reduce,
    ptir.ArgMaxOp: arg_extreme,
    ptir.ArgMinOp: arg_extreme,
    ptir.DotGeneralOp: dot_general,
    ptir.LayerNormOp: layer_norm,
    ptir.ReduceWindowOp: reduce_window,
    ptir.ExtractPatchesOp: extract_patches,
    ptir.CumulativeSumOp: cumulative,
    ptir.CumulativeOp: cumulative,
    ptir.ConvolutionOp: convolution,
}
