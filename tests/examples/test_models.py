"""The model programs: what they consist of, and that they compute what the same networks compute in NumPy and in PyTorch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr

import mind_array as ma
from mind_dialect.errors import MindError
from mind_dialect.program import argument_attribute, functions, input_names
from mind_dialect.verify import verify
from mind_passes.ptir.split_parameters import PARAMETER_ATTRIBUTE
from mind_runtime import compile
from mind_runtime.agreement import check_gradients, draw_arguments, run_everywhere
from models import gpt2, layers, llama, mobilenet_v2, resnet34
from models.optimised import compile as compile_for_speed
from models.optimised import optimised
from models.peers import by_numpy
from models.weights import numpy_dtype
from ptir_evaluator import evaluate, function_of
from tool_runs import mind_opt

Run = Callable[..., list[np.ndarray]]
TOLERANCE = 1e-4
"""Of the greatest result: what a program may differ from its peers by."""
SHARED_HEADS = gpt2.Config(vocabulary=50, context=32, width=48, layers=2, heads=6, kv_heads=2, gelu="tanh")
IMAGES = {"ResNet34": resnet34, "MobileNetV2": mobilenet_v2}

PROGRAMS = {
    "full": lambda config: gpt2.program(config, "full", length=8),
    "prefill": lambda config: gpt2.program(config, "prefill", length=8, capacity=64),
    "decode": lambda config: gpt2.program(config, "decode", capacity=64),
    "ResNet34": lambda config: resnet34.program(config),
    "MobileNetV2": lambda config: mobilenet_v2.program(config),
}
SMALL = {**dict.fromkeys(("full", "prefill", "decode"), gpt2.SMALL), **{n: m.SMALL for n, m in IMAGES.items()}}
REAL = {**dict.fromkeys(("full", "prefill", "decode"), gpt2.REAL), **{n: m.REAL for n, m in IMAGES.items()}}

# The public producer's own programs at real size, without its inline literals, which are constants here.
_BLOCKS = {"dot_general": 73, "add": 147, "sub": 37, "mul": 161, "div": 24, "erf": 12, "exp": 12, "rsqrt": 25, "take": 2}
_BLOCKS |= {"reduce max": 12, "reduce sum": 62, "reshape": 96, "compare": 12, "select": 12}
_FULL = {**_BLOCKS, "broadcast_to": 416, "transpose": 48, "slice": 48, "iota": 24}
COUNTS = {
    "full": _FULL,
    "prefill": {**_FULL, "dynamic_update_slice": 24},
    "decode": {**_BLOCKS, "broadcast_to": 440, "slice": 60, "iota": 12, "dynamic_slice": 12, "dynamic_update_slice": 24},
    "ResNet34": {
        **{"broadcast_to": 104, "dot_general": 37, "add": 53, "div": 1, "maximum": 33, "reduce sum": 2, "reshape": 37},
        **{"transpose": 1, "extract_patches": 36, "reduce_window": 1},
    },
    "MobileNetV2": {
        **{"broadcast_to": 194, "dot_general": 53, "add": 63, "div": 1, "maximum": 35, "minimum": 35, "reduce sum": 2},
        **{"reshape": 87, "transpose": 18, "extract_patches": 52},
    },
}
TOTALS = {"full": 1223, "prefill": 1247, "decode": 1235, "ResNet34": 305, "MobileNetV2": 540}

MOVES = {"broadcast_to", "reshape", "transpose", "slice"}

RECOGNISED = [
    ("full", "layer_norm", 25),
    ("prefill", "layer_norm", 25),
    ("decode", "layer_norm", 25),
    ("ResNet34", "convolution", 36),
    ("MobileNetV2", "convolution", 52),
]
"""Of real programs: what stands where an idiom was."""


def counts(module: ModuleOp) -> Counter[str]:
    """How often each op stands in a program; constants are left out, reductions told apart by kind."""
    found = Counter[str]()
    for op in module.walk():
        if op.name.startswith("ptir.") and op.name != "ptir.constant":
            kind = op.properties.get("kind") if op.name == "ptir.reduce" else None
            found[op.name.removeprefix("ptir.") + (f" {kind.data}" if isinstance(kind, StringAttr) else "")] += 1
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_real_programs_have_the_ops_of_the_public_producer(name: str) -> None:
    """The same arithmetic, and no more ops that only move elements: equal broadcasts are made once, whole slices not at all."""
    module = PROGRAMS[name](REAL[name])
    verify(module)
    found, theirs = counts(module), Counter(COUNTS[name])
    assert found.keys() <= theirs.keys()
    for op in theirs:
        assert found[op] <= theirs[op] if op in MOVES else found[op] == theirs[op], op
    assert found.total() < TOTALS[name] == theirs.total()


@pytest.mark.parametrize(("name", "pattern", "count"), RECOGNISED)
def test_the_optimiser_recognises_what_the_layers_emit(name: str, pattern: str, count: int) -> None:
    found = counts(optimised(PROGRAMS[name](REAL[name])))
    assert found[pattern] == count
    assert found.total() < 0.75 * TOTALS[name]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_survive_both_text_forms(name: str) -> None:
    module = PROGRAMS[name](SMALL[name])
    verify(module)
    written = f"{module!s}"
    generic = mind_opt("--print-op-generic", stdin=written)
    assert generic.status == 0, generic.err
    assert mind_opt(stdin=generic.out).out.strip() == mind_opt(stdin=written).out.strip() == written.strip()


def test_weights_are_inputs_by_name_and_marked() -> None:
    module = gpt2.program(gpt2.SMALL, "decode", capacity=8)
    (func,) = functions(module)
    specs = list(gpt2.parameters(gpt2.SMALL))
    assert specs[:2] == ["tok_embeddings.weight", "pos_embeddings"]
    assert specs[5] == "blocks.0.attention.b_qkv"
    assert input_names(func) == ["tokens", "positions", "cache_start", *specs, *gpt2.caches(gpt2.SMALL, 8)]
    assert func.arg_attrs is not None
    marked = [i for i, a in enumerate(func.arg_attrs.data) if "ptir.parameter" in a.data]
    assert marked == list(range(3, 3 + len(specs)))


def test_the_real_gpt2_has_124_million_parameters() -> None:
    sizes = {name: int(np.prod(spec.shape)) for name, spec in gpt2.parameters(gpt2.REAL).items()}
    assert sum(sizes.values()) - sizes["lm_head"] == 124_439_808


def op_by_op(module: ModuleOp, *arguments: np.ndarray) -> list[np.ndarray]:
    """The outputs of the only function of a module, each op by its kernel."""
    return evaluate(function_of(module), arguments)


def compiled(module: ModuleOp, *arguments: np.ndarray) -> list[np.ndarray]:
    """The outputs of the only function of a module, compiled for the numpy target."""
    found = compile(module)(*arguments)
    return list(found) if isinstance(found, tuple) else [found]


def compiled_optimised(module: ModuleOp, *arguments: np.ndarray) -> list[np.ndarray]:
    """As `compiled`, of what the optimiser leaves, weights prepared."""
    verify(optimised(module))
    (func,) = functions(module)
    given = dict(zip(input_names(func), arguments, strict=True))
    weights = {name: given.pop(name) for i, name in enumerate(list(given)) if argument_attribute(func, i, PARAMETER_ATTRIBUTE)}
    found = compile_for_speed(module, weights)(*given.values())
    return list(found) if isinstance(found, tuple) else [found]


@pytest.fixture(params=[op_by_op, compiled, compiled_optimised], ids=["op by op", "compiled", "optimised"])
def run(request: pytest.FixtureRequest) -> Run:
    """A way of running a module."""
    return request.param


def agree(found: np.ndarray, expected: np.ndarray) -> None:
    """To `TOLERANCE` of the greatest entry, which is that of numbers, not of noise."""
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert np.isfinite(expected).all()
    assert abs(found - expected).max() <= TOLERANCE * abs(expected).max()


def text(config: gpt2.Config, length: int, seed: int = 0) -> np.ndarray:
    """Tokens."""
    return np.random.default_rng(seed).integers(0, config.vocabulary, length).astype(np.int32)


@cache
def weights(config: Any) -> dict[str, np.ndarray]:
    """Random weights of any model."""
    module = next(m for m in (gpt2, *IMAGES.values()) if isinstance(config, m.Config))
    return module.random_weights(config, 1)


def drawn(name: str, module: ModuleOp) -> list[Any]:
    """Arguments of a small program: the model's own random weights, whose scale keeps it well conditioned, and drawn inputs."""
    (func,) = functions(module)
    known = weights(SMALL[name])
    return [known.get(i, x) for i, x in zip(input_names(func), draw_arguments(module), strict=True)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_executors_agree_on_every_model(name: str) -> None:
    """As `mind-check` would say of it; XLA, ONNX Runtime and IREE take part where they are installed."""
    module = PROGRAMS[name](SMALL[name])
    executors = ["numpy", "native", "xla", "onnx", "iree"]
    found = run_everywhere(module, None, drawn(name, module), executors)
    assert [o.executor for o in found.outcomes if o.status in ("ran", "not available")] == executors
    assert found.outcomes[0].counts
    assert [str(found.difference(*pair)[1]) for pair in found.disagreements()] == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_of_every_model_agree_with_differences(name: str) -> None:
    module = PROGRAMS[name](SMALL[name])
    checks = check_gradients(module, None, drawn(name, module), directions=2)
    assert all(check.agrees and check.uncertainty < 1e-4 for check in checks), checks


def test_executors_agree_on_a_block_of_llama() -> None:
    """Its sizes are open; ONNX Runtime and IREE take part where they are installed."""
    module = llama.loss_program(llama.SMALL)
    known = llama.random_weights(llama.SMALL)
    drawn = draw_arguments(module, None, 0, {"B": 2, "T": 5})
    arguments = [known.get(i, x) for i, x in zip(input_names(next(functions(module))), drawn, strict=True)]
    found = run_everywhere(module, None, arguments, ["numpy", "native", "xla", "onnx", "iree"])
    assert {o.status for o in found.outcomes} <= {"ran", "not available"}
    assert [o.executor for o in found.outcomes if o.status == "ran"][:2] == ["numpy", "native"]
    assert [str(found.difference(*pair)[1]) for pair in found.disagreements()] == []


def full(run: Run, config: gpt2.Config, tokens: np.ndarray) -> np.ndarray:
    """The logits of all tokens at once."""
    module = gpt2.program(config, "full", length=len(tokens))
    (logits,) = run(module, tokens, np.arange(len(tokens), dtype=np.int32), *weights(config).values())
    return logits


def images(config: Any) -> np.ndarray:
    """A batch of noise."""
    shape = (config.batch, 3, config.image, config.image)
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def torch_peers() -> Any:
    """The networks in PyTorch, or a visible skip."""
    pytest.importorskip("torch", reason="PyTorch is not installed (make test-all installs it)")
    from models.peers import by_torch

    return by_torch


@pytest.fixture(params=["NumPy", "PyTorch"])
def peers(request: pytest.FixtureRequest) -> Any:
    """A module that holds the same networks."""
    return by_numpy if request.param == "NumPy" else torch_peers()


@pytest.mark.parametrize("config", [gpt2.SMALL, SHARED_HEADS], ids=["erf", "tanh, shared heads"])
def test_gpt2_agrees(run: Run, peers: Any, config: gpt2.Config) -> None:
    tokens = text(config, 12)
    agree(full(run, config, tokens), peers.GPT2(config, weights(config))(tokens))


@pytest.mark.parametrize("config", [gpt2.SMALL, SHARED_HEADS], ids=["erf", "tanh, shared heads"])
def test_prefill_and_decode_agree_with_full_and_with_peers(run: Run, peers: Any, config: gpt2.Config) -> None:
    tokens, capacity = text(config, 12), 16
    expected, peer = full(run, config, tokens), peers.GPT2(config, weights(config), capacity)
    places = np.arange(12, dtype=np.int32)
    caches = [np.zeros(spec.shape, np.float32) for spec in gpt2.caches(config, capacity).values()]
    prefill = gpt2.program(config, "prefill", length=8, capacity=capacity)
    logits, *caches = run(prefill, tokens[:8], places[:8], *weights(config).values(), *caches)
    agree(logits, expected[:8])
    agree(logits, peer(tokens[:8]))
    decode = gpt2.program(config, "decode", capacity=capacity)
    for i in range(8, 12):
        start = np.array([0, i, 0], np.int32)
        logits, *caches = run(decode, tokens[i : i + 1], places[i : i + 1], start, *weights(config).values(), *caches)
        agree(logits, expected[i : i + 1])
        agree(logits, peer(tokens[i : i + 1]))


def test_a_token_sees_what_is_before_it_and_nothing_after(run: Run) -> None:
    tokens = text(gpt2.SMALL, 12)
    changed = tokens.copy()
    changed[6] = (changed[6] + 1) % gpt2.SMALL.vocabulary
    before, after = full(run, gpt2.SMALL, tokens), full(run, gpt2.SMALL, changed)
    np.testing.assert_array_equal(before[:6], after[:6])
    assert (abs(before[6:] - after[6:]).max(-1) > 1e-3).all()


@pytest.mark.parametrize("name", IMAGES)
def test_image_networks_agree(run: Run, peers: Any, name: str) -> None:
    config = IMAGES[name].SMALL
    given = images(config)
    (found,) = run(IMAGES[name].program(config), given, *weights(config).values())
    agree(found, getattr(peers, name)(config, weights(config))(given))
    assert np.ptp(found, axis=0).max() > 100 * TOLERANCE * abs(found).max(), "the scores hardly depend on the image"


@pytest.mark.parametrize("transposed", [False, True])
def test_attention_in_either_form_is_that_of_textbooks(run: Run, transposed: bool) -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((2, 3, n, 4), dtype=np.float32) for n in (5, 7, 7))
    mask = np.where(rng.random((5, 7)) < 0.5, np.float32(0), np.float32(-1e9))
    specs = [ma.spec(a.shape, "f32") for a in (q, k, v, mask)]
    module = ma.trace(lambda *given: layers.attention(*given, transposed=transposed), *specs)
    verify(module)
    assert counts(module)["transpose"] == transposed
    shares = np.exp(np.einsum("bhsd,bhtd->bhst", q, k, dtype=np.float64) / 2 + mask)
    expected = np.einsum("bhst,bhtd->bhsd", shares / shares.sum(-1, keepdims=True), v)
    np.testing.assert_allclose(run(module, q, k, v, mask)[0], expected, atol=1e-5)


