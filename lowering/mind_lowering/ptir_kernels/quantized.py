"""Kernels between floats and integers with a scale: `q = clamp(round_half_even(x / scale) + zero_point)`."""

from __future__ import annotations

from .casts import Casts
from .formats import Array, DTypeLike


class Quantized(Casts):
    """Scale and zero point are scalars, or with `axis` one per place along it; without them 1 and 0."""

    def quantize(
        self,
        x: Array,
        scale: Array | None = None,
        zero_point: Array | None = None,
        *,
        output_dtype: DTypeLike,
        axis: int | None = None,
    ) -> Array:
        """Floats to integers, saturating, NaN to 0. The quotient is rounded in the widened dtype, the sum is exact."""
        xp, wide = self.xp, self.widen(x)
        if scale is not None:
            wide = xp.divide(wide, self._along(self.widen(scale), x, axis))
        whole = xp.rint(wide).astype("float64")
        if zero_point is not None:
            whole = xp.add(whole, self._along(self._wide(zero_point), x, axis))
        return self.cast(whole, dtype=output_dtype)

    def dequantize(
        self,
        x: Array,
        scale: Array | None = None,
        zero_point: Array | None = None,
        *,
        output_dtype: DTypeLike | None = None,
        axis: int | None = None,
    ) -> Array:
        """`(x - zero_point) * scale`, in f64 and rounded once, to `output_dtype`, else the dtype of the scale, else f32."""
        xp, difference = self.xp, self._wide(x)
        if zero_point is not None:
            difference = xp.subtract(difference, self._along(self._wide(zero_point), x, axis))
        if scale is not None:
            difference = xp.multiply(difference, self._along(scale.astype("float64"), x, axis))
        if output_dtype is None:
            output_dtype = xp.dtype("float32") if scale is None else scale.dtype
        return self.cast(difference, dtype=output_dtype)

    def requantize(
        self,
        x: Array,
        scale: Array | None = None,
        zero_point: Array | None = None,
        output_scale: Array | None = None,
        output_zero_point: Array | None = None,
        *,
        output_dtype: DTypeLike,
        axis: int | None = None,
    ) -> Array:
        """Dequantized in the widened dtype of the first scale, quantized with the second pair; without scales in f64."""
        real = self.xp.dtype("float64") if scale is None else self.widen(scale).dtype
        numbers = self.dequantize(x, scale, zero_point, output_dtype=real, axis=axis)
        return self.quantize(numbers, output_scale, output_zero_point, output_dtype=output_dtype, axis=axis)

    def _wide(self, x: Array) -> Array:
        """Integers of up to 32 bits in f64, exactly."""
        return self.widen(x).astype("float64")

    def _along(self, parameter: Array, x: Array, axis: int | None) -> Array:
        if axis is None:
            return parameter
        return parameter.reshape([-1 if a == axis % len(x.shape) else 1 for a in range(len(x.shape))])
