"""The vector math beside higher precision: every function, on every machine that this one can stand in for, at several widths."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import re
from functools import cache

import numpy as np
import pytest

pytest.importorskip("llvmlite.binding")

import llvmlite.binding as llvm

import vector_math as vm
from machines import RUNNABLE
from mind_lowering.native.elementwise import EMITTERS
from mind_lowering.native.target_info import TARGETS
from mind_lowering.native.vmath import BY_LIBRARY, MATH, NOT_ABOVE_ONE, SCORE, SHARE, coefficients
from mind_lowering.native.vmath.quotients import MOST_TOTAL

BOUNDS = {name: (2.0, 3.0) for name in MATH} | {
    "pow": (2.0, 4.0),
    "erf_inv": (4.0, 4.0),
    "lgamma": (1.0, 4.0),
    SHARE: (1.0, 1.0),
    "fmod": (0.0, 0.0),
}
"""Units in the last place that f32 and f64 may be off."""
TYPES = {"float": 0, "double": 1}
STRIDE = 2**32 // 400_000 | 1
"""From one bit pattern of f32 to the next that is looked at: odd, so that all digits change."""
extended = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="f64 needs a longer float beside it")
each_type = pytest.mark.parametrize("type", ["float", pytest.param("double", marks=extended)])
each_function = pytest.mark.parametrize("opcode", list(MATH))


def _logistic(x: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, np.exp(x) / (1 + e), 1 / (1 + e))


def _erf(x: np.ndarray) -> np.ndarray:
    """
    In f64 from the C library; longer from its series, and beyond 3 from the continued fraction of what is missing to 1.

    The terms of the series at 3 are up to 400 times the sum: of 64 bits 55 are left, and 53 are looked at.
    """
    if x.dtype == np.float64:
        return np.array([math.erf(v) for v in x])
    scale, small = 2 / np.sqrt(4 * np.arctan(x.dtype.type(1))), np.abs(x) < 3
    inner = np.where(small, x, 0)
    term, total = inner.copy(), inner.copy()
    for k in range(1, 80):
        term = term * (2 * inner * inner) / (2 * k + 1)
        total = total + term
    size = np.where(small, 3, np.minimum(np.abs(x), 20))
    fraction = np.zeros_like(x)
    for k in range(60, 0, -1):
        fraction = k / 2 / (size + fraction)
    outer = np.copysign(1 - np.exp(-size * size) * scale / 2 / (size + fraction), x)
    found = np.where(small, scale * total * np.exp(-inner * inner), outer)
    return np.where(np.isnan(x), x, np.where(x == 0, x, found))


def _missing(y: np.ndarray) -> np.ndarray:
    """What the error function of a number above 1 misses to 1, by its continued fraction."""
    fraction = np.zeros_like(y)
    for k in range(120, 0, -1):
        fraction = k / 2 / (y + fraction)
    return np.exp(-y * y) / np.sqrt(4 * np.arctan(y.dtype.type(1))) / (y + fraction)


def _erf_inv(x: np.ndarray) -> np.ndarray:
    """Newton's method, near 1 on the logarithm of what is missing to 1."""
    size = np.abs(x)
    half = np.sqrt(np.arctan(x.dtype.type(1)))
    found = np.where(size == 1, np.inf, np.where(size < 1, size * half, np.nan))
    middle, outer = (size >= 1e-9) & (size < 0.95), (size >= 0.95) & (size < 1)
    inside, y = size[middle], size[middle]
    for _ in range(9):
        y = y - (_erf(y) - inside) * np.exp(y * y) * half
    found[middle] = y
    inside, y = size[outer], np.sqrt(-np.log1p(-size[outer]))
    for _ in range(9):
        y = np.maximum(y, 1.3)
        left = _missing(y)
        y = y - left * np.log((1 - inside) / left) * np.exp(y * y) * half
    found[outer] = y
    return np.where(x == 0, x, np.copysign(found, x))


class _Long(ctypes.c_longdouble):
    """A long double that `ctypes` does not convert."""


