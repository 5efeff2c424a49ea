"""
Casts and dequantizations that are not done, because only products read them: these read what is cast, and widen it in registers.

A cast is left out if every number of its operand is one of its result, or else the product would see another number. Of more than
a cast (a scale, a zero point) it takes a matrix of weights, and one product reads no two such. One that decodes weights in blocks
reads its other operand as it is.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from math import prod

from xdsl.ir import Block, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import BF16, F8E4M3, F8E5M2, F16, F32, F64, Kind, PtirDType, read_type

from ...launch.kernel_patterns import Match, Rejection
from ...launch.ref import row_major
from ...launch.views import VIEWS
from ..demanded import shape_of
from ..grouping import uncomputed_members
from ..patterns import Builder, Operands, fill_of
from ..target_info import TargetInfo, computes
from ..views import Buffer, Use, View, broadcast, whole
from .axes import accumulator, can_read_blocked, is_tiled, may_read_blocked
from .blocked import BlockedWeights, blocked_weights
from .deferred import Deferred

DIGITS = {F8E5M2: 3, F8E4M3: 4, BF16: 8, F16: 11, F32: 24, F64: 53}
"""The bits of a float's significand."""
_OPS = (ptir.CastOp, ptir.MulOp, ptir.SubOp)
"""Ops that weights go through on their way to a product."""
_STILL = (Use.INPUT, Use.OUTPUT, Use.CONSTANT, Use.ARENA, Use.FOREIGN)
"""Memory that is what it was when a product reads it."""


def is_exact(source: PtirDType, target: PtirDType) -> bool:
    """
    Return whether every number of a dtype is one of another, which is a float.

    >>> from mind_dialect.ptir.types import SI8, SI32
    >>> is_exact(BF16, F32), is_exact(F16, BF16), is_exact(SI8, BF16), is_exact(SI32, F32), is_exact(F32, F64)
    (True, False, True, False, True)
    """
    if target.kind is not Kind.FLOAT or target not in DIGITS or target.bits == 8:
        return False
    if source.kind is Kind.FLOAT:
        narrower = source in DIGITS and DIGITS[source] <= DIGITS[target]
        return narrower and (source is not BF16 or target is not F16)
    if source.kind not in (Kind.SIGNED, Kind.UNSIGNED) or source.bits not in (8, 16, 32):
        return False
    return source.bits - (source.kind is Kind.SIGNED) <= DIGITS[target]


def match_prologue(op: PtirOp, operands: Operands, host: TargetInfo) -> Match | Rejection:
    """Match an op whose result is not computed, because products alone read it and can read its source; and views of such."""
    if op.results and op.results[0] in operands.deferred:
        return Match(0.0)
    found = _decided(op, operands, host)
    return Rejection(f"its result is computed{_why_not_decoded(op, operands, host)}") if found is None else Match(0.0, found)


def _why_not_decoded(op: PtirOp, operands: Operands, host: TargetInfo) -> str:
    """Return why a product that reads a fusion does not decode it as weights in blocks, after a colon."""
    reads = op.results and any(isinstance(use.operation, ptir.DotGeneralOp) for use in op.results[0].uses)
    if not reads or not isinstance(op, ptir.FusionOp) or op.pattern is not None:
        return ""
    weights = _weights(op, operands, host)
    return f": {weights}" if isinstance(weights, str) else ": not all that reads it decodes weights in blocks"


def expand_prologue(build: Builder, op: PtirOp, match: Match) -> None:
    """Note the values that are not computed; constants that products read get memory."""
    found: Mapping[SSAValue, Deferred] | None = match.schedule
    if isinstance(op, ptir.FusionOp) and found is not None:
        build.views.update(Operands(build.views, build.deferred).body(op.body.block, op.operands))
        for inner in op.body.block.ops:
            if isinstance(inner, ptir.BroadcastToOp | ptir.ConstantOp):
                build.step(inner)
        found = _decided(op, Operands(build.views, build.deferred), build.host)
        assert found is not None, "matched"
    build.deferred.update(found or {})


