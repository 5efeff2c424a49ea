"""
Legal dtypes of each op: one table, by op and, where an op has kinds, by kind.

A row gives for operands and for dtype properties what they may be. The first entry is the dtype the op is said to work in;
operands listed in an op's `SAME_DTYPE` follow it. What is not in the row is refused as DTypeNotSupported, what is in it runs.
The contract says little here. The reasons behind the rows: there is no arithmetic of i1, no order of complex numbers, no
transcendental function of integers, no float of 8 bits where a result would be mostly rounding (random numbers, scales).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..errors import MindError, error
from .scalars import BINARY, UNARY
from .types import (
    ALL,
    BOOL,
    COMPLEX,
    F32,
    F64,
    FLOATS,
    INDEX,
    INTEGERS,
    NUMBERS,
    ORDERED,
    QUANTIZED,
    REAL,
    WIDE_FLOATS,
    DTypes,
    Kind,
    PtirDType,
)

Row = Mapping[str, DTypes]

_INDEXED: Row = {"x": ALL, "indices": INDEX}

LEGAL: dict[str, Row] = {
    "constant": {"value": ALL},
    **{opcode: {"x": row.dtypes} for opcode, row in UNARY.items()},
    **{opcode: {"lhs": row.dtypes} for opcode, row in BINARY.items()},
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
    "reduce prod": {"x": NUMBERS, "out_dtype": ALL},
    **{f"reduce {kind}": {"x": (*BOOL, *INTEGERS), "out_dtype": ALL} for kind in ("and", "or", "xor")},
    "arg_max": {"x": ORDERED, "output_dtype": INDEX},
    "dot_general": {"lhs": NUMBERS, "out_dtype": ALL},
    **{f"ragged_dot {kind}": {"lhs": NUMBERS, "group_sizes": INDEX, "out_dtype": ALL} for kind in ("rows", "contract")},
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
    "arg_min": {"x": ORDERED, "output_dtype": INDEX},
    "window_arg max": {"x": ORDERED, "output_dtype": INDEX},
    "window_arg min": {"x": ORDERED, "output_dtype": INDEX},
    "gather_windows": _INDEXED,
    "scatter_windows add": {"x": NUMBERS, "indices": INDEX},
    "scatter_windows mul": {"x": NUMBERS, "indices": INDEX},
    "scatter_windows min": {"x": ORDERED, "indices": INDEX},
    "scatter_windows max": {"x": ORDERED, "indices": INDEX},
    "scatter_windows replace": _INDEXED,
    "fft fft": {"x": COMPLEX},
    "fft ifft": {"x": COMPLEX},
    "fft rfft": {"x": (F32, F64)},
    "fft irfft": {"x": COMPLEX},
    "bitcast": {"x": REAL, "dtype": REAL},
    "truncate": {"x": INTEGERS, "dtype": INTEGERS},
    "real": {"x": COMPLEX},
    "imag": {"x": COMPLEX},
    "complex": {"lhs": (F32, F64)},
    "cumulative_sum": {"x": NUMBERS},
    "cumulative prod": {"x": NUMBERS},
    "cumulative max": {"x": ORDERED},
    "cumulative min": {"x": ORDERED},
    "sort": {"x": ORDERED},
    "reverse": {"x": ALL},
    "strided_slice": {"x": ALL},
    "dimension_size": {"x": ALL},
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
    Return the default accumulator of sums of `dtype`: f32 for narrower floats, the dtype itself for the rest.

    >>> from .types import BF16, SI8
    >>> str(default_accumulator(BF16)), str(default_accumulator(SI8))
    ('f32', 'si8')
    """
    return F32 if dtype.is_float and dtype.bits < 32 else dtype


def accumulators(dtype: PtirDType) -> DTypes:
    """
    Return the legal accumulators of sums of `dtype`: the same kind, no narrower, no float of 8 bits; for unsigned, wider signed
    too.

    >>> from .types import F16, UI16
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
