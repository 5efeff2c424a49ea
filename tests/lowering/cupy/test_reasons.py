"""What runs as a call says why; tables are closed."""

from __future__ import annotations

from typing import Any

import pytest

from attention_gradients import attend, gradient
from mind_dialect import ptir
from mind_dialect.program import functions
from mind_dialect.ptir import FUSIBLE, OPS_BY_OPCODE, TARGETED
from mind_lowering.cupy.reasons import LIBRARY, reasons
from ptir_forms import program

WITHOUT_KERNEL = {
    *(ptir.CondOp, ptir.WhileOp, ptir.ScanOp, ptir.YieldOp, ptir.FusionOp),
    *(ptir.CustomCallOp, ptir.LayerNormOp),
    *(ptir.RngUniformOp, ptir.RngNormalOp, ptir.QuantizeOp, ptir.DequantizeOp, ptir.RequantizeOp),
}
"""Control flow, what becomes other ops first, and what is CuPy's."""

CASES: list[tuple[str, Any, list[str]]] = [
    ("f32[3,4]", lambda x: ptir.ExpOp(x), []),
    ("f32[3,4]", lambda x: ptir.SortOp(x, axis=1, descending=False), []),
    ("si4[3,4]", lambda x: ptir.SortOp(x, axis=1, descending=False), ["call of sort: CuPy sorts"]),
    ("cf32[3,4]", lambda x: ptir.NegOp(x), ["call of neg: no kernel, cf32 in a kernel"]),
    ("f32[0,4] si32[2]", lambda x, i: ptir.TakeOp(x, i), ["call of take: no kernel, take of nothing"]),
    ("f32[9,0] si32[2]", lambda x, i: ptir.TakeOp(x, i), ["call of take: no kernel, indices of elements without an index"]),
]


@pytest.mark.parametrize(("types", "body", "lines"), CASES)
def test_a_call_says_why(types: str, body: Any, lines: list[str]) -> None:
    assert reasons(next(iter(functions(program(types, body))))) == lines


def test_weights_that_are_kept_for_a_gradient_say_why() -> None:
    module = gradient("f32[20,192] f32[30,192] f32[30,192]", attend)
    (line,) = [line for line in reasons(next(iter(functions(module)))) if "stored" in line]
    why = "the gradient of an attention of depth 192 and width 192"
    assert line == f"call of dot_general: cuBLAS, and weights are stored for a gradient: {why}"


def test_weights_that_are_made_again_are_counted() -> None:
    module = gradient("f32[20,8] f32[30,8] f32[30,8]", attend)
    assert reasons(next(iter(functions(module)))) == ["weights of attentions that are recomputed for a gradient: 1"]


@pytest.mark.quick
def test_every_op_has_a_kernel_or_a_reason() -> None:
    assert set(OPS_BY_OPCODE.values()) == {*FUSIBLE, *TARGETED, *LIBRARY, *WITHOUT_KERNEL}
