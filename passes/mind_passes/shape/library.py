"""Shape functions of `shape.lib` put in place where the shapes of an op are emitted, for ops of any dialect."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from mind_dialect.shape import DimOp, FromExtentTensorOp, FuncOp, GetExtentOp, ReturnOp, ShapeOfOp, ToExtentTensorOp
from mind_dialect.shape.evaluate import as_shape
from mind_dialect.shape.lattice import Ranked
from mind_dialect.shape.types import ShapeType, ValueShapeType, index, shape, size

from .emitted import Shape
from .emitter import Emitter


def placed(e: Emitter, function: FuncOp, operands: Sequence[Shape], results: Sequence[Ranked | None]) -> list[Shape] | None:
    """
    Emit the ops of a shape function for operands of these shapes; the shapes that it gives.

    None, and nothing is emitted, for a function of other operands or results, of several blocks, with regions, or that asks for
    more of an operand than its shape. `results` are the declared dimensions, as ranks of results must be known.
    """
    block = function.body.first_block
    if block is None or block is not function.body.last_block or len(block.args) != len(operands):
        return None
    ending = block.last_op
    ranks = [dims for dims in results if dims is not None]
    if not isinstance(ending, ReturnOp) or not len(ranks) == len(ending.operands) == len(results):
        return None
    if not all(_takes_shapes(op) for op in block.ops) or not all(isinstance(v.type, ShapeType) for v in ending.operands):
        return None
    if not all(isinstance(v.type, ShapeType | ValueShapeType) for v in block.args):
        return None
    values: dict[SSAValue, SSAValue] = {a: e.as_shape(x) for a, x in zip(block.args, operands, strict=True)}
    for op in block.ops:
        if op is not ending:
            _place(e, op, values)
    return [_shape(e, values[v], len(dims)) for v, dims in zip(ending.operands, ranks, strict=True)]


def _shape(e: Emitter, value: SSAValue, rank: int) -> Shape:
    """A value as a shape of the rank that is known, else of the declared one."""
    known = as_shape(e.of(value))
    return Shape(value, [None] * (len(known) if isinstance(known, tuple) else rank))


def _takes_shapes(op: Operation) -> bool:
    """Return whether an op can be put down where operands are shapes, without their values."""
    of_values = any(isinstance(v.type, ValueShapeType) for v in (*op.operands, *op.results))
    return not op.regions and bool(op.results or op.next_op is None) and (not of_values or isinstance(op, ShapeOfOp | DimOp))


def _place(e: Emitter, op: Operation, values: dict[SSAValue, SSAValue]) -> None:
    """Emit an op of a shape function; one that asks an operand for its shape is that shape, or one of its extents."""
    operands = [values[v] for v in op.operands]
    if op.operands and isinstance(op.operands[0].type, ValueShapeType):
        (result,) = op.results
        if isinstance(op, DimOp):
            made = e.emit(GetExtentOp.create(operands=operands, result_types=[size]))
            values[result] = e.index(made) if result.type == index else made
        else:
            values[result] = _as(e, operands[0], result.type)
        return
    made = op.clone_without_regions({v: values[v] for v in op.operands})
    e.emit(made)
    values.update(zip(op.results, made.results, strict=True))


def _as(e: Emitter, value: SSAValue, type: Attribute) -> SSAValue:
    """A shape as a value of a type: a shape or an extent tensor."""
    if value.type == type:
        return value
    kind = FromExtentTensorOp if type == shape else ToExtentTensorOp
    return e.emit(kind.create(operands=[value], result_types=[type]))
