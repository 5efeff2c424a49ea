"""
Filter taps over padding on the native target: 0 times a tap that is infinite or NaN is NaN, as the definition has it.

Operands are small integers, so finite sums are exact and results must equal those of the NumPy target and of the definition.
"""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from machines import RUNNABLE
from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import BF16, F16, F32, F64, PtirDType
from mind_lowering import code_cache as cache
from mind_lowering.native.convolutions import tile
from mind_lowering.native.host import CHECKS_VARIABLE, ISA_VARIABLE
from mind_lowering.ptir_kernels.formats import array_dtype
from ptir_forms import program

VALUES = (np.inf, -np.inf, np.nan)
MACHINES = pytest.mark.parametrize("isa", RUNNABLE)


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, "")


class Convolution:
    """A convolution of an image of these extents, `[N, spatial..., C]`, by a filter `[window..., C / groups, O]`."""

    def __init__(self, image: tuple[int, ...], window: tuple[int, ...], out: int, groups: int = 1, **options: Any):
        rank = len(window)
        self.shapes = image, (*window, image[-1] // groups, out)
        self.values = {
            "strides": (1,) * rank,
            "padding": ((1, 1),) * rank,
            "base_dilation": (1,) * rank,
            "window_dilation": (1,) * rank,
            "feature_group_count": groups,
            **options,
        }

    def __repr__(self) -> str:
        return f"{self.shapes[0]} {self.shapes[1]}"

    def arrays(self, dtype: PtirDType, bad: int, seed: int) -> tuple[Any, Any]:
        """Small integers, `bad` taps of the filter not finite."""
        rng = np.random.default_rng(seed)
        x, w = (rng.integers(-3, 4, s).astype(np.float64) for s in self.shapes)
        if w.size:
            w.ravel()[rng.integers(0, w.size, bad)] = rng.choice(VALUES, bad)
        return x.astype(array_dtype(dtype.name)), w.astype(array_dtype(dtype.name))

    def module(self, dtype: PtirDType) -> Any:
        types = " ".join(f"{dtype}[{','.join(map(str, s))}]" for s in self.shapes)
        return program(types, lambda x, w: ptir.ConvolutionOp(x, w, **self.values).result)

    def defined(self, x: Any, w: Any) -> Any:
        """The definition, place by place: the image with its border and holes, each window times the filter, added up."""
        values, groups = self.values, self.values["feature_group_count"]
        spatial, window = x.shape[1:-1], w.shape[:-2]
        holes = values["base_dilation"]
        inner = [max(0, (n - 1) * h + 1) for n, h in zip(spatial, holes, strict=True)]
        wide = np.zeros((x.shape[0], *(n + a + b for n, (a, b) in zip(inner, values["padding"], strict=True)), x.shape[-1]))
        cut = [slice(a, a + n, h) for n, (a, _), h in zip(inner, values["padding"], holes, strict=True)]
        wide[(slice(None), *cut)] = x
        steps = list(zip(window, values["strides"], values["window_dilation"], strict=True))
        counts = [
            max(0, (n - (k - 1) * d - 1) // s + 1) if n > (k - 1) * d else 0
            for n, (k, s, d) in zip(wide.shape[1:-1], steps, strict=True)
        ]
        out = np.zeros((x.shape[0], *counts, groups, w.shape[-1] // groups))
        filters = w.reshape((*w.shape[:-1], groups, w.shape[-1] // groups))
        for place in product(*map(range, counts)):
            for tap in product(*map(range, window)):
                at = tuple(p * s + t * d for p, t, (_, s, d) in zip(place, tap, steps, strict=True))
                met = wide[(slice(None), *at)].reshape((x.shape[0], groups, -1))
                out[(slice(None), *place)] += (met[..., None] * filters[tap].swapaxes(0, 1)[None]).sum(axis=2)
        return out.reshape((*out.shape[:-2], w.shape[-1]))


FORMS = [
    Convolution((1, 2, 1), (2,), 1, padding=((1, 0),)),
    Convolution((1, 9, 9, 5), (3, 3), 7),
    Convolution((2, 14, 15, 8), (3, 3), 40),
    Convolution((1, 15, 16, 3), (7, 7), 64, strides=(2, 2), padding=((3, 3), (3, 3))),
    Convolution((2, 7, 7, 16), (3, 3), 48, strides=(2, 2)),
    Convolution((1, 6, 6, 4), (1, 1), 5, padding=((1, 0), (2, 1))),
    Convolution((1, 10, 10, 6), (3, 3), 9, window_dilation=(2, 3), padding=((2, 2), (3, 3))),
    Convolution((1, 5, 6, 4), (3, 2), 8, base_dilation=(2, 3), padding=((1, 1), (0, 1))),
    Convolution((2, 6, 6, 12), (3, 3), 18, groups=3),
    Convolution((2, 6, 7, 40), (3, 3), 40, groups=40),
    Convolution((1, 7, 7, 5), (3, 3), 10, groups=5),
    Convolution((1, 12, 12, 33), (5, 5), 33, groups=33, strides=(2, 2), padding=((2, 2), (2, 2))),
    Convolution((3, 17, 4), (4,), 6, padding=((2, 1),)),
    Convolution((1, 3, 4, 5, 3), (2, 3, 2), 4, padding=((0, 1), (1, 1), (1, 0))),
    Convolution((16, 3, 3, 5), (3, 3), 17),
    Convolution((4, 24, 3, 2), (22, 3), 6),
    Convolution((1, 3, 3, 3), (3, 3), 5, padding=((9, 9), (9, 9))),
    Convolution((1, 1, 1, 3), (3, 3), 5),
    Convolution((1, 0, 3, 2), (2, 2), 5, padding=((2, 1), (0, 0))),
]
ALL_FORMS = pytest.mark.parametrize("form", FORMS, ids=repr)


def check(form: Convolution, dtype: PtirDType, bad: int, seed: int) -> None:
    x, w = form.arrays(dtype, bad, seed)
    module = form.module(dtype)
    with np.errstate(all="ignore"):
        expected = form.defined(x.astype(np.float64), w.astype(np.float64))
    for target in ("numpy", "native"):
        program = mind_runtime.compile(module, target=target)
        np.testing.assert_array_equal(program(x, w).astype(np.float64), expected, err_msg=target)
        bound = mind_runtime.bind(module, {program.inputs[1].name: w}, target=target)
        np.testing.assert_array_equal(bound(x).astype(np.float64), expected, err_msg=f"{target}, bound")


@pytest.mark.exhaustive
@ALL_FORMS
@MACHINES
def test_a_tap_that_is_not_finite(form: Convolution, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ISA_VARIABLE, isa)
    for seed, checks in ((0, ""), (1, "1")):
        monkeypatch.setenv(CHECKS_VARIABLE, checks)
        check(form, F32, 1, seed)
    check(form, F32, 0, 2)


@ALL_FORMS
def test_sums_in_a_function_of_their_own(form: Convolution, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tile, "LONG_SUM", 1)
    for seed, checks in ((4, ""), (5, "1")):
        monkeypatch.setenv(CHECKS_VARIABLE, checks)
        check(form, F32, 1, seed)
    check(form, F64, 2, 6)


@pytest.mark.parametrize("dtype", [F64, F16, BF16], ids=str)
def test_dtypes(dtype: PtirDType) -> None:
    for form in (FORMS[1], FORMS[3], FORMS[7], FORMS[8], FORMS[9]):
        check(form, dtype, 2, 3)


@pytest.mark.parametrize("tap", [(i, j, c, o) for i in range(3) for j in range(3) for c, o in ((0, 0), (1, 17))], ids=str)
@pytest.mark.parametrize("groups", [1, 2, 18])
def test_every_tap_of_a_window(tap: tuple[int, ...], groups: int) -> None:
    """Exactly the results that skip the tap, or use it, are not finite."""
    channels = 18 if groups == 18 else 2 * groups
    form = Convolution((1, 4, 5, channels), (3, 3), 18, groups=groups)
    x, w = np.ones(form.shapes[0], np.float32), np.ones(form.shapes[1], np.float32)
    at = (*tap[:2], tap[2] % w.shape[2], tap[3])
    w[at] = np.inf
    found = mind_runtime.compile(form.module(F32), target="native")(x, w)
    assert not np.isfinite(found[..., tap[3]]).any()
    assert np.isfinite(np.delete(found, tap[3], -1)).all()
    rows = [0 <= i + tap[0] - 1 < 4 for i in range(4)]
    columns = [0 <= j + tap[1] - 1 < 5 for j in range(5)]
    np.testing.assert_array_equal(np.isinf(found[0, ..., tap[3]]), np.outer(rows, columns))


def patches(form: Convolution, x: Any, w: Any) -> Any:
    """The same as patches times weights."""
    zero = PtirLiteralAttr.from_values(F32, (), (0.0,))
    values = form.values
    found = ptir.ExtractPatchesOp(
        x,
        window=form.shapes[1][:-2],
        strides=values["strides"],
        dilation=values["window_dilation"],
        padding=values["padding"],
        pad_value=zero,
    ).result
    depth = int(np.prod(form.shapes[1][:-1]))
    flat = ptir.ReshapeOp(w, new_shape=[depth, form.shapes[1][-1]]).result
    axis = len(form.shapes[0]) - 1
    names = {"batch_lhs": [], "batch_rhs": [], "contract_lhs": [axis], "contract_rhs": [0]}
    return ptir.DotGeneralOp(found, flat, **names).result


@pytest.mark.parametrize("form", [FORMS[i] for i in (0, 1, 2, 3, 4, 6, 14)], ids=repr)
@pytest.mark.parametrize("follow", [False, True])
def test_patches_times_weights(form: Convolution, follow: bool) -> None:
    """A product of patches that becomes a convolution means what it meant, with what follows it too."""

    def body(x: Any, w: Any, *residual: Any) -> Any:
        found = patches(form, x, w)
        return ptir.MaximumOp(ptir.AddOp(found, residual[0]).result, residual[0]).result if follow else found

    for seed in range(3):
        x, w = form.arrays(F32, 2, seed)
        with np.errstate(all="ignore"):
            expected = form.defined(x, w)
        residual = [np.full(expected.shape, 2, np.float32)] if follow else []
        types = " ".join(f"f32[{','.join(map(str, v.shape))}]" for v in (x, w, *residual))
        program_ = mind_runtime.compile(program(types, body), target="native")
        assert any("convolution" in line for line in program_.explain()), program_.explain()
        expected = np.maximum(expected + 2, 2) if follow else expected
        np.testing.assert_array_equal(program_(x, w, *residual), expected.astype(np.float32))


@pytest.mark.parametrize("seed", range(30))
def test_random_forms(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pick = random.Random(seed)
    monkeypatch.setenv(ISA_VARIABLE, pick.choice(RUNNABLE))
    monkeypatch.setenv(CHECKS_VARIABLE, "1" if seed % 2 else "")
    rank = pick.choice((1, 2, 2, 3))
    groups = pick.choice((1, 1, 2, 5))
    form = Convolution(
        (pick.choice((1, 2, 9)), *(pick.choice((1, 3, 7)) for _ in range(rank)), groups * pick.choice((1, 3, 8))),
        tuple(pick.choice((1, 2, 3)) for _ in range(rank)),
        groups * pick.choice((1, 2, 17, 40)),
        groups,
        padding=tuple((pick.randrange(4), pick.randrange(4)) for _ in range(rank)),
        strides=tuple(pick.choice((1, 1, 2, 3)) for _ in range(rank)),
        base_dilation=tuple(pick.choice((1, 1, 2)) for _ in range(rank)),
        window_dilation=tuple(pick.choice((1, 1, 2)) for _ in range(rank)),
    )
    check(form, F32, pick.choice((0, 1, 5)), seed)
