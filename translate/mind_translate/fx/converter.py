"""
The interface of rows of ATen ops: the current call, and operands in the dtype and shape of its result.

Graphs of torch.export state the dtype and shape of every value, after type promotion, so rows cast and broadcast to what is
stated. Nothing here imports torch: rows get values of PTIR, Python numbers, sizes and names of dtypes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Concatenate

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import F32, F64, I1, SI64, Kind, PtirDType, TensorSpec
from mind_dialect.ptir_shapes import UNKNOWN, Dim, Dims
from mind_dialect.shapes import inverse_permutation

from ..landing import INTEGER_KINDS, Lander
from ..unsupported import Refused
from .sizes import COMPUTED, Computed

Operand = SSAValue | bool | int | float | complex
"""A value, or a Python number that stands for one."""
Results = SSAValue | Sequence[SSAValue | None]
"""Results of a row; None for a result that it cannot give, which is refused where it is used."""


@dataclass(frozen=True)
class Call:
    """A call of an op: its name, the types of its results (None for what is no tensor), and its operands' common dtype."""

    name: str
    results: tuple[TensorSpec | None, ...]
    promoted: PtirDType | None = None
    """The dtype in which torch compares the first two arguments."""
    is_contiguous: bool = True
    """True if the elements of the first argument lie in its storage in row-major order, from its start on."""

    @property
    def spec(self) -> TensorSpec:
        """The type of the first result."""
        if not self.results or (spec := self.results[0]) is None:
            raise Refused("a result that is not a tensor")
        return spec

    @property
    def dtype(self) -> PtirDType:
        """The dtype of the first result."""
        return self.spec.dtype

    @property
    def shape(self) -> Dims:
        """The dimensions of the first result."""
        return self.spec.shape