def _lgamma(x: np.ndarray) -> np.ndarray:
    """The C library's function, of f64 for f32 and of long doubles for f64."""
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    single = x.dtype == np.float64
    function = library.lgamma if single else library.lgammal
    function.argtypes, function.restype = ([ctypes.c_double], ctypes.c_double) if single else ([ctypes.c_longdouble], _Long)
    if single:
        return np.array([function(v) for v in x])
    return np.frombuffer(b"".join(bytes(function(float(v))) for v in x), x.dtype)


EXACT = {
    "exp": np.exp,
    NOT_ABOVE_ONE: np.exp,
    SCORE: lambda x: np.where(x < (-87 if x.dtype == np.float64 else -708), 0, np.exp(x)),
    SHARE: np.divide,
    "log": np.log,
    "tanh": np.tanh,
    "erf": _erf,
    "erf_inv": _erf_inv,
    "lgamma": _lgamma,
    "sin": np.sin,
    "cos": np.cos,
    "atan2": np.arctan2,
    "pow": np.power,
    "expm1": np.expm1,
    "log1p": np.log1p,
    "logistic": _logistic,
    "fmod": np.fmod,
}
"""By opcode: the function in higher precision."""


def exact(opcode: str, *operands: np.ndarray) -> np.ndarray:
    """In f64 of f32, in the longest float of f64."""
    wider = np.float64 if operands[0].dtype == np.float32 else np.longdouble
    with np.errstate(all="ignore"):
        return EXACT[opcode](*(v.astype(wider) for v in operands))


def specials(type: str) -> np.ndarray:
    """Zeros, infinities, NaN, 1, the ends of the ranges, and the floats beside them; all with both signs."""
    dtype = vm.TYPES[type]
    info = np.finfo(dtype)
    found = [0, np.inf, 1, 2, 0.5, 3, 2.5, 4.5, 1e-3, 20, info.tiny, info.smallest_subnormal, info.max, info.eps]
    found += [2.0**17, 2.0**30, 88.72284, 103.97, 709.7827128933841, 745.1332191019412, 2.0**24 - 1, 2.0**53 - 1, 2.0**52 + 1]
    found += [k * math.pi / 2 for k in (1, 2, 3, 4, 100001)]
    values = np.array(found, dtype)
    with np.errstate(all="ignore"):
        beside = [np.nextafter(values, dtype(side)) for side in (-np.inf, np.inf)]
    values = np.concatenate([values, *beside, info.smallest_subnormal * np.arange(1, 9, dtype=dtype)])
    return np.concatenate([values, -values, np.array([np.nan], dtype)])


@cache
def samples(type: str) -> np.ndarray:
    """Bit patterns at a stride over all (f32) or at random (f64), every exponent, and dense where the functions bend."""
    dtype, rng = vm.TYPES[type], np.random.default_rng(7)
    if type == "float":
        patterns = np.arange(0, 2**32, STRIDE, dtype=np.uint64).astype(np.uint32).view(np.float32)
        reach, exponents = 105, np.arange(-149, 128)
    else:
        patterns = rng.integers(0, 2**64, 40_000, dtype=np.uint64).view(np.float64)
        reach, exponents = 750, np.arange(-1074, 1024)
    signs = rng.choice([-1, 1], (30, exponents.size))
    with np.errstate(all="ignore"):
        spread = np.ldexp(signs * rng.uniform(1, 2, signs.shape), exponents).astype(dtype).ravel()
    dense = [rng.uniform(-b, b, 30_000) for b in (0.6, 1.2, 7, reach)]
    dense.append(1 + rng.standard_normal(20_000) * 2.0 ** rng.integers(-30, 0, 20_000))
    return np.concatenate([specials(type), patterns, spread, *(d.astype(dtype) for d in dense)])


