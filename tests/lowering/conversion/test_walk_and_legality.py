"""The walk shows every op once, in order and nested; legality collects everything, with its place."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, Region

from mind_dialect import core, ptir
from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_dialect.ptir.types import F32, I1, SI32, SI64
from mind_dialect.types import I32
from mind_lowering.conversion import (
    ConversionStage,
    LegalitySpec,
    OpPlace,
    ProgramVisitor,
    check_program_legality,
    steps,
    walk_program,
)
from programs import parse
from ptir_programs import regions_module


class Log(ProgramVisitor):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def on_program(self, module: ModuleOp) -> None:
        self.lines.append("program")

    def on_function(self, func: FuncOp) -> None:
        self.lines.append(f"@{func.sym_name.data}")

    def on_instruction(self, func: FuncOp, place: OpPlace, op: Operation) -> None:
        self.lines.append(f"{place} {op.name}")

    def on_region(self, func: FuncOp, place: OpPlace, op: Operation, name: str, region: Region) -> None:
        self.lines.append(f"{place} {name} {{")

    def on_region_end(self, func: FuncOp, place: OpPlace, op: Operation, name: str, region: Region) -> None:
        self.lines.append(f"{place} {name} }}")

    def on_instruction_end(self, func: FuncOp, place: OpPlace, op: Operation) -> None:
        self.lines.append(f"{place} end")


NESTED = """
func.func @f(%p: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %a = ptir.neg %x : tensor<2xf32>
  %r = ptir.cond %p, %a : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32> true {
  ^bb0(%y: tensor<2xf32>):
    %b = ptir.exp %y : tensor<2xf32>
    ptir.yield %b : tensor<2xf32>
  } false {
  ^bb0(%y: tensor<2xf32>):
    ptir.yield %y : tensor<2xf32>
  }
  func.return %r : tensor<2xf32>
}
func.func @g() { func.return }
"""


def test_the_walk_is_nested_and_in_text_order() -> None:
    log = Log()
    walk_program(parse(NESTED), log)
    assert log.lines == [
        "program",
        *("@f", "0 ptir.neg", "1 ptir.cond"),
        *("1 true {", "1.true.0 ptir.exp", "1.true.1 ptir.yield", "1 true }"),
        *("1 false {", "1.false.0 ptir.yield", "1 false }"),
        *("1 end", "2 func.return"),
        *("@g", "0 func.return"),
    ]


def test_a_visitor_that_does_nothing_sees_all() -> None:
    walk_program(parse(NESTED), ProgramVisitor())


def test_depth_costs_no_stack() -> None:
    """Five thousand regions inside each other."""
    from xdsl.dialects.test import TestOp

    func = next(functions(parse("func.func @f() { func.return }")))
    op = TestOp()
    for _ in range(5000):
        op = TestOp(regions=[Region(_block(op))])
    func.body.block.insert_op_before(op, func.body.block.last_op)
    places = [step.place for step in steps(func) if step.op.name == "test.op" and not step.op.regions]
    assert len(places) == 1
    assert str(places[0]).count(".") == 10_000


def _block(op: Operation):
    from xdsl.ir import Block

    return Block([op])


ILLEGAL = """
func.func @f(%x: tensor<?x4xf64, "B,*">, %i: tensor<3xsi64>) -> tensor<?x4xf64, "B,*"> {
  %0 = ptir.neg %x : tensor<?x4xf64, "B,*">
  %1 = ptir.sort %i axis = 0 descending = false : tensor<3xsi64>
  %r = ptir.fusion %0 : tensor<?x4xf64, "B,*"> body {
  ^bb0(%y: tensor<?x4xf64, "B,*">):
    %e = ptir.exp %y : tensor<?x4xf64, "B,*">
    ptir.yield %e : tensor<?x4xf64, "B,*">
  }
  func.return %r : tensor<?x4xf64, "B,*">
}
"""


def texts(text: str, spec: LegalitySpec) -> list[str]:
    return [str(d) for d in check_program_legality(parse(text), spec).diagnostics]


def test_without_demands_everything_is_legal() -> None:
    assert check_program_legality(parse(ILLEGAL), LegalitySpec()).is_legal


def test_ops_are_collected_in_regions_too() -> None:
    spec = LegalitySpec().allow_ops([ptir.NegOp]).allow_ops([ptir.FusionOp])
    assert texts(ILLEGAL, spec) == [
        "@f, op 1 (ptir.sort): operation ptir.sort is not allowed",
        "@f, op 2.body.0 (ptir.exp): operation ptir.exp is not allowed",
    ]


def test_dtypes() -> None:
    assert texts(ILLEGAL, LegalitySpec().allow_dtypes([F32, SI64])) == [
        "@f: parameter 0: dtype f64 is not allowed",
        "@f: result 0: dtype f64 is not allowed",
        "@f, op 0 (ptir.neg): dtype f64 is not allowed",
        "@f, op 2 (ptir.fusion): dtype f64 is not allowed",
        "@f, op 2 (ptir.fusion): region body parameter 0: dtype f64 is not allowed",
        "@f, op 2.body.0 (ptir.exp): dtype f64 is not allowed",
    ]


def test_dynamic_dimensions() -> None:
    found = texts(ILLEGAL, LegalitySpec().with_dynamic_dims(False))
    assert len(found) == 6
    assert found[0] == '@f: parameter 0: dynamic dimensions are not allowed: tensor<?x4xf64, "B,*">'


def test_everything_at_once_in_text_order() -> None:
    spec = LegalitySpec().allow_ops([ptir.NegOp]).allow_dtypes([F32]).with_dynamic_dims(False)
    report = check_program_legality(parse(ILLEGAL), spec, stage=ConversionStage.CONVERT)
    assert {d.stage for d in report.diagnostics} == {ConversionStage.CONVERT}
    ops = [d.op.name for d in report.diagnostics if d.place is not None and d.op is not None]
    assert ops == ["ptir.neg"] * 2 + ["ptir.sort"] * 2 + ["ptir.fusion"] * 5 + ["ptir.exp"] * 3


def test_results_of_several_are_told_apart() -> None:
    text = "func.func @f(%x: tensor<3xf32>) { %v, %i = ptir.top_k %x k = 1 axis = 0 largest = true indices_dtype = si32"
    found = texts(f"{text} : tensor<3xf32> -> (tensor<1xf32>, tensor<1xsi32>) func.return }}", LegalitySpec().allow_dtypes([F32]))
    assert found == ["@f, op 0 (ptir.top_k): result 1: dtype si32 is not allowed"]


def test_a_refusal_has_its_reason() -> None:
    spec = LegalitySpec(refuses=lambda op: "no negation here" if isinstance(op, ptir.NegOp) else None)
    assert texts(ILLEGAL, spec) == ["@f, op 0 (ptir.neg): no negation here"]


def test_core_ir() -> None:
    text = """func.func @f(%x: tensor<2xi32>) -> tensor<2xi32> {
  %a = mind.add %x, %x : tensor<2xi32>
  %b = mind.neg %a : tensor<2xi32>
  func.return %b : tensor<2xi32>
}"""
    assert texts(text, LegalitySpec().allow_ops([core.AddOp])) == ["@f, op 1 (mind.neg): operation mind.neg is not allowed"]
    assert texts(text, LegalitySpec().allow_dtypes([I32])) == []
    assert len(texts(text, LegalitySpec().allow_dtypes([SI32]))) == 4


def test_the_error_names_everything() -> None:
    report = check_program_legality(parse(ILLEGAL), LegalitySpec().allow_ops([]))
    with pytest.raises(MindError, match="E8008: somewhere cannot express 4 things of this program:") as caught:
        raise report.error("somewhere")
    assert caught.value.context["diagnostics"] == tuple(map(str, report.diagnostics))
    assert all(str(d) in str(caught.value) for d in report.diagnostics)


@pytest.mark.parametrize(("kinds", "things"), [(["neg"], "1 thing"), (["neg", "abs"], "2 things")])
def test_the_error_is_about_the_first_op_and_counts_in_english(kinds: list[str], things: str) -> None:
    body = "".join(f"%{kind} = ptir.{kind} %x : tensor<2xf32> " for kind in kinds)
    module = parse(f"func.func @f(%x: tensor<2xf32>) {{ {body} func.return }}")
    (func,) = functions(module)
    found = check_program_legality(module, LegalitySpec().allow_ops([])).error("here")
    assert f"here cannot express {things} of this program: (1) " in found.message
    assert found.op is func.body.block.first_op


def test_a_diagnostic_is_a_value_that_does_not_print_its_op() -> None:
    (first, *_) = check_program_legality(parse(ILLEGAL), LegalitySpec().allow_ops([])).diagnostics
    assert "op=" not in repr(first)
    assert first == replace(first, op=None, place=None)
    with pytest.raises(FrozenInstanceError):
        first.message = "other"  # type: ignore[misc]


def test_many_diagnostics_are_counted_by_op() -> None:
    negations = "".join(f"  %{i} = ptir.neg %x : tensor<2xf32>\n" for i in range(50))
    module = parse(f"func.func @f(%x: tensor<2xf32>) {{\n{negations}  func.return\n}}")
    message = str(check_program_legality(module, LegalitySpec().allow_ops([])).error("here"))
    assert message.endswith("and 30 more, of: ptir.neg (30)")


def test_an_allowed_set_grows_from_nothing() -> None:
    assert LegalitySpec().allow_ops([]).allowed_ops == frozenset()
    assert LegalitySpec().allow_dtypes([I1]).allow_dtypes([F32]).allowed_dtypes == {I1.type, F32.type}


def test_every_op_of_nested_regions_is_seen_once() -> None:
    module = regions_module()
    (func,) = functions(module)
    seen = [d.op for d in check_program_legality(module, LegalitySpec().allow_ops([])).diagnostics]
    expected = [op for op in func.walk() if op.name.startswith("ptir.") and op.name != "ptir.yield"]
    assert seen == expected


def test_a_spec_of_legality_stays_as_it_is() -> None:
    """Targets share specs, and a caller that adds to one gets another."""
    spec = LegalitySpec()
    with pytest.raises(FrozenInstanceError):
        spec.allow_dynamic_dims = False  # type: ignore[misc]
    assert spec.allow_ops([]) is not spec
    assert spec == LegalitySpec()
    assert hash(spec) == hash(LegalitySpec())
