"""
Training as one PTIR program a step: loss, gradient and update, whose state the program overwrites in place.

    trainer = Trainer(gpt2.loss_program(config, batch=8, length=64), weights, AdamW())
    loss = trainer.step(3e-4, tokens, targets)

The gradient is the work of the autodiff pass; what an optimiser does with it is said here in PTIR. The step function is

    train_step   what the loss takes but weights, rate f32[], step f32[], weights, state  -> loss, weights, state

`step` counts from 1. Weights and state are donated, so that a step needs no second copy of them. They are f32, also where the
loss takes bf16 weights: the step rounds them for it, and widens the gradients. With `narrow`, such weights are bf16, and their
f32 values are a state, `exact`: the update rounds them for the next step, which reads half as many bytes and casts nothing.
A loss can also take f32 weights and cast what it multiplies, as that of `gpt2.Config(compute="bf16")`: then gradients that
many places share are summed in f32.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from xdsl.dialects.builtin import ModuleOp

import mind_array as ma
from mind_array import Array
from mind_dialect.errors import error
from mind_dialect.program import argument_attribute, functions, input_names
from mind_dialect.ptir.types import BF16, F32, read_type
from mind_passes.autodiff import GradientOptions, differentiate
from mind_passes.ptir.split_parameters import PARAMETER_ATTRIBUTE

from .layers import converted
from .optimised import compile
from .weights import Weights


class Optimiser(Protocol):
    """What becomes of a weight, given its gradient."""

    STATE: tuple[str, ...]
    """What is kept of each weight from step to step: tensors of its shape, zeros at first."""

    def update(self, weight: Array, gradient: Array, state: Sequence[Array], rate: Array, step: Array) -> Sequence[Array]:
        """The new weight, then the new state; `rate` and `step` are f32 of rank 0."""
        ...


@dataclass(frozen=True)
class AdamW:
    """
    Adam with decoupled weight decay (Loshchilov and Hutter, 2019): steps along the mean gradient over its root mean square.

    Both means decay exponentially from zeros, so the first ones are too small by `1 - beta ** step`, which is put right. The
    decay shrinks weights by `rate * decay` of themselves, and only those of two axes or more.
    """

    beta1: float = 0.9
    beta2: float = 0.99
    epsilon: float = 1e-8
    decay: float = 0.1

    STATE = ("mean", "square")

    def update(self, weight: Array, gradient: Array, state: Sequence[Array], rate: Array, step: Array) -> Sequence[Array]:
        mean = state[0] * self.beta1 + gradient * (1 - self.beta1)
        square = state[1] * self.beta2 + gradient * gradient * (1 - self.beta2)
        unbiased_mean = mean / lacking(self.beta1, step)
        unbiased_square = square / lacking(self.beta2, step)
        change = unbiased_mean / (ma.sqrt(unbiased_square) + self.epsilon)
        if len(weight.shape) > 1:
            change = change + weight * self.decay
        return weight - change * rate, mean, square


def lacking(beta: float, step: Array) -> Array:
    """`1 - beta ** step`, by way of `expm1`, which keeps the digits that the subtraction would lose for beta near 1."""
    return -ma.expm1(step * math.log(beta))


@dataclass(frozen=True)
class Momentum:
    """Stochastic gradient descent with momentum: steps along a sum of gradients in which older ones count less."""

    momentum: float = 0.9

    STATE = ("velocity",)

    def update(self, weight: Array, gradient: Array, state: Sequence[Array], rate: Array, step: Array) -> Sequence[Array]:
        velocity = state[0] * self.momentum + gradient
        return weight - velocity * rate, velocity


def parameter_names(loss: ModuleOp) -> list[str]:
    """The weights of the only function of a module, in its order: the inputs that are marked as parameters."""
    (func,) = functions(loss)
    return [name for i, name in enumerate(input_names(func)) if argument_attribute(func, i, PARAMETER_ATTRIBUTE)]


EXACT = "exact"
"""The state that holds the f32 values of weights that are kept in bf16."""


def state_kinds(optimiser: Optimiser, narrow: bool = False) -> tuple[str, ...]:
    """Return the kinds of state of each weight, the f32 values of narrow weights first."""
    return (EXACT, *optimiser.STATE) if narrow else optimiser.STATE


def state_names(weights: Sequence[str], optimiser: Optimiser, narrow: bool = False) -> list[str]:
    """The inputs of the step function that it overwrites: weights, then all of one kind of state, then of the next."""
    return [*weights, *(f"{name}.{kind}" for kind in state_kinds(optimiser, narrow) for name in weights)]


def train_step(loss: ModuleOp, optimiser: Optimiser, *, narrow: bool = False) -> ModuleOp:
    """
    The module of `@train_step` alone, made of the only function of `loss`, whose only result is a loss of rank 0.

    Weights of bf16 are f32 in the step, but with `narrow`. Raises what `differentiate` raises; E7001 for a loss without weights,
    E2005 for weights that are neither f32 nor bf16, with `narrow` for those that are not bf16.
    """
    weights = parameter_names(loss)
    if not weights:
        raise error("E7001", "the loss has no input that is marked as a parameter, so there is nothing to train", option="loss")
    gradient = differentiate(loss, options=GradientOptions(wrt=tuple(weights))).function
    names, held_names = input_names(gradient), state_names(weights, optimiser, narrow)
    specs = {name: read_type(x.type) for name, x in zip(names, gradient.body.block.args, strict=True)}
    for name in weights:
        supported = (BF16,) if narrow else (F32, BF16)
        if specs[name].dtype not in supported:
            expected = "bf16, as they are kept narrow" if narrow else "f32, in which rate and moments are, or bf16"
            message = f"weights {name!r} of {specs[name].dtype}, expected {expected}"
            raise error("E2005", message, dtype=specs[name].dtype.name, supported=[dtype.name for dtype in supported])
    value_and_gradients = ma.from_module(ModuleOp([gradient.clone()]))

    def train_step(given: dict[str, Array]) -> list[Array]:
        held = dict(given)
        value, *gradients = value_and_gradients(**{n: converted(held[n], specs[n].dtype.name) for n in names})
        for name, g in zip(weights, gradients, strict=True):
            exact = f"{name}.{EXACT}" if narrow else name
            kept = [f"{name}.{kind}" for kind in optimiser.STATE]
            new = optimiser.update(held[exact], converted(g, "f32"), [held[k] for k in kept], held["rate"], held["step"])
            held |= {name: converted(new[0], specs[name].dtype.name)} if narrow else {}
            held |= dict(zip([exact, *kept], new, strict=True))
        return [value, *(held[name] for name in held_names)]

    def spec(name: str) -> Any:
        dtype, shape = specs.get(name) or specs[name.rsplit(".", 1)[0]]
        return ma.spec(shape, "f32" if name in held_names and not (narrow and name in specs) else dtype.name, name=name)

    inputs = {name: spec(name) for name in names if name not in weights}
    inputs |= {name: ma.spec((), "f32", name=name) for name in ("rate", "step")}
    return ma.trace(train_step, OrderedDict(inputs | {name: spec(name) for name in held_names}))


class Trainer:
    """
    Weights on their way: each step replaces `weights`, and `state` along with them.

    Arrays that were handed in are copied as f32, as steps overwrite theirs. `compile_seconds` is what making the program took.
    """

    def __init__(
        self, loss: ModuleOp, weights: Weights, optimiser: Optimiser, target: str = "numpy", specialize: str | None = None
    ):
        start = time.perf_counter()
        names = parameter_names(loss)
        self._state_names = state_names(names, optimiser)
        self.module = train_step(loss, optimiser)
        self._step = compile(self.module, {}, donate=self._state_names, target=target, specialize=specialize)
        self.weights: Weights = {name: weights[name].astype(np.float32) for name in names}
        self.state = {name: np.zeros_like(self.weights[name.rsplit(".", 1)[0]]) for name in self._state_names[len(names) :]}
        self.count = 0
        self.compile_seconds = time.perf_counter() - start

    def step(self, rate: float, *data: np.ndarray) -> float:
        """One step on some data; the loss before it. E6006 for a loss that is not finite."""
        self.count += 1
        held = {**self.weights, **self.state}
        loss, *new = self._step(*data, np.array(rate, np.float32), np.array(self.count, np.float32), *held.values())
        made = dict(zip(held, new, strict=True))
        self.weights = {name: made[name] for name in self.weights}
        self.state = {name: made[name] for name in self.state}
        if not np.isfinite(loss):
            message = f"the loss is {loss} in step {self.count}; a lesser learning rate may help"
            raise error("E6006", message, operands=["loss"])
        return float(loss)


def schedule(step: int, steps: int, peak: float, warm_up: int) -> float:
    """The learning rate of a step from 1 to `steps`: up to `peak` in a line, then down to a tenth of it along a cosine."""
    if step <= warm_up:
        return peak * step / warm_up
    share = (step - warm_up) / max(1, steps - warm_up)
    return peak * (0.55 + 0.45 * math.cos(math.pi * share))
