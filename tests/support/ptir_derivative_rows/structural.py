"""Ops that move, repeat or number elements."""

from __future__ import annotations

from typing import Any

from mind_dialect.ptir import (
    BroadcastToOp,
    CastOp,
    ConcatOp,
    DimensionSizeOp,
    IotaOp,
    PadOp,
    ReshapeOp,
    ReverseOp,
    SinOp,
    SliceOp,
    StridedSliceOp,
    TileOp,
    TransposeOp,
)
from mind_passes.ptir.construct import mul, spec

from .base import R, Row

B = {"B": 2}


def jax_pad(jax: Any, x: Any, low: Any, high: Any, interior: Any) -> Any:
    return jax.lax.pad(x, 1.5, list(zip(low, high, interior, strict=True)))


def padded(arguments: str, low: Any, high: Any, interior: Any, value: float = 1.5, **given: Any) -> Row:
    edges = {"low": low, "high": high, "interior": interior}
    jax = (lambda jax, x: jax_pad(jax, x, **edges)) if value == 1.5 and "B" not in arguments else None
    return R(PadOp, arguments, pad_value=value, jax=jax, **edges, **given)


SHAPES: list[Row] = [
    R(ReshapeOp, "f64[2,6]", new_shape=(3, -1), jax=lambda jax, x: x.reshape(3, 4)),
    R(ReshapeOp, "f64[1,1]", new_shape=()),
    R(ReshapeOp, "f64[]", new_shape=(1, 1)),
    R(ReshapeOp, "f64[0,3]", new_shape=(0, 7)),
    R(ReshapeOp, "f64[B,6]", new_shape=("B", 2, -1), extents=B),
    R(ReshapeOp, "f64[B,6]", new_shape=(-1,), extents=B),
    # From B and T to one dimension without a name, and back.
    R(
        ReshapeOp,
        "f64[B,T,2]",
        extents={"B": 2, "T": 3},
        build=lambda x: ReshapeOp(SinOp(ReshapeOp(x, new_shape=(-1, 2))), new_shape=("T", 2, "B")),
    ),
    R(TransposeOp, "f64[2,3,4]", perm=(2, 0, 1), jax=lambda jax, x: x.transpose(2, 0, 1)),
    R(TransposeOp, "f64[2,3,4]", perm=(-1, 0, 1)),
    R(TransposeOp, "f64[]", perm=()),
    R(TransposeOp, "f64[B,3]", perm=(1, 0), extents=B),
    R(BroadcastToOp, "f64[3,1]", result_shape=(2, 3, 4), jax=lambda jax, x: jax.numpy.broadcast_to(x, (2, 3, 4))),
    R(BroadcastToOp, "f64[3]", result_shape=(2, 3)),
    R(BroadcastToOp, "f64[1,3,1]", result_shape=(4, 3, 2)),
    R(BroadcastToOp, "f64[]", result_shape=(2, 3)),
    R(BroadcastToOp, "f64[2,1]", result_shape=(2, 1)),
    R(BroadcastToOp, "f64[1,3]", result_shape=(0, 3)),
    R(
        BroadcastToOp,
        "f64[B,1] f64[T]",
        extents={"B": 2, "T": 3},
        build=lambda x, y: BroadcastToOp(x, result_shape=(2, "B", "T")),
    ),
    R(TileOp, "f64[2,3]", repeats=(3, 2), jax=lambda jax, x: jax.numpy.tile(x, (3, 2))),
    R(TileOp, "f64[2,1]", repeats=(1, 3)),
    R(TileOp, "f64[2,3]", repeats=(2, 0)),
    R(TileOp, "f64[0,3]", repeats=(2, 2)),
    R(TileOp, "f64[]", repeats=()),
    R(TileOp, "f64[B,3]", repeats=(2, 1), extents=B),
    R(IotaOp, "f64[2,3]", build=lambda x: mul(x, IotaOp(shape=(2, 3), dtype=spec(x).dtype, axis=1))),
    R(
        DimensionSizeOp,
        "f64[B,3]",
        build=lambda x: mul(x, BroadcastToOp(CastOp(DimensionSizeOp(x, axis=0), dtype=spec(x).dtype), result_shape=("B", 3))),
        extents=B,
    ),
    R(ReverseOp, "f64[2,3,2]", axes=(0, -1), jax=lambda jax, x: x[::-1, :, ::-1]),
    R(ReverseOp, "f64[B,0]", axes=(0,), extents=B),
]

PARTS: list[Row] = [
    R(SliceOp, "f64[4,5]", starts=(1, 0), sizes=(2, 5), jax=lambda jax, x: x[1:3]),
    R(SliceOp, "f64[4]", starts=(4,), sizes=(0,)),
    R(SliceOp, "f64[]", starts=(), sizes=()),
    R(SliceOp, "f64[N,5]", starts=(1, 2), sizes=(2, 2), extents={"N": 4}),
    R(StridedSliceOp, "f64[7,6]", starts=(1, 0), limits=(6, 6), strides=(2, 4), jax=lambda jax, x: x[1:6:2, ::4]),
    R(StridedSliceOp, "f64[7,6]", starts=(1, 1), limits=(2, 6), strides=(3, 1)),
    R(StridedSliceOp, "f64[7]", starts=(3,), limits=(3,), strides=(2,)),
    R(StridedSliceOp, "f64[N,6]", starts=(1, 1), limits=(6, 6), strides=(2, 3), extents={"N": 7}),
    padded("f64[2,3]", (1, 0), (0, 2), (2, 0)),
    padded("f64[2,3]", (1, 0), (0, 2), (0, 0)),
    padded("f64[2,3]", (0, 0), (0, 0), (0, 1), value=float("-inf")),
    padded("f64[0,3]", (1, 0), (1, 2), (2, 1)),
    padded("f64[1,1]", (0, 0), (0, 0), (5, 5)),
    padded("f64[]", (), (), ()),
    # The result, and so the cotangent, has a dimension without a name, whose zeros a second reverse pass could not state.
    padded("f64[B,3]", (1, 1), (0, 2), (2, 1), extents=B, smooth=False),
    padded("f64[B,3]", (0, 1), (0, 2), (0, 0), extents=B),
    R(
        ConcatOp,
        "f64[2,3] f64[2,1] f64[2,2]",
        axis=-1,
        jax=lambda jax, *xs: jax.numpy.concatenate(xs, axis=-1),
    ),
    R(ConcatOp, "f64[2,3]", axis=0),
    R(ConcatOp, "f64[2] f64[0] f64[1]", axis=0),
    R(ConcatOp, "f64[2] f64[2]", axis=0),
    R(ConcatOp, "f64[2] f64[1]", build=lambda x, y: ConcatOp(x, y, x, axis=0)),
    R(ConcatOp, "f64[B,3] f64[B,2]", axis=1, extents=B),
    R(ConcatOp, "f64[B,3] f64[2,3] f64[T,3] f64[B,3]", axis=0, extents={"B": 2, "T": 3}, smooth=False),
    R(ConcatOp, "f64[3,B] f64[3,T]", axis=1, extents={"B": 2, "T": 3}, smooth=False),
]  # fmt: skip

ROWS: list[Row] = [*SHAPES, *PARTS]
