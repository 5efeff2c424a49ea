"""
What PTIR means, in plain Python: numbers of every dtype, sample values, and a runner which calls kernels by way of their table.

Floats are rounded here from exact fractions, without NumPy or ml_dtypes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from operator import attrgetter
from typing import Any

import numpy as np
from xdsl.utils.test_value import create_ssa_value

from mind_dialect.ptir import OPS_BY_OPCODE, PtirOp
from mind_dialect.ptir.legal import LEGAL, pairs
from mind_dialect.ptir.types import DTYPES, PtirDType, tensor_type
from mind_lowering.ptir_kernels.formats import array_dtype, format_of
from mind_lowering.ptir_kernels.kernels import PtirKernels
from mind_lowering.ptir_kernels.table import Call, kernel_call
from mind_lowering.xp.functions import FUNCTIONS, Storage

KERNELS = PtirKernels(np)

FLOAT_FORMATS: dict[str, tuple[int, int, float]] = {
    "fp8_e4m3": (4, -6, 448.0),
    "fp8_e5m2": (3, -14, 57344.0),
    "bf16": (8, -126, (2 - 2.0**-7) * 2.0**127),
    "f16": (11, -14, 65504.0),
    "f32": (24, -126, (2 - 2.0**-23) * 2.0**127),
    "f64": (53, -1022, (2 - 2.0**-52) * 2.0**1023),
}
"""Bits of significand, least exponent, greatest finite number."""


def rounded(value: Any, dtype: str) -> float:
    """A float, integer or fraction to the nearest number of a float dtype, ties to even, by the contract's rule for overflow."""
    precision, least, most = FLOAT_FORMATS[dtype]
    infinite = math.nan if dtype == "fp8_e4m3" else math.inf
    if isinstance(value, float) and not math.isfinite(value):
        return math.nan if math.isnan(value) else math.copysign(infinite, value) if infinite == math.inf else infinite
    if value == 0:
        return float(value)
    exact = abs(Fraction(value))
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    exponent -= exact < Fraction(2) ** exponent
    step = Fraction(2) ** (max(exponent, least) - precision + 1)
    magnitude = round(exact / step) * step  # of fractions, to even
    sign = -1.0 if value < 0 else 1.0
    if magnitude > Fraction(most):
        return sign * infinite
    return sign * float(magnitude)


def bounds(dtype: PtirDType) -> tuple[int, int]:
    """The least and greatest integer of a dtype; of i1, 0 and 1."""
    if dtype.kind == "signed":
        return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1
    return 0, (1 << dtype.bits) - 1


def wrapped(value: int, dtype: PtirDType) -> int:
    """The low bits of an integer."""
    least, _ = bounds(dtype)
    return (value - least) % (1 << dtype.bits) + least


def is_integer(dtype: PtirDType) -> bool:
    return dtype.kind in ("signed", "unsigned")


def stored(value: Any, dtype: PtirDType) -> Any:
    """The result of arithmetic as the dtype holds it: integers wrap, floats are rounded."""
    if dtype.is_float:
        return rounded(value, dtype.name)
    if dtype.kind == "complex":
        part = "f32" if dtype.bits == 64 else "f64"
        return complex(rounded(value.real, part), rounded(value.imag, part))
    return bool(value) if dtype.bits == 1 else wrapped(value, dtype)


def cast(value: Any, target: PtirDType) -> Any:
    """The contract's conversion of one exact number."""
    if target.bits == 1:
        return value != 0
    if target.kind == "complex":
        part = "f32" if target.bits == 64 else "f64"
        return complex(rounded(value.real, part), rounded(value.imag, part))
    if target.is_float:
        return rounded(int(value) if isinstance(value, bool) else value, target.name)
    least, most = bounds(target)
    if value != value:
        return 0
    return least if value < least else most if value > most else math.trunc(value)


def extreme(kind: str, values: list[Any], dtype: PtirDType) -> Any:
    """The greatest or least, NaN if there is one; of nothing the identity."""
    if not values:
        if dtype.is_float:
            infinite = math.inf if dtype.name != "fp8_e4m3" else 448.0
            return -infinite if kind == "max" else infinite
        found = bounds(dtype)[kind == "min"]
        return bool(found) if dtype.bits == 1 else found
    if any(v != v for v in values):
        return math.nan
    return max(values) if kind == "max" else min(values)


