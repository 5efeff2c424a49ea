"""Fourier transforms as kernels: near those of NumPy in f64, in the bounds of rounded additions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from mind_lowering.native.fourier import SCRATCH, factors_of, passes
from native_same import same, types, way
from ptir_forms import program

__all__ = ["way"]
rng = np.random.default_rng(0)
KINDS = ("fft", "ifft", "rfft", "irfft")
LENGTHS = [4, 8, 16, 32, 64, 128, 256, 512, 2048]


def line(kind: str, *sizes: int, bits: int = 32) -> Any:
    """What a transform of lines of this length takes."""
    *outer, n = sizes
    x = rng.standard_normal((*outer, n // 2 + 1 if kind == "irfft" else n))
    return (x if kind == "rfft" else x + 1j * rng.standard_normal(x.shape)).astype(
        f"f{bits // 8}" if kind == "rfft" else f"c{bits // 4}"
    )


def transform(kind: str, n: int, *lengths: int) -> Callable[[Any], Any]:
    return lambda x: ptir.FftOp(x, kind=kind, lengths=[*lengths, n])


def compiled(body: Callable[[Any], Any], x: Any, *, kernels: bool = True) -> Any:
    found = mind_runtime.compile(program(types(x), body), target="native")
    assert ("0 ops on NumPy" in found.explain()[0]) == kernels
    return found


def near(found: Any, wanted: Any, bits: int) -> None:
    """Each pass adds numbers of a size that grows as the root of the length, and rounds."""
    eps = 2.0 ** (-23 if bits == 32 else -52)
    scale = np.sqrt(np.mean(np.abs(wanted) ** 2))
    assert found.dtype == np.result_type(f"f{bits // 8}" if wanted.dtype.kind == "f" else f"c{bits // 4}")
    assert np.all(np.abs(found - wanted) <= 8 * eps * np.log2(4 * wanted.size) * scale)


def doubled(x: Any) -> Any:
    return x.astype("c16" if x.dtype.kind == "c" else "f8")


@pytest.mark.exhaustive
@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", LENGTHS)
def test_lengths(n: int, kind: str, bits: int) -> None:
    if n < 8 and "r" in kind:
        n = 8
    x = line(kind, 3, n, bits=bits)
    found = compiled(transform(kind, n), x)(x)
    near(found, getattr(np.fft, kind)(doubled(x), n), bits)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", KINDS)
def test_layouts(kind: str) -> None:
    """Lines across memory, parts of lines, repeated lines, one line, and batches of batches."""
    x = line(kind, 2, 3, 64)
    n, wanted = 64, getattr(np.fft, kind)
    near(compiled(transform(kind, n), x[0, 0])(x[0, 0]), wanted(doubled(x[0, 0]), n), 32)
    near(compiled(transform(kind, n), x)(x), wanted(doubled(x), n), 32)
    turned = np.ascontiguousarray(x.transpose(2, 1, 0))

    def across(x: Any) -> Any:
        return ptir.FftOp(ptir.TransposeOp(x, perm=[2, 1, 0]), kind=kind, lengths=[n])

    near(compiled(across, turned)(turned), wanted(doubled(x), n), 32)
    longer = np.concatenate([x[..., :3], x, x[..., :2]], axis=-1)

    def inner(x: Any) -> Any:
        count = n // 2 + 1 if kind == "irfft" else n
        return ptir.FftOp(ptir.SliceOp(x, starts=[1, 0, 3], sizes=[1, 3, count]), kind=kind, lengths=[n])

    near(compiled(inner, longer)(longer), wanted(doubled(x[1:]), n), 32)
    row = x[0, 0]

    def repeated(x: Any) -> Any:
        return ptir.FftOp(ptir.BroadcastToOp(x, result_shape=[5, len(row)]), kind=kind, lengths=[n])

    near(compiled(repeated, row)(row), np.broadcast_to(wanted(doubled(row), n), (5, *wanted(row, n).shape)), 32)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("lengths", [(4, 8), (64, 32), (128, 8), (4, 16, 8), (8, 4, 4, 64)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_several_axes(kind: str, lengths: tuple[int, ...]) -> None:
    """Also of a transposed operand, which is not written to."""
    x = line(kind, 2, *lengths)
    wanted = getattr(np.fft, f"{kind}n")(doubled(x), lengths, tuple(range(-len(lengths), 0)))
    near(compiled(transform(kind, lengths[-1], *lengths[:-1]), x)(x), wanted, 32)
    turned = np.ascontiguousarray(x.T)
    perm = list(range(x.ndim))[::-1]

    def across(x: Any) -> Any:
        return ptir.FftOp(ptir.TransposeOp(x, perm=perm), kind=kind, lengths=list(lengths))

    kept = turned.copy()
    near(compiled(across, turned)(turned), wanted, 32)
    np.testing.assert_array_equal(kept, turned)


@pytest.mark.usefixtures("way")
def test_the_ends_of_an_inverse_are_real() -> None:
    """As NumPy, it takes no notice of the imaginary parts of the first and the last number, whatever they are."""
    x = line("irfft", 4, 32)
    spoilt = x.copy()
    spoilt[:, 0] += 5j
    spoilt[:, -1] += complex(0, np.nan)
    found = compiled(transform("irfft", 32), x)
    np.testing.assert_array_equal(found(x), found(spoilt))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", KINDS)
def test_a_line_with_nan_spoils_no_other(kind: str) -> None:
    x = line(kind, 5, 64)
    run = compiled(transform(kind, 64), x)
    wanted = run(x)
    x[2, 7] = np.nan
    found = run(x)
    assert np.isnan(found[2]).all()
    np.testing.assert_array_equal(np.delete(found, 2, 0), np.delete(wanted, 2, 0))


@pytest.mark.usefixtures("way")
def test_there_and_back() -> None:
    x = rng.standard_normal((6, 1024)).astype(np.float32)

    def body(x: Any) -> Any:
        return ptir.FftOp(ptir.FftOp(x, kind="rfft", lengths=[1024]), kind="irfft", lengths=[1024])

    np.testing.assert_allclose(compiled(body, x)(x), x, atol=2e-6)


@pytest.mark.parametrize(
    ("kind", "lengths", "reason"),
    [
        ("fft", (6,), "no power of two"),
        ("fft", (2,), "less than 4"),
        ("rfft", (4,), "less than 4"),
        ("fft", (6, 16), "no power of two"),
        ("rfft", (2, 16), "less than 4"),
        ("fft", (SCRATCH // 16,), "too long for the stack"),
    ],
)
def test_what_is_left_to_numpy_and_why(kind: str, lengths: tuple[int, ...], reason: str) -> None:
    x = line(kind, *lengths)
    body = transform(kind, lengths[-1], *lengths[:-1])
    assert any(reason in text for text in compiled(body, x, kernels=False).explain())
    same(body, x, native_only=False)


@pytest.mark.parametrize("kind", KINDS)
def test_lines_without_numbers(kind: str) -> None:
    same(transform(kind, 8), line(kind, 0, 8))


def test_results_do_not_depend_on_threads() -> None:
    x = line("fft", 64, 256)
    module = program(types(x), transform("fft", 256))
    alone, shared = (mind_runtime.compile(module, target="native", threads=n) for n in (1, 2))
    for _ in range(5):
        np.testing.assert_array_equal(alone(x), shared(x))


@pytest.mark.parametrize("length", [4, 8, 32, 64])
@pytest.mark.parametrize("width", [1, 4, 16])
def test_factors_are_roots_of_unity(length: int, width: int) -> None:
    width = min(width, length // 4)
    found = factors_of("fft", length, width)
    count = sum(6 * (length // done // 4) * (1 if done >= width else done) for radix, done in passes(length) if radix == 4)
    assert len(found) == count
    np.testing.assert_allclose(found[: length // 4] ** 2 + found[length // 4 : length // 2] ** 2, 1)
