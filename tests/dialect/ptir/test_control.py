"""Ops with regions: what they give, how regions that do not fit are refused, and their text."""

from collections.abc import Callable
from io import StringIO

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.test import Test
from xdsl.dialects.test import TestOp as Unknown
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer

from mind_dialect.errors import MindError
from mind_dialect.ptir import (
    AddOp,
    CondOp,
    ConstantOp,
    DotGeneralOp,
    ExpOp,
    FusionOp,
    NegOp,
    Ptir,
    PtirLiteralAttr,
    ReduceOp,
    ScanOp,
    SortOp,
    WhileOp,
)
from mind_dialect.ptir.types import I1
from mind_dialect.verify import failures, verify
from ptir_rows import typed


def context() -> Context:
    ctx = Context()
    for dialect in (Builtin, Test, Ptir):
        ctx.load_dialect(dialect)
    return ctx


def values(*types: str):
    return Unknown(result_types=[typed(t) for t in types]).results


def false() -> ConstantOp:
    return ConstantOp(PtirLiteralAttr.from_values(I1, (), [False]))


P, X, S, N = values("i1[]", "f32[2,3]", "f32[]", "f32[?,3]")
DOT = {"batch_lhs": (), "batch_rhs": (), "contract_lhs": (1,), "contract_rhs": (1,)}
TURNED = {**DOT, "contract_lhs": (0,), "contract_rhs": (0,)}
SUM = {"kind": "sum", "axes": (0, 1), "keepdims": False}
ACCEPTED: dict[str, tuple[Callable[[], Operation], str]] = {
    "cond": (lambda: CondOp(P, X, true=lambda a: [AddOp(a, a)], false=lambda a: [a]), "f32[2,3]"),
    "cond of nothing": (lambda: CondOp(P, true=lambda: [false()], false=lambda: [false()]), "i1[]"),
    "cond of two": (lambda: CondOp(P, X, S, true=lambda a, b: [b, a], false=lambda a, b: [b, NegOp(a)]), "f32[] f32[2,3]"),
    "while": (lambda: WhileOp(X, cond=lambda a: [false(), a], body=lambda a: [NegOp(a)]), "f32[2,3]"),
    "while of unknown size": (lambda: WhileOp(N, cond=lambda a: [false(), a], body=lambda a: [a]), "f32[?,3]"),
    "scan": (
        lambda: ScanOp(
            S,
            X,
            carry_count=1,
            scan_output_count=1,
            body=lambda c, e: [AddOp(c, ReduceOp(e, kind="sum", axes=(0,), keepdims=False)), ExpOp(e)],
        ),
        "f32[] f32[2,3]",
    ),
    "scan of an unknown length": (lambda: ScanOp(N, carry_count=0, scan_output_count=1, body=lambda e: [e]), "f32[?,3]"),
    "fusion": (lambda: FusionOp(X, X, body=lambda a, b: [ExpOp(AddOp(a, b)), ReduceOp(a, **SUM)]), "f32[2,3] f32[]"),
    "fusion of a pattern": (lambda: FusionOp(X, body=lambda a: [ExpOp(a)], pattern="softmax"), "f32[2,3]"),
    "fusion of attention": (
        lambda: FusionOp(X, body=lambda a: [DotGeneralOp(a, DotGeneralOp(a, a, **DOT), **TURNED)], pattern="attention"),
        "f32[3,2]",
    ),
    "fusion of a product": (lambda: FusionOp(X, body=lambda a: [NegOp(DotGeneralOp(a, a, **DOT))]), "f32[2,2]"),
}
REFUSED: dict[str, tuple[Callable[[], Operation], str, str]] = {
    "pred of rank 1": (lambda: CondOp(values("i1[1]")[0], X, true=lambda a: [a], false=lambda a: [a]), "E3002", "pred"),
    "pred of integers": (lambda: CondOp(values("si32[]")[0], true=lambda: [], false=lambda: []), "E2005", "pred"),
    "branches differ": (lambda: CondOp(P, X, true=lambda a: [a], false=lambda a: [S]), "E8005", "region false yields"),
    "branch yields more": (lambda: CondOp(P, X, true=lambda a: [a], false=lambda a: [a, a]), "E8005", "region false yields"),
    "no truth": (lambda: WhileOp(X, cond=lambda a: [a], body=lambda a: [a]), "E8005", "region cond yields"),
    "truth of rank 1": (lambda: WhileOp(X, cond=lambda a: [values("i1[1]")[0], a], body=lambda a: [a]), "E8005", "region cond"),
    "cond drops": (lambda: WhileOp(X, cond=lambda a: [false()], body=lambda a: [a]), "E8005", "region cond yields"),
    "body changes type": (lambda: WhileOp(X, cond=lambda a: [false(), a], body=lambda a: [S]), "E8005", "region body yields"),
    "nothing scanned": (lambda: ScanOp(S, carry_count=1, scan_output_count=0, body=lambda c: [c]), "E8002", "scanned input"),
    "negative count": (lambda: ScanOp(X, carry_count=0, scan_output_count=-1, body=lambda c: []), "E8002", "counts"),
    "scalar scanned": (lambda: ScanOp(S, carry_count=0, scan_output_count=0, body=lambda *c: []), "E3002", "scanned input"),
    "lengths differ": (
        lambda: ScanOp(*values("f32[2]", "f32[3]"), carry_count=0, scan_output_count=0, body=lambda a, b: []),
        "E3003",
        "scanned axis 0",
    ),
    "carry changes type": (lambda: ScanOp(S, X, carry_count=1, scan_output_count=0, body=lambda c, e: [e]), "E8005", "carries"),
    "too few yields": (lambda: ScanOp(S, X, carry_count=1, scan_output_count=1, body=lambda c, e: [c]), "E8005", "yields 1"),
    "sort in a fusion": (lambda: FusionOp(X, body=lambda a: [SortOp(a, axis=0, descending=False)]), "E8005", "ptir.sort"),
    "two products": (
        lambda: FusionOp(X, body=lambda a: [DotGeneralOp(a, a, **DOT), DotGeneralOp(a, a, **DOT)]),
        "E8005",
        "second ptir.dot_general",
    ),
    "a product in a softmax": (
        lambda: FusionOp(X, body=lambda a: [DotGeneralOp(a, a, **DOT)], pattern="softmax"),
        "E8005",
        "a first ptir.dot_general",
    ),
    "unknown pattern": (lambda: FusionOp(X, body=lambda a: [ExpOp(a)], pattern="kernel"), "E8002", "one of softmax"),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str):
    make, expected = ACCEPTED[name]
    op = make()
    assert list(op.result_types) == [typed(t) for t in expected.split()]
    op.verify()