def test_attention_and_normalisation_of_rows_of_great_numbers_stay_finite(run: Run) -> None:
    module = ma.trace(layers.softmax, ma.spec((2, 4), "f32"))
    rows = np.array([[1e4, -1e4, 0, 1e4], [-1e9, -1e9, -1e9, -1e9]], np.float32)
    (found,) = run(module, rows)
    np.testing.assert_allclose(found, [[0.5, 0, 0, 0.5], [0.25] * 4])


def test_the_programs_in_bf16_are_near_those_in_f32(run: Run) -> None:
    pytest.importorskip("ml_dtypes", reason="the extra `models` is not installed")
    config, tokens, places = replace(gpt2.SMALL, dtype="bf16"), text(gpt2.SMALL, 8), np.arange(8, dtype=np.int32)
    module = gpt2.program(config, "full", length=8)
    verify(module)
    narrow = gpt2.random_weights(config, 1)
    (found,) = run(module, tokens, places, *narrow.values())
    assert found.dtype == numpy_dtype("bf16")
    expected = by_numpy.GPT2(gpt2.SMALL, {n: a.astype(np.float32) for n, a in narrow.items()})(tokens)
    assert abs(found.astype(np.float32) - expected).max() < 2**-4 * abs(expected).max()
    assert abs(found.astype(np.float32) - expected).max() > 1e-4 * abs(expected).max(), "nothing was rounded"


