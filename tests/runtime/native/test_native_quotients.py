"""Quotients by a divisor that many lanes share have the bits of a division, whatever the operands are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from machines import RUNNABLE
from mind_dialect import ptir
from mind_lowering.native import TARGETS
from mind_lowering.native import host as host_module
from mind_lowering.native.program import lower, prepared
from mind_lowering.native.vmath.quotients import CORRECTED, DIVISORS
from ptir_evaluator import function_of
from ptir_forms import like, program, reduce, spread

TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16}
CONSTANTS = (3.0, 0.7, 1e-4, 1e6, DIVISORS[0], DIVISORS[1], DIVISORS[1] * 1.5, -3.0, 1e-12, 1e12)
"""Divisors that are corrected, and those outside of the bounds."""


def operands(dtype: str) -> np.ndarray:
    """Vectors of ordinary numbers, of zeros of both signs, of every exponent, and ordinary ones with one special number each."""
    kind, rng = TYPES[dtype], np.random.default_rng(5)
    info = np.finfo(kind)
    ordinary = rng.standard_normal(1000)
    with np.errstate(over="ignore", under="ignore"):
        exponents = np.ldexp(
            rng.uniform(1, 2, 4 * (info.maxexp - info.minexp + info.nmant)), rng.integers(info.minexp - info.nmant, info.maxexp)
        )
        every = np.ldexp(rng.uniform(-2, 2, 4000), rng.integers(info.minexp - info.nmant, info.maxexp, 4000))
    special = [np.nan, np.inf, -np.inf, info.tiny, info.smallest_subnormal, -info.smallest_subnormal, info.max, 0.0, -0.0]
    mixed = np.concatenate([np.append(ordinary[32 * i : 32 * i + 31], x) for i, x in enumerate(special)])
    zeros = np.where(rng.random(200) < 0.5, 0.0, -0.0)
    with np.errstate(over="ignore", under="ignore"):
        return np.concatenate(
            [ordinary, zeros, np.where(rng.random(320) < 0.5, ordinary[:320], 0), exponents, every, mixed]
        ).astype(kind)


def check(module: Any, *arrays: np.ndarray) -> None:
    """Compare bits, but those of NaN."""
    native, reference = (mind_runtime.compile(module, target=t) for t in ("native", "numpy"))
    found, wanted = native(*arrays), reference(*arrays)
    np.testing.assert_array_equal(found, wanted, strict=True)
    np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(wanted[wanted == 0]))


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("divisor", CONSTANTS)
@pytest.mark.parametrize("dtype", list(TYPES))
def test_quotients_by_a_constant(dtype: str, divisor: float, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(host_module.ISA_VARIABLE, isa)
    x = operands(dtype)
    if abs(divisor) > (most := float(np.finfo(x.dtype).max)):
        divisor = most
    check(program(f"{dtype}[{x.size}]", lambda x: ptir.DivOp(x, like(x, divisor))), x)


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_quotients_by_a_number_of_the_row(dtype: str, axis: int, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The divisor is the greatest number of a row: also 0, negative, tiny, infinite and NaN."""
    monkeypatch.setenv(host_module.ISA_VARIABLE, isa)
    kind, rng = TYPES[dtype], np.random.default_rng(6)
    info = np.finfo(kind)
    tops = [1.5, 3.0, -2.0, 0.0, -0.0, info.tiny, info.smallest_subnormal, info.max, np.inf, np.nan, 1e-12, 1e12, 0.3, 2.0**24]
    x = np.sort(operands(dtype))[: len(tops) * 256 : len(tops)][:256]
    rows = np.stack([np.where(rng.random(256) < 0.7, -np.abs(rng.standard_normal(256).astype(kind)) * kind(8), x) for _ in tops])
    rows = np.minimum(rows, np.array(tops, kind)[:, None])
    rows[:, 17] = tops
    rows = rows if axis else np.ascontiguousarray(rows.T)
    extents = ",".join(map(str, rows.shape))

    def body(x: Any) -> Any:
        return ptir.DivOp(x, spread(reduce(x, "max", axis), x))

    check(program(f"{dtype}[{extents}]", body), rows)


def divisions(body: Any, types: str = "f32[5000]", isa: str = "avx512") -> int:
    """The divisions of vectors whose numerator is no constant."""
    text = lower(prepared(function_of(program(types, body)), TARGETS[isa]), TARGETS[isa]).text
    return text.count("fdiv <16 x float> %")


def corrections(body: Any, types: str = "f32[5000]", isa: str = "avx512") -> int:
    text = lower(prepared(function_of(program(types, body)), TARGETS[isa]), TARGETS[isa]).text
    return text.count("fdiv <16 x float> splat")


def test_what_is_corrected_and_what_is_divided() -> None:
    assert corrections(lambda x: ptir.DivOp(x, like(x, 3.0)))
    for divisor in (-3.0, 1e-12, 1e12):
        assert not corrections(lambda x, d=divisor: ptir.DivOp(x, like(x, d))), divisor
    assert not corrections(lambda x, y: ptir.DivOp(x, y), "f32[5000] f32[5000]"), "each lane has its divisor"
    assert not corrections(lambda x: ptir.DivOp(x, spread(reduce(x, "sum"), x)), "f32[500,32]"), "two vectors for each row"
    assert corrections(lambda x: ptir.DivOp(x, spread(reduce(x, "sum"), x)), "f32[500,48]")


def test_a_kernel_with_many_quotients_divides() -> None:
    def body(x: Any) -> Any:
        for i in range(4 * CORRECTED):
            x = ptir.AddOp(ptir.DivOp(x, like(x, 3.0 + i)), like(x, 1.0))
        return x

    assert 0 < corrections(body) <= CORRECTED < divisions(body)
