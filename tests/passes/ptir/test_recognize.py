"""ptir-recognize on the contract's library forms and builders' idioms; beside each, programs that are something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import ptir_forms as forms
from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.errors import MindError
from mind_dialect.ptir import FusionOp, PtirOp
from mind_dialect.ptir.types import read_type
from mind_dialect.verify import verify
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_passes.ptir.canonicalize import canonicalize
from mind_passes.ptir.cse import eliminate_common
from mind_passes.ptir.patterns import PATTERNS
from mind_passes.ptir.recognize import recognize
from programs import parse
from ptir_evaluator import evaluate, function_of, same_bits

INF = float("inf")
QKV = "f32[2,3,5,4] f32[2,3,5,4] f32[2,3,5,4]"
NORM = "f32[3,4,8] f32[8] f32[8]"
IMAGE = "f32[2,6,7,4] "

PLAIN = {"mul", "add", "sub", "and"}
"""Ops that may be left over."""

Body = Callable[..., Any]
FOUND: dict[str, tuple[str, Body, str]] = {
    "attention, heads in another order": (
        QKV,
        lambda q, k, v: ptir.DotGeneralOp(
            forms.softmax(forms.scores(q, k)), v, **{**forms.MATMUL, "batch_lhs": (1, 0), "batch_rhs": (1, 0)}
        ),
        "attention",
    ),
    "softmax, contract": ("f32[3,5]", forms.library_softmax, "softmax"),
    "softmax, first axis": ("f32[3,5]", lambda z: forms.softmax(z, 0), "softmax"),
    "softmax, axes dropped": ("f32[3,5,2]", lambda z: forms.softmax(z, 1, reduced=forms.dropped), "softmax"),
    "softmax, reciprocal": ("f64[3,5]", forms.softmax_by_reciprocal, "softmax"),
    "softmax, dynamic": ("f32[B,5]", forms.softmax, "softmax"),
    "softmax in bf16": ("bf16[3,5]", forms.softmax, "softmax"),
    "softmax, guarded": ("f32[3,5]", forms.guarded_softmax, "softmax"),
    "softmax, guarded, first axis": ("f64[3,5]", lambda z: forms.guarded_softmax(z, 0), "softmax"),
    "gelu": ("f32[3,5]", forms.gelu, "gelu"),
    "gelu, division": ("f64[3,5]", forms.gelu_by_division, "gelu"),
    "gelu, half of the sum": ("f16[3,5]", forms.gelu_of_half_sum, "gelu"),
    "gelu of a product": ("f32[3] f32[3]", lambda x, y: forms.gelu(ptir.MulOp(x, y)), "gelu mul"),
    "gelu by tanh": ("f32[3,5]", forms.gelu_tanh, "gelu_tanh"),
    "gelu by tanh, a power": ("f64[3,5]", lambda x: forms.gelu_tanh(x, forms.power), "gelu_tanh"),
    "gelu by tanh, products to the left": ("f32[3]", forms.gelu_tanh_left, "gelu_tanh"),
    "gelu by tanh in bf16": ("bf16[3]", forms.gelu_tanh, "gelu_tanh"),
    "gelu by tanh of a product": ("f32[3] f32[3]", lambda x, y: forms.gelu_tanh(ptir.MulOp(x, y)), "gelu_tanh mul"),
    "rms norm": ("f32[3,4,8] f32[8]", forms.rms_norm, "rms_norm"),
    "rms norm, division": ("f64[3,8] f64[8]", forms.rms_norm_by_division, "rms_norm"),
    "rms norm, first axis": ("f32[8,3] f32[8]", lambda x, g: forms.rms_norm(x, g, axis=0), "rms_norm"),
    "rms norm without gamma": ("bf16[3,8]", forms.rms, "rms_norm"),
    "rms norm, dynamic": ("f32[B,8] f32[8]", forms.rms_norm, "rms_norm"),
    "layer norm without gamma and beta": ("f32[3,4,8]", forms.normal, "layer_norm"),
    "layer norm without beta": (
        "f64[3,8] f64[8]", lambda x, g: ptir.MulOp(forms.spread(g, x), forms.normal(x)), "layer_norm"
    ),
    "layer norm without gamma": ("f32[3,8] f32[8]", lambda x, b: ptir.AddOp(forms.normal(x), forms.spread(b, x)), "layer_norm"),
    "layer norm, what is added is no vector": (
        "f32[3,8] f32[3,8]", lambda x, y: ptir.AddOp(forms.normal(x), y), "layer_norm add"
    ),
    "layer norm, scale of another axis": (
        "f32[8,8] f32[8] f32[8]",
        lambda x, g, b: ptir.AddOp(ptir.MulOp(forms.normal(x), forms.along(g, x, 0)), forms.along(b, x, 1)),
        "layer_norm mul add",
    ),
    "layer norm": (NORM, forms.layer_norm, "layer_norm"),
    "layer norm, division": (NORM, forms.layer_norm_by_division, "layer_norm"),
    "layer norm, inner axis": ("f64[3,4,8] f64[4] f64[4]", lambda *v: forms.layer_norm(*v, axis=1), "layer_norm"),
    "layer norm, dynamic": ("f32[B,8] f32[8] f32[8]", forms.layer_norm, "layer_norm"),
    "two layer norms": (
        "f32[4,8] f32[8] f32[8]",
        lambda x, g, b: forms.layer_norm(forms.layer_norm(x, g, b), g, b),
        "layer_norm layer_norm",
    ),
    "attention, contract": (QKV, forms.attention, "attention"),
    "attention, -1e9": (QKV, lambda *v: forms.attention(*v, mask=lambda s: forms.causal(s, -1e9)), "attention"),
    "attention, -inf": (QKV, lambda *v: forms.attention(*v, mask=lambda s: forms.causal(s, -INF)), "attention"),
    "attention, selected": (QKV, lambda *v: forms.attention(*v, mask=lambda s: forms.selected(s, -INF)), "attention"),
    "attention, given bias": (
        QKV + " f32[5,5]",
        lambda q, k, v, m: forms.attention(q, k, v, mask=lambda s: ptir.AddOp(forms.spread(m, s), s)),
        "attention",
    ),
    "attention, guarded": (
        QKV, lambda *v: forms.attention(*v, mask=lambda s: forms.window(s, 2), softmax=forms.guarded_softmax),
        "attention sub and",
    ),
    "attention, window": (QKV, lambda *v: forms.attention(*v, mask=lambda s: forms.window(s, 2)), "attention sub and"),
    "attention, linear bias": (
        QKV, lambda *v: forms.attention(*v, mask=lambda s: forms.linear_bias(s, 0.5)), "attention sub mul"
    ),
    "attention, capped, biased and masked": (
        QKV,
        lambda *v: forms.attention(*v, mask=lambda s: forms.window(forms.linear_bias(forms.capped(s, 5.0), 0.5), 2)),
        "attention sub mul and",
    ),
    "attention, shared keys": (
        "f32[1,4,5,4] f32[1,2,5,4] f32[1,2,5,4]", lambda *v: forms.grouped(*v, 2), "attention"
    ),
    "attention, one step": (
        "f32[3,1,4] f32[3,6,4] f32[3,6,4]",
        lambda q, k, v: forms.dot(forms.softmax(forms.dot(q, k, (2,), (2,), ((0,), (0,)))), v, (2,), (1,), ((0,), (0,))),
        "attention",
    ),
    "attention, heads inside": (
        "f32[5,3,4] f32[6,3,4] f32[6,3,4]",
        lambda q, k, v: forms.dot(forms.softmax(forms.dot(q, k, (2,), (2,), ((1,), (1,)))), v, (2,), (0,), ((0,), (1,))),
        "attention",
    ),
    "attention, narrow weights": (
        "bf16[3,2,4] bf16[3,6,4] bf16[3,6,4]",
        lambda q, k, v: forms.dot(
            ptir.CastOp(
                forms.softmax(ptir.CastOp(forms.dot(q, k, (2,), (2,), ((0,), (0,))), dtype="f32")), dtype="bf16"
            ),
            v, (2,), (1,), ((0,), (0,)),
        ),
        "attention",
    ),
    "convolution, flat": (IMAGE + "f32[24,5]", forms.flat_convolution, "convolution"),
    "convolution, matrix": (IMAGE + "f32[24,5]", forms.matrix_convolution, "convolution"),
    "convolution, OIHW": (IMAGE + "f32[5,4,3,2]", forms.oihw_convolution, "convolution"),
    "convolution, groups": (IMAGE + "f32[2,3,2,3,2]", forms.grouped_convolution, "convolution"),
    "convolution, depthwise": (IMAGE + "f32[4,1,1,3,2]", forms.grouped_convolution, "convolution"),
    "convolution, weights first": (IMAGE + "f32[5,24]", forms.turned_convolution, "convolution"),
    "convolution, OIHW first": (IMAGE + "f32[5,4,3,2]", forms.turned_oihw_convolution, "convolution"),
    "convolution, groups first": (IMAGE + "f32[2,3,2,3,2]", forms.turned_grouped_convolution, "convolution"),
    "convolution of integers": (
        "si32[2,6,7,4] si32[24,5]", lambda x, w: forms.flat_convolution(x, w, pad_value=0), "convolution"
    ),
    "convolution, other padding unused": (
        IMAGE + "f32[24,5]",
        lambda x, w: forms.flat_convolution(x, w, pad_value=1.0, padding=((0, 0), (0, 0))),
        "convolution",
    ),
}  # fmt: skip

SOFTMAX_ELSE = {
    "sum along another axis": ("f32[5,5]", lambda z: forms.softmax(z, 0, sum_axis=1)),
    "greatest of something else": (
        "f32[3,5] f32[3,5]",
        lambda z, y: ptir.DivOp(
            e := ptir.ExpOp(ptir.SubOp(z, forms.spread(forms.reduce(y, "max"), z))), forms.spread(forms.reduce(e, "sum"), e)
        ),
    ),
    "least instead of greatest": (
        "f32[3,5]",
        lambda z: ptir.DivOp(
            e := ptir.ExpOp(ptir.SubOp(z, forms.spread(forms.reduce(z, "min"), z))), forms.spread(forms.reduce(e, "sum"), e)
        ),
    ),
    "exponentials are used elsewhere": (
        "f32[3,5]",
        lambda z: [e := ptir.ExpOp(ptir.SubOp(z, forms.spread(forms.reduce(z, "max"), z))),
                   ptir.DivOp(e, forms.spread(forms.reduce(e, "sum"), e))],
    ),
    "a row stretched along the wrong axis": (
        "f32[5,5]",
        lambda z: softmax_across(z),
    ),
    "guarded by another number": ("f32[3,5]", lambda z: forms.guarded_softmax(z, sum=(0.0, 2.0))),
    "guarded from another number": ("f32[3,5]", lambda z: forms.guarded_softmax(z, max=(-1e9, 0.0))),
    "the sum alone guarded": (
        "f32[3,5]", lambda z: forms.softmax(z, reduced=lambda x, kind, axis: forms.otherwise(r, 0.0, 1.0)
                                            if (r := forms.reduce(x, kind, axis)) is not None and kind == "sum" else r)
    ),
    "along two axes": (
        "f32[2,3,5]",
        lambda z: ptir.DivOp(
            e := ptir.ExpOp(ptir.SubOp(z, forms.spread(both(z, "max"), z))), forms.spread(both(e, "sum"), e)
        ),
    ),
}  # fmt: skip


def both(x: Any, kind: str) -> Any:
    return ptir.ReduceOp(x, kind=kind, axes=(1, 2), keepdims=True)


def softmax_across(z: Any) -> Any:
    """The sums of the rows divide the columns: the shapes of a square do not tell."""
    e = ptir.ExpOp(ptir.SubOp(z, forms.spread(forms.reduce(z, "max"), z)))
    sums = forms.reduce(e, "sum", keepdims=False)
    return ptir.DivOp(e, forms.spread(sums, e))


ELSE: dict[str, tuple[str, Body, str]] = {
    **{f"softmax, {name}": (types, body, "softmax") for name, (types, body) in SOFTMAX_ELSE.items()},
    "gelu, 0.6": ("f32[3]", lambda x: forms.not_gelu(x, half=0.6), "gelu"),
    "gelu, another root": ("f32[3]", lambda x: forms.not_gelu(x, root=0.7), "gelu"),
    "gelu, plus 2": ("f32[3]", lambda x: forms.not_gelu(x, one=2.0), "gelu"),
    "gelu, of two numbers": (
        "f32[3] f32[3]",
        lambda x, y: ptir.MulOp(
            ptir.MulOp(y, forms.like(x, 0.5)),
            ptir.AddOp(ptir.ErfOp(ptir.MulOp(x, forms.like(x, 0.5**0.5))), forms.like(x, 1.0)),
        ),
        "gelu",
    ),
    "gelu, erf is used elsewhere": (
        "f32[3]",
        lambda x: [
            e := ptir.ErfOp(ptir.MulOp(x, forms.like(x, 0.5**0.5))),
            ptir.MulOp(ptir.MulOp(x, forms.like(x, 0.5)), ptir.AddOp(e, forms.like(x, 1.0))),
        ],
        "gelu",
    ),
    "layer norm, wrong count": (NORM, lambda *v: forms.layer_norm(*v, count=7), "layer_norm"),
    "layer norm, negative epsilon": (NORM, lambda *v: forms.layer_norm(*v, epsilon=-1e-5), "layer_norm"),
    "layer norm in bf16": ("bf16[3,8] bf16[8] bf16[8]", forms.layer_norm, "layer_norm"),
    "gelu by tanh, another coefficient": ("f32[3]", lambda x: forms.gelu_tanh(x, coefficient=0.05), "gelu_tanh"),
    "gelu by tanh, another root": ("f32[3]", lambda x: forms.gelu_tanh(x, root=0.5), "gelu_tanh"),
    "gelu by tanh, a square": ("f32[3]", lambda x: forms.gelu_tanh(x, lambda v: forms.power(v, 2.0)), "gelu_tanh"),
    "gelu by tanh, a fourth power": (
        "f32[3]", lambda x: forms.gelu_tanh(x, lambda v: ptir.MulOp(forms.cube(v), v)), "gelu_tanh"
    ),
    "gelu by tanh, the cube of another": (
        "f32[3] f32[3]", lambda x, y: forms.gelu_tanh(x, lambda v: ptir.MulOp(ptir.MulOp(v, v), y)), "gelu_tanh"
    ),
    "gelu by tanh, the cube is returned": (
        "f32[3]", lambda x: [c := forms.cube(x), forms.gelu_tanh(x, lambda _: c)], "gelu_tanh"
    ),
    "gelu by tanh is not by erf": ("f32[3]", forms.gelu_tanh, "gelu"),
    "gelu by erf is not by tanh": ("f32[3]", forms.gelu, "gelu_tanh"),
    "rms norm, of something else": ("f32[3,8] f32[3,8]", lambda x, y: forms.rms(x, of=y), "rms_norm"),
    "rms norm, negative epsilon": ("f32[3,8]", lambda x: forms.rms(x, epsilon=-1e-3), "rms_norm"),
    "rms norm of integers does not exist": ("si32[3,8]", lambda x: forms.reduce(ptir.MulOp(x, x), "sum"), "rms_norm"),
    "rms norm, a layer norm is none": ("f32[3,8]", forms.normal, "rms_norm"),
    "attention, softmax along queries": (
        QKV,
        lambda q, k, v: ptir.DotGeneralOp(forms.softmax(forms.scores(q, k), -2), v, **forms.MATMUL),
        "attention",
    ),
    "attention, weights are returned": (
        QKV,
        lambda q, k, v: [p := forms.softmax(forms.scores(q, k)), ptir.DotGeneralOp(p, v, **forms.MATMUL)],
        "attention",
    ),
    "attention, selected mild numbers": (
        QKV, lambda *v: forms.attention(*v, mask=lambda s: forms.selected(s, -1.0)), "attention"
    ),
    "attention, queries contracted": (
        QKV,
        lambda q, k, v: ptir.DotGeneralOp(
            forms.softmax(forms.scores(q, k)), v, **{**forms.MATMUL, "contract_lhs": (2,)}
        ),
        "attention",
    ),
    "convolution, padded with ones": (
        IMAGE + "f32[24,5]", lambda x, w: forms.flat_convolution(x, w, pad_value=1.0), "convolution"
    ),
    "convolution, patches are returned": (
        IMAGE + "f32[24,5]", lambda x, w: [p := forms.patches(x), forms.dot(p, w, (3,), (0,))], "convolution"
    ),
    "convolution, weights first, padded with ones": (
        IMAGE + "f32[5,24]", lambda x, w: forms.dot(w, forms.patches(x, 1.0), (1,), (3,)), "convolution"
    ),
    "convolution, only half contracted": (
        IMAGE + "f32[12,5]",
        lambda x, w: forms.dot(ptir.ReshapeOp(p := forms.patches(x), new_shape=(*forms.shape(p)[:3], 2, 12)), w, (4,), (0,)),
        "convolution",
    ),
    "convolution, groups before the window": (
        IMAGE + "f32[2,5,12]",
        lambda x, w: forms.dot(
            ptir.ReshapeOp(p := forms.patches(x), new_shape=(*forms.shape(p)[:3], 2, 12)), w, (4,), (2,), ((3,), (0,))
        ),
        "convolution",
    ),
}  # fmt: skip


def optimised(module: ModuleOp) -> ModuleOp:
    """Recognised, as the pipeline does it."""
    module = module.clone()
    canonicalize(module)
    eliminate_common(module)
    recognize(module)
    verify(module)
    canonicalize(module)
    verify(module)
    return module


def found_in(module: ModuleOp) -> list[str]:
    """Patterns of fusions, and ops that were made."""
    names = []
    for op in walk(module):
        if isinstance(op, FusionOp):
            names.append(op.values()["pattern"])
        elif op.name in ("ptir.layer_norm", "ptir.convolution"):
            names.append(op.name.removeprefix("ptir."))
    return names


def inputs(module: ModuleOp, seed: int) -> list[np.ndarray]:
    """Ordinary numbers; a second run has infinities, NaN and zeros among them."""
    rng = np.random.default_rng(seed)
    arrays = []
    for argument in function_of(module).body.block.args:
        spec = read_type(argument.type)
        extents = tuple(3 if isinstance(d, str) else d for d in spec.shape)
        x = rng.standard_normal(extents)
        if spec.dtype.name.startswith("si"):
            x = rng.integers(-9, 9, extents)
        elif seed > 2:
            x = np.where(rng.random(extents) < 0.1, rng.choice([INF, -INF, np.nan, 0.0, -0.0], extents), x)
        arrays.append(x.astype(array_dtype(spec.dtype.name)))
    return arrays


def close(a: np.ndarray, b: np.ndarray, bits: int) -> None:
    """A few units in the last place of the greatest number around; the same infinities and NaN."""
    if a.dtype.kind in "iu":
        assert np.array_equal(a, b)
        return
    x, y = a.astype(np.float64), b.astype(np.float64)
    tolerance = {64: 1e-13, 32: 1e-5, 16: 2e-2}[bits]
    np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", FOUND)
def test_found(name: str) -> None:
    types, body, expected = FOUND[name]
    module = forms.program(types, body)
    after = optimised(module)
    kinds = expected.split()
    assert found_in(after) == [k for k in kinds if k not in PLAIN]
    left = [op.OPCODE for op in walk(after) if isinstance(op, PtirOp) and not isinstance(op.parent_op(), FusionOp)]
    allowed = {"constant", "broadcast_to", "iota", "compare", "select", "transpose", "reshape", "fusion", *kinds}
    assert set(left) <= allowed, left
    for seed in range(6):
        arrays = inputs(module, seed)
        for a, b in zip(evaluate(function_of(module), arrays), evaluate(function_of(after), arrays), strict=True):
            close(a, b, 8 * a.dtype.itemsize)
    text = str(after)
    assert str(parse(text)) == text


@pytest.mark.parametrize("name", ELSE)
def test_something_else(name: str) -> None:
    types, body, pattern = ELSE[name]
    module = forms.program(types, body)
    after = optimised(module)
    assert pattern not in found_in(after)
    arrays = inputs(module, 0)
    for a, b in zip(evaluate(function_of(module), arrays), evaluate(function_of(after), arrays), strict=True):
        close(a, b, 8 * a.dtype.itemsize)


@pytest.mark.quick
def test_every_pattern_has_cases() -> None:
    assert {name.replace("-", "_") for name in PATTERNS} == {
        kind for *_, kinds in FOUND.values() for kind in kinds.split()
    } - PLAIN
    assert {name.replace("-", "_") for name in PATTERNS} == {pattern for *_, pattern in ELSE.values()}


def test_a_fusion_gives_the_bits_of_its_ops() -> None:
    for name in ("softmax, contract", "gelu", "attention, -inf"):
        types, body, _ = FOUND[name]
        module = forms.program(types, body)
        canonicalize(module)
        after = module.clone()
        assert recognize(after)
        for seed in range(6):
            arrays = inputs(module, seed)
            a, b = (evaluate(function_of(m), arrays) for m in (module, after))
            assert all(map(same_bits, a, b))


def test_only_the_patterns_asked_for() -> None:
    module = forms.program("f32[3,5]", lambda x: forms.softmax(forms.gelu(x)))
    canonicalize(module)
    recognize(module, ["gelu"])
    assert found_in(module) == ["gelu"]
    with pytest.raises(MindError, match=r"E7003: unknown pattern 'relu'"):
        recognize(module, ["relu"])


def test_inside_a_loop() -> None:
    module = forms.program(
        "f32[4,5]",
        lambda x: ptir.ScanOp(x, carry_count=0, scan_output_count=1, body=lambda row: [forms.softmax(row, 0)]),
    )
    canonicalize(module)
    assert recognize(module)
    verify(module)
    (fused,) = (op for op in walk(module) if isinstance(op, FusionOp))
    assert fused.parent_op().name == "ptir.scan"
