"""Arrays that a caller gives for the results of a call, on the targets that run here."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import mind_runtime
from mind_dialect import ptir
from mind_runtime.signature import overlaps_itself
from native_calls import ROWS, failure, unaligned
from ptir_forms import program


def compiled(module: Any, target: str) -> Any:
    if target == "native":
        pytest.importorskip("llvmlite")
    return mind_runtime.compile(module, target=target)


@pytest.mark.parametrize("target", ["numpy", "native"])
def test_given_results(target: str) -> None:
    module = program("f32[37] f32[37]", lambda a, b: [ptir.AddOp(a, b), ptir.MulOp(a, b)])
    run = compiled(module, target)
    a, b = ROWS.copy()
    expected = [a + b, a * b]
    for make in (np.empty_like, lambda x: np.empty(74, np.float32)[::2], lambda x: unaligned(x).copy()):
        for kind in (tuple, list):
            out = kind(make(a) for _ in range(2))
            assert all(p is q for p, q in zip(run(a, b, out=out), out, strict=True))
            for x, y in zip(out, expected, strict=True):
                np.testing.assert_array_equal(x, y)
    rows = np.empty((2, 37), np.float32)
    run(a, b, out=(rows[1], rows[0]))
    np.testing.assert_array_equal(rows, expected[::-1])


@pytest.mark.parametrize("target", ["numpy", "native"])
def test_given_results_may_share_memory_with_arguments(target: str) -> None:
    module = program("f32[36] f32[36]", lambda a, b: [ptir.AddOp(ptir.ReverseOp(a, axes=(0,)), b)])
    run = compiled(module, target)
    for start in range(0, 80, 3):
        room = np.arange(116, dtype=np.float32)
        a, b = room[40:76], room[44:80]
        expected = a[::-1] + b
        run(a, b, out=room[start : start + 36])
        np.testing.assert_array_equal(room[start : start + 36], expected)


@pytest.mark.parametrize("target", ["numpy", "native"])
def test_wrong_given_results_are_refused_before_the_run(target: str) -> None:
    module = program("f32[37] f32[37]", lambda a, b: [ptir.AddOp(a, b), ptir.MulOp(a, b)])
    run = compiled(module, target)
    a, b = ROWS
    good, fixed = np.zeros(37, np.float32), np.zeros(37, np.float32)
    fixed.flags.writeable = False
    wrong = [good, (good,), (good, good), (good, good[:-1]), (good, good.astype(np.float64)), (good, fixed), (good, None)]
    wrong += [
        (good, good.tolist()),
        (good, np.zeros(37, np.float32), good),
        (good, good.reshape(1, 37)),
        (good, good.copy().view(">f4")),
    ]
    for out in wrong:
        assert failure(run, a, b, out=out).code == "E2001"
    assert not good.any()


def test_given_results_of_sizes_that_have_names() -> None:
    module = program("f32[B,5]", lambda x: [ptir.AddOp(x, x)])
    run = compiled(module, "numpy")
    x, out = np.ones((3, 5), np.float32), np.zeros((3, 5), np.float32)
    assert run(x, out=out) is out
    assert out.all()
    assert failure(run, x, out=np.zeros((1, 5), np.float32)).code == "E2001"


@pytest.mark.parametrize("itemsize", [1, 4])
def test_which_arrays_overlap_themselves(itemsize: int) -> None:
    """Against the bytes of every element, for all small shapes and strides, 0 and negative ones included."""
    room = np.zeros(400, np.int8 if itemsize == 1 else np.int32)
    middle = room[200:]
    shapes = ((1, 3), (2, 3), (3, 2), (4, 1), (2, 2), (0, 3), (2, 2, 2))
    for shape in shapes:
        every = range(-7, 8) if len(shape) == 2 else (-3, 0, 1, 2, 4)
        for steps in product(every, repeat=len(shape)):
            array = as_strided(middle, shape, [itemsize * s for s in steps])
            places = [sum(i * s for i, s in zip(at, steps, strict=True)) for at in np.ndindex(*shape)]
            assert overlaps_itself(array) == (len(set(places)) < len(places)), (shape, steps)
    for steps in product((-6, -3, 0, 1, 2, 3, 4, 5, 8), repeat=2):
        array = as_strided(middle.view(np.int8)[8:].view(np.int32) if itemsize == 4 else middle, (2, 3), steps)
        held = [range(p, p + itemsize) for p in (i * steps[0] + j * steps[1] for i, j in np.ndindex(2, 3))]
        total = [byte for places in held for byte in places]
        assert overlaps_itself(array) == (len(set(total)) < len(total)), steps
