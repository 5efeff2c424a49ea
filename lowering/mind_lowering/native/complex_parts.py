"""Complex numbers in memory: each real part is followed by its imaginary part, so that all of either are a view."""

from __future__ import annotations

from dataclasses import replace

from mind_dialect.ptir.types import CF32, CF64, F32, part_of

from .views import View


def complex_parts(view: View) -> list[View]:
    """Return the real and the imaginary parts of complex numbers in memory."""
    return [_part(view, 0), _part(view, 1)]


def of_parts(real: View) -> View:
    """Return the complex numbers whose real parts are a view."""
    strides = tuple([stride // 2 for stride in real.strides])
    return replace(real, dtype=CF32 if real.dtype is F32 else CF64, strides=strides, offset=real.offset // 2)


def _part(view: View, which: int) -> View:
    """Return the real parts (0) or the imaginary ones (1) of complex numbers in memory, which are not looked up."""
    strides = tuple([2 * stride for stride in view.strides])
    return replace(view, dtype=part_of(view.dtype), strides=strides, offset=2 * view.offset + which)
