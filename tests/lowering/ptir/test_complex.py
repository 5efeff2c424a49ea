"""Complex numbers and their parts, special values included, against Python's own complex numbers."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_dialect.ptir.types import DTYPES, PtirDType
from ptir_oracle import array, assert_elements, assert_near, elements, ids, legal, run, run_everywhere, samples

PARTS = [0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan, 2.0**-140]


def every(dtype: str) -> np.ndarray:
    """Numbers of all combinations of parts."""
    real, imaginary = (x.reshape(-1) for x in np.meshgrid(PARTS, PARTS))
    found = np.empty(real.shape, "complex64" if dtype == "cf32" else "complex128")
    found.real, found.imag = real, imaginary
    return found


@pytest.mark.parametrize(("op", "dtype"), legal("complex"), ids=ids)
def test_parts(op: str, dtype: PtirDType):
    if op == "complex":
        x, y = (v.reshape(-1) for v in np.meshgrid(samples(dtype, 20), samples(dtype, 20)))
        found = run_everywhere(op, np.ascontiguousarray(x), np.ascontiguousarray(y))
        assert_elements(found, [complex(a, b) for a, b in zip(elements(x), elements(y), strict=True)])
        return
    z = every(dtype.name)
    meaning = {"real": lambda v: v.real, "imag": lambda v: v.imag, "conj": lambda v: complex(v.real, -v.imag)}[op]
    assert_elements(run_everywhere(op, z), [meaning(v) for v in elements(z)])


@pytest.mark.parametrize("dtype", ["cf32", "cf64"])
def test_magnitude(dtype: str):
    """An infinite part makes it infinite, whatever the other; nothing overflows on the way."""
    z = every(dtype)
    expected = [math.hypot(v.real, v.imag) for v in elements(z)]
    assert_near(run_everywhere("abs", z), expected, ulps=2)
    large = array([3e30 + 4e30j, 3e-30 - 4e-30j], dtype)
    assert_near(run("abs", large), [math.hypot(v.real, v.imag) for v in elements(large)], ulps=2)


@pytest.mark.parametrize(("op", "dtype"), [("real", "f32"), ("imag", "si32"), ("conj", "f64"), ("complex", "bf16")])
def test_real_numbers_have_no_parts(op: str, dtype: str):
    x = array([1, 2], dtype)
    with pytest.raises(MindError) as caught:
        run(op, *([x, x] if op == "complex" else [x]))
    assert (caught.value.code, caught.value.category) == ("E2005", "DTypeNotSupported")


def test_the_parts_of_a_cast():
    z = run("cast", array([1.5, -0.0], "f32"), dtype=DTYPES["cf64"])
    assert_elements(run("real", z), [1.5, -0.0])
    assert_elements(run("imag", z), [0.0, 0.0])


@pytest.mark.parametrize("dtype", ["cf32", "cf64"])
def test_directions(dtype: str):
    """Of length 1 however large or small the number is; zeros and NaN stay, and what is infinite has none."""
    z = array([3 + 4j, -3e-30 + 4e-30j, 3e30 - 4e30j, -2.0, 2j, 1.5e-44j, 3e38 + 3e38j], dtype)
    expected = [v / abs(v) for v in map(complex, elements(z.astype("c16") / np.abs(z.astype("c16")).max()))]
    assert_near(run_everywhere("sign", z), expected, ulps=3)
    assert_elements(run_everywhere("sign", array([0j, complex(-0.0, -0.0)], dtype)), [0j, complex(-0.0, -0.0)])
    for part in (math.inf, -math.inf, math.nan):
        for special in (complex(part, 1), complex(1, part), complex(part, part)):
            found = elements(run_everywhere("sign", array([special], dtype)))[0]
            assert found != found, (special, found)


@pytest.mark.parametrize("dtype", ["cf32", "cf64"])
@pytest.mark.parametrize(("op", "series"), [("expm1", lambda z: z + z * z / 2), ("log1p", lambda z: z - z * z / 2)])
def test_complex_functions_near_zero_keep_their_digits(op: str, series, dtype: str):
    """Of each part: the sum of squares in a magnitude near 1 would lose the real one."""
    z = array([1e-12 + 2e-12j, -3e-13 - 1e-12j, 1e-9j, 2e-14, 1e-5 + 1e-13j], dtype)
    found = run(op, z)
    for v, w in zip(elements(found), [series(complex(v)) for v in elements(z)], strict=True):
        for a, b in ((v.real, w.real), (v.imag, w.imag)):
            assert math.isclose(a, b, rel_tol=1e-6 if dtype == "cf32" else 1e-9, abs_tol=1e-30), (v, w)


@pytest.mark.parametrize("dtype", ["cf32", "cf64"])
def test_log1p_far_from_zero_and_at_its_pole(dtype: str):
    z = array([1e30 + 1e30j, -1 + 1e-6j, -1 - 1e-6j, -2 + 0j, -0.5 + 0.25j], dtype)
    expected = [complex(math.log(math.hypot(1 + v.real, v.imag)), math.atan2(v.imag, 1 + v.real)) for v in elements(z)]
    assert_near(run_everywhere("log1p", z), expected, ulps=4)
    assert elements(run("log1p", array([-1 + 0j], dtype)))[0] == complex(-math.inf, 0)


@pytest.mark.parametrize("dtype", ["cf32", "cf64"])
def test_the_complex_logistic_function_does_not_overflow(dtype: str):
    z = array([-1000 + 2j, 1000 - 2j, -30 + 1j, 30 + 1j, 2j, complex(0, math.pi / 2)], dtype)
    found = elements(run_everywhere("logistic", z))
    assert_near(array(found[:2], dtype), [0j, 1 + 0j], ulps=1)
    exact = [1 / (1 + cmath.exp(-complex(v))) for v in elements(z)[2:]]
    assert_near(array(found[2:], dtype), exact, ulps=8)
