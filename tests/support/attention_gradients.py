"""Attentions whose gradients are taken: forms of softmax, masks, heads; each a module of the gradient function alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from xdsl.dialects.builtin import ModuleOp

import ptir_forms as forms
from mind_dialect import ptir
from mind_dialect.op import value_of
from mind_dialect.program import functions
from mind_dialect.ptir.types import DTYPES, read_type
from mind_passes.functional import vjp

Body = Callable[..., Any]


def stopped(z: Any) -> Any:
    """A softmax whose maximum is a constant to derivatives, as in training."""
    e = ptir.ExpOp(ptir.SubOp(z, forms.spread(ptir.StopGradientOp(forms.reduce(z, "max")), z)))
    return ptir.DivOp(e, forms.spread(forms.reduce(e, "sum"), e))


def by_reciprocal(z: Any) -> Any:
    e = ptir.ExpOp(ptir.SubOp(z, forms.spread(ptir.StopGradientOp(forms.dropped(z, "max", -1)), z)))
    return ptir.MulOp(ptir.ReciprocalOp(forms.spread(forms.dropped(e, "sum", -1), e)), e)


def attend(q: Any, k: Any, v: Any, mask: Any = None, soft: Any = stopped, scale: float = 0.25) -> Any:
    """Scores in f32 for f16 and bf16, weights in the dtype of the values."""
    n = len(forms.shape(q)) - 2
    axes = {"batch_lhs": tuple(range(n)), "batch_rhs": tuple(range(n)), "contract_lhs": (n + 1,)}
    dtype = read_type(value_of(v).type).dtype.name
    narrow = dtype in ("f16", "bf16")
    s: Any = ptir.DotGeneralOp(q, k, **axes, contract_rhs=(n + 1,), out_dtype="f32" if narrow else None)
    s = ptir.MulOp(s, forms.like(s, scale))
    p: Any = soft(s if mask is None else mask(s))
    return ptir.DotGeneralOp(ptir.CastOp(p, dtype=dtype) if narrow else p, v, **axes, contract_rhs=(n,))


def causal(hidden: float) -> Body:
    return lambda q, k, v: attend(q, k, v, lambda s: forms.causal(s, hidden))


def selected(hidden: float) -> Body:
    return lambda q, k, v: attend(q, k, v, lambda s: forms.selected(s, hidden))


def shared_causal(s: Any) -> Any:
    """A mask of one matrix, for all heads."""
    shape = forms.shape(s)[-2:]
    rows, columns = (ptir.IotaOp(shape=shape, dtype="si32", axis=a) for a in (0, 1))
    shown, hidden = (ptir.ConstantOp(ptir.PtirLiteralAttr.from_values(DTYPES["f32"], (), (x,))) for x in (0.0, -1e9))
    wide = [ptir.BroadcastToOp(x, result_shape=shape) for x in (shown, hidden)]
    return ptir.AddOp(s, forms.spread(ptir.SelectOp(ptir.CompareOp(rows, columns, kind="greater_equal"), *wide), s))


def biased(q: Any, k: Any, v: Any, m: Any) -> Any:
    return attend(q, k, v, lambda s: ptir.AddOp(s, forms.spread(ptir.StopGradientOp(m), s)))


def padded(q: Any, k: Any, v: Any, m: Any) -> Any:
    """Causal by -1e9, after -inf or -1e9 where `m` says so: some rows see nothing but what is hidden."""
    return attend(q, k, v, lambda s: forms.causal(ptir.AddOp(s, forms.spread(ptir.StopGradientOp(m), s)), -1e9))


def split(x: Any, heads: int) -> Any:
    batch, rows, width = forms.shape(x)
    return ptir.TransposeOp(ptir.ReshapeOp(x, new_shape=(batch, rows, heads, width // heads)), perm=(0, 2, 1, 3))


def of_one(x: Any) -> Any:
    """Queries, keys and values side by side, heads split off and put together again, as in a model."""
    batch, rows, width = forms.shape(x)
    parts = [ptir.SliceOp(x, starts=(0, 0, i * width // 3), sizes=(batch, rows, width // 3)) for i in range(3)]
    o = attend(*(split(part, 2) for part in parts), lambda s: forms.causal(s, -1e9))
    return ptir.ReshapeOp(ptir.TransposeOp(o, perm=(0, 2, 1, 3)), new_shape=(batch, rows, width // 3))


def of_parts(q: Any, k: Any, v: Any) -> Any:
    """Rows that begin 8 bytes after what 16 are read at once from."""
    return attend(*(ptir.SliceOp(x, starts=(0, 2), sizes=(forms.shape(x)[0], 8)) for x in (q, k, v)))


def grouped(q: Any, k: Any, v: Any) -> Any:
    """Keys and values that several heads share: `[kv, keys, depth]` for `[heads, rows, depth]`."""

    def shared(x: Any) -> Any:
        kv, keys, depth = forms.shape(x)
        wide = ptir.BroadcastToOp(ptir.ReshapeOp(x, new_shape=(kv, 1, keys, depth)), result_shape=(kv, 3, keys, depth))
        return ptir.ReshapeOp(wide, new_shape=(kv * 3, keys, depth))

    return attend(q, shared(k), shared(v))


def library(q: Any, k: Any, v: Any) -> Any:
    """The contract's form, whose keys are turned before the product, and whose maximum has a derivative."""
    return forms.attention(q, k, v)


