"""
Tails within the regions of branches and loops, which get sizes as operands, and scans of an open number of iterations.

    scan over %x : T slices   ->   an iteration below T_size runs the body, the others pass on the carries

The iterations beyond the size are branches not taken, so they neither compute anything nor fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Block, Operation, Region, SSAValue

from mind_dialect.dominance import walk
from mind_dialect.extents.dims import names_in
from mind_dialect.ptir import CondOp, ScanOp, WhileOp
from mind_dialect.ptir.control import RegionOp, terminator, yielded
from mind_dialect.ptir.types import SI64, tensor_type

from ..dim_names import names_used
from ..ptir.building import put_before, spec_of
from ..ptir.construct import Value, add, broadcast, compare, scalar
from .tail_masks import Masks
from .tail_sizes import Refused, Sizes

MaskBlock = Callable[[Masks, Block], None]


def masks_regions(masks: Masks, op: RegionOp, mask_block: MaskBlock) -> None:
    """Mask the tails of ops in the regions of a branch or a loop, which `mask_block` does for one of them."""
    names = [name for name in names_used(op) if name in masks.sizes.inputs]
    inputs = [masks.sizes.inputs[name] for name in names]
    if isinstance(op, CondOp):
        for region in op.regions:
            _mask(region.block, names, len(op.args), mask_block)
        op.operands = [*op.operands, *inputs]
    elif isinstance(op, WhileOp):
        count = len(op.operands)
        for region in op.regions:
            sizes = _mask(region.block, names, count, mask_block)
            terminator(region.block).operands = [*yielded(region.block), *sizes]
        types = [*op.result_types, *(size.type for size in inputs)]
        made = WhileOp.create(operands=[*op.operands, *inputs], result_types=types, regions=_taken(op))
        _replace(op, made, made.results[:count])
    elif isinstance(op, ScanOp):
        count = op.num_carries
        sizes = _mask(op.body_region.block, names, count, mask_block)
        made = _scan(masks, op, [*names_in(op.trip_count)], inputs, sizes)
        _replace(op, made, [*made.results[:count], *made.results[len(made.results) - len(op.stacks) :]])
    else:
        raise Refused(f"{op.OPCODE} has no rule for tails")


def _mask(block: Block, names: Sequence[str], at: int, mask_block: MaskBlock) -> list[SSAValue]:
    """Add an argument for the size of each name from number `at` on, and mask the ops by these."""
    sizes: dict[str, SSAValue] = {name: block.insert_arg(tensor_type(SI64, ()), at + i) for i, name in enumerate(names)}
    for name, size in sizes.items():
        size.name_hint = f"{name}_size"
    mask_block(Masks(Sizes(sizes)), block)
    return list(sizes.values())


def _scan(masks: Masks, op: ScanOp, trips: Sequence[str], inputs: Sequence[SSAValue], sizes: Sequence[SSAValue]) -> ScanOp:
    """Return a scan that carries sizes, and whose iterations beyond the size of an open trip count change nothing."""
    count, stacks, body = op.num_carries, len(op.stacks), op.body_region.block
    if not trips:
        results = yielded(body)
        terminator(body).operands = [*results[:count], *sizes, *results[count:]]
        operands = [*op.inits, *inputs, *op.scanned]
        return ScanOp(*operands, carry_count=count + len(inputs), scan_output_count=stacks, body=_taken(op)[0])
    (taken,) = _taken(op)
    outputs = [spec_of(v) for v in yielded(body)[count:]]

    def passed(*args: SSAValue) -> list[Value]:
        zeros = [broadcast(scalar(False if dtype.bits == 1 else 0, dtype), shape) for dtype, shape in outputs]
        return [*args[:count], *zeros]

    def within(*args: SSAValue) -> list[Value]:
        carried, kept, slices = args[:count], args[count : count + len(inputs) + 2], args[count + len(inputs) + 2 :]
        *used, limit, index = kept
        runs = compare("less", index, limit)
        results = CondOp(runs, *carried, *used, *slices, true=taken, false=passed).results
        return [*results[:count], *used, limit, add(index, scalar(1, SI64)), *results[count:]]

    first = put_before(op, scalar(0, SI64))
    operands = [*op.inits, *inputs, masks.size(op, op.trip_count), first, *op.scanned]
    return ScanOp(*operands, carry_count=count + len(inputs) + 2, scan_output_count=stacks, body=within)


def _taken(op: RegionOp) -> list[Region]:
    return [op.detach_region(region) for region in list(op.regions)]


def _replace(op: RegionOp, made: Operation, results: Sequence[SSAValue]) -> None:
    """Put a loop that carries more in the place of one, of whose new ops those without a location have that of the loop."""
    block = op.parent
    assert block is not None
    for inner in walk(made):
        if isinstance(inner.location, UnknownLoc):
            inner.location = op.location
    block.insert_op_before(made, op)
    for old, new in zip(op.results, results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    block.erase_op(op)
