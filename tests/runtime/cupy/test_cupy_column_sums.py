"""Kernels of rows that are summed over the rows too: what NumPy gives, the same bits in every order, and where there are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cuda_emulation import compiled, compiler
from cupy_agreement import agree, arguments, in_one_batch
from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.program import functions
from mind_dialect.ptir import FusionOp, ReduceOp
from mind_lowering.cupy.kernels import column_sums
from mind_lowering.cupy.prepare import prepared
from ptir_forms import like, program, reduce, softmax, spread

pytest.importorskip("ml_dtypes", reason="no ml_dtypes: narrow floats have no arrays to compare with")


def over_rows(x: Any, kind: str = "sum", keepdims: bool = False) -> Any:
    """A reduction over all axes but the last."""
    rank = len(ptir.types.read_type(x.type if hasattr(x, "type") else x.results[0].type).shape)
    return ReduceOp(x, kind=kind, axes=tuple(range(rank - 1)), keepdims=keepdims)


def of_layer_norm(dy: Any, x: Any, gamma: Any) -> Any:
    """The gradients of a layer norm: of rows, of its weights, and of a bias before it."""
    mean = ptir.MulOp(reduce(x, "sum"), like(reduce(x, "sum"), 1 / 64))
    centred = ptir.SubOp(x, spread(mean, x))
    dx = ptir.MulOp(dy, spread(gamma, x))
    dx = ptir.SubOp(dx, ptir.MulOp(centred, spread(reduce(ptir.MulOp(dx, centred), "sum"), x)))
    return [dx, over_rows(dy), over_rows(ptir.MulOp(dy, centred)), over_rows(dx)]


def updated(dy: Any, w: Any, m: Any) -> Any:
    """A softmax, and weights that are updated by sums over its rows."""
    y = softmax(dy)
    total = over_rows(y, keepdims=True)
    grown = ptir.AddOp(ptir.MulOp(m, like(m, 0.9)), ptir.ReshapeOp(total, new_shape=ptir.types.read_type(m.type).shape))
    return [grown, y, ptir.SubOp(w, ptir.MulOp(grown, like(w, 0.1)))]


def many_kinds(x: Any) -> Any:
    rows = ptir.SubOp(x, spread(reduce(x, "max"), x))
    return [over_rows(rows, kind) for kind in ("sum", "max", "min", "prod", "sum", "max")] + [reduce(rows, "min"), rows]


def integers(x: Any) -> Any:
    return [over_rows(x), over_rows(x, "xor"), over_rows(x, "max"), reduce(x, "sum"), over_rows(x, "or")]


def dividing(x: Any, y: Any, w: Any) -> Any:
    """Divisions that fail, in rows and behind the sums of columns."""
    q = ptir.DivOp(x, y)
    return [reduce(q, "sum"), ptir.DivOp(over_rows(q), w)]


def of_activation(dy: Any, x: Any) -> Any:
    """The gradient of an activation, and its sums over the rows."""
    t = ptir.TanhOp(x)
    dx = ptir.MulOp(dy, ptir.SubOp(like(x, 1.0), ptir.MulOp(t, t)))
    return [dx, over_rows(dx), over_rows(dy, "max")]


def averages(x: Any, w: Any) -> Any:
    """Nothing but columns, and what follows their totals."""
    mean = ptir.MulOp(over_rows(x), like(w, 0.125))
    return [ptir.SubOp(w, mean), ptir.MulOp(mean, mean)]


def positions(x: Any) -> Any:
    first = ptir.ArgMaxOp(x, axis=-1, keepdims=True, output_dtype="si32")
    return [first, over_rows(x)]


FORMS: dict[str, tuple[str, Callable[..., Any]]] = {
    **{f"layer norm {t}": (f"{t}[40,64] {t}[40,64] {t}[64]", of_layer_norm) for t in ("f32", "f64")},
    "layer norm of two types": ("f32[4,30,64] f32[4,30,64] f32[64]", of_layer_norm),
    **{f"width {n}": (f"f32[{r},{n}] f32[{r},{n}] f32[{n}]", of_layer_norm) for n, r in
       ((2, 3000), (3, 2999), (5, 1200), (8, 1100), (31, 700), (33, 301), (100, 150), (129, 90), (257, 50), (768, 41), (1000, 33),
        (4096, 17), (6000, 18), (8192, 16))},
    **{f"activation {t} {n}": (f"{t}[{r},{n}] {t}[{r},{n}]", of_activation) for t, n, r in
       (("f32", 512, 30), ("f64", 48, 100), ("f32", 7, 900), ("f32", 1001, 31), ("f32", 8192, 9))},
    "averages": ("f32[5,200,96] f32[96]", averages),
    "averages f64": ("f64[300,130] f64[130]", averages),
    "pairs": ("f32[3000,2] f32[2]", averages),
    "products": ("si64[300,12]", lambda x: [over_rows(x, "prod"), over_rows(x, "or")]),
    "update": ("f32[4,50,48] f32[48] f32[48]", updated),
    "update f64": ("f64[301,7] f64[1,7] f64[1,7]", updated),
    "many kinds": ("f32[70,200]", many_kinds),
    "many kinds of long rows": ("f64[40,3000]", many_kinds),
    "square": ("f32[96,96]", lambda x: [over_rows(x), softmax(x)]),
    "integers": ("si32[120,60]", integers),
    "bytes": ("ui8[500,24]", lambda x: [over_rows(x, "max"), reduce(x, "max"), over_rows(x, "and")]),
    "dividing": ("si32[70,24] si32[70,24] si32[24]", dividing),
    "positions": ("f32[70,200]", positions),
}  # fmt: skip


def cast_sums(t: str) -> Callable[..., Any]:
    def body(x: Any) -> Any:
        wide = ptir.CastOp(x, dtype="f32")
        y = softmax(wide)
        return [ptir.CastOp(y, dtype=t), over_rows(y), ptir.CastOp(over_rows(ptir.MulOp(y, wide)), dtype=t)]

    return body


def narrow_activation(t: str) -> Callable[..., Any]:
    def body(dy: Any, x: Any) -> Any:
        dx = ptir.MulOp(ptir.CastOp(dy, dtype="f32"), ptir.TanhOp(ptir.CastOp(x, dtype="f32")))
        return [ptir.CastOp(dx, dtype=t), over_rows(dx)]

    return body


FORMS |= {f"activation {t}": (f"{t}[70,200] {t}[70,200]", narrow_activation(t)) for t in ("bf16", "f16")}
FORMS |= {f"softmax {t}": (f"{t}[64,240]", cast_sums(t)) for t in ("bf16", "f16")}


@pytest.fixture
def few_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few rows be enough."""
    monkeypatch.setattr(column_sums, "ENOUGH_BLOCKS", 2)
    monkeypatch.setattr(column_sums, "LEAST_ROWS", 1)
    monkeypatch.setattr(column_sums, "RESIDENT", 1200)


