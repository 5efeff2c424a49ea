"""
One spelling of each op's properties: from an op to its properties in normal form, none of which changes what the op does.

Axes are counted from the front and ascend. Bounds below 0, which core-v1.1 clamps, become 0. Under core-v1 neither verifies, so
resolving them needs no profile. What has no effect gets its plainest value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mind_dialect import core
from mind_dialect.shapes import Shape, normalize_axes

from .building import shape_of

Values = dict[str, Any]


def reduction(op: core.CoreOp, values: Values) -> Values:
    """Ascending axes; a reduction to rank 0 is written `axes = [] keepdims = false`, however it was spelled."""
    if not shape_of(op.results[0]):
        return {"axes": (), "keepdims": False}
    axes = normalize_axes(values["axes"], len(shape_of(op.operands[0])), True)
    return {"axes": axes, "keepdims": values["keepdims"]}


def reshape(op: core.CoreOp, values: Values) -> Values:
    """The shape in full, without -1."""
    return {"new_shape": shape_of(op.results[0])}


def expand_dims(op: core.CoreOp, values: Values) -> Values:
    """Ascending axes of the result."""
    return {"axes": normalize_axes(values["axes"], len(shape_of(op.results[0])), True)}


def squeeze(op: core.CoreOp, values: Values) -> Values:
    """Ascending axes of the input."""
    return {"axes": normalize_axes(values["axes"], len(shape_of(op.operands[0])), True)}


def slice(op: core.CoreOp, values: Values) -> Values:
    """Ends one past the last element taken; step 1 where at most one is; `0:0` where none is."""
    return slice_normal([max(0, s) for s in values["starts"]], values["steps"], shape_of(op.results[0]))


def slice_normal(starts: Sequence[int], steps: Sequence[int], extents: Shape) -> Values:
    """
    The bounds that take `extents` elements from `starts` on, `steps` apart, in normal form.

    >>> slice_normal([1, 4, 2], [3, 2, 5], (2, 0, 1))
    {'starts': (1, 0, 2), 'ends': (5, 0, 3), 'steps': (3, 1, 1)}
    """
    starts = tuple(s if n else 0 for s, n in zip(starts, extents, strict=True))
    steps = tuple(t if n > 1 else 1 for t, n in zip(steps, extents, strict=True))
    ends = tuple(s + (n - 1) * t + 1 if n else 0 for s, t, n in zip(starts, steps, extents, strict=True))
    return {"starts": starts, "ends": ends, "steps": steps}


def slice_scatter(op: core.CoreOp, values: Values) -> Values:
    """Step 1 where at most one element lies along an axis; start 0 where none does."""
    bounds = slice_normal(values["starts"], values["steps"], shape_of(op.operands[0]))
    return {"shape": values["shape"], "starts": bounds["starts"], "steps": bounds["steps"]}


def padding(op: core.CoreOp, values: Values) -> Values:
    """No padding is `Valid`."""
    return {**values, "padding": "Valid"} if values["padding"] == ((0, 0), (0, 0)) else values


NORMAL_FORMS: dict[type[core.CoreOp], Callable[[core.CoreOp, Values], Values]] = {
    core.SumOp: reduction,
    core.MeanOp: reduction,
    core.ReshapeOp: reshape,
    core.ExpandDimsOp: expand_dims,
    core.SqueezeOp: squeeze,
    core.SliceOp: slice,
    core.Conv2dOp: padding,
    core.SliceScatterOp: slice_scatter,
    core.Conv2dBackwardInputOp: padding,
    core.Conv2dBackwardFilterOp: padding,
}
"""The other ops have no properties, or properties with one spelling."""


def normalize(op: core.CoreOp) -> bool:
    """Bring the properties of `op` into normal form, in the order that its class lists them; whether any changed."""
    if not op.CODECS:
        return False
    form = NORMAL_FORMS.get(type(op))
    changed = False
    if form is not None:
        values = op.values()
        wanted = form(op, values)
        if changed := wanted != values:
            op.properties = {name: codec.attribute(wanted[name]) for name, codec in op.CODECS.items()}
    if list(op.properties) != list(op.CODECS):
        op.properties = {name: op.properties[name] for name in op.CODECS}
    return changed
