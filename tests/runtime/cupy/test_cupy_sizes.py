"""
Kernels of every kind at the ends of sizes: nothing at all, more elements than 32 bits count, fewer blocks than shares of work.

What is too large to run is compiled: constants that do not fit their type are warnings of NVRTC, which fail the test.
"""

from __future__ import annotations

import ast
import re
import sys
from math import inf
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import StringAttr

import ptir_forms as forms
from attention_gradients import written_out
from cuda_emulation import compiled, compiler
from cupy_agreement import agree, arguments
from fake_device import Batch
from mind_dialect import ptir
from mind_dialect.program import functions
from mind_lowering.cupy.cuda_cpp.text import module_text
from mind_lowering.cupy.source import print_module
from numpy_launches import on_numpy

pytest.importorskip("ml_dtypes", reason="no ml_dtypes: narrow floats have no arrays to compare with")

ROWS = {"update_window_dims": (1,), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,)}
CONVOLUTION = {"strides": (1, 1), "padding": ((1, 1), (1, 1)), "base_dilation": (1, 1), "window_dilation": (1, 1)}
POOL = {"window_dims": (1, 2), "strides": (1, 1), "padding": ((0, 0), (1, 0)), "base_dilation": (1, 1), "window_dilation": (1, 1)}


def attention(q: Any, k: Any, v: Any) -> Any:
    axes = {"batch_lhs": (0,), "batch_rhs": (0,), "contract_lhs": (2,)}
    s = forms.selected(ptir.DotGeneralOp(q, k, **axes, contract_rhs=(2,)), -inf)
    return ptir.DotGeneralOp(forms.softmax(s), v, **axes, contract_rhs=(1,))


def convolved(groups: int) -> Any:
    return lambda x, w: ptir.ConvolutionOp(x, w, feature_group_count=groups, **CONVOLUTION)


def segments(x: Any, i: Any) -> Any:
    return ptir.SegmentReduceOp(x, i, kind="sum", num_segments=9, indices_are_sorted=False, unique=False)


Form = tuple[str, Any]
SMALL: dict[str, Form] = {
    "elementwise": ("f32[700]", lambda x: ptir.ExpOp(x)),
    "transpose": ("f32[50,30]", lambda x: ptir.NegOp(ptir.TransposeOp(x, perm=(1, 0)))),
    "pad": ("f32[50,30]", lambda x: ptir.PadOp(x, low=(1, 0), high=(0, 2), interior=(1, 0), pad_value=2)),
    "concat": ("f32[50,30] f32[50,3]", lambda x, y: ptir.ConcatOp(x, y, axis=1)),
    "take": ("f32[9,40] si32[70]", lambda x, i: ptir.TakeOp(x, i)),
    "gather": ("f32[9,40] si32[70,40]", lambda x, i: ptir.GatherOp(x, i, axis=0)),
    "window": ("f32[60,40] f32[30,40] si32[2]", lambda x, u, s: ptir.DynamicUpdateSliceOp(x, u, s, sizes=(30, 40))),
    "dynamic slice": ("f32[60,40] si32[2]", lambda x, s: ptir.DynamicSliceOp(x, s, sizes=(30, 20))),
    "rows": ("f32[30,70]", lambda x: forms.softmax(x)),
    "greatest": ("f32[30,70]", lambda x: ptir.ArgMaxOp(x, axis=1, keepdims=False, output_dtype="si64")),
    "rows and columns": ("f32[1024,300]", lambda x: [forms.softmax(x), forms.reduce(x, "sum", 0)]),
    "columns": ("f32[30,700]", lambda x: forms.reduce(ptir.ExpOp(x), "sum", 0)),
    "sums": ("f32[9,1100]", lambda x: ptir.CumulativeSumOp(x, axis=1, exclusive=False, reverse=True)),
    "sums of columns": ("f32[9,1100]", lambda x: ptir.CumulativeSumOp(x, axis=0, exclusive=True, reverse=False)),
    "scatter": ("f32[9,90] si32[20,90] f32[20,90]", lambda x, i, u: ptir.ScatterReduceOp(x, i, u, kind="add", axis=0)),
    "integers": ("si32[9,90] si32[20] si32[20,90]", lambda x, i, u: ptir.ScatterAddOp(x, i, u, **ROWS)),
    "windows": ("f32[9,90] si32[20] f32[20,90]", lambda x, i, u: ptir.ScatterAddOp(x, i, u, **ROWS)),
    "segments": ("f32[40,90] si32[40]", segments),
    "pool": ("f32[50,30]", lambda x: ptir.ReduceWindowOp(x, kind="sum", **POOL)),
    "attention": ("f32[3,70,8] f32[3,70,8] f32[3,70,8]", attention),
    "attention bf16": ("bf16[3,70,16] bf16[3,70,16] bf16[3,70,16]", attention),
    "attention few": ("f32[3,2,8] f32[3,70,8] f32[3,70,8]", attention),
    "attention gradient": ("f32[3,70,8] f32[3,70,8] f32[3,70,8] f32[3,70,8]", written_out),
    "attention gradient bf16": ("bf16[2,70,16] bf16[2,70,16] bf16[2,70,16] bf16[2,70,16]", written_out),
    "convolution": ("f32[2,9,9,3] f32[3,3,3,5]", convolved(1)),
    "by channel": ("f32[2,9,9,4] f32[3,3,1,4]", convolved(4)),
}
"""Every kind of kernel."""


