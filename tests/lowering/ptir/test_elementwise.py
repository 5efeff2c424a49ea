"""Elementwise kernels on every legal dtype, against integers of Python, exact fractions, and floats of more precision."""

import math
import operator
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_dialect.ptir.types import DTYPES, PtirDType
from ptir_oracle import (
    FLOAT_FORMATS,
    array,
    assert_elements,
    assert_near,
    bounds,
    elements,
    ids,
    is_integer,
    legal,
    run,
    run_everywhere,
    samples,
    stored,
    wrapped,
)

BINARY = {"atan2", "add", "sub", "mul", "div", "remainder", "maximum", "minimum", "pow", "and", "or", "xor", "select"}
SHIFTS = {"shift_left", "shift_right_arithmetic", "shift_right_logical"}


def two(dtype: PtirDType) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of some sample values."""
    values = samples(dtype, 17)
    return tuple(np.ascontiguousarray(x.reshape(-1)) for x in np.meshgrid(values, values))


def exact(x: np.ndarray) -> list[Any]:
    """Extended floats as fractions where finite."""
    return [Fraction(*v.as_integer_ratio()) if np.isfinite(v) else float(v) for v in x.reshape(-1)]


# Functions of real numbers: f64 is held against extended precision, the rest against f64.


def erf_of(x: float) -> Any:
    """erf by its power series, to 60 digits."""
    if not math.isfinite(x) or abs(x) > 6.5:
        return math.nan if x != x else math.copysign(1.0, x)
    with localcontext() as context:
        context.prec = 100
        value, total, n = Decimal(x), Decimal(0), 0
        term = value
        while n < 3 * x * x + 40 or abs(term) > Decimal(10) ** -70 * abs(value):
            total += term / (2 * n + 1)
            n += 1
            term = -term * value * value / n
        pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
        return Fraction(total * 2 / pi.sqrt())


def logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


REAL: dict[str, Callable[..., Any]] = {
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "logistic": logistic,
    "expm1": np.expm1,
    "log1p": np.log1p,
    "pow": np.power,
    "reciprocal": lambda x: 1 / x,
    "atan2": np.arctan2,
    "cbrt": np.cbrt,
}
ULPS = {"f64": 4.0, "f32": 4.0, "cf32": 8.0, "cf64": 8.0}
"""What vendors' vectorised functions allow themselves; narrower floats are computed in f32 and rounded once."""


SPECIAL = ("erf_inv", "lgamma", "digamma")
"""Functions that NumPy lacks in extended precision, in test_special_functions.py."""


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("transcendental") if p[0] not in SPECIAL], ids=ids)
def test_functions_of_real_and_complex_numbers(op: str, dtype: PtirDType):
    operands = two(dtype) if op in BINARY else (samples(dtype, 60),)
    found = run_everywhere(op, *operands)
    if op == "erf":
        expected: list[Any] = [erf_of(float(v)) for v in elements(operands[0])]
    else:
        wide: Any = {"cf32": np.complex128, "cf64": np.clongdouble}.get(dtype.name, np.longdouble)
        with np.errstate(all="ignore"):
            result = REAL[op](*[x.astype("f8").astype(wide) if dtype.is_float else x.astype(wide) for x in operands])
        expected = exact(result) if dtype.is_float else [complex(v) for v in result]
    ulps = 2.0 if op == "erf" else ULPS.get(dtype.name, 1.0)
    assert_near(found, expected, ulps=4 * ulps if op == "pow" and dtype.kind == "complex" else ulps)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_erf_is_accurate_everywhere(dtype: str):
    points = array(np.r_[np.linspace(-6.2, 6.2, 1201), np.geomspace(1e-30, 1, 40)].tolist(), dtype)
    assert_near(run("erf", points), [erf_of(v) for v in points.tolist()], ulps=0.6 if dtype == "f32" else 2.5)


def test_erf_of_many_elements_goes_block_by_block():
    points = np.linspace(-5, 5, 40_000, dtype=np.float32).reshape(200, 200)
    expected = np.array([math.erf(v) for v in points.reshape(-1).tolist()])
    assert np.abs(run("erf", points).reshape(-1) - expected).max() < 1e-7
    assert run("erf", points.T).tobytes() == run("erf", np.ascontiguousarray(points.T)).tobytes()


def test_logistic_keeps_its_precision_far_out():
    x = array([-100.0, -88.0, -30.0, 30.0, 1000.0, -1000.0], "f32")
    with np.errstate(all="ignore"):
        assert_near(run("logistic", x), exact(logistic(x.astype(np.longdouble))), ulps=2)


def test_functions_near_zero_keep_their_digits():
    x = array([1e-20, -1e-20, 1e-5], "f64")
    for op in ("expm1", "log1p"):
        assert_near(run(op, x), exact(REAL[op](x.astype(np.longdouble))), ulps=2)
        assert elements(run(op, x))[0] == 1e-20


# Arithmetic: exact in fractions, then stored.


