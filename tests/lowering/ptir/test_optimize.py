"""ptir-optimize as a whole: random programs keep their results, models shrink to what is left to compute."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import ptir_forms as forms
from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.program import functions
from mind_dialect.ptir import FusionOp, PtirOp
from mind_dialect.ptir.types import DTYPES, read_type
from mind_dialect.verify import verify
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_lowering.ptir_optimize import optimize, simplify
from models import gpt2, mobilenet_v2, resnet34
from ptir_evaluator import evaluate, function_of, same_bits, special_inputs
from ptir_random_programs import Maker


def ordinary_inputs(module: ModuleOp, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    specs = [read_type(v.type) for v in function_of(module).body.block.args]
    return [np.asarray(rng.integers(-3, 4, s.shape)).astype(array_dtype(s.dtype.name)) for s in specs]


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(80))
def test_random_programs_of_integers(seed: int) -> None:
    """Bit for bit, whatever the numbers."""
    dtype = DTYPES[("si8", "ui16", "si32", "si64")[seed % 4]]
    module = Maker(seed, dtype).module(30)
    after = module.clone()
    optimize(after, fusions=bool(seed % 2))
    verify(after)
    for arrays in (special_inputs(function_of(module), seed), ordinary_inputs(module, seed)):
        a, b = (evaluate(function_of(m), arrays) for m in (module, after))
        assert all(map(same_bits, a, b))


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(80))
def test_random_programs_of_floats(seed: int) -> None:
    """
    Bit for bit without products, whose sums a folded transpose may take in another order; special numbers included.
    """
    dtype = DTYPES[("f32", "f64", "f16", "bf16")[seed % 4]]
    module = Maker(seed, dtype).module(30)
    after = module.clone()
    optimize(after, fusions=bool(seed % 2))
    verify(after)
    products = any(op.name == "ptir.dot_general" for op in walk(module))
    for arrays in (special_inputs(function_of(module), seed), ordinary_inputs(module, seed)):
        a, b = (evaluate(function_of(m), arrays) for m in (module, after))
        for x, y in zip(a, b, strict=True):
            if products:
                with np.errstate(all="ignore"):
                    x, y = (np.asarray(v).astype(np.float64) for v in (x, y))
                    scale = np.nanmax(np.abs(np.where(np.isfinite(x), x, 0)), initial=1.0)
                    np.testing.assert_allclose(x, y, rtol=1e-2 if dtype.bits == 16 else 1e-5, atol=1e-5 * scale)
            else:
                assert same_bits(x, y)


@pytest.mark.parametrize("seed", range(20))
def test_a_second_run_changes_nothing(seed: int) -> None:
    module = Maker(seed, DTYPES["f32"]).module(30)
    optimize(module)
    text = str(module)
    assert simplify(module) == 0
    optimize(module)
    assert str(module) == text


MODELS = {
    "full": (lambda: gpt2.program(gpt2.REAL, "full", length=8), 890),
    "decode": (lambda: gpt2.program(gpt2.REAL, "decode", capacity=64), 890),
    "ResNet34": (lambda: resnet34.program(resnet34.REAL), 245),
    "MobileNetV2": (lambda: mobilenet_v2.program(mobilenet_v2.REAL), 426),
}
"""Programs, and how many ops the public implementation's optimiser leaves of them without patterns; it counts no constants."""
FOUND = {
    "full": {"attention": 12, "gelu": 12, "layer_norm": 25},
    "decode": {"attention": 12, "gelu": 12, "layer_norm": 25},
    "ResNet34": {"convolution": 36},
    "MobileNetV2": {"convolution": 52},
}


@pytest.mark.parametrize("name", MODELS)
def test_models_shrink_as_far_as_known(name: str) -> None:
    make, most = MODELS[name]
    module = make()
    simplify(module)
    verify(module)
    assert sum(isinstance(op, PtirOp) and op.name != "ptir.constant" for op in walk(module)) <= most
    optimize(module)
    verify(module)
    found = Counter(
        op.values()["pattern"] if isinstance(op, FusionOp) else op.OPCODE for op in walk(module) if isinstance(op, PtirOp)
    )
    assert {key: found[key] for key in FOUND[name]} == FOUND[name]
    assert {op.OPCODE for op in walk(module) if isinstance(op, PtirOp)} & {"extract_patches", "rsqrt"} == set()


def test_split_and_fusions() -> None:
    module = resnet34.program(resnet34.SMALL)
    optimize(module, split=True, fusions=True)
    verify(module)
    names = [f.sym_name.data for f in functions(module)]
    assert len(names) == 2
    assert names[0] == f"{names[1]}_prepare"
    prepared = Counter(op.OPCODE for op in walk(function_of(module, names[0])) if isinstance(op, PtirOp))
    assert prepared["transpose"] == 36
    assert any(isinstance(op, FusionOp) for op in walk(module))


def test_patterns_can_be_left_alone() -> None:
    module = forms.program("f32[3,5]", forms.library_softmax)
    after = module.clone()
    optimize(after, patterns=False)
    assert not any(isinstance(op, FusionOp) for op in walk(after))


def test_fast_math_needs_to_be_asked_for() -> None:
    module = forms.program("f32[3,5]", lambda x: ptir.MulOp(x, forms.like(x, 0.0)))
    fast, exact = module.clone(), module.clone()
    optimize(fast, fast_math=True)
    optimize(exact)
    assert [op.name for op in walk(fast) if isinstance(op, PtirOp)] == ["ptir.constant"]
    assert "ptir.mul" in [op.name for op in walk(exact)]


def test_models_keep_their_results() -> None:
    """The small decoder in full, optimised, against the program as built."""
    config = gpt2.SMALL
    module = gpt2.program(config, "full", length=8)
    weights = gpt2.random_weights(config)
    tokens, positions = (np.arange(8, dtype=np.int32) for _ in range(2))
    arguments = [tokens, positions, *weights.values()]
    before = evaluate(function_of(module), arguments)
    optimize(module, fusions=True)
    verify(module)
    after = evaluate(function_of(module), arguments)
    for a, b in zip(before, after, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4 * np.abs(a).max())
