"""What is computed at each place by itself."""

from __future__ import annotations

from mind_dialect.ptir import ExpOp

from .base import R, Row

ROWS: list[Row] = [
    R(ExpOp, "f64[2,3]", jax=lambda jax, x: jax.numpy.exp(x)),
]
