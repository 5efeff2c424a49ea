"""
Rows of ops that move elements: views and their copies, concatenation, padding, constants, parts that are written.

Values of PTIR have no strides: whatever torch calls a view is a reshape, transpose or slice, and memory formats mean nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.extents.dims import UNKNOWN, add_dims, ceildiv_dims, is_nonnegative, product_dims, sub_dims
from mind_dialect.ptir.types import I1, SI64, Kind
from mind_dialect.ptir_shapes import Dim, Dims

from ..landing import INTEGER_KINDS
from ..places import at_places
from ..unsupported import Refused
from .converter import AtenConverter, Call, Results, Row, Table

MOST_STRIDED = 1 << 22
"""`as_strided` reads at most this many elements, by a table of their places."""


def _shaped(to: AtenConverter, call: Call, x: SSAValue, *_: Any) -> SSAValue:
    return to.shaped(x, call.shape)


def _permute(to: AtenConverter, call: Call, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    return to.transpose(x, [d % len(dims) for d in dims])


def _transpose(to: AtenConverter, call: Call, x: SSAValue, a: int, b: int) -> SSAValue:
    perm = list(range(len(call.shape)))
    if perm:
        a, b = to.axis(x, a), to.axis(x, b)
        perm[a], perm[b] = perm[b], perm[a]
    return to.transpose(x, perm)


def _t(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    return to.transpose(x, list(range(len(call.shape)))[::-1])


def _expand(to: AtenConverter, call: Call, x: SSAValue, *_: Any) -> SSAValue:
    return to.broadcast(x, call.shape)


def _select(to: AtenConverter, call: Call, x: SSAValue, dim: int, index: Any) -> SSAValue:
    axis = to.axis(x, dim)
    size = to.shape(x)[axis]
    if isinstance(index, SSAValue):
        place = cast("SSAValue", index)
        front, _ = to.front(x, [axis])
        return to.shaped(to.emit(ptir.TakeOp, front, to.wrapped(place, size)), call.shape)
    if any(isinstance(n, str) for n in (size, index)):
        start = _place(index, size)
        return to.shaped(_window(to, x, axis, start, 1), call.shape)
    first = index % int(size) if index < 0 else index
    return to.shaped(to.part(x, axis, first, first + 1), call.shape)


END = 1 << 62
"""From here on, the end of a slice is that of its dimension."""


def _bounds(to: AtenConverter, x: SSAValue, axis: int, start: Any, end: Any, step: int) -> tuple[int, Dim, int]:
    """The first and last place of a slice as Python clamps them; the end of a dimension with a name is its name."""
    size = to.shape(x)[axis]
    if isinstance(size, int) and not isinstance(start, str) and not isinstance(end, str):
        first, last, step = slice(start, end, step).indices(size)
        return first, max(first, last), step
    if start in (None, 0) and step == 1 and (end is None or end == size or (isinstance(end, int) and end >= END)):
        return 0, size, 1
    raise Refused("a slice of a dimension whose size is not known", "give the program static shapes")


def _slice(
    to: AtenConverter, call: Call, x: SSAValue, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> SSAValue:
    axis = to.axis(x, dim)
    if any(isinstance(n, str) for n in (to.shape(x)[axis], start, end)):
        return _symbolic_slice(to, call, x, axis, start, end, step)
    first, last, step = _bounds(to, x, axis, start, end, step)
    return x if last == to.shape(x)[axis] and not first and step == 1 else to.part(x, axis, first, int(last), step)


def _symbolic_slice(to: AtenConverter, call: Call, x: SSAValue, axis: int, start: Any, end: Any, step: int) -> SSAValue:
    """
    A part whose bounds are expressions, of the size that torch states.

    What torch assumed of sizes to state it, such as that 2 places are there, is checked at the call.
    """
    shape, stated = to.shape(x), call.shape[axis]
    first, last = _place(0 if start is None else start, shape[axis]), _place(END if end is None else end, shape[axis])
    if first == 0 and step == 1 and stated == shape[axis] != UNKNOWN:
        return x
    count = stated if stated != UNKNOWN else ceildiv_dims(sub_dims(last, first), step)
    if step == 1:
        return _window(to, x, axis, first, count)
    starts, limits = _beside(shape, axis, first, 0), _beside(shape, axis, last)
    if ceildiv_dims(sub_dims(last, first), step) != count:
        raise Refused(f"a slice by steps of {step} that may be shorter than declared", "give the program static shapes")
    strides = tuple(step if i == axis else 1 for i in range(len(shape)))
    return to.emit(ptir.StridedSliceOp, x, starts=starts, limits=limits, strides=strides)


def _window(to: AtenConverter, x: SSAValue, axis: int, first: Dim, count: Dim) -> SSAValue:
    """So many places along an axis, from an expression on."""
    shape = to.shape(x)
    return to.emit(ptir.SliceOp, x, starts=_beside(shape, axis, first, 0), sizes=_beside(shape, axis, count))


def _beside(shape: Dims, axis: int, n: Dim, others: Dim | None = None) -> Dims:
    """The sizes of a shape, or other numbers, with `n` along an axis."""
    found = tuple(n if i == axis else size if others is None else others for i, size in enumerate(shape))
    if UNKNOWN in found:
        raise Refused("a slice of sizes that are not known", "give the program static shapes")
    return found


def _place(n: int | str, size: Dim) -> Dim:
    """A bound of a slice, counted from the begin; negative ones count from the end."""
    if isinstance(n, int):
        return size if n >= END else add_dims(size, n) if n < 0 else n
    return add_dims(size, n) if is_nonnegative(n) is False else n


def _cat(to: AtenConverter, call: Call, xs: Sequence[SSAValue], dim: int = 0) -> SSAValue:
    """Operands of shape `[0]` are left out, as torch leaves them out."""
    kept = [x for x in xs if to.shape(x) != (0,) or len(call.shape) == 1]
    return to.concat([to.cast(x, call.dtype) for x in kept], to.axis(kept[0], dim))


def _stack(to: AtenConverter, call: Call, xs: Sequence[SSAValue], dim: int = 0) -> SSAValue:
    axis = dim % len(call.shape)
    shape = (*call.shape[:axis], 1, *call.shape[axis + 1 :])
    return to.concat([to.reshape(to.cast(x, call.dtype), shape) for x in xs], axis)


def _split_with_sizes(to: AtenConverter, call: Call, x: SSAValue, sizes: Sequence[int], dim: int = 0) -> Results:
    axis, at = to.axis(x, dim), 0
    found: list[SSAValue] = []
    for n in sizes:
        found.append(to.part(x, axis, at, at + n))
        at += n
    return found


def _split(to: AtenConverter, call: Call, x: SSAValue, size: int, dim: int = 0) -> Results:
    whole = to.sizes(x, [to.axis(x, dim)])[0]
    return _split_with_sizes(to, call, x, [min(size, whole - i) for i in range(0, max(whole, 1), max(size, 1))], dim)


def _unbind(to: AtenConverter, call: Call, x: SSAValue, dim: int = 0) -> Results:
    axis = to.axis(x, dim)
    return [_select(to, Call(call.name, (spec,)), x, axis, i) for i, spec in enumerate(call.results)]


def _flip(to: AtenConverter, call: Call, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    axes = tuple(sorted(d % len(call.shape) for d in dims)) if call.shape else ()
    return to.emit(ptir.ReverseOp, x, axes=axes) if axes else x


def _repeat(to: AtenConverter, call: Call, x: SSAValue, repeats: Sequence[int]) -> SSAValue:
    x = to.reshape(x, (1,) * (len(repeats) - len(to.shape(x))) + to.shape(x))
    return to.emit(ptir.TileOp, x, repeats=tuple(repeats)) if repeats else x


def _roll(to: AtenConverter, call: Call, x: SSAValue, shifts: Sequence[int], dims: Sequence[int] = ()) -> SSAValue:
    """Elements moved along dims, those beyond the end to the front; without dims those of the flat operand."""
    if not dims:
        flat = to.shaped(x, (product_dims(to.shape(x)),))
        return to.shaped(_rolled(to, flat, 0, shifts[0]), call.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        x = _rolled(to, x, to.axis(x, dim), shift)
    return x


def _rolled(to: AtenConverter, x: SSAValue, axis: int, shift: Any) -> SSAValue:
    size = to.shape(x)[axis]
    if not all(isinstance(n, int) for n in (*to.shape(x), shift)):
        places = to.math(ptir.SubOp, to.emit(ptir.IotaOp, shape=(size,), dtype=SI64, axis=0), shift)
        places = to.math(ptir.RemainderOp, places, size)
        return taken(to, x, axis, to.wrapped(places, size))
    assert isinstance(size, int), "all are known"
    first = -shift % size if size else 0
    return to.concat([to.part(x, axis, first, size), to.part(x, axis, 0, first)], axis) if first else x


def _constant_pad(to: AtenConverter, call: Call, x: SSAValue, pads: Sequence[int], value: Any = 0) -> SSAValue:
    """Pads are pairs from the last axis on; negative ones cut off."""
    rank = len(call.shape)
    low, high = [0] * rank, [0] * rank
    for i in range(len(pads) // 2):
        low[rank - 1 - i], high[rank - 1 - i] = pads[2 * i], pads[2 * i + 1]
    for axis in range(rank):
        if low[axis] < 0 or high[axis] < 0:
            size = to.sizes(x, [axis])[0]
            x = to.part(x, axis, max(0, -low[axis]), size - max(0, -high[axis]))
    kind = call.dtype.kind
    known = bool(value) if kind is Kind.BOOL else float(value) if call.dtype.is_float else value
    known = complex(value) if kind is Kind.COMPLEX else int(value) if kind in INTEGER_KINDS else known
    return to.pad(x, known, [max(0, n) for n in low], [max(0, n) for n in high])


def _place_of(kind: str, place: int, size: int) -> int:
    """The element that a place of the padding repeats."""
    if kind == "replicate":
        return min(max(place, 0), size - 1)
    place = abs(place)
    return place if place < size else 2 * (size - 1) - place


def _edge_pad(kind: str) -> Row:
    """Padding that repeats elements: rows by number along each axis."""

    def row(to: AtenConverter, call: Call, x: SSAValue, pads: Sequence[int]) -> SSAValue:
        rank = len(call.shape)
        for i in range(len(pads) // 2):
            axis = rank - 1 - i
            size = to.sizes(x, [axis])[0]
            places = [_place_of(kind, p, size) for p in range(-pads[2 * i], size + pads[2 * i + 1])]
            x = at_places(to, x, axis, places)
        return x

    return row


def taken(to: AtenConverter, x: SSAValue, axis: int, indices: SSAValue) -> SSAValue:
    """The places along an axis that indices of rank 1 name."""
    front, back = to.front(x, [axis])
    return to.transpose(to.emit(ptir.TakeOp, front, to.index(indices)), back)


def _full(to: AtenConverter, call: Call, shape: Any, value: Any, *_: Any) -> SSAValue:
    return to.number(value, call.dtype, call.shape)


def _new_full(to: AtenConverter, call: Call, x: SSAValue, shape: Any, value: Any, *_: Any) -> SSAValue:
    return to.number(value, call.dtype, call.shape)


def _filled(value: int) -> Row:
    def row(to: AtenConverter, call: Call, *_: Any) -> SSAValue:
        return to.number(value, call.dtype, call.shape)

    return row


def _scalar_tensor(to: AtenConverter, call: Call, value: Any, *_: Any) -> SSAValue:
    return to.number(value, call.dtype)


def _arange(to: AtenConverter, call: Call, start: Any, end: Any, step: Any = 1, *_: Any) -> SSAValue:
    """`start + i step`, computed in f64 or si64, as torch does, and cast: fractions are cut off for an integer result."""
    if call.dtype.kind in (Kind.SIGNED, Kind.UNSIGNED):
        start, step = (int(v) if isinstance(v, float) else v for v in (start, step))
    whole = all(not isinstance(v, float) for v in (start, step))
    if whole and call.dtype.kind is not Kind.COMPLEX and call.dtype is not I1:
        places = to.emit(ptir.IotaOp, shape=call.shape, dtype=SI64, axis=0)
        return to.cast(to.math(ptir.AddOp, to.scaled(places, step), start), call.dtype)
    count = call.shape[0]
    if isinstance(count, str):
        raise Refused("a range of a size that is not known", "give the program static shapes")
    return to.constant(call.dtype, (count,), [start + i * step for i in range(count)])


def _diagonal(to: AtenConverter, call: Call, x: SSAValue, offset: int = 0, dim1: int = 0, dim2: int = 1) -> SSAValue:
    """The elements `[i, i + offset]` of two axes, along a last one: read at flat places."""
    a, b = to.axis(x, dim1), to.axis(x, dim2)
    rows, columns = to.sizes(x, [a])[0], to.sizes(x, [b])[0]
    front, _ = to.front(x, [a, b])
    flat = to.reshape(front, (rows * columns, *to.shape(front)[2:]))
    count = call.shape[-1]
    assert isinstance(count, int)
    first = (-offset if offset < 0 else 0) * columns + max(offset, 0)
    found = to.emit(ptir.TakeOp, flat, to.integers([first + i * (columns + 1) for i in range(count)]))
    return to.transpose(found, [*range(1, len(call.shape)), 0])


def _diagonal_scatter(
    to: AtenConverter, call: Call, x: SSAValue, source: SSAValue, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> SSAValue:
    """`x` with the elements `[i, i + offset]` of two axes replaced, along the last axis of the source."""
    a, b = to.axis(x, dim1), to.axis(x, dim2)
    (count,) = to.sizes(source, [len(to.shape(source)) - 1])
    if not count:
        return x
    front, back = to.front(x, [a, b])
    source, _ = to.front(to.cast(source, call.dtype), [len(to.shape(source)) - 1])
    row, column = (to.emit(ptir.IotaOp, shape=to.shape(front)[:2], dtype=SI64, axis=axis) for axis in (0, 1))
    spread = to.emit(ptir.TakeOp, source, to.clamp(row if offset >= 0 else column, 0, count - 1))
    inside = to.compare("equal", to.emit(ptir.SubOp, column, row), offset)
    return to.transpose(to.select(to.place(inside, [0, 1], to.shape(front)), spread, front), back)


def _unfold(to: AtenConverter, call: Call, x: SSAValue, dim: int, size: int, step: int) -> SSAValue:
    """Windows of a size along an axis, their elements along a last one."""
    if not to.shape(x):
        return to.shaped(x, call.shape)
    axis = to.axis(x, dim)
    starts = range(0, to.sizes(x, [axis])[0] - size + 1, step)
    front, _ = to.front(x, [axis])
    found = to.emit(ptir.TakeOp, front, to.integers([i + j for i in starts for j in range(size)], (len(starts), size)))
    rank = len(call.shape)
    return to.transpose(found, [*range(2, axis + 2), 0, *range(axis + 2, rank), 1])


def _select_scatter(to: AtenConverter, call: Call, x: SSAValue, source: SSAValue, dim: int, index: int) -> SSAValue:
    axis = to.axis(x, dim)
    size = to.sizes(x, [axis])[0]
    shape = (*call.shape[:axis], 1, *call.shape[axis + 1 :])
    return _written(to, x, to.reshape(to.cast(source, call.dtype), shape), axis, index % size, index % size + 1, 1)


def _slice_scatter(
    to: AtenConverter, call: Call, x: SSAValue, source: SSAValue, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> SSAValue:
    axis = to.axis(x, dim)
    first, last, step = _bounds(to, x, axis, start, end, step)
    return _written(to, x, to.cast(source, call.dtype), axis, first, last, step)


def _written(to: AtenConverter, x: SSAValue, source: SSAValue, axis: int, first: int, last: Dim, step: int) -> SSAValue:
    """`x` with a part along an axis replaced: what is before, the source, and what is after; by steps a scatter."""
    if last == to.shape(x)[axis] and not first and step == 1:
        return source
    size = to.sizes(x, [axis])[0]
    end = int(last)
    if step == 1:
        parts = [(0, first), (end, size)]
        before, after = ([to.part(x, axis, a, b)] if b > a else [] for a, b in parts)
        kept = [source] if end > first else []
        return to.concat([*before, *kept, *after], axis)
    places = to.place(to.integers(list(range(first, end, step))), [axis], to.shape(source))
    return to.emit(ptir.ScatterReduceOp, x, places, source, kind="replace", axis=axis)


def _triangle(kind: str) -> Row:
    """Return the row that keeps one side of a diagonal, with 0 elsewhere."""

    def row(to: AtenConverter, call: Call, x: SSAValue, diagonal: int = 0) -> SSAValue:
        rows, columns = (to.emit(ptir.IotaOp, shape=call.shape[-2:], dtype=SI64, axis=axis) for axis in (0, 1))
        inside = to.compare(kind, to.emit(ptir.SubOp, columns, rows), diagonal)
        return to.select(to.broadcast(inside, call.shape), x, to.number(0, call.dtype, call.shape))

    return row


def _dropout(to: AtenConverter, call: Call, x: SSAValue, p: float, train: bool | None = None) -> Results:
    if train is not False and p:
        raise Refused("dropout in training mode, whose random numbers no other library reproduces", "use model.eval(), or p=0")
    return x, to.fill(True, I1, call.shape)


_VIEWS = (
    *("view.default", "reshape.default", "_unsafe_view.default", "unsqueeze.default", "squeeze.default", "squeeze.dim"),
    *(
        "squeeze.dims",
        "view_copy.default",
        "unsqueeze_copy.default",
        "squeeze_copy.dim",
        "squeeze_copy.dims",
        "flatten.using_ints",
    ),
)

STRUCTURAL: Table = {
    **dict.fromkeys(_VIEWS, _shaped),
    **dict.fromkeys(("permute.default", "permute_copy.default"), _permute),
    **dict.fromkeys(("transpose.int", "transpose_copy.int"), _transpose),
    **dict.fromkeys(("t.default", "t_copy.default"), _t),
    **dict.fromkeys(("expand.default", "expand_copy.default"), _expand),
    **dict.fromkeys(("select.int", "select_copy.int"), _select),
    **dict.fromkeys(("slice.Tensor", "slice_copy.Tensor"), _slice),
    **dict.fromkeys(("diagonal.default", "diagonal_copy.default"), _diagonal),
    **dict.fromkeys(("split.Tensor", "split_copy.Tensor"), _split),
    **dict.fromkeys(("split_with_sizes.default", "split_with_sizes_copy.default"), _split_with_sizes),
    **dict.fromkeys(("unbind.int", "unbind_copy.int"), _unbind),
    **dict.fromkeys(("zeros.default", "zeros_like.default", "new_zeros.default"), _filled(0)),
    **dict.fromkeys(("ones.default", "ones_like.default", "new_ones.default"), _filled(1)),
    **dict.fromkeys(("empty.memory_format", "empty_strided.default", "empty_like.default", "new_empty.default"), _filled(0)),
    **dict.fromkeys(("empty_permuted.default", "new_empty_strided.default"), _filled(0)),
    "_local_scalar_dense.default": Refused("a number that is read from a tensor (.item())", "keep it a tensor of rank 0"),
    "arange.start_step": _arange,
    "cat.default": _cat,
    "constant_pad_nd.default": _constant_pad,
    "diagonal_scatter.default": _diagonal_scatter,
    "flip.default": _flip,
    "full.default": _full,
    "full_like.default": _full,
    "native_dropout.default": _dropout,
    "new_full.default": _new_full,
    "reflection_pad1d.default": _edge_pad("reflect"),
    "reflection_pad2d.default": _edge_pad("reflect"),
    "reflection_pad3d.default": _edge_pad("reflect"),
    "repeat.default": _repeat,
    "replication_pad1d.default": _edge_pad("replicate"),
    "replication_pad2d.default": _edge_pad("replicate"),
    "replication_pad3d.default": _edge_pad("replicate"),
    "resize_.default": Refused("a tensor that changes its size in place", "make a new tensor"),
    "roll.default": _roll,
    "scalar_tensor.default": _scalar_tensor,
    "select_scatter.default": _select_scatter,
    "slice_scatter.default": _slice_scatter,
    "stack.default": _stack,
    "sym_is_contiguous.default": Refused("a test of strides", "values of PTIR have none"),
    "sym_storage_offset.default": Refused("the offset of a tensor in its storage", "values of PTIR have none"),
    "sym_stride.int": Refused("a stride", "values of PTIR have none"),
    "tril.default": _triangle("less_equal"),
    "triu.default": _triangle("greater_equal"),
    "unfold.default": _unfold,
}
