"""
Folds at import: small ops on arrays that are known, by NumPy, as the ONNX operators define them.

Shape subgraphs consist of these: sizes with names (`Extent`) go through them as elements of object arrays. A fold gives None
where it does not apply; the node then becomes ops of PTIR.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from .converter import Fold
from .emitter import common_shape, static
from .extents import Array, UndecidedError, greatest, is_symbolic, least, settled, shape_array
from .model import array_dtype
from .node import Node, axis_of, distinct_axes, slice_of

MOST = 1 << 16


def _shape(node: Node, _: list[Any]) -> Array | None:
    value = node.raw(0)
    shape = node.to.shape(value) if isinstance(value, SSAValue) else value.shape if isinstance(value, np.ndarray) else None
    if shape is None:
        return None
    end = node.int("end", len(shape)) if "end" in node.attributes else None
    return shape_array(tuple(shape)[node.int("start", 0) : end])


def _size(node: Node, _: list[Any]) -> Array | None:
    value = node.raw(0)
    shape = node.to.shape(value) if isinstance(value, SSAValue) else value.shape if isinstance(value, np.ndarray) else None
    sizes = None if shape is None else shape_array(shape)
    if sizes is None:
        return None
    return _scalar(math.prod(sizes.tolist()))


def _scalar(value: Any) -> Array:
    found = np.empty((), object)
    found[()] = value
    return settled(found)


def _constant(node: Node, _: list[Any]) -> Array | None:
    if (tensor := node.tensor("value")) is not None:
        return tensor
    if "value_int" in node.attributes:
        return np.array(node.int("value_int"), np.int64)
    if "value_float" in node.attributes:
        return np.array(node.float("value_float", 0.0), np.float32)
    if (ints := node.ints("value_ints")) is not None:
        return np.array(ints, np.int64)
    if (floats := node.floats("value_floats")) is not None:
        return np.array(floats, np.float32)
    return None


def _elementwise(function: Callable[..., Any]) -> Fold:
    """A function of NumPy on operands of one dtype; floats keep it."""

    def fold(node: Node, xs: list[Array]) -> Array | None:
        if math.prod(_common_shape(xs)) > MOST or _is_small_float(xs[0]):
            return None
        found = np.asarray(function(*xs))
        return settled(found) if found.dtype == object else found.astype(xs[0].dtype) if _same(xs) else found

    return fold


def _common_shape(xs: list[Array]) -> tuple[int, ...]:
    """The shape that all broadcast to; E3001 where there is none."""
    return static(common_shape(*(x.shape for x in xs)))


def _is_small_float(x: Array) -> bool:
    """Return whether NumPy lacks the dtype: PTIR computes."""
    return x.dtype != object and x.dtype.name not in _PLAIN


_PLAIN = frozenset({"bool", "float16", "float32", "float64", *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64))})


def _same(xs: list[Array]) -> bool:
    return all(x.dtype == xs[0].dtype for x in xs)


def _relu(x: Array) -> Any:
    return np.maximum(x, np.zeros((), x.dtype))


def _comparison(function: Callable[..., Any]) -> Fold:
    def fold(node: Node, xs: list[Array]) -> Array | None:
        if math.prod(_common_shape(xs)) > MOST or _is_small_float(xs[0]):
            return None
        if not any(is_symbolic(x) for x in xs):
            return np.asarray(function(*xs)).astype(bool)
        x, y = np.broadcast_arrays(*(x.astype(object) for x in xs))
        answers = [bool(function(a, b)) for a, b in zip(x.reshape(-1), y.reshape(-1), strict=True)]
        return np.array(answers, bool).reshape(x.shape)

    return fold


def _div(node: Node, xs: list[Array]) -> Array | None:
    x, y = xs
    _common_shape(xs)
    if is_symbolic(x) or is_symbolic(y):
        return settled(np.asarray(np.floor_divide(x, y)))
    if x.dtype.kind == "f" and not _is_small_float(x):
        return np.asarray(np.divide(x, y)).astype(x.dtype)
    if x.dtype.kind not in "iu" or not _same(xs) or np.any(y == 0):
        return None
    quotient = np.abs(x.astype(object)) // np.abs(y.astype(object))
    return np.asarray(np.sign(x.astype(object)) * np.sign(y.astype(object)) * quotient).astype(x.dtype)


def _mod(node: Node, xs: list[Array]) -> Array | None:
    x, y = xs
    _common_shape(xs)
    if is_symbolic(x) or is_symbolic(y):
        return settled(np.mod(x, y))
    return np.mod(x, y) if x.dtype.kind in "iu" and not node.int("fmod") and np.all(y != 0) and not _is_small_float(x) else None


def _cast(node: Node, xs: list[Array]) -> Array | None:
    (x,), dtype = xs, node.dtype("to")
    if is_symbolic(x):
        return x if dtype.name == "si64" else None
    wanted = array_dtype(dtype)
    if x.dtype == wanted:
        return x
    if _is_small_float(x) or wanted.name not in _PLAIN or (x.dtype.kind == "f" and wanted.kind in "iu" and not _fits(x)):
        return None
    return x.astype(wanted)


def _fits(x: Array) -> bool:
    """Return whether every element becomes an integer of 32 bits, where no two systems differ."""
    return bool(np.all(np.abs(x) < 1 << 31)) and x.size > 0


def _gather(node: Node, xs: list[Array]) -> Array | None:
    x, indices = xs
    axis = axis_of(node.int("axis", 0), x.ndim)
    if indices.size * max(1, x.size // max(1, x.shape[axis])) > MOST or indices.dtype.kind not in "iu":
        return None
    if np.any(indices < -x.shape[axis]) or np.any(indices >= x.shape[axis]):
        return None  # an error of the run
    return settled(np.take(x, indices, axis))


def _concat(node: Node, xs: list[Array]) -> Array | None:
    axis = axis_of(node.int("axis", 0), xs[0].ndim)
    if any(is_symbolic(x) for x in xs):
        xs = [x.astype(object) for x in xs]
    elif not _same(xs):
        return None
    return np.concatenate(xs, axis)


def _integers(x: Array | None) -> list[int] | None:
    if x is None:
        return None
    if is_symbolic(x):
        raise UndecidedError
    return [int(v) for v in x.reshape(-1)]


def _axes(node: Node, xs: list[Array], i: int, rank: int) -> list[int] | None:
    found = node.ints("axes") if "axes" in node.attributes else _integers(xs[i]) if len(xs) > i else None
    return None if found is None else distinct_axes(found, rank)


def _squeeze(node: Node, xs: list[Array]) -> Array | None:
    axes = _axes(node, xs, 1, xs[0].ndim)
    ones = [i for i, n in enumerate(xs[0].shape) if n == 1]
    if axes is not None and any(a not in ones for a in axes):
        return None
    return np.squeeze(xs[0], tuple(ones if axes is None else axes))


def _unsqueeze(node: Node, xs: list[Array]) -> Array | None:
    given = node.ints("axes") if "axes" in node.attributes else _integers(xs[1])
    axes = distinct_axes(given or [], xs[0].ndim + len(given or []))
    return np.expand_dims(xs[0], tuple(axes))


def _reshape(node: Node, xs: list[Array]) -> Array | None:
    x, target = xs[0], _integers(xs[1]) or []
    keep = not node.int("allowzero")
    sizes = [x.shape[i] if n == 0 and keep and i < x.ndim else n for i, n in enumerate(target)]
    rest = math.prod(n for n in sizes if n != -1)
    if sizes.count(-1) > 1 or any(n < -1 for n in sizes) or (rest != x.size if -1 not in sizes else not rest or x.size % rest):
        return None  # an error, which the row states
    return x.reshape(sizes)


def _slice(node: Node, xs: list[Array]) -> Array | None:
    if len(node.operands) > 3 and node.operands[3] is None:
        return None
    x = xs[0]
    lists = [_integers(v) for v in xs[1:]]
    starts, ends = lists[0] or [], lists[1] or []
    axes = distinct_axes(lists[2], x.ndim) if len(lists) > 2 and lists[2] is not None else range(len(starts))
    steps = lists[3] if len(lists) > 3 and lists[3] is not None else [1] * len(starts)
    cut = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        cut[axis] = slice_of(start, end, step, x.shape[axis])
    return settled(x[tuple(cut)])


def _nonzero(node: Node, xs: list[Array]) -> Array | None:
    """Places of elements that are not 0, of each axis a row; a scalar counts as a vector."""
    x = xs[0]
    return None if is_symbolic(x) or _is_small_float(x) else np.stack(np.nonzero(np.atleast_1d(x))).astype(np.int64)


def _where(node: Node, xs: list[Array]) -> Array | None:
    if math.prod(_common_shape(xs)) > MOST or xs[0].dtype.kind != "b":
        return None
    if any(is_symbolic(x) for x in xs[1:]):
        xs = [xs[0], *(x.astype(object) for x in xs[1:])]
    return settled(np.where(*xs))


def _range(node: Node, xs: list[Array]) -> Array | None:
    if any(is_symbolic(x) for x in xs):
        raise UndecidedError
    if any(x.size != 1 for x in xs):
        return None  # an error, which the row states
    start, limit, delta = (x.reshape(-1)[0] for x in xs)
    if xs[0].dtype.kind not in "iu" or not delta or (int(limit) - int(start)) // int(delta) > MOST:
        return None
    return np.arange(int(start), int(limit), int(delta)).astype(xs[0].dtype)


def _constant_of_shape(node: Node, xs: list[Array]) -> Array | None:
    sizes = _integers(xs[0]) or []
    fill = node.tensor("value")
    fill = np.zeros(1, np.float32) if fill is None else fill.reshape(-1)
    if any(n < 0 for n in sizes) or math.prod(sizes) > MOST or fill.size != 1:
        return None
    return np.full(sizes, fill[0], fill.dtype)


def _expand(node: Node, xs: list[Array]) -> Array | None:
    shape = static(common_shape(xs[0].shape, tuple(_integers(xs[1]) or [])))
    return np.broadcast_to(xs[0], shape).copy() if math.prod(shape) <= MOST else None


def _transpose(node: Node, xs: list[Array]) -> Array | None:
    perm = node.ints("perm")
    if perm is not None and sorted(perm) != list(range(xs[0].ndim)):
        return None
    return np.transpose(xs[0], perm)


def _reduce_prod(node: Node, xs: list[Array]) -> Array | None:
    x, axes = xs[0], _axes(node, xs, 1, xs[0].ndim)
    if x.dtype.kind not in "iuO" or (x.ndim > 1 and is_symbolic(x)) or (not axes and node.int("noop_with_empty_axes")):
        return None
    keep = bool(node.int("keepdims", 1))
    if is_symbolic(x):
        return _scalar(math.prod(x.tolist())).reshape((1,) * x.ndim if keep else ())
    return np.asarray(np.prod(x, axis=None if not axes else tuple(axes), keepdims=keep)).astype(x.dtype)


def _split(node: Node, xs: list[Array]) -> list[Array] | None:
    x, axis = xs[0], axis_of(node.int("axis", 0), xs[0].ndim)
    given = node.ints("split") if "split" in node.attributes else _integers(xs[1]) if len(xs) > 1 else None
    if given is None:
        count = node.int("num_outputs", node.results)
        if count != node.results:
            return None  # an error, which the row states
        chunk = -(-x.shape[axis] // max(1, count))
        given = [max(0, min(chunk, x.shape[axis] - i * chunk)) for i in range(count)]
    if sum(given) != x.shape[axis] or any(n < 0 for n in given):
        return None
    return [settled(part) for part in np.split(x, np.cumsum(given)[:-1], axis)]


def _folded(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """A binary function on any number of operands, from left to right."""

    def fold(*xs: Any) -> Any:
        found = xs[0]
        for x in xs[1:]:
            found = function(found, x)
        return found

    return fold


FOLDS: dict[str, Fold] = {
    "Add": _elementwise(np.add),
    "And": _comparison(np.logical_and),
    "Cast": _cast,
    "Ceil": _elementwise(np.ceil),
    "Concat": _concat,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Div": _div,
    "Equal": _comparison(operator.eq),
    "Expand": _expand,
    "Floor": _elementwise(np.floor),
    "Gather": _gather,
    "Greater": _comparison(operator.gt),
    "GreaterOrEqual": _comparison(operator.ge),
    "Identity": lambda node, xs: xs[0],
    "Less": _comparison(operator.lt),
    "LessOrEqual": _comparison(operator.le),
    "Max": _elementwise(_folded(greatest)),
    "Min": _elementwise(_folded(least)),
    "Mod": _mod,
    "Mul": _elementwise(np.multiply),
    "Neg": _elementwise(np.negative),
    "NonZero": _nonzero,
    "Not": lambda node, xs: ~xs[0] if xs[0].dtype.kind == "b" else None,
    "Or": _comparison(np.logical_or),
    "Range": _range,
    "ReduceProd": _reduce_prod,
    "Relu": _elementwise(_relu),
    "Reshape": _reshape,
    "Shape": _shape,
    "Size": _size,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Sub": _elementwise(np.subtract),
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}
"""By operator; an operator without a fold always becomes ops."""