class AtenConverter(Lander):
    """Emits PTIR for calls of ATen ops."""

    def cast(self, x: SSAValue, dtype: PtirDType) -> SSAValue:
        """`x` in another dtype as torch converts: integers wrap, complex numbers lose their imaginary part."""
        source = self.dtype(x)
        if source.kind in INTEGER_KINDS and dtype.kind in INTEGER_KINDS:
            return self.wrap(x, dtype)
        if source.kind is Kind.COMPLEX and dtype.kind is not Kind.COMPLEX:
            x = self.compare("not_equal", x, 0) if dtype is I1 else self.emit(ptir.RealOp, x)
        return super().cast(x, dtype)

    def number(self, value: Any, dtype: PtirDType, shape: Dims = ()) -> SSAValue:
        """A Python number as a tensor, as torch converts it: truncated and wrapped for integers; a size counted in the run."""
        if isinstance(value, str):
            return self.broadcast(self.cast(self.size(value), dtype), shape)
        if isinstance(value, Computed):
            return self.broadcast(self.cast(self.computed(value), dtype), shape)
        if dtype is I1:
            return self.fill(bool(value), dtype, shape)
        if dtype.kind is Kind.COMPLEX:
            return self.fill(complex(value), dtype, shape)
        if isinstance(value, complex):
            raise Refused(f"the complex number {value} for {dtype}")
        if dtype.is_float:
            return self.fill(float(value), dtype, shape)
        if isinstance(value, float) and value - value != 0:
            raise Refused(f"the number {value} for {dtype}")
        wrapped = int(value) % (1 << dtype.bits)
        signed = dtype.kind is Kind.SIGNED and wrapped >= 1 << (dtype.bits - 1)
        return self.fill(wrapped - (1 << dtype.bits) if signed else wrapped, dtype, shape)

    def computed(self, value: Computed) -> SSAValue:
        """A number that follows from sizes, in f64 or si64, of rank 0."""
        dtype = F64 if value.is_float else SI64
        operands, op = [self.number(v, dtype) for v in value.operands], COMPUTED[value.operation]
        if op is None:
            return operands[0]
        return self.emit(op, *operands) if len(operands) == 1 else reduce(lambda x, y: self.emit(op, x, y), operands)

    def tensor(self, x: Operand, dtype: PtirDType, shape: Dims | None = None) -> SSAValue:
        """A value, or a number, in `dtype`; with `shape` also broadcast to it."""
        if not isinstance(x, SSAValue):
            return self.number(x, dtype, shape or ())
        x = self.cast(x, dtype)
        return x if shape is None else self.broadcast(x, shape)

    def operand(self, call: Call, x: Operand) -> SSAValue:
        """A value, or a number, in the dtype and shape of the first result."""
        return self.tensor(x, call.dtype, call.shape)

    def math(self, op_type: Callable[..., ptir.PtirOp], x: SSAValue, *ys: SSAValue | float | str) -> SSAValue:
        """An elementwise op on `x` and others, broadcast to its shape; numbers and sizes stand for tensors of them."""
        shape = self.shape(x)
        others = (self.broadcast(y, shape) if isinstance(y, SSAValue) else self.number(y, self.dtype(x), shape) for y in ys)
        return self.emit(op_type, x, *others)

    def scaled(self, x: SSAValue, factor: Any) -> SSAValue:
        """`x` times a number."""
        return x if factor == 1 else self.math(ptir.MulOp, x, factor)

    def shaped(self, x: SSAValue, shape: Dims) -> SSAValue:
        """The elements of `x` under a stated shape, of whose dimensions one may be unknown."""
        if self.shape(x) == shape:
            return x
        if shape.count(UNKNOWN) > 1:
            raise Refused("a shape with several derived sizes", "give the program static shapes")
        return self.emit(ptir.ReshapeOp, x, new_shape=tuple(-1 if n == UNKNOWN else n for n in shape))

    def sizes(self, x: SSAValue, axes: Sequence[int] | None = None) -> tuple[int, ...]:
        """The sizes along axes. Raises `Refused` where they are not known."""
        shape = self.shape(x)
        found = tuple(n for i, n in enumerate(shape) if axes is None or i in axes)
        known = tuple(n for n in found if isinstance(n, int))
        if len(known) != len(found):
            raise Refused("a size that is not known at import", "give the program static shapes")
        return known

    def axes(self, x: SSAValue, dims: int | Sequence[int] | None) -> list[int]:
        """Axes counted from the front; None, and for reductions an empty list, are all of them."""
        rank = len(self.shape(x))
        given = [dims] if isinstance(dims, int) else list(dims or ())
        return sorted({d % rank for d in given}) if given and rank else list(range(rank))

    def axis(self, x: SSAValue, dim: int) -> int:
        """An axis counted from the front; 0 for rank 0, as torch has it."""
        return dim % max(1, len(self.shape(x)))

    def reduce(self, kind: str, x: SSAValue, dims: int | Sequence[int] | None, keep: bool = False) -> SSAValue:
        """A reduction; truths are reduced by max and min."""
        axes = tuple(self.axes(x, dims))
        return self.emit(ptir.ReduceOp, x, kind=kind, axes=axes, keepdims=bool(keep)) if self.shape(x) else x

    def mean(self, x: SSAValue, axes: Sequence[int], keep: bool = False) -> SSAValue:
        """The sum over axes by the number of elements."""
        return self.by_count(self.reduce("sum", x, axes, keep) if axes else x, x, axes)

    def by_count(self, total: SSAValue, x: SSAValue, axes: Sequence[int], less: float = 0) -> SSAValue:
        """
        A total by the number of elements of `x` along axes, which the program counts where a size has a name.

        With `less`, by so many fewer, at least 0.
        """
        shape = tuple(n for i, n in enumerate(self.shape(x)) if i in axes)
        if UNKNOWN in shape or all(isinstance(n, int) for n in shape):
            return self.math(ptir.DivOp, total, float(max(0, math.prod(self.sizes(x, axes)) - less)))
        count = self.cast(self.reduce("sum", self.fill(1, SI64, shape), None), self.dtype(total))
        if less:
            count = self.math(ptir.MaximumOp, self.math(ptir.SubOp, count, float(less)), 0.0)
        return self.emit(ptir.DivOp, total, self.broadcast(count, self.shape(total)))

    def front(self, x: SSAValue, first: Sequence[int]) -> tuple[SSAValue, tuple[int, ...]]:
        """`x` with some axes in front, and the permutation that takes them back."""
        perm = [*first, *(i for i in range(len(self.shape(x))) if i not in first)]
        return self.transpose(x, perm), inverse_permutation(perm)

    def wrapped(self, indices: SSAValue, size: Dim) -> SSAValue:
        """Indices, of which negative ones count from the end."""
        indices = self.index(indices)
        moved = self.math(ptir.AddOp, indices, size)
        return self.select(self.compare("less", indices, 0), moved, indices)

    def integers(self, values: Sequence[int], shape: Sequence[int] | None = None) -> SSAValue:
        """A constant of si64, of rank 1 unless its shape is stated."""
        return self.constant(SI64, (len(values),) if shape is None else shape, list(values))

    def along(self, x: SSAValue, axis: int, matrix: Sequence[Sequence[float]]) -> SSAValue:
        """The products of a constant matrix with the vectors along an axis."""
        weights = self.constant(self.dtype(x), (len(matrix), len(matrix[0])), [v for row in matrix for v in row])
        dims = {"batch_lhs": (), "batch_rhs": (), "contract_lhs": (axis,), "contract_rhs": (1,)}
        found = self.emit(ptir.DotGeneralOp, x, weights, **dims)
        rank = len(self.shape(x))
        return self.transpose(found, [*range(axis), rank - 1, *range(axis, rank - 1)])


Row = Callable[Concatenate[AtenConverter, Call, ...], Results]
"""`row(to, call, *arguments)` emits the ops of one call; arguments are those of the op's schema, in order, with defaults."""
Table = dict[str, Row | Refused]


def wide(dtype: PtirDType) -> PtirDType:
    """In which dtype torch computes what it rounds once: f32 for narrower floats."""
    return F32 if dtype.is_float and dtype.bits < 32 else dtype