def divided(a: Any, b: Any, dtype: PtirDType) -> Any:
    if is_integer(dtype):
        q = abs(a) // abs(b)
        return q if (a < 0) == (b < 0) else -q
    if b == 0 and dtype.is_float:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)
    return quotient(a, b)


def quotient(a: float, b: float) -> Any:
    if math.isfinite(a) and math.isfinite(b) and a:
        return Fraction(a) / Fraction(b)
    return a / b


def sign_of(a: Any) -> Any:
    return a if a == 0 or a != a else (1 if a > 0 else -1)


def greatest(a: Any, b: Any) -> Any:
    return math.nan if a != a or b != b else max(a, b)


def least(a: Any, b: Any) -> Any:
    return math.nan if a != a or b != b else min(a, b)


def remainder(a: Any, b: Any, dtype: PtirDType) -> Any:
    if is_integer(dtype):
        return a - divided(a, b, dtype) * b
    return math.nan if math.isinf(a) or b == 0 or a != a or b != b else math.fmod(a, b)


def exactly(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any, PtirDType], Any]:
    """Sums and products of finite floats as fractions, of the others by IEEE."""

    def apply(a: Any, b: Any, dtype: PtirDType) -> Any:
        if dtype.is_float and math.isfinite(a) and math.isfinite(b) and (found := function(Fraction(a), Fraction(b))):
            return found
        return function(a, b)

    return apply


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "neg": lambda a, dtype: -a,
    "abs": lambda a, dtype: abs(a),
    "sign": lambda a, dtype: sign_of(a),
    "add": exactly(operator.add),
    "sub": exactly(operator.sub),
    "mul": exactly(operator.mul),
    "div": divided,
    "remainder": remainder,
    "maximum": lambda a, b, dtype: greatest(a, b),
    "minimum": lambda a, b, dtype: least(a, b),
}


def without_zero_divisors(op: str, dtype: PtirDType, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    keep = (b.astype("f8") != 0) if op in ("div", "remainder") and is_integer(dtype) else np.ones(b.shape, bool)
    return a[keep], b[keep]


TESTED_ELSEWHERE = [("clamp", d) for d in DTYPES.values()] + [(op, DTYPES[d]) for op in ("abs", "sign") for d in ("cf32", "cf64")]
"""In tests of their own; the magnitude and the sign of complex numbers in test_complex.py."""


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("arithmetic") if p not in TESTED_ELSEWHERE], ids=ids)
def test_arithmetic(op: str, dtype: PtirDType):
    if dtype.kind == "complex":
        operands = (samples(dtype, 30), samples(dtype, 30, seed=1) + dtype_one(dtype))[: 1 + (op in BINARY)]
        part = np.complex128 if dtype.bits == 64 else np.clongdouble
        wide = [x.astype(part) for x in operands]
        function = {"neg": operator.neg, "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv}[
            op
        ]
        assert_near(run_everywhere(op, *operands), [complex(v) for v in function(*wide)], ulps=3)
        return
    operands = without_zero_divisors(op, dtype, *two(dtype)) if op in BINARY else (samples(dtype, 60),)
    found = run_everywhere(op, *operands)
    expected = [stored(ARITHMETIC[op](*each, dtype), dtype) for each in zip(*map(elements, operands), strict=True)]
    if op in ("maximum", "minimum"):  # which of two zeros is the greater is left open
        assert_elements(np.where(found == 0, np.zeros_like(found), found), [abs(v) if v == 0 else v for v in expected])
    else:
        assert_elements(found, expected, *operands)


def dtype_one(dtype: PtirDType) -> Any:
    return array([3 + 0j], dtype)


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("arithmetic") if p[0] == "clamp"], ids=ids)
def test_clamp(op: str, dtype: PtirDType):
    a, lo = two(dtype)
    hi = np.roll(lo, 3)
    found = run_everywhere(op, a, lo, hi)
    expected = [least(greatest(*each), h) for *each, h in zip(*map(elements, (a, lo, hi)), strict=True)]
    assert_elements(
        np.where(found == 0, np.zeros_like(found), found), [abs(v) if v == 0 and dtype.is_float else v for v in expected]
    )


def away_from_zero(x: float) -> int:
    whole = math.floor(abs(Fraction(x)) + Fraction(1, 2))
    return -whole if x < 0 else whole


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_ties_round_away_from_zero(dtype: str):
    """The number just below a half rounds to 0: nothing is added that would round up on its own."""
    below = np.nextafter(array([0.5], dtype), array([0.0], dtype))[0].item()
    whole = 2.0**23 + 1 if dtype == "f32" else 2.0**52 + 1
    x = array([0.5, -0.5, 1.5, 2.5, -2.5, below, -below, whole, -whole], dtype)
    assert_elements(run("round_away", x), [1.0, -1.0, 2.0, 3.0, -3.0, 0.0, -0.0, whole, -whole])


@pytest.mark.parametrize(("op", "dtype"), legal("rounding"), ids=ids)
def test_rounding(op: str, dtype: PtirDType):
    x = samples(dtype, 60)
    functions = {"floor": math.floor, "ceil": math.ceil, "round": round, "round_away": away_from_zero}
    expected = [stored(math.copysign(functions[op](v), v) if math.isfinite(v) else v, dtype) for v in elements(x)]
    assert_elements(run_everywhere(op, x), expected, x)


