"""Convolutions as kernels: strides, padding, dilations, groups, narrow floats, integers, and what follows element by element."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import ptir_forms as forms
from cuda_emulation import ARCHITECTURES, compiled, compiler
from cupy_agreement import agree, arguments, in_one_batch
from fake_device import Batch
from mind_dialect import ptir
from mind_runtime.on_cupy import CupyProgram

pytest.importorskip("ml_dtypes", reason="no ml_dtypes: narrow floats have no arrays to compare with")


def convolved(x: Any, w: Any, **changes: Any) -> Any:
    rank = len(forms.shape(x)) - 2
    plain = {"strides": (1,) * rank, "padding": ((1, 1),) * rank, "base_dilation": (1,) * rank, "window_dilation": (1,) * rank}
    return ptir.ConvolutionOp(x, w, **{**plain, "feature_group_count": 1, **changes})


def with_(**changes: Any) -> Any:
    return lambda x, w: convolved(x, w, **changes)


def layer(x: Any, w: Any, b: Any, r: Any) -> Any:
    """Bias, residual, activation."""
    y = convolved(x, w, strides=(2, 1))
    y = ptir.AddOp(ptir.AddOp(y, forms.spread(b, y)), r)
    return ptir.MaximumOp(y, forms.like(y, 0.0))


def from_channels_first(x: Any, w: Any) -> Any:
    """A transpose that is better done before: neighbours would be far apart in each window."""
    return convolved(ptir.TransposeOp(x, perm=(0, 2, 3, 1)), w)


def turned(x: Any, w: Any) -> Any:
    return convolved(ptir.TransposeOp(x, perm=(0, 2, 1, 3)), w)


def pooled(kind: str, **changes: Any) -> Any:
    settings = {"padding": ((0, 0), (1, 1), (0, 1), (0, 0)), "base_dilation": (1,) * 4, "window_dilation": (1,) * 4, **changes}
    return lambda x: ptir.ReduceWindowOp(x, kind=kind, window_dims=(1, 3, 2, 1), strides=(1, 2, 1, 1), **settings)


def from_activation(x: Any, w: Any) -> Any:
    return convolved(ptir.TanhOp(x), w)


SMALL = "{t}[2,7,6,5] {t}[3,3,5,7]"
CASES: list[tuple[str, str, Any]] = [
    *((f"plain {t}", SMALL.format(t=t), convolved) for t in ("f32", "f64", "f16", "bf16", "si32", "si8")),
    ("strides", SMALL.format(t="f32"), with_(strides=(2, 3), padding=((0, 2), (1, 0)))),
    ("dilations", SMALL.format(t="f32"), with_(window_dilation=(2, 1), base_dilation=(1, 3), padding=((2, 3), (0, 4)))),
    ("one axis", "f32[3,90,4] f32[5,4,6]", convolved),
    ("three axes", "f32[1,4,5,6,2] f32[2,2,2,2,3]", convolved),
    ("points", "f32[2,9,9,20] f32[1,1,20,70]", with_(padding=((0, 0), (0, 0)))),
    ("deep", "f32[1,3,3,150] f32[3,3,150,4]", convolved),
    ("deep bf16", "bf16[1,3,3,150] bf16[3,3,150,4]", convolved),
    ("wide bf16", "bf16[2,9,9,20] bf16[3,3,20,70]", convolved),
    ("groups", "f32[2,6,6,6] f32[3,3,2,9]", with_(feature_group_count=3)),
    ("groups f16", "f16[2,6,6,6] f16[3,3,2,9]", with_(feature_group_count=3)),
    ("by channel", "f32[2,6,6,6] f32[3,3,1,6]", with_(feature_group_count=6)),
    ("by channel twice", "bf16[2,6,6,6] bf16[3,3,1,12]", with_(feature_group_count=6)),
    ("layer", "f32[2,7,6,5] f32[3,3,5,7] f32[7] f32[2,4,6,7]", layer),
    ("layer bf16", "bf16[2,7,6,5] bf16[3,3,5,7] bf16[7] bf16[2,4,6,7]", layer),
    ("turned", "f32[2,6,7,5] f32[3,3,5,7]", turned),
    *((f"pool {k} {t}", f"{t}[2,7,6,5]", pooled(k)) for k in ("max", "sum", "min") for t in ("f32", "bf16", "si8")),
    ("pool with holes", "f32[2,7,6,5]", pooled("max", base_dilation=(1, 2, 1, 1), window_dilation=(1, 1, 3, 1))),
    ("channels first", "f32[2,5,7,6] f32[3,3,5,7]", from_channels_first),
    ("activation", SMALL.format(t="f32"), from_activation),
    ("wide sums", SMALL.format(t="si8"), with_(accum_dtype="si32", out_dtype="si32")),
]


@lru_cache(maxsize=1)
def batch() -> tuple[Batch, list[tuple[str, CupyProgram, Any]]]:
    return in_one_batch([(name, forms.program(types, body)) for name, types, body in CASES])


def test_results_are_those_of_numpy() -> None:
    compiler()
    for i, (name, made, module) in enumerate(batch()[1]):
        agree(name, made, module, arguments(made, i))


def test_each_is_one_kernel_with_what_follows() -> None:
    for name, made, _ in batch()[1]:
        calls = set(re.findall(r"(?:xp|k)\.\w+", made.source))
        assert calls == {"k.launch"} | ({"k.transpose"} if name == "channels first" else set()), f"{name}: {calls}"
        assert made.cuda.count("__global__") == 1 + (name == "activation"), name


def test_narrow_floats_meet_in_tensor_cores_and_deep_sums_are_shared() -> None:
    used = {name: made.cuda for name, made, _ in batch()[1]}
    assert {n for n, text in used.items() if "product_narrow" in text} == {
        n for n in used if "16" in n and "channel" not in n and "pool" not in n
    }
    assert {n for n, text in used.items() if "counters" in text} >= {"deep", "deep bf16"}


def test_what_is_no_number_is_where_numpy_has_it() -> None:
    compiler()
    for name in ("plain f32", "plain bf16", "by channel", "deep"):
        ((made, module),) = [(made, module) for n, made, module in batch()[1] if n == name]
        for which in (0, 1):
            values = arguments(made, 1)
            values[which].reshape(-1)[7] = np.inf
            with np.errstate(all="ignore"):
                agree(name, made, module, values)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nvrtc_compiles_every_kernel(architecture: str) -> None:
    compiled(batch()[0].text(), architecture)
