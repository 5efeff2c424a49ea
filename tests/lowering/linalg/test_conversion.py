"""The conversion as a whole: every op has a rule or a reason, every program is accepted or refused with all that is wrong."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, linalg, math, scf, tensor
from xdsl.parser import Parser

from closed_tables import expect_rows
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.ptir import EXTENSION_OPS, PTIR_OPS, ConstantOp, PtirLiteralAttr, YieldOp
from mind_dialect.ptir.types import ALL, dtype_named
from mind_lowering.conversion import ConversionOptions, get_conversion_target
from mind_lowering.ptir_to_linalg import REFUSED, ConvertPtirToLinalgPass, convert_module
from mind_lowering.ptir_to_linalg.builder import grouping
from mind_lowering.ptir_to_linalg.legal import CONVERTED, is_never_zero
from mlir_execution import only_function, text_of
from programs import parse
from ptir_oracle import legal
from ptir_programs import ACCEPTED, function, module_of, regions_module, row_module

TARGET_DIALECTS = ("builtin", "func", "tensor", "linalg", "arith", "math", "scf")


def static(row) -> bool:
    """Whether the target has all types of a row."""
    types = [v.type for op in row_module(row).walk() for v in (*op.operands, *op.results)]
    return not any(builtin.DYNAMIC_INDEX in t.get_shape() or isinstance(t.element_type, builtin.ComplexType) for t in types)


ROWS = [row for row in ACCEPTED if row.op in CONVERTED and static(row) and row.op is not ptir.RemainderOp]


def target_context() -> Context:
    """What a foreign flow knows: nothing of ours."""
    ctx = Context()
    dialects = (builtin.Builtin, func.Func, tensor.Tensor, linalg.Linalg, arith.Arith, math.Math, scf.Scf)
    for dialect in dialects:
        ctx.load_dialect(dialect)
    return ctx


@pytest.mark.quick
def test_every_op_has_a_rule_or_a_reason() -> None:
    assert set(CONVERTED).isdisjoint(REFUSED)
    expect_rows(
        "CONVERTED or REFUSED of mind_lowering/ptir_to_linalg", {*CONVERTED, *REFUSED, YieldOp}, {*PTIR_OPS, *EXTENSION_OPS}
    )
    assert {row.op for row in ROWS} >= {op for op in CONVERTED if not issubclass(op, ptir.RegionOp)} - dynamic_only()


def dynamic_only() -> set[type[ptir.PtirOp]]:
    """Ops whose rows of accepted types all have dynamic dimensions; `test_values` runs them."""
    with_rows = {row.op for row in ACCEPTED}
    return {op for op in CONVERTED if op in with_rows and not any(row.op is op for row in ROWS)}


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_what_is_legal_is_accepted_by_xdsl_and_read_back(row) -> None:
    module = row_module(row)
    convert_module(module, in_range=True)
    module.verify()
    assert {op.name.partition(".")[0] for op in module.walk()} <= set(TARGET_DIALECTS)
    for generic in (True, False):
        again = Parser(target_context(), text_of(module, generic=generic)).parse_module()
        again.verify()
        assert again.is_structurally_equivalent(module)


def test_a_real_mlir_accepts_every_program_in_both_forms(mlir_opt: str) -> None:
    import subprocess

    modules = [row_module(row) for row in ROWS]
    for key, dtype in legal("transcendental", "arithmetic", "rounding", "bits", "comparison"):
        refused = ptir.OPS_BY_OPCODE[key.partition(" ")[0]] in REFUSED
        if dtype.kind != "complex" and not refused and not (key == "remainder" and dtype.is_float):
            modules.append(elementwise(key, dtype.name))
    modules += [cast(a.name, b.name) for a in ALL for b in ALL if "complex" not in (a.kind, b.kind)]
    for module in modules:
        convert_module(module, in_range=True)
    for generic in (True, False):
        text = "\n// -----\n".join(text_of(m, generic=generic) for m in modules)
        result = subprocess.run([mlir_opt, "--split-input-file"], input=text, text=True, capture_output=True, check=False)
        assert result.returncode == 0, result.stderr[:3000]


def elementwise(key: str, dtype: str):
    opcode, _, kind = key.partition(" ")
    op = ptir.OPS_BY_OPCODE[opcode]
    types = " ".join(f"{'i1' if name == 'pred' else dtype}[2]" for name in op.OPERANDS)
    return module_of(function(types, lambda *v: [op(*v, **({"kind": kind} if kind else {}))]))


def cast(source: str, target: str):
    return module_of(function(f"{source}[2]", lambda x: [ptir.CastOp(x, dtype=target)]))


ILLEGAL = """
module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @f(%x: tensor<?x4xf32, "B,*">, %i: tensor<3xsi32>) -> tensor<?x4xf32, "B,*"> {
    %0 = ptir.neg %x : tensor<?x4xf32, "B,*">
    %1 = ptir.sort %i axis = 0 descending = false : tensor<3xsi32>
    %2 = ptir.div %1, %i : tensor<3xsi32>
    func.return %0 : tensor<?x4xf32, "B,*">
  }
  func.func @g(%x: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
    %y = ptir.rng_normal shape = [2] dtype = f32 : tensor<2xf32>
    func.return %x : tensor<2xcomplex<f32>>
  }
}
"""


def test_the_error_names_everything_and_nothing_is_changed() -> None:
    module = parse(ILLEGAL)
    before = str(module)
    with pytest.raises(MindError, match="E8008: linalg cannot express 8 things") as caught:
        convert_module(module)
    assert str(module) == before
    message = str(caught.value)
    for part in (
        "@f: parameter 0: dynamic dimensions are not allowed",
        "@f, op 0 (ptir.neg): dynamic dimensions are not allowed",
        "@f, op 1 (ptir.sort): operation ptir.sort is not allowed: linalg has no sort",
        "@f, op 2 (ptir.div): operation ptir.div is not allowed: an integer divisor of 0 must be rejected",
        "@g: parameter 0: dtype complex<f32> is not allowed",
        "@g, op 0 (ptir.rng_normal): operation ptir.rng_normal is not allowed: its random numbers depend on the seed",
    ):
        assert part in message
    assert caught.value.category == "Unimplemented"


def test_ops_inside_regions_are_named_too() -> None:
    with pytest.raises(MindError, match=r"@count, op 3.body.0 \(ptir.top_k\): operation ptir.top_k is not allowed"):
        convert_module(regions_module())


def test_a_mixed_function_is_refused() -> None:
    text = 'func.func @f(%x: tensor<2xf32>) { %y = ptir.neg %x : tensor<2xf32> "test.op"() : () -> () func.return }'
    with pytest.raises(MindError, match=r"op 1 \(test.op\): operation test.op is not allowed"):
        convert_module(parse(text))


@pytest.mark.parametrize(("divisor", "legal"), [((1, 2), True), ((1, 0), False), ((-1, -1), True)])
def test_integer_division_by_constants(divisor: tuple[int, ...], legal: bool) -> None:
    def body(x):
        constant = ConstantOp(PtirLiteralAttr.from_values(dtype_named("si32"), (2,), divisor))
        wide = ptir.BroadcastToOp(constant, result_shape=[3, 2])
        return [constant, wide, ptir.DivOp(x, wide)]

    module = module_of(function("si32[3,2]", body))
    assert is_never_zero(only_function(module).body.block.ops.last.prev_op.operands[1]) is legal
    if legal:
        convert_module(module)
        module.verify()
    else:
        with pytest.raises(MindError, match=r"E8008.*a constant divisor without 0 is legal"):
            convert_module(module)


@pytest.mark.parametrize("op", [ptir.TakeOp, ptir.GatherOp])
def test_indices_need_a_promise(op: type[ptir.PtirOp]) -> None:
    properties = {"axis": 0} if op is ptir.GatherOp else {}
    module = module_of(function("f32[3] si32[2]", lambda x, i: [op(x, i, **properties)]))
    with pytest.raises(MindError, match="assume-in-range promises"):
        convert_module(module)
    convert_module(module, in_range=True)
    module.verify()


def test_functions_without_ptir_stay_as_they_are() -> None:
    text = """module attributes {a.b = 1 : i64} {
  func.func @core(%x: tensor<2xf32>) -> tensor<2xf32> attributes {mind.profile = "core-v1"} {
    %y = mind.exp %x : tensor<2xf32>
    func.return %y : tensor<2xf32>
  }
}"""
    module = parse(text)
    before = str(module)
    convert_module(module)
    assert str(module) == before


def test_our_attributes_go_and_names_of_values_stay() -> None:
    module = parse("""module attributes {ptir.spec_version = "ptir.v0.4", other.note = 1 : i64} {
  func.func @f(%x: tensor<2xf32> {mind.name = "a", other.n = 2 : i64}) -> tensor<2xf32> attributes {mind.profile = "core-v1"} {
    %sum = ptir.add %x, %x {ptir.note = 3 : i64} : tensor<2xf32>
    func.return %sum : tensor<2xf32>
  }
}""")
    ConvertPtirToLinalgPass().apply(target_context(), module)
    text = str(module)
    assert "ptir." not in text
    assert "mind." not in text
    assert "other.note = 1" in text
    assert "other.n = 2" in text
    assert "%sum = linalg.generic" in text
    assert "%x" in text


def test_ops_keep_the_place_they_come_from() -> None:
    module = row_module(next(row for row in ROWS if row.op is ptir.ConvolutionOp))
    op = only_function(module).body.block.first_op
    op.location = builtin.FileLineColLoc(builtin.StringAttr("m.mlir"), builtin.IntAttr(3), builtin.IntAttr(5))
    location = op.location
    convert_module(module)
    assert all(o.location == location for o in only_function(module).walk() if o.name not in ("func.func", "func.return"))


def test_the_conversion_target(mlir_opt: str) -> None:
    import subprocess

    target = get_conversion_target("linalg")
    assert target is not None
    module = row_module(next(row for row in ROWS if row.op is ptir.ConvolutionOp))
    before = str(module)
    found = target.convert(module, ConversionOptions())
    assert str(module) == before
    ((entry,),) = [found.entrypoints]
    assert entry.ptir == "main"
    assert entry.symbol.startswith("main__")
    assert f'sym_name = "{entry.symbol}"' in found.module
    assert found == target.convert(row_module(next(row for row in ROWS if row.op is ptir.ConvolutionOp)), ConversionOptions())
    subprocess.run([mlir_opt], input=found.module, text=True, capture_output=True, check=True)
    with pytest.raises(MindError, match="E8008"):
        target.check(parse(ILLEGAL), ConversionOptions())


@pytest.mark.parametrize(
    ("coarse", "fine", "expected"),
    [
        ((6,), (2, 3), [[0, 1]]),
        ((2, 3), (2, 3), [[0], [1]]),
        ((1, 6), (1, 1, 6), [[0], [1, 2]]),
        ((6, 1), (2, 3), None),
        ((2,), (2, 1, 1), [[0, 1, 2]]),
        ((2, 2), (4,), None),
        ((), (1,), []),
        ((), (2,), None),
        ((4, 0), (4, 0), [[0], [1]]),
        ((5,), (5, 2), None),
    ],
)
def test_grouping(coarse, fine, expected) -> None:
    found = grouping(coarse, fine)
    assert found == expected or (found is None) == (expected is None)
    if found:
        from math import prod

        assert [i for group in found for i in group] == list(range(len(fine)))
        assert tuple(prod(fine[i] for i in group) for group in found) == coarse
