"""The `xp` dialect, the pass that makes it, and the Python that it prints as."""

# ruff: noqa: E501
from __future__ import annotations

import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from mind_dialect.core import CoreOp
from mind_dialect.errors import MindError
from mind_dialect.ptir.literal import PtirLiteralAttr
from mind_dialect.ptir.types import BF16, CF32, F32, F64, I1, SI4, SI32, SI64, PtirDType
from mind_dialect.verify import verify
from mind_lowering import xp
from mind_lowering.kernels import Kernels
from mind_lowering.lower_to_numpy import LowerToNumpyPass, lower_module
from mind_lowering.numpy import NumpyTarget, lowered, print_module
from mind_lowering.xp import arguments as xp_arguments
from mind_lowering.xp.functions import FUNCTIONS
from mind_lowering.xp.python import constant_text
from programs import context, parse

PROGRAM = """
func.func @layer(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> (tensor<2x4xf32>, tensor<f32>) {
  %y = mind.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %b = mind.constant [1.0, nan, -inf, -0.0] : tensor<4xf32>
  %z = mind.add %y, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %unused = mind.neg %z : tensor<2x4xf32>
  %r = mind.relu %z : tensor<2x4xf32>
  %s = mind.sum %r axes = [] keepdims = true : tensor<2x4xf32> -> tensor<f32>
  func.return %r, %s : tensor<2x4xf32>, tensor<f32>
}
"""

LOWERED = """\
builtin.module {
  func.func @layer(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> (tensor<2x4xf32>, tensor<f32>) {
    %y = xp.call "xp.matmul"(%x, %w) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %b = xp.call "k.constant"() with {value = #ptir.literal<[1.0, nan, -inf, -0.0] : tensor<4xf32>>} : () -> tensor<4xf32>
    %z = xp.call "xp.add"(%y, %b) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    xp.free %y : tensor<2x4xf32>
    %unused = xp.call "xp.negative"(%z) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    xp.free %unused : tensor<2x4xf32>
    %r = xp.call "k.keep_positive"(%z, %z) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    xp.free %z : tensor<2x4xf32>
    %s = xp.call "xp.add.reduce"(%r) with {axis = array<i64: 0, 1>, keepdims = false, dtype = f32} : (tensor<2x4xf32>) -> tensor<f32>
    %0 = xp.call "k.copy"(%s) : (tensor<f32>) -> tensor<f32>
    xp.free %s : tensor<f32>
    xp.return %r, %0 : tensor<2x4xf32>, tensor<f32>
  }
}"""

PYTHON = """\
# Python over an array namespace, made by the target mind-numpy.
import numpy as xp

from mind_lowering.kernels import Kernels

k = Kernels(xp)

layer_c3 = k.array([1.0, xp.nan, -xp.inf, -0.0], xp.float32)

def layer(x, w):
    # x: f32[2, 3]
    # w: f32[3, 4]
    v2 = xp.matmul(x, w)  # f32[2, 4]
    v4 = xp.add(v2, layer_c3)  # f32[2, 4]
    del v2
    v5 = xp.negative(v4)  # f32[2, 4]
    del v5
    v6 = k.keep_positive(v4, v4)  # f32[2, 4]
    del v4
    v7 = xp.add.reduce(v6, axis=(0, 1), keepdims=False, dtype=xp.float32)  # f32[]
    v8 = k.copy(v7)  # f32[]
    del v7
    return v6, v8
"""


def read(text: str) -> ModuleOp:
    ctx = context()
    xp.register(ctx)
    return Parser(ctx, text).parse_module()


def test_the_lowered_form() -> None:
    module = parse(PROGRAM)
    LowerToNumpyPass().apply(context(), module)
    verify(module)
    assert str(module) == LOWERED


def test_both_text_forms_round_trip() -> None:
    module = read(LOWERED)
    assert str(module) == LOWERED
    from xdsl.printer import Printer

    text = StringIO()
    Printer(text, print_generic_format=True).print_op(module)
    assert read(text.getvalue()).is_structurally_equivalent(module)


def test_the_printed_python() -> None:
    assert print_module(parse(PROGRAM)) == PYTHON
    assert print_module(read(LOWERED)) == PYTHON
    out = StringIO()
    NumpyTarget().emit(context(), parse(PROGRAM), out)
    assert out.getvalue() == PYTHON


