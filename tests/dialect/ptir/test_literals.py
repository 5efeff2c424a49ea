"""Literals of every dtype through every text round trip; element formats against NumPy and ml_dtypes."""

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser

from mind_dialect.elements import SmallFloat
from mind_dialect.errors import MindError, MindParseError
from mind_dialect.ptir import ConstantOp, Ptir, PtirLiteralAttr
from mind_dialect.ptir.types import ALL, DTYPES, Kind, PtirDType

NUMPY = {
    "i1": np.bool_,
    "si4": ml_dtypes.int4,
    "ui4": ml_dtypes.uint4,
    "fp8_e4m3": ml_dtypes.float8_e4m3fn,
    "fp8_e5m2": ml_dtypes.float8_e5m2,
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "cf32": np.complex64,
    "cf64": np.complex128,
    **{f"{s}i{b}": np.dtype(f"{'u' * (s == 'u')}int{b}") for s in "su" for b in (8, 16, 32, 64)},
}
SMALL = [d for d in ALL if isinstance(d.element, SmallFloat)]
by_name = pytest.mark.parametrize("dtype", ALL, ids=str)


def specials(dtype: PtirDType) -> list[object]:
    """Extremes, zeros of both signs, the least and greatest of every kind, NaN and infinities where there are any."""
    kind = NUMPY[dtype.name]
    if dtype.kind is Kind.BOOL:
        return [True, False]
    if dtype.kind in (Kind.SIGNED, Kind.UNSIGNED):
        info = ml_dtypes.iinfo(kind)
        return [0, 1, int(info.min), int(info.max), int(info.max) // 3]
    if dtype.kind is Kind.COMPLEX:
        part = [0.0, -0.0, 1.5, math.nan, math.inf, -math.inf]
        return [complex(a, b) for a in part for b in part]
    info = ml_dtypes.finfo(kind)
    infinities = [] if dtype.name == "fp8_e4m3" else [math.inf, -math.inf]
    finite = [0.0, -0.0, 1.0, -1.5, 0.1, info.max, info.min, info.tiny, info.smallest_subnormal, -info.smallest_subnormal]
    return [*map(float, finite), math.nan, *infinities]


def context() -> Context:
    ctx = Context()
    ctx.load_dialect(Builtin)
    ctx.load_dialect(Ptir)
    return ctx


def round_trip(literal: PtirLiteralAttr, generic: bool) -> PtirLiteralAttr:
    from io import StringIO

    from xdsl.printer import Printer

    out = StringIO()
    Printer(stream=out, print_generic_format=generic).print_op(ModuleOp([ConstantOp(literal)]))
    (op,) = Parser(context(), out.getvalue()).parse_module().ops
    assert isinstance(op, ConstantOp)
    op.verify()
    return op.literal


@pytest.mark.parametrize("generic", [False, True])
@by_name
def test_special_values_survive_text(dtype: PtirDType, generic: bool):
    values = specials(dtype)
    literal = PtirLiteralAttr.from_values(dtype, (len(values),), values)
    again = round_trip(literal, generic)
    assert again.data.data == literal.data.data
    assert repr(again.values()) == repr(literal.values())
    for value in values:
        fill = PtirLiteralAttr.filled(dtype, (3, 50), value)
        assert round_trip(fill, generic) == fill
        assert repr(fill.item()) == repr(PtirLiteralAttr.from_values(dtype, (), [value]).item())


@by_name
def test_bytes_are_those_of_numpy(dtype: PtirDType):
    values = specials(dtype)
    with np.errstate(all="ignore"):
        wide = {Kind.COMPLEX: complex, Kind.FLOAT: float, Kind.UNSIGNED: np.uint64}.get(dtype.kind, np.int64)
        array = np.array(values, dtype=wide).astype(NUMPY[dtype.name])
    data = PtirLiteralAttr.from_values(dtype, (len(values),), values).data.data
    assert len(data) == len(values) * dtype.size == array.size * array.itemsize
    found = np.frombuffer(data, dtype=NUMPY[dtype.name])
    if dtype.bits == 4:  # ml_dtypes extends the sign through the whole byte
        found = (np.frombuffer(data, np.uint8) << 4 >> 4).view(np.uint8)
        array = array.view(np.uint8) & 15
        assert found.tolist() == array.tolist()
        return
    assert repr(found.tolist()) == repr(array.tolist())


@pytest.mark.parametrize("dtype", [d for d in ALL if d.size <= 2 and d.bits >= 8], ids=str)
def test_every_bit_pattern_is_read_as_numpy_reads_it_and_survives_text(dtype: PtirDType):
    patterns = np.arange(256**dtype.size, dtype=np.uint32).astype(f"u{dtype.size}")
    data = patterns.tobytes()
    with np.errstate(all="ignore"):
        wanted = patterns.view(NUMPY[dtype.name]).astype(np.float64)
    found = np.array(dtype.element.unpack(data), dtype=np.float64)
    assert np.array_equal(found, wanted, equal_nan=True)
    assert np.array_equal(np.signbit(found), np.signbit(wanted) & ~np.isnan(wanted) | np.signbit(found) & np.isnan(wanted))
    for i in range(0, len(patterns), 89):
        part = PtirLiteralAttr.from_bytes(dtype, (min(89, len(patterns) - i),), data[i * dtype.size : (i + 89) * dtype.size])
        assert round_trip(part, False).data == part.data


@pytest.mark.parametrize("dtype", SMALL, ids=str)
@given(value=st.floats(width=32, allow_nan=False, allow_infinity=False))
@settings(max_examples=300)
def test_small_floats_round_as_ml_dtypes_from_f32(dtype: PtirDType, value: float):
    with np.errstate(all="ignore"):
        wanted = float(np.float32(value).astype(NUMPY[dtype.name]))
    if math.isfinite(wanted):
        found = dtype.element.check(value)
        assert (found, math.copysign(1, found.real)) == (wanted, math.copysign(1, wanted))
        text = dtype.element.text(found)
        assert float(np.float32(text).astype(NUMPY[dtype.name])) == wanted
    else:
        with pytest.raises(MindError, match="E4005"):
            PtirLiteralAttr.from_values(dtype, (), [value])


@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_ties_go_to_even_at_every_midpoint(dtype: PtirDType):
    finite = sorted(
        {
            v
            for v in dtype.element.unpack(np.arange(256**dtype.size).astype(f"<u{dtype.size}").tobytes())
            if v == v and abs(v) < 1e308
        }
    )
    for low, high in zip(finite[:-1:7], finite[1::7], strict=False):
        middle = (low + high) / 2
        assert dtype.element.check(middle) == float(np.float64(middle).astype(NUMPY[dtype.name])) or dtype.bits == 16


def test_bf16_rounds_once_where_ml_dtypes_goes_through_f32():
    value = 1 + 2**-8 + 2**-40  # just above a tie, which f32 cannot see
    assert DTYPES["bf16"].element.check(value) == 1 + 2**-7


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("300 : tensor<si8>", "E4005"),
        ("-1 : tensor<ui8>", "E4005"),
        ("8 : tensor<si4>", "E4005"),
        ("1.5 : tensor<si32>", "E4005"),
        ("2 : tensor<i1>", "E4005"),
        ("inf : tensor<f8E4M3FN>", "E4005"),
        ("500.0 : tensor<f8E4M3FN>", "E4005"),
        ("1.0e39 : tensor<f32>", "E4005"),
        ("1.0e400 : tensor<f64>", "E4005"),
        ("70000.0 : tensor<f16>", "E4005"),
        ("true : tensor<f32>", "E4005"),
        ("(1.0, 2.0) : tensor<f32>", "E4005"),
        ("[1, 2] : tensor<3xsi8>", "E3010"),
        ("[[1], [2, 3]] : tensor<2x2xsi8>", "E3010"),
        ("1 : tensor<?xsi8>", "E3006"),
        ("1 : tensor<i8>", "E2005"),
        ("1 : si8", "E2001"),
        ('"0x0001" : tensor<si8>', "E4005"),
        ('"0x10" : tensor<si4>', "E4005"),
        ('"0x02" : tensor<i1>', "E4005"),
        ('"zz" : tensor<si8>', "E4005"),
        ('"0x01" : tensor<9999999999x9999999999xf64>', "E4005"),
        ("1" + "0" * 5000 + " : tensor<si8>", "E1005"),
    ],
)
def test_refused_texts(text: str, code: str):
    with pytest.raises(MindParseError) as raised:
        Parser(context(), f"%0 = ptir.constant {text}").parse_op()
    assert raised.value.error.code == code


def test_fill_is_stored_once():
    assert PtirLiteralAttr.filled(DTYPES["f32"], (1 << 20, 1 << 20), 1.0).data.data == b"\0\0\x80?"


def test_no_elements():
    for dtype in ALL:
        literal = PtirLiteralAttr.from_values(dtype, (0, 3), [])
        assert round_trip(literal, False) == literal
        assert PtirLiteralAttr.filled(dtype, (0, 3), 1) == literal
