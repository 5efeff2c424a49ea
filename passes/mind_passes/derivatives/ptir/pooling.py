"""
The derivatives of windowed reductions and of patches.

Elements that tie for the greatest (or least) of a window share its adjoint equally. Patches are compared with what their window
gave, to count the ties; those of large windows that overlap are taken along one axis after the other, each place with the number
of elements that it stands for, so that memory grows with the longest side of a window, not with its volume. Elements then gather
what their windows give (`gathering`). Where extents are known and windows are taken at once, the ops are one fusion, for which a
target may have a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from mind_dialect.ptir import ExtractPatchesOp, FusionOp, ReduceWindowOp
from mind_dialect.ptir.attributes import scalar
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import read_type, tensor_type

from ...ptir.construct import Value, cast, compare, dims, div, make, mul, reduce_sum, spec
from ..walks import ForwardRow, Row
from .folding import fold
from .gathering import gathered, is_gathered, shares_border
from .shared import applied, at_least_one, zeros
from .transposed import is_transposable, transposed, transposed_extents, without_excess
from .window_parts import unfold_parts
from .windows import Sliding, apart, bordered, inner_axes, interleaved, sliding, still, unfold

Axes = tuple[Sliding, ...]

AT_ONCE = 16
"""Windows that overlap, of up to so many elements, are unfolded along all axes at once."""
NAN = float("nan")
EXTREMES_GRADIENT = "window_extremes_gradient"
"""The pattern of the fusion that shares adjoints among the extremes of windows."""


def axes_of(op: ReduceWindowOp) -> Axes:
    values = op.values()
    names = ("window_dims", "strides", "padding", "base_dilation", "window_dilation")
    return sliding(dims(op.x), dims(op.result), *(values[n] for n in names))


def windows_of(x: Value, axes: Axes, padding: float) -> Value:
    """Return `x` with an axis for the places in the window after each axis of windows."""
    return (unfold_parts if any(a.dynamic for a in axes) else unfold)(x, axes, padding)


def window_sum_x(op: ReduceWindowOp, axes: Axes, g: SSAValue) -> Value:
    """Each place's adjoint for all elements of its window: repeated where windows tile x, else a sum of windows of `g`."""
    if not is_transposable(axes) or all(a.tiled for a in axes):
        return fold(apart(g, axes), axes)
    found = transposed(g, axes)
    if found is None:
        return zeros(op.x)
    places, padding = found
    sums = make(
        ReduceWindowOp,
        places,
        type=tensor_type(spec(op.x).dtype, transposed_extents(axes)),
        kind="sum",
        window_dims=[a.window for a in axes],
        strides=[a.base for a in axes],
        padding=padding,
        base_dilation=[a.stride for a in axes],
        window_dilation=[a.dilation for a in axes],
        accum_dtype=op.values()["accum_dtype"],
    )
    return without_excess(sums, axes)


def stages(axes: Axes) -> list[Axes]:
    """The axes to unfold together: all, or large windows one after the other."""
    moving = [i for i, a in enumerate(axes) if not a.still]
    size = 1
    for i in moving:
        size *= axes[i].window
    if all(a.tiled for a in axes) or size <= AT_ONCE:
        return [axes]
    return [tuple(a if k == i else still(a.y if k < i else a.x) for k, a in enumerate(axes)) for i in moving]


def partial(op: ReduceWindowOp, x: Value, axes: Axes) -> Value:
    """The reduction of `x` along some of the axes."""
    return make(
        ReduceWindowOp,
        x,
        type=tensor_type(spec(x).dtype, tuple(a.y for a in axes)),
        kind=op.values()["kind"],
        window_dims=[a.window for a in axes],
        strides=[a.stride for a in axes],
        padding=[(a.low, a.high) for a in axes],
        base_dilation=[a.base for a in axes],
        window_dilation=[a.dilation for a in axes],
    )


def with_border(x: Value, axes: Axes) -> tuple[Value, Axes]:
    """Return `x` with a border where what gathers shares has that too, and how windows slide over it."""
    return bordered(x, axes, NAN) if shares_border(axes) else (x, axes)


def extremes(x: Value, over: Axes, y: Value, axes: Axes) -> Value:
    """Return 1 at the places of windows over `x` that equal the window's result `y`, and 0 elsewhere."""
    return cast(compare("equal", windows_of(x, over, NAN), apart(y, axes)), default_accumulator(spec(x).dtype))