def _decided(op: PtirOp, operands: Operands, host: TargetInfo) -> Mapping[SSAValue, Deferred] | None:
    """Return the values that are not computed if the result of an op is not: that result, and views of it."""
    decided = (_read_by_all(operands, host, op.results[0], found) for found in _candidates(op, operands, host))
    return next((uses for uses in decided if uses is not None), None)


def _read_by_all(operands: Operands, host: TargetInfo, value: SSAValue, found: Deferred) -> Mapping[SSAValue, Deferred] | None:
    """Return a value and its views as what they are deferred to, if all that uses them are products that can read that."""
    if found.source.dtype.size >= read_type(value.type).dtype.size:
        return None
    uses = dict[SSAValue, Deferred]({value: found})
    for each in _uses(operands, host, value, found):
        if each is None:
            return None
        uses[each[0]] = each[1]
    return uses


def _candidates(op: PtirOp, operands: Operands, host: TargetInfo) -> Iterator[Deferred]:
    """The sources that the result of an op could be read from: of a fusion weights with one scale along an axis, or of blocks."""
    if isinstance(op, ptir.CastOp):
        source = _source(operands, host, op.x, op.result_spec().dtype)
        yield from () if source is None else (Deferred(source, op.x),)
    elif isinstance(op, ptir.FusionOp) and op.pattern is None and _may_be_deferred(op, operands):
        yield from [found for made in (_scaled, _blocked) if (found := made(op, operands, host)) is not None]


def _may_be_deferred(op: ptir.FusionOp, operands: Operands) -> bool:
    """Return whether products, views and fusions alone read a fusion, and all that it reads is computed: a quick test."""
    readers = (use.operation for use in op.results[0].uses)
    if not all(isinstance(reader, ptir.DotGeneralOp | ptir.FusionOp) or type(reader) in VIEWS for reader in readers):
        return False
    return not any(v in operands.deferred for v in op.operands)


def _source(operands: Operands, host: TargetInfo, value: SSAValue, target: PtirDType) -> View | None:
    """Return the view of an operand that a product can read itself."""
    view = None if value in operands.deferred else operands.views[value]
    if view is None or not isinstance(view.base, Buffer) or view.lookups or view.base.use not in _STILL:
        return None
    can_widen = computes(view.dtype, host) or view.dtype in (F8E4M3, F8E5M2)
    return view if is_exact(view.dtype, target) and can_widen else None


def _blocked(op: ptir.FusionOp, operands: Operands, host: TargetInfo) -> Deferred | None:
    """A fusion that decodes weights in blocks."""
    weights = _weights(op, operands, host)
    if isinstance(weights, str):
        return None
    (dims,) = [tuple([n for n in read_type(r.type).shape if isinstance(n, int)]) for r in op.results]
    return Deferred(replace(weights.dense, shape=dims, strides=row_major(dims)), op.results[0], weights=weights)


def _weights(op: ptir.FusionOp, operands: Operands, host: TargetInfo) -> BlockedWeights | str:
    """Return the weights in blocks that a fusion is, or why it is none that are decoded in registers here."""
    if any(v in operands.deferred for v in op.operands):
        return "it reads what is not computed"
    found = blocked_weights(op, _inner_views(op, operands, host, ()))
    if isinstance(found, str):
        return found
    if any(v.base.use not in _STILL for v in found.reads if isinstance(v.base, Buffer)):
        return "memory that moves with the iterations of a loop"
    return found if found.width(host) else f"blocks of {found.block} hold no vectors"


