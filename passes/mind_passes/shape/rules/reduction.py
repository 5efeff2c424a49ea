"""Shapes of ops that take many elements to one: reductions, contractions, windows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod

from xdsl.ir import SSAValue

from mind_dialect import core, ptir, ptir_shapes
from mind_dialect.core import CoreOp
from mind_dialect.ptir import PtirOp
from mind_dialect.shapes import reduced_axes

from ..emitter import Emitter, Shape
from .row import Row

MATMUL = (
    "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (n?,k),(k,m?)->(n?,m?) "
    "(size {rhs} is different from {lhs})"
)
ALIGNED = "shapes not aligned: {{lhs}} (dim {a}) != {{rhs}} (dim {b})"
NO_MAXIMUM = "attempt to get argmax of an empty sequence"
_NO_MEAN = "mean over no elements: size {lhs} along axis "
_CHANNELS = "input has {lhs} channels, filter takes {rhs}"
_NO_WINDOW = "output of size {lhs}, expected positive: the filter is larger than the padded input"


def reduced(e: Emitter, x: Shape, axes: Collection[int], keepdims: bool) -> Shape:
    """The shape without some axes, or with 1 in their place."""
    found: list[SSAValue | int] = []
    for i in range(x.rank):
        if i not in axes:
            found.append(e.extent(x, i))
        elif keepdims:
            found.append(1)
    return e.shape(found)


def _core_sum(e: Emitter, op: core.ReductionOp, x: Shape) -> Shape:
    given = op.values()
    return reduced(e, x, reduced_axes((0,) * x.rank, given["axes"], negative=True), given["keepdims"] and bool(given["axes"]))


def _core_mean(e: Emitter, op: core.ReductionOp, x: Shape) -> Shape:
    for a in reduced_axes((0,) * x.rank, op.values()["axes"], negative=True):
        e.require(e.extent(x, a), "ne", 0, "E3006", f"{_NO_MEAN}{a}")
    return _core_sum(e, op, x)


def _reduce(e: Emitter, op: ptir.ReduceOp, x: Shape) -> Shape:
    given = op.values()
    return reduced(e, x, ptir_shapes.axes(given["axes"], x.rank), given["keepdims"])


def _fft(e: Emitter, op: ptir.FftOp, x: Shape) -> Shape:
    given = op.values()
    lengths = given["lengths"]
    first, half = x.rank - len(lengths), (*lengths[:-1], lengths[-1] // 2 + 1)
    for a, n in enumerate(half if given["kind"] == "irfft" else lengths, start=first):
        e.require(e.extent(x, a), "eq", n, "E3003", f"transformed axis {a} of size {{lhs}}, expected {{rhs}}")
    return e.shape([*e.extents(x)[:first], *(half if given["kind"] == "rfft" else lengths)])


def _arg_max(e: Emitter, op: ptir.ArgMaxOp | ptir.ArgMinOp, x: Shape) -> Shape:
    given = op.values()
    axis = ptir_shapes.axis(given["axis"], x.rank)
    e.require(e.extent(x, axis), "ne", 0, "E3006", NO_MAXIMUM)
    return reduced(e, x, (axis,), given["keepdims"])


# Contractions


def _core_dot(e: Emitter, op: core.DotOp, a: Shape, b: Shape) -> Shape:
    place = max(0, b.rank - 2)
    e.require(e.extent(a, -1), "eq", e.extent(b, place), "E3003", ALIGNED.format(a=a.rank - 1, b=place))
    return e.shape([*e.extents(a)[:-1], *e.extents(b)[1:]])


def _core_matmul(e: Emitter, op: core.MatMulOp, a: Shape, b: Shape) -> Shape:
    e.require(e.extent(a, -1), "eq", e.extent(b, -2), "E3003", MATMUL)
    batch = e.broadcast(*(e.shape(e.extents(x)[:-2]) for x in (a, b)))
    return e.shape([*e.extents(batch), e.extent(a, -2), e.extent(b, -1)])


def _dot_general(e: Emitter, op: ptir.DotGeneralOp, a: Shape, b: Shape) -> Shape:
    given = op.values()
    batch = len(given["batch_lhs"])
    used_a = ptir_shapes.axes((*given["batch_lhs"], *given["contract_lhs"]), a.rank)
    used_b = ptir_shapes.axes((*given["batch_rhs"], *given["contract_rhs"]), b.rank)
    paired = [
        e.equal(e.extent(a, i), e.extent(b, k), "E3003", ALIGNED.format(a=i, b=k)) for i, k in zip(used_a, used_b, strict=True)
    ]
    rest = [e.extent(x, i) for x, used in ((a, used_a), (b, used_b)) for i in range(x.rank) if i not in used]
    return e.shape([*paired[:batch], *rest])


def _ragged_dot(e: Emitter, op: ptir.RaggedDotOp, a: Shape, b: Shape, sizes: Shape) -> Shape:
    groups = e.extent(sizes, 0)
    if op.values()["kind"] == "rows":
        e.require(e.extent(b, 0), "eq", groups, "E3003", "{lhs} matrices for {rhs} groups")
        e.require(e.extent(a, 1), "eq", e.extent(b, 1), "E3003", ALIGNED.format(a=1, b=1))
        return e.shape([e.extent(a, 0), e.extent(b, 2)])
    e.require(e.extent(a, 0), "eq", e.extent(b, 0), "E3003", ALIGNED.format(a=0, b=0))
    return e.shape([groups, e.extent(a, 1), e.extent(b, 1)])


# Windows


def windows(
    e: Emitter,
    spatial: Sequence[SSAValue],
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base: Sequence[int],
    dilation: Sequence[int],
) -> list[SSAValue]:
    """Return the number of windows along each dimension, once that is dilated and padded."""
    found: list[SSAValue] = []
    for n, size, stride, pads, gap, hole in zip(spatial, window, strides, padding, base, dilation, strict=True):
        dilated = n if gap == 1 else e.max(e.add(e.mul(n, gap), 1 - gap), 0)
        padded, reach = e.add(dilated, sum(pads)), (size - 1) * hole + 1
        fits = padded if stride == reach else e.max(e.add(padded, stride - reach), 0)
        found.append(e.div(fits, stride))
    return found


def _reduce_window(e: Emitter, op: ptir.ReduceWindowOp, x: Shape) -> Shape:
    given = op.values()
    names = ("window_dims", "strides", "padding", "base_dilation", "window_dilation")
    return e.shape(windows(e, e.extents(x), *(given[n] for n in names)))


def _window_arg(e: Emitter, op: ptir.WindowArgOp, x: Shape) -> Shape:
    given = op.values()
    dtype = given["output_dtype"]
    e.require(e.count(x), "le", 1 << (dtype.bits - 1), "E8002", f"output_dtype {dtype} cannot hold an index of {{lhs}} elements")
    ones, holes = (1,) * x.rank, given["window_dilation"]
    return e.shape(windows(e, e.extents(x), given["window_dims"], given["strides"], given["padding"], ones, holes))


def _extract_patches(e: Emitter, op: ptir.ExtractPatchesOp, x: Shape) -> Shape:
    given = op.values()
    ones = (1,) * (x.rank - 2)
    first, *spatial, channels = e.extents(x)
    found = windows(e, spatial, given["window"], given["strides"], given["padding"], ones, given["dilation"])
    return e.shape([first, *found, e.mul(channels, prod(given["window"]))])


def _convolution(e: Emitter, op: ptir.ConvolutionOp, x: Shape, filter: Shape) -> Shape:
    given = op.values()
    groups = given["feature_group_count"]
    first, *spatial, channels = e.extents(x)
    *_, per_group, out = e.extents(filter)
    e.require(channels, "eq", e.mul(per_group, groups), "E4009", _CHANNELS)
    wording = f"{{rhs}} output channels, expected a multiple of feature_group_count {groups}"
    e.require(e.mul(e.div(out, groups), groups), "eq", out, "E4009", wording)
    window = [n for n in op.operand_spec(1).shape[:-2] if isinstance(n, int)]
    names = ("strides", "padding", "base_dilation", "window_dilation")
    return e.shape([first, *windows(e, spatial, window, *(given[n] for n in names)), out])


def _core_conv2d(e: Emitter, op: core.Conv2dOp, x: Shape, filter: Shape) -> Shape:
    given = op.values()
    return convolved(e, x, filter, given["strides"], given["padding"])


def convolved(e: Emitter, x: Shape, filter: Shape, strides: Sequence[int], padding: str | Sequence[tuple[int, int]]) -> Shape:
    """Core IR's convolution, of which no window may be left out: its result has no extent 0."""
    e.require(e.extent(x, 3), "eq", e.extent(filter, 2), "E4009", _CHANNELS)
    found: list[SSAValue] = []
    for i in (0, 1):
        n, size, stride = e.extent(x, 1 + i), e.extent(filter, i), strides[i]
        e.require(size, "gt", 0, "E3006", f"filter of size {{lhs}} along dimension {i}, expected positive")
        if padding == "Same":
            out = e.div(e.add(n, stride - 1), stride)
        else:
            pads = (0, 0) if isinstance(padding, str) else padding[i]
            out = e.div(e.add(e.sub(e.add(n, sum(pads)), size), stride), stride)
        e.require(out, "gt", 0, "E3006", _NO_WINDOW)
        found.append(out)
    return e.shape([e.extent(x, 0), *found, e.extent(filter, 3)])


