"""Ops that move elements to and from computed places."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mind_dialect.ptir import (
    DynamicSliceOp,
    DynamicUpdateSliceOp,
    GatherOp,
    GatherWindowsOp,
    ScatterAddOp,
    ScatterReduceOp,
    ScatterWindowsOp,
    TakeOp,
)
from mind_dialect.ptir.windows_at import scatter_dims
from mind_passes.ptir.construct import mul

from .base import R, Row, distinct, normal

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

NONE = {"operand_batching_dims": (), "start_indices_batching_dims": ()}
OF_ROWS = {**NONE, "offset_dims": (1,), "collapsed_slice_dims": (0,), "start_index_map": (0,), "index_vector_dim": 1}
OF_PARTS = {**NONE, "offset_dims": (1, 2), "collapsed_slice_dims": (), "start_index_map": (1, 0), "index_vector_dim": 1}
OF_PAIRS = {
    **{"offset_dims": (2,), "collapsed_slice_dims": (1,), "start_index_map": (1,), "index_vector_dim": 2},
    **{"operand_batching_dims": (0,), "start_indices_batching_dims": (0,)},
}
OUTSIDE = [[-1], [4], [1], [1]]


def read(arguments: str, dims: dict[str, Any], indices: Any, sizes: tuple[int, ...], mode: str) -> Row:
    """With JAX's gather as an oracle, which looks at whole windows: here each is inside or, but for `clamp`, outside."""

    def by_jax(jax: Any, x: Any, indices: Any) -> Any:
        numbers = {name: v for name, v in dims.items() if name != "index_vector_dim"}
        modes = {"raise": "promise_in_bounds", "clamp": "clip", "fill": "fill"}
        given = {"mode": modes[mode], "fill_value": 0.0 if mode == "fill" else None}
        return jax.lax.gather(x, indices, jax.lax.GatherDimensionNumbers(**numbers), sizes, **given)

    return R(GatherWindowsOp, arguments, data={1: indices}, slice_sizes=sizes, mode=mode, jax=by_jax, **dims)


BY_JAX = {"add": "scatter_add", "mul": "scatter_mul", "replace": "scatter"}
"""What JAX differentiates; of extremes it has no derivative."""


def written(arguments: str, dims: dict[str, Any], indices: Any, kind: str, **given: Any) -> Row:
    given = {"mode": "drop", "unique": False, "domain": (distinct, None, distinct), **given}
    theirs = scatter_dims(dims)

    def by_jax(jax: Any, x: Any, indices: Any, updates: Any) -> Any:
        renamed = {"input_batching_dims": "operand_batching_dims"}
        numbers = {renamed.get(name, name): v for name, v in theirs.items() if name != "index_vector_dim"}
        scatter = getattr(jax.lax, BY_JAX[kind])
        options = {"mode": "drop", "unique_indices": given["unique"]}
        return scatter(x, indices, updates, jax.lax.ScatterDimensionNumbers(**numbers), **options)

    jax = by_jax if kind in BY_JAX else None
    return R(ScatterWindowsOp, arguments, data={1: indices}, kind=kind, jax=jax, **theirs, **given)


def updates_twice(mode: str, unique: bool) -> Any:
    """Whatever is written is read and written again, so that second derivatives see both."""

    def body(x: Any, indices: Any, updates: Any) -> Any:
        dims = {**scatter_dims(OF_ROWS), "mode": mode, "unique": unique}
        return mul(ScatterWindowsOp(x, indices, updates, kind="mul", **dims), x)

    return body


WINDOWS_AT: list[Row] = [
    *(read("f64[5,4] si32[4,1]", OF_ROWS, OUTSIDE, (1, 3), mode) for mode in ("clamp", "fill")),
    read("f64[5,4] si64[3,2]", OF_PARTS, [[1, 0], [0, 3], [1, 1]], (2, 3), "raise"),
    read("f64[5,4] si64[3,2]", OF_PARTS, [[9, 0], [0, 3], [1, 1]], (2, 3), "clamp"),
    read("f64[2,5,4] si32[2,3,1]", OF_PAIRS, [0, 1, 1, 4, 7, 2], (1, 1, 2), "fill"),
    read("cf64[5,4] si32[4,1]", OF_ROWS, OUTSIDE, (1, 3), "fill"),
    *(written("f64[5,4] si32[4,1] f64[4,3]", OF_ROWS, OUTSIDE, kind) for kind in ("add", "min", "max", "replace")),
    *(written("f64[5,4] si32[2,2] f64[2,2,3]", OF_PARTS, [[1, 0], [0, 3]], kind) for kind in ("add", "max", "replace")),
    *(written("f64[2,5,4] si32[2,2,1] f64[2,2,2]", OF_PAIRS, [0, 1, 9, 2], kind) for kind in ("add", "replace")),
    written("f64[5,4] si32[3,1] f64[3,3]", OF_ROWS, [[4], [9], [1]], "mul", unique=True),
    replace(written("f64[5,4] si32[4,1] f64[4,3]", OF_ROWS, [[4], [9], [1], [4]], "mul"), jax=None),  # JAX asks for the promise
    written("f64[5,4] si32[3,1] f64[3,3]", OF_ROWS, [[4], [0], [1]], "replace", unique=True, mode="raise"),
    written("cf64[5,4] si32[2,1] cf64[2,3]", OF_ROWS, [[4], [1]], "mul", unique=True, domain=normal),
    R(
        ScatterWindowsOp,
        "f64[5,4] si32[2,1] f64[2,4]",
        data={1: [[4], [1]]},
        build=updates_twice("raise", True),
        note="of products",
    ),
]

ROWS: list[Row] = [*TAKES, *GATHERS, *SCATTER_ADDS, *SCATTERS, *DYNAMIC, *WINDOWS_AT]
