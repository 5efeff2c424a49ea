"""Programs as launches on planned memory give the numbers that their ops give one after the other, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from xdsl.dialects.func import FuncOp

from launch_machine import execute
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.ptir.literal import PtirLiteralAttr
from mind_dialect.ptir.types import F32, read_type
from mind_lowering.launch.assign_memory import assign_memory
from mind_lowering.launch.convert import ON_HOST, converted_to_launch
from mind_lowering.launch.views import VIEWS
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_lowering.xp.functions import FUNCTIONS, Storage
from mind_passes.fusion.fuse import fuse
from mixed_programs import parse
from native_control_programs import BOTH, counted
from ptir_control_programs import control_programs
from ptir_evaluator import evaluate, function_of, same_bits, special_inputs
from ptir_forms import attention, causal, gelu, layer_norm, program, softmax
from ptir_programs import can_say, row_module
from ptir_rows import ROWS, Row

FORMS: dict[str, tuple[str, Callable[..., Any]]] = {
    "softmax": ("f32[4,33]", softmax),
    "gelu": ("f64[4,9]", gelu),
    "layer norm": ("f32[4,33] f32[33] f32[33]", layer_norm),
    "attention": ("f32[2,2,5,4] f32[2,2,5,4] f32[2,2,5,4]", lambda q, k, v: attention(q, k, v, mask=lambda s: causal(s, -1e9))),
    "an input returned": ("f32[4]", lambda x: [x, x]),
    "a constant returned": ("f32[4]", lambda x: [ptir.ConstantOp(PtirLiteralAttr.filled(F32, (3,), 2.0))]),
    "one value returned twice, and a view of it": (
        "f32[4,2]",
        lambda x: [y := ptir.ExpOp(x), y, ptir.TransposeOp(y, perm=(1, 0))],
    ),
    "a view of a view": (
        "f32[6,8]",
        lambda x: ptir.ReverseOp(ptir.StridedSliceOp(x, starts=(1, 2), limits=(6, 8), strides=(2, 3)), axes=(0, 1)),
    ),
    "a reshape that needs a copy": ("f32[4,2]", lambda x: ptir.ReshapeOp(ptir.TransposeOp(x, perm=(1, 0)), new_shape=(8,))),
    "no elements": ("f32[0,3]", lambda x: ptir.ReverseOp(ptir.ExpOp(x), axes=(0,))),
    "random numbers": (
        "f32[4]",
        lambda x: [ptir.AddOp(x, ptir.RngNormalOp(shape=(4,), dtype="f32")), ptir.RngUniformOp(shape=(2,), dtype="f64")],
    ),
}


def check(func: FuncOp, arrays: Sequence[Any]) -> None:
    """Hold a function, converted, before and after its memory is planned, against its ops evaluated one by one."""
    expected = evaluate(func, arrays, seed=7)
    for donate in ((), tuple(range(len(arrays)))):
        for order in ("", "size", "program"):
            made = converted_to_launch(func, donate)
            if order:
                assign_memory(made, order=order)
            made.verify()
            for found, wanted in zip(execute(made, arrays), expected, strict=True):
                assert same_bits(found, wanted), (order, donate)


def arguments(func: FuncOp, seed: int) -> list[Any]:
    """Random floats and truths, and integers from 0 to 3, which count iterations."""
    rng = np.random.default_rng(seed)
    found: list[Any] = []
    for dtype, shape in (read_type(a.type) for a in func.body.block.args):
        numbers = rng.standard_normal(shape) if dtype.kind in ("float", "complex") else np.full(shape, seed % 4)
        found.append(np.asarray(numbers % 2 if dtype.kind == "bool" else numbers).astype(array_dtype(dtype.name)))
    return found


@pytest.mark.exhaustive
@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("name", BOTH)
def test_branches_and_loops(name: str, fused: bool) -> None:
    module = program(*BOTH[name])
    if fused:
        fuse(module)
    for seed in range(4):
        check(function_of(module), arguments(function_of(module), seed))


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("name", FORMS)
def test_straight_lines(name: str, fused: bool) -> None:
    module = program(*FORMS[name])
    if fused:
        fuse(module)
    check(function_of(module), special_inputs(function_of(module)))


@pytest.mark.exhaustive
@pytest.mark.parametrize("row", [row for row in ROWS if not row.is_refused and can_say(row)], ids=str)
def test_ops_alone(row: Row) -> None:
    func = function_of(row_module(row))
    values = [v for op in func.walk() if isinstance(op, ptir.PtirOp) for v in (*op.operands, *op.results)]
    if any(isinstance(n, str) for v in values for n in read_type(v.type).shape):
        assert refusal(func) == "E8001"
    elif row.op is not ptir.CustomCallOp:  # what its target computes is tested with those that are registered
        check(func, [(a % 2).astype(a.dtype) if a.dtype.kind in "iu" else a for a in special_inputs(func)])


@settings(max_examples=60)
@given(control_programs())
def test_random_programs(text: str) -> None:
    func = function_of(parse(text))
    check(func, special_inputs(func))


def refusal(func: FuncOp) -> str:
    with pytest.raises(MindError) as found:
        converted_to_launch(func)
    return found.value.code


@pytest.mark.parametrize("op", ON_HOST)
def test_host_calls_in_loops_are_refused(op: type[ptir.PtirOp]) -> None:
    made = {
        ptir.CustomCallOp: lambda x: ptir.CustomCallOp(x, target="mind_test.launch.v1", attrs={}, result_types=[x.type]),
        ptir.RngNormalOp: lambda x: ptir.RngNormalOp(shape=(4,), dtype="f32"),
        ptir.RngUniformOp: lambda x: ptir.RngUniformOp(shape=(4,), dtype="f32"),
    }[op]
    module = program("f32[4] si32[]", lambda x, n: counted(n, lambda x: [ptir.AddOp(x, made(x))], x))
    assert refusal(function_of(module)) == "E9014"


def test_each_view_moves_no_element() -> None:
    """The table of views is that of the array library: each of its ops gives a part, or the whole, of its operand's memory."""
    for op in VIEWS:
        name = "k.identity" if op is ptir.StopGradientOp else f"k.{op.OPCODE}"
        found = [f for f in FUNCTIONS if f == name]
        assert len(found) == 1, op.OPCODE
        assert all(FUNCTIONS[f] in (Storage.PART, Storage.WHOLE) for f in found), op.OPCODE
