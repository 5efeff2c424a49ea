"""Rewrites of complex numbers and their parts. Each part is what it was, to the last bit."""

from __future__ import annotations

from mind_dialect import ptir
from mind_dialect.ptir.types import Kind, part_of

from ..building import Found, fill, in_place_of, is_known, of_one_shape, spec_of, stands_for

PartOp = ptir.RealOp | ptir.ImagOp


def part_of_complex(op: PartOp) -> Found:
    """`real(complex(a, b)) = a`, `imag(complex(a, b)) = b`, of parts of one shape: nothing is left to check."""
    whole = op.x.owner
    if not isinstance(whole, ptir.ComplexOp) or not of_one_shape(whole):
        return None
    return stands_for(whole.lhs if isinstance(op, ptir.RealOp) else whole.rhs, op)


def part_of_conj(op: PartOp) -> Found:
    """`real(conj(z)) = real(z)`, `imag(conj(z)) = -imag(z)`, where all sizes are known or named."""
    inner = op.x.owner
    if not isinstance(inner, ptir.ConjOp) or not is_known(inner):
        return None
    part = in_place_of(op, type(op), inner.x)
    return part if isinstance(op, ptir.RealOp) else in_place_of(op, ptir.NegOp, part.result)


def part_of_cast(op: PartOp) -> Found:
    """`real(cast(x)) = cast(x)`, `imag(cast(x)) = 0`, of real numbers that become complex, where all sizes are known or named."""
    inner = op.x.owner
    if not isinstance(inner, ptir.CastOp) or not is_known(inner) or spec_of(inner.x).dtype.kind is Kind.COMPLEX:
        return None
    dtype, shape = spec_of(op.result)
    if isinstance(op, ptir.RealOp):
        return in_place_of(op, ptir.CastOp, inner.x, dtype=dtype)
    sizes = tuple(n for n in shape if isinstance(n, int))
    return fill(op, part_of(dtype), sizes, 0.0) if len(sizes) == len(shape) else None


def complex_of_parts(op: ptir.ComplexOp) -> Found:
    """`complex(real(z), imag(z)) = z`, of the same type."""
    real, imag = op.lhs.owner, op.rhs.owner
    if isinstance(real, ptir.RealOp) and isinstance(imag, ptir.ImagOp) and real.x is imag.x:
        return stands_for(real.x, op)
    return None


def conj_of_conj(op: ptir.ConjOp) -> Found:
    """`conj(conj(z)) = z`, of the same type."""
    return stands_for(op.x.owner.x, op) if isinstance(op.x.owner, ptir.ConjOp) else None


def conj_of_complex(op: ptir.ConjOp) -> Found:
    """`conj(complex(a, b)) = complex(a, -b)`, where all sizes are known or named."""
    whole = op.x.owner
    if not isinstance(whole, ptir.ComplexOp) or not is_known(whole):
        return None
    return in_place_of(op, ptir.ComplexOp, whole.lhs, in_place_of(op, ptir.NegOp, whole.rhs, type=whole.rhs.type).result)
