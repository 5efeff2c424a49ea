"""
The function of lattice values that each op of the shape dialect computes: one row each.

    of a          a value here is
    size, index   a size of the lattice; an index may be negative
    shape         a shape of the lattice
    shaped value  `Shaped`: its shape, and what its elements are if it is a list of integers; so too a value shape
    i1            True, False, None
    witness       True, None, Invalid: holds, unknown, fails
    other         None

A row takes the op and the values of its operands, and gives those of the results. `settle` makes them fit the types: there is no
negative `!shape.size`, and an extent tensor of static length has that many extents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, StringAttr, TensorType
from xdsl.ir import Attribute, Operation

from ..extents import ExtentSyntaxError, TooLarge
from ..extents.dims import canonical, dim_texts
from . import combine, lattice
from .constants import ConstantDimOp, ConstantOp, ConstShapeOp, ConstSizeOp, ConstWitnessOp
from .constraints import AssumingAllOp, CstrBroadcastableOp, CstrEqOp, CstrRequireOp, IsBroadcastableOp, ShapeEqOp
from .lattice import UNKNOWN, UNRANKED, Invalid, Shape, Size, Truth, Unranked
from .meeting import JoinOp, MeetOp
from .shapes import (
    AnyOp,
    BroadcastOp,
    ConcatOp,
    CreateShapeOp,
    DebugPrintOp,
    DimOp,
    FromExtentsOp,
    FromExtentTensorOp,
    GetExtentOp,
    NumElementsOp,
    RankOp,
    ShapeOfOp,
    SplitAtOp,
    ToExtentTensorOp,
    ValueAsShapeOp,
    ValueOfOp,
    WithShapeOp,
)
from .sizes import AddOp, DivOp, IndexToSizeOp, MaxOp, MinOp, MulOp, SizeToIndexOp
from .types import ShapeType, SizeType, ValueShapeType, is_extents, is_shaped, shaped_extents


class Shaped(NamedTuple):
    """The lattice value of a tensor, memref, vector or value shape; `contents` are the elements of a list of integers."""

    shape: Shape
    contents: Shape = UNRANKED


Value = Size | Shape | Truth | Shaped
Row = Callable[..., Value | tuple[Value, ...]]


def shape_of_type(type: Attribute) -> Shape:
    """
    Return the shape that a type states, with the names of its dimensions.

    >>> from xdsl.dialects.builtin import f32
    >>> shape_of_type(TensorType(f32, [DYNAMIC_INDEX, 4, DYNAMIC_INDEX], StringAttr("B,*,*")))
    ('B', 4, '?')
    """
    if (extents := shaped_extents(type)) is None:
        return UNRANKED
    found = tuple(UNKNOWN if n == DYNAMIC_INDEX else n for n in extents)
    encoding = cast(Attribute, cast(Any, type).encoding) if isinstance(type, TensorType) else None
    if not isinstance(encoding, StringAttr):
        return found
    texts = dim_texts(encoding.data)
    if len(texts) != len(found):
        return found
    return tuple(_stated(text) if n == UNKNOWN else n for n, text in zip(found, texts, strict=True))


def _stated(text: str) -> lattice.Extent:
    """Return the dimension that a part of an encoding states; encodings of other dialects may hold anything."""
    try:
        return text if text.isidentifier() else UNKNOWN if text == "*" else canonical(text)
    except (ExtentSyntaxError, TooLarge):
        return UNKNOWN


def top_of(type: Attribute) -> Value:
    """Return the lattice value of a value of which only the type is known."""
    if isinstance(type, SizeType | IndexType):
        return UNKNOWN
    if isinstance(type, ShapeType):
        return UNRANKED
    if isinstance(type, ValueShapeType):
        return Shaped(UNRANKED)
    return Shaped(shape_of_type(type)) if is_shaped(type) else None


def as_shape(value: Value) -> Shape:
    """The shape that an operand stands for: a shape, or a list of integers, of which none may be negative."""
    if not isinstance(value, Shaped):
        return cast(Shape, value)
    contents, length = value.contents, value.shape
    if isinstance(contents, Unranked) and isinstance(length, tuple) and len(length) == 1 and isinstance(length[0], int):
        contents = (UNKNOWN,) * min(length[0], lattice.MAX_RANK + 1)
    return lattice.ranked(contents) if isinstance(contents, tuple) else contents


def settle(value: Value, type: Attribute) -> Value:
    """`value` as one of `type`; what no value of the type can be is Invalid."""
    if isinstance(value, Invalid):
        return value
    if isinstance(type, SizeType):
        return Invalid(f"negative size {value}") if isinstance(value, int) and value < 0 else value
    if isinstance(type, ShapeType):
        return as_shape(value)
    if is_extents(type) and not isinstance(value, Shaped):
        contents = cast(Shape, value)
        known = lattice.rank(contents)
        shape = lattice.join(shape_of_type(type), (cast(lattice.Extent, known),))
        if isinstance(shape, Invalid):
            return Invalid(f"{lattice.show(contents)} has rank {known}, expected {shape_of_type(type)[0]}")  # pyright: ignore[reportIndexIssue]
        return Shaped(shape, contents)
    if is_shaped(type) and isinstance(value, Shaped):
        shape = lattice.join(value.shape, shape_of_type(type))
        return shape if isinstance(shape, Invalid) else Shaped(shape, value.contents)
    return value


# Rows


def _of_sizes_or_shapes(of_sizes: Row, of_shapes: Row) -> Row:
    """A row of an op that takes two sizes or two shapes."""

    def row(op: Operation, *values: Value) -> Value | tuple[Value, ...]:
        if isinstance(op.results[0].type, SizeType | IndexType):
            return of_sizes(*values)
        return of_shapes(*map(as_shape, values))

    return row


def _of_sizes(function: Row) -> Row:
    def row(op: Operation, *values: Value) -> Value | tuple[Value, ...]:
        return function(*values)

    return row


def _of_shapes(function: Row) -> Row:
    def row(op: Operation, *values: Value) -> Value | tuple[Value, ...]:
        return function(*map(as_shape, values))

    return row


def _of_shape_and_size(function: Row) -> Row:
    def row(op: Operation, shape: Value, size: Value) -> Value | tuple[Value, ...]:
        return function(as_shape(shape), size)

    return row


def _same(op: Operation, value: Value) -> Value:
    return value


def _as_shape(op: Operation, value: Value) -> Value:
    return as_shape(value)


def _constant(op: Operation) -> Value:
    return cast(Any, op).lattice()


def _meet(op: MeetOp | JoinOp, a: Value, b: Value) -> Value:
    function = _of_sizes_or_shapes(lattice.join_size, lattice.join)(op, a, b)
    why = op.string("error")
    failed_here = isinstance(function, Invalid) and not isinstance(a, Invalid) and not isinstance(b, Invalid)
    return Invalid(why) if why is not None and failed_here else cast(Value, function)


def _broadcast(op: BroadcastOp, *shapes: Value) -> Value:
    return combine.broadcast(*map(as_shape, shapes), error=op.string("error"))


def _shape_of(op: ShapeOfOp, value: Value) -> Value:
    return value.shape if isinstance(value, Shaped) else cast(Value, value)


def _dim(op: DimOp, value: Value, index: Value) -> Value:
    return lattice.get_extent(_shape_of(cast(Any, op), value), index)  # pyright: ignore[reportArgumentType]


def _with_shape(op: WithShapeOp, value: Value, shape: Value) -> Value:
    if not isinstance(value, Shaped):
        return value
    found = lattice.join(value.shape, as_shape(shape))
    return found if isinstance(found, Invalid) else Shaped(found, value.contents)


def _from_extents(op: FromExtentsOp, *extents: Value) -> Value:
    return lattice.ranked(cast(Sequence[Size], extents))


def _witness(holds: Callable[..., Truth], reason: Callable[..., Value]) -> Row:
    """A row of a constraint: where it fails, `reason` of the shapes is invalid."""

    def row(op: Operation, *values: Value) -> Value:
        shapes = list(map(as_shape, values))
        return lattice.invalid(*shapes) or (reason(*shapes) if (answer := holds(*shapes)) is False else answer)

    return row


def _require(op: CstrRequireOp, pred: Value) -> Value:
    return Invalid(op.message) if pred is False else pred


def _const_witness(op: ConstWitnessOp) -> Value:
    return True if op.passes else Invalid("a constraint that never holds")


def _all(op: AssumingAllOp, *witnesses: Value) -> Value:
    return lattice.invalid(*witnesses) or (True if all(w is True for w in witnesses) else None)


def _join_all(*shapes: Shape) -> Shape:
    return reduce(lattice.join, shapes)


EVALUATE: Mapping[type[Operation], Row] = {
    ConstSizeOp: _constant,
    ConstShapeOp: _constant,
    ConstWitnessOp: _const_witness,
    ConstantOp: _constant,
    ConstantDimOp: _constant,
    AddOp: _of_sizes(lattice.add),
    MulOp: _of_sizes(lattice.mul),
    DivOp: _of_sizes(lattice.div),
    MaxOp: _of_sizes_or_shapes(lattice.max_size, lattice.max_shape),
    MinOp: _of_sizes_or_shapes(lattice.min_size, lattice.min_shape),
    IndexToSizeOp: _same,
    SizeToIndexOp: _same,
    ShapeOfOp: _shape_of,
    ValueOfOp: _same,
    ValueAsShapeOp: _as_shape,
    WithShapeOp: _with_shape,
    CreateShapeOp: _as_shape,
    FromExtentTensorOp: _as_shape,
    ToExtentTensorOp: _as_shape,
    FromExtentsOp: _from_extents,
    MeetOp: _meet,
    JoinOp: _meet,
    BroadcastOp: _broadcast,
    AnyOp: _of_shapes(lattice.any_of),
    ConcatOp: _of_shapes(combine.concat),
    SplitAtOp: _of_shape_and_size(combine.split_at),
    GetExtentOp: _of_shape_and_size(lattice.get_extent),
    RankOp: _of_shapes(lattice.rank),
    NumElementsOp: _of_shapes(lattice.num_elements),
    DimOp: _dim,
    DebugPrintOp: _same,
    IsBroadcastableOp: _of_shapes(combine.is_broadcastable),
    ShapeEqOp: _of_shapes(lattice.eq),
    CstrBroadcastableOp: _witness(combine.is_broadcastable, combine.broadcast),
    CstrEqOp: _witness(lattice.eq, _join_all),
    CstrRequireOp: _require,
    AssumingAllOp: _all,
}
"""Every op of the dialect but those with regions, and their terminators, which `dataflow` knows."""


def evaluate(op: Operation, values: Sequence[Value]) -> tuple[Value, ...]:
    """The values of the results of an op of `EVALUATE`, given those of its operands."""
    found = EVALUATE[type(op)](op, *values)
    results = op.results
    if len(results) == 1:
        return (settle(cast(Value, found), results[0].type),)
    return tuple(settle(value, result.type) for value, result in zip(cast(Sequence[Value], found), results, strict=True))
