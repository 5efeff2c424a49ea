"""Control flow of PTIR as branches and loops of `xp`: branches capture values, loops carry theirs, scans put rows into arrays."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.errors import error
from mind_dialect.ptir.control import terminator
from mind_dialect.ptir.types import TensorSpec, read_type
from mind_dialect.ptir_shapes import UNKNOWN

from .xp.functions import EMPTY
from .xp.regions import ConditionOp, ForOp, IfOp, WhileOp, YieldOp
from .xp_lowering import Control, Lowering


def _lower_fusion(lowering: Lowering, op: ptir.FusionOp) -> None:
    """The ops of the body, one after the other."""
    block = op.body.block
    lowering.values.update(zip(block.args, lowering.of(op.operands), strict=True))
    lowering.values.update(zip(op.results, lowering.block(block, terminator(block)), strict=True))


def _lower_cond(lowering: Lowering, op: ptir.CondOp) -> None:
    """A branch on the values around it."""
    pred, *inputs = lowering.of(op.operands)
    blocks: list[Block] = []
    for region in (op.true_region, op.false_region):
        lowering.values.update(zip(region.block.args, inputs, strict=True))
        ops, yielded = lowering.nested(region.block, terminator(region.block))
        blocks.append(Block([*ops, YieldOp.create(operands=yielded)]))
    _results(lowering, op.results, lowering.emit(IfOp(pred, op.result_types, *blocks)))


def _repeated(lowering: Lowering, old: Block) -> tuple[Block, list[SSAValue]]:
    """Return a block of a loop with new parameters, and the values that it is to end with."""
    new = Block(arg_types=old.arg_types)
    lowering.stand(old.args, new.args)
    ops, yielded = lowering.repeated(old, terminator(old))
    new.add_ops(ops)
    return new, yielded


def _lower_while(lowering: Lowering, op: ptir.WhileOp) -> None:
    """`cond`, and `body` on what it passes, until it says no."""
    test, (go_on, *passed) = _repeated(lowering, op.cond_region.block)
    test.add_op(ConditionOp(go_on, passed))
    body, yielded = _repeated(lowering, op.body_region.block)
    body.add_op(YieldOp.create(operands=yielded))
    _results(lowering, op.results, lowering.emit(WhileOp(lowering.of(op.operands), op.result_types, test, body)))


def _lower_scan(lowering: Lowering, op: ptir.ScanOp) -> None:
    """A loop over slices, its outputs put into arrays made before it begins."""
    count, scanned = op.num_carries, lowering.of(op.scanned)
    body, yielded = _repeated(lowering, op.body_region.block)
    body.add_op(YieldOp.create(operands=yielded))
    elements = [read_type(v.type) for v in yielded[count:]]
    stacks = [_stack(lowering, scanned, v.type, e) for v, e in zip(op.stacks, elements, strict=True)]
    made = lowering.emit(ForOp(lowering.of(op.inits), scanned, stacks, body))
    _results(lowering, op.results[:count], made)
    lowering.stand(op.stacks, stacks)
    for stack in stacks:
        lowering.expect_result(stack)


def _results(lowering: Lowering, olds: Sequence[SSAValue], made: Operation) -> None:
    lowering.stand(olds, made.results)
    for new in made.results:
        lowering.expect_result(new)


def _stack(lowering: Lowering, scanned: Sequence[SSAValue], type: Attribute, element: TensorSpec) -> SSAValue:
    """An array for as many elements as the scan has steps; E6003 if their size is unknown."""
    if UNKNOWN in element.shape:
        message = f"a scan that stacks values of unknown shape {list(element.shape)} is not supported on numpy"
        help = 'their array is made before the loop; name the dimension where an input has it, as in tensor<4x?xf32, "*,N">'
        raise error("E6003", f"{message}: {help}", backend="numpy")
    return lowering.call(EMPTY, [scanned[0]], [type], {"shape": tuple(element.shape), "dtype": element.dtype})[0]


CONTROL: Control = {
    ptir.FusionOp: _lower_fusion,
    ptir.CondOp: _lower_cond,
    ptir.WhileOp: _lower_while,
    ptir.ScanOp: _lower_scan,
}
"""The function that lowers each op with regions."""
