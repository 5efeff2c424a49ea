"""Reductions, running sums, segments and contractions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mind_dialect.ptir import (
    ArgMaxOp,
    ArgMinOp,
    ConstantOp,
    CumulativeOp,
    CumulativeSumOp,
    DotGeneralOp,
    PtirLiteralAttr,
    RaggedDotOp,
    ReduceOp,
    SegmentReduceOp,
)
from mind_dialect.ptir.types import SI32

from .base import R, Row, distinct

B = {"B": 3}
ZEROS = [[2, 0, 3, 4], [0, 1, 0, 2]]


def reduced(arguments: str, kind: str, axes: Any, keepdims: bool = False, **given: Any) -> Row:
    def jax(jax: Any, x: Any) -> Any:
        return getattr(jax.numpy, kind)(x, axis=axes, keepdims=keepdims)

    given.setdefault("jax", jax if axes and "B" not in arguments and "[0" not in arguments else None)
    return R(ReduceOp, arguments, kind=kind, axes=axes, keepdims=keepdims, domain=distinct, **given)


REDUCTIONS: list[Row] = [
    *(
        reduced("f64[3,4,2]", kind, axes, keepdims)
        for kind in ("sum", "max", "min")
        for axes in ((1,), (0, -1), (0, 1, 2))
        for keepdims in (False, True)
    ),
    *(reduced("f64[2,3]", kind, ()) for kind in ("sum", "max")),
    *(reduced("f64[]", kind, ()) for kind in ("sum", "min")),
    *(reduced("f64[1,3]", kind, (0,)) for kind in ("sum", "max", "min")),
    *(reduced("f64[0,3]", kind, (0,)) for kind in ("sum", "max", "min")),
    *(reduced("f64[0,3]", kind, (1,)) for kind in ("sum", "max", "min")),
    *(reduced("f64[B,2]", kind, (0,), extents=B) for kind in ("sum", "max", "min")),
    *(reduced("f64[B,2]", kind, (0,), extents={"B": 0}, note="empty") for kind in ("sum", "max")),
    reduced("f64[2,B]", "max", (0,), True, extents=B),
    *(reduced("f64[2,3,2]", "prod", axes, True) for axes in ((1,), (0, -1), (0, 1, 2))),
    reduced("f64[2,3]", "prod", ()),
    reduced("f64[1,3]", "prod", (0,)),
    reduced("f64[0,3]", "prod", (0,)),
    reduced("f64[B,2]", "prod", (1, 0), extents=B),
    reduced("cf64[3,2]", "prod", (0,), note="of complex numbers"),
    R(ReduceOp, "f64[2,3]", kind="prod", axes=(1,), keepdims=False, data={0: [[0, 2, 3], [0, 0, 3]]}, note="with zeros"),
    reduced("f64[3,1]", "prod", (1, 0)),
]


def argmax(x: Any) -> Any:
    """The indices, and something that varies beside them."""
    places = ArgMaxOp(x, axis=1, keepdims=False, output_dtype="si64")
    return SegmentReduceOp(x, places, kind="sum", num_segments=3, indices_are_sorted=False, unique=False)


def running(name: str) -> Callable[..., Any]:
    """JAX's running reduction along axis 0."""
    return lambda jax, x: getattr(jax.lax, name)(x, axis=0)


def argmin(x: Any) -> Any:
    places = ArgMinOp(x, axis=1, keepdims=False, output_dtype="si64")
    return SegmentReduceOp(x, places, kind="sum", num_segments=3, indices_are_sorted=False, unique=False)


ARG_MAX: list[Row] = [
    R(ArgMinOp, "f64[4,3]", build=argmin, domain=distinct, note="as indices"),
    R(ArgMaxOp, "f64[4,3]", build=argmax, domain=distinct, note="as indices"),
]

