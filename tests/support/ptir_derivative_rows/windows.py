"""Windows: reductions, patches, convolution."""

from __future__ import annotations

from typing import Any

from mind_dialect.ptir import ConvolutionOp, ExtractPatchesOp, ReduceWindowOp, ReshapeOp, TakeOp, WindowArgOp

from .base import R, Row, distinct

B = {"B": 2}


def short(**given: Any) -> str:
    """What tells a row from others, without what is 0 or 1 everywhere."""
    shown = {k: str(v).replace(" ", "") for k, v in given.items() if set(str(v)) - set("01, ()")}
    return " ".join(f"{k}{v}" for k, v in shown.items())


def pooled(
    kind: str, arguments: str, window: Any, strides: Any, padding: Any, base: Any = None, dilation: Any = None, **given: Any
) -> Row:
    ones = (1,) * len(window)
    base, dilation = base or ones, dilation or ones

    def jax(jax: Any, x: Any) -> Any:
        function = {"sum": jax.lax.add, "max": jax.lax.max, "min": jax.lax.min}[kind]
        start = {"sum": 0.0, "max": -float("inf"), "min": float("inf")}[kind]
        return jax.lax.reduce_window(x, start, function, window, strides, padding, base, dilation)

    oracle = jax if "B" not in arguments and not given.pop("odd", False) else None
    return R(
        ReduceWindowOp,
        arguments,
        kind=kind,
        window_dims=window,
        strides=strides,
        padding=padding,
        base_dilation=base,
        window_dilation=dilation,
        note=short(kind=kind, w=window, s=strides, p=padding, b=base, d=dilation),
        domain=distinct,
        jax=oracle,
        **given,
    )


NO, ONE = (0, 0), (1, 1)


def taken(x: Any) -> Any:
    """A pooling as its winners: indices that nothing flows through, and the elements there."""
    windows = {"window_dims": (2, 2), "strides": (2, 1), "padding": ((1, 0), (0, 1)), "window_dilation": (1, 1)}
    places = WindowArgOp(x, kind="max", output_dtype="si64", **windows)
    return TakeOp(ReshapeOp(x, new_shape=(-1,)), places)


def largest(jax: Any, x: Any) -> Any:
    return jax.lax.reduce_window(x, -float("inf"), jax.lax.max, (2, 2), (2, 1), ((1, 0), (0, 1)))


WINNERS: list[Row] = [R(WindowArgOp, "f64[5,4]", build=taken, domain=distinct, note="as indices", jax=largest)]


def pools(kind: str) -> list[Row]:
    return [
        pooled(kind, "f64[2,4,6,2]", (1, 2, 2, 1), (1, 2, 2, 1), (NO, NO, NO, NO)),
        pooled(kind, "f64[2,5,7,2]", (1, 2, 2, 1), (1, 2, 2, 1), (NO, NO, NO, NO)),
        pooled(kind, "f64[5,7]", (2, 3), (2, 3), ((1, 0), (1, 2))),
        pooled(kind, "f64[1,5,6,2]", (1, 3, 3, 1), (1, 2, 2, 1), (NO, ONE, ONE, NO)),
        pooled(kind, "f64[1,5,5,2]", (1, 3, 3, 1), (1, 1, 1, 1), (NO, ONE, ONE, NO)),
        pooled(kind, "f64[2,2,5,5]", (1, 1, 3, 2), (1, 1, 2, 1), (NO, NO, ONE, NO)),
        pooled(kind, "f64[9]", (3,), (2,), ((2, 1),), dilation=(2,), odd=kind != "sum"),  # JAX has no such VJP
        pooled(kind, "f64[9]", (3,), (1,), ((1, 0),), dilation=(2,), odd=kind != "sum"),
        pooled(kind, "f64[5]", (2,), (1,), ((0, 1),), base=(3,), odd=True),
        pooled(kind, "f64[5]", (4,), (3,), ((2, 2),), base=(2,), odd=True),
        pooled(kind, "f64[4]", (2,), (1,), ((3, 4),), odd=True),
        pooled(kind, "f64[4]", (2,), (3,), ((5, 0),), odd=True),
        pooled(kind, "f64[2]", (2,), (2,), ((6, 6),), odd=True),
        pooled(kind, "f64[6]", (1,), (2,), (NO,)),
        pooled(kind, "f64[6,7]", (5, 6), (1, 2), ((2, 2), (1, 0))),
        pooled(kind, "f64[4,8,3]", (3, 7, 2), (1, 1, 1), (ONE, (3, 3), NO)),
        pooled(kind, "f64[30]", (20,), (1,), (NO,)),
        pooled(kind, "f64[3]", (5,), (1,), (NO,), odd=True),
        pooled(kind, "f64[0]", (2,), (1,), (ONE,), odd=True),
        pooled(kind, "f64[0]", (2,), (2,), (ONE,), odd=True),
        pooled(kind, "f64[1]", (1,), (1,), (NO,)),
        pooled(kind, "f64[]", (), (), (), odd=True),
        pooled(kind, "f64[3,1,1]", (1, 3, 1), (1, 1, 1), (NO, ONE, NO)),
        pooled(kind, "f64[B,5,5,2]", (1, 3, 3, 1), (1, 2, 2, 1), (NO, ONE, ONE, NO), extents=B),
        pooled(kind, "f64[B,4,4]", (1, 2, 2), (1, 2, 2), (NO, NO, NO), extents=B),
    ]