WRONG = {
    "heads that do not divide the width": lambda: gpt2.Config(width=10, heads=3, kv_heads=3),
    "no layers": lambda: gpt2.Config(layers=0),
    "an unknown gelu": lambda: gpt2.Config(gelu="relu"),
    "an unknown mode": lambda: gpt2.program(gpt2.SMALL, "train"),
    "more tokens than the context": lambda: gpt2.program(gpt2.SMALL, "full", length=65),
    "more tokens than the cache": lambda: gpt2.program(gpt2.SMALL, "prefill", length=9, capacity=8),
    "a cache beyond the context": lambda: gpt2.program(gpt2.SMALL, "decode", capacity=65),
    "no cache": lambda: gpt2.program(gpt2.SMALL, "decode"),
    "two tokens at once": lambda: gpt2.program(gpt2.SMALL, "decode", length=2, capacity=8),
    "stages without blocks": lambda: resnet34.Config(channels=(4, 8)),
    "an image of nothing": lambda: mobilenet_v2.Config(image=0),
    "a mode of images": lambda: mobilenet_v2.program(mobilenet_v2.SMALL, "decode"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_sizes_are_coded_errors(case: str) -> None:
    with pytest.raises(MindError) as caught:
        WRONG[case]()
    assert caught.value.code == "E7001"


BOTH_WAYS = (((2, 1, 3), (4, 1)), ((3,), (2, 3)), ((2, 3), (3,)), ((2, 3), (2, 3)), ((), (2,)))
PRODUCTS = (((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)))
EXPRESSIONS = [
    *((lambda x, y: x + y * 2.0, shapes) for shapes in BOTH_WAYS),
    *((lambda x, y: -x - y / 4.0, shapes) for shapes in BOTH_WAYS),
    *((lambda x, y: x @ y, shapes) for shapes in PRODUCTS),
]


@pytest.mark.parametrize(("expression", "shapes"), EXPRESSIONS)
def test_the_operators_of_traced_arrays_are_those_of_numpy(
    run: Run, expression: Any, shapes: tuple[tuple[int, ...], ...]
) -> None:
    arrays = [np.random.default_rng(i).uniform(1, 2, shape).astype(np.float32) for i, shape in enumerate(shapes)]
    module = ma.trace(expression, *(ma.spec(shape, "f32") for shape in shapes))
    verify(module)
    (found,) = run(module, *arrays)
    np.testing.assert_allclose(found, expression(*arrays), rtol=1e-6)
