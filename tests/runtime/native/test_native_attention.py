"""Attention as one kernel of the native target: against the NumPy target and against itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from machines import RUNNABLE
from mind_dialect import ptir
from mind_lowering.native import attention as plan
from mind_lowering.ptir_kernels.formats import array_dtype
from native_checks import assert_close
from ptir_forms import (
    MATMUL,
    attention,
    capped,
    causal,
    grouped,
    guarded_softmax,
    like,
    linear_bias,
    program,
    scores,
    selected,
    shape,
    softmax,
    spread,
    window,
)

rng = np.random.default_rng(3)


def arrays_of(types: str) -> list[Any]:
    made = []
    for text in types.split():
        name, _, extents = text.rstrip("]").partition("[")
        x = rng.standard_normal(tuple(int(n) for n in extents.split(",") if n))
        made.append((x > 0 if name == "i1" else x).astype(array_dtype(name)))
    return made


def held(types: str, body: Callable[..., Any], arrays: list[Any] | None = None, *, kernels: int = 3, ulps: float = 16) -> Any:
    """A program on both targets; the native one is three kernels: keys and values into panels, and the attention."""
    module = program(types, body)
    native, reference = (mind_runtime.compile(module, target=t) for t in ("native", "numpy"))
    arrays = arrays or arrays_of(types)
    with np.errstate(all="ignore"):
        expected = reference(*arrays)
    assert_close(native(*arrays), expected, ulps=ulps, scale=4)
    lines = native.explain()[1:]
    if kernels:
        assert any("attention of" in line for line in lines), lines
        assert len(lines) == kernels, lines
    return native


SHAPES = [(1, 1, 5, 5, 8, 8), (2, 3, 17, 33, 16, 24), (1, 2, 61, 130, 64, 64), (2, 1, 100, 7, 5, 3), (1, 1, 49, 300, 40, 70)]
"""Batch, heads, queries, keys, depth, columns of values."""


def types_of(dims: tuple[int, ...], dtype: str = "f32") -> str:
    b, h, s, t, d, e = dims
    return f"{dtype}[{b},{h},{s},{d}] {dtype}[{b},{h},{t},{d}] {dtype}[{b},{h},{t},{e}]"


@pytest.mark.parametrize("dims", SHAPES, ids=str)
def test_shapes(dims: tuple[int, ...]) -> None:
    held(types_of(dims), attention)


@pytest.mark.parametrize("dims", SHAPES[1:4], ids=str)
@pytest.mark.parametrize("isa", RUNNABLE[1:])
def test_lesser_machines(dims: tuple[int, ...], isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIND_NATIVE_ISA", isa)
    held(types_of(dims), attention)


def plain(q: Any, k: Any, v: Any) -> Any:
    s = ptir.DotGeneralOp(q, ptir.TransposeOp(k, perm=(0, 1, 3, 2)), **MATMUL)
    return ptir.DotGeneralOp(softmax(ptir.MulOp(s, like(s, 0.25))), v, **MATMUL)


@pytest.mark.parametrize("dims", SHAPES[:3], ids=str)
def test_f64(dims: tuple[int, ...]) -> None:
    held(types_of(dims, "f64"), plain)


MASKS: dict[str, tuple[str, Callable[..., Any]]] = {
    "causal, added": ("", lambda s: causal(s, -1e9)),
    "causal, infinite": ("", lambda s: causal(s, -np.inf)),
    "causal, selected": ("", lambda s: selected(s, -1e5)),
    "given": ("f32[1,1,61,130]", lambda s, m: ptir.AddOp(s, spread(m, s))),
    "of keys": ("f32[1,1,1,130]", lambda s, m: ptir.AddOp(s, spread(m, s))),
    "truths": ("i1[61,130]", lambda s, m: ptir.SelectOp(spread(m, s), s, like(s, -np.inf))),
    "window": ("", lambda s: window(s, 9)),
    "linear bias": ("", lambda s: linear_bias(s, 0.0625)),
    "capped": ("", lambda s: capped(s, 2.0)),
    "capped, biased, in a window": ("", lambda s: window(linear_bias(capped(s, 2.0), 0.0625), 9)),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("keys", [0, 64])
@pytest.mark.parametrize("name", MASKS)
def test_masks(name: str, keys: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where keys come in blocks."""
    in_blocks(monkeypatch, keys)
    other, mask = MASKS[name]
    types = f"{types_of((1, 2, 61, 130, 64, 64))} {other}"
    native = held(types, lambda q, k, v, *m: attention(q, k, v, mask=lambda s: mask(s, *m)), kernels=0)
    assert any("attention of" in line for line in native.explain())


