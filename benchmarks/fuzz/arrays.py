"""Random programs of `mind_array`: the values are those of NumPy, derivatives those of both modes and of differences."""

from __future__ import annotations

import importlib.util
import math
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

import mind_array as ma

from .judge import Difference, Kind

ARGUMENTS = {"x": (2, 3, 4), "y": (3, 4), "z": (4,), "w": (3, 1), "s": (), "o": (1,)}
LARGEST = 400
"""Elements of a value of a program, and their magnitude."""
TEMPLATES = """
    xp.sin({a}) ; xp.tanh({a}) ; xp.exp(-xp.abs({a})) ; xp.sqrt(xp.abs({a}) + 0.5) ; xp.square({a}) * 0.5 ; -{a}
    xp.maximum({a}, 0.25) ; xp.floor({a}) ; xp.sign({a}) ; xp.log1p(xp.abs({a})) ; xp.where({a} > 0.3, {a}, 1.0)
    {a} + {b} ; {a} - {b} ; {a} * {b} ; {a} / (xp.abs({b}) + 1.0) ; xp.maximum({a}, {b}) ; xp.minimum({a}, {b})
    xp.where({a} > {b}, {a}, {b} * 0.5) ; xp.where({a} <= {b}, 1.0, {b}) ; xp.hypot({a}, {b}) ; xp.arctan2({a}, {b})
    xp.sum({a}, axis={axis}, keepdims={flag}) ; xp.mean({a}, axis={axis}) ; xp.var({a}, axis={axis}, keepdims={flag})
    xp.max({a}, axis={axis}, keepdims={flag}) ; xp.min({a}, axis={axis}) ; xp.prod(xp.tanh({a}), axis={axis})
    xp.sum({a}) ; xp.max({a}, keepdims=True) ; xp.median({a}, axis={axis})
    xp.argmax({a}, axis={axis}).astype('float64') ; xp.transpose({a}, {perm}) ; xp.reshape({a}, {shape})
    xp.expand_dims({a}, {axis}) ; xp.ravel({a}) ; {a}[{before}{index}] ; {a}[{before}::{step}] ; {a}[..., None]
    {a}[{before}1:] ; xp.swapaxes({a}, {axis}, -1) ; xp.cumsum({a}, axis={axis}) ; xp.cumprod(xp.tanh({a}), axis={axis})
    xp.sort({a}, axis={axis}) ; xp.diff({a}, axis={axis}) ; xp.flip({a}, axis={axis}) ; xp.roll({a}, {step}, axis={axis})
    xp.argsort({a}, axis={axis}, stable=True).astype('float64') ; xp.concatenate([{a}, {b}], axis={axis})
    xp.stack([{a}, {b}], axis={axis}) ; xp.tile({a}, (2, 1)) ; xp.repeat({a}, 2, axis={axis}) ; xp.matmul({a}, {b})
    xp.matmul({a}, xp.swapaxes({a}, -1, -2)) ; xp.einsum('...i,...i->...', {a}, {b}) ; xp.outer({a}, {b})
    xp.take({a}, np.array([0, {index}, 0]), axis={axis}) ; xp.broadcast_to({a}, (2, *{like}))
    xp.pad({a}, 1, mode='edge') ; xp.searchsorted(xp.sort({a}), {b}).astype('float64')
    xp.pad({a}, [(1, 0)] * xp.ndim({a})) ; xp.interp({b}, xp.sort({a}), {a})
""".replace("\n", ";").split(";")[1:-1]
"""What a line may compute: of values `a` and `b`, with an axis of `a` and the like. NumPy decides which of them make sense."""
LINE = re.compile(r"(t\d+) = (.*)")

Function = Callable[..., Any]


class Arrays(Kind):
    """Lines `t0 = xp.sin(x)`, the first one a number that arguments depend on; `xp` is NumPy or `mind_array`."""

    name, share = "arrays", 4

    def make(self, rng: Random) -> bytes:
        number = rng.randrange(1 << 30)
        values: dict[str, Any] = arguments(number)
        lines = [f"# {number}"]
        wanted = rng.randint(3, 14)
        while len(lines) <= wanted:
            text = _filled(rng, values)
            try:
                with np.errstate(all="ignore"):
                    value = np.asarray(eval(text, {"xp": np, "np": np}, values))
            except (ValueError, IndexError, TypeError, RuntimeWarning):  # warnings are errors in a child
                continue
            if (
                value.dtype == np.float64
                and value.size <= LARGEST
                and np.isfinite(value).all()
                and np.abs(value).max(initial=0) < 1e3
            ):
                values[f"t{len(lines) - 1}"] = value
                lines.append(f"t{len(lines) - 1} = {text}")
        return "\n".join(lines).encode()

    def run(self, data: bytes) -> None:
        head, *lines = data.decode().splitlines()
        number = int(head[2:])
        given = list(arguments(number).values())
        f = function_of(lines)
        try:
            expected = f(np, *given)
        except (ValueError, IndexError, TypeError, NameError):
            return  # a smaller program that NumPy refuses
        near = [f(np, *(x * (1 + scale) for x in given)) for scale in (1e-9, -1e-9)]
        steady = [np.abs(a - b) < 1e-6 * (1 + np.abs(a)) for a, b in zip(*near, strict=True)]
        targets = ("numpy", "native") if importlib.util.find_spec("llvmlite") else ("numpy",)
        _compare("eager", f(ma, *map(ma.asarray, given)), expected, steady)
        for target in targets if number % 2 else ():
            _compare(target, ma.jit(lambda *xs: f(ma, *xs), target=target)(*given), expected, steady)
        if number % 4 == 0:
            batched = ma.jit(ma.vmap(lambda *xs: f(ma, *xs)))(*(np.stack([x, x]) for x in given))
            _compare("vmap", [x[1] for x in batched], expected, steady)
        elif number % 4 == 2 and all(s.all() for s in steady):
            _check_derivatives(f, given, targets)


