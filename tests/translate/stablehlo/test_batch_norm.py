"""Batch normalization against PyTorch, its gradient against our own of the training step."""

from __future__ import annotations

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_passes.functional import vjp
from mind_runtime import compile
from stablehlo_programs import EXECUTORS, program, read, run, same

RNG = np.random.default_rng(11)
X, DY = RNG.normal(size=(2, 2, 3, 5, 4))
SCALE, OFFSET, MEAN = RNG.normal(size=(3, 3))
VARIANCE = RNG.uniform(0.5, 2.0, 3)
T, V = "tensor<2x3x5x4xf64>", "tensor<3xf64>"
EPSILON = "epsilon = 1.0e-2 : f32, feature_index = 1 : i64"


def text(name: str, operands: str, results: str, attributes: str = EPSILON) -> str:
    arguments = ", ".join(f"%{letter}: {t}" for letter, t in zip("abcde", operands.split(), strict=False))
    names = ", ".join(f"%{letter}" for letter, _ in zip("abcde", operands.split(), strict=False))
    inputs, outputs = ", ".join(operands.split()), ", ".join(results.split())
    count = len(results.split())
    body = f'%r{f":{count}" if count > 1 else ""} = "stablehlo.batch_norm_{name}"({names}) <{{{attributes}}}>'
    return program(arguments, f"{body} : ({inputs}) -> ({outputs})", outputs)


INFERENCE = text("inference", f"{T} {V} {V} {V} {V}", T)
TRAINING = text("training", f"{T} {V} {V}", f"{T} {V} {V}")
GRAD = text("grad", f"{T} {V} {V} {V} {T}", f"{T} {V} {V}")


@pytest.mark.parametrize("executor", EXECUTORS)
def test_inference_and_training_are_those_of_torch(executor: str) -> None:
    torch = pytest.importorskip("torch")
    x, scale, offset, mean, variance = map(torch.tensor, (X, SCALE, OFFSET, MEAN, VARIANCE))
    norm = torch.nn.functional.batch_norm
    epsilon = float(np.float32(1e-2))
    wanted = norm(x, mean, variance, scale, offset, eps=epsilon).numpy()
    same(run(INFERENCE, X, SCALE, OFFSET, MEAN, VARIANCE, executor=executor), wanted, 1e-12)
    y, found_mean, found_variance = run(TRAINING, X, SCALE, OFFSET, executor=executor)
    same(y, norm(x, None, None, scale, offset, training=True, eps=epsilon).numpy(), 1e-12)
    same(found_mean, X.mean((0, 2, 3)), 1e-12)
    same(found_variance, X.var((0, 2, 3)), 1e-12)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_the_gradient_op_is_the_gradient_of_training(executor: str) -> None:
    nothing = np.zeros(3)
    _, mean, variance, *wanted = compile(vjp(read(TRAINING)), "main_grad")(X, SCALE, OFFSET, DY, nothing, nothing)
    found = run(GRAD, X, SCALE, mean, variance, DY, executor=executor)
    for given, expected in zip(found, wanted, strict=True):
        same(given, expected, 1e-12)


@pytest.mark.parametrize(
    ("attributes", "operands", "code"),
    [
        ("epsilon = 1.0e-2 : f32, feature_index = 4 : i64", f"{T} {V} {V}", "E3004"),
        ("feature_index = 1 : i64", f"{T} {V} {V}", "E8002"),
        (EPSILON, f"{T} tensor<3x1xf64> {V}", "E3002"),
        (EPSILON, f"{T} tensor<2xf64> {V}", "E3003"),
        (EPSILON, f"{T} tensor<1xf64> {V}", "E3003"),
        (EPSILON, f"tensor<?x3xf64> {V} {V}", "E8008"),
    ],
)
def test_wrong_ones(attributes: str, operands: str, code: str) -> None:
    with pytest.raises(MindError) as found:
        read(text("training", operands, f"{operands.split()[0]} {V} {V}", attributes))
    assert found.value.code == code, found.value
