"""Every op and every constant survives both text forms, in our code and in stock xdsl-opt."""

from __future__ import annotations

import math
import struct
import subprocess
import sys
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from xdsl.dialects.builtin import BytesAttr, ModuleOp
from xdsl.printer import Printer

from mind_dialect.core import CORE_OPS, EXTENSION_OPS, ConstantOp, ConstF32Op, ConstF64Op, ConstI64Op, CoreOp
from mind_dialect.literals import LiteralAttr, shortest
from mind_dialect.types import F32, F64, I32, I64, DType, tensor_type
from mind_dialect.verify import verify
from programs import parse
from verifier_rows import program

SAMPLES = {
    "const_i64": "%0 = mind.const_i64 -9223372036854775808 : <i64>",
    "const_f32": "%0 = mind.const_f32 -inf : <f32>",
    "const_f64": "%0 = mind.const_f64 nan : <f64>",
    "constant": "%0 = mind.constant [[1.0, nan], [-0.0, 1.0e-07]] : <2x2xf32>\n%1 = mind.constant fill 1 : <20x20xi32>",
    "add": "%0 = mind.add %x, %v : (<2x3xf32>, <3xf32>) -> <2x3xf32>",
    "sub": "%0 = mind.sub %x, %x : <2x3xf32>",
    "mul": "%0 = mind.mul %v, %v : <3xf32>",
    "div": "%0 = mind.div %x, %x : <2x3xf32>",
    "sum": "%0 = mind.sum %x axes = [1] keepdims = true : <2x3xf32> -> <2x1xf32>",
    "mean": "%0 = mind.mean %x axes = [] keepdims = false : <2x3xf32> -> <f32>",
    "reshape": "%0 = mind.reshape %x new_shape = [-1] : <2x3xf32> -> <6xf32>",
    "transpose": "%0 = mind.transpose %x permutation = [1, 0] : <2x3xf32> -> <3x2xf32>",
    "expand_dims": "%0 = mind.expand_dims %x axes = [] : <2x3xf32>",
    "squeeze": "%0 = mind.squeeze %x axes = [] : <2x3xf32>",
    "index": "%0 = mind.index %x indices = [-1, 9223372036854775807] : <2x3xf32> -> <f32>",
    "slice": "%0 = mind.slice %x starts = [0, 1] ends = [2, 3] steps = [1, 9] : <2x3xf32> -> <2x1xf32>",
    "gather": "%0 = mind.gather %x, %i : (<2x3xf32>, <4xi32>) -> <4x3xf32>",
    "dot": "%0 = mind.dot %v, %v : (<3xf32>, <3xf32>) -> <f32>",
    "matmul": "%0 = mind.matmul %s, %s : <3x3xf32>",
    "conv2d": "%0 = mind.conv2d %c, %c strides = [1, 2] padding = [[0, 1], [2, 3]] "
    ": (<1x1x1x1xf32>, <1x1x1x1xf32>) -> <1x2x3x1xf32>\n"
    "%1 = mind.conv2d %c, %c strides = [1, 1] padding = Same : <1x1x1x1xf32>",
    "relu": "%0 = mind.relu %x : <2x3xf32>",
    "neg": "%0 = mind.neg %i : <4xi32>",
    "exp": '%0 = mind.exp %x {other.note = "kept"} : <2x3xf32>',
    "log": "%0 = mind.log %x : <2x3xf32>",
    "relu_grad": "%0 = mind.relu_grad %x, %x : <2x3xf32>",
    "reciprocal": "%0 = mind.reciprocal %x : <2x3xf32>",
    "broadcast_to": "%0 = mind.broadcast_to %v shape = [0, 3] : <3xf32> -> <0x3xf32>",
    "scatter_add": "%0 = mind.scatter_add %i, %i shape = [7] : (<4xi32>, <4xi32>) -> <7xi32>",
    "slice_scatter": "%0 = mind.slice_scatter %v shape = [9] starts = [1] steps = [3] : <3xf32> -> <9xf32>",
    "index_scatter": "%0 = mind.index_scatter %z shape = [3, 4] indices = [1, 2] : <f32> -> <3x4xf32>",
    "conv2d_backward_input": "%0 = mind.conv2d_backward_input %c, %c shape = [1, 1, 1, 1] strides = [1, 1] "
    "padding = Valid : <1x1x1x1xf32>",
    "conv2d_backward_filter": "%0 = mind.conv2d_backward_filter %c, %c shape = [1, 1, 1, 1] strides = [1, 1] "
    "padding = Valid : <1x1x1x1xf32>",
}
ARGS = "%x: <2x3xf32>, %v: <3xf32>, %i: <4xi32>, %s: <3x3xf32>, %c: <1x1x1x1xf32>, %z: <f32>"


def generic(module: ModuleOp) -> str:
    out = StringIO()
    Printer(out, print_generic_format=True).print_op(module)
    return out.getvalue()


def test_every_op_has_a_sample():
    assert list(SAMPLES) == [op.name.removeprefix("mind.") for op in (*CORE_OPS, *EXTENSION_OPS)]


@pytest.mark.parametrize("name", SAMPLES)
def test_both_forms(name: str):
    module = parse(program(ARGS, SAMPLES[name], "core-v1.1"))
    verify(module)
    custom, plain = str(module), generic(module)
    for line in program(ARGS, SAMPLES[name]).splitlines()[1:-2]:
        assert line.strip() in custom, "what was written is what is printed"
    assert f'"mind.{name}"(' in plain
    for text in (custom, plain):
        again = parse(text)
        assert module.is_structurally_equivalent(again)
        assert (str(again), generic(again)) == (custom, plain)


