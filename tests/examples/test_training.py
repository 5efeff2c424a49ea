"""Training: the step is one program that works in place, its gradient and its update are those of other libraries, it learns."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mind_array as ma
import mind_runtime
from mind_dialect.errors import MindError
from mind_dialect.program import functions, input_names
from mind_dialect.ptir.types import read_type
from mind_dialect.verify import verify
from mind_passes.functional import grad, vmap
from mind_runtime import compile
from models import gpt2, resnet34
from models.layers import cross_entropy
from models.training import AdamW, Momentum, Optimiser, Trainer, parameter_names, schedule, train_step

pytest.importorskip("rich", reason="the extra `models` is not installed (make test-all installs it)")
import train_gpt

TINY = gpt2.Config(vocabulary=7, context=4, width=8, layers=2, heads=2, kv_heads=1)
TINY_IMAGES = resnet34.Config(image=8, classes=5, channels=(3, 4), blocks=(1, 1), batch=4, colours=1, stem=(3, 1))
Weights = Mapping[str, Any]


def torch_or_skip() -> Any:
    """PyTorch, or a visible skip."""
    return pytest.importorskip("torch", reason="PyTorch is not installed (make test-all installs it)")


def text(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A batch of three windows of random text, and what follows."""
    windows = np.random.default_rng(seed).integers(0, TINY.vocabulary, (3, TINY.context + 1)).astype(np.int32)
    return windows[:, :-1].copy(), windows[:, 1:].copy()