def many(types: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        types = types.replace(old, new)
    return types


LARGE: dict[str, tuple[tuple[str, str], ...]] = {
    "elementwise": (("700", "5000000000"),),
    "transpose": (("50,30", "100000,60000"),),
    "pad": (("50,30", "100000,60000"),),
    "concat": (("50,30", "100000,60000"), ("50,3]", "100000,3]")),
    "take": (("9,40", "100000,60000"), ("70", "90000")),
    "gather": (("9,40", "100000,60000"), ("70,40", "90000,60000")),
    "window": (("60,40", "100000,60000"), ("30,40", "30,40")),
    "dynamic slice": (("60,40", "100000,60000"),),
    "rows": (("30,70", "100000,60000"),),
    "greatest": (("30,70", "100000,60000"),),
    "columns": (("30,700", "100000,60000"),),
    "rows and columns": (("1024,300", "20000000,300"),),
    "sums": (("9,1100", "100000,60000"),),
    "sums of columns": (("9,1100", "100000,60000"),),
    "scatter": (("9,90", "100000,60000"), ("20,90", "50000,60000")),
    "integers": (("9,90", "100000,60000"), ("[20]", "[50000]"), ("20,90", "50000,60000")),
    "windows": (("9,90", "100000,60000"), ("[20]", "[50000]"), ("20,90", "50000,60000")),
    "segments": (("40,90", "100000,60000"), ("[40]", "[100000]")),
    "pool": (("50,30", "100000,60000"),),
    "attention": (("3,70,8", "400,70000,128"),),
    "attention bf16": (("3,70,16", "400,70000,128"),),
    "attention few": (("3,70,8", "400,70000,128"), ("3,2,8", "400,2,128")),
    "attention gradient": (("3,70,8", "900,70000,32"),),
    "attention gradient bf16": (("2,70,16", "900,70000,32"),),
    "convolution": (("2,9,9,3", "20000,300,300,3"),),
    "by channel": (("2,9,9,4", "20000,300,300,4"),),
}


def large(name: str) -> Any:
    types, body = SMALL[name]
    if name == "window":
        return forms.program(many(types, *LARGE[name]), lambda x, u, s: ptir.DynamicUpdateSliceOp(x, u, s, sizes=(30, 40)))
    return forms.program(many(types, *LARGE[name]), body)


@pytest.mark.parametrize("name", SMALL)
def test_more_elements_than_32_bits_count_have_wide_indices(name: str) -> None:
    printed = print_module(large(name))
    cuda = "\n".join(re.findall(r'k\.module\(r"""(.*?)"""\)', printed, re.DOTALL))
    grids = [int(g) for g in re.findall(r"grid=(\d+)", printed)]
    assert all(0 < g < 1 << 31 for g in grids), grids
    if name == "convolution":  # more rows than there are numbers of tiles
        assert "convolution" in printed
    else:
        assert "typedef long long I;" in cuda
        assert "typedef int I;" not in cuda.split("__global__")[-1]
    if cuda:
        compiled(module_text([cuda]), "sm_90")


def test_few_blocks_go_on_until_all_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler()
    for module in [m for name, m in sys.modules.items() if name.startswith("mind_lowering.cupy") and hasattr(m, "MOST_BLOCKS")]:
        monkeypatch.setattr(module, "MOST_BLOCKS", 2)
    batch = Batch()
    found = [(name, batch.add(module.clone()), module) for name, module in ((n, forms.program(*f)) for n, f in SMALL.items())]
    tiled = ("columns", "attention few", "convolution")
    for name, made, _ in found:
        assert name in tiled or all(step <= 2 for step in grids_of(made)), name
    for i, (name, made, module) in enumerate(found):
        agree(name, made, module, arguments(made, i))


def grids_of(made: Any) -> list[int]:
    return [kernel.grid for kernel in made.runner._launched.values()]


EMPTY: dict[str, str] = {
    "elementwise": "f32[0]",
    "transpose": "f32[0,30]",
    "pad": "f32[0,3]",
    "concat": "f32[0,3] f32[0,3]",
    "take": "f32[9,0] si32[7]",
    "gather": "f32[9,4] si32[0,4]",
    "dynamic slice": "f32[60,40] si32[2]",
    "rows": "f32[0,70]",
    "greatest": "f32[0,70]",
    "columns": "f32[30,0]",
    "sums": "f32[0,5]",
    "sums of columns": "f32[0,5]",
    "scatter": "f32[9,4] si32[0,4] f32[0,4]",
    "windows": "f32[9,4] si32[0] f32[0,4]",
    "segments": "f32[0,4] si32[0]",
    "pool": "f32[0,30]",
    "attention": "f32[0,7,8] f32[0,7,8] f32[0,7,8]",
    "attention gradient": " ".join(["f32[0,7,8]"] * 4),
    "convolution": "f32[0,9,9,3] f32[3,3,3,5]",
    "by channel": "f32[0,9,9,4] f32[3,3,1,4]",
}
MORE_EMPTY: dict[str, str] = {
    "concat": "f32[3,0] f32[3,4]",
    "take": "f32[9,4] si32[0]",
    "segments": "f32[8,0] si32[8]",
    "attention": "f32[2,0,8] f32[2,7,8] f32[2,7,8]",
    "attention gradient": "f32[2,0,8] f32[2,7,8] f32[2,7,8] f32[2,0,8]",
}


def test_nothing_at_all_is_what_numpy_makes_of_it() -> None:
    compiler()
    batch = Batch()
    modules = [(n, forms.program(t, SMALL[n][1])) for table in (EMPTY, MORE_EMPTY) for n, t in table.items()]
    found = [(name, batch.add(module.clone()), module) for name, module in modules]
    for i, (name, made, module) in enumerate(found):
        with np.errstate(all="ignore"):
            agree(name, made, module, arguments(made, i))


def test_an_index_out_of_bounds_of_elements_that_are_none_is_noticed() -> None:
    compiler()
    module = forms.program("f32[9,0] si32[7]", SMALL["take"][1])
    batch = Batch()
    made = batch.add(module.clone())
    agree("take", made, module, [np.zeros((9, 0), np.float32), np.full(7, 9, np.int32)])


@pytest.mark.parametrize("name", ['x); system("', "*/ } int x; /*", '"""); import os #', "__global__"])
def test_names_stay_out_of_kernels_of_every_kind(name: str) -> None:
    texts: list[str] = []
    for form in SMALL.values():
        pair: list[str] = []
        for called in (name, "f"):
            module = forms.program(*form)
            func = next(iter(functions(module)))
            func.sym_name = StringAttr(called)
            for argument in func.body.block.args:
                argument.name_hint = None
            printed = print_module(module)
            (function,) = [node for node in ast.parse(printed).body if isinstance(node, ast.FunctionDef)]
            cuda = "".join(re.findall(r'k\.module\(r"""(.*?)"""\)', printed, re.DOTALL))
            pair.append(cuda.replace(f"{function.name}_k", "f_k"))
        assert pair[0] == pair[1]
        texts.append(pair[0])
    assert all(texts)


WITHOUT_TERMS = ((0, 3, 0), (2, 0, 3), (0, 3, 2), (0, 0, 0), (2, 3, 0), (1, 0, 1))


@pytest.mark.parametrize("batch", [(), (2,), (0,)])
@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16", "f64", "cf32", "si32", "ui8"])
def test_products_of_nothing(dtype: str, batch: tuple[int, ...]) -> None:
    """Sums of no terms are 0, of which cuBLAS makes nothing; each also transposed."""
    first = tuple(range(len(batch)))
    axes = {"batch_lhs": first, "batch_rhs": first, "contract_lhs": (len(batch) + 1,)}
    for m, k, n in WITHOUT_TERMS:
        for b_shape, contracted in (((k, n), len(batch)), ((n, k), len(batch) + 1)):
            types = " ".join(f"{dtype}[{','.join(map(str, (*batch, *shape)))}]" for shape in ((m, k), b_shape))
            module = forms.program(types, lambda a, b, c=contracted: ptir.DotGeneralOp(a, b, **axes, contract_rhs=(c,)))
            made = on_numpy(module.clone())
            agree(f"{types} over {contracted}", made, module, arguments(made, 0))
