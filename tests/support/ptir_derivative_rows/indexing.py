"""Ops that move elements to and from computed places."""

from __future__ import annotations

from typing import Any

from mind_dialect.ptir import (
    DynamicSliceOp,
    DynamicUpdateSliceOp,
    GatherOp,
    ScatterAddOp,
    ScatterReduceOp,
    TakeOp,
)

from .base import R, Row, distinct

B = {"B": 2}


def jax_take(jax: Any, x: Any, places: Any) -> Any:
    return jax.numpy.take(x, places, axis=0)


TAKES: list[Row] = [
    R(TakeOp, "f64[5,3] si32[2,2]", data={1: [[0, 4], [4, 4]]}, jax=jax_take),
    R(TakeOp, "f64[5] si64[]", data={1: 3}, jax=jax_take),
    R(TakeOp, "f64[4,2] si32[3]", data={1: [3, 0, 3]}, jax=jax_take),
    R(TakeOp, "f64[4,2] si32[0]", data={1: []}),
    R(TakeOp, "f64[1,0] si32[2]", data={1: [0, 0]}),
    R(TakeOp, "f64[5,B] si32[B]", data={1: [1, 1]}, extents=B),
    R(TakeOp, "f64[B,2] si32[3]", data={1: [1, 0, 1]}, extents=B),
]


def gather(arguments: str, axis: int, places: Any, **given: Any) -> Row:
    jax = None if "B" in arguments else (lambda jax, x, i: jax.numpy.take_along_axis(x, i, axis))
    return R(GatherOp, arguments, axis=axis, data={1: places}, jax=jax, **given)


GATHERS: list[Row] = [
    gather("f64[2,3] si32[2,4]", 1, [[0, 2, 2, 1], [1, 1, 1, 0]]),
    gather("f64[2,3] si64[1,3]", -2, [[1, 0, 1]]),
    gather("f64[3] si32[0]", 0, []),
    gather("f64[1,1] si32[1,1]", 0, [[0]]),
    gather("f64[B,3] si32[B,2]", 1, [[0, 0], [2, 1]], extents=B),
]


def scatter_add(arguments: str, places: Any, window: Any, inserted: Any, targets: Any, vector: Any = None, **given: Any) -> Row:
    return R(
        ScatterAddOp,
        arguments,
        data={1: places},
        update_window_dims=window,
        inserted_window_dims=inserted,
        scatter_dims_to_operand_dims=targets,
        index_vector_dim=vector,
        note=f"{window} {inserted} {targets} {vector}",
        **given,
    )


SCATTER_ADDS: list[Row] = [
    scatter_add("f64[5,3] si32[2,2] f64[2,2,3]", [[0, 4], [4, 4]], (2,), (0,), (0,)),
    scatter_add("f64[5,3] si32[2,2] f64[3,2,2]", [[0, 4], [4, 4]], (0,), (0,), (0,), 2),
    scatter_add("f64[5] si32[3] f64[3]", [1, 1, 0], (), (0,), (0,)),
    scatter_add("f64[5,3] si64[] f64[3]", 2, (0,), (0,), (0,)),
    scatter_add("f64[4,5] si32[3,2] f64[3]", [[0, 0], [3, 4], [0, 0]], (), (0, 1), (0, 1), 1),
    scatter_add("f64[4,5] si32[2,3] f64[3]", [[0, 3, 0], [0, 4, 0]], (), (0, 1), (0, 1), 0),
    scatter_add("f64[4,5] si32[2,2] f64[2,2,3]", [[0, 2], [1, 1]], (1, 2), (), (0, 1), 1),
    scatter_add("f64[4,5] si32[2,2] f64[2,2,3]", [[2, 0], [1, 1]], (1, 2), (), (1, 0), 1),
    scatter_add("f64[4,5] si32[2] f64[4,2]", [3, 3], (0,), (1,), (1,)),
    scatter_add("f64[4,5] si32[2,0] f64[2,4,5]", [], (1, 2), (), (), 1),
    scatter_add("f64[4,5] si32[0] f64[0,5]", [], (1,), (0,), (0,)),
    scatter_add("f64[] si32[0] f64[]", [], (), (), (), 0),
    scatter_add("f64[1,1] si32[1] f64[1,1]", [0], (1,), (0,), (0,)),
    scatter_add("f64[5,3] si32[B] f64[B,3]", [0, 0], (1,), (0,), (0,), extents=B),
    scatter_add("f64[B,3] si32[2,2] f64[2]", [[0, 2], [1, 1]], (), (0, 1), (0, 1), 1, extents=B, smooth=False),
    scatter_add("f64[3,3] si32[B,2] f64[B]", [[0, 2], [1, 1]], (), (0, 1), (0, 1), 1, extents=B),
]


def scatter(kind: str, arguments: str, axis: int, places: Any, **given: Any) -> Row:
    return R(ScatterReduceOp, arguments, kind=kind, axis=axis, data={1: places}, domain=(distinct, None, distinct), **given)


SCATTERS: list[Row] = [
    row
    for kind in ("add", "max", "min", "replace")
    for row in (
        scatter(kind, "f64[3,4] si32[3,5] f64[3,5]", 1, [[0, 3, 0, 3, 3], [1, 1, 1, 1, 1], [0, 1, 2, 3, 0]]),
        scatter(kind, "f64[3,2] si64[4,2] f64[4,2]", -2, [[0, 2], [0, 2], [1, 1], [0, 2]]),
        scatter(kind, "f64[4] si32[1] f64[1]", 0, [2]),
        scatter(kind, "f64[4] si32[0] f64[0]", 0, []),
        scatter(kind, "f64[1] si32[3] f64[3]", 0, [0, 0, 0]),
        scatter(kind, "f64[B,3] si32[B,2] f64[B,2]", 1, [[0, 0], [2, 1]], extents=B),
    )
]


def sliced(arguments: str, start: Any, sizes: Any, **given: Any) -> Row:
    jax = None if "B" in arguments else (lambda jax, x, s: jax.lax.dynamic_slice(x, s, sizes))
    return R(DynamicSliceOp, arguments, data={1: start}, sizes=sizes, jax=jax, note=f"at {start}", **given)


def updated(arguments: str, start: Any, sizes: Any, **given: Any) -> Row:
    jax = None if "B" in arguments else (lambda jax, x, u, s: jax.lax.dynamic_update_slice(x, u, s))
    return R(DynamicUpdateSliceOp, arguments, data={2: start}, sizes=sizes, jax=jax, note=f"at {start}", **given)


DYNAMIC: list[Row] = [
    sliced("f64[4,5] si32[2]", [1, 2], (2, 3)),
    sliced("f64[4,5] si64[2]", [3, 9], (2, 3)),
    sliced("f64[4] si32[1]", [0], (0,)),
    R(DynamicSliceOp, "f64[] si32[0]", data={1: []}, sizes=()),
    sliced("f64[B,3] si32[2]", [1, 1], (1, 2), extents=B),
    updated("f64[4,5] f64[2,3] si32[2]", [1, 2], (2, 3)),
    updated("f64[4,5] f64[2,3] si64[2]", [3, 9], (2, 3)),
    updated("f64[4] f64[0] si32[1]", [0], (0,)),
    updated("f64[3] f64[3] si32[1]", [0], (3,)),
    R(DynamicUpdateSliceOp, "f64[] f64[] si32[0]", data={2: []}, sizes=()),
    updated("f64[B,3] f64[1,2] si32[2]", [5, 1], (1, 2), extents=B),
]

ROWS: list[Row] = [*TAKES, *GATHERS, *SCATTER_ADDS, *SCATTERS, *DYNAMIC]