def test_the_printed_python_runs_as_it_stands() -> None:
    scope: dict[str, Any] = {}
    exec(print_module(parse(PROGRAM + PROGRAM.replace("@layer", "@other").replace("1.0,", "2.0,"))), scope)
    x, w = np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)
    with np.errstate(all="ignore"):
        r, s = scope["layer"](x, w)
        other, _ = scope["other"](x, w)
    np.testing.assert_array_equal(r, [[4, 0, 0, 3]] * 2)
    np.testing.assert_array_equal(other, [[5, 0, 0, 3]] * 2)
    assert float(s) == 14


def test_a_function_that_was_lowered_stays_as_it_is_and_foreign_ones_too() -> None:
    foreign = """func.func @foreign(%a: index) -> index {
      func.return %a : index
    }
    func.func private @declared(tensor<2xf32>) -> tensor<2xf32>"""
    module = parse(PROGRAM + foreign)
    lower_module(module)
    once = str(module)
    assert once.startswith(LOWERED.removesuffix("\n}"))
    lower_module(module)
    assert str(module) == once


def test_a_mixture_is_refused_by_name() -> None:
    text = PROGRAM.replace("%r = ", '%q = "test.op"() : () -> tensor<f32>\n  %r = ')
    for run in (lower_module, print_module):
        with pytest.raises(MindError, match=r"E4000: @layer is not one flat block of Core IR: found test\.op"):
            run(parse(text))
    with pytest.raises(MindError, match=r"E4000: @f is not one block of PTIR: found test\.op"):
        print_module(parse('func.func @f() -> index {\n%0 = "test.op"() : () -> index\nfunc.return %0 : index\n}'))


def test_a_copy_leaves_its_original_alone() -> None:
    module = parse(PROGRAM)
    before = str(module)
    (func,) = module.ops
    assert isinstance(func, FuncOp)
    copy = lowered(func).func
    assert str(module) == before
    assert str(ModuleOp([copy])) == LOWERED


def test_locations_stay() -> None:
    from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

    module = parse(PROGRAM)
    places = [op for op in module.walk() if isinstance(op, CoreOp)]
    for i, op in enumerate(places):
        op.location = FileLineColLoc(StringAttr("f"), IntAttr(i), IntAttr(0))
    wanted = [op.location for op in places]
    lower_module(module)
    calls = [op for op in module.walk() if isinstance(op, xp.CallOp)]
    assert [op.location for op in calls[: len(wanted)]] == wanted
    assert len(calls) == len(wanted) + 1, "and a copy of the rank-0 output"


def test_unverified_core_ir_is_verified_before_it_is_printed() -> None:
    with pytest.raises(MindError, match="E3003"):
        print_module(parse(PROGRAM.replace("3x4", "5x4")))


BROKEN = [
    ("E4000", '"k.keep_positive"', '"os.system"', "unknown function 'os.system'"),
    ("E4000", '"k.keep_positive"', '"xp.load"', "unknown function 'xp.load'"),
    ("E4000", '"k.keep_positive"', "5", "unknown function None"),
    ("E4000", "keepdims = false", '"x=1);import os#" = false', "argument name"),
    ("E4000", "keepdims = false", "lambda = false", "argument name 'lambda'"),
    ("E4000", "keepdims = false", "keepdims = unit", "argument"),
    ("E4000", "axis = array<i64: 0, 1>", 'axis = ["0;import os"]', "expected a dimension"),
    ("E4000", "with {value = #ptir.literal<[1.0, nan, -inf, -0.0] : tensor<4xf32>>}", "", "k.constant of"),
    (
        "E4000",
        '"k.keep_positive"(%z, %z)',
        '"k.keep_positive"(%z, %z) with {value = #ptir.literal<[1.0] : tensor<1xf32>>}',
        "k.keep_positive of",
    ),
    ("E4001", "xp.free %z : tensor<2x4xf32>", "xp.free %z : tensor<2x4xf32>\nxp.free %z : tensor<2x4xf32>", "after xp.free"),
    ("E4001", "xp.free %z : tensor<2x4xf32>", "xp.free %r : tensor<2x4xf32>", "after xp.free"),
    ("E4001", "xp.free %z : tensor<2x4xf32>", "xp.free %x : tensor<2x3xf32>", "frees an input or a constant"),
    ("E4001", "xp.free %z : tensor<2x4xf32>", "xp.free %b : tensor<4xf32>", "frees an input or a constant"),
    ("E2007", "xp.free %z : tensor<2x4xf32>", '"xp.free"() : () -> ()', "at least 1 operand"),
    ("E2001", "xp.return %r, %0 : tensor<2x4xf32>, tensor<f32>", "xp.return %r : tensor<2x4xf32>", "returns"),
]


