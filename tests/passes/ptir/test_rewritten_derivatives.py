"""A rewritten program has the derivatives of the program as it was: for each rewrite of views, products and loops."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from mind_dialect.ptir.types import F32, read_type
from mind_dialect.verify import verify
from mind_passes.functional import vjp
from mind_passes.ptir.canonicalize import canonicalize
from programs import parse
from ptir_evaluator import evaluate, function_of
from ptir_rewrite_rows import function
from ptir_slice_rows import SLICE_ROWS

CASES = {row.rule: function(row.arguments, row.fires[0]) for row in SLICE_ROWS if "f32" in row.arguments}


def pulled_back(module: ModuleOp, name: str, seed: int = 0) -> list[np.ndarray]:
    """The outputs and adjoints of `@f` for random arguments and cotangents."""
    derived = vjp(module, name)
    func = function_of(derived, f"{name}_grad")
    rng = np.random.default_rng(seed)
    arrays = [rng.uniform(-1, 1, read_type(a.type).shape).astype(np.float32) for a in func.body.block.args]
    return evaluate(func, arrays)


@pytest.mark.parametrize("rule", CASES)
def test_derivatives_of_rewritten_programs(rule: str) -> None:
    module = parse(CASES[rule])
    verify(module)
    assert all(read_type(a.type).dtype is F32 for a in function_of(module).body.block.args)
    expected = pulled_back(module.clone(), "f")
    assert canonicalize(module)
    found = pulled_back(module, "f")
    assert len(found) == len(expected) > 1
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)
