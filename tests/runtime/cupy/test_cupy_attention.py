"""
Attention as one kernel: the forms that are recognised, tails of tiles, masks, narrow floats, in the emulation and by NVRTC.

Results are those of the NumPy target to a few roundings of the narrowest dtype.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import inf
from typing import Any

import numpy as np
import pytest

import ptir_forms as forms
from cuda_emulation import ARCHITECTURES, compiled, compiler
from cupy_agreement import agree, arguments, in_one_batch
from fake_device import Batch
from mind_dialect import ptir
from mind_dialect.ptir.types import read_type
from mind_runtime.on_cupy import CupyProgram

pytest.importorskip("ml_dtypes", reason="no ml_dtypes: narrow floats have no arrays to compare with")


def plain(q: Any, k: Any, v: Any, mask: Any = None, scale: float = 0.25) -> Any:
    """Products with the dtypes of their operands; narrow scores are widened for the softmax."""
    n = len(forms.shape(q)) - 2
    axes = {"batch_lhs": tuple(range(n)), "batch_rhs": tuple(range(n)), "contract_lhs": (n + 1,)}
    s: Any = ptir.DotGeneralOp(q, k, **axes, contract_rhs=(n + 1,))
    dtype = read_type(s.result.type).dtype.name
    if dtype in ("f16", "bf16"):
        s = ptir.CastOp(s, dtype="f32")
    s = ptir.MulOp(s, forms.like(s, scale))
    s = s if mask is None else mask(s)
    p: Any = forms.softmax(s)
    if dtype in ("f16", "bf16"):
        p = ptir.CastOp(p, dtype=dtype)
    return ptir.DotGeneralOp(p, v, **axes, contract_rhs=(n,))


def split(x: Any, heads: int) -> Any:
    batch, rows, width = forms.shape(x)
    return ptir.TransposeOp(ptir.ReshapeOp(x, new_shape=(batch, rows, heads, width // heads)), perm=(0, 2, 1, 3))


def heads(q: Any, k: Any, v: Any) -> Any:
    """Heads that are split off and put together again, as in a model."""
    o = plain(*(split(x, 2) for x in (q, k, v)), mask=lambda s: forms.selected(s, -inf))
    batch, n, rows, depth = forms.shape(o)
    return ptir.ReshapeOp(ptir.TransposeOp(o, perm=(0, 2, 1, 3)), new_shape=(batch, rows, n * depth))


def repeated(q: Any, k: Any, v: Any) -> Any:
    """Keys and values that several heads share: `[kv, keys, depth]` for `[heads, rows, depth]`."""

    def shared(x: Any) -> Any:
        kv, keys, depth = forms.shape(x)
        wide = ptir.BroadcastToOp(ptir.ReshapeOp(x, new_shape=(kv, 1, keys, depth)), result_shape=(kv, 3, keys, depth))
        return ptir.ReshapeOp(wide, new_shape=(kv * 3, keys, depth))

    turned = [ptir.TransposeOp(x, perm=(1, 0, 2)) for x in (k, v)]
    return plain(q, *map(shared, turned))


def causal(hidden: float) -> Any:
    return lambda q, k, v: plain(q, k, v, lambda s: forms.causal(s, hidden))


def selected(hidden: float) -> Any:
    return lambda q, k, v: plain(q, k, v, lambda s: forms.selected(s, hidden))


def biased(q: Any, k: Any, v: Any, m: Any) -> Any:
    return plain(q, k, v, lambda s: ptir.AddOp(s, forms.spread(m, s)))


def backwards(q: Any, k: Any, v: Any) -> Any:
    """A mask that hides what comes before, which no bound says."""

    def mask(s: Any) -> Any:
        rows, columns = (ptir.IotaOp(shape=forms.shape(s), dtype="si32", axis=a) for a in (-2, -1))
        return ptir.SelectOp(ptir.CompareOp(rows, columns, kind="greater"), forms.like(s, -1e9), s)

    return plain(q, k, v, mask)


def padded(q: Any, k: Any, v: Any, m: Any) -> Any:
    """Causal by -1e9, after -inf where `m` says so: some rows see nothing but what is hidden."""
    return plain(q, k, v, lambda s: forms.causal(ptir.AddOp(s, forms.spread(m, s)), -1e9))


def qkv(dtype: str, batch: str, rows: int, keys: int, depth: int, width: int) -> str:
    return f"{dtype}[{batch}{rows},{depth}] {dtype}[{batch}{keys},{depth}] {dtype}[{batch}{keys},{width}]"


SIZES = [("", 20, 20, 8, 8), ("2,", 70, 45, 16, 24), ("3,2,", 33, 130, 5, 3), ("2,", 9, 7, 65, 80), ("", 64, 64, 128, 128)]
FEW = [("3,", 1, 300, 16, 16), ("2,2,", 1, 2, 4, 4), ("", 3, 1000, 33, 20), ("", 1, 50, 64, 64)]
NARROW = [("2,", 64, 64, 16, 16), ("", 90, 70, 32, 24), ("", 17, 33, 80, 72), ("1,2,", 2, 40, 16, 16), ("", 20, 20, 12, 12)]
CASES: list[tuple[str, str, Any]] = [
    *((f"{b}{t},{s},{d},{e}", qkv("f32", b, t, s, d, e), plain) for b, t, s, d, e in (*SIZES, *FEW)),
    *((f"{n} {b}{t},{s},{d},{e}", qkv(n, b, t, s, d, e), plain) for n in ("f16", "bf16") for b, t, s, d, e in NARROW),
    ("f64", qkv("f64", "2,", 20, 30, 8, 8), plain),
    *((f"causal {h}", qkv("f32", "2,", 100, 100, 8, 8), causal(h)) for h in (-1e9, -inf)),
    *((f"selected {h}", qkv("f32", "2,", 100, 70, 8, 8), selected(h)) for h in (-1e9, -inf)),
    ("selected bf16", qkv("bf16", "2,", 150, 150, 16, 16), selected(-inf)),
    ("selected few", qkv("f32", "2,", 4, 40, 8, 8), selected(-inf)),
    ("bias", qkv("f32", "2,", 20, 33, 8, 8) + " f32[20,33]", biased),
    ("bias few", qkv("f32", "2,", 1, 33, 8, 8) + " f32[33]", biased),
    ("backwards", qkv("f32", "", 40, 90, 8, 8), backwards),
    ("padded", qkv("f32", "", 80, 80, 8, 8) + " f32[80,80]", padded),
    ("heads", "f32[2,40,16] f32[2,40,16] f32[2,40,16]", heads),
    ("repeated", "f32[6,40,8] f32[30,2,8] f32[30,2,8]", repeated),
    ("repeated few", "f32[6,1,8] f32[30,2,8] f32[30,2,8]", repeated),
    ("heads few", "f32[2,3,16] f32[2,3,16] f32[2,3,16]", heads),
    ("heads bf16", "bf16[2,80,64] bf16[2,80,64] bf16[2,80,64]", heads),
]


@lru_cache(maxsize=1)
def batch() -> tuple[Batch, list[tuple[str, CupyProgram, Any]]]:
    return in_one_batch([(name, forms.program(types, body)) for name, types, body in CASES])


def test_results_are_those_of_numpy() -> None:
    compiler()
    for i, (name, made, module) in enumerate(batch()[1]):
        values = arguments(made, i)
        if name == "padded":
            values[-1][:] = np.where(np.arange(80) < 20, -inf, 0)
            values[-1][60:] = -inf
        with np.errstate(all="ignore"):
            agree(name, made, module, values)


def test_each_is_one_kernel_without_scores_in_memory() -> None:
    for name, made, _ in batch()[1]:
        calls = re.findall(r"(?:xp|k)\.\w+", made.source)
        assert not {"xp.matmul", "k.dot_general", "k.transpose", "k.broadcast_to"} & set(calls), f"{name}: {made.source}"
        assert made.cuda.count("__global__") == 1, name


def test_a_causal_mask_bounds_the_keys_and_others_do_not() -> None:
    bounded = {name for name, made, _ in batch()[1] if "return r + 1 <" in made.cuda}
    assert bounded == {n for n, *_ in CASES if n.split()[0] in ("causal", "selected", "padded", "heads") and "few" not in n}


@pytest.mark.parametrize("value", [inf, -inf, np.nan])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_what_is_no_number_is_where_numpy_has_it(value: float, which: int) -> None:
    compiler()
    for name in ("2,70,45,16,24", "3,1,300,16,16", "causal -inf"):
        ((made, module),) = [(made, module) for n, made, module in batch()[1] if n == name]
        values = arguments(made, 3)
        values[which][..., 0, 3] = value
        with np.errstate(all="ignore"):
            agree(name, made, module, values)


@pytest.mark.parametrize(
    ("dtype", "rows", "depth", "width", "kernels"),
    [("f32", 1, 512, 360, 1), ("f64", 1, 16, 184, 1), ("f64", 1, 16, 192, 2), ("f32", 70, 256, 256, 1), ("f64", 70, 128, 128, 1)],
)
def test_shared_memory_is_enough_or_it_is_no_kernel(dtype: str, rows: int, depth: int, width: int, kernels: int) -> None:
    made = Batch()
    program = made.add(forms.program(qkv(dtype, "", rows, 40, depth, width), plain))
    assert ("mind::attend" in program.cuda) is (kernels == 1)
    compiled(made.text(), "sm_90")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nvrtc_compiles_every_kernel(architecture: str) -> None:
    compiled(batch()[0].text(), architecture)
