"""Fourier transforms as kernels: near those of NumPy in f64, in the bounds of rounded additions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_array as ma
import mind_runtime
from mind_dialect import ptir
from native_same import same, types, way
from ptir_forms import program

__all__ = ["way"]
rng = np.random.default_rng(0)
KINDS = ("fft", "ifft", "rfft", "irfft")
LENGTHS = [17, 38, 97, 251, 1, 2, 4, 8, 16, 32, 64, 256, 2048, 3, 5, 7, 11, 13, 39, 77, 210, 243, 400, 1000, 1155]
"""Large prime factors, powers of two, and products of others: passes over vectors, over parts of one, and over both."""


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
    x = line(kind, 3, n, bits=bits)
    found = compiled(transform(kind, n), x)(x)
    near(found, getattr(np.fft, kind)(doubled(x), n), bits)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [9, 60, 105, 1000, 19, 74])
def test_lengths_of_several_factors(n: int, kind: str) -> None:
    """A selection of `test_lengths` for each run."""
    test_lengths(n, kind, 32)
    test_lengths(n, kind, 64)


@pytest.mark.parametrize("n", [*range(1, 40), 45, 50, 55, 70, 90, 91])
def test_against_sums_of_their_terms(n: int) -> None:
    """Of each kind the sum over terms, with angles of less than a full turn, in f64."""
    places = np.arange(n)
    matrix = np.exp(-2j * np.pi * (np.outer(places, places) % n) / n)
    x, real = line("fft", 2, n, bits=64), line("rfft", 2, n, bits=64)
    near(compiled(transform("fft", n), x)(x), x @ matrix, 64)
    near(compiled(transform("ifft", n), x)(x), x @ matrix.conj() / n, 64)
    half = (real @ matrix)[:, : n // 2 + 1]
    near(compiled(transform("rfft", n), real)(real), half, 64)
    near(compiled(transform("irfft", n), half)(half), real, 64)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("n", [64, 45, 50])
@pytest.mark.parametrize("kind", KINDS)
def test_layouts(kind: str, n: int) -> None:
    """Lines across memory, parts of lines, repeated lines, one line, and batches of batches."""
    x, wanted = line(kind, 2, 3, n), getattr(np.fft, kind)
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


SEVERAL = [(4, 8), (64, 32), (128, 8), (4, 16, 8), (8, 4, 4, 64), (9, 15), (5, 3, 7), (30, 39), (17, 6), (37, 41)]


@pytest.mark.exhaustive
@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("lengths", SEVERAL, ids=str)
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
@pytest.mark.parametrize("n", [32, 30, 27, 2, 1])
def test_the_ends_of_an_inverse_are_real(n: int) -> None:
    """As NumPy, it ignores the imaginary part of the first number, and for an even length that of the last one."""
    x = line("irfft", 4, n)
    spoilt = x.copy()
    spoilt[:, 0] += complex(0, np.nan)
    if n % 2 == 0:
        spoilt[:, -1] += complex(0, np.nan)
    found = compiled(transform("irfft", n), x)
    np.testing.assert_array_equal(found(x), found(spoilt))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("n", [64, 60, 63, 46])
@pytest.mark.parametrize("kind", KINDS)
def test_a_line_with_nan_spoils_no_other(kind: str, n: int) -> None:
    x = line(kind, 5, n)
    run = compiled(transform(kind, n), x)
    wanted = run(x)
    x[2, 7] = np.nan
    found = run(x)
    assert np.isnan(found[2]).all()
    np.testing.assert_array_equal(np.delete(found, 2, 0), np.delete(wanted, 2, 0))


@pytest.mark.parametrize("lines", [1, 40])
@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("kind", KINDS)
def test_no_number_is_finite_that_is_not_in_numpy(kind: str, number: float, lines: int) -> None:
    """For each place of an infinity or NaN in a line."""
    for n in (1, 3, 6, 12, 16, 37):
        x = line(kind, lines, n)
        run = compiled(transform(kind, n), x)
        for place in range(x.shape[-1]):
            spoilt = x.copy()
            spoilt[0, place] = number
            with np.errstate(all="ignore"):
                wanted = getattr(np.fft, kind)(spoilt, n)
            assert not np.any(np.isfinite(run(spoilt)) & ~np.isfinite(wanted))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("n", [1024, 1000, 675])
def test_there_and_back(n: int) -> None:
    x = rng.standard_normal((6, n)).astype(np.float32)

    def body(x: Any) -> Any:
        return ptir.FftOp(ptir.FftOp(x, kind="rfft", lengths=[n]), kind="irfft", lengths=[n])

    np.testing.assert_allclose(compiled(body, x)(x), x, atol=2e-6)


SHORT = [1, 2, 3, 7, 8, 12, 17, 25, 31, 37, 48, 63, 94, 100, 105]


@pytest.mark.exhaustive
@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", SHORT)
def test_many_short_lines(n: int, kind: str, bits: int) -> None:
    """As many at a time as lanes, and a few that fill no vector."""
    x = line(kind, 5, 7, n, bits=bits)
    near(compiled(transform(kind, n), x)(x), getattr(np.fft, kind)(doubled(x), n), bits)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", KINDS)
def test_some_short_lines(kind: str) -> None:
    """A selection of `test_many_short_lines` for each run, one line with NaN, and lines that are parts of others."""
    for n, bits in ((9, 32), (20, 64), (31, 32), (37, 64)):
        test_many_short_lines(n, kind, bits)
    n = 18
    x = line(kind, 37, n)
    run = compiled(transform(kind, n), x)
    wanted = run(x)
    x[2, 3] = np.nan
    found = run(x)
    assert np.isnan(found[2]).all()
    np.testing.assert_array_equal(np.delete(found, 2, 0), np.delete(wanted, 2, 0))
    longer = line(kind, 37, 2 * n)
    count = n // 2 + 1 if kind == "irfft" else n

    def inner(x: Any) -> Any:
        return ptir.FftOp(ptir.SliceOp(x, starts=[0, 1], sizes=[37, count]), kind=kind, lengths=[n])

    near(compiled(inner, longer)(longer), getattr(np.fft, kind)(doubled(longer[:, 1 : 1 + count]), n), 32)


@pytest.mark.parametrize(
    ("shape", "kernel"),
    [
        ((37, 12), "lines at once"),
        ((3, 12), "fft of [3, 12]"),
        ((37, 17), "lines at once"),
        ((37, 32), "fft of [37, 32]"),
        ((37, 101), "by chirps of 240"),
        ((1 << 16,), "fft of the columns of [256, 256], times roots of unity, transposed"),
    ],
)
def test_kernels_that_are_chosen(shape: tuple[int, ...], kernel: str) -> None:
    x = line("fft", *shape)
    assert any(kernel in text for text in compiled(transform("fft", shape[-1]), x).explain())


LONG = [(20250, 64), (32768, 32), (40000, 64), (45000, 32), (39872, 32), (20400, 64), (20387, 32), (14763, 64)]
"""Lengths and bits of lines that are matrices, also of columns that fill no vector, that have large primes, or of odd lengths."""


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("n", "bits"), LONG)
@pytest.mark.parametrize("kind", KINDS)
def test_long_lines(kind: str, n: int, bits: int) -> None:
    x = line(kind, 2, n, bits=bits)
    found = compiled(transform(kind, n), x, kernels=kind != "irfft" or n % 2 == 0)
    near(found(x), getattr(np.fft, kind)(doubled(x), n), bits)


@pytest.mark.exhaustive
@pytest.mark.parametrize("n", [1 << 16, 50625, 98304, 117649, 10**5, 101022, 49023, 1 << 20, 10**6])
@pytest.mark.parametrize("kind", KINDS)
def test_longer_lines(kind: str, n: int) -> None:
    test_long_lines(kind, n, 32)
    test_long_lines(kind, n, 64)


@pytest.mark.parametrize("kind", KINDS)
def test_layouts_of_long_lines(kind: str) -> None:
    """Lines across memory, parts of lines that begin at an odd place, and repeated lines."""
    n, wanted = 40000, getattr(np.fft, kind)
    x = line(kind, 2, n)
    turned = np.ascontiguousarray(x.T)

    def across(x: Any) -> Any:
        return ptir.FftOp(ptir.TransposeOp(x, perm=[1, 0]), kind=kind, lengths=[n])

    near(compiled(across, turned)(turned), wanted(doubled(x), n), 32)
    longer = np.concatenate([x[..., :3], x, x[..., :2]], axis=-1)

    def inner(x: Any) -> Any:
        return ptir.FftOp(ptir.SliceOp(x, starts=[0, 3], sizes=[2, longer.shape[-1] - 5]), kind=kind, lengths=[n])

    near(compiled(inner, longer)(longer), wanted(doubled(x), n), 32)
    row = x[0]

    def repeated(x: Any) -> Any:
        return ptir.FftOp(ptir.BroadcastToOp(x, result_shape=[2, len(row)]), kind=kind, lengths=[n])

    near(compiled(repeated, row)(row), np.broadcast_to(wanted(doubled(row), n), (2, *wanted(row, n).shape)), 32)


@pytest.mark.exhaustive
@pytest.mark.parametrize("lengths", [(20000, 2), (20000, 8), (3, 40000), (2048, 6), (1500, 40)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_long_axes(kind: str, lengths: tuple[int, ...]) -> None:
    x = line(kind, *lengths)
    wanted = getattr(np.fft, f"{kind}n")(doubled(x), lengths, (0, 1))
    near(compiled(transform(kind, lengths[-1], *lengths[:-1]), x)(x), wanted, 32)


@pytest.mark.parametrize(
    ("kind", "lengths", "copies"),
    [
        ("fft", (1 << 16,), 0),
        ("rfft", (1 << 16,), 1),
        ("rfft", (49023,), 2),
        ("irfft", (1 << 16,), 1),
        ("fft", (64, 64), 0),
        ("irfft", (64, 64), 1.1),
    ],
)
def test_memory_of_transforms(kind: str, lengths: tuple[int, ...], copies: float) -> None:
    """Matrices are transformed in the memory of the result; those of real lines in as much in addition."""
    x = line(kind, *lengths)
    found = mind_runtime.compile(program(types(x), transform(kind, lengths[-1], *lengths[:-1])), target="native")
    arena = int(found.explain()[0].split("arena ")[1].split()[0])
    size = np.prod(lengths) * (4 if "r" in kind else 8)
    assert arena <= copies * size + 64


@pytest.mark.parametrize("n", [45, 64, 74, 40000])
def test_gradients_of_a_filter(n: int) -> None:
    """The transpose of a convolution is one with the conjugate spectrum."""
    x, h = rng.standard_normal(n), np.fft.rfft(rng.standard_normal(n))

    def loss(x: Any, h: Any) -> Any:
        return ma.sum(ma.fft.irfft(ma.fft.rfft(x) * h, n=n) ** 2)

    found = ma.jit(ma.grad(loss), target="native")(x, h)
    wanted = 2 * np.fft.irfft(np.fft.rfft(np.fft.irfft(np.fft.rfft(x) * h, n)) * h.conj(), n)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize(
    ("kind", "lengths", "reason"),
    [
        ("fft", (8209,), "no matrices of shorter ones"),
        ("rfft", (2 * 8209,), "no matrices of shorter ones"),
        ("irfft", (8209,), "no matrices of shorter ones"),
        ("fft", (8209, 2), "no matrices of shorter ones"),
        ("irfft", (3**9 * 5,), "no matrices of shorter ones"),
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


@pytest.mark.parametrize("shape", [(64, 256), (30, 40, 50), (2, 45000), (300, 21)], ids=str)
def test_results_do_not_depend_on_threads(shape: tuple[int, ...]) -> None:
    x = line("fft", *shape)
    module = program(types(x), transform("fft", shape[-1], *shape[1:-1]))
    alone, shared = (mind_runtime.compile(module, target="native", threads=n) for n in (1, 2))
    for _ in range(5):
        np.testing.assert_array_equal(alone(x), shared(x))
