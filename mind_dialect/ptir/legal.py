"""
Which op takes which dtype: one table, by op and, where an op has kinds, by kind.

A row gives for operands and for dtype properties what they may be. The first entry is the dtype the op is said to work in;
operands listed in an op's `SAME_DTYPE` follow it. What is not in the row is refused as DTypeNotSupported, what is in it runs.
The contract says little here. The reasons behind the rows: there is no arithmetic of i1, no order of complex numbers, no
transcendental function of integers, no float of 8 bits where a result would be mostly rounding (random numbers, scales).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..errors import MindError, error
from .types import (
    ALL,
    BF16,
    CF32,
    CF64,
    F8E4M3,
    F8E5M2,
    F16,
    F32,
    F64,
    I1,
    SI4,
    SI8,
    SI16,
    SI32,
    SI64,
    UI4,
    UI8,
    UI16,
    UI32,
    UI64,
    Kind,
    PtirDType,
)

DTypes = tuple[PtirDType, ...]
Row = Mapping[str, DTypes]

BOOL: DTypes = (I1,)
SIGNED: DTypes = (SI4, SI8, SI16, SI32, SI64)
INTEGERS: DTypes = (SI4, UI4, SI8, UI8, SI16, UI16, SI32, UI32, SI64, UI64)
WIDE_FLOATS: DTypes = (BF16, F16, F32, F64)
FLOATS: DTypes = (F8E4M3, F8E5M2, *WIDE_FLOATS)
COMPLEX: DTypes = (CF32, CF64)
REAL: DTypes = (*INTEGERS, *FLOATS)
NUMBERS: DTypes = (*REAL, *COMPLEX)
ORDERED: DTypes = (I1, *REAL)
INDEX: DTypes = (SI32, SI64)
QUANTIZED: DTypes = (SI4, UI4, SI8, UI8, SI16, UI16, SI32, UI32)

_INDEXED: Row = {"x": ALL, "indices": INDEX}

LEGAL: dict[str, Row] = {
    "constant": {"value": ALL},
    "neg": {"x": NUMBERS},
    "abs": {"x": REAL},
    "exp": {"x": (*FLOATS, *COMPLEX)},
    "log": {"x": (*FLOATS, *COMPLEX)},
    "tanh": {"x": (*FLOATS, *COMPLEX)},
    "erf": {"x": FLOATS},
    "rsqrt": {"x": (*FLOATS, *COMPLEX)},
    "reciprocal": {"x": (*FLOATS, *COMPLEX)},
    "add": {"lhs": NUMBERS},
    "sub": {"lhs": NUMBERS},
    "mul": {"lhs": NUMBERS},
    "div": {"lhs": NUMBERS},
    "maximum": {"lhs": ORDERED},
    "minimum": {"lhs": ORDERED},
    "compare less": {"lhs": ORDERED},
    "compare less_equal": {"lhs": ORDERED},
    "compare equal": {"lhs": ALL},
    "compare greater_equal": {"lhs": ORDERED},
    "compare greater": {"lhs": ORDERED},
    "compare not_equal": {"lhs": ALL},
    "select": {"on_true": ALL, "pred": BOOL},
    "cast": {"x": ALL, "dtype": ALL},
    "stop_gradient": {"x": ALL},
    "reduce sum": {"x": NUMBERS, "out_dtype": ALL},
    "reduce max": {"x": ORDERED, "out_dtype": ALL},
    "reduce min": {"x": ORDERED, "out_dtype": ALL},
    "arg_max": {"x": ORDERED, "output_dtype": INDEX},
    "dot_general": {"lhs": NUMBERS, "out_dtype": ALL},
    "reshape": {"x": ALL},
    "transpose": {"x": ALL},
    "broadcast_to": {"x": ALL},
    "slice": {"x": ALL},
    "concat": {"xs": ALL},
    "pad": {"x": ALL},
    "tile": {"x": ALL},
    "iota": {"dtype": REAL},
    "take": _INDEXED,
    "gather": _INDEXED,
    "scatter_add": {"x": NUMBERS, "indices": INDEX},
    "scatter_reduce add": {"x": NUMBERS, "indices": INDEX},
    "scatter_reduce max": {"x": ORDERED, "indices": INDEX},
    "scatter_reduce min": {"x": ORDERED, "indices": INDEX},
    "scatter_reduce replace": _INDEXED,
    "dynamic_slice": {"x": ALL, "start": INDEX},
    "dynamic_update_slice": {"x": ALL, "start": INDEX},
    "layer_norm": {"x": FLOATS},
    "clamp": {"x": ORDERED},
    "cond": {"pred": BOOL, "args": ALL},
    "while": {"args": ALL},
    "scan": {"args": ALL},
    "reduce_window sum": {"x": NUMBERS},
    "reduce_window max": {"x": ORDERED},
    "reduce_window min": {"x": ORDERED},
    "extract_patches": {"x": ALL},
    "custom_call": {"args": ALL},
    "rng_uniform": {"dtype": WIDE_FLOATS},
    "rng_normal": {"dtype": WIDE_FLOATS},
    "top_k": {"x": ORDERED, "indices_dtype": INDEX},
    "segment_reduce sum": {"data": NUMBERS, "segment_ids": INDEX},
    "segment_reduce max": {"data": ORDERED, "segment_ids": INDEX},
    "quantize": {"x": WIDE_FLOATS, "output_dtype": QUANTIZED},
    "dequantize": {"x": QUANTIZED, "output_dtype": WIDE_FLOATS},
    "requantize": {"x": QUANTIZED, "output_dtype": QUANTIZED},
    "yield": {"args": ALL},
    "fusion": {"args": ALL},
    "sqrt": {"x": (*FLOATS, *COMPLEX)},
    "sin": {"x": (*FLOATS, *COMPLEX)},
    "cos": {"x": (*FLOATS, *COMPLEX)},
    "floor": {"x": FLOATS},
    "ceil": {"x": FLOATS},
    "round": {"x": FLOATS},
    "sign": {"x": REAL},
    "logistic": {"x": FLOATS},
    "expm1": {"x": FLOATS},
    "log1p": {"x": FLOATS},
    "not": {"x": (*BOOL, *INTEGERS)},
    "pow": {"lhs": (*FLOATS, *COMPLEX)},
    "remainder": {"lhs": REAL},
    "and": {"lhs": (*BOOL, *INTEGERS)},
    "or": {"lhs": (*BOOL, *INTEGERS)},
    "xor": {"lhs": (*BOOL, *INTEGERS)},
    "shift_left": {"lhs": INTEGERS},
    "shift_right_arithmetic": {"lhs": INTEGERS},
    "shift_right_logical": {"lhs": INTEGERS},
    "cumulative_sum": {"x": NUMBERS},
    "sort": {"x": ORDERED},
    "reverse": {"x": ALL},
    "strided_slice": {"x": ALL},
    "convolution": {"lhs": NUMBERS, "out_dtype": ALL},
}


def row_key(name: str, kind: object) -> str:
    """
    The table's key of an op's name and kind.

    >>> row_key("ptir.reduce", "max"), row_key("ptir.add", None)
    ('reduce max', 'add')
    """
    short = name.removeprefix("ptir.")
    return short if kind is None else f"{short} {kind}"


def pairs() -> Iterator[tuple[str, PtirDType]]:
    """Every legal pair of an op (with its kind) and the dtype that it works in."""
    for key, row in LEGAL.items():
        for dtype in next(iter(row.values())):
            yield key, dtype


def check_legal(key: str, dtypes: Mapping[str, PtirDType | None]) -> None:
    """Raise E2005 (DTypeNotSupported) unless the row of `key` allows each dtype; None stands for an absent property."""
    for role, legal in LEGAL[key].items():
        dtype = dtypes.get(role)
        if dtype is not None and dtype not in legal:
            names = [str(d) for d in legal]
            raise error(
                "E2005",
                f"{role} has dtype {dtype}, expected one of {names}",
                category="DTypeNotSupported",
                dtype=str(dtype),
                supported=names,
                role=role,
            )


def default_accumulator(dtype: PtirDType) -> PtirDType:
    """
    What sums of `dtype` accumulate in unless told otherwise: f32 for narrower floats, the dtype itself for the rest.

    >>> str(default_accumulator(BF16)), str(default_accumulator(SI8))
    ('f32', 'si8')
    """
    return F32 if dtype.is_float and dtype.bits < 32 else dtype


def accumulators(dtype: PtirDType) -> DTypes:
    """
    What sums of `dtype` may accumulate in: the same kind, no narrower, no float of 8 bits; unsigned also in wider signed.

    >>> [str(d) for d in accumulators(F16)], [str(d) for d in accumulators(UI16)]
    (['f16', 'f32', 'f64'], ['ui16', 'si32', 'ui32', 'si64', 'ui64'])
    """
    if dtype.is_float:
        return tuple(d for d in WIDE_FLOATS if d is dtype or d.bits > dtype.bits)
    widened = {Kind.SIGNED} if dtype.kind is Kind.UNSIGNED else set[Kind]()
    return tuple(d for d in ALL if (d.kind is dtype.kind and d.bits >= dtype.bits) or (d.kind in widened and d.bits > dtype.bits))


def check_accumulator(dtype: PtirDType, accum_dtype: PtirDType | None) -> PtirDType:
    """The accumulator dtype of an op on `dtype`; E8003 for one that would lose what the operands hold."""
    if accum_dtype is None:
        return default_accumulator(dtype)
    legal = accumulators(dtype)
    if accum_dtype not in legal:
        names = [str(d) for d in legal]
        message = f"accum_dtype {accum_dtype} for {dtype}, expected one of {names}"
        raise error("E8003", message, dtype=str(dtype), accum_dtype=str(accum_dtype), supported=names)
    return accum_dtype


def check_cast(source: PtirDType, target: PtirDType) -> None:
    """Raise E2005 for a cast that loses an imaginary part: complex to anything but complex."""
    if source.kind is Kind.COMPLEX and target.kind is not Kind.COMPLEX:
        names = [str(d) for d in COMPLEX]
        message = f"cannot cast {source} to {target}, which would drop imaginary parts; expected one of {names}"
        raise error("E2005", message, category="DTypeNotSupported", dtype=str(target), supported=names)


def mixed(names: str, lhs: PtirDType, rhs: PtirDType, category: str | None = None) -> MindError:
    """E2004: operands should have one dtype."""
    message = f"{names} have dtypes {lhs} and {rhs}, expected one dtype; cast makes them equal"
    return error("E2004", message, category=category, lhs=str(lhs), rhs=str(rhs))
