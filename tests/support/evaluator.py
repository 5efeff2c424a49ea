"""What a Core IR function means, written down once more with plain NumPy: the oracle that rewrites are held against."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from mind_dialect import core
from mind_dialect.core import CoreOp
from mind_dialect.shapes import reduced_axes
from mind_dialect.types import DType, read_type

DTYPES = {"i32": np.dtype("<i4"), "i64": np.dtype("<i8"), "f32": np.dtype("<f4"), "f64": np.dtype("<f8")}


def _sum(op: CoreOp, x: np.ndarray) -> np.ndarray:
    axes = reduced_axes(x.shape, op.values()["axes"], True)
    return np.add.reduce(x, axis=axes, dtype=x.dtype).reshape(op.result_shape)


def _mean(op: CoreOp, x: np.ndarray) -> np.ndarray:
    total = _sum(op, x)
    count = math.prod(x.shape[a] for a in reduced_axes(x.shape, op.values()["axes"], True))
    if op.dtype.is_float:
        return total / x.dtype.type(count)
    return total // count + ((total < 0) & (total % count != 0))


def _index(op: CoreOp, x: np.ndarray) -> np.ndarray:
    indices = op.values()["indices"]
    if not all(0 <= i < n for i, n in zip(indices, x.shape, strict=True)):
        raise IndexError(indices)
    return x[indices]


def _slice(op: CoreOp, x: np.ndarray) -> np.ndarray:
    v = op.values()
    bounds = zip(v["starts"], v["ends"], v["steps"], strict=True)
    return x[tuple(slice(max(0, s), max(0, e), t) for s, e, t in bounds)]


def _gather(op: CoreOp, x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    if not np.all((indices >= 0) & (indices < len(x))):
        raise IndexError(indices)
    return x[indices]


def _slice_scatter(op: CoreOp, updates: np.ndarray) -> np.ndarray:
    v = op.values()
    out = np.zeros(v["shape"], updates.dtype)
    for place in itertools.product(*map(range, updates.shape)):
        out[tuple(s + i * t for s, i, t in zip(v["starts"], place, v["steps"], strict=True))] = updates[place]
    return out


def _conv2d(op: CoreOp, x: np.ndarray, filter: np.ndarray) -> np.ndarray:
    padding = op.values()["padding"]
    assert padding != "Same", "not needed here"
    (top, bottom), (left, right) = ((0, 0), (0, 0)) if padding == "Valid" else padding
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    (h, w), (sh, sw) = filter.shape[:2], op.values()["strides"]
    out = np.zeros(op.result_shape, x.dtype)
    for i, j in np.ndindex(*out.shape[1:3]):
        out[:, i, j] = np.tensordot(x[:, i * sh : i * sh + h, j * sw : j * sw + w], filter, 3)
    return out


def _zero_like(x: np.ndarray) -> np.ndarray:
    return np.zeros((), x.dtype)


KERNELS: dict[type[CoreOp], Callable[..., Any]] = {
    core.AddOp: lambda op, a, b: a + b,
    core.SubOp: lambda op, a, b: a - b,
    core.MulOp: lambda op, a, b: a * b,
    core.DivOp: lambda op, a, b: a / b,
    core.SumOp: _sum,
    core.MeanOp: _mean,
    core.ReshapeOp: lambda op, x: x.reshape(op.result_shape),
    core.TransposeOp: lambda op, x: x.transpose(op.values()["permutation"]),
    core.ExpandDimsOp: lambda op, x: x.reshape(op.result_shape),
    core.SqueezeOp: lambda op, x: x.reshape(op.result_shape),
    core.IndexOp: _index,
    core.SliceOp: _slice,
    core.GatherOp: _gather,
    core.DotOp: lambda op, a, b: np.dot(a, b),
    core.MatMulOp: lambda op, a, b: np.matmul(a, b),
    core.Conv2dOp: _conv2d,
    core.ReluOp: lambda op, x: np.where(x > 0, x, _zero_like(x)),
    core.NegOp: lambda op, x: -x,
    core.ExpOp: lambda op, x: np.exp(x),
    core.LogOp: lambda op, x: np.log(x),
    core.ReluGradOp: lambda op, g, x: np.where(x > 0, g, _zero_like(g)),
    core.ReciprocalOp: lambda op, x: x.dtype.type(1) / x,
    core.BroadcastToOp: lambda op, x: np.broadcast_to(x, op.values()["shape"]),
    core.SliceScatterOp: _slice_scatter,
}


def _constant(op: core.ScalarConstant | core.ConstantOp) -> np.ndarray:
    dtype = DTYPES[op.dtype.name]
    if isinstance(op, core.ScalarConstant):
        return np.array(op.values()["value"], dtype)
    stored = np.frombuffer(op.literal.data.data, dtype)
    return np.broadcast_to(stored, op.result_shape) if op.literal.is_fill else stored.reshape(op.result_shape)


def only_function(module: ModuleOp) -> FuncOp:
    """The one function of `module`."""
    (func,) = (op for op in module.ops if isinstance(op, FuncOp))
    return func


def evaluate(module: ModuleOp, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """
    The outputs of a module's one function; only what they need is computed. IndexError where an index is out of bounds.

    Every value is stored contiguously, so that the bits of a sum do not depend on how an operand came to be.
    """
    block = only_function(module).body.block
    needed: set[SSAValue] = set()
    for op in reversed(list(block.ops)):
        if isinstance(op, ReturnOp) or op.results[0] in needed:
            needed.update(op.operands)
    values: dict[SSAValue, np.ndarray] = dict(zip(block.args, inputs, strict=True))
    with np.errstate(all="ignore"):
        for op in block.ops:
            if isinstance(op, ReturnOp):
                return [values[v] for v in op.operands]
            if op.results[0] not in needed:
                continue
            assert isinstance(op, CoreOp)
            if isinstance(op, core.ScalarConstant | core.ConstantOp):
                found = _constant(op)
            else:
                found = KERNELS[type(op)](op, *(values[v] for v in op.operands))
            values[op.results[0]] = np.ascontiguousarray(found).reshape(op.result_shape)
            assert values[op.results[0]].dtype == DTYPES[op.dtype.name]
    raise AssertionError("no func.return")


def special_numbers(dtype: DType) -> list[int | float]:
    """Where arithmetic is not what one expects: zeros, ones, extremes, infinities, NaN."""
    if dtype.is_float:
        info = np.finfo(DTYPES[dtype.name])
        extremes = [float(info.max), float(-info.max), float(info.tiny), float(info.smallest_subnormal)]
        return [math.nan, -0.0, 1.0, math.inf, 0.0, -1.0, -math.inf, *extremes, 0.1, -2.5]
    bits = 8 * dtype.size - 1
    return [0, 1, -1, -(1 << bits), (1 << bits) - 1, 2, -3]


def special_inputs(module: ModuleOp, offset: int) -> list[np.ndarray]:
    """Inputs made of special numbers; over all offsets each meets each other one in ops of two inputs."""
    inputs: list[np.ndarray] = []
    for i, argument in enumerate(only_function(module).body.block.args):
        dtype, shape = read_type(argument.type)
        numbers = special_numbers(dtype)
        start = offset * (i + 1) + 3 * i
        stream = itertools.islice(itertools.cycle(numbers), start, start + math.prod(shape))
        inputs.append(np.array(list(stream), DTYPES[dtype.name]).reshape(shape))
    return inputs


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Equality of dtype, shape and every bit, all NaNs being one value."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "f":
        nan = np.isnan(a)
        if not np.array_equal(nan, np.isnan(b)):
            return False
        a, b = np.where(nan, 0, a), np.where(nan, 0, b)
    return a.tobytes() == b.tobytes()
