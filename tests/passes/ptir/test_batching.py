"""Every batching rule against a loop over the examples: every op and dtype, every pattern of batched operands, sizes 0, 1, 3."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import CallOp

from mind_dialect import ptir
from mind_dialect.ptir.legal import LEGAL
from mind_passes.batching import BATCHING, WITHOUT_RULE
from mind_passes.vectorize import VectorizeOptions, vectorize
from ptir_batching import check, compiled, failure
from ptir_batching_rows import ROUNDED, ROWS, Row, inputs, patterns
from ptir_evaluator import function_of
from ptir_forms import dot, program
from ptir_rows import conv, patches

WITHOUT_ROW = {"constant", "iota", "rng_uniform", "rng_normal", "cond", "while", "scan", "custom_call", "yield", "fusion"}
"""Ops that have no operands, or have tests of their own."""


@pytest.mark.quick
def test_every_op_has_a_rule_or_a_reason():
    ops = {*ptir.PTIR_OPS, *ptir.EXTENSION_OPS}
    assert [op.name for op in (*ptir.PTIR_OPS, *ptir.EXTENSION_OPS) if op not in BATCHING and op not in WITHOUT_RULE] == []
    assert set(BATCHING) | set(WITHOUT_RULE) == {*ops, CallOp}
    assert not set(BATCHING) & set(WITHOUT_RULE)


@pytest.mark.quick
def test_every_op_and_kind_has_a_row():
    assert {row.key for row in ROWS} == LEGAL.keys() - WITHOUT_ROW


@pytest.mark.exhaustive
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_rule_is_the_loop_for_every_dtype_and_pattern(row: Row):
    """Every pattern of batched operands in one dtype, all operands batched in the others."""
    for dtype in row.legal():
        module = row.module(dtype)
        func = function_of(module)
        exact = row.key not in ROUNDED
        every = patterns(len(func.body.block.args))
        for pattern in every if dtype is row.legal()[0] else every[:1]:
            single, many = inputs(func, row), inputs(func, row, seed=1, count=3)
            arrays = [m if flag else s for flag, s, m in zip(pattern, single, many, strict=True)]
            check(module, arrays, [0 if flag else None for flag in pattern], 3, exact=exact)


def run(func):
    return compiled(func.parent_op(), func.sym_name.data)


@pytest.mark.exhaustive
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_rule_for_static_and_dynamic_batches_of_no_one_and_three_examples(row: Row):
    """All sizes where all operands are batched, three examples in the other patterns."""
    dtype = next(d for d in row.legal()[::-1] if d.name in ("f32", "si32", "i1", "cf32"))
    module = row.module(dtype)
    func = function_of(module)
    for place, pattern in enumerate(patterns(len(func.body.block.args))):
        for n in (0, 1, 3) if place == 0 else (3,):
            arrays = [
                m if flag else s
                for flag, s, m in zip(pattern, inputs(func, row), inputs(func, row, seed=2, count=n), strict=True)
            ]
            axes = [0 if flag else None for flag in pattern]
            for size in (n, "N"):
                check(
                    module,
                    arrays,
                    axes,
                    n,
                    exact=row.key not in ROUNDED,
                    size=size,
                    runner=lambda func: compiled(func.parent_op(), func.sym_name.data),
                )


# Examples with dynamic dimensions


DYNAMIC: dict[str, tuple[str, Any, dict[int, int]]] = {
    "add": ("f32[B,3] f32[B,3]", ptir.AddOp, {}),
    "select": ("i1[B] f32[B] f32[B]", ptir.SelectOp, {}),
    "reshape": ("f32[B,6]", lambda x: ptir.ReshapeOp(x, new_shape=("B", 2, -1)), {}),
    "reshape_unknown": ("f32[B,6]", lambda x: ptir.ReshapeOp(x, new_shape=(-1,)), {}),
    "transpose": ("f32[B,C]", lambda x: ptir.TransposeOp(x, perm=(1, 0)), {}),
    "broadcast": ("f32[C] f32[B]", lambda x, y: [ptir.BroadcastToOp(x, result_shape=("B", "C")), ptir.NegOp(y)], {}),
    "concat": ("f32[2,B] f32[2,B]", lambda x, y: ptir.ConcatOp(x, y, axis=0), {}),
    "concat_unknown": ("f32[2,B] f32[2,1]", lambda x, y: ptir.ConcatOp(x, y, axis=1), {}),
    "pad": ("f32[B,3]", lambda x: ptir.PadOp(x, low=(1, 0), high=(0, 1), interior=(0, 1), pad_value=2.0), {}),
    "tile": ("f32[B,3]", lambda x: ptir.TileOp(x, repeats=(2, 1)), {}),
    "take": ("f32[V,3] si32[T]", ptir.TakeOp, {1: 2}),
    "take_matrix": ("f32[V,3] si32[T,2]", ptir.TakeOp, {1: 2}),
    "gather": ("f32[B,4] si32[B,T]", lambda x, i: ptir.GatherOp(x, i, axis=1), {1: 4}),
    "scatter_add": (
        "f32[B,3] si32[T] f32[T,3]",
        lambda x, i, u: ptir.ScatterAddOp(
            x, i, u, update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
        ),
        {1: 2},
    ),
    "scatter_reduce": ("f32[B,3] si32[B,T] f32[B,T]", lambda x, i, u: ptir.ScatterReduceOp(x, i, u, kind="max", axis=1), {1: 3}),
    "dot": ("f64[B,K] f64[K,3]", lambda a, b: dot(a, b, (1,), (0,)), {}),
    "reduce": ("f32[B,3]", lambda x: ptir.ReduceOp(x, kind="max", axes=(0,), keepdims=True), {}),
    "arg_max": ("f32[B,3]", lambda x: ptir.ArgMaxOp(x, axis=0, keepdims=False, output_dtype="si32"), {}),
    "layer_norm": ("f64[B,4] f64[4] f64[4]", lambda *v: ptir.LayerNormOp(*v, epsilon=1e-3, feature_axis=-1), {}),
    "layer_norm_features": ("f64[2,B] f64[B] f64[B]", lambda *v: ptir.LayerNormOp(*v, epsilon=1e-3, feature_axis=-1), {}),
    "reduce_window": ("f32[B,3]", lambda x: ptir.ReduceWindowOp(x, kind="max", **WINDOW), {}),
    "extract_patches": ("f32[B,5,5,2]", lambda x: ptir.ExtractPatchesOp(x, **patches), {}),
    "convolution": ("f64[B,4,4,2] f64[2,2,2,3]", lambda x, w: ptir.ConvolutionOp(x, w, **conv), {}),
    "convolution_of_one": ("f64[1,H,W,2] f64[1,1,2,O]", lambda x, w: ptir.ConvolutionOp(x, w, **POINT), {}),
    "dynamic_slice": ("f32[B,4] si32[2]", lambda x, i: ptir.DynamicSliceOp(x, i, sizes=(1, 2)), {}),
    "dynamic_update_slice": ("f32[B,4] f32[1,2] si32[2]", lambda *v: ptir.DynamicUpdateSliceOp(*v, sizes=(1, 2)), {}),
    "slice": ("f32[B,4]", lambda x: ptir.SliceOp(x, starts=(1, 0), sizes=(1, 3)), {}),
    "top_k": ("f32[B,4]", lambda x: ptir.TopKOp(x, k=2, axis=0, largest=True, indices_dtype="si32").results[:1], {}),
    "quantize": ("f32[B,2] f32[B] si8[B]", lambda *v: ptir.QuantizeOp(*v, output_dtype="si8", axis=0), {}),
    "segment_reduce": (
        "f32[R,2] si32[R]",
        lambda x, i: ptir.SegmentReduceOp(x, i, kind="max", num_segments=3, indices_are_sorted=False, unique=False),
        {1: 3},
    ),
    "scan": (
        "f32[C] f32[L,C]",
        lambda c, xs: (
            ptir.ScanOp(c, xs, carry_count=1, scan_output_count=1, body=lambda u, x: [ptir.AddOp(u, x), ptir.MulOp(u, x)]).results
        ),
        {},
    ),
    "cond": (
        "i1[] f32[B] f32[B]",
        lambda p, x, y: ptir.CondOp(p, x, y, true=lambda a, b: [ptir.AddOp(a, b)], false=lambda a, b: [ptir.NegOp(a)]),
        {},
    ),
}
WINDOW = {
    "window_dims": (2, 1),
    "strides": (1, 1),
    "padding": ((0, 1), (0, 0)),
    "base_dilation": (1, 1),
    "window_dilation": (1, 1),
}
POINT = {**conv, "padding": ((0, 0), (0, 0))}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", DYNAMIC)
def test_examples_with_dynamic_dimensions(name: str):
    types, body, below = DYNAMIC[name]
    module = program(types, body)
    func = function_of(module)
    row = Row("add", types, below=below)
    for pattern in patterns(len(func.body.block.args)):
        for n in (0, 1, 3)[name == "reshape_unknown" :]:
            arrays = [
                m if flag else s
                for flag, s, m in zip(pattern, inputs(func, row), inputs(func, row, seed=2, count=n), strict=True)
            ]
            axes = [0 if flag else None for flag in pattern]
            for size in (n, "N"):
                check(module, arrays, axes, n, exact="f64" not in types, size=size, runner=run)


def test_of_an_empty_batch_nothing_can_be_inferred():
    module = program("f32[?,6]", lambda x: ptir.ReshapeOp(x, new_shape=(-1,)))
    assert failure(vectorize, module, options=VectorizeOptions(size=0)).code == "E5006"
    call = compiled(vectorize(module).module, "f_vmap")
    assert failure(call, np.zeros((0, 2, 6), np.float32)).code == "E3007"