def _backward_input(e: Emitter, op: core.Conv2dBackwardInputOp, g: Shape, filter: Shape) -> Shape:
    given = op.values()
    x = e.shape(given["shape"])
    e.same(g, convolved(e, x, filter, given["strides"], given["padding"]))
    return x


def _backward_filter(e: Emitter, op: core.Conv2dBackwardFilterOp, x: Shape, g: Shape) -> Shape:
    given = op.values()
    filter = e.shape(given["shape"])
    e.same(g, convolved(e, x, filter, given["strides"], given["padding"]))
    return filter


CORE: Mapping[type[CoreOp], Row] = {
    core.SumOp: _core_sum,
    core.MeanOp: _core_mean,
    core.DotOp: _core_dot,
    core.MatMulOp: _core_matmul,
    core.Conv2dOp: _core_conv2d,
    core.Conv2dBackwardInputOp: _backward_input,
    core.Conv2dBackwardFilterOp: _backward_filter,
}

PTIR: Mapping[type[PtirOp], Row] = {
    ptir.ReduceOp: _reduce,
    ptir.FftOp: _fft,
    ptir.ArgMaxOp: _arg_max,
    ptir.ArgMinOp: _arg_max,
    ptir.DotGeneralOp: _dot_general,
    ptir.RaggedDotOp: _ragged_dot,
    ptir.ReduceWindowOp: _reduce_window,
    ptir.WindowArgOp: _window_arg,
    ptir.ExtractPatchesOp: _extract_patches,
    ptir.ConvolutionOp: _convolution,
}
