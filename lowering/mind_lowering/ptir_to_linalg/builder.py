"""Making ops of tensor, linalg, arith, math and scf one after the other, and the tensor forms that many rules need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite, prod
from typing import Any, cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
    i64,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from mind_dialect import neighbours
from mind_dialect.elements import Number
from mind_dialect.ptir.literal import PtirLiteralAttr
from mind_dialect.ptir.types import Kind, PtirDType, read_type

Shape = tuple[int, ...]
Tensor = TensorType[Any]
Body = Callable[["LinalgBuilder", Sequence[SSAValue]], Sequence[SSAValue]]
Access = tuple[SSAValue, Sequence[AffineExpr]]
"""An operand of a loop nest and which of its elements each iteration reads."""


def element_type(dtype: PtirDType) -> Any:
    """The builtin type that stands for a dtype: the same, but integers without sign."""
    return IntegerType(dtype.bits) if dtype.kind in (Kind.SIGNED, Kind.UNSIGNED) else dtype.type


def converted_type(type: Attribute) -> Tensor:
    """The type that stands for a PTIR type of static shape."""
    dtype, shape = read_type(type)
    return TensorType(element_type(dtype), cast(Shape, shape))


def shape_of(value: SSAValue) -> Shape:
    """The extents of a tensor."""
    return cast(Tensor, value.type).get_shape()


def element_of(value: SSAValue) -> Any:
    """The element type of a tensor, or the type of a scalar."""
    return cast(Tensor, value.type).element_type if isinstance(value.type, TensorType) else value.type


def dims(count: int) -> list[AffineExpr]:
    """The loops of a nest."""
    return [AffineExpr.dimension(i) for i in range(count)]


class LinalgBuilder:
    """The ops made so far, each with the location of the op that they come from."""

    def __init__(self, origin: Operation):
        self.origin = origin
        self.ops: list[Operation] = []

    def add(self, op: Operation) -> Operation:
        """Append an op."""
        op.location = self.origin.location
        if isinstance(op, linalg.FillOp | linalg.TransposeOp) and (end := op.body.block.last_op) is not None:
            end.location = op.location  # xDSL makes these bodies itself
        self.ops.append(op)
        return op

    def __call__(self, op: Operation) -> SSAValue:
        """Append an op and return its first result."""
        return self.add(op).results[0]

    def region(self, types: Sequence[Attribute], body: Body, end: Callable[[Sequence[SSAValue]], Operation]) -> Region:
        """A region of one block: its parameters, what `body` makes of them, and a terminator that takes what it returns."""
        block, inner = Block(arg_types=types), LinalgBuilder(self.origin)
        ending = end(body(inner, block.args))
        inner.add(ending)
        block.add_ops(inner.ops)
        return Region(block)

    # Constants

    def integer(self, value: int, type: Attribute) -> SSAValue:
        """An integer of a signless type or an index; unsigned ones by their bits."""
        return self(arith.ConstantOp(IntegerAttr(value, cast(Any, type), truncate_bits=isinstance(type, IntegerType))))

    def index(self, value: int) -> SSAValue:
        """An index."""
        return self(arith.ConstantOp(IntegerAttr.from_index_int_value(value)))

    def scalar(self, dtype: PtirDType, value: Number) -> SSAValue:
        """A number of a dtype. One that texts of floats do not carry safely is made from its bits."""
        type = element_type(dtype)
        if not dtype.is_float:
            return self.integer(int(cast(int, value)), type)
        attribute = FloatAttr(cast(float, value), type)
        if has_safe_text(attribute):
            return self(arith.ConstantOp(attribute))
        bits = self.integer(int.from_bytes(dtype.element.pack([value]), "little"), IntegerType(dtype.bits))
        return self(arith.BitcastOp(bits, type))

    def literal(self, literal: PtirLiteralAttr) -> SSAValue:
        """A tensor of a literal's elements."""
        dtype, shape = literal.spec
        type = TensorType(element_type(dtype), shape)
        if not prod(shape):
            return self.empty(type)
        if literal.is_fill:
            return self.fill(self.scalar(dtype, literal.item()), shape)
        values = literal.values()
        if not dtype.is_float or all(has_safe_text(FloatAttr(cast(float, v), type.element_type)) for v in values):
            return self.dense(type, [v if dtype.is_float else int(cast(int, v)) for v in values])
        data, size = literal.data.data, dtype.size
        bits = [int.from_bytes(data[i : i + size], "little") for i in range(0, len(data), size)]
        return self(arith.BitcastOp(self.dense(TensorType(IntegerType(dtype.bits), shape), bits), type))

    def dense(self, type: Tensor, values: Sequence[Number]) -> SSAValue:
        """A constant tensor."""
        return self(arith.ConstantOp(cast(Any, DenseIntOrFPElementsAttr.from_list(cast(Any, type), cast(Any, values))), type))

    # Tensors

    def empty(self, type: Tensor) -> SSAValue:
        """A tensor whose elements are still to be written."""
        return self(neighbours.EmptyOp((), type))

    def fill(self, value: SSAValue, shape: Shape) -> SSAValue:
        """A tensor of one number."""
        out = self.empty(TensorType(value.type, shape))
        return self(linalg.FillOp((value,), (out,), (out.type,)))

    def generic(
        self,
        inputs: Sequence[Access],
        outputs: Sequence[Access],
        loops: int,
        body: Body,
        reduced: Sequence[int] = (),
    ) -> list[SSAValue]:
        """
        A loop nest over `loops` dimensions, those of `reduced` summed over.

        `body` takes an element of each input and of each output, and returns the new elements of the outputs.
        """
        accesses = [*inputs, *outputs]
        maps = [AffineMapAttr(AffineMap(loops, 0, tuple(expressions))) for _, expressions in accesses]
        kinds = [IteratorTypeAttr.reduction() if i in reduced else IteratorTypeAttr.parallel() for i in range(loops)]
        region = self.region([element_of(v) for v, _ in accesses], body, lambda values: linalg.YieldOp(*values))
        ins, outs = [v for v, _ in inputs], [v for v, _ in outputs]
        made = self.add(linalg.GenericOp(ins, outs, region, maps, kinds, [v.type for v in outs]))
        return list(made.results)

    def each(self, inputs: Sequence[Access], shape: Shape, type: Attribute, body: Body) -> SSAValue:
        """A tensor computed place by place: `body` takes an element of each input and returns one element."""
        out = self.empty(TensorType(type, shape))
        count = len(inputs)
        return self.generic(inputs, [(out, dims(len(shape)))], len(shape), lambda b, values: body(b, values[:count]))[0]

    def slice(self, x: SSAValue, starts: Sequence[SSAValue | int], sizes: Shape, strides: Shape | None = None) -> SSAValue:
        """Elements of `x` from `starts`, which lie in it. An empty slice begins at 0: MLIR wants every start in range."""
        begin = [0 if not prod(sizes) and isinstance(n, int) else n for n in starts]
        type = TensorType(element_of(x), sizes)
        return self(tensor.ExtractSliceOp(x, begin, sizes, strides or (1,) * len(sizes), type))

    def insert(self, x: SSAValue, into: SSAValue, starts: Sequence[SSAValue | int], strides: Shape | None = None) -> SSAValue:
        """`into` with `x` written from `starts` on."""
        sizes = shape_of(x)
        if not prod(sizes):
            return into
        static = [n if isinstance(n, int) else -(1 << 63) for n in starts]
        given = [n for n in starts if not isinstance(n, int)]
        op = tensor.InsertSliceOp.build(
            operands=[x, into, given, [], []],
            properties={
                "static_offsets": DenseArrayBase.from_list(i64, static),
                "static_sizes": DenseArrayBase.from_list(i64, sizes),
                "static_strides": DenseArrayBase.from_list(i64, strides or (1,) * len(sizes)),
            },
            result_types=[into.type],
        )
        return self(op)

    def reshape(self, x: SSAValue, shape: Shape) -> SSAValue:
        """The elements of `x` under another shape; by way of a vector unless dimensions only split or merge."""
        old = shape_of(x)
        if old == shape:
            return x
        if not old:  # xDSL's verifier knows no expansion of rank 0
            return self(
                tensor.FromElementsOp.build(
                    operands=[[self(tensor.ExtractOp(x, [], element_of(x)))]], result_types=[TensorType(element_of(x), shape)]
                )
            )
        if (groups := grouping(old, shape)) is not None:
            return self._expand(x, shape, groups)
        if (groups := grouping(shape, old)) is not None:
            return self._collapse(x, shape, groups)
        flat = self._collapse(x, (prod(old),), [list(range(len(old)))])
        return self._expand(flat, shape, [list(range(len(shape)))])

    def _expand(self, x: SSAValue, shape: Shape, groups: list[list[int]]) -> SSAValue:
        type = TensorType(element_of(x), shape)
        return self(tensor.ExpandShapeOp(x, (), reassociation(groups), shape, type))

    def _collapse(self, x: SSAValue, shape: Shape, groups: list[list[int]]) -> SSAValue:
        type = TensorType(element_of(x), shape)
        properties = {"reassociation": reassociation(groups)}
        return self(tensor.CollapseShapeOp.build(operands=[x], properties=properties, result_types=[type]))


