"""The conversion of Core IR to PTIR: every op, verified programs out of verified programs, notes and places kept."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

import mind_runtime
from evaluator import DTYPES, evaluate, same_bits, special_numbers
from mind_dialect import core
from mind_dialect.errors import MindError
from mind_dialect.program import functions, holds_core_ir
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir_program import SPEC_VERSION, VERSION_ATTRIBUTE
from mind_dialect.types import read_type
from mind_dialect.verify import verify
from mind_lowering.core_rules import RULES, converted_type
from mind_lowering.core_to_ptir import convert_module, converted
from programs import parse
from random_programs import modules


@pytest.mark.quick
def test_every_op_has_a_rule_in_the_common_order() -> None:
    assert list(RULES) == [*core.CORE_OPS, *core.EXTENSION_OPS]


@settings(max_examples=60)
@given(modules())
def test_a_converted_program_verifies_and_keeps_its_signature(module: ModuleOp) -> None:
    verify(module)
    before = [
        (
            f.sym_name,
            f.arg_attrs,
            [converted_type(t) for t in f.function_type.inputs],
            f.function_type.outputs,
            dict(f.attributes),
        )
        for f in functions(module)
    ]
    convert_module(module)
    verify(module)
    assert module.attributes[VERSION_ATTRIBUTE] == StringAttr(SPEC_VERSION)
    for f, (name, names, inputs, outputs, attributes) in zip(functions(module), before, strict=True):
        assert not holds_core_ir(f)
        assert (f.sym_name, f.arg_attrs, dict(f.attributes)) == (name, names, attributes)
        assert list(f.function_type.inputs) == inputs
        assert list(f.function_type.outputs) == [converted_type(t) for t in outputs]


PROGRAM = """
func.func @f(%x: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %y = mind.add %x, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %z = mind.relu %y : tensor<2x3xf32>
  func.return %z : tensor<2x3xf32>
}
"""


def test_places_and_origins_follow_the_ops() -> None:
    module = parse(PROGRAM)
    (func,) = functions(module)
    add, relu = list(func.body.block.ops)[:2]
    for i, op in enumerate((add, relu)):
        op.location = FileLineColLoc(StringAttr("f"), IntAttr(i), IntAttr(0))
    made = converted(func)
    ops = [op for op in made.func.body.block.ops if isinstance(op, PtirOp)]
    assert [op.name for op in ops] == [f"ptir.{n}" for n in ("broadcast_to", "add", "constant", "compare", "select")]
    assert made.origins == [add, add, relu, relu, relu]
    assert [op.location for op in ops] == [o.location for o in made.origins]
    assert str(module) == str(parse(PROGRAM)), "the original stays as it is"


def test_what_is_not_flat_core_ir_is_refused_and_what_is_foreign_stays() -> None:
    mixture = PROGRAM.replace("%z =", '%i = "test.op"() : () -> index\n%z =')
    with pytest.raises(MindError, match=r"E4000: @f is not one flat block of Core IR: found test\.op"):
        convert_module(parse(mixture))
    foreign = parse("func.func @g(%i: index) -> index {\nfunc.return %i : index\n}")
    convert_module(foreign)
    assert str(foreign) == str(parse("func.func @g(%i: index) -> index {\nfunc.return %i : index\n}"))


def test_a_function_that_only_returns_integers_has_signed_ones_afterwards() -> None:
    module = parse("func.func @g(%i: tensor<2xi32>) -> tensor<2xi32> {\nfunc.return %i : tensor<2xi32>\n}")
    convert_module(module)
    verify(module)
    (func,) = module.ops
    assert isinstance(func, FuncOp)
    assert str(func.function_type) == "(tensor<2xsi32>) -> tensor<2xsi32>"


def test_conversion_is_linear() -> None:
    """Counted, not timed: one op each for ops that are one op, whatever their number."""
    lines = "\n".join(f"%{i + 1} = mind.exp %{i} : tensor<4xf32>" for i in range(1, 3000))
    text = f"func.func @f(%1: tensor<4xf32>) -> tensor<4xf32> {{\n{lines}\nfunc.return %3000 : tensor<4xf32>\n}}"
    (func,) = functions(parse(text))
    assert len(converted(func).origins) == 2999


def arrays(func: FuncOp, offset: int) -> list[np.ndarray]:
    """Special numbers of each input's type, others for each offset."""
    found = []
    for argument in func.body.block.args:
        dtype, shape = read_type(argument.type)
        numbers = np.resize(np.roll(np.array(special_numbers(dtype), DTYPES[dtype.name]), offset), math.prod(shape))
        found.append(numbers.reshape(shape))
    return found


@settings(max_examples=60)
@given(modules(), st.integers(0, 10))
def test_random_programs_give_what_core_ir_gives(module: ModuleOp, offset: int) -> None:
    """Each op of a program against plain NumPy on the same operands, bit for bit but for sums in another order."""
    for func in functions(module):
        if not func.function_type.outputs.data:
            continue
        try:
            expected = evaluate(ModuleOp([func.clone()]), given_arrays := arrays(func, offset))
        except (AssertionError, KeyError):
            continue  # padding and division that the plain evaluator does not have
        found = mind_runtime.compile(module, func.sym_name.data)(*given_arrays)
        sums = any(isinstance(op, ROUNDING) for op in func.body.block.ops)
        for got, want in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
            if sums and got.dtype.kind == "f":
                assert (got.dtype, got.shape) == (want.dtype, want.shape)
            else:
                assert same_bits(got, want)
        again = module.clone()
        convert_module(again)
        twice = mind_runtime.compile(again, func.sym_name.data)(*given_arrays)
        for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (found, twice)), strict=True):
            assert same_bits(a, b)


ROUNDING = (core.SumOp, core.MeanOp, core.DotOp, core.MatMulOp, core.Conv2dOp, core.DivOp)
