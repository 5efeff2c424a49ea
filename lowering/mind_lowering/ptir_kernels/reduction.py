"""Kernels that take many elements to one: sums, extremes, the place of the greatest, running sums, normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from mind_dialect import ptir_shapes as shapes

from .casts import Casts
from .formats import Array, DTypeLike, Format, Ints, format_of
from .ufuncs import REDUCERS

ARITHMETIC = frozenset({"sum", "prod"})
"""The kinds whose results depend on the accumulator; the others choose among what there is."""


class Reductions(Casts):
    """Sums accumulate in `accum_dtype`, by default f32 for narrower floats and else the operand's own, then are cast."""

    def reduce(
        self,
        x: Array,
        *,
        kind: str,
        axes: Ints,
        keepdims: bool,
        accum_dtype: DTypeLike | None = None,
        out_dtype: DTypeLike | None = None,
    ) -> Array:
        """The sum, greatest or least over `axes`; NaN wins, nothing at all gives the identity, no axes change nothing."""
        source = format_of(x.dtype)
        accum = format_of(source.accumulator if accum_dtype is None else accum_dtype)
        total = self.cast(x, dtype=accum.dtype)
        if not axes:  # a sum would start from +0, which turns -0 into +0
            total = self.copy(total) if total is x else total
        else:
            total = self._reduced(total, kind, tuple(axes), keepdims, accum, source)
        return self.cast(total, dtype=source.dtype if out_dtype is None else out_dtype)

    def _reduced(self, x: Array, kind: str, axes: tuple[int, ...], keepdims: bool, accum: Format, source: Format) -> Array:
        ufunc = getattr(self.xp, REDUCERS[kind])
        if kind not in ARITHMETIC:
            if prod(x.shape[a] for a in axes) == 0:
                shape: Any = shapes.reduce(x.shape, axes=axes, keepdims=keepdims)
                return self.full(shape, self.identity_of(kind, source), accum.dtype)
            return self.narrow(ufunc.reduce(self.widen(x), axis=axes, keepdims=keepdims), accum.dtype)
        if accum.kind == "f" and accum.dtype != accum.work:
            return self._step_by_step(x, kind, axes, keepdims)
        return self.narrow(ufunc.reduce(self.widen(x), axis=axes, dtype=accum.work, keepdims=keepdims), accum.dtype)

    def identity_of(self, kind: str, source: Format) -> Any:
        """Return the number that leaves every number of `source` as it is: without an infinity, the greatest finite number."""
        match kind:
            case "max":
                return source.least
            case "min":
                return source.most
            case "and":
                return source.kind == "b" or (source.most if source.kind == "u" else -1)
            case _:
                return int(kind == "prod")

    def _step_by_step(self, x: Array, kind: str, axes: tuple[int, ...], keepdims: bool) -> Array:
        """A sum or product in a narrow float, rounded after every step: the only way to honour such an accumulator."""
        xp, rank = self.xp, len(x.shape)
        reduced = [a % rank for a in axes]
        kept = [a for a in range(rank) if a not in reduced]
        count = prod(x.shape[a] for a in reduced)
        rows = x.transpose([*kept, *reduced]).reshape((*(x.shape[a] for a in kept), count))
        total = self.full(rows.shape[:-1], int(kind == "prod"), x.dtype)
        if count:
            total = getattr(xp, REDUCERS[kind]).accumulate(rows, axis=-1, dtype=x.dtype)[..., -1]
        shape: Any = shapes.reduce(x.shape, axes=axes, keepdims=keepdims)
        return total.reshape(shape)

    def arg_max(self, x: Array, *, axis: int, keepdims: bool, output_dtype: DTypeLike) -> Array:
        """The index of the first greatest, or of the first NaN; E3006 along an axis of extent 0."""
        shape: Any = shapes.arg_max(x.shape, axis=axis, keepdims=keepdims)
        if 0 in shape:
            return self.xp.zeros(shape, output_dtype)
        return self.xp.argmax(self.widen(x), axis=axis).astype(output_dtype).reshape(shape)

    def arg_min(self, x: Array, *, axis: int, keepdims: bool, output_dtype: DTypeLike) -> Array:
        """As `arg_max`, of the first least."""
        shape: Any = shapes.arg_max(x.shape, axis=axis, keepdims=keepdims)
        if 0 in shape:
            return self.xp.zeros(shape, output_dtype)
        return self.xp.argmin(self.widen(x), axis=axis).astype(output_dtype).reshape(shape)

    def cumulative_sum(self, x: Array, *, axis: int, exclusive: bool, reverse: bool) -> Array:
        """The sums along `axis` up to each element, itself left out if `exclusive`, from the end if `reverse`."""
        return self.cumulative(x, kind="sum", axis=axis, exclusive=exclusive, reverse=reverse)

    def cumulative(self, x: Array, *, kind: str, axis: int, exclusive: bool, reverse: bool) -> Array:
        """As `cumulative_sum`, of sums, products, greatest or least."""
        xp, wide = self.xp, self.widen(x)
        flip = tuple(slice(None, None, -1) if reverse and a == axis % len(x.shape) else slice(None) for a in range(len(x.shape)))
        total = getattr(xp, REDUCERS[kind]).accumulate(wide[flip], axis=axis, dtype=wide.dtype)
        if exclusive:
            total = self._shifted(total, axis % len(x.shape), self.identity_of(kind, format_of(x.dtype)))
        return self.narrow(xp.ascontiguousarray(total[flip]) if reverse else total, x.dtype)

    def _shifted(self, total: Array, axis: int, first: Any) -> Array:
        """`total` one place on along `axis`, after `first`."""
        out = self.full(total.shape, first, total.dtype)
        before: list[slice] = [slice(None)] * axis
        out[(*before, slice(1, None))] = total[(*before, slice(None, -1))]
        return out

    def layer_norm(self, x: Array, gamma: Array, beta: Array, *, epsilon: float, feature_axis: int) -> Array:
        """`(x - mean) / sqrt(variance + epsilon) * gamma + beta` along one axis, with the biased variance."""
        xp, wide = self.xp, self.widen(x)
        number, axis = wide.dtype.type, feature_axis % len(x.shape)
        count = number(x.shape[axis])
        centred = xp.subtract(wide, xp.divide(xp.add.reduce(wide, axis=axis, keepdims=True), count))
        variance = xp.divide(xp.add.reduce(xp.multiply(centred, centred), axis=axis, keepdims=True), count)
        centred /= xp.sqrt(xp.add(variance, number(epsilon)))
        gamma, beta = self.widen(gamma), self.widen(beta)
        if axis < len(x.shape) - 1:  # along the last axis a vector lies by itself
            along = _along(axis, x.shape)
            gamma, beta = gamma.reshape(along), beta.reshape(along)
        centred *= gamma
        centred += beta
        return self.narrow(centred, x.dtype)


def _along(axis: int, shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of a vector that lies along `axis`."""
    return tuple(n if a == axis else 1 for a, n in enumerate(shape))