def soft(form: Any) -> Body:
    return lambda q, k, v: attend(q, k, v, soft=form)


def written_out(q: Any, k: Any, v: Any, g: Any) -> list[Any]:
    """An attention `[n, rows, depth]` and its gradients as a textbook has them, with no derivative taken."""
    o = attend(q, k, v, lambda s: forms.causal(s, -1e9))
    weights, dtype = o.lhs, read_type(q.type).dtype.name
    p = weights.owner.x if isinstance(weights.owner, ptir.CastOp) else weights
    by_width = {"batch_lhs": (0,), "batch_rhs": (0,), "contract_lhs": (2,), "contract_rhs": (2,)}
    adjoint = ptir.DotGeneralOp(g, v, **by_width, out_dtype="f32")
    centred = ptir.SubOp(adjoint, forms.spread(forms.reduce(ptir.MulOp(p, adjoint), "sum"), p))
    scores = ptir.MulOp(ptir.MulOp(p, centred), forms.like(p, 0.25))
    scores = ptir.CastOp(scores, dtype=dtype)
    by_keys, by_rows = ({"batch_lhs": (0,), "batch_rhs": (0,), "contract_lhs": (a,), "contract_rhs": (1,)} for a in (2, 1))
    return [
        o,
        ptir.DotGeneralOp(scores, k, **by_keys),
        ptir.DotGeneralOp(scores, q, **by_rows),
        ptir.DotGeneralOp(weights, g, **by_rows),
    ]


def qkv(dtype: str, batch: str, rows: int, keys: int, depth: int, width: int) -> str:
    return f"{dtype}[{batch}{rows},{depth}] {dtype}[{batch}{keys},{depth}] {dtype}[{batch}{keys},{width}]"


def gradient(types: str, body: Body, wrt: Sequence[int] | None = None) -> ModuleOp:
    """The result and its gradients, given the adjoint of the result."""
    module = vjp(forms.program(types, body), wrt=range(min(3, len(types.split()))) if wrt is None else wrt)
    for func in list(functions(module))[:-1]:
        func.detach()
        func.erase()
    return module


CASES: dict[str, tuple[str, Body]] = {
    **{
        f"{b}{r},{k},{d},{w}": (qkv("f32", b, r, k, d, w), attend)
        for b, r, k, d, w in [("", 20, 20, 8, 8), ("2,", 35, 45, 16, 24)]
    },
    "odd": (qkv("f32", "3,2,", 33, 50, 5, 3), attend),
    "maximum": (qkv("f32", "2,", 20, 30, 8, 8), soft(forms.softmax)),
    "reciprocal": (qkv("f32", "2,", 20, 30, 8, 8), soft(by_reciprocal)),
    "library": (qkv("f32", "2,3,", 20, 30, 8, 8), library),
    "f64": (qkv("f64", "2,", 20, 30, 8, 8), attend),
    "few": (qkv("f32", "2,", 3, 30, 8, 8), attend),
    **{f"causal {h}": (qkv("f32", "2,", 70, 70, 8, 8), causal(h)) for h in (-1e9, -inf)},
    "causal shared": (qkv("f32", "2,", 40, 40, 8, 8), lambda q, k, v: attend(q, k, v, shared_causal)),
    **{f"selected {h}": (qkv("f32", "2,", 80, 50, 8, 8), selected(h)) for h in (-1e9, -inf)},
    "bias": (qkv("f32", "2,", 20, 33, 8, 8) + " f32[20,33]", biased),
    "padded": (qkv("f32", "", 70, 70, 8, 8) + " f32[70,70]", padded),
    "of one": ("f32[2,40,48]", of_one),
    "of parts": (qkv("f32", "", 20, 30, 12, 12), of_parts),
    "grouped": ("f32[6,20,8] f32[2,30,8] f32[2,30,8]", grouped),
}
"""Gradients with nothing of the size of the scores in memory; tiles of f32 and f64."""
NARROW: dict[str, tuple[str, Body]] = {
    "bf16": (qkv("bf16", "2,", 40, 70, 16, 32), attend),
    "f16": (qkv("f16", "", 70, 20, 32, 16), causal(-1e9)),
    "bf16 of one": ("bf16[1,70,96]", of_one),
    "bf16 by 12": (qkv("bf16", "", 20, 20, 12, 12), attend),
}
"""The same on tensor cores, but for the last, which is too thin."""
