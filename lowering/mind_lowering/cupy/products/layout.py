"""
Operands of products where they lie: by strides, through the views between an array and the product.

Kernels of products read each element many times from shared memory, and once from where it is: no view of it need be copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from mind_dialect.ptir import PtirOp, ReshapeOp
from mind_dialect.ptir.types import PtirDType

from ...launch.ref import row_major
from ...launch.views import VIEWS, StridedLayout, view_of
from ..kernels.places import Chunk, Dims, cut, spec
from ..kernels.scope import Scope
from ..kernels.unsupported import Unsupported

Part = tuple[int, int]
"""An extent, and how far apart its elements are."""


@dataclass(frozen=True)
class Strided:
    """An input, and how a view of it lies along each axis: an axis may be several of the input's, as repeated heads are."""

    input: SSAValue
    dtype: PtirDType
    parts: tuple[tuple[Part, ...], ...]
    offset: int

    @property
    def shape(self) -> Dims:
        """The extents of the view."""
        return tuple(prod(n for n, _ in parts) for parts in self.parts)

    def stride(self, axis: int) -> int:
        """Return the distance of elements along an axis; Unsupported where they are not evenly apart."""
        found = [stride for n, stride in self.parts[axis] if n != 1]
        if len(found) > 1:
            raise Unsupported("rows of an operand that are not evenly apart")
        return found[0] if found else 0

    def base(self, scope: Scope, axes: Sequence[int], index: str) -> str:
        """The address of the matrix at an index over these axes."""
        parts = [part for a in axes for part in self.parts[a]]
        terms = [scope.source.pointers[self.input], *([str(self.offset)] if self.offset else [])]
        chunks = cut((Chunk(tuple(n for n, _ in parts), index),), range(len(parts)), scope) if parts else []
        for chunk, (_, stride) in zip(chunks, parts, strict=True):
            if stride and chunk.number != "0":
                terms.append(scope.index(f"{chunk.number} * {stride}"))
        return " + ".join(terms)


def strided(value: SSAValue, inputs: Sequence[SSAValue]) -> Strided:
    """A value of a body that is a view of an input; Unsupported for one that is computed or has no strides."""
    chain: list[PtirOp] = []
    source = value
    while source not in inputs:
        op = source.owner
        if not isinstance(op, PtirOp) or type(op) not in VIEWS:
            raise Unsupported("an operand of a product that is computed")
        chain.append(op)
        source = op.operands[0]
    dtype, shape = spec(source)
    view = StridedLayout(shape, row_major(shape))
    joined = isinstance(chain[0], ReshapeOp) if chain else False
    for op in reversed(chain):
        found = view_of(op, view)
        if found is None and joined and op is chain[0]:
            return Strided(source, dtype, _joined(view, spec(value)[1]), view.offset)
        if found is None:
            raise Unsupported("an operand of a product that must be copied")
        view = found
    return Strided(source, dtype, tuple(((n, s),) for n, s in zip(view.shape, view.strides, strict=True)), view.offset)


def _joined(view: StridedLayout, shape: Dims) -> tuple[tuple[Part, ...], ...]:
    """A view under a shape whose axes are some of its own each, one after the other."""
    rest = list(zip(view.shape, view.strides, strict=True))
    parts: list[tuple[Part, ...]] = []
    for n in shape:
        taken: list[Part] = []
        while rest and (prod(m for m, _ in taken) < n or rest[0][0] == 1):
            taken.append(rest.pop(0))
        if prod(m for m, _ in taken) != n:
            raise Unsupported("an operand of a product that must be copied")
        parts.append(tuple(taken) or ((1, 0),))
    if rest:
        raise Unsupported("an operand of a product that must be copied")
    return tuple(parts)
