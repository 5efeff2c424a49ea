"""
The emitter that all importers share: PTIR ops in a block, with the small forms that every source language needs.

A source's scalars become rank-0 tensors, its implicit broadcasts `broadcast_to`, its constants `constant`. Each helper returns
the operand itself where nothing is to be done, so importers need not ask. Every op takes the location of the op it comes from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from xdsl.dialects.builtin import LocationAttr, UnknownLoc
from xdsl.ir import Block, Operation, Region, SSAValue

from mind_dialect import ptir
from mind_dialect.elements import Number
from mind_dialect.extents.dims import sub_dims
from mind_dialect.ptir import PtirLiteralAttr, PtirOp, bitcast_ops
from mind_dialect.ptir.types import I1, SI8, SI32, SI64, Kind, PtirDType, TensorSpec, read_type
from mind_dialect.ptir_shapes import UNKNOWN, Dim, Dims
from mind_dialect.shapes import inverse_permutation

from .unsupported import Refused

Op = TypeVar("Op", bound=Operation)
INTEGER_KINDS = (Kind.SIGNED, Kind.UNSIGNED)
MOST_FOLDED = 1 << 12
"""Constants of at most this many elements are read by importers."""


class Lander:
    """Emits ops at the end of `block`, at `location`."""

    def __init__(self) -> None:
        self.block = Block()
        self.location: LocationAttr = UnknownLoc()

    # Emission

    def add(self, op: Op) -> Op:
        """Append an op."""
        op.location = self.location
        self.block.add_op(op)
        return op

    def emit(self, op_type: Callable[..., PtirOp], *operands: SSAValue, **properties: Any) -> SSAValue:
        """Append an op of one result and return it. Raises the op's coded errors."""
        return self.add(op_type(*operands, **properties)).results[0]

    @contextmanager
    def inside(self, block: Block) -> Generator[Block]:
        """Emit into another block for a while."""
        outer, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = outer

    def region(self, types: Sequence[Any], body: Callable[[Sequence[SSAValue]], Sequence[SSAValue]]) -> Region:
        """A region of one block whose arguments have `types` and which yields what `body` emits."""
        with self.inside(Block(arg_types=types)) as block:
            self.add(ptir.YieldOp(*body(block.args)))
        return Region(block)

    # Queries

    def spec(self, value: SSAValue) -> TensorSpec:
        """The dtype and dimensions of a value."""
        return read_type(value.type)

    def dtype(self, value: SSAValue) -> PtirDType:
        """The dtype of a value."""
        return read_type(value.type).dtype

    def shape(self, value: SSAValue) -> Dims:
        """The dimensions of a value."""
        return read_type(value.type).shape

    def known(self, value: SSAValue) -> tuple[Number, ...] | None:
        """The elements of a small constant, repeated as it repeats them; None for data."""
        op = value.owner
        shape = self.shape(value)
        if (
            not all(isinstance(n, int) for n in shape)
            or (count := math.prod(n for n in shape if isinstance(n, int))) > MOST_FOLDED
        ):
            return None
        if isinstance(op, ptir.ConstantOp):
            values = op.literal.values()
            return values * count if len(values) == 1 else values
        if isinstance(op, ptir.ReshapeOp):
            return self.known(op.x)
        if isinstance(op, ptir.BroadcastToOp) and (one := self.known_scalar(op.x)) is not None:
            return (one,) * count
        return None

    def known_scalar(self, value: SSAValue) -> Number | None:
        """The number that every element of a value is known to be; None for data and for different numbers."""
        op = value.owner
        if isinstance(op, ptir.BroadcastToOp | ptir.ReshapeOp):
            return self.known_scalar(op.x)
        if isinstance(op, ptir.ConstantOp) and len(op.literal.data.data) == op.literal.spec[0].size:
            return op.literal.item()
        return None

    # Constants

    def constant(self, dtype: PtirDType, shape: Sequence[int], values: Sequence[object]) -> SSAValue:
        """A tensor of the given elements in row-major order. Raises E4005."""
        return self.emit(ptir.ConstantOp, value=PtirLiteralAttr.from_values(dtype, tuple(shape), values))

    def fill(self, value: object, dtype: PtirDType, shape: Dims = ()) -> SSAValue:
        """A tensor with the same number everywhere. Raises E4005."""
        sizes = tuple(n for n in shape if isinstance(n, int))
        if len(sizes) != len(shape):
            return self.broadcast(self.fill(value, dtype), shape)
        return self.add(ptir.ConstantOp(PtirLiteralAttr.filled(dtype, sizes, value))).results[0]

    def like(self, value: object, x: SSAValue) -> SSAValue:
        """The same number everywhere, of the type of `x`."""
        dtype, shape = self.spec(x)
        return self.fill(value, dtype, shape)

    # Structure

    def reshape(self, x: SSAValue, shape: Dims) -> SSAValue:
        """The same elements under another shape."""
        return x if self.shape(x) == tuple(shape) else self.emit(ptir.ReshapeOp, x, new_shape=tuple(shape))

    def broadcast(self, x: SSAValue, shape: Dims) -> SSAValue:
        """Repeat along new leading dimensions and along those of size 1. Raises `Refused` for a size that is not known."""
        if UNKNOWN in shape and self.shape(x) != tuple(shape):
            raise Refused("a dimension whose size is not known", "give the program static shapes")
        return x if self.shape(x) == tuple(shape) else self.emit(ptir.BroadcastToOp, x, result_shape=tuple(shape))

    def place(self, x: SSAValue, axes: Sequence[int], shape: Dims) -> SSAValue:
        """`x` repeated to `shape`, its dimensions at the ascending `axes`; leading ones need no dimension of 1."""
        first = axes[0] if axes else len(shape)
        with_ones: list[Dim] = [1] * (len(shape) - first)
        for axis, n in zip(axes, self.shape(x), strict=True):
            with_ones[axis - first] = n
        return self.broadcast(self.reshape(x, tuple(with_ones)), shape)

    def transpose(self, x: SSAValue, perm: Sequence[int]) -> SSAValue:
        """Reorder dimensions."""
        return x if list(perm) == list(range(len(self.shape(x)))) else self.emit(ptir.TransposeOp, x, perm=tuple(perm))

    def slice(self, x: SSAValue, starts: Sequence[int], limits: Sequence[Dim], strides: Sequence[int] | None = None) -> SSAValue:
        """The elements from `starts` up to `limits`, every `strides`-th."""
        shape = self.shape(x)
        steps = tuple(strides) if strides is not None else (1,) * len(shape)
        if not any(starts) and tuple(limits) == shape and set(steps) <= {1}:
            return x
        if UNKNOWN in shape:
            return self._taken(x, starts, limits, steps)
        if set(steps) <= {1}:
            sizes = tuple(sub_dims(b, a) for a, b in zip(starts, limits, strict=True))
            return self.emit(ptir.SliceOp, x, starts=tuple(starts), sizes=sizes)
        return self.emit(ptir.StridedSliceOp, x, starts=tuple(starts), limits=tuple(limits), strides=steps)

    def _taken(self, x: SSAValue, starts: Sequence[int], limits: Sequence[Dim], strides: Sequence[int]) -> SSAValue:
        """A slice of what has dimensions that are not known, along others: rows by number."""
        for axis, (n, start, limit, stride) in enumerate(zip(self.shape(x), starts, limits, strides, strict=True)):
            if limit == n and not start and stride == 1:
                continue
            assert isinstance(limit, int), "a name is the limit of its own dimension"
            rank = len(self.shape(x))
            front = [axis, *(i for i in range(rank) if i != axis)]
            rows = range(start, limit, stride)
            taken = self.emit(ptir.TakeOp, self.transpose(x, front), self.constant(SI64, (len(rows),), rows))
            x = self.transpose(taken, inverse_permutation(front))
        return x

    def part(self, x: SSAValue, axis: int, start: int, limit: Dim, stride: int = 1) -> SSAValue:
        """The elements `start` up to `limit` along one axis."""
        shape = self.shape(x)
        starts, strides = [0] * len(shape), [1] * len(shape)
        starts[axis], strides[axis] = start, stride
        return self.slice(x, starts, [*shape[:axis], limit, *shape[axis + 1 :]], strides)

    def concat(self, xs: Sequence[SSAValue], axis: int) -> SSAValue:
        """One after the other along `axis`."""
        return xs[0] if len(xs) == 1 else self.emit(ptir.ConcatOp, *xs, axis=axis)

    def pad(
        self, x: SSAValue, value: Number, low: Sequence[int], high: Sequence[int], interior: Sequence[int] | None = None
    ) -> SSAValue:
        """Put a known number before, after and between the elements; none of the counts is negative."""
        between = tuple(interior) if interior is not None else (0,) * len(low)
        if not any(low) and not any(high) and not any(between):
            return x
        return self.emit(ptir.PadOp, x, low=tuple(low), high=tuple(high), interior=between, pad_value=value)

    def size(self, dim: Dim) -> SSAValue:
        """A size as si64 of rank 0, also one that only a run tells. Raises `Refused` for one that is not known."""
        if isinstance(dim, int):
            return self.fill(dim, SI64)
        if dim == UNKNOWN:
            raise Refused("a number that follows from sizes in a way that has no form here", "give the program static shapes")
        return self.emit(ptir.DimensionSizeOp, self.emit(ptir.IotaOp, shape=(dim,), dtype=SI8, axis=0), axis=0)

    # Arithmetic

    def cast(self, x: SSAValue, dtype: PtirDType) -> SSAValue:
        """`x` in another dtype, saturating as PTIR does."""
        return x if self.dtype(x) is dtype else self.emit(ptir.CastOp, x, dtype=dtype)

    def compare(self, kind: str, lhs: SSAValue, rhs: SSAValue | float) -> SSAValue:
        """`lhs kind rhs`, where a number stands for a tensor of it."""
        return self.emit(ptir.CompareOp, lhs, rhs if isinstance(rhs, SSAValue) else self.like(rhs, lhs), kind=kind)

    def select(self, pred: SSAValue, on_true: SSAValue, on_false: SSAValue) -> SSAValue:
        """`on_true` where `pred`; a rank-0 `pred` chooses between the whole."""
        return self.emit(ptir.SelectOp, self.broadcast(pred, self.shape(on_true)), on_true, on_false)

    def logical(self, op_type: type[PtirOp], *values: SSAValue | None) -> SSAValue | None:
        """Combine those that are not None; None if all are."""
        found: SSAValue | None = None
        for value in values:
            if value is not None:
                found = value if found is None else self.emit(op_type, found, value)
        return found

    def wrap(self, x: SSAValue, dtype: PtirDType) -> SSAValue:
        """An integer in another integer dtype, its low bits kept as StableHLO's `convert` keeps them."""
        return x if self.dtype(x) is dtype else self.emit(ptir.TruncateOp, x, dtype=dtype)

    def bits(self, x: SSAValue, dtype: PtirDType) -> SSAValue:
        """The bits of `x` as a number of another dtype; wider and narrower ones take or make a last dimension."""
        return x if self.dtype(x) is dtype else [self.add(op) for op in bitcast_ops(x, dtype)][-1].results[0]

    def index(self, x: SSAValue) -> SSAValue:
        """`x` in a dtype that indices have: si32, or si64 for wider ones; beyond it saturated, which is out of range too."""
        dtype = self.dtype(x)
        if dtype in (SI32, SI64):
            return x
        return self.cast(x, SI64 if dtype.bits >= 32 else SI32)

    def clamp(self, x: SSAValue, low: int, high: int) -> SSAValue:
        """`x` no less than `low` and no greater than `high`."""
        return self.emit(ptir.ClampOp, x, self.like(low, x), self.like(high, x))

    def is_truth(self, x: SSAValue) -> bool:
        """Return whether a value is of i1."""
        return self.dtype(x) is I1