def _scaled(op: ptir.FusionOp, operands: Operands, host: TargetInfo) -> Deferred | None:
    """A fusion of a cast and some arithmetic with numbers that are the same along an axis: weights and their scales."""
    block = op.body.block
    ops = [inner for inner in block.ops if isinstance(inner, PtirOp) and not isinstance(inner, ptir.YieldOp)]
    chain = [inner for inner in ops if isinstance(inner, _OPS)]
    simple = all(isinstance(inner, (*_OPS, ptir.BroadcastToOp, ptir.ConstantOp)) for inner in ops)
    if not chain or not simple or len(op.results) != 1:
        return None
    if block.last_op is None or block.last_op.operands[0] is not chain[-1].results[0]:
        return None
    made = {inner.results[0] for inner in chain}
    views = _inner_views(op, operands, host, made)
    outside = dict.fromkeys(v for inner in chain for v in inner.operands if v not in made)
    if any(v not in views or shape_of(v) != shape_of(op.results[0]) or views[v].lookups for v in outside):
        return None
    roots = [v for v in outside if isinstance(v.owner, Block) and views[v].count > 1 and 0 not in views[v].strides]
    if len(roots) != 1:
        return None
    source = _source(Operands(views, operands.deferred), host, roots[0], F64)
    if source is None or read_type(op.results[0].type).dtype not in (F32, F64):
        return None
    return Deferred(source, roots[0], tuple(chain), tuple([(v, views[v]) for v in outside if v is not roots[0]]))


def _inner_views(op: ptir.FusionOp, operands: Operands, host: TargetInfo, made: Container[SSAValue]) -> dict[SSAValue, View]:
    """Return the places of arguments, broadcasts and constants of a body; of a constant that has no memory yet, its layout."""
    views = operands.body(op.body.block, op.operands)
    for inner in op.body.block.ops:
        if isinstance(inner, ptir.ConstantOp):
            dtype, shape = inner.result_spec().dtype, shape_of(inner.result)
            views[inner.result] = (
                operands.views.get(inner.result)
                or fill_of(inner.literal, shape, host)
                or whole(Buffer(Use.CONSTANT, -1, dtype, prod(shape)), shape)
            )
        elif isinstance(inner, ptir.BroadcastToOp) and inner.x in views:
            views[inner.result] = broadcast(views[inner.x], shape_of(inner.result))
    return views


def _uses(operands: Operands, host: TargetInfo, value: SSAValue, found: Deferred) -> Iterator[tuple[SSAValue, Deferred] | None]:
    """The values that are views of a deferred one, itself apart, and None for each use that needs it computed."""
    for use in value.uses:
        op = use.operation
        if isinstance(op, ptir.DotGeneralOp):
            if not _can_read(operands, host, op, use.index, found):
                yield None
            continue
        inner: SSAValue | None = None
        moved: Deferred | None = found
        if isinstance(op, ptir.FusionOp) and op.pattern is None:
            inner = op.body.block.args[use.index] if uncomputed_members(op, host) is None else None
        elif type(op) in VIEWS and isinstance(op, PtirOp):
            inner, moved = op.results[0], found.through(op)
        if inner is None or moved is None:
            yield None
            continue
        yield inner, moved
        yield from _uses(operands, host, inner, moved)


def _can_read(operands: Operands, host: TargetInfo, op: ptir.DotGeneralOp, which: int, found: Deferred) -> bool:
    """Return whether a product can read an operand from what it is deferred to."""
    if accumulator(op) not in (F32, F64) or not is_tiled(op):
        return False
    values, other = op.values(), op.operands[1 - which]
    partner = operands.deferred.get(other)
    if found.weights is not None:
        return partner is None and can_read_blocked(op, which, found.source, found.weights.most_rows(host))
    if partner is not None and partner.weights is not None:
        return False
    if not found.ops:
        return which != 0 or not may_read_blocked(op, host)
    both = other is op.operands[which] or (partner is not None and bool(partner.ops))
    matrix = len(shape_of(op.operands[which])) == 2
    return matrix and not values["batch_lhs"] and len(values["contract_lhs"]) == 1 and not both
