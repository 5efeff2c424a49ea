"""Discrete Fourier transforms, and the functions around them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from mind_dialect import ptir

from ..array import Array
from ..checks import whole
from ..dtypes import check_category, complex_of, float64, real_of
from ..emit import emit
from ..faults import fault
from ..operands import array_of, axes_of, axis_of, cast, float_dtype, static_size
from ..table import SMOOTH, Function, row
from . import elementwise as e
from .creation import check_device, iota
from .manipulation import concat, moveaxis, pad, roll
from .parts import conj

_NORMS = ("backward", "ortho", "forward")


def _operand(x: Any, function: str, norm: str, *, category: str) -> Array:
    array = array_of(x, function)
    check_category(function, array.dtype, category)
    if norm not in _NORMS:
        raise fault("E1110", f"{function}: norm is {norm!r}, expected one of {list(_NORMS)}", argument="norm", value=str(norm))
    return array


def _length(n: Any, default: Any, function: str) -> int:
    found = static_size(default if n is None else n, function)
    if found < 1:
        raise fault("E1110", f"{function}: length {found}, expected at least 1", argument="n", value=found)
    return found


_DOCS = {
    "fft": "Return the discrete Fourier transform along `axis`.",
    "ifft": "Return the inverse transform along `axis`.",
    "rfft": "Return the first half of the transform of real numbers along `axis`.",
    "irfft": "Return the inverse of `rfft`, `n` real numbers along `axis`.",
    "hfft": "Return the transform of numbers whose other half is their conjugate: `n` real numbers.",
    "ihfft": "Return the inverse of `hfft`.",
    "fftn": "Return the transform along several axes.",
    "ifftn": "Return the inverse transform along several axes.",
    "rfftn": "Return the transform of real numbers along several axes, half of the last one.",
    "irfftn": "Return the inverse of `rfftn`: real numbers.",
}


_CONJUGATE = {"hfft": "irfft", "ihfft": "rfft"}
"""Transforms that are another one of the conjugate, or its conjugate, scaled as the other direction."""
_OTHER_DIRECTION = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _fitted(x: Array, extents: Sequence[int]) -> Array:
    """Return `x` with its last axes cut, or continued by zeros, to `extents`."""
    first = x.ndim - len(extents)
    found = x[(..., *(slice(n) for n in extents))] if any(n < m for n, m in zip(extents, x.shape[first:], strict=True)) else x
    widths = [(0, n - m) for n, m in zip(extents, found.shape[first:], strict=True)]
    return pad(found, [(0, 0)] * first + widths) if any(after for _, after in widths) else found


def _transform(x: Array, kind: str, axes: tuple[int, ...], lengths: Sequence[int], norm: str) -> Array:
    """Return `ptir.fft` along any axes, of operands of any extents, scaled as `norm` says."""
    last = tuple(range(-len(axes), 0))
    half = (*lengths[:-1], lengths[-1] // 2 + 1)
    complex_dtype = complex_of(x.dtype)
    operand = cast(moveaxis(x, axes, last), real_of(complex_dtype) if kind == "rfft" else complex_dtype)
    found = emit(ptir.FftOp, _fitted(operand, half if kind == "irfft" else lengths), kind=kind, lengths=tuple(lengths))
    inverse, count = kind in ("ifft", "irfft"), prod(lengths)
    scale = {"backward": 1.0, "ortho": count**0.5 if inverse else count**-0.5, "forward": count if inverse else 1 / count}[norm]
    scaled = found if norm == "backward" else e.multiply(found, float(scale))
    return moveaxis(scaled, last, axes)


def _along_one(name: str) -> Function:
    category = "float" if name in ("rfft", "ihfft") else "floating"

    def function(x: Any, /, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
        array = _operand(x, name, norm, category=category)
        along = axis_of(axis, array.ndim, name)
        extent = array.shape[along]
        default = 2 * (static_size(extent, name) - 1) if name in ("irfft", "hfft") else extent
        length = _length(n, default, name)
        if name not in _CONJUGATE:
            return _transform(array, name, (along,), (length,), norm)
        operand = conj(array) if name == "hfft" else array
        found = _transform(operand, _CONJUGATE[name], (along,), (length,), _OTHER_DIRECTION[norm])
        return conj(found) if name == "ihfft" else found

    function.__name__, function.__doc__ = name, _DOCS[name]
    return row(f"fft.{name}", module="fft", category=category, derivative=SMOOTH)(function)


fft, ifft, rfft, irfft, hfft, ihfft = (_along_one(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))


def _along_several(name: str) -> Function:
    kind, category = name.removesuffix("n"), "float" if name == "rfftn" else "floating"

    def function(x: Any, /, s: Sequence[int] | None = None, axes: Any = None, norm: str = "backward") -> Array:
        array = _operand(x, name, norm, category=category)
        if axes is None and s is not None:
            axes = tuple(range(-len(s), 0))
        found = axes_of(axes, array.ndim, name)
        if not found or (s is not None and len(s) != len(found)):
            raise fault("E1110", f"{name}: s {s} and axes {axes} of rank {array.ndim}", argument="s", value=str(s))
        lengths = [_length(None if s is None else s[i], array.shape[a], name) for i, a in enumerate(found)]
        if name == "irfftn" and s is None:
            lengths[-1] = _length(None, 2 * (static_size(array.shape[found[-1]], name) - 1), name)
        return _transform(array, kind, found, lengths, norm)

    function.__name__, function.__doc__ = name, _DOCS[name]
    return row(f"fft.{name}", module="fft", category=category, derivative=SMOOTH)(function)


fftn, ifftn, rfftn, irfftn = (_along_several(name) for name in ("fftn", "ifftn", "rfftn", "irfftn"))


def _along_two(name: str, general: Function) -> Function:
    category = "float" if name == "rfft2" else "floating"

    def function(x: Any, /, s: Sequence[int] | None = None, axes: Any = (-2, -1), norm: str = "backward") -> Array:
        return general(x, s=s, axes=axes, norm=norm)

    function.__name__, function.__doc__ = name, f"{_DOCS[name.replace('2', 'n')]} By default they are the last two."
    return row(f"fft.{name}", module="fft", standard=False, category=category, derivative=SMOOTH)(function)


fft2, ifft2, rfft2, irfft2 = (
    _along_two(name, general) for name, general in (("fft2", fftn), ("ifft2", ifftn), ("rfft2", rfftn), ("irfft2", irfftn))
)


@row("fft.fftfreq", module="fft", arrays=0)
def fftfreq(n: int, /, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Array:
    """Return the frequencies of a transform of `n` samples at distances `d`: 0 and up, then the negative ones."""
    check_device(device)
    wanted = float_dtype(dtype, "fftfreq")
    n = whole(n, "fftfreq", "n", 1)
    half = (n - 1) // 2 + 1
    places = concat([iota((half,), 0, float64), e.add(iota((n // 2,), 0, float64), float(-(n // 2)))], axis=0)
    return cast(e.divide(places, float(n * d)), wanted)


@row("fft.rfftfreq", module="fft", arrays=0)
def rfftfreq(n: int, /, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Array:
    """Return the frequencies of a transform of `n` real samples at distances `d`."""
    check_device(device)
    n = whole(n, "rfftfreq", "n", 1)
    return cast(e.divide(iota((n // 2 + 1,), 0, float64), float(n * d)), float_dtype(dtype, "rfftfreq"))


def _shifted(x: Any, axes: Any, function: str, sign: int) -> Array:
    array = array_of(x, function)
    places = axes_of(axes, array.ndim, function)
    extents = [static_size(array.shape[a], function) for a in places]
    amounts = tuple([n // 2 if sign > 0 else -(n // 2) for n in extents])
    return roll(array, amounts, axis=places) if places else array


@row("fft.fftshift", module="fft", derivative=SMOOTH)
def fftshift(x: Any, /, axes: Any = None) -> Array:
    """Return `x` with the frequency 0 moved to the middle."""
    return _shifted(x, axes, "fftshift", 1)


@row("fft.ifftshift", module="fft", derivative=SMOOTH)
def ifftshift(x: Any, /, axes: Any = None) -> Array:
    """Return `x` with the frequency 0 moved back to the front."""
    return _shifted(x, axes, "ifftshift", -1)