@pytest.mark.parametrize(("code", "old", "new", "message"), BROKEN, ids=[f"{b[0]}-{b[2][:20]}" for b in BROKEN])
def test_broken_xp_is_refused_by_the_verifier_and_never_printed(code: str, old: str, new: str, message: str) -> None:
    assert old in LOWERED
    module = read(LOWERED.replace(old, new))
    for run in (verify, print_module):
        with pytest.raises(MindError) as e:
            run(module)
        assert (e.value.code, run is print_module or e.value.op is not None) == (code, True)
        assert message in e.value.message


@pytest.mark.quick
def test_what_can_be_called_exists_and_every_row_of_the_kernel_table_can_be_called() -> None:
    from mind_lowering.ptir_kernels import formats, table
    from mind_lowering.ptir_kernels.kernels import PtirKernels
    from mind_runtime.interpreted import function

    for callee in FUNCTIONS:
        assert callable(function(callee))
    kernels = {f"k.{name}" for name in vars(PtirKernels)} | {f"k.{n}" for c in PtirKernels.__mro__ for n in vars(c)}
    named = {f"k.{op.OPCODE}" for op in table.KERNELS} & kernels
    assert [callee for callee in sorted(named) if callee not in FUNCTIONS] == []
    assert {*xp_arguments.ARRAY_NAMES} == formats.NATIVE == table.NATIVE
    assert all(getattr(np, name) == formats.array_dtype(d) for d, name in xp_arguments.ARRAY_NAMES.items())


LITERALS: list[tuple[PtirDType, tuple[int, ...], Any]] = [
    (F32, (2, 2), [0.1, float("nan"), -0.0, float("-inf")]),
    (F64, (), [1e300]),
    (SI64, (2,), [-(2**63), 2**63 - 1]),
    (I1, (2,), [True, False]),
    (SI4, (3,), [-8, 7, -1]),
    (BF16, (2,), [0.5, float("nan")]),
    (CF32, (2,), [complex(1, 2), complex(0, float("inf"))]),
    (SI32, (101,), list(range(-50, 51))),
    (F32, (11, 10), [i / 3 for i in range(110)]),
]


@pytest.mark.parametrize(("dtype", "shape", "values"), LITERALS)
def test_printed_constants_are_the_constants(dtype: PtirDType, shape: tuple[int, ...], values: Any) -> None:
    kernels = Kernels(np)
    for literal in (PtirLiteralAttr.from_values(dtype, shape, values), PtirLiteralAttr.filled(dtype, (3, 4), values[0])):
        printed = eval(constant_text(literal), {"k": kernels, "xp": np})
        made = kernels.constant(value=literal)
        assert (printed.dtype, printed.shape, printed.tobytes()) == (made.dtype, made.shape, made.tobytes())
        assert not printed.flags.writeable
        assert not made.flags.writeable
    assert made.strides == (0, 0), "a fill is stored once"


SCRIPT = """
import sys
sys.path.insert(0, {support!r})
from programs import parse
from mind_lowering.lower_to_numpy import lower_module
from mind_lowering.numpy import print_module
module = parse({text!r})
print(print_module(module))
lower_module(module)
print(module)
"""


def test_the_same_bytes_in_every_process() -> None:
    script = SCRIPT.format(support=str(Path(__file__).parents[1] / "support"), text=PROGRAM)
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True, text=True
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert outputs == {f"{PYTHON}\n{LOWERED}\n"}


def test_lowering_is_linear() -> None:
    """Counted, not timed: twenty times the ops make twenty times the lines."""
    lines = [f"%{i + 1} = mind.add %{i}, %x : tensor<4xf32>" for i in range(1, 2000)]
    body = "\n".join(["%1 = mind.neg %x : tensor<4xf32>", *lines, "func.return %2000 : tensor<4xf32>"])
    text = print_module(parse(f"func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {{\n{body}\n}}"))
    assert text.count("\n") == 2000 + 1999 + 1 + 2 + 8
    assert text.count("del ") == 1999