def samples(dtype: PtirDType, count: int = 40, *, special: bool = True, seed: int = 0) -> np.ndarray:
    """Values of a dtype: the special ones first, then random ones; the same in every process."""
    rng = np.random.default_rng([seed, len(dtype.name), dtype.bits])
    if dtype.bits == 1:
        found: list[Any] = [False, True, *(rng.random(count) < 0.5).tolist()]
    elif is_integer(dtype):
        least, most = bounds(dtype)
        ends = [least, least + 1, most, most - 1, 0, 1, 2, 3] if special else []
        small = [int(v) for v in rng.integers(max(least, -20), min(most, 20), count, endpoint=True)]
        found = ends + ([-1, -2, -7] if special and least else []) + small
    elif dtype.kind == "complex":
        found = [0j, 1 + 0j, -1j, *(complex(*v) for v in rng.standard_normal((count, 2)))]
    else:
        precision, least, most = FLOAT_FORMATS[dtype.name]
        odd = [math.nan, 0.0, -0.0, 2.0 ** (least - precision + 1), -(2.0**least), most, -most] if special else []
        odd += [math.inf, -math.inf] if special and dtype.name != "fp8_e4m3" else []
        found = odd + [1.0, -1.0, 0.5, 1.5, -2.5, 3.0] + [rounded(float(v), dtype.name) for v in 3 * rng.standard_normal(count)]
    return array(found[:count] if not special else found[: max(count, 12)], dtype)


def array(values: Any, dtype: PtirDType | str) -> np.ndarray:
    """Nested lists as an array of a dtype, which holds them exactly."""
    dtype = DTYPES[dtype] if isinstance(dtype, str) else dtype
    wide: Any = {"float": "f8", "complex": "c16", "bool": "?", "unsigned": "u8", "signed": "i8"}[str(dtype.kind)]
    with np.errstate(all="ignore"):
        return np.array(values, wide).astype(array_dtype(dtype.name))


def dtype_of(x: np.ndarray) -> PtirDType:
    return DTYPES[format_of(x.dtype).name]


def op_of(name: str, *arrays: Any, **properties: Any) -> PtirOp:
    """A verified op on operands of the arrays' types; `name` is a key of the table of legal dtypes."""
    opcode, _, kind = name.partition(" ")
    values = [create_ssa_value(tensor_type(dtype_of(x), x.shape)) for x in arrays]
    return OPS_BY_OPCODE[opcode](*values, **({"kind": kind} if kind else {}), **properties)


def perform(call: Call, *arrays: Any, **more: Any) -> Any:
    """One call, as a target makes it: NumPy's warnings are off, dtypes are NumPy's."""
    root, _, function = call.callee.partition(".")
    target: Callable[..., Any] = attrgetter(function)({"xp": np, "k": KERNELS}[root])
    arguments = {n: array_dtype(v.name) if isinstance(v, PtirDType) else v for n, v in call.arguments.items()}
    with np.errstate(all="ignore"):
        return target(*arrays, **arguments, **more)


def run(name: str, *arrays: Any, more: dict[str, Any] | None = None, **properties: Any) -> Any:
    """
    The result of an op, by the table's call; held against the op's own result types, and its operands against change.

    Where the array library does the op itself, the kernel that takes every dtype must agree bit for bit.
    """
    op = op_of(name, *arrays, **properties)
    call = kernel_call(op)
    before = [x.tobytes() for x in arrays]
    result = perform(call, *arrays, **(more or {}))
    assert [x.tobytes() for x in arrays] == before, "an operand was written to"
    for i, found in enumerate(result if isinstance(result, tuple) else (result,)):
        spec = op.result_spec(i)
        assert (dtype_of(found), found.shape) == (spec.dtype, spec.shape), f"{name} gave {found.dtype}{found.shape}, not {spec}"
        shared = any(np.shares_memory(found, x) for x in arrays if isinstance(x, np.ndarray) and isinstance(found, np.ndarray))
        if shared:
            assert FUNCTIONS[call.callee] in (Storage.WHOLE, Storage.PART), f"{call.callee} shares memory"
    twin = call.callee.removeprefix("xp.")
    if twin != call.callee and hasattr(KERNELS, twin):
        assert_same(perform(Call(f"k.{twin}", call.arguments), *arrays), result)
    return result


