"""
The rows of Core IR: what the extents of results are, and what those of operands must be to each other.

They are written by hand: the rules of `mind_dialect.shapes` compute with sizes only, broadcasting is a constraint of the shape
dialect, and messages are NumPy's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from mind_dialect import core
from mind_dialect.core import CoreOp
from mind_dialect.shapes import normalize_axes, reduced_axes

from ..emitter import Emitter, Shape
from .row import Row

MATMUL = (
    "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (n?,k),(k,m?)->(n?,m?) "
    "(size {rhs} is different from {lhs})"
)
ALIGNED = "shapes not aligned: {{lhs}} (dim {a}) != {{rhs}} (dim {b})"
_NO_MEAN = "mean over no elements: size {lhs} along axis "
_CHANNELS = "input has {lhs} channels, filter takes {rhs}"
_NO_WINDOW = "output of size {lhs}, expected positive: the filter is larger than the padded input"
SQUEEZED = "cannot select an axis to squeeze out which has size not equal to one: {lhs}"


def numpy_tuple(dims: Sequence[int]) -> str:
    """Return the text of a shape in NumPy's messages."""
    return f"({dims[0]},)" if len(dims) == 1 else f"({','.join(map(str, dims))})"


# Element by element


def _first(e: Emitter, op: Operation, x: Shape, *others: Shape) -> Shape:
    return x


def _broadcast(e: Emitter, op: Operation, a: Shape, b: Shape) -> Shape:
    return e.broadcast(a, b)


def _same(e: Emitter, op: Operation, *shapes: Shape) -> Shape:
    return e.same(*shapes)


def _scalar(e: Emitter, op: Operation) -> Shape:
    return e.shape([])


def _literal(e: Emitter, op: core.ConstantOp) -> Shape:
    return e.shape(op.literal.type.get_shape())


# Moving and renaming elements


def _transpose(e: Emitter, op: core.TransposeOp, x: Shape) -> Shape:
    return e.shape([e.extent(x, a) for a in op.values()["permutation"]])


def _expand_dims(e: Emitter, op: core.ExpandDimsOp, x: Shape) -> Shape:
    axes = op.values()["axes"]
    rank = x.rank + len(axes)
    found = normalize_axes(axes, rank, negative=True)
    rest = iter(e.extents(x))
    return e.shape([1 if i in found else next(rest) for i in range(rank)])


def _squeeze(e: Emitter, op: core.SqueezeOp, x: Shape) -> Shape:
    found = normalize_axes(op.values()["axes"], x.rank, negative=True)
    for a in found:
        e.require(e.extent(x, a), "eq", 1, "E3009", SQUEEZED)
    return e.shape([e.extent(x, i) for i in range(x.rank) if i not in found])


def _reshape(e: Emitter, op: core.ReshapeOp, x: Shape) -> Shape:
    dims: Sequence[int] = op.values()["new_shape"]
    wording = f"cannot reshape array of size {{lhs}} into shape {numpy_tuple(dims)}"
    stated = [d for d in dims if d != -1]
    count, wanted = e.count(x), e.product(stated)
    if len(stated) == len(dims):
        e.require(count, "eq", wanted, "E3007", wording)
        return e.shape(dims)
    e.require(count, "gt", 0, "E3007", wording)
    hole = e.div(count, wanted)
    e.require(count, "eq", e.mul(hole, wanted), "E3007", wording)
    return e.shape([hole if d == -1 else d for d in dims])


def _broadcast_to(e: Emitter, op: core.BroadcastToOp, x: Shape) -> Shape:
    return e.broadcast_to(x, e.shape(op.values()["shape"]))


