"""Places of extremes as reductions: the indices of NumPy, for ties and NaN too, in one kernel with what they read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect import ptir
from mind_dialect.ptir.types import DTYPES
from mind_dialect.verify import verify
from mind_passes.ptir.expand_arg_extremes import expand_arg_extremes
from mind_runtime import compile
from native_same import block, types
from ptir_forms import program


@pytest.mark.parametrize("dtype", ["i1", "si4", "ui8", "si32", "ui64", "fp8_e4m3", "bf16", "f32", "f64"])
@pytest.mark.parametrize("op", [ptir.ArgMaxOp, ptir.ArgMinOp])
def test_places_are_those_of_the_op(op: Any, dtype: str) -> None:
    x = np.resize(block(DTYPES[dtype], (37,), special=True), (5, 6, 7))
    for axis, keepdims, index in ((0, False, "si32"), (-1, True, "si64"), (1, False, "si64")):
        module = program(f"{dtype}[5,6,7]", lambda v, a=axis, k=keepdims, i=index: op(v, axis=a, keepdims=k, output_dtype=i))
        copy = module.clone()
        assert expand_arg_extremes(copy)
        verify(copy)
        assert not any(isinstance(o, op) for o in copy.walk())
        found, wanted = compile(copy)(x), compile(module)(x)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("form", ["f32[N,3]", "f32[3,N]"])
def test_what_is_of_unknown_size_stays(form: str) -> None:
    module = program(form, lambda x: ptir.ArgMaxOp(x, axis=1, keepdims=False, output_dtype="si32"))
    before = str(module)
    assert not expand_arg_extremes(module)
    assert str(module) == before


def test_a_place_is_one_native_kernel_with_what_it_reads() -> None:
    pytest.importorskip("llvmlite")
    x, y = np.random.default_rng(0).standard_normal((2, 40, 300)).astype(np.float32)
    body = lambda x, y: ptir.ArgMaxOp(ptir.AddOp(ptir.ExpOp(x), y), axis=1, keepdims=False, output_dtype="si32")  # noqa: E731
    native = compile(program(types(x, y), body), target="native")
    assert " 1 native kernel, 0 ops on NumPy" in native.explain()[0]
    np.testing.assert_array_equal(native(x, y), np.argmax(np.exp(x) + y, 1))
