"""Demanded elements: whatever stands where nothing is demanded, the demanded part of the results is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

import mind_runtime
from closed_tables import expect_rows
from mind_dialect import ptir
from mind_dialect.program import functions
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import F64, SI64
from mind_dialect.read_extents import ALL, state_read_extents
from mind_lowering.native.demanded import RULES, Demanded
from mind_passes.ptir.building import row_of_kind
from ptir_forms import program

SIZE = 2
"""Elements that are demanded of 5."""
Body = Callable[..., Any]
X = "f32[5,3]"


def mask(x: Any, size: Any) -> Any:
    index = ptir.IotaOp(shape=(5, 3), dtype=SI64, axis=0)
    return ptir.CompareOp(index, ptir.BroadcastToOp(size, result_shape=(5, 3)), kind="less")


def dot(a: Any, b: Any, batch: Any, contract: Any) -> Any:
    names = {
        f"{role}_{side}": axes
        for role, pair in (("batch", batch), ("contract", contract))
        for side, axes in zip(("lhs", "rhs"), pair, strict=True)
    }
    return ptir.DotGeneralOp(a, b, **names)


CASES: dict[str, tuple[type[PtirOp], str, Body, list[int], list[list[int]]]] = {
    # op, arguments without the size, body, what is read of the result, expected of each argument: 1 says up to the size
    "unary": (ptir.UnaryOp, X, lambda n, x: ptir.ExpOp(x), [1, 0], [[1, 0]]),
    "cast": (ptir.CastOp, X, lambda n, x: ptir.CastOp(x, dtype=F64), [1, 0], [[1, 0]]),
    "binary": (ptir.BinaryOp, f"{X} {X}", lambda n, x, y: ptir.AddOp(x, y), [1, 1], [[1, 1], [1, 1]]),
    "compare": (ptir.CompareOp, f"{X} {X}", lambda n, x, y: ptir.CompareOp(x, y, kind="less"), [0, 1], [[0, 1], [0, 1]]),
    "clamp": (ptir.ClampOp, f"{X} {X} {X}", lambda n, *x: ptir.ClampOp(*x), [1, 0], [[1, 0]] * 3),
    "select": (ptir.SelectOp, f"i1[5,3] {X} {X}", lambda n, *x: ptir.SelectOp(*x), [1, 0], [[1, 0]] * 3),
    "masked": (ptir.SelectOp, f"{X} {X}", lambda n, x, y: ptir.SelectOp(mask(x, n), x, y), [0, 1], [[1, 1], [0, 1]]),
    "broadcast": (
        ptir.BroadcastToOp,
        "f32[5,1]",
        lambda n, x: ptir.BroadcastToOp(x, result_shape=(3, 5, 4)),
        [1, 1, 1],
        [[1, 0]],
    ),
    "transpose": (ptir.TransposeOp, "f32[5,3,2]", lambda n, x: ptir.TransposeOp(x, perm=(2, 0, 1)), [0, 1, 0], [[1, 0, 0]]),
    "reshape": (ptir.ReshapeOp, "f32[5,6]", lambda n, x: ptir.ReshapeOp(x, new_shape=(1, 5, 2, 3)), [0, 1, 1, 0], [[1, 0]]),
    "slice": (ptir.SliceOp, "f32[6,5]", lambda n, x: ptir.SliceOp(x, starts=(0, 1), sizes=(5, 3)), [1, 1], [[1, 0]]),
    "concat": (ptir.ConcatOp, f"{X} {X}", lambda n, x, y: ptir.ConcatOp(x, y, axis=1), [1, 1], [[1, 0]] * 2),
    "pad": (
        ptir.PadOp,
        X,
        lambda n, x: ptir.PadOp(x, low=(0, 1), high=(2, 0), interior=(0, 0), pad_value=0.0),
        [1, 1],
        [[1, 0]],
    ),
    "reverse": (ptir.ReverseOp, X, lambda n, x: ptir.ReverseOp(x, axes=(1,)), [1, 1], [[1, 0]]),
    "sort": (ptir.SortOp, X, lambda n, x: ptir.SortOp(x, axis=1, descending=False), [1, 1], [[1, 0]]),
    "sum": (
        ptir.CumulativeSumOp,
        X,
        lambda n, x: ptir.CumulativeSumOp(x, axis=0, exclusive=False, reverse=False),
        [1, 0],
        [[1, 0]],
    ),
    "sum from the end": (
        ptir.CumulativeSumOp,
        X,
        lambda n, x: ptir.CumulativeSumOp(x, axis=0, exclusive=False, reverse=True),
        [1, 1],
        [[0, 1]],
    ),
    "product": (
        ptir.CumulativeOp,
        X,
        lambda n, x: ptir.CumulativeOp(x, axis=1, kind="prod", exclusive=True, reverse=False),
        [1, 1],
        [[1, 1]],
    ),
    "reduce": (
        ptir.ReduceOp,
        "f32[4,5,3]",
        lambda n, x: ptir.ReduceOp(x, kind="sum", axes=(2, 0), keepdims=False),
        [1],
        [[0, 1, 0]],
    ),
    "reduce beside": (ptir.ReduceOp, X, lambda n, x: ptir.ReduceOp(x, kind="max", axes=(0,), keepdims=True), [1, 1], [[0, 1]]),
    "gather": (ptir.GatherOp, "f32[5,4] si32[5,3]", lambda n, x, i: ptir.GatherOp(x, i, axis=1), [1, 1], [[1, 0], [0, 0]]),
    "take": (ptir.TakeOp, "f32[4,5] si32[5]", lambda n, x, i: ptir.TakeOp(x, i), [1, 1], [[0, 1], [0]]),
    "scatter": (
        ptir.ScatterReduceOp,
        "f32[4,5] si32[3,5] f32[3,5]",
        lambda n, x, i, u: ptir.ScatterReduceOp(x, i, u, kind="replace", axis=0),
        [1, 1],
        [[1, 1], [0, 0], [0, 1]],
    ),
    "window": (
        ptir.DynamicSliceOp,
        "f32[7,5] si32[2]",
        lambda n, x, i: ptir.DynamicSliceOp(x, i, sizes=(5, 5)),
        [1, 1],
        [[0, 1], [0]],
    ),
    "update": (
        ptir.DynamicUpdateSliceOp,
        "f32[7,5] f32[5,5] si32[2]",
        lambda n, x, u, i: ptir.DynamicUpdateSliceOp(x, u, i, sizes=(5, 5)),
        [1, 1],
        [[1, 1], [0, 1], [0]],
    ),
    "greatest": (ptir.ArgMaxOp, X, lambda n, x: ptir.ArgMaxOp(x, axis=1, keepdims=False, output_dtype=SI64), [1], [[1, 0]]),
    "least": (ptir.ArgMinOp, X, lambda n, x: ptir.ArgMinOp(x, axis=0, keepdims=False, output_dtype=SI64), [1], [[0, 1]]),
    "dot": (
        ptir.DotGeneralOp,
        "f32[3,2,5] f32[2,5,3,4]",
        lambda n, a, b: dot(a, b, ((0,), (2,)), ((2,), (1,))),
        [1, 0, 1, 1],
        [[1, 0, 0], [1, 0, 1, 1]],
    ),
}


def stated(case: str) -> tuple[Any, FuncOp]:
    """Return the module of a case, whose size is the first argument, and the function."""
    _, types, body, read, _ = CASES[case]
    module = program(f"si64[] {types}", body)
    (func,) = functions(module)
    state_read_extents(func, [[0 if n else ALL for n in read]])
    return module, func


def poisoned(x: Any, demanded: list[bool]) -> Any:
    """Return an array with something else wherever an index is beyond the size along a demanded axis."""
    inside = tuple(slice(SIZE) if d else slice(None) for d in demanded)
    found = ~x if x.dtype.kind == "b" else np.full_like(x, np.nan)
    found[inside] = x[inside]
    return found


@pytest.mark.parametrize("case", CASES)
def test_what_is_not_demanded_does_not_matter(case: str) -> None:
    module, func = stated(case)
    known = Demanded.of(func)
    _, inputs = func.body.block.args[0], func.body.block.args[1:]
    demanded = [[size is not None for size in known.along(value)] for value in inputs]
    assert demanded == [[bool(n) for n in each] for each in CASES[case][4]]
    rng, run = np.random.default_rng(0), mind_runtime.compile(module)
    xs = [rng.standard_normal(s.shape).astype(np.float32) for s in run.inputs[1:]]
    xs = [x if s.numpy_dtype.kind == "f" else (x > 0).astype(s.numpy_dtype) for x, s in zip(xs, run.inputs[1:], strict=True)]
    size = np.array(SIZE)
    read = tuple(slice(SIZE) if n else slice(None) for n in CASES[case][3])
    with np.errstate(all="ignore"):
        bad = run(size, *(poisoned(x, d) for x, d in zip(xs, demanded, strict=True)))
    np.testing.assert_array_equal(np.asarray(bad)[read], np.asarray(run(size, *xs))[read])


@pytest.mark.quick
def test_every_rule_has_a_case() -> None:
    expect_rows("CASES of this test", {op for op, *_ in CASES.values()}, RULES)
    assert all(row_of_kind(RULES, op) is None for op in (ptir.BitcastOp, ptir.ScatterAddOp, ptir.ScanOp))


def kinds_of_masks(n: Any, m: Any) -> dict[str, Any]:
    """Return predicates of 5 by 3, by name."""
    index = ptir.IotaOp(shape=(5, 1), dtype=SI64, axis=0)
    wide = ptir.BroadcastToOp(index, result_shape=(5, 3))
    size = ptir.BroadcastToOp(ptir.ReshapeOp(n, new_shape=(1,)), result_shape=(5, 3))
    column = ptir.IotaOp(shape=(5, 3), dtype=SI64, axis=1)
    other = ptir.BroadcastToOp(m, result_shape=(5, 3))
    narrow = ptir.CompareOp(ptir.IotaOp(shape=(3,), dtype=SI64, axis=0), ptir.BroadcastToOp(m, result_shape=(3,)), kind="less")
    return {
        "turned": ptir.CompareOp(size, wide, kind="greater"),
        "both": ptir.AndOp(ptir.CompareOp(wide, size, kind="less"), ptir.CompareOp(column, other, kind="less")),
        "broadcast": ptir.BroadcastToOp(narrow, result_shape=(5, 3)),
        "beyond": ptir.CompareOp(wide, size, kind="greater_equal"),
        "up to": ptir.CompareOp(wide, size, kind="less_equal"),
        "backwards": ptir.CompareOp(wide, size, kind="greater"),
        "one index": ptir.CompareOp(size, other, kind="less"),
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [("turned", (0, None)), ("both", (0, 1)), ("broadcast", (None, 1))]
    + [(name, (None, None)) for name in ("beyond", "up to", "backwards", "one index")],
)
def test_masks(name: str, expected: tuple[int | None, ...]) -> None:
    """What a mask lets through is demanded alone; predicates that are no masks let all through."""

    def body(n: Any, m: Any, x: Any, y: Any, z: Any) -> Any:
        kept = ptir.SelectOp(kinds_of_masks(n, m)[name], x, y)
        return [ptir.ReduceOp(kept, kind="sum", axes=(0, 1), keepdims=False), z, z]

    module = program("si64[] si64[] f32[5,3] f32[5,3] f32[5]", body)
    (func,) = functions(module)
    state_read_extents(func, [[], [0], [1]])
    sizes, x, y = func.body.block.args[:2], func.body.block.args[2], func.body.block.args[3]
    known = Demanded.of(func)
    assert known.along(x) == tuple(None if n is None else sizes[n] for n in expected)
    assert known.along(y) == (None, None)


def test_an_op_that_can_fail_demands_all() -> None:
    module = program("si64[] si32[5]", lambda n, x: ptir.DivOp(x, x))
    (func,) = functions(module)
    state_read_extents(func, [[0]])
    known = Demanded.of(func)
    assert known.along(func.body.block.args[1]) == (None,)
    assert known.along(func.body.block.last_op.operands[0]) == (func.body.block.args[0],)


def test_two_sizes_and_a_second_reader() -> None:
    """What one reader demands up to a size and another one as a whole is demanded as a whole; so are two different sizes."""

    def body(n: Any, m: Any, x: Any, y: Any) -> Any:
        a, b = ptir.ExpOp(x), ptir.ExpOp(y)
        return [a, ptir.NegOp(a), b, ptir.NegOp(b), ptir.NegOp(b)]

    module = program("si64[] si64[] f32[5] f32[5]", body)
    (func,) = functions(module)
    n, m, x, y = func.body.block.args
    state_read_extents(func, [[0], [1], [0], [0], [0]])
    assert Demanded.of(func).along(x) == (None,)
    assert Demanded.of(func).along(y) == (n,)
    state_read_extents(func, [[0], [0], [0], [ALL], [0]])
    assert Demanded.of(func).along(x) == (n,)
    assert Demanded.of(func).along(y) == (None,)
    assert Demanded.of(func).sizes == {n, m}