CUMULATIVE: list[Row] = [
    *(
        R(CumulativeSumOp, "f64[3,4]", axis=1, exclusive=exclusive, reverse=reverse)
        for exclusive in (False, True)
        for reverse in (False, True)
    ),
    R(CumulativeSumOp, "f64[3,4]", axis=-2, exclusive=False, reverse=False, jax=lambda jax, x: jax.numpy.cumsum(x, 0)),
    R(CumulativeSumOp, "f64[1]", axis=0, exclusive=True, reverse=False),
    R(CumulativeSumOp, "f64[0,2]", axis=0, exclusive=False, reverse=False),
    R(CumulativeSumOp, "f64[B,2]", axis=0, exclusive=True, reverse=True, extents=B),
    *(
        R(CumulativeOp, "f64[2,4]", kind=kind, axis=1, exclusive=exclusive, reverse=reverse, domain=distinct)
        for kind in ("prod", "max", "min")
        for exclusive in (False, True)
        for reverse in (False, True)
    ),
    *(
        R(CumulativeOp, "f64[3,2]", kind=kind, axis=0, exclusive=False, reverse=False, jax=running(f"cum{kind}"), domain=distinct)
        for kind in ("prod", "max", "min")
    ),
    R(CumulativeOp, "f64[2,4]", kind="prod", axis=1, exclusive=False, reverse=False, data={0: ZEROS}, note="with zeros"),
    R(CumulativeOp, "cf64[3]", kind="prod", axis=0, exclusive=False, reverse=True),
    *(
        R(CumulativeOp, "f64[B,2]", kind=k, axis=0, exclusive=True, reverse=True, extents=B, domain=distinct)
        for k in ("prod", "max")
    ),
    *(R(CumulativeOp, "f64[0,2]", kind=k, axis=0, exclusive=False, reverse=False) for k in ("prod", "min")),
    *(R(CumulativeOp, "f64[1]", kind=k, axis=0, exclusive=True, reverse=False) for k in ("prod", "max")),
]


def segments(arguments: str, kind: str, ids: Any, count: int, **given: Any) -> Row:
    def jax(jax: Any, x: Any, ids: Any) -> Any:
        return getattr(jax.ops, f"segment_{kind}")(x, ids, count)

    given.setdefault("jax", jax if count and "B" not in arguments else None)
    promises = {"indices_are_sorted": False, "unique": False, **given.pop("promises", {})}
    return R(
        SegmentReduceOp, arguments, data={1: ids}, domain=(distinct, None), kind=kind, num_segments=count, **promises, **given
    )


SEGMENTS: list[Row] = [
    row
    for kind in ("sum", "max")
    for row in (
        segments("f64[6,2] si32[6]", kind, [0, 2, 0, 2, 1, 2], 3),
        segments("f64[6,2] si32[6]", kind, [0, 2, 0, 2, 2, 4], 5, jax=None),
        segments("f64[4] si64[4]", kind, [0, 0, 1, 1], 2, promises={"indices_are_sorted": True}),
        segments("f64[3] si32[3]", kind, [2, 0, 1], 3, promises={"unique": True}),
        segments("f64[0,2] si32[0]", kind, [], 2, jax=None),
        segments("f64[0] si32[0]", kind, [], 0),
        segments("f64[1,1] si32[1]", kind, [0], 1),
        segments("f64[B,2] si32[B]", kind, [1, 0, 1], 2, extents=B),
    )
]


def dot(arguments: str, batch: Any, contract: Any, **given: Any) -> Row:
    def jax(jax: Any, x: Any, y: Any) -> Any:
        return jax.lax.dot_general(x, y, (contract, batch))

    plain = not any(a < 0 for pair in (batch, contract) for side in pair for a in side) and "B" not in arguments
    given.setdefault("jax", jax if plain else None)
    return R(
        DotGeneralOp,
        arguments,
        batch_lhs=batch[0],
        batch_rhs=batch[1],
        contract_lhs=contract[0],
        contract_rhs=contract[1],
        **given,
        note=f"{batch} {contract}".replace(" ", ""),
    )


