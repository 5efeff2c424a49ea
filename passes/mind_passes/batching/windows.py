"""
Batching of windows that start where an operand says.

If all examples have one start, it is a start of 0 along the batch axis. Else each example is one row of elements, and the places
of its window in it are computed, clamped as the op clamps them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import SI64, tensor_type
from mind_dialect.ptir_shapes import Dim, Dims

from ..ptir import construct as c
from .rules import Flags, Value, Values, again, by_loop, spread

Ints = tuple[int, ...]


def cut(op: ptir.DynamicSliceOp, xs: Values, flags: Flags, size: Dim) -> Value | Sequence[Value]:
    """The window of each example."""
    sizes: Dims = op.values()["sizes"]
    if not sizes:
        return spread(xs[0], flags[0], size)
    if not flags[1]:
        return again(op, [xs[0], _from_zero(op.start, xs[1])], size, sizes=(size, *sizes))
    shape, window = _static(c.spec(op.x).shape), _static(sizes)
    if shape is None or window is None:
        return by_loop(op, xs, flags, size)
    places = _places(spread(xs[1], flags[1], size), shape, window, size)
    dtype, count = c.spec(xs[0]).dtype, prod(window)
    if flags[0]:
        row = c.reshape(xs[0], (size, prod(shape)))
        found = c.make(ptir.GatherOp, row, places, type=tensor_type(dtype, (size, count)), axis=1)
    else:
        found = c.make(ptir.TakeOp, c.reshape(xs[0], (prod(shape),)), places, type=tensor_type(dtype, (size, count)))
    return c.reshape(found, (size, *sizes))


def overwritten(op: ptir.DynamicUpdateSliceOp, xs: Values, flags: Flags, size: Dim) -> Value | Sequence[Value]:
    """Each example with its window overwritten; no two elements of a window meet, so a scatter may put them there."""
    sizes: Dims = op.values()["sizes"]
    if not sizes:
        return spread(xs[1], flags[1], size)
    x, update = spread(xs[0], flags[0], size), spread(xs[1], flags[1], size)
    if not flags[2]:
        return again(op, [x, update, _from_zero(op.start, xs[2])], size, sizes=(size, *sizes))
    shape, window = _static(c.spec(op.x).shape), _static(sizes)
    if shape is None or window is None:
        return by_loop(op, xs, flags, size)
    places = _places(spread(xs[2], flags[2], size), shape, window, size)
    row, parts = c.reshape(x, (size, prod(shape))), c.reshape(update, (size, prod(window)))
    return c.reshape(c.make(ptir.ScatterReduceOp, row, places, parts, kind="replace", axis=1), (size, *shape))


def _static(shape: Dims) -> Ints | None:
    """A shape, None if it is not static."""
    static = tuple(n for n in shape if isinstance(n, int))
    return static if len(static) == len(shape) else None


def _from_zero(start: SSAValue, batch: SSAValue) -> Value:
    """A start with a 0 before it, for the batch axis."""
    dtype, shape = c.spec(start)
    known = [n + 1 for n in shape if isinstance(n, int)]
    zero = c.filled(0, dtype, (1,))
    return c.make(ptir.ConcatOp, zero, batch, type=tensor_type(dtype, tuple(known) or ("?",)), axis=0)


def _places(start: Value, shape: Ints, sizes: Ints, size: Dim) -> Value:
    """For each example the row-major numbers of the elements of its window: si64 of shape [size, elements of a window]."""
    n = len(shape)
    steps = [prod(shape[a + 1 :]) for a in range(n)]
    vectors = (size, n)
    last = _vector([extent - length for extent, length in zip(shape, sizes, strict=True)], vectors)
    clamped = c.make(ptir.ClampOp, c.cast(start, SI64), _vector([0] * n, vectors), last)
    first = c.reshape(c.reduce_sum(c.mul(clamped, _vector(steps, vectors)), (1,)), (size, 1))
    window = (size, prod(sizes))
    return c.add(c.broadcast(first, window), c.broadcast(_offsets(sizes, steps), window))


def _vector(numbers: Sequence[int], shape: tuple[Dim, ...]) -> Value:
    literal = ptir.PtirLiteralAttr.from_values(SI64, (len(numbers),), numbers)
    return c.broadcast(ptir.ConstantOp(literal), shape)


def _offsets(sizes: Ints, steps: Sequence[int]) -> Value:
    """The numbers of the elements of a window at the origin, as a vector."""
    total: Value | None = None
    for axis, (length, step) in enumerate(zip(sizes, steps, strict=True)):
        if length == 1:
            continue
        along = c.make(ptir.IotaOp, type=tensor_type(SI64, sizes), shape=sizes, dtype=SI64, axis=axis)
        part = c.mul(along, c.filled(step, SI64, sizes)) if step != 1 else along
        total = part if total is None else c.add(total, part)
    return c.reshape(c.filled(0, SI64, sizes) if total is None else total, (prod(sizes),))
