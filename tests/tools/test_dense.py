"""Elements of `dense<...>`: complex numbers with parts in hex, and numbers that their type cannot hold."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mind_dialect.errors import MindParseError
from mind_tools.frontends import parse


def dense(elements: str, type: str) -> Any:
    """The attribute of a literal."""
    (op,) = parse(f'"test.op"() {{a = dense<{elements}> : tensor<{type}>}} : () -> ()').body.block.ops
    return op.attributes["a"]


@settings(max_examples=200)
@given(st.sampled_from([("f32", "I", 8, 0x7F800000, 0x400000), ("f64", "Q", 16, 0x7FF << 52, 1 << 51)]), st.data())
def test_complex_floats_survive_bit_by_bit(kind: tuple[str, str, int, int, int], data: Any) -> None:
    """The oracle is `struct`. Payloads of NaN too, but for signalling ones, which conversion to double quiets."""
    name, code, digits, exponent, quiet = kind
    bits = st.integers(0, (1 << 4 * digits) - 1).map(lambda b: b | quiet if b & exponent == exponent else b)
    patterns = data.draw(st.lists(st.tuples(bits, bits), min_size=1, max_size=4))
    elements = ", ".join(f"(0x{a:0{digits}X}, 0x{b:0{digits}X})" for a, b in patterns)
    attribute = dense(f"[{elements}]", f"{len(patterns)}xcomplex<{name}>")
    assert attribute.data.data == struct.pack(f"<{2 * len(patterns)}{code}", *(part for pair in patterns for part in pair))
    (op,) = parse(f'"test.op"() {{a = {attribute}}} : () -> ()').body.block.ops
    assert op.attributes["a"] == attribute


def test_parts_of_different_spelling() -> None:
    for elements in ("(0x7F800000, 1.5)", "(0x7f800000, 1.5)", "[(0x7F800000, 1.5), (0x7F800000, 1.5)]"):
        assert dense(elements, "2xcomplex<f32>").data.data == struct.pack("<4f", float("inf"), 1.5, float("inf"), 1.5)
    assert dense("(1, 2.5)", "complex<f64>").data.data == struct.pack("<2d", 1.0, 2.5)
    assert dense("[(1, -2), (0xFF, true)]", "2xcomplex<i8>").data.data == bytes([1, 0xFE, 0xFF, 1])


@pytest.mark.parametrize(
    ("digits", "elements", "type"),
    [
        ("000F0708", "[0, -1, 7, -8]", "4xi4"),
        ("00FF07F8", "[0, -1, 7, -8]", "4xsi4"),
        ("000F0708", "[0, 15, 7, 8]", "4xui4"),
        ("0F", "-1", "4xi4"),
        ("0001", "[false, true]", "2xi1"),
        ("0901", "[true, false, false, true, false, false, false, false, true]", "9xi1"),
    ],
)
def test_hex_of_integers_narrower_than_a_byte_is_the_same_literal(digits: str, elements: str, type: str) -> None:
    """MLIR leaves zeros above the bits of a number."""
    assert dense(f'"0x{digits}"', type) == dense(elements, type)


BAD = {
    ("[2, 3]", "2xcomplex<f64>"): ("E1007", (1, 25), "an element of complex<f64> is a pair (real, imaginary), found one number"),
    ("1.0", "2xcomplex<f32>"): ("E1007", (1, 24), "is a pair"),
    ("[(1, 2)]", "1xf32"): ("E1007", (1, 25), "an element of f32 is one number, found a pair"),
    ("(1, 2)", "1xi32"): ("E1007", (1, 24), "an element of i32 is one number, found a pair"),
    ("(1, 2)", "1xindex"): ("E1007", (1, 24), "an element of index is one number, found a pair"),
    ("(1.5, 2.5)", "1xcomplex<i8>"): ("E1007", (1, 24), "a part of a complex number of i8 is an integer"),
    ("(300, 1)", "1xcomplex<i8>"): ("E4005", (1, 24), "300 is outside of the range of i8"),
    ("(1, -129)", "1xcomplex<i8>"): ("E4005", (1, 24), "-129 is outside of the range of i8"),
    ("(1.0e39, 1.0)", "1xcomplex<f32>"): ("E4005", (1, 24), "beyond the finite range of f32"),
    ("(0x1FFFFFFFF, 1.0)", "1xcomplex<f32>"): ("E4005", (1, 24), "beyond the finite range of f32"),
    ("(1.0)", "1xcomplex<f32>"): ("E1007", None, "expected ','"),
    ("(1.0, 2.0", "1xcomplex<f32>"): ("E1007", None, "')' expected after the parts of a complex number"),
    ("(1.0, 2.0, 3.0)", "1xcomplex<f32>"): ("E1007", None, "')' expected"),
    ("300", "2xi8"): ("E4005", (1, 24), "300 is outside of the range of i8"),
    ("[1, -129]", "2xi8"): ("E4005", (1, 28), "-129 is outside of the range of i8"),
    ("[1, 256]", "2xui8"): ("E4005", (1, 28), "256 is outside of the range of ui8"),
    ("9223372036854775808", "2xindex"): ("E4005", (1, 24), "9223372036854775808 is outside of the range of index"),
    ("2", "2xi1"): ("E4005", (1, 24), "2 is outside of the range of i1"),
}


@pytest.mark.parametrize(("elements", "type"), BAD)
def test_what_an_element_cannot_be(elements: str, type: str) -> None:
    code, place, said = BAD[elements, type]
    with pytest.raises(MindParseError) as caught:
        dense(elements, type)
    assert caught.value.error.code == code
    assert said in caught.value.error.message
    found = caught.value.span.get_location()
    assert place is None or (found.line, found.col) == place


@pytest.mark.parametrize(
    ("elements", "type"),
    [("[127, 255, -128]", "3xi8"), ("[true, false, 1, 0]", "4xi1"), ("[-9223372036854775808, 9223372036854775807]", "2xindex")],
)
def test_the_ends_of_a_range(elements: str, type: str) -> None:
    assert len(dense(elements, type)) == int(type[0])
