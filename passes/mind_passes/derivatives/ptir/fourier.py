"""
The derivatives of discrete Fourier transforms, which are linear.

The matrix of a transform is symmetric, so that under the convention that adjoints are not conjugated each complex transform is
its own transpose. A transform of real numbers is a complex one of which a part is kept: its transpose puts zeros there and keeps
the real part. In `irfft` each number but the first, and for even lengths the last, stands for two.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import Operation, SSAValue

from mind_dialect.ptir import ConjOp, FftOp, IotaOp, OrOp, PadOp, RealOp
from mind_dialect.ptir.types import SI64

from ...ptir.construct import Value, broadcast, compare, dims, elementwise, filled, mul, spec, where
from ..rules import Rules, linear
from ..walks import ForwardRow, Row


def itself(op: FftOp, g: SSAValue) -> Value:
    return FftOp(g, **op.values())


def halved(op: FftOp, g: SSAValue) -> Value:
    """Of `rfft`: the real part of the whole transform of the half, zeros after it."""
    lengths = op.values()["lengths"]
    none = (0,) * len(spec(g).shape)
    missing = (*none[1:], lengths[-1] - (lengths[-1] // 2 + 1))
    whole = PadOp(g, low=none, high=missing, interior=none, pad_value=0.0) if missing[-1] else g
    return RealOp(FftOp(whole, kind="fft", lengths=lengths))


def doubled(op: FftOp, g: SSAValue) -> Value:
    """Of `irfft`: the conjugate of the half transform, each number weighed by how many it stands for over the length."""
    lengths = op.values()["lengths"]
    half = ConjOp(FftOp(g, kind="rfft", lengths=lengths))
    dtype, extent, count = spec(half).dtype, lengths[-1] // 2 + 1, prod(lengths)
    once, twice = (filled(n / count, dtype, (extent,)) for n in (1, 2))
    return mul(half, broadcast(where(stands_for_one(lengths[-1]), once, twice), dims(half)))


def stands_for_one(length: int) -> Value:
    """Return whether each number of half a transform stands for itself alone, rather than for two of the whole."""
    extent = length // 2 + 1
    place = IotaOp(shape=(extent,), dtype=SI64, axis=0)
    first = compare("equal", place, filled(0, SI64, (extent,)))
    if length % 2:
        return first
    return elementwise(OrOp, first, compare("equal", place, filled(length // 2, SI64, (extent,))))


_RULES: dict[str, Rules] = {"fft": (itself,), "ifft": (itself,), "rfft": (halved,), "irfft": (doubled,)}
REVERSE: dict[type[Operation], Row] = {FftOp: lambda op: _RULES[op.values()["kind"]]}
FORWARD: dict[type[Operation], ForwardRow] = {FftOp: linear(0)}
