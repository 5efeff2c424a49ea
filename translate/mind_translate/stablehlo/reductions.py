"""
Rows of reductions and windows.

A body that PTIR has a kind for becomes that reduction; other bodies fold the axis by halves with the body on whole arrays. PTIR
starts from the identity and pads with it. StableHLO starts from `init_value` and pads with it, so any other value is put in
before the reduction, and combined with its result once more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, SSAValue

from mind_dialect import ptir
from mind_dialect.elements import Integer
from mind_dialect.extents.dims import dim_of, extent_of
from mind_dialect.ptir.types import I1, SI32, SI64, Kind, PtirDType
from mind_dialect.ptir_shapes import UNKNOWN, Dim, Dims

from ..landing import INTEGER_KINDS
from ..unsupported import Refused
from .converter import StablehloConverter, StablehloRow, Values
from .elementwise import combine
from .foreign import ForeignOp, Window
from .indexing import promoted, scatter_flat
from .scalars import arg_kind, simple_kind
from .structural import counted, padded, static

MOST_PLACES = 512
"""A window whose body has no kind in PTIR may have this many places."""


_OF_TRUTHS = {"add": "max", "or": "max", "maximum": "max", "and": "min", "minimum": "min", "multiply": "min", "xor": "xor"}
_OF_NUMBERS = {"add": "sum", "multiply": "prod"}
_OF_REALS = {**_OF_NUMBERS, "maximum": "max", "minimum": "min"}
_OF_INTEGERS = {**_OF_REALS, "and": "and", "or": "or", "xor": "xor"}
WINDOW_KINDS = ("sum", "max", "min")
"""Reductions of windows."""


def reduce_kind(kind: str | None, dtype: PtirDType) -> str | None:
    """PTIR's kind of reduction for a body's op; truths have no sums, so `or` is their maximum."""
    if dtype is I1:
        return _OF_TRUTHS.get(kind or "")
    known = _OF_INTEGERS if dtype.kind in INTEGER_KINDS else _OF_NUMBERS if dtype.kind is Kind.COMPLEX else _OF_REALS
    return known.get(kind or "")


def is_identity(to: StablehloConverter, kind: str, value: SSAValue) -> bool:
    """Return whether an initial value is known to change nothing."""
    number, dtype = to.known_scalar(value), to.dtype(value)
    reduction = reduce_kind(kind, dtype)
    if number is None or reduction is None:
        return False
    if reduction in ("sum", "prod"):
        return number == (reduction == "prod")
    if dtype is I1:
        return number is (reduction == "min")
    element = dtype.element
    if isinstance(element, Integer):
        least, most, ones = element.least, element.most, -1 if element.signed else element.most
        return number == {"max": least, "min": most, "and": ones, "or": 0, "xor": 0}[reduction]
    return number == (-math.inf if reduction == "max" else math.inf)


def _split(op: ForeignOp) -> tuple[list[SSAValue], list[SSAValue]]:
    count = len(op.operands) // 2
    if not count or len(op.operands) != 2 * count:
        raise op.wrong("operands", "as many initial values as inputs")
    return op.operands[:count], op.operands[count:]


def _promoted(to: StablehloConverter, op: ForeignOp) -> tuple[list[SSAValue], list[SSAValue]]:
    """Return the inputs and initial values of a reduction in the dtypes that its body takes."""
    xs, inits = _split(op)
    block = op.body()
    return promoted(to, block, 0, xs), promoted(to, block, len(xs), inits)


def _reduce(to: StablehloConverter, op: ForeignOp) -> SSAValue | Values:
    (xs, inits), axes, block = _promoted(to, op), op.integers("dimensions"), op.body()
    dtype, shape = to.spec(xs[0])
    if len(set(axes)) != len(axes) or any(not 0 <= a < len(shape) for a in axes):
        raise op.wrong("dimensions", f"distinct dimensions from 0 to {len(shape) - 1}")
    to.sizes.same_shapes([to.shape(x) for x in xs])
    kind = simple_kind(to, block)
    if len(xs) == 1 and kind is not None and (known := reduce_kind(kind, dtype)) is not None:
        found = to.emit(ptir.ReduceOp, xs[0], kind=known, axes=axes, keepdims=False) if axes else xs[0]
        return started(to, kind, inits[0], found)
    if len(xs) == 2 and len(axes) == 1 and (found := _arg(to, xs, inits, axes[0], block)) is not None:
        return found
    return _folded(to, block, xs, inits, axes)


def started(to: StablehloConverter, kind: str, init: SSAValue, found: SSAValue) -> SSAValue:
    """A reduction that starts from `init`."""
    return found if is_identity(to, kind, init) else combine(to, kind, to.broadcast(init, to.shape(found)), found)


def _arg(to: StablehloConverter, xs: Values, inits: Values, axis: int, block: Block) -> Values | None:
    """`arg_max` or `arg_min` with its value, if the body and the operands say so."""
    (dtype, shape), (index_dtype, _) = to.spec(xs[0]), to.spec(xs[1])
    iota = xs[1].owner
    counts = isinstance(iota, ptir.IotaOp) and iota.values()["axis"] == axis and index_dtype in (SI32, SI64)
    if not counts or shape[axis] == 0 or dtype.kind is Kind.COMPLEX:
        return None
    if (kind := arg_kind(block, dtype)) is None:
        return None
    place = to.emit(ptir.ArgMaxOp if kind == "max" else ptir.ArgMinOp, xs[0], axis=axis, keepdims=False, output_dtype=index_dtype)
    value = to.emit(ptir.ReduceOp, xs[0], kind=kind, axes=(axis,), keepdims=False)
    body = {"max": "maximum", "min": "minimum"}[kind]
    if is_identity(to, body, inits[0]):
        return [value, place]
    shape = to.shape(value)
    return to.vectorized(block, [*(to.broadcast(v, shape) for v in inits), value, place], shape, 2)


def _folded(to: StablehloConverter, block: Block, xs: Values, inits: Values, axes: Sequence[int]) -> Values:
    """The reduction over `axes` of any body: fold neighbours, halving the axis until one element is left."""
    shape = to.shape(xs[0])
    sizes = [n for i, n in enumerate(shape) if i in axes]
    keep = [i for i in range(len(shape)) if i not in axes]
    rest = tuple(shape[i] for i in keep)
    if (extents := static(tuple(sizes))) is None:
        raise Refused("a reduction with a custom body over a dimension whose size is not known")
    count = math.prod(extents)
    start = [to.broadcast(v, rest) for v in inits]
    if count == 0:
        return start
    last = len(rest)
    rows = [to.reshape(to.transpose(x, [*keep, *axes]), (*rest, count)) for x in xs]
    while count > 1:
        half = count // 2
        lefts = [to.part(x, last, 0, 2 * half, 2) for x in rows]
        rights = [to.part(x, last, 1, 2 * half, 2) for x in rows]
        made = to.vectorized(block, [*lefts, *rights], (*rest, half), len(xs))
        if count % 2:
            made = [to.concat([v, to.part(x, last, count - 1, count)], last) for v, x in zip(made, rows, strict=True)]
        rows, count = made, half + count % 2
    return to.vectorized(block, [*start, *(to.reshape(x, rest) for x in rows)], rest, len(xs))


# Windows


def _reduce_window(to: StablehloConverter, op: ForeignOp) -> SSAValue | Values:
    (xs, inits), block = _promoted(to, op), op.body()
    to.sizes.same_shapes([to.shape(x) for x in xs])
    dtype, shape = to.spec(xs[0])
    window = op.window(len(shape))
    kind = simple_kind(to, block)
    if len(xs) == 1 and kind is not None:
        if (found := _running(to, kind, xs[0], inits[0], window)) is not None:
            return found
        if (known := reduce_kind(kind, dtype)) in WINDOW_KINDS:
            return _known_window(to, kind, known, xs[0], inits[0], window)
    return _windows_folded(to, op, block, xs, inits, window)


def _known_window(to: StablehloConverter, kind: str, known: str, x: SSAValue, init: SSAValue, window: Window) -> SSAValue:
    size, strides, base, dilation, padding = window
    if not is_identity(to, kind, init) or any(n < 0 for pair in padding for n in pair):
        x = padded(to, x, init, [p[0] for p in padding], [p[1] for p in padding], [b - 1 for b in base])
        base, padding = (1,) * len(size), ((0, 0),) * len(size)
    found = to.emit(
        ptir.ReduceWindowOp,
        x,
        kind=known,
        window_dims=size,
        strides=strides,
        padding=padding,
        base_dilation=base,
        window_dilation=dilation,
    )
    return started(to, kind, init, found)


def dynamic_reduce_window(to: StablehloConverter, op: ForeignOp) -> Values:
    """
    Return what JAX calls for windows with sizes that are computed: running sums and the like along a dimension with a name.

    Its operands are x, `init_value`, and the attributes of `reduce_window` in their order.
    """
    called = op.attributes.get("called_computations")
    names = cast("ArrayAttr[Attribute]", called).data if isinstance(called, ArrayAttr) else ()
    name = names[0] if len(names) == 1 else None
    if len(op.operands) != 7 or not isinstance(name, SymbolRefAttr):
        raise op.wrong("called_computations", "one reducer, for an operand, its init_value and five arrays of sizes")
    x, init, *stated = op.operands
    *sizes, edges = (to.sizes.shape(v, "windows that depend on data") for v in stated)
    size, strides, base, dilation = sizes
    window = (size, strides, base, dilation, tuple(zip(edges[::2], edges[1::2], strict=True)))
    kind = simple_kind(to, to.callee(name.root_reference.data).body.block)
    if kind is not None and (found := _running(to, kind, x, init, window)) is not None:
        return [found]
    raise Refused("windows along a dimension whose size is not known", "give that dimension a size")


AnyWindow = tuple[Dims, Dims, Dims, Dims, tuple[tuple[Dim, Dim], ...]]
"""As `Window`, with sizes that may be expressions of names."""


def _running(to: StablehloConverter, kind: str, x: SSAValue, init: SSAValue, window: AnyWindow) -> SSAValue | None:
    """A window over all elements up to each one, which is how JAX writes `cumsum`; None for other windows."""
    size, strides, base, dilation, padding = window
    shape = to.shape(x)
    wide = [i for i, n in enumerate(size) if n != 1]
    if len(wide) != 1 or any(n != 1 for n in (*strides, *base, *dilation)):
        return None
    axis = wide[0]
    n = shape[axis]
    others = all(pair == (0, 0) for i, pair in enumerate(padding) if i != axis)
    before = dim_of(extent_of(n) - 1) if n != UNKNOWN else None
    if before is None or size[axis] != n or not others or padding[axis] not in ((before, 0), (0, before)):
        return None
    reverse, dtype = padding[axis] == (0, before), to.dtype(x)
    neutral = is_identity(to, kind, init)
    if dtype is I1 or (dtype.kind is Kind.COMPLEX and kind not in ("add", "multiply")):
        return None
    if kind == "add" and neutral:
        return to.emit(ptir.CumulativeSumOp, x, axis=axis, exclusive=False, reverse=reverse)
    known = {"multiply": "prod", "maximum": "max", "minimum": "min"}.get(kind)
    if known is None or (known == "prod" and not neutral):  # each element of the padding would count
        return None
    found = to.emit(ptir.CumulativeOp, x, kind=known, axis=axis, exclusive=False, reverse=reverse)
    return started(to, kind, init, found)


def _outputs(shape: Dims, window: Window) -> Dims:
    """The number of windows along each dimension; one whose size is not known may have windows of one element only."""
    found: list[Dim] = []
    for n, size, stride, base, dilation, (low, high) in zip(shape, *window, strict=True):
        if not isinstance(n, int):
            if size == stride == base == 1 and low == high == 0:
                found.append(n)
                continue
            raise Refused("windows over a dimension whose size is not known")
        extent = low + high + (n - 1) * base + 1 if n else low + high
        reach = (size - 1) * dilation + 1
        found.append(max(0, (extent - reach) // stride + 1) if extent > 0 else 0)
    return tuple(found)


def _places(op: ForeignOp, size: Sequence[int]) -> int:
    places = math.prod(size)
    if places > MOST_PLACES:
        raise Refused(f"a window of {places} positions with a custom body", f"at most {MOST_PLACES} are unrolled")
    return places


def _place_slices(to: StablehloConverter, x: SSAValue, place: int, window: Window, outputs: Dims) -> SSAValue:
    """Emit the elements at one place of every window of a padded operand."""
    size, strides, _, dilation, _ = window
    offsets: list[int] = []
    for n, d in zip(reversed(size), reversed(dilation), strict=True):
        place, offset = divmod(place, n)
        offsets.append(offset * d)
    starts = offsets[::-1]
    limits = [
        s + (n - 1) * stride + 1 if isinstance(n, int) else n for s, n, stride in zip(starts, outputs, strides, strict=True)
    ]
    return to.slice(x, starts, limits, strides)


def _windows_folded(to: StablehloConverter, op: ForeignOp, block: Block, xs: Values, inits: Values, window: Window) -> Values:
    """Windows of any body: one strided slice for each place of the window, folded from left to right."""
    size, _, base, _, padding = window
    outputs = _outputs(to.shape(xs[0]), window)
    found: Values = [to.broadcast(v, outputs) for v in inits]
    if 0 in outputs:
        return found
    low, high, between = [p[0] for p in padding], [p[1] for p in padding], [b - 1 for b in base]
    wholes = [padded(to, x, init, low, high, between) for x, init in zip(xs, inits, strict=True)]
    for place in range(_places(op, size)):
        parts = [_place_slices(to, x, place, window, outputs) for x in wholes]
        found = to.vectorized(block, [*found, *parts], outputs, len(xs))
    return found


def _select_and_scatter(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    """
    Every source element goes to the place that its window selects, and is combined there with the others.

    The winner is found place by place: value and flat index of the best so far, the first of equals as the body decides. That
    is not `window_arg`, to which a NaN is the greatest: a body with GE leaves a NaN for any number, and any number for a NaN.
    """
    x, source, init = op.operands
    shape, select, combine_body = to.shape(x), op.body(0), op.body(1)
    sizes = static(shape)
    if sizes is None:
        raise Refused("windows over a dimension whose size is not known")
    window = op.window(len(sizes))
    size, padding = window[0], window[4]
    outputs = _outputs(shape, window)
    if outputs != to.shape(source):
        raise op.wrong("window_dimensions", f"windows that fit source, {list(to.shape(source))}; they give {list(outputs)}")
    target = to.broadcast(init, sizes)
    if 0 in outputs:
        return target
    low, high = [p[0] for p in padding], [p[1] for p in padding]
    places = to.reshape(counted(to, (math.prod(sizes),), 0, SI64 if math.prod(sizes) > 1 << 31 else SI32), sizes)
    values = padded(to, x, to.fill(False if to.is_truth(x) else 0, to.dtype(x)), low, high)
    indices = padded(to, places, to.fill(-1, to.dtype(places)), low, high)
    best = _place_slices(to, values, 0, window, outputs)
    best_index = _place_slices(to, indices, 0, window, outputs)
    for place in range(1, _places(op, size)):
        value, index = (_place_slices(to, v, place, window, outputs) for v in (values, indices))
        (keeps,) = to.vectorized(select, [best, value], outputs, 1)
        if any(low) or any(high):  # an element of the padding never wins
            keeps = to.emit(ptir.AndOp, keeps, to.compare("greater_equal", best_index, 0))
            keeps = to.emit(ptir.OrOp, keeps, to.compare("less", index, 0))
        best, best_index = to.select(keeps, best, value), to.select(keeps, best_index, index)
    return scatter_flat(to, op, combine_body, target, best_index, source)


REDUCTIONS: dict[str, StablehloRow | Refused] = {
    "stablehlo.reduce": _reduce,
    "stablehlo.reduce_window": _reduce_window,
    "stablehlo.select_and_scatter": _select_and_scatter,
}