def run_everywhere(name: str, *arrays: Any, **properties: Any) -> np.ndarray:
    """As `run` on vectors, and the same on every element by itself as an array of rank 0, as a scalar, and on strided views."""
    whole = run(name, *arrays, **properties)
    for i in range(0, len(arrays[0]), 1 + len(arrays[0]) // 12):
        assert_same(run(name, *[np.asarray(x[i]) for x in arrays], **properties), whole[i], ulps=2)
        assert_same(run(name, *[x[i] for x in arrays], **properties), whole[i], ulps=2)
    assert_same(run(name, *[x[::-2] for x in arrays], **properties), whole[::-2], ulps=2)
    empty = [x[:0].reshape(0, 3) for x in arrays]
    assert run(name, *empty, **properties).shape == (0, 3)
    return whole


def elements(x: Any) -> list[Any]:
    """The elements in row-major order, as Python numbers."""
    return np.asarray(x).reshape(-1).tolist()


def same(a: Any, b: Any) -> bool:
    """Equal, with NaN equal to NaN and zeros of different signs unequal."""
    if isinstance(a, complex) or isinstance(b, complex):
        return same(complex(a).real, complex(b).real) and same(complex(a).imag, complex(b).imag)
    if a != a or b != b:
        return a != a and b != b
    return a == b and (not isinstance(a, float) or math.copysign(1, a) == math.copysign(1, b))


def assert_same(actual: Any, expected: Any, ulps: int = 0) -> None:
    """Equal element by element; with `ulps`, floats only to so many units in the last place."""
    assert np.shape(actual) == np.shape(expected)
    if ulps and dtype_of(np.asarray(actual)).kind in ("float", "complex"):
        assert_near(actual, elements(expected), ulps=ulps)
        return
    for a, b in zip(elements(actual), elements(expected), strict=True):
        assert same(a, b), (actual, expected)


def assert_elements(actual: Any, expected: Sequence[Any], *context: Any) -> None:
    """The elements of an array are exactly the expected numbers."""
    found = elements(actual)
    assert len(found) == len(expected)
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert same(a, b), (i, a, b, *(elements(c)[i] for c in context))


def assert_near(actual: Any, expected: Sequence[Any], *, ulps: float) -> None:
    """Each float within some units in the last place of its dtype of the expected number, which may be more precise."""
    dtype = dtype_of(np.asarray(actual))
    if dtype.kind == "complex":
        part = DTYPES["f32" if dtype.bits == 64 else "f64"]
        for a, b in zip(elements(actual), expected, strict=True):
            size = math.hypot(complex(b).real, complex(b).imag)
            if math.isfinite(size):
                assert abs(a - complex(b)) <= ulps * spacing(size, part), (a, b)
        return
    for a, b in zip(elements(actual), expected, strict=True):
        nearest = rounded(b if isinstance(b, Fraction) else float(b), dtype.name)
        if not math.isfinite(nearest) or not math.isfinite(a):
            assert same(a, nearest) or abs(b) > FLOAT_FORMATS[dtype.name][2] * (1 - ulps * 2.0 ** -FLOAT_FORMATS[dtype.name][0])
        else:
            assert abs(Fraction(a) - Fraction(b)) <= Fraction(ulps) * Fraction(spacing(nearest, dtype)), (a, b)


def spacing(value: float, dtype: PtirDType) -> Fraction:
    """The distance to the next number of a float dtype."""
    precision, least, _ = FLOAT_FORMATS[dtype.name]
    exponent = max(math.frexp(value)[1] - 1, least) if value else least
    return Fraction(2) ** (exponent - precision + 1)


def bounded(actual: Any, terms: Sequence[Sequence[Any]], dtype: PtirDType, accumulator: str) -> None:
    """
    Sums within the documented bound of the exact ones: c K eps sum|terms|, and one rounding to the result.

    `terms` are the exact summands of each element of the result.
    """
    if dtype.kind == "complex":
        part = "f32" if dtype.bits == 64 else "f64"
        for a, row in zip(elements(actual), terms, strict=True):
            real, imaginary = (sum((Fraction(getattr(t, p)) for t in row), Fraction(0)) for p in ("real", "imag"))
            slack = 8 * (len(row) + 1) * 2.0 ** -FLOAT_FORMATS[part][0] * sum(abs(t) for t in row)
            assert abs(Fraction(a.real) - real) <= slack, (a, row)
            assert abs(Fraction(a.imag) - imaginary) <= slack, (a, row)
        return
    for a, row in zip(elements(actual), terms, strict=True):
        exact = sum((Fraction(t) for t in row), Fraction(0))
        slack = 2 * len(row) * Fraction(2) ** -FLOAT_FORMATS[accumulator][0] * sum((abs(Fraction(t)) for t in row), Fraction(0))
        nearest = rounded(exact, dtype.name)
        if not math.isfinite(nearest) or not math.isfinite(a):
            assert same(a, nearest) or abs(exact) + slack > Fraction(FLOAT_FORMATS[dtype.name][2])
            continue
        assert abs(Fraction(a) - exact) <= slack + spacing(nearest, dtype), (a, float(exact))


FAMILIES: dict[str, tuple[str, ...]] = {
    "transcendental": (
        "exp",
        "log",
        "tanh",
        "erf",
        "rsqrt",
        "sqrt",
        "sin",
        "cos",
        "logistic",
        "expm1",
        "log1p",
        "pow",
        "reciprocal",
        *("atan2", "cbrt", "erf_inv", "lgamma", "digamma"),
    ),
    "arithmetic": ("neg", "abs", "add", "sub", "mul", "div", "remainder", "maximum", "minimum", "clamp", "sign"),
    "rounding": ("floor", "ceil", "round", "round_away"),
    "bits": (
        *("not", "and", "or", "xor", "shift_left", "shift_right_arithmetic", "shift_right_logical"),
        *("popcount", "count_leading_zeros"),
    ),
    "comparison": (*(k for k in LEGAL if k.startswith("compare ")), "select"),
    "cast": ("cast",),
    "conversion": ("bitcast", "truncate"),
    "complex": ("real", "imag", "complex", "conj"),
    "transform": ("fft fft", "fft ifft", "fft rfft", "fft irfft"),
    "reduction": (
        *(k for k in LEGAL if k.startswith("reduce ")),
        *("arg_max", "arg_min", "cumulative_sum", "layer_norm", "cumulative prod", "cumulative max", "cumulative min"),
    ),
    "structure": (
        *("constant", "stop_gradient", "reshape", "transpose", "broadcast_to", "slice", "concat", "pad", "tile", "iota"),
        *("reverse", "strided_slice", "dimension_size"),
    ),
    "indexing": (
        *("take", "gather", "scatter_add", *(k for k in LEGAL if k.startswith("scatter_reduce "))),
        *("gather_windows", *(k for k in LEGAL if k.startswith("scatter_windows "))),
        *("dynamic_slice", "dynamic_update_slice", "segment_reduce sum", "segment_reduce max"),
    ),
    "contraction": ("dot_general", "convolution", "ragged_dot rows", "ragged_dot contract"),
    "window": (
        "reduce_window sum",
        "reduce_window max",
        "reduce_window min",
        "window_arg max",
        "window_arg min",
        "extract_patches",
    ),
    "random": ("rng_uniform", "rng_normal"),
    "order": ("top_k", "sort"),
    "quantization": ("quantize", "dequantize", "requantize"),
    "without a kernel": ("cond", "while", "scan", "custom_call", "yield", "fusion"),
}
"""Every row of the table of legal dtypes, by the test file that runs it."""


def legal(*families: str) -> list[tuple[str, PtirDType]]:
    """The legal pairs of some families."""
    keys = reduce(tuple.__add__, (FAMILIES[f] for f in families))
    return [(key, dtype) for key, dtype in pairs() if key in keys]


def ids(value: Any) -> str:
    """Names for pytest's parameters."""
    return str(value).replace(" ", "-")
