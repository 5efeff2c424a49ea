"""Kernels of discrete Fourier transforms: those of the array library."""

from __future__ import annotations

from .casts import Casts
from .formats import Array, Ints

_TRANSFORMS = {"fft": "fftn", "ifft": "ifftn", "rfft": "rfftn", "irfft": "irfftn"}


class Fourier(Casts):
    """NumPy's convention: the inverses divide by the product of the lengths. `irfft` ignores parts that are not Hermitian."""

    def fft(self, x: Array, *, kind: str, lengths: Ints) -> Array:
        """The transform along the last axes, in the precision of `x`."""
        xp, size = self.xp, x.dtype.itemsize
        result = {"rfft": f"c{2 * size}", "irfft": f"f{size // 2}"}.get(kind, x.dtype)
        found = getattr(xp.fft, _TRANSFORMS[kind])(x, s=tuple(lengths), axes=tuple(range(-len(lengths), 0)))
        return xp.ascontiguousarray(found.astype(result, copy=False))  # NumPy before 2.0 computes in double precision
