"""What the converted programs compute, run by a real MLIR, against the reference kernels: every op, dtype and special value."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import OPS_BY_OPCODE, PtirOp
from mind_dialect.ptir.types import ALL, DTYPES, PtirDType, read_type
from mind_lowering.ptir_to_linalg import REFUSED, convert_module
from mlir_execution import Call, Runner, signature, text_of
from programs import parse
from ptir_evaluator import evaluate, function_of
from ptir_oracle import assert_same, elements, is_integer, legal, samples
from ptir_programs import REGIONS, function, module_of
from ptir_rows import typed

RUNNABLE = [d for d in ALL if d.kind != "complex" and not (d.is_float and d.bits == 8)]
"""LLVM has no floats of 8 bits; of these a test asks only whether mlir-opt accepts them."""
FLOATS = ("f32", "f64", "f16", "bf16")

Case = tuple[FuncOp, list[np.ndarray]]


@pytest.fixture(scope="session")
def runner(mlir_opt: str) -> Runner:
    if (found := Runner.beside(mlir_opt)) is None:
        pytest.skip("no mlir-runner beside mlir-opt")
    return found


def check(runner: Runner, cases: Sequence[Case], ulps: int = 0) -> None:
    """Convert all functions as one module, run them in one go, and compare each with the kernels."""
    for i, (func, _) in enumerate(cases):
        func.properties["sym_name"] = type(func.sym_name)(f"f{i}")
    signatures = [signature(func) for func, _ in cases]
    expected = [evaluate(func, arrays) for func, arrays in cases]
    module = module_of(*(func for func, _ in cases))
    texts = [str(func) for func, _ in cases]
    convert_module(module, in_range=True)
    module.verify()
    calls = [Call(f"f{i}", arrays, *signatures[i]) for i, (_, arrays) in enumerate(cases)]
    for text, found, wanted in zip(texts, runner.run(text_of(module), calls), expected, strict=True):
        for a, b in zip(found, wanted, strict=True):
            try:
                compare(a, np.asarray(b), ulps)
            except AssertionError as e:
                raise AssertionError(f"{text}\n{e}") from None


def compare(found: np.ndarray, wanted: np.ndarray, ulps: int) -> None:
    """Equal; but subnormal numbers of bf16 may be 0, as processors with an instruction for bf16 make them."""
    if found.dtype == wanted.dtype and found.dtype.name == "bfloat16":
        tiny = np.abs(wanted.astype("f4")) < 1.2e-38
        assert np.all(np.abs(found.astype("f4"))[tiny] < 1.2e-38)
        found, wanted = (np.where(tiny, 0, v.astype("f4")).astype(v.dtype) for v in (found, wanted))
    assert_same(found, wanted, ulps=ulps)


def case(op: Callable[..., PtirOp | Sequence[Operation]], types: str, *arrays: Any, **properties: Any) -> Case:
    """A function of one op on operands of these types."""

    def body(*values: SSAValue) -> Sequence[Operation]:
        made = op(*values, **properties)
        return made if isinstance(made, Sequence) else [made]

    func = function(types, body)
    given = [np.asarray(a) for a in arrays]
    for array, argument in zip(given, func.body.block.args, strict=True):
        assert array.shape == read_type(argument.type).shape
    return func, given


def numbers(type: str, seed: int = 0, *, special: bool = True) -> np.ndarray:
    """Sample values in the shape of a type."""
    dtype, shape = read_type(typed(type))
    count = int(np.prod(shape))
    pool = samples(dtype, max(count, 1), special=special, seed=seed)
    order = np.random.default_rng(seed).permutation(max(count, len(pool))) % len(pool)
    return pool[order[:count]].reshape(shape)


def one(op: type[PtirOp], types: str, *, special: bool = True, **properties: Any) -> Case:
    """One op on sample values."""
    arrays = [numbers(t, seed=i, special=special) for i, t in enumerate(types.split())]
    return case(op, types, *arrays, **properties)


def elementwise(key: str, dtype: PtirDType) -> Case:
    """One op on every combination of special values."""
    opcode, _, kind = key.partition(" ")
    op = OPS_BY_OPCODE[opcode]
    dtypes = [DTYPES["i1"] if op is ptir.SelectOp and i == 0 else dtype for i in range(len(op.OPERANDS))]
    pools = [samples(d, 40)[: 40 if len(dtypes) == 1 else 14 if len(dtypes) == 2 else 6] for d in dtypes]
    if opcode in ("div", "remainder") and is_integer(dtype):
        pools[1] = pools[1][pools[1] != 0]
    if opcode in ("maximum", "minimum", "clamp"):  # which of two zeros is greater is not said
        pools = [np.where(p == 0, np.zeros_like(p), p) for p in pools]
    operands = [each.reshape(-1) for each in np.meshgrid(*pools)]
    types = " ".join(f"{d}[{len(operands[0])}]" for d in dtypes)
    return case(op, types, *operands, **({"kind": kind} if kind else {}))


ELEMENTWISE = ("transcendental", "arithmetic", "rounding", "bits", "comparison")
FLOAT_REMAINDERS = [("remainder", d) for d in RUNNABLE if d.is_float]


def runnable(*families: str) -> list[tuple[str, PtirDType]]:
    """Ops and dtypes that linalg can say and this runner can run."""
    pairs = [pair for pair in legal(*families) if pair[1] in RUNNABLE and pair not in FLOAT_REMAINDERS]
    return [pair for pair in pairs if ptir.OPS_BY_OPCODE[pair[0].partition(" ")[0]] not in REFUSED]


@pytest.mark.parametrize("family", ELEMENTWISE)
def test_elementwise_ops_on_special_values(family: str, runner: Runner) -> None:
    check(runner, [elementwise(key, dtype) for key, dtype in runnable(family)], ulps=4 if family == "transcendental" else 0)


def test_casts_between_every_two_dtypes(runner: Runner) -> None:
    cases = [one(ptir.CastOp, f"{source}[40]", dtype=target) for source in RUNNABLE for target in RUNNABLE]
    edges = np.array([2.0**31, -(2.0**31) - 1, 2.0**31 - 1, 255.5, -0.5, 127.99, 2.0**63, 2.0**64, 1e300, 7.5, -8.9], "f8")
    cases += [case(ptir.CastOp, "f64[11]", edges, dtype=target) for target in RUNNABLE]
    check(runner, cases)


def test_reductions(runner: Runner) -> None:
    cases = [
        one(ptir.ReduceOp, f"{d}[2,0,3]", kind=kind, axes=axes, keepdims=True)
        for d in RUNNABLE
        for kind in (("max", "min") if d.bits == 1 else ("sum", "max", "min"))
        for axes in ([1], [])
    ]
    extremes = [
        one(ptir.ReduceOp, f"{d}[5,4,3]", kind=kind, axes=axes, keepdims=keep)
        for d in RUNNABLE
        for kind in ("max", "min")
        for axes, keep in (([1], False), ([-1, 0], True), ([0, 1, 2], False))
    ]
    wrapping = [one(ptir.ReduceOp, f"{d}[5,9]", kind="sum", axes=[1], keepdims=False) for d in RUNNABLE if is_integer(d)]
    check(runner, [*cases, *extremes, *wrapping])
    sums = [one(ptir.ReduceOp, f"{d}[5,4,3]", special=False, kind="sum", axes=[2, 0], keepdims=False) for d in FLOATS]
    total: dict[str, Any] = {"kind": "sum", "axes": [0], "keepdims": True}
    sums += [one(ptir.ReduceOp, "f16[5,4]", special=False, accum_dtype="f64", out_dtype="f64", **total)]
    sums += [one(ptir.ReduceOp, "si8[5,4]", accum_dtype="si32", out_dtype="ui8", **total)]
    check(runner, sums, ulps=8)


def test_arg_max(runner: Runner) -> None:
    properties = [(0, True, "si32"), (-1, False, "si64")]
    cases = [
        one(ptir.ArgMaxOp, f"{d}[4,7]", axis=axis, keepdims=keep, output_dtype=out)
        for d in RUNNABLE
        for axis, keep, out in properties
    ]
    ties = np.array([[1, 3, 3, 0], [np.nan, 1, np.nan, 2], [-np.inf] * 4, [-0.0, 0.0, -0.0, 0.0]], "f4")
    cases += [case(ptir.ArgMaxOp, "f32[4,4]", ties, axis=1, keepdims=False, output_dtype="si32")]
    cases += [one(ptir.ArgMaxOp, "f32[0,3]", axis=1, keepdims=True, output_dtype="si32")]
    check(runner, cases)


def dot(lhs: Sequence[int], rhs: Sequence[int], batch: tuple[Sequence[int], Sequence[int]] = ((), ())) -> dict[str, Any]:
    return {"contract_lhs": lhs, "contract_rhs": rhs, "batch_lhs": batch[0], "batch_rhs": batch[1]}


def test_contraction(runner: Runner) -> None:
    exact = [d for d in RUNNABLE if is_integer(d)]
    cases = [one(ptir.DotGeneralOp, f"{d}[3,4] {d}[4,2]", **dot([1], [0])) for d in exact]
    cases += [one(ptir.DotGeneralOp, "si8[3,4] si8[4,2]", accum_dtype="si32", out_dtype="si16", **dot([-1], [0]))]
    cases += [one(ptir.DotGeneralOp, "si32[2,3,4] si32[4,3,2]", **dot([2], [0], ([1, 0], [1, 2])))]
    cases += [one(ptir.DotGeneralOp, "si32[2,0] si32[0,3]", **dot([1], [0]))]
    cases += [one(ptir.DotGeneralOp, "si32[2,3] si32[4]", **dot([], []))]
    check(runner, cases)
    floats = [one(ptir.DotGeneralOp, f"{d}[3,4] {d}[4,2]", special=False, **dot([1], [0])) for d in FLOATS]
    check(runner, floats, ulps=64)


RESHAPES = [("", [1, 1]), ("1,1", []), ("2,1,3", [6]), ("6", [2, 1, 3]), ("2,6", [4, 3]), ("0,3", [0, 7]), ("1", [1, 1, 1])]


def test_structure(runner: Runner) -> None:
    cases: list[Case] = []
    for d in RUNNABLE:
        zero = 0.0 if d.is_float else 0
        cases += [
            one(ptir.ReshapeOp, f"{d}[2,3,4]", new_shape=[4, -1]),
            one(ptir.TransposeOp, f"{d}[2,3,4]", perm=[2, 0, 1]),
            one(ptir.BroadcastToOp, f"{d}[3,1]", result_shape=[2, 3, 4]),
            one(ptir.SliceOp, f"{d}[4,5]", starts=[1, 2], sizes=[2, 3]),
            one(ptir.StridedSliceOp, f"{d}[9,5]", starts=[1, 0], limits=[8, 5], strides=[3, 2]),
            one(ptir.ReverseOp, f"{d}[3,4]", axes=[-1]),
            one(ptir.ConcatOp, f"{d}[2,3] {d}[2,1] {d}[2,0]", axis=-1),
            one(ptir.PadOp, f"{d}[2,3]", pad_value=zero, low=[1, 0], high=[0, 2], interior=[0, 0]),
            one(ptir.PadOp, f"{d}[2,3]", pad_value=zero, low=[1, 0], high=[0, 2], interior=[2, 1]),
            one(ptir.TileOp, f"{d}[2,3]", repeats=[2, 3]),
            one(ptir.StopGradientOp, f"{d}[2]"),
        ]
    cases += [one(ptir.IotaOp, "", shape=[300, 2], dtype=d, axis=0) for d in RUNNABLE if d.bits > 1]
    cases += [one(ptir.ReshapeOp, f"f32[{a}]", new_shape=b) for a, b in RESHAPES]
    cases += [
        one(ptir.BroadcastToOp, "f32[1]", result_shape=[0]),
        one(ptir.SliceOp, "f32[4]", starts=[4], sizes=[0]),
        one(ptir.PadOp, "f32[0,2]", pad_value=1.0, low=[1, 0], high=[1, 0], interior=[3, 0]),
        one(ptir.TileOp, "f32[2]", repeats=[0]),
        one(ptir.ReverseOp, "f32[0]", axes=[0]),
        one(ptir.ConcatOp, "f32[2]", axis=0),
    ]
    check(runner, cases)


def test_literals(runner: Runner) -> None:
    """Every value of every dtype through the text: NaN, infinities, subnormal numbers, bits beyond the sign."""
    cases: list[Case] = []
    for d in RUNNABLE:
        values = elements(samples(d))
        literal = ptir.PtirLiteralAttr.from_values(d, (len(values),), values)
        cases.append(case(lambda literal=literal: ptir.ConstantOp(literal), ""))
        for value in values[:6]:
            fill = ptir.PtirLiteralAttr.filled(d, (2, 3), value)
            cases.append(case(lambda fill=fill: ptir.ConstantOp(fill), ""))
    for value in (123456789.0, 1e-45, 3.4e38, 1 / 3, -1e22):
        fill = ptir.PtirLiteralAttr.from_values(DTYPES["f32"], (1,), [value])
        cases.append(case(lambda fill=fill: ptir.ConstantOp(fill), ""))
    check(runner, cases)


def test_places_that_are_data(runner: Runner) -> None:
    cases: list[Case] = []
    for d in ("f32", "i1", "ui8", "si64"):
        x, row = numbers(f"{d}[5,4]"), numbers(f"{d}[2,4]", 1)
        for start in ([-3, 0], [1, 2], [9, 9], [2**31 - 1, -(2**31)]):
            at = np.array(start, "i4")
            cases.append(case(ptir.DynamicSliceOp, f"{d}[5,4] si32[2]", x, at, sizes=[2, 3]))
            cases.append(case(ptir.DynamicUpdateSliceOp, f"{d}[5,4] {d}[2,4] si32[2]", x, row, at, sizes=[2, 4]))
        wide = np.array([2**63 - 1, -(2**63)], "i8")
        cases.append(case(ptir.DynamicSliceOp, f"{d}[5,4] si64[2]", x, wide, sizes=[1, 1]))
        index = np.array([[4, 0, 2], [1, 1, 3]], "i4")
        cases.append(case(ptir.TakeOp, f"{d}[5,4] si32[2,3]", x, index))
        cases.append(case(ptir.GatherOp, f"{d}[5,4] si64[2,4]", x, np.array([[4, 0, 2, 1], [0, 0, 4, 3]], "i8"), axis=-2))
    check(runner, cases)


STEPS: dict[str, Any] = {"strides": [2, 1], "base_dilation": [1, 2], "window_dilation": [2, 1]}
WINDOW = {"window_dims": [2, 3], "padding": [(1, 0), (2, 1)], **STEPS}
PATCHES = {"window": [2, 2], "strides": [2, 1], "dilation": [1, 2], "padding": [(1, 0), (0, 1)]}
CONVOLUTION = {"padding": [(1, 1), (0, 2)], **STEPS}


def test_windows(runner: Runner) -> None:
    cases = [one(ptir.ReduceWindowOp, f"{d}[6,5]", kind=kind, **WINDOW) for d in RUNNABLE for kind in ("max", "min")]
    cases += [one(ptir.ReduceWindowOp, f"{d}[6,5]", kind="sum", **WINDOW) for d in RUNNABLE if is_integer(d)]
    cases += [one(ptir.ExtractPatchesOp, f"{d}[2,5,4,3]", pad_value=1.0 if d.is_float else 1, **PATCHES) for d in RUNNABLE]
    cases += [
        one(ptir.ConvolutionOp, f"{d}[2,5,4,4] {d}[2,3,{4 // groups},6]", feature_group_count=groups, **CONVOLUTION)
        for d in RUNNABLE
        if is_integer(d)
        for groups in (1, 2)
    ]
    cases += [one(ptir.ReduceWindowOp, "f32[1,1]", kind="max", **{**WINDOW, "padding": [(0, 0), (0, 0)]})]
    check(runner, cases)
    floats = [
        one(ptir.ConvolutionOp, f"{d}[1,5,4,4] {d}[2,3,2,6]", special=False, feature_group_count=2, **CONVOLUTION) for d in FLOATS
    ]
    floats += [one(ptir.ReduceWindowOp, f"{d}[6,5]", special=False, kind="sum", **WINDOW) for d in FLOATS]
    check(runner, floats, ulps=64)


def test_sums_along_an_axis_and_normalisation(runner: Runner) -> None:
    flags = [{"exclusive": a, "reverse": b} for a in (False, True) for b in (False, True)]
    exact = [d for d in RUNNABLE if is_integer(d)]
    check(runner, [one(ptir.CumulativeSumOp, f"{d}[3,5]", axis=-1, **f) for d in exact for f in flags])
    kinds = [(k, d) for k in ("prod", "max", "min") for d in exact]
    check(runner, [one(ptir.CumulativeOp, f"{d}[3,5]", kind=k, axis=-1, **f) for k, d in kinds for f in flags])
    floats = [one(ptir.CumulativeSumOp, f"{d}[3,5]", special=False, axis=0, **f) for d in FLOATS for f in flags]
    floats += [one(ptir.LayerNormOp, f"{d}[3,8] {d}[8] {d}[8]", special=False, epsilon=1e-5, feature_axis=-1) for d in FLOATS]
    floats += [one(ptir.LayerNormOp, f"{d}[8,3] {d}[8] {d}[8]", special=False, epsilon=0.1, feature_axis=0) for d in FLOATS]
    check(runner, floats, ulps=64)


def test_quantization(runner: Runner) -> None:
    cases: list[Case] = []
    scale, per_axis = np.array(0.25, "f4"), np.array([0.5, 2.0, 0.01], "f4")
    second = np.array(0.75, "f4"), np.array(-2, "i1")
    for q in ("si8", "ui8", "si4", "ui4", "si16", "ui32"):
        zero, zeros = np.array(1, numbers(f"{q}[1]").dtype), numbers(f"{q}[3]", special=False)
        floats, whole = numbers("f32[4,3]"), numbers(f"{q}[4,3]")
        cases += [
            case(ptir.QuantizeOp, "f32[4,3]", floats, output_dtype=q),
            case(ptir.QuantizeOp, f"f32[4,3] f32[] {q}[]", floats, scale, zero, output_dtype=q),
            case(ptir.QuantizeOp, f"f32[4,3] f32[3] {q}[3]", floats, per_axis, zeros, output_dtype=q, axis=-1),
            case(ptir.DequantizeOp, f"{q}[4,3]", whole),
            case(ptir.DequantizeOp, f"{q}[4,3] f32[3] {q}[3]", whole, per_axis, zeros, axis=1),
            case(ptir.RequantizeOp, f"{q}[4,3] f32[] {q}[] f32[] si8[]", whole, scale, zero, *second, output_dtype="si8"),
        ]
    check(runner, cases)


CONTROL = """
module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @main(%n: tensor<si32>, %x: tensor<3x2xf32>, %p: tensor<i1>)
      -> (tensor<si32>, tensor<2xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>) {
    %i = ptir.while %n : tensor<si32> cond {
    ^bb0(%a: tensor<si32>):
      %ten = ptir.constant 10 : tensor<si32>
      %t = ptir.compare %a, %ten kind = less : (tensor<si32>, tensor<si32>) -> tensor<i1>
      %a2 = ptir.add %a, %a : tensor<si32>
      ptir.yield %t, %a2 : tensor<i1>, tensor<si32>
    } body {
    ^bb0(%a: tensor<si32>):
      %u = ptir.constant 1 : tensor<si32>
      %b = ptir.add %a, %u : tensor<si32>
      ptir.yield %b : tensor<si32>
    }
    %z = ptir.constant [0.0, 1.0] : tensor<2xf32>
    %c, %s = ptir.scan %z, %x carry_count = 1 scan_output_count = 1
      : (tensor<2xf32>, tensor<3x2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>) body {
    ^bb0(%carry: tensor<2xf32>, %row: tensor<2xf32>):
      %d = ptir.add %carry, %row : tensor<2xf32>
      ptir.yield %d, %carry : tensor<2xf32>, tensor<2xf32>
    }
    %r = ptir.cond %p, %x : (tensor<i1>, tensor<3x2xf32>) -> tensor<3x2xf32> true {
    ^bb0(%y: tensor<3x2xf32>):
      %g = ptir.fusion %y : tensor<3x2xf32> body {
      ^bb2(%h: tensor<3x2xf32>):
        %h1 = ptir.neg %h : tensor<3x2xf32>
        %h2 = ptir.abs %h1 : tensor<3x2xf32>
        ptir.yield %h2 : tensor<3x2xf32>
      }
      ptir.yield %g : tensor<3x2xf32>
    } false {
    ^bb0(%y: tensor<3x2xf32>):
      ptir.yield %y : tensor<3x2xf32>
    }
    %e, %f = ptir.while %z, %c : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) cond {
    ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
      %m = ptir.reduce %a kind = sum axes = [0] keepdims = false : tensor<2xf32> -> tensor<f32>
      %o = ptir.constant 1.0 : tensor<f32>
      %t = ptir.compare %m, %o kind = less_equal : (tensor<f32>, tensor<f32>) -> tensor<i1>
      ptir.yield %t, %b, %a : tensor<i1>, tensor<2xf32>, tensor<2xf32>
    } body {
    ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
      %k = ptir.constant fill 1.0 : tensor<2xf32>
      %l = ptir.add %a, %k : tensor<2xf32>
      ptir.yield %l, %b : tensor<2xf32>, tensor<2xf32>
    }
    func.return %i, %c, %s, %r, %e, %f
      : tensor<si32>, tensor<2xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>
  }
}
"""
"""Loops that change and swap what they carry, on both ways; a branch with a fusion inside."""


def test_control_flow(runner: Runner) -> None:
    x = np.array([[1.5, -2.0], [0.25, 4.0], [-1.0, 8.0]], "f4")
    cases: list[Case] = []
    for n, p in ((3, True), (100, False), (-7, True)):
        func = function_of(parse(CONTROL))
        func.detach()
        cases.append((func, [np.array(n, "i4"), x, np.array(p)]))
    check(runner, cases)


def test_a_scan_of_nothing(runner: Runner) -> None:
    text = CONTROL.replace("3x2", "0x2")
    func = function_of(parse(text))
    func.detach()
    check(runner, [(func, [np.array(3, "i4"), np.zeros((0, 2), "f4"), np.array(True)])])


def test_the_regions_of_the_serialised_forms(runner: Runner) -> None:
    """The same program as in the tests of the other forms, its top_k replaced by what can be said."""
    text, found = re.subn(r"%v, %w = ptir.top_k[^)]*\)", "%v = ptir.neg %row : tensor<2xf32>", REGIONS)
    assert found == 1
    func = function_of(parse(text))
    func.detach()
    check(runner, [(func, [np.array(3, "i4"), numbers("f32[3,2]", special=False), np.array(True)])], ulps=4)


def test_the_comparison_sees_a_wrong_result(runner: Runner) -> None:
    func, arrays = one(ptir.AddOp, "f32[4] f32[4]", special=False)
    other = function_of(parse(str(module_of(func)).replace("ptir.add", "ptir.sub")))
    other.detach()
    wrong = evaluate(other, arrays)[0]
    module = module_of(func.clone())
    convert_module(module)
    ((found,),) = runner.run(text_of(module), [Call("main", arrays, *signature(func))])
    compare(found, evaluate(func, arrays)[0], 0)
    with pytest.raises(AssertionError):
        compare(found, wrong, 4)