def pictures(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A batch of noise, and labels."""
    rng = np.random.default_rng(seed)
    shape = (TINY_IMAGES.batch, TINY_IMAGES.colours, TINY_IMAGES.image, TINY_IMAGES.image)
    return rng.standard_normal(shape).astype(np.float32), rng.integers(0, TINY_IMAGES.classes, shape[0]).astype(np.int32)


MODELS: dict[str, tuple[Any, dict[str, np.ndarray], Callable[..., tuple[np.ndarray, np.ndarray]]]] = {
    "GPT": (gpt2.loss_program(TINY, batch=3, length=TINY.context), gpt2.random_weights(TINY, 1), text),
    "ResNet": (resnet34.loss_program(TINY_IMAGES), resnet34.random_weights(TINY_IMAGES, 1), pictures),
}


def gradients(name: str) -> tuple[float, dict[str, np.ndarray]]:
    """Loss and gradients, read off a step: the velocity, which is 0 at first, becomes the gradient."""
    loss, weights, data = MODELS[name]
    trainer = Trainer(loss, weights, Momentum())
    value = trainer.step(0.0, *data())
    return value, {n: trainer.state[f"{n}.velocity"] for n in weights}


def gpt_loss(xp: Any, erf: Callable[[Any], Any], w: Weights, tokens: Any, targets: Any) -> Any:
    """The loss of a GPT in another array library, with a loop over sequences and over heads."""

    def norm(x: Any, name: str) -> Any:
        centred = x - x.mean(-1)[:, None]
        return centred / xp.sqrt((centred * centred).mean(-1) + TINY.epsilon)[:, None] * w[f"{name}.gamma"] + w[f"{name}.beta"]

    def attended(x: Any, name: str) -> Any:
        d, heads = TINY.depth, []
        qkv = x @ w[f"{name}.w_qkv"] + w[f"{name}.b_qkv"]
        for h in range(TINY.heads):
            shared = TINY.heads + h * TINY.kv_heads // TINY.heads
            q, k, v = (qkv[:, n * d : (n + 1) * d] for n in (h, shared, shared + TINY.kv_heads))
            shares = xp.tril(xp.exp(q @ k.T / math.sqrt(d)))
            heads.append(shares / shares.sum(-1)[:, None] @ v)
        return xp.concatenate(heads, 1) @ w[f"{name}.w_out"] + w[f"{name}.b_out"]

    total = 0.0
    for read, following in zip(tokens, targets, strict=True):
        x = w["tok_embeddings.weight"][read] + w["pos_embeddings"][: len(read)]
        for i in range(TINY.layers):
            x = x + attended(norm(x, f"blocks.{i}.ln_1"), f"blocks.{i}.attention")
            part = f"blocks.{i}.feed_forward"
            hidden = norm(x, f"blocks.{i}.ln_2") @ w[f"{part}.w_in"] + w[f"{part}.b_in"]
            x = x + hidden * (1 + erf(hidden / math.sqrt(2))) / 2 @ w[f"{part}.w_out"] + w[f"{part}.b_out"]
        logits = norm(x, "final_ln") @ w["lm_head"]
        for row, target in zip(logits, following, strict=True):
            total = total + xp.log(xp.exp(row).sum()) - row[target]
    return total / tokens.shape[0] / tokens.shape[1]


def numpy_gpt_loss(weights: Weights, tokens: np.ndarray, targets: np.ndarray) -> float:
    return gpt_loss(np, np.vectorize(math.erf), weights, tokens, targets)


def resnet_loss(torch: Any, w: Weights, image: np.ndarray, labels: np.ndarray) -> Any:
    """The loss of a ResNet in PyTorch."""
    functional = torch.nn.functional

    def convolved(x: Any, name: str, stride: int, padding: int) -> Any:
        return functional.conv2d(x, w[f"{name}.weight"], w[f"{name}.bias"], stride=stride, padding=padding)

    x = functional.max_pool2d(convolved(torch.from_numpy(image), "conv1", 1, 1).relu(), 3, 2, 1)
    for block in resnet34.blocks(TINY_IMAGES):
        y = convolved(convolved(x, f"{block.name}.conv1", block.stride, 1).relu(), f"{block.name}.conv2", 1, 1)
        x = (y + (convolved(x, f"{block.name}.downsample", block.stride, 0) if block.downsample else x)).relu()
    scores = x.mean((2, 3)) @ w["fc.weight"] + w["fc.bias"]
    return functional.cross_entropy(scores, torch.from_numpy(labels).long())


def torch_loss(torch: Any, name: str, weights: Weights, data: tuple[np.ndarray, np.ndarray]) -> Any:
    if name == "ResNet":
        return resnet_loss(torch, weights, *data)
    return gpt_loss(torch, torch.erf, weights, *(torch.from_numpy(a).long() for a in data))


def agree(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-4) -> None:
    """To a share of the greatest entry."""
    assert found.shape == expected.shape
    assert abs(found - expected).max() <= tolerance * abs(expected).max() + 1e-8


def test_the_gradient_of_the_gpt_is_that_of_central_differences() -> None:
    """Of an f64 loss in plain NumPy, by every weight alone; weights that many places share and weights of rare tokens too."""
    loss, found = gradients("GPT")
    weights = {n: a.astype(np.float64) for n, a in MODELS["GPT"][1].items()}
    assert loss == pytest.approx(numpy_gpt_loss(weights, *text()), rel=1e-5)
    rng, h = np.random.default_rng(0), 1e-5
    for name, values in weights.items():
        scale = float(abs(found[name]).max())
        for place in rng.permutation(values.size)[:4]:
            index = np.unravel_index(place, values.shape)
            kept, losses = values[index], []
            for x in (kept + h, kept - h):
                values[index] = x
                losses.append(numpy_gpt_loss(weights, *text()))
            values[index] = kept
            assert found[name][index] == pytest.approx((losses[0] - losses[1]) / (2 * h), rel=1e-3, abs=1e-4 * scale), name


def test_the_gradient_of_the_resnet_is_that_of_central_differences() -> None:
    """Along random directions of each weight, of the same loss in f64, whose forward pass other tests hold against peers."""
    _, found = gradients("ResNet")
    wide = resnet34.Config(**{**vars(TINY_IMAGES), "dtype": "f64"})
    loss = compile(resnet34.loss_program(wide))
    image, labels = pictures()
    weights = {n: a.astype(np.float64) for n, a in MODELS["ResNet"][1].items()}
    rng, h = np.random.default_rng(0), 1e-6
    for name, values in weights.items():
        direction = rng.standard_normal(values.shape)
        sides = [loss(image.astype(np.float64), labels, *{**weights, name: values + s * direction}.values()) for s in (h, -h)]
        expected = float(sides[0] - sides[1]) / (2 * h)
        tolerance = 1e-4 * float(np.linalg.norm(found[name]))
        assert float((found[name] * direction).sum()) == pytest.approx(expected, rel=1e-4, abs=tolerance), name


@pytest.mark.parametrize("name", MODELS)
def test_the_gradient_is_that_of_torch(name: str) -> None:
    torch = torch_or_skip()
    _, weights, data = MODELS[name]
    theirs = {n: torch.from_numpy(a.copy()).requires_grad_() for n, a in weights.items()}
    loss = torch_loss(torch, name, theirs, data())
    loss.backward()
    value, found = gradients(name)
    assert value == pytest.approx(float(loss.detach()), rel=1e-5)
    for n, expected in theirs.items():
        agree(found[n], expected.grad.numpy())


@pytest.mark.parametrize("name", MODELS)
def test_some_steps_of_adamw_are_those_of_torch(name: str) -> None:
    torch = torch_or_skip()
    loss, weights, data = MODELS[name]
    adamw = AdamW(epsilon=1e-3, decay=0.3)  # so great an epsilon that gradients of nothing but noise stay noise
    theirs = {n: torch.from_numpy(a.copy()).requires_grad_() for n, a in weights.items()}
    shared = {"lr": 0.01, "betas": (adamw.beta1, adamw.beta2), "eps": adamw.epsilon}
    groups = [{"params": [a for a in theirs.values() if (a.ndim > 1) == d], "weight_decay": 0.3 * d} for d in (False, True)]
    optimiser, trainer = torch.optim.AdamW(groups, **shared), Trainer(loss, weights, adamw)
    for seed in range(5):
        optimiser.zero_grad()
        expected = torch_loss(torch, name, theirs, data(seed))
        expected.backward()
        optimiser.step()
        assert trainer.step(0.01, *data(seed)) == pytest.approx(float(expected.detach()), rel=1e-4)
    for n, a in theirs.items():
        agree(trainer.weights[n], a.detach().numpy())
        assert abs(trainer.weights[n] - weights[n]).max() > 1e-3


def test_the_batch_written_by_hand_is_that_of_the_vectorise_pass() -> None:
    """The loss of one sequence, mapped over three, has their losses; its gradient, mapped, has the parts of the batch's."""
    loss, found = gradients("GPT")
    weights, windows = MODELS["GPT"][1], [a[:, None] for a in text()]
    one, mapped = gpt2.loss_program(TINY, batch=1, length=TINY.context), [0, 0, *[None] * len(weights)]
    losses = compile(vmap(one, in_axes=mapped), "loss_vmap")(*windows, *weights.values())
    assert losses.shape == (3,)
    assert float(losses.mean()) == pytest.approx(loss, rel=1e-5)
    each = grad(one, wrt=tuple(weights))
    per_example = compile(vmap(each, "loss_grad", in_axes=mapped), "loss_grad_vmap")(*windows, *weights.values())
    for name, parts in zip(weights, per_example, strict=True):
        agree(parts.mean(0), found[name])


def linear_loss(rows: int = 3) -> Any:
    """`sum(x w) + sum(y b)`, whose gradients are x and y."""
    data = [ma.spec((rows, 4), "f32", name="x"), ma.spec((5,), "f32", name="y")]
    weights = [ma.spec((rows, 4), "f32", name="w", parameter=True), ma.spec((5,), "f32", name="b", parameter=True)]
    return ma.trace(lambda x, y, w, b: ma.sum(x * w) + ma.sum(y * b), *data, *weights, name="loss")


def adamw_by_hand(weight: np.ndarray, gradients: list[np.ndarray], rate: float, o: AdamW, decay: float) -> np.ndarray:
    """The algorithm as its paper writes it, in f64."""
    theta, m, v = weight.astype(np.float64), 0.0, 0.0
    for t, g in enumerate(gradients, start=1):
        m, v = o.beta1 * m + (1 - o.beta1) * g, o.beta2 * v + (1 - o.beta2) * g.astype(np.float64) ** 2
        theta = theta - rate * (m / (1 - o.beta1**t) / (np.sqrt(v / (1 - o.beta2**t)) + o.epsilon) + decay * theta)
    return theta


def momentum_by_hand(weight: np.ndarray, gradients: list[np.ndarray], rate: float, o: Momentum, decay: float) -> np.ndarray:
    theta, velocity = weight.astype(np.float64), 0.0
    for g in gradients:
        velocity = o.momentum * velocity + g
        theta = theta - rate * velocity
    return theta


BY_HAND: list[tuple[Optimiser, Any]] = [
    (AdamW(), adamw_by_hand),
    (AdamW(0.8, 0.999, 1e-3, 0.5), adamw_by_hand),
    (Momentum(0.7), momentum_by_hand),
]


@pytest.mark.parametrize(("optimiser", "by_hand"), BY_HAND)
def test_updates_are_those_of_their_papers(optimiser: Any, by_hand: Any) -> None:
    rng = np.random.default_rng(0)
    weights = {"w": rng.standard_normal((3, 4)).astype(np.float32), "b": rng.standard_normal(5).astype(np.float32)}
    data = [(rng.standard_normal((3, 4)).astype(np.float32), rng.standard_normal(5).astype(np.float32)) for _ in range(6)]
    trainer = Trainer(linear_loss(), weights, optimiser)
    for x, y in data:
        trainer.step(0.1, x, y)
    decay = getattr(optimiser, "decay", 0.0)
    w = by_hand(weights["w"], [x for x, _ in data], 0.1, optimiser, decay)
    b = by_hand(weights["b"], [y for _, y in data], 0.1, optimiser, 0.0)
    np.testing.assert_allclose(trainer.weights["w"], w, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(trainer.weights["b"], b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_a_step_is_one_function_without_calls(name: str) -> None:
    loss, weights, _ = MODELS[name]
    module = train_step(loss, AdamW())
    verify(module)
    (func,) = functions(module)
    assert not any(op.name == "func.call" for op in module.walk())
    state = [f"{n}.{kind}" for kind in ("mean", "square") for n in weights]
    assert input_names(func)[2:] == ["rate", "step", *weights, *state]
    assert len(func.function_type.outputs.data) == 1 + 3 * len(weights)
    assert parameter_names(loss) == list(weights)


def test_a_step_overwrites_large_weights_and_moments() -> None:
    """What the runtime writes in place is arrays from 64 KiB on."""
    trainer = Trainer(linear_loss(rows=5000), {"w": np.ones((5000, 4), np.float32), "b": np.ones(5, np.float32)}, AdamW())
    places = []
    for _ in range(3):
        trainer.step(0.1, np.ones((5000, 4), np.float32), np.ones(5, np.float32))
        places.append([a.ctypes.data for a in (trainer.weights["w"], trainer.state["w.mean"], trainer.state["w.square"])])
    assert places[0] == places[1] == places[2]
    assert len(set(places[0])) == 3


@pytest.mark.parametrize("name", MODELS)
def test_what_was_given_stays_as_it_was(name: str) -> None:
    loss, weights, data = MODELS[name]
    before, given = {n: a.copy() for n, a in weights.items()}, data()
    trainer = Trainer(loss, weights, AdamW())
    for _ in range(2):
        trainer.step(0.1, *given)
    np.testing.assert_equal([*weights.values(), *given], [*before.values(), *data()])


def test_the_cross_entropy_of_great_logits_is_finite_and_right() -> None:
    run = compile(ma.trace(cross_entropy, ma.spec((2, 2, 3), "f32"), ma.spec((2, 2), ma.int32)))
    given = np.array([[[500, 501, 400], [0, 0, 0]], [[-1e4, -1e4, 0], [1, 2, 3]]], np.float32)
    chosen = np.array([[0, 2], [2, 1]], np.int32)
    shifted = given.astype(np.float64) - given.max(-1, keepdims=True)
    shares = np.exp(shifted) / np.exp(shifted).sum(-1, keepdims=True)
    expected = -np.log([shares[0, 0, 0], shares[0, 1, 2], shares[1, 0, 2], shares[1, 1, 1]]).mean()
    assert run(given, chosen) == pytest.approx(expected, rel=1e-5)


def test_the_learning_rate_rises_then_falls() -> None:
    rates = [schedule(i, 100, 2.0, 10) for i in range(1, 101)]
    assert rates[0] == pytest.approx(0.2)
    assert rates[9] == max(rates) == 2.0
    assert rates[-1] == pytest.approx(0.2)
    assert sorted(rates[9:], reverse=True) == rates[9:]
    assert schedule(1, 1, 2.0, 0) == pytest.approx(0.2)


def wrong_weights() -> Any:
    return ma.trace(lambda w: w, ma.spec((), name="w", parameter=True), name="loss")


def no_weights() -> Any:
    return ma.trace(lambda x: x, ma.spec((), "f32", name="x"), name="loss")


@lru_cache(maxsize=3)
def narrow_step(**how: str) -> tuple[float, dict[str, np.ndarray], Any]:
    """Loss and gradients of a GPT with products in bf16, and its step."""
    pytest.importorskip("ml_dtypes", reason="no ml_dtypes: no arrays of bf16")
    config = gpt2.Config(**{**vars(TINY), **how})
    trainer = Trainer(gpt2.loss_program(config, batch=3, length=TINY.context), MODELS["GPT"][1], Momentum())
    value = trainer.step(0.0, *text())
    return value, {n: trainer.state[f"{n}.velocity"] for n in trainer.weights}, trainer


NARROW = [{"compute": "bf16"}, {"dtype": "bf16"}]


@pytest.mark.parametrize(("how", "tolerance"), [(NARROW[0], 0.03), (NARROW[1], 0.08)], ids=["products", "all"])
def test_gradients_of_narrow_products_are_those_of_torch(how: dict[str, str], tolerance: float) -> None:
    """By autocast. So small a model makes much of rounding: gradients of f32 are farther away."""
    torch = torch_or_skip()
    value, found, trainer = narrow_step(**how)
    theirs = {n: torch.from_numpy(a.copy()).requires_grad_() for n, a in MODELS["GPT"][1].items()}
    with torch.autocast("cpu", torch.bfloat16):
        loss = torch_loss(torch, "GPT", theirs, text())
    loss.backward()
    assert value == pytest.approx(float(loss.detach()), rel=1e-2)
    wide = gradients("GPT")[1]
    near, far = list[float](), list[float]()
    for name, w in theirs.items():
        assert trainer.weights[name].dtype == found[name].dtype == np.float32
        for distances, other in ((near, w.grad.numpy()), (far, wide[name])):
            distances.append(float(np.linalg.norm(found[name] - other) / np.linalg.norm(other)))
    assert max(near) < tolerance
    assert np.mean(far) > 2 * np.mean(near)


@pytest.mark.parametrize("how", NARROW, ids=["products", "all"])
def test_small_updates_are_not_lost(how: dict[str, str]) -> None:
    """Less than half of what the last bit of bf16 counts, again and again."""
    trainer = narrow_step(**how)[2]
    before = {n: a.copy() for n, a in trainer.weights.items()}
    for _ in range(3):
        trainer.step(1e-6, *text())
    assert all((trainer.weights[n] != a).any() for n, a in before.items() if "beta" in n)


def test_products_and_nothing_else_are_narrow() -> None:
    """The loss is f32, and so is what is summed in many terms."""
    module = train_step(gpt2.loss_program(gpt2.Config(**{**vars(TINY), "compute": "bf16"}), batch=3, length=4), AdamW())
    for op in module.walk():
        narrow = any(read_type(v.type).dtype.name == "bf16" for v in op.operands if op.name.startswith("ptir."))
        product = op.name == "ptir.dot_general"
        moved = op.name in ("ptir.cast", "ptir.transpose", "ptir.reshape", "ptir.broadcast_to")
        assert not narrow or product or moved or op.name == "ptir.reduce", op
    assert [t.element_type.name for t in next(iter(functions(module))).function_type.outputs.data] == ["f32"] * (
        1 + 3 * len(MODELS["GPT"][1])
    )


WRONG_LOSSES = {"f64": (wrong_weights, "E2005"), "no parameters": (no_weights, "E7001")}


@pytest.mark.parametrize("case", WRONG_LOSSES)
def test_what_cannot_be_trained_is_a_coded_error(case: str) -> None:
    make, code = WRONG_LOSSES[case]
    with pytest.raises(MindError) as caught:
        train_step(make(), AdamW())
    assert caught.value.code == code


def test_a_loss_that_is_not_finite_ends_the_training() -> None:
    loss, weights, data = MODELS["GPT"]
    trainer = Trainer(loss, {n: a * np.float32(np.nan) for n, a in weights.items()}, AdamW())
    with pytest.raises(MindError, match="E6006"):
        trainer.step(0.1, *data())


# The programs

Run = Callable[..., tuple[int, str, str]]
QUICK = ("--layers", 1, "--width", 16, "--heads", 2, "--context", 16, "--batch", 8)


def runs(module: Any, capsys: pytest.CaptureFixture[str]) -> Run:
    """A program as a function of its arguments: status, output, errors."""

    def run(*args: object) -> tuple[int, str, str]:
        status = module.main([str(a) for a in args])
        return (status, *capsys.readouterr())

    return run


@pytest.fixture
def gpt(capsys: pytest.CaptureFixture[str]) -> Run:
    """The program that trains a GPT."""
    return runs(train_gpt, capsys)


@pytest.fixture
def resnet(capsys: pytest.CaptureFixture[str]) -> Run:
    """The program that trains a ResNet."""
    for module in ("sklearn", "matplotlib"):
        pytest.importorskip(module, reason="the extra `demo` is not installed (make test-all installs it)")
    import train_resnet

    return runs(train_resnet, capsys)


def losses(output: str) -> tuple[float, float]:
    """What is said of the loss in the first step and in the last ones."""
    (found,) = re.findall(r"loss ([\d.]+) in the first step, ([\d.]+) in the last", output)
    return float(found[0]), float(found[1])


def test_the_gpt_learns_and_says_how_fast(gpt: Run) -> None:
    status, out, err = gpt(*QUICK, "--steps", 60, "--length", 20, "--rate", 0.01)
    assert (status, err) == (0, "")
    first, last = losses(out)
    assert first == pytest.approx(math.log(256), abs=0.1)
    assert last < first - 1
    (held_out,) = re.findall(r"loss ([\d.]+) on text never seen", out)
    assert float(held_out) < first - 1
    assert "60/60" in out
    assert out.count("tokens/s") == 2
    assert re.search(r"^text [\"']The ", out, re.MULTILINE)


def test_the_gpt_learns_by_the_target_that_is_asked_for(gpt: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, bind = list[str](), mind_runtime.bind
    monkeypatch.setattr(mind_runtime, "bind", lambda *given, target, **how: asked.append(target) or bind(*given, **how))
    assert gpt(*QUICK, "--steps", 1, "--length", 1, "--target", "native")[0] == 0
    assert asked == ["native"] * len(asked)
    assert len(asked) == 3, "the step, the loss on what was held out, the sample"


def test_the_gpts_curve_and_weights_are_saved_for_other_programs(gpt: Run, tmp_path: Path) -> None:
    for module in ("matplotlib", "safetensors"):
        pytest.importorskip(module, reason="the extras `demo` and `models` are not installed (make test-all installs them)")
    (tmp_path / "text").write_text("abcd" * 500, encoding="utf-8")
    saved, curve = tmp_path / "w.safetensors", tmp_path / "plots" / "loss.png"
    given = ("--text", tmp_path / "text", "--plot", curve, "--save", saved, "--prompt", "abcdab", "--temperature", 0)
    status, out, err = gpt(*QUICK, *given, "--steps", 80, "--length", 40, "--rate", 0.02)
    assert (status, err) == (0, "")
    assert curve.read_bytes()[:4] == b"\x89PNG"
    assert "abcdab" + "cdab" * 10 in out, "beyond the context too"
    import generate

    config, weights = gpt2.load_safetensors(saved, heads=2)
    assert (config.width, config.layers, config.vocabulary) == (16, 1, 256)
    assert generate.main(["--weights", str(saved), "--heads", "2", "--prompt", "abcdab", "--length", "4"]) == 0
    assert list(weights) == list(gpt2.parameters(config))


def test_windows_of_text_are_followed_by_their_targets() -> None:
    tokens = np.arange(50, dtype=np.int32)
    read, following = next(train_gpt.batches(tokens, 400, 5, 0))
    assert read.shape == following.shape == (400, 5)
    np.testing.assert_array_equal(read + 1, following)
    assert following.max() == 49


def test_the_step_can_be_read(gpt: Run) -> None:
    status, out, _ = gpt(*QUICK, "--show")
    assert status == 0
    assert "func.func @train_step(" in out
    assert "func.call" not in out


WRONG = {
    "heads that do not divide": (["--heads", "3"], "E7001"),
    "no steps": (["--steps", "0"], "E7001"),
    "a negative rate": (["--rate", "-1"], "E7001"),
    "an endless rate": (["--rate", "inf"], "E7001"),
    "no number": (["--decay", "nan"], "E7001"),
    "no prompt": (["--prompt", ""], "E7001"),
    "a text that is not there": (["--text", "absent.txt"], "E7002"),
    "a rate that diverges": (["--rate", "1e30", "--steps", "5"], "E6006"),
}


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_are_said_in_one_line_with_a_code(gpt: Run, case: str) -> None:
    given, code = WRONG[case]
    status, _, err = gpt(*QUICK, *given)
    assert status == 1
    assert err.startswith(f"error[{code}]: ")
    assert err.count("\n") == 1


def test_a_text_shorter_than_its_context_needs_is_refused(gpt: Run, tmp_path: Path) -> None:
    (tmp_path / "short").write_text("short", encoding="utf-8")
    status, _, err = gpt(*QUICK, "--text", tmp_path / "short")
    assert status == 1
    assert err.startswith("error[E7001]: ")


@pytest.mark.parametrize(("optimiser", "steps", "least"), [("adamw", 300, 85), ("momentum", 100, 40)])
def test_the_resnet_learns(resnet: Run, optimiser: str, steps: int, least: float) -> None:
    status, out, err = resnet("--steps", steps, "--width", 8, "--optimiser", optimiser)
    assert (status, err) == (0, "")
    first, last = losses(out)
    assert last < first - 0.5
    (accuracy,) = re.findall(r"test accuracy ([\d.]+)%", out)
    assert float(accuracy) > least
    assert out.count("images/s") == 2


def test_images_are_moved_and_filled_with_paper() -> None:
    pytest.importorskip("sklearn", reason="the extra `demo` is not installed (make test-all installs it)")
    import train_resnet

    image = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
    np.testing.assert_array_equal(train_resnet.moved(image, 0, 0), image)
    np.testing.assert_array_equal(train_resnet.moved(image, 1, 0)[0, 0], [[0, 0], [0, 1]])
    np.testing.assert_array_equal(train_resnet.moved(image, 0, -1)[0, 0], [[1, 0], [3, 0]])


def test_help_names_every_option_and_teaches_by_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        train_gpt.main(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert {f"--{name}" for name in vars(train_gpt.arguments([]))} <= set(re.findall(r"--[a-z-]+", shown))
    assert shown.count("python examples/train_gpt.py") == 5
