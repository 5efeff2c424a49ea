"""PTIR to StableHLO as a whole: every op has a rule or a reason, all that is wrong is in one error, texts are the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.func import FuncOp

from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.mlir_parser import MindParser
from mind_dialect.program import functions
from mind_dialect.ptir import EXTENSION_OPS, PTIR_OPS, PtirLiteralAttr, YieldOp
from mind_dialect.ptir.types import ALL, F32, I1, Kind, PtirDType
from mind_dialect.stablehlo import OP_TYPES
from mind_dialect.stablehlo.literal import DenseAttr
from mind_dialect.stablehlo.types import spec_of, stablehlo_type
from mind_lowering.conversion import ConversionOptions, get_conversion_target
from mind_lowering.ptir_to_stablehlo import CONVERTED, REFUSED, ExportOptions, convert_module, stablehlo_program
from mind_lowering.ptir_to_stablehlo.checks import CHECKS
from mind_tools.frontends import parse
from mind_translate.stablehlo import convert_module as convert_back
from ptir_batching_rows import ROWS
from ptir_forms import program

ROOT = Path(__file__).parents[3]


def test_every_op_has_a_rule_or_a_reason() -> None:
    missing = {*PTIR_OPS, *EXTENSION_OPS} - {*CONVERTED, *REFUSED, YieldOp}
    assert not missing, f"ptir_to_stablehlo/legal.py has neither a rule nor a reason for {sorted(op.name for op in missing)}"
    assert set(CONVERTED).isdisjoint(REFUSED)
    assert len(set(CONVERTED)) == len(CONVERTED)


def test_every_op_that_may_be_wrong_at_run_time_is_checked() -> None:
    """Ops say in their docstrings with which code they fail at run time."""
    said = {op for op in (*PTIR_OPS, *EXTENSION_OPS) if "at run time" in (op.__doc__ or "") + (op.__mro__[1].__doc__ or "")}
    assert said - {ptir.CustomCallOp} <= {*CHECKS}, sorted(op.name for op in said - {*CHECKS})
    assert {ptir.DivOp, ptir.TakeOp, ptir.ScatterReduceOp} <= {*CHECKS}


def test_every_type_has_its_own_and_back() -> None:
    assert len({stablehlo_type(d, (2,)) for d in ALL}) == len(ALL)
    for dtype in ALL:
        assert spec_of(stablehlo_type(dtype, (2, 0))) == (dtype, (2, 0))


@pytest.mark.exhaustive
@pytest.mark.parametrize("row", [row for row in ROWS if row.types], ids=str)
def test_programs_hold_the_dialects_of_xla_alone(row) -> None:
    for dtype in row.legal():
        module = row.module(dtype)
        convert_module(module, ExportOptions(checks=True))
        module.verify()
        names = {op.name for op in module.walk()} - {"builtin.module", "func.func", "func.return"}
        assert names <= OP_TYPES.keys()


def test_calls_are_put_in_place_and_attributes_of_ours_go() -> None:
    module = parse("""
        builtin.module attributes {ptir.spec_version = "ptir.v0.4", jax.uses_shape_polymorphism = false} {
          func.func @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
            %y = ptir.add %x, %x : tensor<2xf32>
            func.return %y : tensor<2xf32>
          }
          func.func @main(%x: tensor<2xf32> {mind.name = "x", jax.buffer_donor = true}) -> tensor<2xf32> {
            %y = func.call @twice(%x) : (tensor<2xf32>) -> tensor<2xf32>
            func.return %y : tensor<2xf32>
          }
        }""")
    convert_module(module, ExportOptions())
    text = str(module)
    assert "func.call" not in text
    assert "ptir." not in text
    assert "mind." not in text
    assert "jax.buffer_donor = true" in text
    assert "jax.uses_shape_polymorphism = false" in text


def test_everything_that_has_no_form_is_in_one_error() -> None:
    module = parse("""
        builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
          func.func @f(%x: tensor<?xf32, "B">, %y: tensor<2xf32>) -> tensor<2xf32> {
            %z = ptir.custom_call %y target = "some.scale.v1" attrs = {} : tensor<2xf32> -> tensor<2xf32>
            func.return %z : tensor<2xf32>
          }
        }""")
    before = str(module)
    with pytest.raises(MindError, match="cannot express 2 things") as caught:
        convert_module(module, ExportOptions())
    assert caught.value.code == "E8008"
    assert "dynamic dimensions" in caught.value.message
    assert "its function is Python" in caught.value.message
    assert str(module) == before


def test_the_conversion_target_names_functions_as_the_contract_does() -> None:
    target = get_conversion_target("stablehlo")
    assert target is not None
    assert target.file_extension == "mlir"
    module = program("f32[2]", lambda x: [ptir.NegOp(x)])
    found = target.convert(module, ConversionOptions())
    (point,) = found.entrypoints
    assert f'sym_name = "{point.symbol}"' in found.module
    assert '"stablehlo.negate"' in found.module


def test_constants_are_exact_to_the_bit() -> None:
    nan = PtirLiteralAttr.from_bytes(F32, (2,), bytes.fromhex("010080FF0000807F"))
    assert DenseAttr.of(nan).body() == "[0xFF800001, 0x7F800000]"
    bits = PtirLiteralAttr.from_values(I1, (101,), [i in (0, 9, 100) for i in range(101)])
    assert DenseAttr.of(bits).body().startswith("[true, false, ")
    many = PtirLiteralAttr.from_values(F32, (101,), [0.0] * 100 + [1.0])
    assert DenseAttr.of(many).body() == '"0x' + "00" * 402 + '803F"'
    assert DenseAttr.of(PtirLiteralAttr.from_values(F32, (0, 2), [])).body() == ""
    assert DenseAttr.of(PtirLiteralAttr.filled(F32, (1000,), 0.1)).body() == "0.1"


@pytest.mark.parametrize("count", [0, 1, 3, 101], ids="{} elements".format)
@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_a_constant_says_what_a_parser_makes_of_its_text(dtype: PtirDType, count: int) -> None:
    ones = [dtype.element.unpack(dtype.element.pack([-1 if dtype.kind is Kind.SIGNED else 1]))[0]] * count
    for values in (ones, [0, *ones[1:]][:count]):
        made = DenseAttr.of(PtirLiteralAttr.from_values(dtype, (count,), values))
        for constant in (made, DenseAttr.of(PtirLiteralAttr.filled(dtype, (count,), (values or [1])[0]))):
            text = f'"test.op"() {{value = {constant}}} : () -> ()'
            (op,) = MindParser(Context(allow_unregistered=True), text).parse_module().ops
            assert op.attributes["value"] == constant.as_read()


def test_what_goes_out_comes_in_again() -> None:
    """The importer reads what the exporter writes: in memory, and as text; both give the same program."""
    body = """
        func.func @main(%x: tensor<4x3xf32>, %i: tensor<2xsi32>) -> tensor<2x3xf32> {
          %k = ptir.constant [[0.5, nan, -inf]] : tensor<1x3xf32>
          %b = ptir.broadcast_to %k result_shape = [4, 3] : tensor<1x3xf32> -> tensor<4x3xf32>
          %s = ptir.mul %x, %b : tensor<4x3xf32>
          %t = ptir.take %s, %i : (tensor<4x3xf32>, tensor<2xsi32>) -> tensor<2x3xf32>
          func.return %t : tensor<2x3xf32>
        }"""
    module = parse(f'builtin.module attributes {{ptir.spec_version = "ptir.v0.4"}} {{{body}}}')
    text = stablehlo_program(next(functions(module)), ExportOptions()).text
    convert_module(module, ExportOptions())
    convert_back(module)
    read = parse(text)
    (ours,), (theirs,) = ([f for f in functions(m)] for m in (module, read))
    assert isinstance(ours, FuncOp)
    assert [op.name for op in ours.walk()] == [op.name for op in theirs.walk()]
    assert any(op.name == "ptir.take" for op in ours.walk())


PROGRAM = """
import sys
from mind_tools.mind_opt import main
main([sys.argv[1], "-t", "stablehlo{function=loss_grad}", "--autodiff=function=loss", "--convert-mind-to-ptir"])
"""


def test_the_text_is_the_same_under_any_hash_seed() -> None:
    texts = set[bytes]()
    for seed in (0, 1, 4294967295):
        environment = os.environ | {"PYTHONHASHSEED": str(seed)}
        command = [sys.executable, "-c", PROGRAM, str(ROOT / "examples" / "mlp.coreir")]
        texts.add(subprocess.run(command, env=environment, capture_output=True, check=True, timeout=120).stdout)
    assert len(texts) == 1
    assert b'"stablehlo.dot_general"' in texts.pop()


def test_options_that_there_are_not_are_refused() -> None:
    from mind_lowering.ptir_to_stablehlo import checked_options

    with pytest.raises(MindError, match="precision 'double', expected one of") as caught:
        checked_options("double", False)
    assert caught.value.code == "E7001"


def test_the_target_knows_the_precisions_of_the_exporter() -> None:
    from mind_lowering.ptir_to_stablehlo import builder
    from mind_runtime.xla import options

    assert {p.upper() for p in options.PRECISIONS} == set(builder.PRECISIONS)
