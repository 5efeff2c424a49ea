"""Rows of discrete Fourier transforms: even and odd lengths, one axis and several, real and complex."""

from __future__ import annotations

from typing import Any

from mind_dialect.ptir import FftOp

from .base import R, Row


def row(arguments: str, kind: str, *lengths: int, **extents: int) -> Row:
    """With JAX's own transform as an oracle."""

    def by_jax(jax: Any, x: Any) -> Any:
        return jax.lax.fft(x, kind.upper(), lengths)

    return R(FftOp, arguments, kind=kind, lengths=lengths, jax=None if extents else by_jax, extents=extents)


ROWS: list[Row] = [
    *(row(f"cf64[{n}]", kind, n) for n in (1, 4, 5) for kind in ("fft", "ifft")),
    *(row(f"f64[{n}]", "rfft", n) for n in (1, 2, 4, 5)),
    *(row(f"cf64[{n // 2 + 1}]", "irfft", n) for n in (1, 2, 4, 5)),
    row("cf64[2,3,4]", "ifft", 3, 4),
    row("f64[2,3,4]", "rfft", 3, 4),
    row("cf64[2,2,3,2]", "irfft", 2, 3, 3),
    row("f64[B,4]", "rfft", 4, B=3),
    row("cf64[B,3]", "irfft", 4, B=3),
]