def fusions(module: Any) -> list[FusionOp]:
    return [op for op in walk(prepared(next(iter(functions(module))))) if isinstance(op, FusionOp)]


@pytest.mark.usefixtures("few_blocks")
def test_they_give_what_numpy_gives_in_every_order() -> None:
    compiler()
    modules = [(name, program(*form)) for name, form in FORMS.items()]
    for name, module in modules:
        assert len(fusions(module)) == 1, name
    batch, made = in_one_batch(modules)
    assert batch.text().count("column0[") > len(modules)
    for i, (name, run, module) in enumerate(made):
        values = arguments(run, i)
        agree(name, run, module, values)
        if name == "dividing":
            continue
        first = run(*values)
        for _ in range(2):
            for x, y in zip(first, run(*values), strict=True):
                assert x.tobytes() == y.tobytes(), name


@pytest.mark.parametrize("machine", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.usefixtures("few_blocks")
def test_nvrtc_takes_them(machine: str) -> None:
    batch, _ = in_one_batch([(name, program(*form)) for name, form in FORMS.items()])
    assert compiled(batch.text(), machine)


@pytest.mark.usefixtures("few_blocks")
def test_divisions_in_them_fail_once_and_as_on_numpy() -> None:
    compiler()
    module = program(*FORMS["dividing"])
    _, ((_, run, _),) = in_one_batch([("", module)])
    x, y, w = (v + v.dtype.type(1) for v in arguments(run, 0))
    agree("none", run, module, [x, y, w])
    zero = w.copy()
    zero[5] = 0
    agree("behind", run, module, [x, y, zero])
    y[69, 23] = y[30, 1] = 0
    agree("rows", run, module, [x, y, w])


def test_rows_of_a_real_size_are_summed_in_several_blocks() -> None:
    compiler()
    module = program("f32[4,512,512] f32[4,512,512] f32[512]", of_layer_norm)
    assert len(fusions(module)) == 1
    batch, ((_, run, _),) = in_one_batch([("", module)])
    agree("", run, module, arguments(run, 0))
    assert "is_last" in batch.text()


def other(x: Any, y: Any, gamma: Any) -> Any:
    """Two arrays that have only a row of weights in common."""
    return [softmax(ptir.MulOp(x, spread(gamma, x))), over_rows(ptir.MulOp(y, spread(gamma, y)))]


def centred_columns(x: Any) -> Any:
    """The sums over rows are needed before the rows are reduced."""
    return [softmax(ptir.SubOp(x, spread(over_rows(x), x)))]


def whole_of_columns(x: Any) -> Any:
    return [ptir.SubOp(x, spread(over_rows(x), x)), reduce(x, "sum")]


SEPARATE: dict[str, tuple[str, Callable[..., Any]]] = {
    "few rows": ("f32[500,256] f32[500,256] f32[256]", of_layer_norm),
    "few rows of few": ("f32[4000,64] f32[4000,64] f32[64]", of_layer_norm),
    "too long": ("f32[2048,20000]", lambda x: [softmax(x), over_rows(x)]),
    "other arrays": ("f32[2048,512] f32[2048,512] f32[512]", other),
    "needed before": ("f32[2048,512]", centred_columns),
    "needed by elements": ("f32[2048,512]", whole_of_columns),
    "square": ("f32[1024,1024]", lambda x: [over_rows(x), reduce(x, "sum", keepdims=False)]),
    "everything": ("f32[2048,512]", lambda x: [softmax(x), ReduceOp(x, kind="sum", axes=(0, 1), keepdims=False)]),
    "one axis of three": ("f32[4,2048,512]", lambda x: [softmax(x), reduce(x, "sum", 1)]),
    "greatest of columns": (
        "f32[2048,512]",
        lambda x: [softmax(x), ptir.ArgMaxOp(x, axis=0, keepdims=False, output_dtype="si32")],
    ),
    "narrow sums": ("bf16[2048,512]", lambda x: [softmax(x), reduce(x, "sum", 0, accum_dtype="bf16")]),
}


@pytest.mark.parametrize("name", SEPARATE)
def test_what_stays_several_kernels(name: str) -> None:
    for op in fusions(program(*SEPARATE[name])):
        assert len({o.values()["axes"] for o in op.body.block.ops if isinstance(o, ReduceOp)}) <= 1