def has_safe_text(attribute: FloatAttr[Any]) -> bool:
    """Return whether every reader of MLIR's text reads this number back: neither infinite, nor NaN, nor printed by its bits."""
    return isfinite(attribute.value.data) and "0x" not in str(attribute)


def reassociation(groups: list[list[int]]) -> ArrayAttr[ArrayAttr[IntegerAttr]]:
    """The attribute that says which dimensions belong together."""
    return ArrayAttr([ArrayAttr([IntegerAttr(i, i64) for i in group]) for group in groups])


def grouping(coarse: Shape, fine: Shape) -> list[list[int]] | None:
    """
    For each dimension of `coarse` the dimensions of `fine` whose product it is, in order; None if there is no such grouping.

    >>> grouping((6, 4), (2, 3, 4)), grouping((), (1, 1)), grouping((6,), (4, 2)), grouping((2, 3), (2, 3, 1))
    ([[0, 1], [2]], [], None, [[0], [1, 2]])
    """
    if not coarse:
        return [] if all(n == 1 for n in fine) else None
    groups: list[list[int]] = []
    place = 0
    for extent in coarse:
        group, product = [place], fine[place] if place < len(fine) else -1
        while product < extent and place + 1 < len(fine) and product > 0:
            place += 1
            product *= fine[place]
            group.append(place)
        if product != extent:
            return None
        place += 1
        groups.append(group)
    if any(n != 1 for n in fine[place:]):
        return None
    groups[-1] += range(place, len(fine))
    return groups
