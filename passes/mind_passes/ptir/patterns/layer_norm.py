"""
Layer normalisation along one axis: `(x - mean) / sqrt(variance + epsilon) * gamma + beta`, as `ptir.layer_norm`.

Means are sums times 1/N or over N; the deviation divides, or its reciprocal multiplies. Of f32 and f64 only: in narrower floats
the ops round after each step and the one op does not. The result may differ in the last digits. Gamma or beta may be missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.ir import SSAValue

from mind_dialect.ptir import AddOp, DivOp, LayerNormOp, MulOp, PtirOp, ReciprocalOp, ReduceOp, ReshapeOp, RsqrtOp, SqrtOp, SubOp
from mind_dialect.ptir.types import F32, F64

from ..building import fill, in_place_of, only_units, spec_of, uniform
from .matching import Match, made_by, reduced, stretched, times


def match(root: PtirOp) -> Match | None:
    """The layer norm that ends in `root`: in the sum with beta, or without one in the product with gamma, or without both."""
    if not isinstance(root, AddOp | MulOp | DivOp) or spec_of(root.result).dtype not in (F32, F64):
        return None
    if isinstance(root, AddOp):
        for scaled, shift in ((root.lhs, root.rhs), (root.rhs, root.lhs)):
            found = _scaled(scaled, shift, root) or _plain(scaled, shift, root)
            if found is not None:
                return found
        return None
    return _scaled(root.result, None, root) or _plain(root.result, None, root)


def _scaled(value: SSAValue, shift: SSAValue | None, root: AddOp | MulOp | DivOp) -> Match | None:
    """`value` as `normal * gamma`, to which `shift` is added."""
    product = made_by(value, MulOp)
    for normal, scale in ((product.lhs, product.rhs), (product.rhs, product.lhs)) if product is not None else ():
        found = _normalised(normal)
        gamma = None if found is None else vector(scale, found.axis)
        if product is not None and found is not None and gamma is not None:
            return _match(root, found, gamma, shift, [*found.inside, product])
    return None


def _plain(value: SSAValue, shift: SSAValue | None, root: AddOp | MulOp | DivOp) -> Match | None:
    """`value` as `normal`, to which `shift` is added."""
    found = _normalised(value)
    return None if found is None else _match(root, found, None, shift, found.inside)


def _match(
    root: AddOp | MulOp | DivOp, found: Normal, gamma: SSAValue | None, shift: SSAValue | None, inside: list[PtirOp]
) -> Match | None:
    """The op of what was found; without gamma times 1, without beta plus -0, which change no number."""
    beta = None if shift is None else vector(shift, found.axis)
    extent = spec_of(found.x).shape[found.axis]
    if shift is not None and beta is None:
        return None
    assert isinstance(extent, int), "its reciprocal is in the mean"

    def build(_: Match) -> PtirOp:
        scale = _filled(root, extent, 1.0) if gamma is None else gamma
        offset = _filled(root, extent, -0.0) if beta is None else beta
        return in_place_of(root, LayerNormOp, found.x, scale, offset, epsilon=found.epsilon, feature_axis=found.axis)

    return Match(root, [op for op in inside if op is not root], build)


def _filled(root: PtirOp, extent: int, number: float) -> SSAValue:
    return fill(root, spec_of(root.results[0]).dtype, (extent,), number).result


def vector(value: SSAValue, axis: int) -> SSAValue | None:
    """The vector that `value` repeats along all other axes."""
    rank = len(spec_of(value).shape)
    found = stretched(value, [a for a in range(rank) if a != axis])
    return found[0] if found is not None and len(spec_of(found[0]).shape) == 1 else None


class Normal(NamedTuple):
    """A normalisation: the value, its axis, its epsilon, and its ops."""

    x: SSAValue
    axis: int
    epsilon: float
    inside: list[PtirOp]


def _normalised(value: SSAValue) -> Normal | None:
    """`value` as `(x - mean) / sqrt(variance + epsilon)`."""
    op = value.owner
    if not isinstance(op, MulOp | DivOp):
        return None
    sides = ((op.lhs, op.rhs),) if isinstance(op, DivOp) else ((op.lhs, op.rhs), (op.rhs, op.lhs))
    for centred, factor in sides:
        difference = made_by(centred, SubOp)
        mean = None if difference is None else _spread_mean(difference.rhs, difference.lhs)
        if difference is None or mean is None:
            continue
        axis, inside = mean
        found = deviation(factor, axis, centred, inverse=isinstance(op, MulOp))
        if found is not None:
            return Normal(difference.lhs, axis, found[0], [*inside, difference, *found[1], op])
    return None


def _spread_mean(value: SSAValue, of: SSAValue) -> tuple[int, list[PtirOp]] | None:
    """The axis along which `value` repeats the mean of `of`, and the ops."""
    rank = len(spec_of(value).shape)
    for axis in reversed(range(rank)):
        spread = stretched(value, (axis,))
        if spread is None:
            continue
        mean = _mean(spread[0], axis)
        if mean is not None and mean[0].x is of:
            return axis, [*mean[1], *reversed(spread[1])]
    return None


def _mean(value: SSAValue, axis: int) -> tuple[ReduceOp, list[PtirOp]] | None:
    """The sum behind a mean along `axis`, and the ops of the mean; a reshape between them puts the axis back."""
    op = value.owner
    for operand in op.operands if isinstance(op, MulOp | DivOp) else ():
        view = made_by(operand, ReshapeOp)
        total = reduced(operand if view is None else view.x, "sum")
        if not isinstance(op, PtirOp) or total is None or tuple(total[1]) != (axis,):
            continue
        count = spec_of(total[0].x).shape[axis]
        scaled = times(value, 1 / count) if isinstance(count, int) and count else None
        if scaled is not None and scaled[1] is operand and (view is None or only_units(view)):
            return total[0], [total[0], *([] if view is None else [view]), op]
    return None


def deviation(value: SSAValue, axis: int, centred: SSAValue, *, inverse: bool) -> tuple[float, list[PtirOp]] | None:
    """Epsilon and the ops of the deviation, or of its reciprocal, repeated along `axis`."""
    spread = stretched(value, (axis,))
    if spread is None:
        return None
    root, inside = spread[0].owner, list(reversed(spread[1]))
    if inverse and isinstance(root, ReciprocalOp):
        inside.insert(0, root)
        root = root.x.owner
        inverse = False
    if not isinstance(root, RsqrtOp if inverse else SqrtOp):
        return None
    return _variance(root, axis, centred, [root, *inside])


def _variance(
    root: RsqrtOp | SqrtOp, axis: int, centred: SSAValue, inside: Sequence[PtirOp]
) -> tuple[float, list[PtirOp]] | None:
    shifted = made_by(root.x, AddOp)
    if shifted is None:
        return None
    for variance, constant in ((shifted.lhs, shifted.rhs), (shifted.rhs, shifted.lhs)):
        epsilon, mean = uniform(constant), _mean(variance, axis)
        square = None if mean is None else made_by(mean[0].x, MulOp)
        if mean is None or square is None or not isinstance(epsilon, float) or not 0 <= epsilon < float("inf"):
            continue
        if square.lhs is centred and square.rhs is centred:
            return epsilon, [square, *mean[1], shifted, *inside]
    return None
