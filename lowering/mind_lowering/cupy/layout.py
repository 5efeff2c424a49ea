"""
Operands of products where they lie: by strides, through the views between an array and the product.

Kernels of products read each element many times from shared memory, and once from where it is: no view of it need be copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import PtirDType

from ..native.views import VIEWS, Buffer, Use, View, viewed, whole
from .body import Scope, Source, spec
from .places import Chunk, Dims, cut
from .unsupported import Unsupported


@dataclass(frozen=True)
class Strided:
    """An input, and how far apart the elements of a view of it are along each axis."""

    input: SSAValue
    dtype: PtirDType
    shape: Dims
    strides: tuple[int, ...]
    offset: int

    def base(self, source: Source, scope: Scope, axes: Sequence[int], index: str) -> str:
        """The address of the matrix at an index over these axes."""
        extents = tuple(self.shape[a] for a in axes)
        terms = [source.pointers[self.input], *([str(self.offset)] if self.offset else [])]
        for chunk, axis in zip(cut((Chunk(extents, index),), range(len(axes)), scope) if axes else [], axes, strict=True):
            if self.strides[axis] and chunk.number != "0":
                terms.append(scope.index(f"{chunk.number} * {self.strides[axis]}"))
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
    view: View | None = whole(Buffer(Use.INPUT, 0, dtype, 1), shape)
    for op in reversed(chain):
        view = None if view is None else viewed(view, op)
    if view is None:
        raise Unsupported("an operand of a product that must be copied")
    return Strided(source, dtype, view.shape, view.strides, view.offset)