NO = ((), ())
DOTS: list[Row] = [
    dot("f64[2,3] f64[3,4]", NO, ((1,), (0,))),
    dot("f64[2,3] f64[4,3]", NO, ((1,), (1,))),
    dot("f64[3,2] f64[3,4]", NO, ((0,), (0,))),
    dot("f64[3,2] f64[4,3]", NO, ((-2,), (-1,))),
    dot("f64[3] f64[3]", NO, ((0,), (0,))),
    dot("f64[2,3] f64[3]", NO, ((1,), (0,))),
    dot("f64[3] f64[3,2]", NO, ((0,), (0,))),
    dot("f64[2] f64[3]", NO, NO),
    dot("f64[] f64[3]", NO, NO),
    dot("f64[] f64[]", NO, NO),
    dot("f64[5,2,3] f64[5,3,4]", ((0,), (0,)), ((2,), (1,))),
    dot("f64[5,2,3] f64[5,4,3]", ((0,), (0,)), ((2,), (2,))),
    dot("f64[2,5,3] f64[3,4,5]", ((1,), (2,)), ((2,), (0,))),
    dot("f64[2,3,4,5] f64[4,3,6,5]", ((3, 1), (3, 1)), ((2,), (0,))),
    dot("f64[2,3,4] f64[4,2,5]", NO, ((2, 0), (0, 1))),
    dot("f64[2,3,4] f64[4,2,5]", NO, ((0, 2), (1, 0))),
    dot("f64[2,3,4] f64[3,2,4]", ((0,), (1,)), ((1, 2), (0, 2))),
    dot("f64[2,3] f64[2,3]", ((0, 1), (0, 1)), NO),
    dot("f64[0,3] f64[3,4]", NO, ((1,), (0,))),
    dot("f64[2,0] f64[0,4]", NO, ((1,), (0,))),
    dot("f64[1,1] f64[1,1]", NO, ((1,), (0,))),
    dot("f64[B,3] f64[3,4]", NO, ((1,), (0,)), extents=B),
    dot("f64[B,2,3] f64[B,3,4]", ((0,), (0,)), ((2,), (1,)), extents=B),
    dot("f64[B,3] f64[B,4]", NO, ((0,), (0,)), extents=B),
    R(
        DotGeneralOp,
        "f64[3,3]",
        note="of a matrix and itself",
        build=lambda x: DotGeneralOp(x, x, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,)),
        jax=lambda jax, x: x @ x,
    ),
]

SIZES = (2, 0, 1)
"""The last two of 5 rows are in no group."""


def ragged(arguments: str, kind: str, sizes: Sequence[int] = SIZES, **given: Any) -> Row:
    def build(a: Any, b: Any) -> RaggedDotOp:
        literal = PtirLiteralAttr.from_values(SI32, (len(sizes),), sizes)
        return RaggedDotOp(a, b, ConstantOp(literal), kind=kind)

    def by_jax(jax: Any, a: Any, b: Any) -> Any:
        return jax.lax.ragged_dot(a, b, jax.numpy.asarray(sizes))

    jax = by_jax if kind == "rows" and sizes is SIZES and "c" not in arguments and "B" not in arguments else None
    return R(RaggedDotOp, arguments, build=build, note=f"{kind} {list(sizes)}", jax=jax, **given)


RAGGED = [
    ragged("f64[5,2] f64[3,2,4]", "rows"),
    ragged("f64[5,2] f64[5,4]", "contract"),
    ragged("f64[5,2] f64[3,2,4]", "rows", (-1, 3, 9)),
    ragged("cf64[5,2] cf64[3,2,1]", "rows"),
    ragged("cf64[5,2] cf64[5,1]", "contract"),
    ragged("f64[B,2] f64[3,2,4]", "rows", extents=B),
    ragged("f64[B,2] f64[B,4]", "contract", extents=B),
]
ROWS: list[Row] = [*RAGGED, *REDUCTIONS, *ARG_MAX, *CUMULATIVE, *SEGMENTS, *DOTS]