@pytest.mark.parametrize("hidden", [-80.0, -90.0, -100.0, -1e9])
def test_weights_that_are_no_normal_numbers(hidden: float) -> None:
    """Masks of shifted windows, which are added: weights are tiny, subnormal or 0; one row has hidden keys alone."""
    mask = np.where(rng.random((49, 49)) < 0.3, hidden, 0).astype(np.float32)
    mask[3] = hidden
    types = types_of((2, 3, 49, 49, 32, 32))
    arrays = [*arrays_of(types), mask]
    held(f"{types} f32[49,49]", lambda q, k, v, m: attention(q, k, v, mask=lambda s: ptir.AddOp(s, spread(m, s))), arrays)


def in_blocks(monkeypatch: pytest.MonkeyPatch, keys: int) -> None:
    """Leave a unit of work too little scratch memory for all keys at once, however few rows its tiles have."""
    if keys:
        monkeypatch.setattr(plan, "SCRATCH", 25 << 10)
        monkeypatch.setattr(plan, "KEYS", keys)


@pytest.mark.parametrize("dims", [(2, 3, 61, 400, 64, 24), (1, 1, 100, 700, 33, 65)], ids=str)
@pytest.mark.parametrize("keys", [32, 96])
def test_keys_in_blocks(dims: tuple[int, ...], keys: int, monkeypatch: pytest.MonkeyPatch) -> None:
    in_blocks(monkeypatch, keys)
    native = held(types_of(dims), attention)
    assert "keys at a time" in native.explain()[-1]


def test_many_keys_are_in_blocks() -> None:
    native = held("f32[1,1,20,8] f32[1,1,9000,8] f32[1,1,9000,8]", attention)
    assert "keys at a time" in native.explain()[-1]


def hides(compare: str, hidden: float, *, extra: Any = None, joined: Any = ptir.AndOp) -> Callable[[Any], Any]:
    """A mask that shows keys which compare so with their rows, as an array of truths repeated for all matrices."""

    def mask(s: Any) -> Any:
        rows, columns = (ptir.IotaOp(shape=shape(s)[-2:], dtype="si32", axis=a) for a in (0, 1))
        seen = ptir.CompareOp(columns, rows, kind=compare)
        if extra is not None:
            seen = joined(seen, extra(rows, columns))
        return ptir.SelectOp(spread(seen, s), s, like(s, hidden))

    return mask


FAR = "as far as a causal mask shows them"
CAUSAL: dict[str, Callable[[Any], Any]] = {
    "infinite": hides("less_equal", -np.inf),
    "finite": hides("less_equal", -1e9),
    "without its own key": hides("less", -1e9),
    "without its own key, infinite": hides("less", -np.inf),
    "in a window": lambda s: window(s, 9),
    "in blocks": hides("less_equal", -1e9, extra=lambda r, c: ptir.CompareOp(c, like(c, 7), kind="greater")),
    "added, infinite": lambda s: causal(s, -np.inf),
    "added, beyond": lambda s: causal(s, -3e38),
    "with a bias after it": lambda s: linear_bias(selected(s, -1e38), 0.5),
    "of a wider dtype": lambda s: ptir.CastOp(selected(ptir.CastOp(s, dtype="f64"), -1e300), dtype="f32"),
}
SEEN: dict[str, Callable[[Any], Any]] = {
    "of later keys": hides("greater_equal", -np.inf),
    "of its own key": hides("equal", -np.inf),
    "or others": hides("less_equal", -np.inf, extra=lambda r, c: ptir.CompareOp(c, like(c, 7), kind="greater"), joined=ptir.OrOp),
    "added, near": lambda s: causal(s, -1e9),
    "with a bias after it, near": lambda s: linear_bias(selected(s, -1e9), 0.5),
}