def _slice(e: Emitter, op: core.SliceOp, x: Shape) -> Shape:
    given = op.values()
    starts, ends = ([max(0, n) for n in given[name]] for name in ("starts", "ends"))
    for i, end in enumerate(ends):
        e.require(e.number(end), "le", e.extent(x, i), "E4012", f"slice up to {{lhs}} along dimension {i} of size {{rhs}}")
    return e.shape([max(0, -((start - end) // step)) for start, end, step in zip(starts, ends, given["steps"], strict=True)])


# Reductions and contractions


def reduced(e: Emitter, x: Shape, axes: Collection[int], keepdims: bool) -> Shape:
    """The shape without some axes, or with 1 in their place."""
    found: list[SSAValue | int] = []
    for i in range(x.rank):
        if i not in axes:
            found.append(e.extent(x, i))
        elif keepdims:
            found.append(1)
    return e.shape(found)


def _sum(e: Emitter, op: core.ReductionOp, x: Shape) -> Shape:
    given = op.values()
    return reduced(e, x, reduced_axes((0,) * x.rank, given["axes"], negative=True), given["keepdims"] and bool(given["axes"]))


def _mean(e: Emitter, op: core.ReductionOp, x: Shape) -> Shape:
    for a in reduced_axes((0,) * x.rank, op.values()["axes"], negative=True):
        e.require(e.extent(x, a), "ne", 0, "E3006", f"{_NO_MEAN}{a}")
    return _sum(e, op, x)


def _dot(e: Emitter, op: core.DotOp, a: Shape, b: Shape) -> Shape:
    place = max(0, b.rank - 2)
    e.require(e.extent(a, -1), "eq", e.extent(b, place), "E3003", ALIGNED.format(a=a.rank - 1, b=place))
    return e.shape([*e.extents(a)[:-1], *e.extents(b)[1:]])


def _matmul(e: Emitter, op: core.MatMulOp, a: Shape, b: Shape) -> Shape:
    e.require(e.extent(a, -1), "eq", e.extent(b, -2), "E3003", MATMUL)
    batch = e.broadcast(*(e.shape(e.extents(x)[:-2]) for x in (a, b)))
    return e.shape([*e.extents(batch), e.extent(a, -2), e.extent(b, -1)])


# Convolutions


def _conv2d(e: Emitter, op: core.Conv2dOp, x: Shape, filter: Shape) -> Shape:
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


# Indexing


def _rows(e: Emitter, op: Operation, x: Shape, indices: Shape) -> Shape:
    """Rows of `x`, one for each index."""
    return e.shape([*e.extents(indices), *e.extents(x)[1:]])


def _index(e: Emitter, op: core.IndexOp, x: Shape) -> Shape:
    return e.shape([])


def _scatter_add(e: Emitter, op: core.ScatterAddOp, indices: Shape, updates: Shape) -> Shape:
    target = e.shape(op.values()["shape"])
    e.same(updates, _rows(e, op, target, indices))
    return target


def _slice_scatter(e: Emitter, op: core.SliceScatterOp, updates: Shape) -> Shape:
    given = op.values()
    for i, (n, start, step) in enumerate(zip(given["shape"], given["starts"], given["steps"], strict=True)):
        count = e.extent(updates, i)
        last = e.add(e.mul(e.add(count, -1), step), start + 1)
        reach = e.mul(e.min(count, 1), last)  # no updates reach nowhere
        e.require(reach, "le", n, "E4012", f"updates reach up to {{lhs}} along dimension {i} of size {{rhs}}")
    return e.shape(given["shape"])


def _index_scatter(e: Emitter, op: core.IndexScatterOp, update: Shape) -> Shape:
    return e.shape(op.values()["shape"])


CORE: Mapping[type[CoreOp], Row] = {
    core.ConstI64Op: _scalar,
    core.ConstF32Op: _scalar,
    core.ConstF64Op: _scalar,
    core.ConstantOp: _literal,
    core.AddOp: _broadcast,
    core.SubOp: _broadcast,
    core.MulOp: _broadcast,
    core.DivOp: _broadcast,
    core.ReluOp: _first,
    core.NegOp: _first,
    core.ExpOp: _first,
    core.LogOp: _first,
    core.ReluGradOp: _same,
    core.ReciprocalOp: _first,
    core.ReshapeOp: _reshape,
    core.TransposeOp: _transpose,
    core.ExpandDimsOp: _expand_dims,
    core.SqueezeOp: _squeeze,
    core.SliceOp: _slice,
    core.BroadcastToOp: _broadcast_to,
    core.SumOp: _sum,
    core.MeanOp: _mean,
    core.DotOp: _dot,
    core.MatMulOp: _matmul,
    core.Conv2dOp: _conv2d,
    core.Conv2dBackwardInputOp: _backward_input,
    core.Conv2dBackwardFilterOp: _backward_filter,
    core.IndexOp: _index,
    core.GatherOp: _rows,
    core.ScatterAddOp: _scatter_add,
    core.SliceScatterOp: _slice_scatter,
    core.IndexScatterOp: _index_scatter,
}