@pytest.mark.parametrize("generic", [False, True], ids=["custom", "generic"])
@pytest.mark.parametrize("name", ACCEPTED)
def test_text_survives_the_stock_parser(name: str, generic: bool):
    op = ACCEPTED[name][0]()
    sources = [Unknown(result_types=[v.type]) for v in op.operands]
    for i, source in enumerate(sources):
        op.operands[i] = source.results[0]
    module = ModuleOp([*sources, op])
    out = StringIO()
    Printer(stream=out, print_generic_format=generic).print_op(module)
    again = Parser(context(), out.getvalue()).parse_module()
    again.verify()
    assert again.is_structurally_equivalent(module)
    verify(again, lenient=True)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str):
    make, code, words = REFUSED[name]
    with pytest.raises(MindError) as raised:
        make()
    assert raised.value.code == code
    assert words in raised.value.message
    if code == "E8005":
        assert raised.value.category == "RegionSignatureMismatch"


TEXTS = {
    "no block": ('"ptir.while"(%x) ({}, {}) : (tensor<f32>) -> tensor<f32>', "0 blocks"),
    "no terminator": ('"ptir.fusion"(%x) ({^bb0(%a: tensor<f32>): }) : (tensor<f32>) -> tensor<f32>', "ends in nothing"),
    "another terminator": (
        '"ptir.fusion"(%x) ({^bb0(%a: tensor<f32>): "test.termop"() : () -> ()}) : (tensor<f32>) -> tensor<f32>',
        "ends in test.termop",
    ),
    "two blocks": (
        '"ptir.fusion"(%x) ({^bb0(%a: tensor<f32>): "test.termop"() [^bb1] : () -> () ^bb1: "ptir.yield"() : () -> ()}) '
        ": (tensor<f32>) -> ()",
        "2 blocks",
    ),
    "no region": ('"ptir.fusion"(%x) : (tensor<f32>) -> tensor<f32>', "has 0 regions"),
    "a region too many": ('"ptir.neg"(%x) ({}) : (tensor<f32>) -> tensor<f32>', "has 1 regions"),
    "yield elsewhere": ('"ptir.yield"() : () -> ()', "is in builtin.module"),
    "parameters missing": ('"ptir.fusion"(%x) ({ "ptir.yield"() : () -> () }) : (tensor<f32>) -> ()', "body takes ()"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_ill_formed_regions_in_text(name: str):
    text, words = TEXTS[name]
    source = f'%x = "test.op"() : () -> tensor<f32>\n{text}'
    module = Parser(context(), source).parse_module()
    found = list(failures(module, lenient=True))
    assert any(e.code == "E8005" and words in e.message for e in found), [str(e) for e in found]


def test_a_region_sees_nothing_from_above():
    text = """
    %x = "test.op"() : () -> tensor<f32>
    %y = ptir.fusion %x : tensor<f32> body {
    ^bb0(%a: tensor<f32>):
      %b = ptir.add %a, %x : tensor<f32>
      ptir.yield %b : tensor<f32>
    }"""
    module = Parser(context(), text).parse_module()
    (found,) = failures(module, lenient=True)
    assert found.code == "E4001"
