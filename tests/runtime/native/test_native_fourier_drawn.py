"""Fourier transforms in random programs: layouts of operands, uses of results, loops and threads, compared with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from native_checks import several
from native_control_programs import scan
from native_guarded import guarded
from native_poisoned import poisoned_call
from native_same import types, way
from ptir_forms import program, shape

__all__ = ["way"]
Shape = Sequence[int]
Rewrite = Callable[[Any], Any]
INVERSE = {"fft": "ifft", "ifft": "fft", "rfft": "irfft", "irfft": "rfft"}
SHORT = [1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 20, 29, 31, 32, 34, 37, 45, 48, 53, 62, 64, 93, 97, 101, 128, 143, 210, 323]
LONG = [14763, 16416, 19000, 20250, 20387, 31 * 29 * 36, 32768, 12 * 997]
BATCHES: list[tuple[int, ...]] = [(), (1,), (2,), (3,), (17,), (37,), (3, 7), (40, 1), (2, 3, 2), (0,)]


def _transposed(draw: Random, wanted: Shape) -> tuple[Shape, Rewrite]:
    perm = draw.sample(range(len(wanted)), len(wanted))
    return [wanted[perm.index(i)] for i in range(len(perm))], lambda x: ptir.TransposeOp(x, perm=perm)


def _sliced(draw: Random, wanted: Shape) -> tuple[Shape, Rewrite]:
    starts = [draw.randrange(3) for _ in wanted]
    source = [first + n + draw.randrange(3) for first, n in zip(starts, wanted, strict=True)]
    return source, lambda x: ptir.SliceOp(x, starts=starts, sizes=list(wanted))


def _strided(draw: Random, wanted: Shape) -> tuple[Shape, Rewrite]:
    strides = [draw.choice([1, 2, 3]) for _ in wanted]
    limits = [n * stride for n, stride in zip(wanted, strides, strict=True)]
    return limits, lambda x: ptir.StridedSliceOp(x, starts=[0] * len(wanted), limits=limits, strides=strides)


def _reversed(draw: Random, wanted: Shape) -> tuple[Shape, Rewrite]:
    axes = [i for i in range(len(wanted)) if draw.random() < 0.5]
    return wanted, lambda x: ptir.ReverseOp(x, axes=axes)


def _broadcast(draw: Random, wanted: Shape) -> tuple[Shape, Rewrite]:
    source = [draw.choice([1, n]) for n in wanted]
    return source, lambda x: ptir.BroadcastToOp(x, result_shape=list(wanted))


LAYOUTS: Mapping[str, Callable[[Random, Shape], tuple[Shape, Rewrite]]] = {
    "dense": lambda draw, wanted: (wanted, lambda x: x),
    "computed": lambda draw, wanted: (wanted, lambda x: ptir.AddOp(x, x)),
    "transposed": _transposed,
    "sliced": _sliced,
    "strided": _strided,
    "reversed": _reversed,
    "broadcast": _broadcast,
}
"""By name: the shape of an argument whose view has a wanted shape, and the ops that make the view."""


def _concat(transform: Rewrite, inverse: Rewrite, x: Any) -> Any:
    """A result behind a part that begins it at an odd place."""
    found = transform(x)
    sizes = [*shape(found)[:-1], 1]
    first = ptir.SliceOp(found, starts=[0] * len(sizes), sizes=sizes)
    return ptir.ConcatOp(ptir.NegOp(first), found, transform(ptir.AddOp(x, x)), axis=len(sizes) - 1)


USES: Mapping[str, Callable[[Rewrite, Rewrite, Any], Any]] = {
    "returned": lambda transform, inverse, x: transform(x),
    "squared": lambda transform, inverse, x: ptir.MulOp(*[transform(x)] * 2),
    "twice": lambda transform, inverse, x: [transform(x), transform(ptir.AddOp(x, x))],
    "joined": _concat,
    "there and back": lambda transform, inverse, x: inverse(transform(x)),
    "in each iteration": lambda transform, inverse, x: scan(lambda row: [transform(row)], x, carries=0, stacks=1),
    "carried": lambda transform, inverse, x: scan(
        lambda carry, _: [ptir.AddOp(carry, inverse(transform(carry)))], x, ptir.IotaOp(shape=(3,), dtype="f32", axis=0)
    ),
}
"""By name: what a program makes of a transform, its inverse and a view."""


def _lengths(draw: Random) -> tuple[list[int], tuple[int, ...]]:
    """Return lengths of axes and a batch; one case in eight has a long line."""
    if draw.random() < 0.12:
        lengths = [draw.choice(LONG), *draw.choice([[], [], [1], [3], [8]])]
        return draw.sample(lengths, len(lengths)), draw.choice([(), (1,), (2,), (2, 1)])
    rank = draw.choice([1, 1, 1, 2, 2, 3])
    lengths = [draw.choice(SHORT if rank < 3 else SHORT[:18]) for _ in range(rank)]
    batch = draw.choice(BATCHES)
    return lengths, batch if np.prod(lengths) * np.prod(batch) < 1e5 else ()


def _array(rng: np.random.Generator, kind: str, extents: Shape, bits: int) -> Any:
    """Return numbers that end where memory ends."""
    of = np.dtype(f"f{bits // 8}" if kind == "rfft" else f"c{bits // 4}")
    x = guarded(tuple(extents), of, at_end=True) if 0 not in extents else np.empty(extents, of)
    x[...] = rng.standard_normal(extents) if kind == "rfft" else rng.standard_normal((*extents, 2)) @ [1, 1j]
    return x


def _compare(seed: int) -> None:
    draw, rng = Random(seed), np.random.default_rng(seed)
    kind, bits, (lengths, batch) = draw.choice(list(INVERSE)), draw.choice([32, 64]), _lengths(draw)
    layout, use = draw.choice(list(LAYOUTS)), draw.choice(list(USES))
    last = lengths[-1] // 2 + 1 if kind == "irfft" else lengths[-1]
    source, view = LAYOUTS[layout](draw, (*batch, *lengths[:-1], last))

    def transform(x: Any) -> Any:
        return ptir.FftOp(view(x) if use == "in each iteration" else x, kind=kind, lengths=lengths)

    def inverse(x: Any) -> Any:
        return ptir.FftOp(x, kind=INVERSE[kind], lengths=lengths)

    def body(x: Any) -> Any:
        return USES[use](transform, inverse, x if use == "in each iteration" else view(x))

    x = _array(rng, kind, [3, *source] if use == "in each iteration" else source, bits)
    module = program(types(x), body)
    numpy = mind_runtime.compile(module)
    wanted, kept, donated = several(numpy(x)), x.copy(), draw.choice([[], [numpy.inputs[0].name]])
    native = mind_runtime.compile(module, target="native", threads=draw.choice([1, 2]), donate=donated)
    assert max(lengths) > max(SHORT) or "0 ops on NumPy" in native.explain()[0]
    for found, expected in zip(poisoned_call(native, [x]), wanted, strict=True):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        scale = np.abs(expected).max(initial=0)
        atol = 16 * 2.0 ** (-23 if bits == 32 else -52) * np.log2(4 + expected.size) * scale
        np.testing.assert_allclose(found, expected, rtol=0, atol=atol, err_msg=f"{kind} {bits} {lengths} {batch} {layout} {use}")
    if not donated:
        np.testing.assert_array_equal(x, kept)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed: int) -> None:
    """Arguments end where memory ends, and the arena holds NaN before a call."""
    _compare(seed)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("seed", range(1, 21))
def test_more_random_programs(seed: int) -> None:
    for number in range(10):
        _compare(100 * seed + number)
