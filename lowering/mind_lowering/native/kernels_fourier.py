"""
Row of `kernels.py` for Fourier transforms of lengths with small factors.

Along several axes they are one after the other: the axis of real numbers first, or that of real results at the end. Lines across
memory are copied to where they are contiguous, and back: a transform of each in its place would read a number of each cache line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import BytesAttr

from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.literal import static_spec
from mind_dialect.ptir.types import F32, F64, part_of, tensor_type

from ..ptir_kernels.formats import array_dtype
from .fourier import SCRATCH, FourierTransform, width_of
from .fourier_tables import RADICES, factors_of, radices
from .patterns import Builder, in_memory, row
from .target_info import TargetInfo
from .views import Use, View, whole


def _lines(op: ptir.FftOp) -> list[tuple[str, int, int]]:
    """Return the kind of each transform, its axis counted from the end, and how many complex numbers it takes at once."""
    kind, lengths = op.values()["kind"], op.values()["lengths"]
    is_real = kind in ("rfft", "irfft")
    last = (kind, -1, lengths[-1] // 2 if is_real and lengths[-1] % 2 == 0 else lengths[-1])
    inner = kind.replace("rfft", "fft") if is_real else kind
    others = [(inner, i - len(lengths), n) for i, n in enumerate(lengths[:-1])]
    return [*others, last] if kind == "irfft" else [last, *others]


def _why_not(op: ptir.FftOp, host: TargetInfo) -> str | None:
    """Return why a transform has no kernel."""
    dtype, _ = static_spec(op.x.type)
    real = part_of(dtype)
    if real not in (F32, F64):
        return f"kernels do not transform {dtype}"
    counts = [n for *_, n in _lines(op)]
    if any(radices(n) is None for n in counts):
        return f"a length has a prime factor above {RADICES[-1]}"
    if 4 * (max(counts) + 1) * real.size > SCRATCH:
        return "lines are too long for the stack, and NumPy has fast transforms"
    return None


def _transformed(build: Builder, op: ptir.FftOp) -> None:
    x, out = in_memory(build, op.x), build.target(op.result)
    between = out
    if op.values()["kind"] == "irfft" and len(op.values()["lengths"]) > 1:
        between = whole(build.buffer(Use.ARENA, x.dtype, x.count, "transformed"), x.shape)
    for kind, axis, length in _lines(op) if out.count else ():
        target = out if axis == -1 else between
        if axis == -1:
            _add(build, op, kind, (x, out), length)
        else:
            source = _along(x, axis)
            lines = whole(build.buffer(Use.ARENA, x.dtype, x.count, "lines"), source.shape)
            build.copy(op.result, source, lines)
            _add(build, op, kind, (lines, lines), length)
            build.copy(op.result, lines, _along(target, axis))
        x = target


def _add(build: Builder, op: ptir.FftOp, kind: str, views: tuple[View, View], length: int) -> None:
    """Append a transform of lines of one view to those of another, with its factors as a constant."""
    x, out = views
    real = part_of(out.dtype)
    width = width_of(build.host, real, length)
    paired = (kind == "rfft" and x.shape[-1] == 2 * length) or (kind == "irfft" and out.shape[-1] == 2 * length)
    numbers = np.ascontiguousarray(factors_of(length, width, paired=paired), array_dtype(real.name))
    literal = PtirLiteralAttr(tensor_type(real, numbers.shape), BytesAttr(numbers.tobytes()))
    factors = whole(build.constant(literal, op.result), numbers.shape)
    build.add(FourierTransform(op.result.name_hint or kind, kind, x, factors, out, length, width))


def _along(view: View, axis: int) -> View:
    """A view whose last axis is another one."""

    def moved(values: Sequence[int]) -> tuple[int, ...]:
        rest = list(values)
        last = rest.pop(axis)
        return (*rest, last)

    return replace(view, shape=moved(view.shape), strides=moved(view.strides))


FOURIER = (row("fourier", ptir.FftOp, _transformed, _why_not),)
"""Their row."""
