"""
`resolve-shaped-type-result-dims`: sizes of results as arithmetic on sizes of arguments.

    %0 = ptir.concat %x, %y {axis = 0 : i64} : (tensor<?xf32, "P">, tensor<?xf32, "T">) -> tensor<?xf32, "P+T">
    %n = tensor.dim %0, %c0         becomes  arith.addi of tensor.dim %x, %c0 and tensor.dim %y, %c0

As MLIR's pass of this name, after which ops asked for their sizes only are dead. It resolves `tensor.dim` along a constant
axis, and `ptir.dimension_size` where the size is a number or that of one argument. The sizes are those that `reify-shapes` finds;
one that they leave open stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from mind_dialect import register
from mind_dialect.extents.dims import extent_of
from mind_dialect.extents.operations import Algebra, fold
from mind_dialect.extents.solutions import SIZE
from mind_dialect.program import functions
from mind_dialect.ptir import DimensionSizeOp
from mind_dialect.ptir.types import SI64
from mind_dialect.shape import library_functions
from mind_dialect.shape.lattice import UNKNOWN, Extent
from mind_dialect.shape.types import index
from mind_dialect.verify import verify

from ..ptir.building import constant, spec_of
from .known_sizes import KnownSizes, known_sizes

ARITHMETIC = (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.FloorDivSIOp, arith.MaxSIOp)
"""Operations on indices for those on sizes, in the order of `Algebra`."""


def resolve(module: ModuleOp) -> None:
    """Resolve the sizes of results in every function of a verified module, in place; the error of a shape that cannot be."""
    described = library_functions(module)
    for function in functions(module):
        if len(function.body.blocks) == 1 and (asked := list(_asked(function))):
            known = known_sizes(function, described)
            sizes = _Sizes(function.body.block, known)
            for op, value, axis in asked:
                dims = known.dims.get(value, ())
                if axis < len(dims) and dims[axis] != UNKNOWN:
                    _replace(op, dims[axis], sizes)


def _asked(function: func.FuncOp) -> Iterator[tuple[Operation, SSAValue, int]]:
    """The ops that ask for the size of a result along a known axis, with both."""
    for op in function.walk():
        if isinstance(op, tensor.DimOp):
            number = op.index.owner
            if isinstance(number, arith.ConstantOp) and isinstance(number.value, IntegerAttr) and number.value.value.data >= 0:
                yield op, op.source, number.value.value.data
        elif isinstance(op, DimensionSizeOp):
            yield op, op.x, op.values()["axis"] % len(spec_of(op.x).shape)


def _replace(op: Operation, dim: Extent, sizes: _Sizes) -> None:
    """Put the size in place of an op that asks for it; one of an argument stays, as does what has no such form."""
    if op.operands[0].owner is sizes.block:
        return
    found = sizes.tensor(op, dim) if isinstance(op, DimensionSizeOp) else sizes.of(dim)
    if found is not None:
        found.name_hint = found.name_hint or op.results[0].name_hint
        Rewriter.replace_op(op, [], [found])


class _Sizes:
    """Sizes computed at the start of a function, each once."""

    def __init__(self, block: Block, known: KnownSizes):
        self.block = block
        self._known = known
        self._made: dict[Extent, SSAValue] = {}
        self._last: Operation | None = None
        self._algebra = Algebra(self._number, self.of, *(partial(self._binary, kind) for kind in ARITHMETIC))

    def of(self, dim: Extent) -> SSAValue:
        """Return a size as an index."""
        if dim not in self._made:
            self._made[dim] = self._computed(dim)
        return self._made[dim]

    def _computed(self, dim: Extent) -> SSAValue:
        if dim in self._known.places:
            value, axis = self._known.places[str(dim)]
            return self._put(tensor.DimOp(value, self._number(axis)))
        if dim in self._known.solved:
            (value, axis), size = self._known.solved[str(dim)]
            given = self._put(tensor.DimOp(value, self._number(axis)))

            def of(name: str) -> SSAValue:
                return given if name == SIZE else self.of(name)

            return fold(size, self._algebra._replace(name=of))
        return fold(extent_of(dim), self._algebra)

    def tensor(self, op: DimensionSizeOp, dim: Extent) -> SSAValue | None:
        """Return a size as a tensor; None for an expression, whose quotients no op of PTIR rounds down."""
        if isinstance(dim, int):
            made = constant(op, SI64, (), SI64.element.pack([dim]))
        elif dim in self._known.places:
            value, axis = self._known.places[dim]
            made = DimensionSizeOp(value, axis=axis)
        else:
            return None
        Rewriter.insert_op(made, InsertPoint.before(op))
        made.location = op.location
        return made.results[0]

    def _number(self, n: int) -> SSAValue:
        if n not in self._made:
            self._made[n] = self._put(arith.ConstantOp(IntegerAttr(n, index)))
        return self._made[n]

    def _binary(self, kind: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        return self._put(kind.create(operands=[a, b], result_types=[index]))

    def _put(self, op: Operation) -> SSAValue:
        at = InsertPoint.at_start(self.block) if self._last is None else InsertPoint.after(self._last)
        Rewriter.insert_op(op, at)
        self._last = op
        return op.results[0]


@dataclass(frozen=True)
class ResolveShapedTypeResultDimsPass(ModulePass):
    """Express sizes of results by sizes of the arguments, where they are known."""

    name = "mind-resolve-shaped-type-result-dims"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        for dialect in (arith.Arith, tensor.Tensor):
            if ctx.get_optional_dialect(dialect.name) is None:
                ctx.load_dialect(dialect)
        verify(op)
        resolve(op)
