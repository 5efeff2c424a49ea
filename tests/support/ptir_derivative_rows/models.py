"""Normalisation, sorting, quantisation and random numbers."""

from __future__ import annotations

from typing import Any

from mind_dialect.ptir import (
    DequantizeOp,
    LayerNormOp,
    MulOp,
    QuantizeOp,
    RequantizeOp,
    RngNormalOp,
    RngUniformOp,
    SortOp,
    TopKOp,
)
from mind_passes.ptir.construct import cast, mul, spec

from .base import R, Row, distinct

B = {"B": 3}


def layer_norm(arguments: str, axis: int, epsilon: float = 1e-5, **given: Any) -> Row:
    def jax(jax: Any, x: Any, gamma: Any, beta: Any) -> Any:
        along = [-1 if a == axis % x.ndim else 1 for a in range(x.ndim)]
        centred = x - x.mean(axis, keepdims=True)
        scale = jax.lax.rsqrt((centred * centred).mean(axis, keepdims=True) + epsilon)
        return centred * scale * gamma.reshape(along) + beta.reshape(along)

    oracle = None if "B" in arguments or "[0" in arguments else jax
    return R(LayerNormOp, arguments, feature_axis=axis, epsilon=epsilon, jax=oracle, **given)


NORMALISATION: list[Row] = [
    layer_norm("f64[2,6] f64[6] f64[6]", -1),
    layer_norm("f64[2,3,4] f64[4] f64[4]", 2),
    layer_norm("f64[2,3,4] f64[3] f64[3]", 1, 0.1),
    layer_norm("f64[3,4] f64[3] f64[3]", 0),
    layer_norm("f64[5] f64[5] f64[5]", 0, 0.5),
    layer_norm("f64[2,1] f64[1] f64[1]", 1, 0.5),
    layer_norm("f64[0,3] f64[3] f64[3]", 1),
    layer_norm("f64[B,4] f64[4] f64[4]", 1, extents=B),
    layer_norm("f64[2,B] f64[B] f64[B]", 1, extents=B),
]


def ordered(x: Any, largest: bool, jax: Any, axis: int) -> Any:
    found = jax.numpy.sort(x, axis=axis)
    return jax.numpy.flip(found, axis) if largest else found


ORDER: list[Row] = [
    *(
        R(
            SortOp,
            "f64[3,4]",
            domain=distinct,
            axis=axis,
            descending=descending,
            jax=lambda jax, x, axis=axis, descending=descending: ordered(x, descending, jax, axis),
        )
        for axis in (0, -1)
        for descending in (False, True)
    ),
    R(SortOp, "f64[1]", axis=0, descending=False),
    R(SortOp, "f64[0,2]", axis=0, descending=False),
    R(SortOp, "f64[B,3]", domain=distinct, axis=1, descending=True, extents=B),
    *(
        R(
            TopKOp,
            "f64[3,5]",
            domain=distinct,
            k=2,
            axis=1,
            largest=largest,
            indices_dtype="si32",
            jax=(lambda jax, x: tuple(jax.lax.top_k(x, 2))) if largest else None,
        )
        for largest in (True, False)
    ),
    R(TopKOp, "f64[4,2]", domain=distinct, k=4, axis=-2, largest=True, indices_dtype="si64"),
    R(TopKOp, "f64[4,2]", k=0, axis=0, largest=True, indices_dtype="si32"),
    R(TopKOp, "f64[1]", k=1, axis=0, largest=True, indices_dtype="si32"),
    R(TopKOp, "f64[B,3]", domain=distinct, k=2, axis=1, largest=True, indices_dtype="si32", extents=B),
]


def rounded(x: Any, scale: Any, zero: Any) -> Any:
    """Integers do not vary; beside them something that does."""
    q = QuantizeOp(x, scale, zero, output_dtype="si8")
    return mul(cast(q, spec(x).dtype), x)


def rescaled(x: Any, q: Any, scale: Any, zero: Any) -> Any:
    other = RequantizeOp(q, scale, zero, scale, zero, output_dtype="si8")
    return mul(cast(other, spec(x).dtype), x)


QUANTISATION: list[Row] = [
    R(DequantizeOp, "si8[2,3] f64[] si8[]", data={0: [[1, -2, 3], [7, 0, 5]], 2: 1}),
    R(DequantizeOp, "si8[2,3] f64[3] si8[3]", axis=1, data={0: [[1, -2, 3], [7, 0, 5]], 2: [1, 0, -1]}),
    R(DequantizeOp, "si8[3,2] f64[3] si8[3]", axis=-2, data={0: [1, -2, 3, 7, 0, 5], 2: [1, 0, -1]}),
    R(DequantizeOp, "si8[] f64[] si8[]", data={0: 4, 2: 1}),
    R(DequantizeOp, "si8[0] f64[] si8[]", data={0: [], 2: 1}),
    R(
        QuantizeOp,
        "f64[3] f64[] si8[]",
        data={0: [0.31, -1.12, 2.2], 1: 0.5, 2: 1},
        build=rounded,
    ),
    R(
        RequantizeOp,
        "f64[3] si8[3] f64[] si8[]",
        data={1: [1, -2, 3], 2: 0.5, 3: 1},
        build=rescaled,
    ),
]


RANDOM: list[Row] = [
    R(op, "f64[2,3]", build=lambda x, op=op: MulOp(x, op(shape=(2, 3), dtype=spec(x).dtype)))
    for op in (RngUniformOp, RngNormalOp)
]

ROWS: list[Row] = [*NORMALISATION, *ORDER, *QUANTISATION, *RANDOM]
