"""The loop of a converted arg_max may run in any order: its body, evaluated here on its own, finds the same index in each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
from xdsl.dialects import arith
from xdsl.dialects.linalg.ops import GenericOp, IndexOp, YieldOp
from xdsl.ir import Block, Operation, SSAValue

from mind_lowering.ptir_to_linalg import convert_module
from programs import parse

PROGRAM = """
module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%x: tensor<4x{dtype}>) -> tensor<si64> {{
    %r = ptir.arg_max %x axis = 0 keepdims = false output_dtype = si64 : tensor<4x{dtype}> -> tensor<si64>
    func.return %r : tensor<si64>
  }}
}}
"""


def predicate(op: Any) -> str:
    return {**dict(enumerate(arith.CMPF_COMPARISON_OPERATIONS))}[op.predicate.value.data]


def compare_floats(op: Operation, a: float, b: float) -> bool:
    unordered = a != a or b != b
    name = predicate(op)
    ordered = {"eq": a == b, "gt": a > b, "ge": a >= b, "lt": a < b, "le": a <= b, "ne": a != b}
    return unordered if name == "uno" else not unordered and ordered[name.removeprefix("o")]


def compare_integers(op: Any, a: int, b: int) -> bool:
    name = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    return {"eq": a == b, "slt": a < b, "sgt": a > b}[name]


EVALUATE: dict[type[Operation], Callable[..., Any]] = {
    arith.ConstantOp: lambda op: op.value.value.data,
    arith.CmpfOp: compare_floats,
    arith.CmpiOp: compare_integers,
    arith.AndIOp: lambda op, a, b: a & b,
    arith.OrIOp: lambda op, a, b: a | b,
    arith.XOrIOp: lambda op, a, b: bool(a) ^ bool(b),
    arith.SelectOp: lambda op, c, a, b: a if c else b,
    arith.IndexCastOp: lambda op, a: a,
}


def step(block: Block, index: int, new: Any, best: tuple[Any, int]) -> tuple[Any, int]:
    """The best element and its index after one more iteration of the loop."""
    values: dict[SSAValue, Any] = dict(zip(block.args, (new, *best), strict=True))

    def of(value: SSAValue) -> Any:
        return values[value] if value in values else constant(value)

    for op in block.ops:
        if isinstance(op, YieldOp):
            best, index = (of(v) for v in op.operands)
            return best, index
        values[op.results[0]] = index if isinstance(op, IndexOp) else EVALUATE[type(op)](op, *map(of, op.operands))
    raise AssertionError("no yield")


def constant(value: SSAValue) -> Any:
    assert isinstance(value.owner, arith.ConstantOp)
    return EVALUATE[arith.ConstantOp](value.owner)


@pytest.mark.parametrize(
    ("dtype", "values", "least"),
    [
        ("f32", (math.nan, math.nan, math.inf, 1.0), -math.inf),
        ("f32", (2.0, -math.inf, 2.0, -0.0), -math.inf),
        ("f64", (-math.inf,) * 4, -math.inf),
        ("si8", (3, 3, -128, 0), -128),
        ("si8", (-128,) * 4, -128),
    ],
)
def test_any_order_of_the_loop_finds_the_first_greatest(dtype: str, values: tuple[Any, ...], least: Any) -> None:
    module = parse(PROGRAM.format(dtype=dtype))
    convert_module(module)
    (generic,) = [op for op in module.walk() if isinstance(op, GenericOp) and any(isinstance(o, IndexOp) for o in op.walk())]
    block = generic.body.block
    for x in itertools.permutations(values):
        nans = [i for i, v in enumerate(x) if v != v]
        expected = nans[0] if nans else x.index(max(x))
        for order in itertools.permutations(range(4)):
            best = (least, (1 << 63) - 1)
            for i in order:
                best = step(block, i, x[i], best)
            assert best[1] == expected, (x, order)
