"""Casts between every two dtypes: to nearest even once, truncating, saturating; against exact fractions."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_dialect.ptir.legal import INTEGERS, REAL
from mind_dialect.ptir.types import ALL, DTYPES, F64, SI64, UI64, PtirDType
from ptir_oracle import (
    FLOAT_FORMATS,
    array,
    assert_elements,
    bounds,
    cast,
    elements,
    ids,
    is_integer,
    rounded,
    run,
    run_everywhere,
    samples,
    wrapped,
)

PAIRS = [(a, b) for a in ALL for b in ALL if a.kind != "complex" or b.kind == "complex"]


def bits_of(value: Any, dtype: PtirDType) -> int:
    """The bits of a number, from its parts."""
    if dtype.kind in ("signed", "unsigned"):
        return value % (1 << dtype.bits)
    return int.from_bytes(dtype.element.pack([value]), "little")


def near_ends(source: PtirDType) -> list[Any]:
    """Numbers of the source dtype at the ends of other dtypes and at their ties."""
    found: list[Any] = []
    for dtype in ALL:
        if is_integer(dtype):
            found += [end + d for end in bounds(dtype) for d in (-1, 0, 1)]
    for precision, _, most in FLOAT_FORMATS.values():
        found += [most, -most, *(2**p + d for p in (precision, precision + 1) for d in (-1, 0, 1, 2, 3))]
    if is_integer(source):
        low, high = bounds(source)
        return [int(v) for v in found if low <= v <= high]
    return [v for v in map(float, found) if rounded(v, source.name) == v]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("source", "target"), PAIRS, ids=ids)
def test_cast(source: PtirDType, target: PtirDType):
    x = samples(source, 60)
    if source.bits > 1 and source.kind != "complex":
        x = np.concatenate([x, array(near_ends(source), source)])
    found = run_everywhere("cast", x, dtype=target)
    assert_elements(found, [cast(v, target) for v in elements(x)], x)


@pytest.mark.parametrize("target", ["bf16", "fp8_e4m3", "fp8_e5m2", "f16"])
@pytest.mark.parametrize("source", [F64, SI64, UI64], ids=ids)
def test_narrow_floats_are_rounded_once(source: PtirDType, target: str):
    """Numbers just beside a tie, which rounding to f32 on the way would put onto it."""
    precision = FLOAT_FORMATS[target][0]
    values: list[Any] = []
    for exponent in (0, 3, 5) if source is F64 else (30, 40, 55, 61):
        for tie in (Fraction(1), Fraction(3)):
            middle = 2 ** (exponent - precision) * Fraction(2**precision + tie)
            values += [middle, middle + Fraction(2) ** (exponent - 40), middle - Fraction(2) ** (exponent - 40)]
            values += [middle + 1, middle - 1] if source is not F64 else [-middle - Fraction(2) ** (exponent - 45)]
    kept = [int(v) if source is not F64 else float(v) for v in values if source is F64 or v.denominator == 1]
    x = array(kept, source) if source is not F64 else np.array(kept)
    assert elements(x) == kept
    assert_elements(run("cast", x, dtype=DTYPES[target]), [rounded(v, target) for v in kept], x)


@pytest.mark.parametrize("target", ["bf16", "fp8_e4m3", "fp8_e5m2"])
@pytest.mark.parametrize("source", ["f32", "f64"])
def test_subnormal_numbers_are_rounded_once(source: str, target: str):
    precision, least, _ = FLOAT_FORMATS[target]
    tiny = 2.0 ** (least - precision + 1)
    values = [tiny * f for f in (0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 2.500001, 1.499999)] + [2.0**-149, 5e-324, -tiny / 2]
    x = array(values, source)
    assert_elements(run("cast", x, dtype=DTYPES[target]), [rounded(v, target) for v in elements(x)], x)


@pytest.mark.parametrize("source", ["bf16", "f16", "fp8_e4m3", "fp8_e5m2"])
def test_every_number_survives_a_wider_dtype(source: str):
    """All bit patterns there and back; ml_dtypes' or NumPy's own reading of them is the oracle."""
    bits = DTYPES[source].bits
    every = np.arange(1 << bits, dtype=f"u{bits // 8}").view(array([0.0], source).dtype)
    for wider in ("f32", "f64"):
        wide = run("cast", every, dtype=DTYPES[wider])
        assert_elements(wide, [float(v) for v in every])
        assert_elements(run("cast", wide, dtype=DTYPES[source]), elements(every))


@pytest.mark.parametrize("source", ["si8", "ui8", "si4", "ui4"])
@pytest.mark.parametrize("target", ALL, ids=ids)
def test_every_small_integer(source: str, target: PtirDType):
    low, high = bounds(DTYPES[source])
    x = array(list(range(low, high + 1)), source)
    assert_elements(run("cast", x, dtype=target), [cast(v, target) for v in elements(x)], x)


def test_the_contracts_examples():
    f = array([math.nan, 300.7, -300.7, 2.9, -2.9, math.inf], "f32")
    assert_elements(run("cast", f, dtype=DTYPES["si8"]), [0, 127, -128, 2, -2, 127])
    assert_elements(run("cast", f, dtype=DTYPES["ui8"]), [0, 255, 0, 2, 0, 255])
    assert_elements(run("cast", array([300, -5], "si32"), dtype=DTYPES["si8"]), [127, -5])
    assert_elements(run("cast", array([3e9, -3e9, 2.0**31], "f32"), dtype=DTYPES["si32"]), [2**31 - 1, -(2**31), 2**31 - 1])
    assert_elements(run("cast", array([2.0**63, -(2.0**63), 2.0**64], "f64"), dtype=DTYPES["ui64"]), [2**63, 0, 2**64 - 1])


WIDTHS = [(a, b) for a in REAL for b in REAL if a.bits == b.bits]


@pytest.mark.parametrize(("source", "target"), WIDTHS, ids=ids)
def test_bitcast_keeps_the_bits(source: PtirDType, target: PtirDType):
    x = samples(source, 60)
    found = run_everywhere("bitcast", x, dtype=target)
    for a, b in zip(elements(x), elements(found), strict=True):
        assert bits_of(a, source) == bits_of(b, target) or b != b, (a, b)
    back = run_everywhere("bitcast", found, dtype=source)
    assert back.tobytes() == x.tobytes()


def test_bitcast_of_known_numbers():
    ones = run("bitcast", array([1.0, -2.0, math.inf, 0.0, -0.0], "f32"), dtype=DTYPES["ui32"])
    assert_elements(ones, [0x3F800000, 0xC0000000, 0x7F800000, 0, 0x80000000])
    assert_elements(run("bitcast", array([15, 8, 7], "ui4"), dtype=DTYPES["si4"]), [-1, -8, 7])
    assert_elements(run("bitcast", array([-1, -8, 7], "si4"), dtype=DTYPES["ui4"]), [15, 8, 7])
    assert_elements(run("bitcast", array([0x3C00, 0x7BFF], "ui16"), dtype=DTYPES["f16"]), [1.0, 65504.0])


@pytest.mark.parametrize("source", INTEGERS, ids=ids)
@pytest.mark.parametrize("target", INTEGERS, ids=ids)
def test_truncate_wraps(source: PtirDType, target: PtirDType):
    x = np.concatenate([samples(source, 60), array(near_ends(source), source)])
    assert_elements(run_everywhere("truncate", x, dtype=target), [wrapped(v, target) for v in elements(x)], x)


@pytest.mark.parametrize(("source", "target"), [("f32", "ui16"), ("ui8", "si64"), ("i1", "i1"), ("cf32", "f64"), ("f64", "cf32")])
def test_bitcast_between_widths_is_refused(source: str, target: str):
    with pytest.raises(MindError) as caught:
        run("bitcast", array([1], source), dtype=DTYPES[target])
    assert (caught.value.code, caught.value.category) == ("E2005", "DTypeNotSupported")


def test_an_imaginary_part_is_not_dropped():
    with pytest.raises(MindError) as caught:
        run("cast", array([1j], "cf32"), dtype=DTYPES["f32"])
    assert caught.value.category == "DTypeNotSupported"
