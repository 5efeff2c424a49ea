"""`chlo.erfc` against mpmath, where `1 - erf(x)` has no digits left too, and its derivative against its formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_passes.functional import jvp
from mind_runtime import compile
from mind_translate.erfc_coefficients import ERFC_TAIL_F32
from stablehlo_programs import EXECUTORS, program, read, run

POINTS = np.concatenate(
    [np.linspace(-7, 26.5, 1341), [1 - 2**-53, 1 + 2**-52, 8 - 2**-50, 8 + 2**-49], np.geomspace(1e-300, 1, 30)]
)


def erfc(shape: str) -> str:
    return program(f"%x: tensor<{shape}>", f"%r = chlo.erfc %x : tensor<{shape}> -> tensor<{shape}>", f"tensor<{shape}>")


def exact(x: Any) -> np.ndarray:
    mp = pytest.importorskip("mpmath")
    with mp.workdps(40):
        return np.array([float(mp.erfc(mp.mpf(float(v)))) for v in x])


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(("dtype", "ulps"), [("f64", 8), ("f32", 8), ("f16", 0.51)])
def test_values(dtype: str, ulps: float, executor: str) -> None:
    x = POINTS.astype({"f64": np.float64, "f32": np.float32, "f16": np.float16}[dtype])
    found, wanted = run(erfc(f"{len(x)}x{dtype}"), x, executor=executor), exact(x)
    normal = wanted > np.finfo(x.dtype).tiny
    assert normal.sum() > len(x) / 4
    units = np.spacing(wanted[normal].astype(x.dtype)).astype(float)
    assert (np.abs(found[normal].astype(float) - wanted[normal]) / units).max() <= ulps
    assert (np.abs(found[~normal].astype(float) - wanted[~normal]) <= np.finfo(x.dtype).tiny).all()


@pytest.mark.parametrize("executor", EXECUTORS)
def test_special_values(executor: str) -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, -1e300, 40.0, 30.0])
    np.testing.assert_array_equal(run(erfc("9xf64"), x, executor=executor), [1, 1, 0, 2, np.nan, 0, 2, 0, 0])


def test_special_values_of_f32() -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 3e38, -3e38, 10.2, -10.2], "f4")
    np.testing.assert_array_equal(run(erfc("9xf32"), x), [1, 1, 0, 2, np.nan, 0, 2, 0, 2])


def test_derivative_of_f32() -> None:
    x = np.linspace(-5, 12, 2001, dtype="f4")
    _, slope = compile(jvp(read(erfc("2001xf32")), "main"), "main_jvp")(x, np.ones(2001, "f4"))
    wanted = -2 / np.sqrt(np.pi) * np.exp(-(x.astype(float) ** 2))
    np.testing.assert_allclose(slope, wanted, rtol=1e-5, atol=1e-37)


def test_the_polynomial_of_f32_is_derived() -> None:
    minimax = pytest.importorskip("minimax", exc_type=ImportError)
    mp = minimax.mp

    def tail(u: Any) -> Any:
        x = 2 * (1 + u) / (1 - u)
        return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)

    ends = [float((mp.mpf(x) - 2) / (mp.mpf(x) + 2)) for x in (0.5, 10.1)]
    found, error = minimax.fitted(tail, lambda u: 1 / tail(u), *ends, range(9), minimax.F32)
    assert tuple(found) == ERFC_TAIL_F32
    assert error < 1.7e-8


def test_derivative() -> None:
    x = np.linspace(-5, 20, 1001)  # 1 and 8, where pieces meet, among them
    _, slope = compile(jvp(read(erfc("1001xf64")), "main"), "main_jvp")(x, np.ones(1001))
    np.testing.assert_allclose(slope, -2 / np.sqrt(np.pi) * np.exp(-x * x), rtol=1e-12)


def test_integers_are_refused() -> None:
    with pytest.raises(MindError) as caught:
        read(erfc("2xi32"))
    assert caught.value.code == "E8008"