def arguments(number: int) -> dict[str, Any]:
    """The arguments of a program by name."""
    rng = np.random.default_rng(number)
    return {name: rng.normal(size=shape) for name, shape in ARGUMENTS.items()}


def function_of(lines: Sequence[str]) -> Function:
    """The function of a namespace and arguments that returns all values that no other line uses."""
    steps = [found.groups() for line in lines if (found := LINE.fullmatch(line))]
    used = {word for _, text in steps for word in re.findall(r"\w+", text)}

    def f(xp: Any, *given: Any) -> list[Any]:
        values = dict(zip(ARGUMENTS, given, strict=True))
        for name, text in steps:
            values[name] = eval(text, {"xp": xp, "np": np}, values)
        return [values[name] for name, _ in steps if name not in used]

    return f


def _filled(rng: Random, values: dict[str, Any]) -> str:
    names = list(values)
    a, b = (rng.choice(names[-4:] if rng.random() < 0.6 else names) for _ in range(2))
    shape = np.shape(values[a])
    axis = rng.randrange(max(1, len(shape)))
    size = math.prod(shape)
    factor = rng.choice([n for n in range(1, size + 1) if size % n == 0] or [1])
    perm = rng.sample(range(len(shape)), len(shape))
    return (
        rng.choice(TEMPLATES)
        .strip()
        .format(
            a=a,
            b=b,
            axis=axis,
            flag=rng.random() < 0.5,
            perm=tuple(perm),
            shape=rng.choice([(factor, size // factor), (size,), (1, size), (factor, 1, size // factor)]),
            before=":, " * axis,
            index=rng.randint(-1, 1),
            step=rng.choice([-2, -1, 1, 2]),
            like=shape,
        )
    )


def _compare(what: str, found: Sequence[Any], expected: Sequence[Any], steady: Sequence[Any]) -> None:
    """Raise a difference where numbers that do not jump are not those of NumPy."""
    for x, y, fixed in zip(found, expected, steady, strict=True):
        if np.shape(x) != np.shape(y):
            raise Difference(f"shapes of {what}\n{np.shape(x)}, not {np.shape(y)}")
        if not np.allclose(np.asarray(x)[fixed], np.asarray(y)[fixed], rtol=1e-6, atol=1e-8):
            raise Difference(f"numbers of {what}\n{np.asarray(x)}\n{y}")


def _check_derivatives(f: Function, given: Sequence[Any], targets: Sequence[str]) -> None:
    """Raise a difference if derivatives of both modes differ, or are not those of differences where these converge."""

    def loss(xp: Any, *xs: Any) -> Any:
        return sum((xp.sum(xp.sin(y * (i + 1.0))) for i, y in enumerate(f(xp, *xs))), xp.sum(xs[4]) * 0.0)

    rng = np.random.default_rng(0)
    towards = [rng.normal(size=np.shape(x)) for x in given]
    forward = float(ma.jvp(lambda *xs: loss(ma, *xs), tuple(map(ma.asarray, given)), tuple(map(ma.asarray, towards)))[1])
    for target in targets:
        slopes = ma.jit(ma.grad(lambda *xs: loss(ma, *xs), argnums=tuple(range(len(given)))), target=target)(*given)
        reverse = sum(float(np.sum(np.asarray(slope) * t)) for slope, t in zip(slopes, towards, strict=True))
        if abs(forward - reverse) > 1e-6 * (1 + abs(forward)):
            raise Difference(f"derivatives of both modes, {target}\n{forward}, {reverse}")
    values = [float(loss(np, *(x + k * 1e-6 * t for x, t in zip(given, towards, strict=True)))) for k in (-2, -1, 1, 2)]
    narrow, wide = (values[2] - values[1]) / 2e-6, (values[3] - values[0]) / 4e-6
    if abs(narrow - wide) < 1e-5 * (1 + abs(wide)) and abs(narrow - forward) > 1e-3 * (1 + abs(forward)):
        raise Difference(f"derivatives and differences\n{forward}, {narrow}")


def kinds() -> list[Kind]:
    """The programs of arrays."""
    return [Arrays()]