def ties(op: ReduceWindowOp, steps: list[Axes]) -> tuple[list[Value], list[Value], Value]:
    """
    By stage, 1 at the extremes of windows and 0 elsewhere, and its results; how many elements of x each window has as extremes.

    Padding is NaN, which equals nothing.
    """
    masks, results = list[Value](), list[Value]()
    x: Value = op.x
    count: Value | None = None
    for i, axes in enumerate(steps):
        y: Value = op.result if i == len(steps) - 1 else partial(op, x, axes)
        mask = extremes(*with_border(x, axes), y, axes)
        weights = mask if count is None else mul(mask, windows_of(count, axes, 0.0))
        count = reduce_sum(weights, inner_axes(axes))
        masks.append(mask)
        results.append(y)
        x = y
    assert count is not None
    full = all(a.full for axes in steps for a in axes)
    return masks, results, count if full else at_least_one(count)


def extremes_gradient(x: SSAValue, y: SSAValue, g: SSAValue, axes: Axes) -> FusionOp:
    """Return for each element of `x` what it gets of `g` from windows whose result `y` it equals, as one fusion."""

    def body(x: SSAValue, y: SSAValue, g: SSAValue) -> Sequence[Value]:
        whole, over = with_border(x, axes)
        count: Value = reduce_sum(extremes(whole, over, y, axes), inner_axes(axes))
        share = div(cast(g, spec(count).dtype), count if all(a.full for a in axes) else at_least_one(count))
        found = gathered(x, y, share, axes, whole if shares_border(axes) else None)
        assert found is not None, "asked before"
        return [cast(found, spec(x).dtype)]

    return FusionOp(x, y, g, body=body, pattern=EXTREMES_GRADIENT)


def extreme_x(op: ReduceWindowOp, axes: Axes, g: SSAValue) -> Value:
    """Each place's adjoint, shared by the extremes of its window."""
    steps = stages(axes)
    if len(steps) == 1 and is_gathered(axes) and read_type(op.x.type).is_static:
        return extremes_gradient(op.x, op.result, g, axes)
    masks, results, count = ties(op, steps)
    share: Value = div(cast(g, spec(count).dtype), count)
    for i in reversed(range(len(steps))):
        found = gathered(op.x if i == 0 else results[i - 1], results[i], share, steps[i])
        share = fold(mul(masks[i], apart(share, steps[i])), steps[i]) if found is None else found
    return cast(share, spec(op.x).dtype)


def reduce_window_x(op: ReduceWindowOp, g: SSAValue) -> Value:
    axes = axes_of(op)
    return window_sum_x(op, axes, g) if op.values()["kind"] == "sum" else extreme_x(op, axes, g)


def reduce_window_tangent(op: ReduceWindowOp, ts: Sequence[SSAValue | None]) -> Value:
    """A sum of tangents; of those at the extremes the mean."""
    (t,) = ts
    assert t is not None
    if op.values()["kind"] == "sum":
        return applied(op, {0: t})
    steps = stages(axes_of(op))
    masks, _, count = ties(op, steps)
    found = cast(t, spec(count).dtype)
    for mask, step in zip(masks, steps, strict=True):
        found = reduce_sum(mul(mask, windows_of(found, step, 0.0)), inner_axes(step))
    return cast(div(found, count), spec(op.x).dtype)


def patches_x(op: ExtractPatchesOp, g: SSAValue) -> Value:
    """Add up the adjoints of all copies of each element."""
    values, x, y = op.values(), dims(op.x), spec(g).shape
    ones = (1,) * len(values["window"])
    inner = sliding(x[1:-1], y[1:-1], values["window"], values["strides"], values["padding"], ones, values["dilation"])
    axes = (still(x[0]), *inner, still(x[-1]))
    return fold(interleaved(g, axes), axes)


def patches_tangent(op: ExtractPatchesOp, ts: Sequence[SSAValue | None]) -> Value:
    """Patches of the tangent; the padding does not vary."""
    (t,) = ts
    assert t is not None
    return applied(op, {0: t}, pad_value=scalar(spec(op.x).dtype, 0.0))


REVERSE: dict[type[Operation], Row] = {ReduceWindowOp: (reduce_window_x,), ExtractPatchesOp: (patches_x,)}
FORWARD: dict[type[Operation], ForwardRow] = {ReduceWindowOp: reduce_window_tangent, ExtractPatchesOp: patches_tangent}