POOLS: list[Row] = [row for kind in ("sum", "max", "min") for row in pools(kind)]


def patches(arguments: str, window: Any, strides: Any, padding: Any, dilation: Any = None, **given: Any) -> Row:
    dilation = dilation or (1,) * len(window)
    return R(
        ExtractPatchesOp,
        arguments,
        window=window,
        strides=strides,
        dilation=dilation,
        padding=padding,
        pad_value=1.5,
        note=short(w=window, s=strides, p=padding, d=dilation),
        **given,
    )


PATCHES: list[Row] = [
    patches("f64[1,5,5,2]", (3, 3), (1, 1), (ONE, ONE)),
    patches("f64[1,6,5,2]", (3, 3), (2, 2), (ONE, ONE)),
    patches("f64[2,4,6,3]", (2, 2), (2, 2), (NO, NO)),
    patches("f64[1,7,7,1]", (2, 3), (3, 1), (NO, (0, 2))),
    patches("f64[1,7,7,1]", (3, 2), (2, 1), (NO, (1, 2)), (2, 3)),
    patches("f64[1,9,2]", (2,), (5,), ((1, 0),)),
    patches("f64[2,3]", (), (), ()),
    patches("f64[1,2,1]", (3,), (1,), (NO,)),
    patches("f64[0,4,1]", (3,), (1,), (NO,)),
    patches("f64[1,1,1,1]", (1, 1), (1, 1), (NO, NO)),
    patches("f64[1,3,1]", (2,), (1,), ((4, 3),)),
    patches("f64[B,4,4,1]", (3, 3), (1, 1), (ONE, ONE), extents=B),
]


def convolved(
    arguments: str, strides: Any, padding: Any, base: Any = None, dilation: Any = None, groups: int = 1, **given: Any
) -> Row:
    ones = (1,) * len(strides)
    base, dilation = base or ones, dilation or ones
    letters = "012"[: len(strides)]

    def jax(jax: Any, x: Any, y: Any) -> Any:
        numbers = (f"N{letters}C", f"{letters}IO", f"N{letters}C")
        return jax.lax.conv_general_dilated(x, y, strides, padding, base, dilation, numbers, groups)

    oracle = jax if "B" not in arguments and not given.pop("odd", False) else None
    return R(
        ConvolutionOp,
        arguments,
        strides=strides,
        padding=padding,
        base_dilation=base,
        window_dilation=dilation,
        feature_group_count=groups,
        note=short(s=strides, p=padding, b=base, d=dilation, groups=groups),
        jax=oracle,
        **given,
    )


CONVOLUTIONS: list[Row] = [
    convolved("f64[2,5,6,3] f64[3,3,3,4]", (1, 1), (ONE, ONE)),
    convolved("f64[1,5,6,2] f64[3,3,2,3]", (2, 2), (ONE, ONE)),
    convolved("f64[1,5,6,2] f64[1,1,2,3]", (1, 1), (NO, NO)),
    convolved("f64[1,5,6,2] f64[1,1,2,3]", (2, 2), (NO, NO)),
    convolved("f64[1,5,6,2] f64[2,3,2,3]", (2, 1), ((1, 0), (0, 2))),
    convolved("f64[1,8,9,1] f64[3,2,1,2]", (1, 2), (NO, ONE), dilation=(2, 3)),
    convolved("f64[1,4,5,1] f64[3,2,1,2]", (1, 2), (ONE, NO), base=(2, 3)),
    convolved("f64[1,4,5,1] f64[3,2,1,2]", (3, 1), (ONE, NO), base=(2, 1), dilation=(1, 2)),
    convolved("f64[1,5,5,4] f64[3,3,2,6]", (1, 1), (ONE, ONE), groups=2),
    convolved("f64[1,5,5,4] f64[3,3,2,6]", (2, 2), (ONE, ONE), groups=2),
    convolved("f64[1,5,5,3] f64[3,3,1,3]", (1, 1), (ONE, ONE), groups=3),
    convolved("f64[1,5,5,3] f64[3,3,1,6]", (2, 2), (ONE, ONE), groups=3),
    convolved("f64[2,7,2] f64[3,2,3]", (1,), ((2, 0),)),
    convolved("f64[2,3] f64[3,4]", (), ()),
    convolved("f64[1,3,1] f64[2,1,1]", (1,), ((4, 3),)),
    convolved("f64[1,3,1] f64[2,1,1]", (2,), ((4, 3),)),
    convolved("f64[1,2,1] f64[3,1,1]", (1,), (NO,), odd=True),
    convolved("f64[0,4,1] f64[3,1,1]", (1,), (NO,), odd=True),
    convolved("f64[1,4,0] f64[3,0,1]", (1,), (NO,), odd=True),
    convolved("f64[1,1,1,1] f64[1,1,1,1]", (1, 1), (NO, NO)),
    convolved("f64[B,5,5,2] f64[3,3,2,3]", (1, 1), (ONE, ONE), extents=B),
    convolved("f64[B,5,5,2] f64[3,3,2,3]", (2, 2), (ONE, ONE), extents=B),
]

ROWS: list[Row] = [*POOLS, *WINNERS, *PATCHES, *CONVOLUTIONS]
