"""Ops that move, repeat or number elements."""

from __future__ import annotations

from mind_dialect.ptir import ReshapeOp

from .base import R, Row

ROWS: list[Row] = [
    R(ReshapeOp, "f64[2,6]", new_shape=(3, -1), jax=lambda jax, x: x.reshape(3, 4)),
]
