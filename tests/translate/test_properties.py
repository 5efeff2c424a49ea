"""What holds for every program: text, records and MLIR text agree and lose nothing; no text at all ends in a traceback."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from mind_dialect.errors import MindError, MindParseError
from mind_dialect.verify import verify
from mind_translate.core_ir import from_records, parse_core_ir, print_core_ir, records, render
from programs import parse
from random_programs import PLAIN_NAMES, modules

SLOW = settings(max_examples=150)


def functions(module: ModuleOp) -> list[FuncOp]:
    return [op for op in module.ops if isinstance(op, FuncOp)]


@given(modules())
@SLOW
def test_text_is_lossless(module: ModuleOp):
    verify(module)
    text = print_core_ir(module)
    again = parse_core_ir(text)
    verify(again)
    assert print_core_ir(again) == text
    assert again.is_structurally_equivalent(module)


@given(modules())
@SLOW
def test_records_are_lossless(module: ModuleOp):
    for func in functions(module):
        assert from_records(*records(func)).is_structurally_equivalent(func)
    assert render([records(f) for f in functions(module)]) == print_core_ir(module)


@given(modules(PLAIN_NAMES))
@SLOW
def test_mlir_text_and_core_ir_text_agree(module: ModuleOp):
    assert print_core_ir(parse(str(module))) == print_core_ir(module)


def test_every_opcode_occurs():
    """The properties above would hold for a generator of nothing."""
    seen: Counter[str] = Counter()

    @given(modules())
    @settings(SLOW, max_examples=300)
    def collect(module: ModuleOp):
        seen.update(r.opcode for f in functions(module) for r in records(f).operations)

    collect()
    wanted = (
        "Input ConstI64 ConstF32 ConstF64 ConstTensor Add Sub Mul Div Sum Mean Reshape Transpose ExpandDims Squeeze "
        "Index Slice Gather Dot MatMul Conv2d Relu Neg Exp Log"
    ).split()
    assert set(wanted) == set(seen)


TEXT = """# module {mind.profile="core-v1.1"}

# @"a b" {mind.grad_of=@f, mind.grad_wrt=[0, 1]}
%0 = Input {name="x y"} : tensor<f32[2, 3]>
%1 = ConstTensor {dtype=f32, shape=[2, 2], value=[[1.0, nan], [-inf, -0.0]]} : tensor<f32[2, 2]>
%2 = ConstF32(1.5e-3) : Tensor<f32, []> # why
%3 = BinOp(Add, %0, %2) : tensor<f32>[2, 3]
%4 = Slice(%3, [0:2:1, 1:3])
%5 = Conv2d (%0, %0) {padding=Custom([[0, 1], [2, 3]]), strides=[1, 1]} : tensor<f32[2]>
%x = %4
outputs: %x, %3"""
PIECES = sorted(
    set(TEXT.split()) | set('%#@{}[]()<>=:,?"\\\n\t\r -+.e09_') | {"\u00e9", "\x00", "\ud800", "nan", "1e999", "9" * 5000}
)


@st.composite
def mutations(draw: st.DrawFn) -> str:
    """The text above after a few cuts, swaps and insertions."""
    text = TEXT
    for _ in range(draw(st.integers(1, 4))):
        i, n = draw(st.integers(0, len(text))), draw(st.integers(0, 12))
        text = text[:i] + draw(st.sampled_from(["", *PIECES])) + text[i + n :]
    return text


def outcome(text: str | bytes) -> None:
    """Read, verify, print: anything but a coded error is a defect."""
    try:
        module = parse_core_ir(text)
        verify(module)
        print_core_ir(module)
    except MindParseError as e:
        found = e
    except MindError:
        return
    else:
        return
    assert found.error.code in str(found)
    assert len(str(found).encode()) < 5000
    assert 0 <= found.span.start <= found.span.end <= len(found.span.input) + 1


@given(mutations())
@example("%0 = Input {name=x} : tensor<\ud800f32[2, 3]>")
@example("%0 = Input {name=x} : tensor<f32[" + "9" * 5000 + "]>")
@settings(SLOW, max_examples=1500)
def test_mutated_text_never_ends_in_a_traceback(text: str):
    outcome(text)


@given(st.one_of(st.text(), st.binary()))
@settings(SLOW, max_examples=300)
def test_any_text_never_ends_in_a_traceback(text: str | bytes):
    outcome(text)


OPENERS = {
    "value": "%0 = ConstTensor {dtype=f32, shape=[1], value=",
    "shape": "%0 = ConstTensor {dtype=f32, shape=",
    "axes": "%0 = Input {name=x} : tensor<f32[]>\n%1 = Sum (%0) {axes=",
    "padding": "%0 = Input {name=x} : tensor<f32[]>\n%1 = Conv2d (%0) {padding=Custom(",
    "type": "%0 = Input {name=x} : tensor<f32",
    "statement": "",
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("place", OPENERS)
@pytest.mark.parametrize("piece", ["[", "(", "{", "[[1], ", "[1, ", '"', "%", "9", "-", "\\", "\n", " ", "tensor<", "<"])
def test_a_hundred_thousand_of_anything_is_refused_in_linear_time(place: str, piece: str):
    text = OPENERS[place] + piece * 100_000
    with pytest.raises(MindParseError) as e:
        parse_core_ir(text)
    assert len(str(e.value)) < 5000


def test_deep_well_formed_nesting_is_read_without_recursion():
    n = 10_000
    text = f"%0 = ConstTensor {{dtype=f32, shape=[1], value={'[' * n}1.0{']' * n}}}"
    with pytest.raises(MindParseError) as e:
        parse_core_ir(text)
    assert e.value.error.code == "E3010"
