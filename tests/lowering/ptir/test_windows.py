"""Windows on every dtype: reductions with dilation and padding, patches in their order; against plain loops."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import DTYPES, PtirDType
from mind_lowering.ptir_kernels.table import kernel_call
from ptir_oracle import (
    array,
    assert_elements,
    bounded,
    elements,
    extreme,
    ids,
    is_integer,
    legal,
    op_of,
    perform,
    run,
    samples,
    wrapped,
)

NAMES = ("window_dims", "strides", "padding", "base_dilation", "window_dilation")
WINDOWS: list[tuple[Any, ...]] = [
    ((2, 3), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1)),
    ((2, 2), (2, 3), ((1, 0), (0, 2)), (1, 1), (1, 1)),
    ((2, 2), (1, 1), ((2, 1), (1, 0)), (2, 3), (2, 1)),
    ((3, 1), (1, 2), ((0, 0), (0, 0)), (1, 1), (2, 1)),
    ((1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1)),
    ((1, 1), (2, 2), ((0, 0), (0, 0)), (1, 1), (1, 1)),
    ((9, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1)),
    ((1, 1), (1, 1), ((3, 0), (0, 0)), (1, 1), (1, 1)),
    ((70, 1), (2, 1), ((40, 40), (0, 0)), (1, 1), (1, 1)),
    ((2, 2), (1 << 61, 1), ((0, 0), (0, 0)), (1, 1), (1 << 61, 1)),
]


def block(dtype: PtirDType, shape: tuple[int, ...], *, special: bool = False) -> np.ndarray:
    return np.resize(samples(dtype, math.prod(shape), special=special), shape)


def window_parts(x: np.ndarray, shape: tuple[int, ...], p: dict[str, Any]) -> list[list[Any]]:
    """The elements of x in each window; padding and holes hold none."""
    found: list[list[Any]] = []
    for at in itertools.product(*map(range, shape)):
        part: list[Any] = []
        for k in itertools.product(*map(range, p["window_dims"])):
            where = [
                a * s + j * w - low
                for a, j, s, w, (low, _) in zip(at, k, p["strides"], p["window_dilation"], p["padding"], strict=True)
            ]
            if all(0 <= v and v % d == 0 and v // d < n for v, d, n in zip(where, p["base_dilation"], x.shape, strict=True)):
                part.append(x[tuple(v // d for v, d in zip(where, p["base_dilation"], strict=True))].tolist())
        found.append(part)
    return found


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("window") if p[0].startswith("reduce_window")], ids=ids)
def test_reduce_window(op: str, dtype: PtirDType):
    kind = op.split()[1]
    x = block(dtype, (5, 4), special=kind != "sum")
    for given in WINDOWS:
        p = dict(zip(NAMES, given, strict=True))
        found = run(op, x, **p)
        parts = window_parts(x, found.shape, p)
        if kind != "sum":
            assert_extremes(found, [extreme(kind, part, dtype) for part in parts])
        elif is_integer(dtype):
            assert_elements(found, [wrapped(sum(part), dtype) for part in parts])
        else:
            bounded(found, parts, dtype, default_accumulator(dtype).name)
    assert run(op, x[0, 0], **dict.fromkeys(NAMES, ())).shape == ()
    assert run(op, x[:0], **dict(zip(NAMES, WINDOWS[2], strict=True))).shape == (1, 10)


def window_places(x: np.ndarray, shape: tuple[int, ...], kind: str, dtype: PtirDType, p: dict[str, Any]) -> list[int]:
    """The flat index of the first extreme of each window, which is found among the elements themselves; -1 in padding."""
    p = {**p, "base_dilation": (1,) * x.ndim}
    values, flat = window_parts(x, shape, p), window_parts(np.arange(x.size).reshape(x.shape), shape, p)
    found: list[int] = []
    for part, places in zip(values, flat, strict=True):
        best = extreme(kind, part, dtype) if part else None
        same = [i for i, v in zip(places, part, strict=True) if v == best or (v != v and best != best)]
        found.append(same[0] if part else -1)
    return found


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("window") if p[0].startswith("window_arg")], ids=ids)
def test_window_arg(op: str, dtype: PtirDType):
    kind, names = op.split()[1], [name for name in NAMES if name != "base_dilation"]
    x = block(dtype, (5, 4), special=True)
    for data in (x, np.resize(block(dtype, (3,)), (5, 4))):
        for given in WINDOWS:
            p = {name: value for name, value in zip(NAMES, given, strict=True) if name in names}
            found = run(op, data, output_dtype=DTYPES["si32"], **p)
            assert found.dtype == np.int32
            assert elements(found) == window_places(data, found.shape, kind, dtype, p)
    assert elements(run(op, x[0, 0], output_dtype=DTYPES["si64"], **dict.fromkeys(names, ()))) == [0]


@pytest.mark.exhaustive
@pytest.mark.parametrize("window", [64, 65, 100, 127, 128, 129, 200])
@pytest.mark.parametrize("dilation", [1, 3])
@pytest.mark.parametrize("stride", [1, 2])
def test_long_windows_have_the_same_winners(window: int, dilation: int, stride: int):
    x = np.random.default_rng(window).integers(0, 5, (700,)).astype(np.float32)
    x[::97] = np.nan if window % 2 else x[::97]
    p = {"window_dims": (window,), "strides": (stride,), "padding": ((150, 3),), "window_dilation": (dilation,)}
    for kind in ("max", "min"):
        found = run(f"window_arg {kind}", x, output_dtype=DTYPES["si64"], **p)
        assert elements(found) == window_places(x, found.shape, kind, DTYPES["f32"], p)


def test_an_index_that_does_not_fit_is_refused():
    p = {"window_dims": (1, 1), "strides": (1, 1), "padding": ((0, 0), (0, 0)), "window_dilation": (1, 1)}
    large = np.broadcast_to(np.zeros((), np.int8), ((1 << 31) + 1, 1))
    call = kernel_call(op_of("window_arg max", large[:1], output_dtype=DTYPES["si32"], **p))
    with pytest.raises(MindError, match="window_arg of 2147483649 elements, whose indices int32 cannot hold") as caught:
        perform(call, large)  # as where only the run knows the extent
    assert caught.value.code == "E8002"
    assert perform(call, large[:0]).shape == (0, 1)


def assert_extremes(found: np.ndarray, expected: list[Any]) -> None:
    """Equal, but for the sign of zeros, which is left open."""
    for a, b in zip(elements(found), expected, strict=True):
        assert a == b or (a != a and b != b)


def test_windows_accumulate_as_told():
    p: dict[str, Any] = {
        "window_dims": (3000,),
        "strides": (1,),
        "padding": ((0, 0),),
        "base_dilation": (1,),
        "window_dilation": (1,),
    }
    ones = array([1.0] * 3000, "f16")
    assert elements(run("reduce_window sum", ones, **p)) == [3000]
    assert elements(run("reduce_window sum", array([100] * 3000, "si16"), accum_dtype=DTYPES["si32"], **p)) == [32767]
    assert elements(run("reduce_window sum", array([100] * 3000, "si16"), **p)) == [wrapped(300_000, DTYPES["si16"])]
    few = {**p, "window_dims": (40,)}
    assert elements(run("reduce_window sum", ones[:40] * 60, accum_dtype=DTYPES["f16"], **few)) == [stepwise(60.0, 40)]


def stepwise(value: float, count: int) -> float:
    from ptir_oracle import rounded

    total = 0.0
    for _ in range(count):
        total = rounded(total + value, "f16")
    return total


PATCHES: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((2, 4, 3, 2), {"window": (2, 2), "strides": (1, 1), "dilation": (1, 1), "padding": ((0, 0), (0, 0))}),
    ((1, 5, 4, 3), {"window": (3, 2), "strides": (2, 1), "dilation": (1, 2), "padding": ((1, 1), (0, 2))}),
    ((2, 5, 2), {"window": (3,), "strides": (2,), "dilation": (1,), "padding": ((0, 1),)}),
    ((2, 3), {"window": (), "strides": (), "dilation": (), "padding": ()}),
    ((1, 4, 4, 2), {"window": (1, 1), "strides": (1, 1), "dilation": (1, 1), "padding": ((0, 0), (0, 0))}),
    ((1, 4, 4, 2), {"window": (1, 1), "strides": (3, 2), "dilation": (5, 5), "padding": ((0, 0), (0, 0))}),
    ((1, 2, 2, 2), {"window": (3, 3), "strides": (1, 1), "dilation": (1, 1), "padding": ((0, 0), (0, 0))}),
    ((0, 3, 2), {"window": (2,), "strides": (1,), "dilation": (1,), "padding": ((0, 0),)}),
]


@pytest.mark.parametrize(("op", "dtype"), [p for p in legal("window") if p[0] == "extract_patches"], ids=ids)
def test_extract_patches(op: str, dtype: PtirDType):
    for shape, p in PATCHES:
        x = block(dtype, shape, special=True)
        fill = elements(samples(dtype, 12))[-1]
        found = run(op, x, pad_value=fill, **p)
        expected: list[Any] = []
        for n, *at in itertools.product(*map(range, found.shape[:-1])):
            for *k, c in itertools.product(*map(range, (*p["window"], shape[-1]))):
                each = zip(at, k, p["strides"], p["dilation"], p["padding"], strict=True)
                where = [a * s + j * d - low for a, j, s, d, (low, _) in each]
                inside = all(0 <= v < extent for v, extent in zip(where, shape[1:-1], strict=True))
                expected.append(x[(n, *where, c)].tolist() if inside else fill)
        assert_elements(found, expected)
        assert not np.shares_memory(found, x)


def test_a_padding_of_minus_infinity():
    """What a max pool in patches needs."""
    x = array([[[1.0], [2.0]]], "f32")
    p: dict[str, Any] = {"window": (2,), "strides": (1,), "dilation": (1,), "padding": ((1, 0),)}
    assert elements(run("extract_patches", x, pad_value=-math.inf, **p)) == [-math.inf, 1.0, 1.0, 2.0]
