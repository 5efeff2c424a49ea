"""Lookups moved before elementwise ops, which then compute only the elements that are looked up."""

from __future__ import annotations

from math import prod

from xdsl.ir import BlockArgument, SSAValue

from mind_dialect.ptir import FUSIBLE, BroadcastToOp, GatherOp, PtirOp, ScanOp, TakeOp, WhileOp, invariant_carries
from mind_dialect.ptir.types import known_extents, tensor_type

from ..building import Found, constant, element_bytes, in_place_of, of_one_shape, spec_of
from ..failing import can_fail

FEWER, MANY_FEWER = 2, 8
"""
So many times the elements that are looked up are in an array, at least; more where others read what is computed, too.

These may be lookups as well, so that `FEWER` holds of all of them together.
"""
LONGEST = 16
"""Elementwise ops, each computed from the next, that one lookup is moved before."""

Lookup = TakeOp | GatherOp


def lookup_of_elementwise(op: Lookup) -> Found:
    """
    `take(f(x, b), i) = f(take(x, i), b)`, and so `gather`, where `b` is the same along the axis that is looked up.

    There must be far more elements than are looked up, and one such `x`, however often `f` reads it: two would be two lookups.
    What a loop computes of a loop-invariant `x` stays, as that is hoisted.
    """
    if not all(spec_of(v).is_static for v in (*op.operands, *op.results)):
        return None
    chain: list[PtirOp] = []
    x = op.operands[0]
    while len(chain) < LONGEST and (source := _source(op, x)) is not None:
        chain.append(source[0])
        x = source[1]
    if not chain or _is_loop_invariant(x):
        return None
    shape = known_extents(op.results[0].type)
    made: PtirOp = in_place_of(op, type(op), x, op.operands[1], type=tensor_type(spec_of(x).dtype, shape), **op.values())
    made.attributes.update(op.attributes)
    for inner in reversed(chain):
        operands = [_spread(op, v) if _is_spread(op, v) else made.results[0] for v in inner.operands]
        type_ = tensor_type(inner.result_spec().dtype, shape)
        made = in_place_of(op, type(inner), *operands, type=type_, **inner.values())
    return made


def _source(op: Lookup, x: SSAValue) -> tuple[PtirOp, SSAValue] | None:
    """Return the elementwise op that computes `x` and the operand to look up instead, if the lookup is to be moved before it."""
    inner = x.owner
    if not isinstance(inner, PtirOp) or FUSIBLE.get(type(inner)) != "elementwise" or not of_one_shape(inner) or can_fail(inner):
        return None
    fewer = FEWER if x.has_one_use() else max(MANY_FEWER, FEWER * x.uses.get_length())
    if prod(known_extents(op.results[0].type)) * fewer > prod(known_extents(x.type)):
        return None
    read = list(dict.fromkeys(v for v in inner.operands if not _is_spread(op, v)))
    return (inner, read[0]) if len(read) == 1 else None


def _is_loop_invariant(x: SSAValue) -> bool:
    """Return whether a value is the same in every iteration of the loop around it."""
    loop = x.block.parent_op() if isinstance(x, BlockArgument) else None
    return isinstance(x, BlockArgument) and isinstance(loop, ScanOp | WhileOp) and x.index in invariant_carries(loop)


def _is_spread(op: Lookup, value: SSAValue) -> bool:
    """Return whether an operand of an op that computes what is looked up is the same along the axis."""
    if element_bytes(value) is not None:
        return True
    if not isinstance(owner := value.owner, BroadcastToOp) or not spec_of(owner.operands[0]).is_static:
        return False
    rank, extents = len(known_extents(value.type)), known_extents(owner.operands[0].type)
    axis: int = op.values()["axis"] % rank if isinstance(op, GatherOp) else 0
    place = axis - rank + len(extents)
    fits = len(extents) <= len(known_extents(op.results[0].type))
    return fits and (place < 0 or extents[place] == 1)


def _spread(op: Lookup, value: SSAValue) -> SSAValue:
    """Return what is the same along the axis in the shape of what is looked up."""
    dtype, shape = spec_of(value).dtype, known_extents(op.results[0].type)
    if (number := element_bytes(value)) is not None:
        return constant(op, dtype, shape, number if prod(shape) else b"").results[0]
    assert isinstance(value.owner, BroadcastToOp), "it is spread"
    source, type_ = value.owner.operands[0], tensor_type(dtype, shape)
    return source if source.type == type_ else in_place_of(op, BroadcastToOp, source, type=type_, result_shape=shape).result
