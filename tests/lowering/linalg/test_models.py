"""Whole models through the conversion layer: a real MLIR runs them as our target does; the plan is what a run holds."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from mind_dialect.ptir.types import read_type
from mind_lowering.ptir_to_linalg import convert_module
from mind_runtime import compile
from mlir_execution import Call, Runner, only_function, signature, text_of

pytest.importorskip("examples.models.gpt2", reason="the examples are not beside the tests")

from examples.models import gpt2, mobilenet_v2, resnet34

TINY = gpt2.Config(vocabulary=32, context=16, width=16, layers=1, heads=2, kv_heads=2)
MODELS = {
    "gpt2": lambda: gpt2.program(TINY, "full", length=5),
    "gpt2 decode": lambda: gpt2.program(TINY, "decode", length=1, capacity=8),
    "resnet34": lambda: resnet34.program(resnet34.SMALL),
    "mobilenet_v2": lambda: mobilenet_v2.program(mobilenet_v2.SMALL),
}


def arguments(module: ModuleOp) -> list[np.ndarray]:
    """Small numbers; integers are token numbers and places, below the extents that they index."""
    rng = np.random.default_rng(0)
    found = []
    for argument in only_function(module).body.block.args:
        dtype, shape = read_type(argument.type)
        wide = rng.integers(0, 5, shape) if not dtype.is_float else rng.standard_normal(shape) * 0.2
        found.append(np.asarray(wide).astype("f4" if dtype.is_float else "i4"))
    return found


@pytest.mark.parametrize("name", MODELS)
def test_a_real_mlir_accepts_the_model(name: str, mlir_opt: str) -> None:
    module = MODELS[name]()
    convert_module(module, in_range=True)
    module.verify()
    runner = Runner(mlir_opt, "", [])
    for generic in (True, False):
        runner.accepts(text_of(module, generic=generic))


@pytest.mark.parametrize("name", ["gpt2", "gpt2 decode"])
def test_a_real_mlir_runs_the_model(name: str, mlir_opt: str) -> None:
    if (runner := Runner.beside(mlir_opt)) is None:
        pytest.skip("no mlir-runner beside mlir-opt")
    module = MODELS[name]()
    given = arguments(module)
    func = only_function(module)
    specs, entry = signature(func), func.sym_name.data
    expected = compile(module)(*given)
    convert_module(module, in_range=True)
    (found,) = runner.run(text_of(module), [Call(entry, given, *specs)])
    wanted = expected if isinstance(expected, tuple) else (expected,)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