FLOATS = [
    math.nan,
    math.inf,
    -math.inf,
    0.0,
    -0.0,
    0.1,
    1e-45,
    1e-38,
    3.4028234663852886e38,
    5e-324,
    16777217.0,
    1.0000001192092896,
]


def constants(block: ModuleOp) -> list[CoreOp]:
    return [op for op in block.walk() if isinstance(op, CoreOp)]


@given(st.lists(st.floats(width=32) | st.sampled_from(FLOATS), min_size=1, max_size=6), st.sampled_from([F32, F64]))
@example([-math.nan, math.nan], F32)
@example(FLOATS, F64)
def test_floats_keep_their_bits(numbers: list[float], dtype: DType):
    scalar = ConstF32Op if dtype is F32 else ConstF64Op
    values = [v for v in numbers if dtype is F64 or math.isnan(v) or abs(v) in (0, math.inf) or 1e-45 <= abs(v) < 3.5e38]
    ops = [scalar(v) for v in values]
    ops.append(ConstantOp(LiteralAttr.from_values(dtype, (1, len(values)), values)) if values else scalar(1.0))
    ops.append(ConstantOp(LiteralAttr.filled(dtype, (200, 3), values[0])) if values else scalar(1.0))
    ops.append(ConstantOp(LiteralAttr.from_values(dtype, (101,), [values[0]] * 101)) if values else scalar(1.0))
    module = ModuleOp(ops)
    for text in (str(module), generic(module)):
        for before, after in zip(constants(module), constants(parse(text)), strict=True):
            if isinstance(before, ConstantOp) and isinstance(after, ConstantOp):
                assert before.literal == after.literal
            else:
                bits = [struct.pack("<d", op.values()["value"]) for op in (before, after)]
                assert bits[0] == bits[1]


@given(st.integers(-(1 << 63), (1 << 63) - 1))
@example(-(1 << 63))
def test_integers(value: int):
    module = ModuleOp([ConstI64Op(value), ConstantOp(LiteralAttr.from_values(I64, (1,), [value]))])
    for text in (str(module), generic(module)):
        assert module.is_structurally_equivalent(parse(text))


def test_a_nan_of_another_bit_pattern_is_kept_as_hex():
    odd = LiteralAttr.from_bytes(F32, (2,), bytes.fromhex("0100c07f0000803f"))
    assert odd.body() == '"0x0100C07F0000803F"'
    module = ModuleOp([ConstantOp(odd)])
    assert module.is_structurally_equivalent(parse(str(module)))


@pytest.mark.parametrize("n", [1, 2, 99, 100, 101, 5000])
def test_literals_of_any_size(n: int):
    module = ModuleOp([ConstantOp(LiteralAttr.from_values(I32, (n,), list(range(n))))])
    assert ('"0x' in str(module)) == (n > 100)
    assert module.is_structurally_equivalent(parse(str(module)))


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
@example(1e-45)
@example(3.4028234663852886e38)
@example(3.3999999521443642e38)
@example(1.17549435e-38)
def test_shortest_decimals_are_those_of_numpy(value: float):
    """NumPy's own shortest-digits algorithm is the oracle; equal length, for two decimals may be equally short."""

    def digits(text: str) -> int:
        return len(text.lower().partition("e")[0].lstrip("-").replace(".", "").strip("0"))

    text = shortest(value, F32)
    assert np.float32(text) == np.float32(value)
    assert math.copysign(1, float(text)) == math.copysign(1, value)
    scientific = np.format_float_scientific(np.float32(value), unique=True, trim="-")
    assert digits(np.format_float_scientific(float(text), trim="-")) == digits(scientific)


def test_what_does_not_fit_prints_all_the_same():
    for literal in (
        LiteralAttr(tensor_type(F32, (2, 2)), BytesAttr(b"123")),
        LiteralAttr(tensor_type(F32, (-1,)), BytesAttr(b"12345678")),
        LiteralAttr(tensor_type(I64, (0, 3)), BytesAttr(b"")),
    ):
        assert "mind.constant" in str(ConstantOp.create(properties={"value": literal}, result_types=[literal.type]))


def xdsl_opt(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Stock xdsl-opt of this environment, which finds our dialect through its plug-in."""
    tool = Path(sys.executable).parent / "xdsl-opt"
    return subprocess.run([tool, path, *arguments], capture_output=True, text=True, timeout=120)


def test_stock_xdsl_opt_reads_and_writes_all_of_it(tmp_path: Path):
    file = tmp_path / "all.mlir"
    bodies = [program(ARGS, body, "core-v1.1").replace("@f", f"@{name}") for name, body in SAMPLES.items()]
    file.write_text("\n".join(bodies))
    custom = xdsl_opt(file)
    assert (custom.returncode, custom.stderr) == (0, "")
    assert custom.stdout.strip() == str(parse(file.read_text())).strip()
    plain = xdsl_opt(file, "--print-op-generic")
    file.write_text(plain.stdout)
    assert xdsl_opt(file).stdout == custom.stdout


def test_stock_xdsl_opt_shows_our_errors(tmp_path: Path):
    file = tmp_path / "bad.mlir"
    file.write_text(program("%x: <2xi32>", "%0 = mind.relu %x : <2xi32>"))
    result = xdsl_opt(file, "--verify-diagnostics")
    assert result.returncode == 0
    assert "E2005: Relu %1: takes dtypes ['f32', 'f64'], found i32" in result.stdout
