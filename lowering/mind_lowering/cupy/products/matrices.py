"""Operands and results of the products in an attention: matrices for each place of a batch, where they lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from mind_dialect.ptir import DotGeneralOp
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import F32, F64

from ..kernels.places import Dims, Place, cut, place, spec
from ..kernels.scalars import STORED
from ..kernels.scope import Scope
from ..kernels.unsupported import Unsupported
from .layout import Part, Strided

SHARED_BYTES = 48 << 10
"""Of shared memory that a block has without being asked for."""


@dataclass(frozen=True)
class Axes:
    """The axes of an operand of a product: of the batch, the one that is left, and the contracted one."""

    batch: tuple[int, ...]
    left: int
    contracted: int


def axes_of(op: DotGeneralOp, side: str, batch: int) -> Axes:
    """The axes of the `lhs` or `rhs` of a product of matrices with so many axes of a batch."""
    values, rank = op.values(), len(spec(op.lhs if side == "lhs" else op.rhs)[1])
    axes = tuple(a % rank for a in values[f"batch_{side}"])
    contracted = [a % rank for a in values[f"contract_{side}"]]
    left = [a for a in range(rank) if a not in (*axes, *contracted)]
    if len(contracted) != 1 or len(left) != 1 or len(axes) != batch:
        raise Unsupported("products of operands that are not matrices")
    return Axes(axes, left[0], contracted[0])


def check_sums(op: DotGeneralOp) -> None:
    """Unsupported for a product that is not summed in f32 or f64."""
    dtype = spec(op.lhs)[0]
    accum = op.values()["accum_dtype"] or default_accumulator(dtype)
    if accum not in (F32, F64) or dtype.kind != accum.kind:
        raise Unsupported(f"products that accumulate in {accum}")


@dataclass(frozen=True)
class Matrix:
    """An operand as matrices: the axes of the batch, those of rows and of columns. Unsupported for elements not evenly apart."""

    operand: Strided
    batch: tuple[int, ...]
    down: int
    right: int

    def __post_init__(self) -> None:
        self.operand.stride(self.down)
        self.operand.stride(self.right)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.operand.shape[self.down], self.operand.shape[self.right]

    def same(self) -> tuple[SSAValue, int, Sequence[Sequence[Part]]]:
        """Return a key that is equal for equal elements at equal places."""
        parts = [self.operand.parts[a] for a in (*self.batch, self.down, self.right)]
        return self.operand.input, self.operand.offset, [[p for p in axis if p[0] != 1] for axis in parts]

    def text(self, scope: Scope, index: str) -> str:
        """The matrix at an index over the batch in C++."""
        base = self.operand.base(scope, self.batch, index)
        steps = f"I({self.operand.stride(self.down)}), I({self.operand.stride(self.right)})"
        return f"mind::Matrix<{STORED[self.operand.dtype]}, I>{{{base}, {steps}}}"


def scored(batch: Dims, rows: int, keys: int) -> Place:
    """The place of a score: index `z` over the batch, row `r` of the queries, and key `c`."""
    return place((batch, "z"), ((rows,), "r" if rows > 1 else "0"), ((keys,), "c" if keys > 1 else "0"))


def batch_offset(batch: Sequence[int], places: Sequence[int], index: str, scope: Scope) -> str:
    """Return the offset in a result of the matrix of an index over the batch."""
    at = cut(place((tuple(batch), index)), range(len(batch)), scope)
    terms = [f"{c.number} * {n}" for c, n in zip(at, places, strict=False) if c.number != "0"]
    return " + ".join(terms) or "0"