@pytest.mark.parametrize("dims", [(2, 2, 100, 100, 8, 16), (1, 1, 70, 130, 16, 8), (1, 2, 130, 65, 8, 40)], ids=str)
@pytest.mark.parametrize("name", [*CAUSAL, *SEEN])
def test_keys_that_no_row_sees_are_left_out(name: str, dims: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where it is known beforehand that they have no weight, or found out."""
    monkeypatch.setattr(plan, "CAUSAL_KEYS", 32)
    mask = {**CAUSAL, **SEEN}[name]
    native = held(types_of(dims), lambda q, k, v: attention(q, k, v, mask=mask), kernels=0)
    assert any(FAR in line for line in native.explain()) == (name in CAUSAL)


@pytest.mark.parametrize("softmax", [softmax, guarded_softmax])
@pytest.mark.parametrize("scale", [-1e4, -3.0, 1e4])
@pytest.mark.parametrize("hidden", [-2e4, -1e5, -np.inf])
def test_hidden_keys_count_beside_scores_that_are_less(hidden: float, scale: float, softmax: Any, monkeypatch: Any) -> None:
    """Some rows have scores around the number that hides, or below it."""
    monkeypatch.setattr(plan, "CAUSAL_KEYS", 32)
    dims = (1, 2, 100, 100, 8, 16)
    q, k, v = arrays_of(types_of(dims))
    q[0, 0, :50] = 0
    q[0, 1, 40], q[0, 1, 80, 0] = np.nan, np.inf

    def body(q: Any, k: Any, v: Any) -> Any:
        return attention(q, k, v, scale=scale, mask=hides("less_equal", hidden), softmax=softmax)

    native = held(types_of(dims), body, [q, np.abs(k), v], kernels=0)
    assert any(FAR in line for line in native.explain())


def test_values_of_keys_that_no_row_sees_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are multiplied by 0 otherwise, which is NaN where they are not finite."""
    monkeypatch.setattr(plan, "CAUSAL_KEYS", 32)
    dims = (1, 1, 96, 96, 8, 16)
    q, k, v = arrays_of(types_of(dims))
    module = program(types_of(dims), lambda q, k, v: attention(q, k, v, mask=hides("less_equal", -np.inf)))
    native = mind_runtime.compile(module, target="native")
    wanted = native(q, k, v)
    v[0, 0, 64:] = np.nan
    found = native(q, k, v)
    np.testing.assert_array_equal(found[0, 0, :12], wanted[0, 0, :12])
    assert np.isnan(found[0, 0, 64:]).all()


def specials(dims: tuple[int, ...]) -> list[Any]:
    """Infinite and NaN scores and values in some rows, rows that hide every key, rows whose first keys are hidden."""
    b, h, s, t = dims[:4]
    q, k, v = arrays_of(types_of(dims))
    mask = np.zeros((b, h, s, t), np.float32)
    q[0, 0, 0, 0], q[0, 0, 1, 1], q[0, 0, 2, :] = np.nan, np.inf, 1e30
    k[0, -1, 3, 2], k[0, -1, 4, 1] = np.nan, -np.inf
    v[-1, 0, 5, 0], v[-1, 0, 6, 1], v[-1, 0, 7, 2] = np.inf, np.nan, -np.inf
    mask[:, :, 4], mask[:, :, 5, :-1], mask[:, :, 6, : t // 2], mask[:, :, 7, t // 2 :] = -np.inf, -np.inf, -np.inf, -np.inf
    mask[:, :, 8, 9], mask[:, :, 9, 9] = np.inf, np.nan
    mask[:, :, 10] = -3e38
    return [q, k, v, mask]


@pytest.mark.parametrize("keys", [0, 32])
def test_special_values(keys: int, monkeypatch: pytest.MonkeyPatch) -> None:
    in_blocks(monkeypatch, keys)
    dims = (2, 2, 30, 400, 8, 16)
    types = f"{types_of(dims)} f32[2,2,30,400]"
    native = held(types, lambda q, k, v, m: attention(q, k, v, mask=lambda s: ptir.AddOp(s, m)), specials(dims))
    assert ("keys at a time" in native.explain()[-1]) == bool(keys)


@pytest.mark.parametrize("keys", [0, 32])
def test_queries_without_keys_give_0_where_guarded(keys: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside infinite, NaN and hidden scores; values are finite, as 0 times others is NaN."""
    in_blocks(monkeypatch, keys)
    dims = (2, 2, 30, 400, 8, 16)
    types = f"{types_of(dims)} f32[2,2,30,400]"
    arrays = specials(dims)
    arrays[2] = np.where(np.isfinite(arrays[2]), arrays[2], np.float32(1))

    def body(q: Any, k: Any, v: Any, m: Any) -> Any:
        return attention(q, k, v, mask=lambda s: ptir.AddOp(s, m), softmax=guarded_softmax)

    native = held(types, body, arrays)
    assert ("keys at a time" in native.explain()[-1]) == bool(keys)
    found = native(*arrays)
    assert not found[1, :, 4].any()
    assert np.isnan(attended(types, arrays)[1, :, 4]).all()


def attended(types: str, arrays: list[Any]) -> Any:
    """The attention that is not guarded."""
    body = program(types, lambda q, k, v, m: attention(q, k, v, mask=lambda s: ptir.AddOp(s, m)))
    return mind_runtime.compile(body, target="native")(*arrays)


@pytest.mark.parametrize("softmax", [softmax, guarded_softmax])
def test_groups_of_queries_share_panels(softmax: Callable[..., Any]) -> None:
    """Keys and values of 2 heads for 6 of queries are packed once for each head of keys."""
    shared = held("f32[2,6,40,16] f32[2,2,50,16] f32[2,2,50,24]", lambda *x: grouped(*x, 3, softmax=softmax))
    apart = held("f32[2,6,40,16] f32[2,6,50,16] f32[2,6,50,24]", attention)
    assert 2 * arena(shared) < arena(apart)


def arena(native: Any) -> int:
    return int(native.explain()[0].rpartition("arena ")[2].split()[0])


def test_layouts() -> None:
    """
    Heads beside each other in one array of all three, as transformers have them, also in the result; scores without a scale.

    Nothing is copied but keys and values into panels.
    """

    def body(x: Any) -> Any:
        parts = [ptir.SliceOp(x, starts=(0, 0, i, 0, 0), sizes=(2, 40, 1, 3, 16)) for i in range(3)]
        q, k, v = (ptir.TransposeOp(ptir.ReshapeOp(p, new_shape=(2, 40, 3, 16)), perm=(0, 2, 1, 3)) for p in parts)
        y = ptir.DotGeneralOp(softmax(scores(q, k)), v, **MATMUL, accum_dtype="f32")
        heads = ptir.ReshapeOp(ptir.TransposeOp(y, perm=(0, 2, 1, 3)), new_shape=(2, 40, 48))
        return ptir.MulOp(heads, like(heads, 2.0))

    held("f32[2,40,3,3,16]", body, kernels=4)


def test_shared_keys_and_values() -> None:
    """One head of keys and values for several of queries, by a broadcast."""

    def body(q: Any, k: Any, v: Any) -> Any:
        return attention(q, *(ptir.BroadcastToOp(x, result_shape=(2, 3, 40, 16)) for x in (k, v)))

    held("f32[2,3,40,16] f32[2,1,40,16] f32[2,1,40,16]", body)


OTHERS: dict[str, tuple[str, Callable[..., Any]]] = {
    "few queries": (types_of((1, 2, 1, 130, 64, 64)), attention),
    "a reader of the weights": (
        types_of((1, 2, 20, 30, 8, 8)),
        lambda q, k, v: [w := softmax(scores(q, k)), ptir.DotGeneralOp(w, v, **MATMUL)],
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_several_kernels(name: str) -> None:
    types, body = OTHERS[name]
    native, reference = (mind_runtime.compile(program(types, body), target=t) for t in ("native", "numpy"))
    arrays = arrays_of(types)
    for a, b in zip(*(f if isinstance(f, tuple) else (f,) for f in (native(*arrays), reference(*arrays))), strict=True):
        assert_close(a, b, ulps=16, scale=4)
    assert not any("attention of" in line for line in native.explain())


def test_scores_are_in_no_memory() -> None:
    native = held("f32[1,4,600,64] f32[1,4,600,64] f32[1,4,600,64]", attention)
    panels = 2 * 4 * 640 * 64 * 4
    assert int(native.explain()[0].rpartition("arena ")[2].split()[0]) <= panels


@pytest.mark.parametrize("keys", [0, 32])
def test_checked(keys: int, monkeypatch: pytest.MonkeyPatch) -> None:
    in_blocks(monkeypatch, keys)
    monkeypatch.setenv("MIND_NATIVE_CHECKS", "1")
    held(types_of(SHAPES[2]), lambda q, k, v: attention(q, k, v, mask=lambda s: causal(s, -1e9)), kernels=0)


def test_results_do_not_depend_on_threads() -> None:
    types = types_of((2, 4, 200, 300, 64, 64))
    module, arrays = program(types, attention), arrays_of(types)
    alone = mind_runtime.compile(module, target="native", threads=1)(*arrays)
    shared = mind_runtime.compile(module, target="native", threads=3)
    for _ in range(3):
        assert shared(*arrays).tobytes() == alone.tobytes()
