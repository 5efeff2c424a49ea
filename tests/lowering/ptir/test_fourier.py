"""Discrete Fourier transforms against their sums, term by term in double precision."""

from __future__ import annotations

import cmath
import itertools
import math

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_dialect.ptir import FftOp
from mind_dialect.ptir.types import PtirDType
from mind_passes.autodiff import GradientOptions, differentiate
from mind_runtime import compile
from ptir_forms import program
from ptir_oracle import array, ids, legal, run

Complexes = dict[tuple[int, ...], complex]
LENGTHS = [(1,), (2,), (3,), (4,), (7,), (12,), (2, 3), (3, 4), (2, 3, 5), (3, 2, 2)]


def summed(x: Complexes, lengths: tuple[int, ...], sign: int) -> Complexes:
    """sum over n of x[n] exp(sign 2 pi i (n0 k0 / N0 + n1 k1 / N1 + ...)) for each k."""
    every = list(itertools.product(*map(range, lengths)))
    iterations = {(n, k): sum((a * b) % m / m for a, b, m in zip(n, k, lengths, strict=True)) for n in every for k in every}
    return {k: sum(x[n] * cmath.exp(sign * 2j * math.pi * iterations[n, k]) for n in every) for k in every}


def completed(half: Complexes, lengths: tuple[int, ...]) -> Complexes:
    """Of a real tensor along the last axis, the transform whose first half is given along it."""
    last, found = lengths[-1], {}
    for k in itertools.product(*map(range, lengths)):
        *others, n = k
        if n == 0 or 2 * n == last:
            found[k] = complex(half[k].real)
        else:
            found[k] = half[k] if 2 * n < last else half[(*others, last - n)].conjugate()
    return found


def expected(kind: str, x: np.ndarray, lengths: tuple[int, ...]) -> np.ndarray:
    half = (*lengths[:-1], lengths[-1] // 2 + 1)
    given: Complexes = {n: complex(x[n]) for n in np.ndindex(*x.shape)}
    if kind == "irfft":
        *others, last = lengths
        for j in range(half[-1]):  # along the other axes first: only there may a middle be complex
            column = {n: given[(*n, j)] for n in itertools.product(*map(range, others))}
            given |= {(*k, j): v / math.prod(others) for k, v in summed(column, tuple(others), 1).items()}
        found: Complexes = {}
        for n in itertools.product(*map(range, others)):
            row = completed({(j,): given[(*n, j)] for j in range(half[-1])}, (last,))
            found |= {(*n, *k): v / last for k, v in summed(row, (last,), 1).items()}
    else:
        found = summed(given, lengths, 1 if kind == "ifft" else -1)
    shape = half if kind == "rfft" else lengths
    scale = math.prod(lengths) if kind == "ifft" else 1
    values = np.array([found[k] / scale for k in np.ndindex(*shape)]).reshape(shape)
    return values.real if kind == "irfft" else values


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize(("op", "dtype"), legal("transform"), ids=ids)
def test_transforms(op: str, dtype: PtirDType, lengths: tuple[int, ...]):
    kind, rng = op.split()[1], np.random.default_rng(0)
    shape = (2, *lengths[:-1], lengths[-1] // 2 + 1 if kind == "irfft" else lengths[-1])
    parts = rng.standard_normal((2, *shape))
    x = array(parts[0] + 1j * parts[1] if dtype.kind == "complex" else parts[0], dtype)
    found = run(op, x, lengths=lengths)
    wide = np.array([expected(kind, row, lengths) for row in x])
    precision = np.finfo(x.dtype).eps
    assert found.dtype == {"rfft": np.result_type(x.dtype, "c8"), "irfft": x.real.dtype}.get(kind, x.dtype)
    assert found.shape == wide.shape
    assert found.flags.c_contiguous
    assert np.abs(found - wide).max() <= 8 * precision * np.linalg.norm(x.astype("c16")), "of the norm that a transform has"


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("kind", ["fft", "ifft", "rfft", "irfft"])
def test_a_length_that_only_the_run_knows(kind: str, target: str):
    """NumPy would cut what is too long, and fill up what is too short."""
    dtype, last = ("f32" if kind == "rfft" else "cf32"), 3 if kind == "irfft" else 4
    f = compile(program(f"{dtype}[B,N]", lambda x: [FftOp(x, kind=kind, lengths=(4,))]), target=target)
    x = np.arange(2 * last).reshape(2, last).astype("f4" if kind == "rfft" else "c8")
    whole = f(x)
    assert np.abs(whole - np.array([expected(kind, row, (4,)) for row in x])).max() < 1e-5
    assert f(x[:0]).shape == (0, *whole.shape[1:])
    for wrong in (last - 1, last + 1):
        with pytest.raises(MindError) as caught:
            f(np.zeros((2, wrong), x.dtype))
        assert caught.value.code == "E3003"


@pytest.mark.parametrize(
    ("kind", "types"), [("irfft", f"cf32[{2**40 + 1}]"), ("rfft", f"f32[{2**41}]"), ("ifft", f"cf32[{2**41}]")]
)
def test_the_gradient_of_a_long_transform_is_a_short_program(kind: str, types: str):
    """It is built of ops, not of tables as long as the transform."""
    module = program(types, lambda x: [FftOp(x, kind=kind, lengths=(2**41,))])
    made = differentiate(module, "f", GradientOptions(seed="cotangent"))
    assert len(str(made.module)) < 4000


def test_operands_of_any_strides():
    x = np.random.default_rng(1).standard_normal((4, 6)).astype("f4")
    whole = run("fft rfft", x, lengths=(4, 6))
    assert run("fft rfft", np.asfortranarray(x), lengths=(4, 6)).tobytes() == whole.tobytes()
