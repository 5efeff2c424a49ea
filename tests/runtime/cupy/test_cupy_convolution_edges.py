"""Convolutions on CuPy at the edges: windows that cover the image, extents of 1, reshaped results, taps that are not finite."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import ptir_forms as forms
from cuda_emulation import compiler
from cupy_agreement import agree, arguments, in_one_batch
from fake_device import Batch
from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import F32
from mind_runtime.on_cupy import CupyProgram

pytest.importorskip("ml_dtypes", reason="no ml_dtypes: narrow floats have no arrays to compare with")


def convolved(x: Any, w: Any, padding: int, groups: int = 1) -> Any:
    values = {"strides": (1, 1), "base_dilation": (1, 1), "window_dilation": (1, 1), "feature_group_count": groups}
    return ptir.ConvolutionOp(x, w, padding=((padding, padding),) * 2, **values)


def with_bias(x: Any, w: Any, b: Any) -> Any:
    y = convolved(x, w, 0)
    return ptir.MaximumOp(ptir.AddOp(y, forms.spread(b, y)), forms.like(y, 0.0))


def flattened(x: Any, w: Any, b: Any) -> Any:
    """As the last layers of a network have it: places and channels as one axis, then a bias and an activation."""
    y = convolved(x, w, 0)
    (n, *rest) = forms.shape(y)
    flat = ptir.ReshapeOp(y, new_shape=[n, int(np.prod(rest))])
    return ptir.TanhOp(ptir.AddOp(flat, forms.spread(b, flat)))


def patches(x: Any, w: Any) -> Any:
    zero = PtirLiteralAttr.from_values(F32, (), (0.0,))
    ones = {"strides": (1, 1), "dilation": (1, 1), "padding": ((1, 1), (1, 1))}
    found = ptir.ExtractPatchesOp(x, window=(3, 3), pad_value=zero, **ones)
    flat = ptir.ReshapeOp(w, new_shape=[forms.shape(found)[-1], forms.shape(w)[-1]])
    return ptir.DotGeneralOp(found, flat, batch_lhs=[], batch_rhs=[], contract_lhs=[3], contract_rhs=[0])


WHOLE = [
    (f"{n} {size} {c} {o}", f"f32[{n},{size},{size},{c}] f32[{size},{size},{c},{o}]", f"f32[{o}]")
    for n, size, (c, o) in product((1, 2), (1, 3), ((1, 1), (4, 2)))
]
"""Windows that cover the image, so that the result has one place."""
PADDED: list[tuple[str, str, Any]] = [
    ("padded", "f32[2,4,5,2] f32[3,3,2,5]", lambda x, w: convolved(x, w, 1)),
    ("padded deep", "f32[1,3,3,150] f32[3,3,150,4]", lambda x, w: convolved(x, w, 1)),
    ("padded bf16", "bf16[2,4,5,8] bf16[3,3,8,5]", lambda x, w: convolved(x, w, 1)),
    ("padded groups", "f32[2,4,5,6] f32[3,3,2,9]", lambda x, w: convolved(x, w, 1, 3)),
    ("padded by channel", "f32[2,4,5,6] f32[3,3,1,6]", lambda x, w: convolved(x, w, 1, 6)),
    ("padded patches", "f32[2,4,5,2] f32[3,3,2,5]", patches),
]
CASES: list[tuple[str, str, Any]] = [
    *((f"whole {name}", types, lambda x, w: convolved(x, w, 0)) for name, types, _ in WHOLE),
    *((f"bias {name}", f"{types} {bias}", with_bias) for name, types, bias in WHOLE),
    *((f"flat {name}", f"{types} {bias}", flattened) for name, types, bias in WHOLE),
    ("flat places", "f32[2,4,5,2] f32[3,3,2,5] f32[30]", flattened),
    ("flat bf16", "bf16[2,4,5,8] bf16[3,3,8,5] bf16[30]", flattened),
    ("by channel, whole", "f32[2,3,3,4] f32[3,3,1,4]", lambda x, w: convolved(x, w, 0, 4)),
    *PADDED,
]


@lru_cache(maxsize=1)
def batch() -> tuple[Batch, list[tuple[str, CupyProgram, Any]]]:
    return in_one_batch([(name, forms.program(types, body)) for name, types, body in CASES])


def test_results_are_those_of_numpy() -> None:
    compiler()
    for i, (name, made, module) in enumerate(batch()[1]):
        agree(name, made, module, arguments(made, i))


def test_each_is_one_kernel() -> None:
    for name, made, _ in batch()[1]:
        if not name.startswith("padded patches"):
            assert made.cuda.count("__global__") == 1, name


def test_a_tap_over_padding_that_is_not_finite() -> None:
    """0 times an infinite tap, or one that is NaN, is NaN: also in results that meet the tap over padding alone."""
    compiler()
    names = {name for name, _, _ in PADDED}
    for name, made, module in [entry for entry in batch()[1] if entry[0] in names]:
        for tap, value in ((0, np.inf), (4, -np.inf), (8, np.nan)):
            x, w = arguments(made, 2)
            w.reshape(9, -1)[tap, 0] = value
            with np.errstate(all="ignore"):
                agree(name, made, module, [x, w])
                assert np.isnan(made(x, w).astype(np.float64)).any() or tap == 4, name
