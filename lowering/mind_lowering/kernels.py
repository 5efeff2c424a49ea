"""
What the array namespace lacks, written over it: one small function per kernel, the same for NumPy and CuPy.

Kernels never write to their operands. They keep the dtype of their operands, scalars included, and never widen. They are
called with verified shapes, so they check only what is known at run time: indices and integer divisors.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import lt
from typing import Any

from mind_dialect.errors import MindError, error
from mind_dialect.literals import LiteralAttr
from mind_dialect.types import DType, read_type

Array = Any
"""An array of the namespace, or a scalar of it where the rank is 0."""
Ints = Sequence[int]

DTYPE_NAMES = {"i32": "int32", "i64": "int64", "f32": "float32", "f64": "float64"}
"""What array namespaces call the dtypes."""


class Kernels:
    """The kernels over the array namespace `xp`."""

    def __init__(self, xp: Any):
        self.xp = xp

    # Constants: made once, read-only where the namespace can say so.

    def constant(self, *, value: LiteralAttr) -> Array:
        """The elements of a literal; a fill is one element, repeated by strides of 0."""
        dtype, shape = read_type(value.type)
        if value.is_fill:
            return self.xp.broadcast_to(self._from_bytes(value.data.data, dtype).reshape(()), shape)
        return self._from_bytes(value.data.data, dtype).reshape(shape)

    def array(self, values: Any, dtype: Any) -> Array:
        """Nested lists as a constant."""
        return self._frozen(self.xp.array(values, dtype=dtype))

    def fill(self, value: Any, shape: Ints, dtype: Any) -> Array:
        """One number for every element."""
        return self.xp.broadcast_to(self.xp.array(value, dtype=dtype), shape)

    def unhex(self, text: str, shape: Ints, dtype: Any) -> Array:
        """Row-major little-endian bytes in hexadecimal."""
        return self._frozen(self.xp.frombuffer(bytes.fromhex(text), dtype=dtype).reshape(shape))

    def _from_bytes(self, data: bytes, dtype: DType) -> Array:
        return self._frozen(self.xp.frombuffer(data, dtype=getattr(self.xp, DTYPE_NAMES[dtype.name])))

    def _frozen(self, x: Array) -> Array:
        if hasattr(x.flags, "writeable"):
            x.flags.writeable = False
        return x

    # Structure

    def copy(self, x: Array) -> Array:
        """A row-major array of its own memory; rank 0 too is an array then, not a scalar."""
        return self.xp.array(x, order="C", copy=True)

    def reshape(self, x: Array, *, shape: Ints) -> Array:
        """The same elements in row-major order under another shape."""
        return x.reshape(shape)

    def transpose(self, x: Array, *, axes: Ints) -> Array:
        """Axis `i` of the result is axis `axes[i]` of `x`."""
        return x.transpose(axes)

    def slice(self, x: Array, *, starts: Ints, ends: Ints, steps: Ints) -> Array:
        """Elements from `starts` up to `ends`, `steps` apart."""
        return x[tuple(map(slice, starts, ends, steps))]

    def slice_scatter(self, updates: Array, *, shape: Ints, starts: Ints, steps: Ints) -> Array:
        """Zeros with `updates` at `starts`, `steps` apart."""
        out = self.xp.zeros(shape, updates.dtype)
        out[tuple(_run(start, n, step) for start, n, step in zip(starts, updates.shape, steps, strict=True))] = updates
        return out

    # Indexing

    def index(self, x: Array, *, indices: tuple[int, ...]) -> Array:
        """One element; E6001 out of bounds, below 0 included."""
        _check_index(indices, x.shape)
        return x[indices]

    def index_scatter(self, update: Array, *, shape: Ints, indices: tuple[int, ...]) -> Array:
        """Zeros with `update` at `indices`; E6001 out of bounds."""
        _check_index(indices, shape)
        out = self.xp.zeros(shape, update.dtype)
        out[indices] = update
        return out

    def gather(self, x: Array, indices: Array) -> Array:
        """Rows of `x`; E6001 for an index outside its first axis."""
        self._check_rows(indices, x.shape)
        return x.take(indices, axis=0)

    def scatter_add(self, indices: Array, updates: Array, *, shape: Ints) -> Array:
        """Zeros with rows added one after the other in row-major order; E6001 for an index outside the first axis."""
        self._check_rows(indices, shape)
        out = self.xp.zeros(shape, updates.dtype)
        count = prod(indices.shape)
        self.xp.add.at(out, indices.reshape((count,)), updates.reshape((count, *shape[1:])))
        return out

    def _check_rows(self, indices: Array, shape: Ints) -> None:
        outside = (indices < 0) | (indices >= shape[0])
        if self.xp.count_nonzero(outside):
            first = self.xp.asarray(indices)[self.xp.asarray(outside)][0]
            raise _out_of_bounds([int(first)], shape)

    # Arithmetic

    def divide(self, a: Array, b: Array) -> Array:
        """The quotient; integers truncate toward zero and wrap, and E6006 is an integer divided by zero."""
        if a.dtype.kind == "f":
            return self.xp.divide(a, b)
        if not b.all() and 0 not in a.shape:
            raise self._division_by_zero(a, b)
        return self._truncated(a, b)

    def _division_by_zero(self, a: Array, b: Array) -> MindError:
        dividends, divisors = self.xp.broadcast_arrays(a, b)
        first = int(dividends[divisors == 0][0])
        return error("E6006", f"division of the integer {first} by 0, expected another divisor", operands=[first, 0])

    def _truncated(self, a: Array, b: Array) -> Array:
        """Floor division, plus 1 where the quotient is negative and not exact."""
        xp = self.xp
        q = xp.floor_divide(a, b)
        inexact = xp.not_equal(xp.multiply(q, b), a)
        return xp.add(q, xp.logical_and(inexact, xp.less(xp.bitwise_xor(a, b), 0)), dtype=a.dtype)

    def mean(self, x: Array, *, axis: Ints, keepdims: bool, count: int) -> Array:
        """The sum over `axis`, in the dtype of `x`, by `count`; integers wrap, then truncate toward zero."""
        total = self.xp.add.reduce(x, axis=axis, dtype=x.dtype, keepdims=keepdims)
        if x.dtype.kind == "f":
            return self.xp.divide(total, x.dtype.type(count))
        wide = total.astype(self.xp.int64)  # the count may not fit i32
        return self._truncated(wide, self.xp.int64(count)).astype(x.dtype)

    def relu(self, x: Array) -> Array:
        """`x` where it is positive, else +0: NaN and -0 too give +0."""
        return self._keep_positive(x, x)

    def relu_grad(self, g: Array, x: Array) -> Array:
        """`g` where `x` is positive, else +0, whatever `g` holds."""
        return self._keep_positive(g, x)

    def _keep_positive(self, values: Array, x: Array) -> Array:
        """A selection by bit masks: several times as fast as `where` on signs that a branch predictor cannot guess."""
        xp = self.xp
        bits = xp.int32 if x.dtype.itemsize == 4 else xp.int64
        mask = xp.asarray(x > 0).astype(bits)
        xp.negative(mask, out=mask)  # all ones or all zeros
        xp.bitwise_and(mask, values.view(bits), out=mask)
        return mask.view(x.dtype)

    # Convolution: NHWC, HWCF, as one matrix product over the windows of the padded input. `pads` is top, bottom, left, right.

    def conv2d(self, x: Array, filter: Array, *, strides: Ints, pads: Ints) -> Array:
        """Cross-correlation."""
        kh, kw, c, f = filter.shape
        windows = self._windows(x, (kh, kw), strides, pads)
        n, oh, ow = windows.shape[:3]
        rows = windows.reshape((n * oh * ow, kh * kw * c))
        return self.xp.matmul(rows, filter.reshape((kh * kw * c, f))).reshape((n, oh, ow, f))

    def conv2d_backward_filter(self, x: Array, g: Array, *, shape: Ints, strides: Ints, pads: Ints) -> Array:
        """The gradient of `conv2d` in its filter, whose shape is `shape`."""
        kh, kw, c, f = shape
        windows = self._windows(x, (kh, kw), strides, pads)
        count = prod(windows.shape[:3])
        columns = windows.reshape((count, kh * kw * c)).transpose()
        return self.xp.matmul(columns, g.reshape((count, f))).reshape(tuple(shape))

    def conv2d_backward_input(self, g: Array, filter: Array, *, shape: Ints, strides: Ints, pads: Ints) -> Array:
        """The gradient of `conv2d` in its input, whose shape is `shape`."""
        (n, oh, ow, f), (kh, kw, c, _) = g.shape, filter.shape
        h, w, (top, bottom, left, right) = shape[1], shape[2], pads
        weights = filter.reshape((kh * kw * c, f)).transpose()
        windows = self.xp.matmul(g.reshape((n * oh * ow, f)), weights).reshape((n, oh, ow, kh, kw, c))
        out = self.xp.zeros((n, top + h + bottom, left + w + right, c), g.dtype)
        for i in range(kh):
            for j in range(kw):
                out[:, _run(i, oh, strides[0]), _run(j, ow, strides[1])] += windows[:, :, :, i, j]
        return self.copy(out[:, top : top + h, left : left + w]) if any(pads) else out

    def _windows(self, x: Array, kernel: Ints, strides: Ints, pads: Ints) -> Array:
        """A view of the padded input, of shape [N, H_out, W_out, H_k, W_k, C]; extents follow from `x`, so it stays inside."""
        x = self._padded(x, pads)
        n, h, w, c = x.shape
        step_h, step_w = min(strides[0], h), min(strides[1], w)  # a longer step is never taken, and its bytes may overflow
        out = ((h - kernel[0]) // step_h + 1, (w - kernel[1]) // step_w + 1)
        sn, sh, sw, sc = x.strides
        steps = (sn, sh * step_h, sw * step_w, sh, sw, sc)
        return self.xp.lib.stride_tricks.as_strided(x, (n, *out, *kernel, c), steps)

    def _padded(self, x: Array, pads: Ints) -> Array:
        if not any(pads):
            return x
        top, bottom, left, right = pads
        n, h, w, c = x.shape
        out = self.xp.zeros((n, top + h + bottom, left + w + right, c), x.dtype)
        out[:, top : top + h, left : left + w] = x
        return out


def _run(start: int, count: int, step: int) -> slice:
    """`count` places from `start`, `step` apart."""
    return slice(start, start + (count - 1) * step + 1, step) if count else slice(start, start)


def _check_index(indices: Ints, shape: Ints) -> None:
    if False in map(lt, indices, shape) or (indices and min(indices) < 0):
        raise _out_of_bounds(indices, shape)


def _out_of_bounds(indices: Ints, shape: Ints) -> MindError:
    given, extents = list(indices), list(shape)
    message = f"index {given} is out of bounds for shape {extents}, expected 0 <= index < extent"
    return error("E6001", message, indices=given, shape=extents)