@cache
def pairs(type: str) -> tuple[np.ndarray, np.ndarray]:
    """All specials with each other, random patterns, pairs near 1, and those whose power is a float, up to the ends."""
    dtype, rng, reach = vm.TYPES[type], np.random.default_rng(8), 104 if type == "float" else 745
    x, y = (v.ravel() for v in np.meshgrid(specials(type), specials(type)))
    near_one = 1 + rng.standard_normal(60_000) * 2.0 ** rng.integers(-24, -1, 60_000)
    bases = np.abs(np.concatenate([np.exp(rng.standard_normal(60_000) * 4), near_one])).astype(dtype)
    with np.errstate(all="ignore"):
        exponents = (rng.uniform(-1, 1, bases.size) * reach / np.log(bases.astype(np.float64))).astype(dtype)
    mixed = rng.permutation(samples(type))
    whole = np.round(exponents[:2000])
    near = rng.standard_normal((2, 60_000)).astype(dtype)
    return np.concatenate([x, bases, -bases[:2000], mixed, near[0]]), np.concatenate(
        [y, exponents, whole, samples(type), near[1]]
    )


@cache
def shares(type: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers from 0 to 1, subnormal ones among them, and totals from 1 to the greatest; also those with 1 and NaN."""
    dtype, rng = vm.TYPES[type], np.random.default_rng(9)
    x = abs(samples(type))
    x = x[~(x > 1)]
    totals = np.exp2(rng.uniform(0, 24, x.size)).astype(dtype).clip(1, MOST_TOTAL)
    ends = np.array([1, np.nextafter(dtype(1), dtype(2)), np.nextafter(dtype(2), dtype(1)), 3, MOST_TOTAL, np.nan], dtype)
    totals = np.concatenate([totals, rng.choice(ends, x.size)])
    return np.concatenate([x, rng.permutation(x)]), totals


def operands(opcode: str, type: str) -> tuple[np.ndarray, ...]:
    if opcode == SHARE:
        return shares(type)
    if opcode in vm.BINARY:
        return pairs(type)
    return (-abs(samples(type)) if opcode in (NOT_ABOVE_ONE, SCORE) else samples(type),)


@cache
def expected(opcode: str, type: str) -> np.ndarray:
    return exact(opcode, *operands(opcode, type))


@pytest.mark.quick
def test_a_maker_for_every_function_an_oracle_and_bounds():
    wanted = {"exp", "log", "tanh", "erf", "erf_inv", "sin", "cos", "atan2", "pow", "logistic", "expm1", "log1p", "lgamma"}
    assert set(MATH) == wanted | {NOT_ABOVE_ONE, SCORE, SHARE, "fmod"} == set(EXACT) == set(BOUNDS)
    assert not BY_LIBRARY & set(MATH), "a function that is both ours and the C library's"
    assert wanted <= {op.OPCODE for op in EMITTERS}


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", RUNNABLE)
@each_type
@each_function
def test_errors_stay_within_the_bounds(opcode: str, type: str, isa: str):
    given = operands(opcode, type)
    width = TARGETS[isa].lanes(np.dtype(vm.TYPES[type]).itemsize)
    found = vm.compiled(opcode, type, width, isa)(*given)
    errors = vm.ulps(found, expected(opcode, type))
    worst = int(np.argmax(errors))
    assert errors[worst] <= BOUNDS[opcode][TYPES[type]], (errors[worst], [v[worst] for v in given], found[worst])


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("type", list(TYPES))
@each_function
def test_the_number_of_lanes_does_not_matter(opcode: str, type: str, isa: str):
    given = [v[:: max(1, v.size // 40_000)] for v in operands(opcode, type)]
    one, *others = (vm.compiled(opcode, type, width, isa)(*given) for width in (1, 8, 16))
    for other in others:
        np.testing.assert_array_equal(one, other, strict=True)
        assert np.array_equal(np.signbit(one[one == 0]), np.signbit(other[one == 0]))


@pytest.mark.parametrize("isa", RUNNABLE)
@each_type
def test_an_exponential_that_is_not_above_one_has_the_bits_of_any_other(type: str, isa: str):
    given, width = operands(NOT_ABOVE_ONE, type), TARGETS[isa].lanes(np.dtype(vm.TYPES[type]).itemsize)
    short, long = (vm.compiled(opcode, type, width, isa)(*given) for opcode in (NOT_ABOVE_ONE, "exp"))
    np.testing.assert_array_equal(short, long, strict=True)
    least = np.finfo(short.dtype).tiny
    assert np.count_nonzero((0 < short) & (short < least)), "subnormal results among them"


@pytest.mark.parametrize("isa", RUNNABLE)
@each_type
def test_the_exponential_of_a_score_has_the_bits_of_any_other_or_is_0(type: str, isa: str):
    given, width = operands(SCORE, type), TARGETS[isa].lanes(np.dtype(vm.TYPES[type]).itemsize)
    flushed, exact = (vm.compiled(opcode, type, width, isa)(*given) for opcode in (SCORE, "exp"))
    low = given[0] < (-87 if type == "float" else -708)
    np.testing.assert_array_equal(flushed, np.where(low, exact.dtype.type(0), exact), strict=True)
    assert flushed[flushed > 0].min() >= np.finfo(flushed.dtype).tiny


@pytest.mark.parametrize("isa", RUNNABLE)
@each_type
def test_a_share_has_the_bits_of_the_quotient_where_it_is_not_tiny(type: str, isa: str):
    x, total = shares(type)
    found = vm.compiled(SHARE, type, TARGETS[isa].lanes(x.itemsize), isa)(x, total)
    with np.errstate(all="ignore"):
        wanted = x / total
    exact = ~(x < (2.0**-100 if type == "float" else 2.0**-900)) | (x == 0)
    assert np.count_nonzero(exact) > x.size // 3
    np.testing.assert_array_equal(found[exact], wanted[exact], strict=True)
    assert vm.ulps(found[~exact], wanted[~exact].astype(np.longdouble)).max() <= 1


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("opcode", ["sin", "cos"])
def test_multiples_of_pi_and_huge_numbers(opcode: str, isa: str):
    """Doubles that are as near to a multiple of pi / 2 as they come, from 2^30 to 2^1000 (the first is the nearest of all)."""
    mp = pytest.importorskip("mpmath")
    x = [6381956970095103.0 * 2.0**797, 5.319372648326541e255, 2.0**1000, 1.7976931348623157e308, 2.0**30, 1e22]
    x += [float(mp.nint(mp.mpf(10) ** k / mp.pi) * mp.pi) for k in range(9, 40)]
    given = np.array([*x, *(-v for v in x)])
    with mp.workdps(400):
        function = mp.sin if opcode == "sin" else mp.cos
        wanted = [function(mp.mpf(v)) for v in given]
        wanted = np.array([np.longdouble(float(v)) + np.longdouble(float(v - mp.mpf(float(v)))) for v in wanted])
    errors = vm.ulps(vm.compiled(opcode, "double", 8, isa)(given), wanted)
    assert errors.max() <= 3, given[np.argmax(errors)]


@pytest.mark.parametrize("isa", RUNNABLE)
@each_type
def test_the_gamma_function_next_to_its_zeros(type: str, isa: str):
    """Zeros below -2 come in pairs about the negative integers; numbers next to them and to integers, and poles."""
    mp, dtype = pytest.importorskip("mpmath"), vm.TYPES[type]
    unit = np.finfo(dtype).eps
    with mp.workdps(60):
        half, end = mp.mpf(1) / 2, mp.mpf(10) ** -18
        brackets = [(-n - half, -n - side) for n in range(2, 16) for side in (end, 1 - end)]
        zeros = [mp.findroot(lambda t: mp.log(abs(mp.gamma(t))), b, solver="illinois", tol=1e-40) for b in brackets]
        near = [float(z) * (1 + k * unit) for z in zeros for k in (*range(-3, 4), 1000, -(10**6))]
        whole = np.arange(1, 40, dtype=dtype)
        beside = [np.nextafter(-whole, dtype(side)) for side in (0, -np.inf)]
        given = np.concatenate([np.array(near, dtype), *beside])
        given = given[given != np.rint(given)]
        wanted = [mp.log(abs(mp.gamma(mp.mpf(float(v))))) for v in given]
        wanted = np.array([np.longdouble(float(v)) + np.longdouble(float(v - mp.mpf(float(v)))) for v in wanted])
    apply = vm.compiled("lgamma", type, TARGETS[isa].lanes(given.itemsize), isa)
    errors = vm.ulps(apply(given), wanted)
    assert errors.max() <= BOUNDS["lgamma"][TYPES[type]], given[np.argmax(errors)]
    assert np.all(apply(-whole) == np.inf)


def test_ulps_tell_wrong_from_right():
    exact = np.array([1.0, 1.0, 0.0, np.inf, np.nan, 0.0, 1e-320])
    found = np.array([np.nextafter(1, 0), 1 + 2**-51, -0.0, 1e308, 1.0, 0.0, 1e-320 + 5e-324]).astype(np.float64)
    assert vm.ulps(found, exact.astype(np.longdouble)).tolist() == [0.5, 2.0, np.inf, np.inf, np.inf, 0.0, 1.0]


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", list(TARGETS))
@pytest.mark.parametrize("type", list(TYPES))
@each_function
def test_code_of_every_machine_calls_no_library(opcode: str, type: str, isa: str):
    """Assembled for all, run where it can be: NEON and SVE are looked at here only. Rare lanes of fmod are the C library's."""
    target, width = vm.machine(isa, "small"), TARGETS[isa].lanes(np.dtype(vm.TYPES[type]).itemsize)
    module = llvm.parse_assembly(vm.text(opcode, type, width, isa))
    assembly, built = target.emit_assembly(module), target.emit_object(module)
    assert built.startswith(b"\x7fELF")
    called = re.findall(r"^\s(?:bl|b|call\w*|jmp)\s+\"?([A-Za-z_][\w.]*)", assembly, re.MULTILINE)
    rare = {("fmod", "double"): {"fmod"}, ("fmod", "float"): {"fmodf"}, ("lgamma", "double"): {"lgamma"}}.get(
        (opcode, type), set[str]()
    )
    assert {name for name in called if not name.startswith("mind.")} == rare
    element = "sd"[type == "double"]
    neon, sse = f"v0.{width}{element}", "%xmm"
    registers = {"sve256": f"z0.{element}", "baseline": sse} | dict.fromkeys(("neon", "neondot"), neon)
    registers |= {name: "%zmm" if TARGETS[name].has_avx512 else "%ymm" for name in TARGETS if name.startswith("avx")}
    assert registers[isa] in assembly
    fused = re.search(r"\bf(mla|mad|nmls|nmsb|mls|msb)\b", assembly)
    assert fused or TARGETS[isa].triple.startswith("x86")


SLOW = {"TANH_F32", "ERF_F32", "ERF_F64", "LOG_FACTORS_F64", "LOG_TERMS_F64"}
"""What takes seconds to derive: compared when the file is made anew."""


def test_coefficients_are_what_their_derivation_says():
    minimax = pytest.importorskip("minimax")
    names = [name for name in vars(coefficients) if name.isupper()]
    assert names == list(minimax.NUMBERS)
    for name in names:
        if name not in SLOW:
            value = minimax.NUMBERS[name]()
            nested = isinstance(value, list) and isinstance(value[0], list)
            wanted = tuple(map(tuple, value)) if nested else tuple(value) if isinstance(value, list) else value
            assert getattr(coefficients, name) == wanted, name


def test_terms_of_the_logarithm_belong_to_their_factors():
    mp = pytest.importorskip("mpmath")
    long, short = coefficients.LN2_SHORT_F64
    with mp.workdps(40):
        assert abs(mp.log(2) - long - short) < mp.mpf(2) ** -95
        for factor, term in zip(coefficients.LOG_FACTORS_F64, coefficients.LOG_TERMS_F64, strict=True):
            assert abs(mp.log(factor) + term) < mp.mpf(2) ** -66
            assert (term * 2**42).is_integer()