def shifted(op: str, a: int, b: int, dtype: PtirDType) -> int:
    low = a % (1 << dtype.bits)
    gone = not 0 <= b < dtype.bits
    if op == "shift_left":
        return 0 if gone else wrapped(low << b, dtype)
    if op == "shift_right_logical":
        return 0 if gone else wrapped(low >> b, dtype)
    signed = low - (1 << dtype.bits) * (low >> (dtype.bits - 1))
    return wrapped(signed >> (dtype.bits if gone else b), dtype)


BITS: dict[str, Callable[..., int]] = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}


@pytest.mark.parametrize(("op", "dtype"), legal("bits"), ids=ids)
def test_bits(op: str, dtype: PtirDType):
    if op == "not":
        x = samples(dtype)
        assert_elements(run_everywhere(op, x), [stored(~int(v) & 1 if dtype.bits == 1 else ~v, dtype) for v in elements(x)])
        return
    if op in ("popcount", "count_leading_zeros"):
        x = np.concatenate([samples(dtype), array([wrapped(1 << i, dtype) for i in range(dtype.bits)], dtype)])
        low = [int(v) % (1 << dtype.bits) for v in elements(x)]
        meaning = int.bit_count if op == "popcount" else lambda v: dtype.bits - v.bit_length()
        assert_elements(run_everywhere(op, x), [meaning(v) for v in low], x)
        return
    a, b = two(dtype)
    if op in SHIFTS:
        amounts = [v for v in (0, 1, 3, 4, 7, 8, 31, 63, 64, 65, -1, *bounds(dtype)) if bounds(dtype)[0] <= v <= bounds(dtype)[1]]
        a = samples(dtype, 40).repeat(len(amounts))
        b = array(amounts * (len(a) // len(amounts)), dtype)
        expected = [shifted(op, x, y, dtype) for x, y in zip(elements(a), elements(b), strict=True)]
    else:
        expected = [stored(BITS[op](x, y), dtype) for x, y in zip(elements(a), elements(b), strict=True)]
    assert_elements(run_everywhere(op, a, b), expected, a, b)


COMPARISONS = {
    "less": operator.lt,
    "less_equal": operator.le,
    "equal": operator.eq,
    "greater_equal": operator.ge,
    "greater": operator.gt,
    "not_equal": operator.ne,
}


@pytest.mark.parametrize(("op", "dtype"), legal("comparison"), ids=ids)
def test_comparison_and_selection(op: str, dtype: PtirDType):
    a, b = two(dtype)
    if op == "select":
        pred = np.arange(a.size) % 3 == 0
        expected = [x if p else y for p, x, y in zip(*map(elements, (pred, a, b)), strict=True)]
        assert_elements(run_everywhere(op, pred, a, b), expected)
        return
    compare = COMPARISONS[op.split()[1]]
    assert_elements(run_everywhere(op, a, b), [compare(x, y) for x, y in zip(elements(a), elements(b), strict=True)], a, b)


# Refusals


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("arithmetic") if p[0] in ("div", "remainder")], ids=ids)
def test_division_by_zero_is_refused_for_integers_only(op: str, dtype: PtirDType):
    a, b = array([3, 1], dtype), array([1, 0], dtype)
    if not is_integer(dtype):
        run(op, a, b)
        return
    for x, y in ((a, b), (a[1:].reshape(()), b[1:].reshape(())), (a[1], b[1])):
        with pytest.raises(MindError, match="division of the integer 1 by 0") as caught:
            run(op, x, y)
        assert (caught.value.code, caught.value.category) == ("E8004", "IntegerDivideByZero")
    assert run(op, a[:0], b[:0]).shape == (0,)


def test_the_oracle_rounds_as_its_sources_do():
    """Powers of two, ties, subnormal numbers and overflow, by hand."""
    from ptir_oracle import rounded

    assert rounded(Fraction(1) + Fraction(1, 256), "bf16") == 1.0
    assert rounded(Fraction(1) + Fraction(3, 256), "bf16") == 1.015625
    assert rounded(464, "fp8_e4m3") == 448.0
    assert math.isnan(rounded(465, "fp8_e4m3"))
    assert rounded(65519, "f16") == 65504.0
    assert rounded(65520, "f16") == math.inf
    assert all(rounded(FLOAT_FORMATS[d][2], d) == FLOAT_FORMATS[d][2] for d in FLOAT_FORMATS)
    values = np.random.default_rng(3).standard_normal(200) * 2.0 ** np.random.default_rng(4).integers(-150, 120, 200)
    assert [rounded(v, "f32") for v in values.tolist()] == values.astype("f4").tolist()
    with np.errstate(all="ignore"):
        assert [rounded(v, "f16") for v in values.tolist()] == values.astype("f2").tolist()
    assert set(DTYPES) >= set(FLOAT_FORMATS)
