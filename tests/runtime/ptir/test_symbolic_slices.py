"""Slices and pads with bounds that are expressions of names: NumPy, static sizes and central differences say what they give."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from host_runs import RUNS
from mind_dialect.errors import MindError
from mind_lowering.ptir_optimize import optimize
from mind_passes.functional import jvp, vjp
from mind_passes.shape.specialize import specialize
from mind_passes.vectorize import VectorizeOptions, vectorize
from mind_runtime import compile
from mind_tools.frontends import parse
from mind_translate.ptir.exporter import to_program


class Case(NamedTuple):
    """An op, the type of its result, what NumPy gives of `y`, of shape [P+T, 3], or None, and the types of its operands."""

    op: str
    result: str
    numpy: Callable[[Any, int, int], Any]
    code: str = "E4012"
    operands: str = '(tensor<?x3xf64, "P+T,*">) ->'


def padded(y: Any, low: int, high: int, interior: int = 0) -> Any:
    spaced = np.zeros((max(0, len(y) + (len(y) - 1) * interior), 3))
    spaced[:: interior + 1] = y
    return np.pad(spaced, ((low, high), (0, 0)))


def windows(y: Any, size: int, stride: int) -> Any:
    """Windows of rows, [count, size, 3]."""
    if len(y) < size:
        return np.zeros((0, size, 3))
    return np.lib.stride_tricks.sliding_window_view(y, size, 0)[::stride].transpose(0, 2, 1)


SPREAD = "base_dilation = [1, 1] window_dilation = [1, 1]"
PROMISES = "indices_are_sorted = false unique = false"
WITH_START = '(tensor<?x3xf64, "P+T,*">, tensor<2xsi64>) ->'
CASES = {
    "columns": Case('slice %y starts = [0, 1] sizes = ["P+T", 2]', 'tensor<?x2xf64, "P+T,*">', lambda y, p, t: y[:, 1:]),
    "second part": Case("slice %y starts = [P, 0] sizes = [T, 3]", 'tensor<?x3xf64, "T,*">', lambda y, p, t: y[p:]),
    "first part": Case("slice %y starts = [0, 0] sizes = [P, 3]", 'tensor<?x3xf64, "P,*">', lambda y, p, t: y[:p]),
    "from the second": Case(
        'slice %y starts = [2, 0] sizes = ["P+T-2", 3]',
        'tensor<?x3xf64, "P+T-2,*">',
        lambda y, p, t: y[2:] if p + t >= 2 else None,
    ),
    "last two": Case(
        'slice %y starts = ["P+T-2", 0] sizes = [2, 3]', "tensor<2x3xf64>", lambda y, p, t: y[-2:] if p + t >= 2 else None
    ),
    "overlapping": Case(
        'slice %y starts = [T, 0] sizes = ["2*P", 3]',
        'tensor<?x3xf64, "2*P,*">',
        lambda y, p, t: y[t : t + 2 * p] if 2 * p <= p else None,
    ),
    "every second": Case(
        'strided_slice %y starts = [0, 0] limits = ["P+T", 3] strides = [2, 2]',
        'tensor<?x2xf64, "(P+T) ceildiv 2,*">',
        lambda y, p, t: y[::2, ::2],
    ),
    "every third of a part": Case(
        'strided_slice %y starts = [P, 0] limits = ["P+T-1", 3] strides = [3, 1]',
        'tensor<?x3xf64, "(T-1) ceildiv 3,*">',
        lambda y, p, t: y[p : p + t - 1 : 3] if t >= 1 else None,
    ),
    "contiguous": Case(
        'strided_slice %y starts = [1, 0] limits = ["P+1", 3] strides = [1, 1]',
        'tensor<?x3xf64, "P,*">',
        lambda y, p, t: y[1 : p + 1] if t >= 1 else None,
    ),
    "edges": Case(
        'pad %y low = [P, 0] high = ["T-1", 0] interior = [0, 0] pad_value = 0.0 : f64',
        'tensor<?x3xf64, "2*P+2*T-1,*">',
        lambda y, p, t: padded(y, p, t - 1) if t >= 1 else None,
        "E8002",
    ),
    "holes": Case(
        "pad %y low = [T, 0] high = [0, 0] interior = [2, 0] pad_value = 0.0 : f64",
        'tensor<?x3xf64, "P+2*T+2*max(1,P+T)-2,*">',
        lambda y, p, t: padded(y, t, 0, 2),
    ),
    "part of a concat": Case(
        'slice %c starts = ["P+T", 0] sizes = ["P+T", 3]',
        'tensor<?x3xf64, "P+T,*">',
        lambda y, p, t: np.ones_like(y),
        operands='(tensor<?x3xf64, "2*P+2*T,*">) ->',
    ),
    "window": Case(
        "dynamic_slice %y, %one_zero sizes = [T, 2]",
        'tensor<?x2xf64, "T,*">',
        lambda y, p, t: y[min(1, p) : min(1, p) + t, :2],
        operands=WITH_START,
    ),
    "window that may not fit": Case(
        'dynamic_slice %y, %one_zero sizes = ["2*P", 3]',
        'tensor<?x3xf64, "2*P,*">',
        lambda y, p, t: y[min(1, t - p) : min(1, t - p) + 2 * p] if p <= t else None,
        operands=WITH_START,
    ),
    "updated window": Case(
        "dynamic_update_slice %y, %part, %one_zero sizes = [T, 3]",
        'tensor<?x3xf64, "P+T,*">',
        lambda y, p, t: np.concatenate([y[: min(1, p)], y[p:], y[min(1, p) + t :]]),
        operands='(tensor<?x3xf64, "P+T,*">, tensor<?x3xf64, "T,*">, tensor<2xsi64>) ->',
    ),
    "numbers": Case(
        'iota shape = ["P+T-2", 3] dtype = f64 axis = 0',
        'tensor<?x3xf64, "P+T-2,*">',
        lambda y, p, t: np.repeat(np.arange(p + t - 2.0)[:, None], 3, 1) if p + t >= 2 else None,
        "E3006",
        operands="",
    ),
    "repeated": Case(
        'broadcast_to %one result_shape = ["2*P-T", 3]',
        'tensor<?x3xf64, "2*P-T,*">',
        lambda y, p, t: np.ones((2 * p - t, 3)) if 2 * p >= t else None,
        "E3006",
        operands="(tensor<f64>) ->",
    ),
    "repetitions": Case(
        'tile %y repeats = ["P-1", 2]',
        'tensor<?x6xf64, "P*P+P*T-P-T,*">',
        lambda y, p, t: np.tile(y, (p - 1, 2)) if p >= 1 else None,
        "E8002",
    ),
    "repetitions of a part": Case(
        "tile %part repeats = [P, 1]",
        'tensor<?x3xf64, "P*T,*">',
        lambda y, p, t: np.tile(y[p:], (p, 1)),
        operands='(tensor<?x3xf64, "T,*">) ->',
    ),
    "segments": Case(
        f'segment_reduce %y, %ids kind = sum num_segments = "P+T+1" {PROMISES}',
        'tensor<?x3xf64, "P+T+1,*">',
        lambda y, p, t: np.pad(y, ((0, 1), (0, 0))),
        operands='(tensor<?x3xf64, "P+T,*">, tensor<?xsi64, "P+T">) ->',
    ),
    "greatest of segments": Case(
        f'segment_reduce %y, %ids kind = max num_segments = "P+T" {PROMISES}',
        'tensor<?x3xf64, "P+T,*">',
        lambda y, p, t: y,
        operands='(tensor<?x3xf64, "P+T,*">, tensor<?xsi64, "P+T">) ->',
    ),
    "empty segments": Case(
        f'segment_reduce %none, %no_ids kind = sum num_segments = "P-1" {PROMISES}',
        'tensor<?x3xf64, "P-1,*">',
        lambda y, p, t: np.zeros((p - 1, 3)) if p >= 1 else None,
        "E8002",
        operands="(tensor<0x3xf64>, tensor<0xsi64>) ->",
    ),
    "windows": Case(
        f"reduce_window %y kind = sum window_dims = [3, 1] strides = [2, 1] padding = [[1, 0], [0, 0]] {SPREAD}",
        'tensor<?x3xf64, "(P+T) floordiv 2,*">',
        lambda y, p, t: windows(np.pad(y, ((1, 0), (0, 0))), 3, 2).sum(1),
    ),
    "greatest of windows": Case(
        f"reduce_window %y kind = max window_dims = [2, 2] strides = [1, 1] padding = [[0, 0], [0, 0]] {SPREAD}",
        'tensor<?x2xf64, "max(1,P+T)-1,*">',
        lambda y, p, t: np.maximum(w := windows(y, 2, 1).max(1)[:, :2], windows(y, 2, 1).max(1)[:, 1:]) + 0 * w,
    ),
    "greatest of spread windows": Case(
        "reduce_window %y kind = max window_dims = [3, 1] strides = [2, 1] padding = [[1, 2], [0, 0]] "
        "base_dilation = [1, 1] window_dilation = [2, 1]",
        'tensor<?x3xf64, "(P+T) floordiv 2,*">',
        lambda y, p, t: windows(np.pad(y, ((1, 2), (0, 0)), constant_values=-np.inf), 5, 2)[:, ::2].max(1),
    ),
    "convolved with strides": Case(
        "convolution %y3, %w strides = [2] padding = [[1, 0]] base_dilation = [1] window_dilation = [1] feature_group_count = 1",
        'tensor<1x?x1xf64, "*,(P+T) ceildiv 2,*">',
        lambda y, p, t: windows(np.pad(y, ((1, 0), (0, 0))), 2, 2).sum((1, 2)).reshape(1, -1, 1),
        operands='(tensor<1x?x3xf64, "*,P+T,*">, tensor<2x3x1xf64>) ->',
    ),
    "convolved by group": Case(
        "convolution %y3, %depthwise strides = [1] padding = [[0, 1]] base_dilation = [1] window_dilation = [1] "
        "feature_group_count = 3",
        'tensor<1x?x3xf64, "*,max(2,P+T)-2,*">',
        lambda y, p, t: windows(np.pad(y, ((0, 1), (0, 0))), 4, 1).sum(1)[None],
        operands='(tensor<1x?x3xf64, "*,P+T,*">, tensor<4x1x3xf64>) ->',
    ),
    "convolved": Case(
        "convolution %y3, %w strides = [1] padding = [[0, 0]] base_dilation = [1] window_dilation = [2] feature_group_count = 1",
        'tensor<1x?x1xf64, "*,max(2,P+T)-2,*">',
        lambda y, p, t: windows(y, 3, 1)[:, [0, 2]].sum((1, 2)).reshape(1, -1, 1),
        operands='(tensor<1x?x3xf64, "*,P+T,*">, tensor<2x3x1xf64>) ->',
    ),
    "patches": Case(
        "extract_patches %image window = [2, 1] strides = [2, 1] dilation = [1, 1] padding = [[0, 1], [0, 0]] "
        "pad_value = 0.0 : f64",
        'tensor<1x?x3x2xf64, "*,(P+T) ceildiv 2,*,*">',
        lambda y, p, t: windows(np.pad(y, ((0, 1), (0, 0))), 2, 2).transpose(0, 2, 1)[None],
        operands='(tensor<1x?x3x1xf64, "*,P+T,*,*">) ->',
    ),
    "as rows": Case(
        'reshape %y new_shape = ["3*P+3*T"]',
        'tensor<?xf64, "3*P+3*T">',
        lambda y, p, t: y.reshape(-1),
    ),
    "joined": Case(
        'reshape %c new_shape = [2, "3*P+3*T"]',
        'tensor<2x?xf64, "*,3*P+3*T">',
        lambda y, p, t: np.concatenate([y, np.ones_like(y)]).reshape(2, 3 * (p + t)),
        operands='(tensor<?x3xf64, "2*P+2*T,*">) ->',
    ),
    "added axis": Case(
        'broadcast_to %y result_shape = ["P+1", "P+T", 3]',
        'tensor<?x?x3xf64, "P+1,P+T,*">',
        lambda y, p, t: np.broadcast_to(y, (p + 1, *y.shape)),
    ),
}
ORDERS = {
    "all in order": Case("sort %y axis = 0 descending = true", 'tensor<?x3xf64, "P+T,*">', lambda y, p, t: -np.sort(-y, 0)),
    "the greatest": Case(
        "top_k %y k = P axis = 0 largest = true indices_dtype = si32",
        'tensor<?x3xf64, "P,*">',
        lambda y, p, t: -np.sort(-y, 0)[:p],
    ),
    "all but two": Case(
        'top_k %y k = "P+T-2" axis = 0 largest = false indices_dtype = si32',
        'tensor<?x3xf64, "P+T-2,*">',
        lambda y, p, t: np.sort(y, 0)[: p + t - 2] if p + t >= 2 else None,
        "E8002",
    ),
}
CASES |= ORDERS
OPERANDS = {
    "%y3": """reshape %y new_shape = [1, "P+T", 3] : tensor<?x3xf64, "P+T,*"> -> tensor<1x?x3xf64, "*,P+T,*">""",
    "%image": """reshape %y new_shape = [1, "P+T", 3, 1] : tensor<?x3xf64, "P+T,*"> -> tensor<1x?x3x1xf64, "*,P+T,*,*">""",
    "%w": "constant fill 1.0 : tensor<2x3x1xf64>",
    "%depthwise": "constant fill 1.0 : tensor<4x1x3xf64>",
    "%ids": """iota shape = ["P+T"] dtype = si64 axis = 0 : tensor<?xsi64, "P+T">""",
    "%no_ids": "iota shape = [0] dtype = si64 axis = 0 : tensor<0xsi64>",
    "%none": """slice %y starts = [0, 0] sizes = [0, 3] : tensor<?x3xf64, "P+T,*"> -> tensor<0x3xf64>""",
}
"""Further operands of ops, each made where an op has it."""
SIZES = list(itertools.product(range(6), repeat=2))
FEW = [(0, 0), (0, 1), (2, 3), (3, 1), (5, 4)]


def module_of(case: Case) -> ModuleOp:
    head = 'tensor<?x3xf64, "P+T,*">'
    results, types = "%0", case.result
    if case.op.startswith("top_k"):
        results, types = "%0, %indices", f"({case.result}, {case.result.replace('f64', 'si32')})"
    twice = 'tensor<?x3xf64, "2*P+2*T,*">'
    lines = "\n".join(f"{name} = ptir.{line}" for name, line in OPERANDS.items() if name in case.op)
    return parse(f"""builtin.module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
      func.func @f(%x: {head}, %p: tensor<?xf64, "P">, %t: tensor<?xf64, "T">) -> {case.result} {{
        %y = ptir.mul %x, %x : {head}
        %one = ptir.constant 1.0 : tensor<f64>
        %ones = ptir.broadcast_to %one result_shape = ["P+T", 3] : tensor<f64> -> {head}
        %c = ptir.concat %y, %ones axis = 0 : ({head}, {head}) -> {twice}
        %one_zero = ptir.constant [1, 0] : tensor<2xsi64>
        %part = ptir.slice %y starts = [P, 0] sizes = [T, 3] : {head} -> tensor<?x3xf64, "T,*">
        {lines}
        {results} = ptir.{case.op} : {case.operands} {types}
        func.return %0 : {case.result}
      }}
    }}""")


def arrays(p: int, t: int, *batch: int) -> list[Any]:
    """Return random arguments, whose squares add exactly in any order."""
    rng = np.random.default_rng(7 * p + t)
    return [np.round(rng.standard_normal((*batch, *shape)) * 2**20) / 2**20 for shape in ((p + t, 3), (p,), (t,))]


def failure(call: Callable[..., Any], *given: Any) -> str:
    with pytest.raises(MindError) as e:
        call(*given)
    return e.value.code


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", RUNS)
@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_numpy(name: str, target: str) -> None:
    case = CASES[name]
    run = RUNS[target](module_of(case))
    for p, t in FEW * 2 if target == "native" else SIZES:
        x, *others = arrays(p, t)
        expected = case.numpy(x * x, p, t)
        if expected is None:
            assert failure(run, x, *others) == case.code, (p, t)
        else:
            np.testing.assert_array_equal(run(x, *others), expected, str((p, t)))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CASES)
def test_shapes_and_refusals_are_those_of_static_sizes(name: str) -> None:
    case = CASES[name]
    program, refused = compile(module_of(case)), 0
    for p, t in SIZES:
        module, given = module_of(case), arrays(p, t)
        if case.numpy(given[0], p, t) is None:
            refused += 1
            assert failure(program.output_shapes, *given) == case.code
            assert failure(specialize, module, {"P": p, "T": t}) in (case.code, "E3006")  # a type of a negative size
        else:
            specialize(module, {"P": p, "T": t})
            assert program.output_shapes(*given) == compile(module).output_shapes(*given), (p, t)
    assert refused < len(SIZES) / 2 or name == "overlapping"  # which is right where P is 0


@pytest.mark.parametrize("name", CASES)
def test_rewrites_keep_values_and_refusals(name: str) -> None:
    case, module = CASES[name], module_of(CASES[name])
    optimize(module)
    run = compile(module)
    for p, t in SIZES:
        x, *others = arrays(p, t)
        if (expected := case.numpy(x * x, p, t)) is None:
            assert failure(run, x, *others) == case.code
        else:
            np.testing.assert_array_equal(run(x, *others), expected)


@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_central_differences(name: str) -> None:
    case, module = CASES[name], module_of(CASES[name])
    value = compile(module)
    gradient, tangent = compile(vjp(module, "f"), function="f_grad"), compile(jvp(module, "f"), function="f_jvp")
    for p, t in SIZES:
        given, rng = arrays(p, t), np.random.default_rng(p + t)
        if case.numpy(given[0], p, t) is None:
            continue
        x, *others = given
        d, h = rng.standard_normal(x.shape), 1e-5
        numeric = (value(x + h * d, *others) - value(x - h * d, *others)) / (2 * h)  # exact of squares, but for rounding
        g = rng.standard_normal(numeric.shape)
        adjoint = gradient(*given, g)[1]
        np.testing.assert_allclose(tangent(*given, d, *map(np.zeros_like, others))[1], numeric, atol=1e-9)
        np.testing.assert_allclose(np.sum(adjoint * d), np.sum(g * numeric), atol=1e-9)


@pytest.mark.parametrize("size", [None, 2])
@pytest.mark.parametrize("name", CASES)
def test_batches_are_stacked_examples(name: str, size: int | None) -> None:
    case = CASES[name]
    run = compile(vectorize(module_of(case), options=VectorizeOptions(size=size)).module, function="f_vmap")
    for p, t in FEW:
        x, *others = arrays(p, t, 2)
        if case.numpy(x[0], p, t) is None:
            assert failure(run, x, *others) == case.code
        else:
            np.testing.assert_array_equal(run(x, *others), np.stack([case.numpy(y, p, t) for y in x * x]))


def test_the_contract_s_forms_refuse_bounds_that_are_names() -> None:
    text = """builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
      func.func @f(%x: tensor<?x3xf64, "N,*">) -> tensor<?x2xf64, "N,*"> {
        %0 = ptir.slice %x starts = [0, 1] sizes = [N, 2] : tensor<?x3xf64, "N,*"> -> tensor<?x2xf64, "N,*">
        func.return %0 : tensor<?x2xf64, "N,*">
      }
    }"""
    with pytest.raises(MindError) as e:
        to_program(parse(text))
    assert (e.value.code, "the bound N" in str(e.value)) == ("E4000", True)
