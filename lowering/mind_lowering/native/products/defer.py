"""
Casts and dequantizations that are not done, because only products read them: these read what is cast, and widen it in registers.

A cast is left out if every number of its operand is one of its result, or else the product would see another number. Of more than
a cast (a scale, a zero point) it takes a matrix of weights, and one product reads no two such.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import BF16, F16, F32, F64, Kind, PtirDType, read_type

from ..elementwise import EMITTERS
from ..grouping import why_not
from ..plan import NativePlan
from ..target_info import computes
from ..views import VIEWS, Buffer, Use, View
from .axes import is_tiled, total_of
from .deferred import Deferred

DIGITS = {BF16: 8, F16: 11, F32: 24, F64: 53}
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
    if target.kind is not Kind.FLOAT or target not in DIGITS:
        return False
    if source.kind is Kind.FLOAT:
        narrower = source in DIGITS and DIGITS[source] <= DIGITS[target]
        return narrower and (source is not BF16 or target is not F16)
    if source.kind not in (Kind.SIGNED, Kind.UNSIGNED) or source.bits not in (8, 16, 32):
        return False
    return source.bits - (source.kind is Kind.SIGNED) <= DIGITS[target]


def defer(planner: NativePlan, op: PtirOp) -> bool:
    """Note that an op's result is not computed, if it is one that products alone read and can; or that of a view of such."""
    if op.results and op.results[0] in planner.deferred:
        return True
    found = _candidate(planner, op)
    if found is None or found.source.dtype.size >= read_type(op.results[0].type).dtype.size:
        return False
    uses = list(_uses(planner, op.results[0], found))
    if any(each is None for each in uses):
        return False
    planner.deferred[op.results[0]] = found
    planner.deferred.update(each for each in uses if each is not None)
    return True


def _candidate(planner: NativePlan, op: PtirOp) -> Deferred | None:
    """Return the source that the result of an op could be read from."""
    if isinstance(op, ptir.CastOp):
        return _cast(planner, op)
    return _fused(planner, op) if isinstance(op, ptir.FusionOp) and op.pattern is None else None


def _source(planner: NativePlan, value: SSAValue, target: PtirDType) -> View | None:
    """Return the view of an operand that a product can read itself."""
    view = None if value in planner.deferred else planner.view(value)
    if view is None or not isinstance(view.base, Buffer) or view.lookups or view.base.use not in _STILL:
        return None
    return view if is_exact(view.dtype, target) and computes(view.dtype, planner.host) else None


def _cast(planner: NativePlan, op: ptir.CastOp) -> Deferred | None:
    source = _source(planner, op.x, op.result_spec().dtype)
    return None if source is None else Deferred(source, op.x)


def _fused(planner: NativePlan, op: ptir.FusionOp) -> Deferred | None:
    """A fusion of a cast and some arithmetic with numbers that are the same along an axis: weights and their scales."""
    block = op.body.block
    ops = [inner for inner in block.ops if isinstance(inner, PtirOp) and not isinstance(inner, ptir.YieldOp)]
    chain = [inner for inner in ops if isinstance(inner, _OPS)]
    simple = all(isinstance(inner, (*_OPS, ptir.BroadcastToOp, ptir.ConstantOp)) for inner in ops)
    if not chain or not simple or len(op.results) != 1 or any(v in planner.deferred for v in op.operands):
        return None
    if block.last_op is None or block.last_op.operands[0] is not chain[-1].results[0]:
        return None
    for argument, value in zip(block.args, op.operands, strict=True):
        planner.views[argument] = planner.view(value)
    for inner in ops:
        if inner not in chain:
            planner.step(inner)
    made = {inner.results[0] for inner in chain}
    outside = dict.fromkeys(v for inner in chain for v in inner.operands if v not in made)
    roots = [v for v in outside if isinstance(v.owner, Block) and planner.view(v).count > 1 and 0 not in planner.view(v).strides]
    shape, target = planner.shape(op.results[0]), op.results[0].type
    if len(roots) != 1 or any(planner.shape(v) != shape or planner.view(v).lookups for v in outside):
        return None
    source = _source(planner, roots[0], F64)
    if source is None or read_type(target).dtype not in (F32, F64):
        return None
    return Deferred(source, roots[0], tuple(chain), tuple([(v, planner.view(v)) for v in outside if v is not roots[0]]))


def _uses(planner: NativePlan, value: SSAValue, found: Deferred) -> Iterator[tuple[SSAValue, Deferred] | None]:
    """The values that are views of a deferred one, itself apart, and None for each use that needs it computed."""
    for use in value.uses:
        op = use.operation
        if isinstance(op, ptir.DotGeneralOp):
            if not _can_read(planner, op, use.index, found):
                yield None
            continue
        inner: SSAValue | None = None
        moved: Deferred | None = found
        if isinstance(op, ptir.FusionOp) and op.pattern is None:
            inner = op.body.block.args[use.index] if _is_native(planner, op) else None
        elif type(op) in VIEWS and isinstance(op, PtirOp):
            inner, moved = op.results[0], found.through(op)
        if inner is None or moved is None:
            yield None
            continue
        yield inner, moved
        yield from _uses(planner, inner, moved)


def _is_native(planner: NativePlan, op: ptir.FusionOp) -> bool:
    """Return whether a fusion does not run on NumPy."""
    members = [inner for inner in op.body.block.ops if isinstance(inner, ptir.ReduceOp) or type(inner) in EMITTERS]
    return all(why_not(inner, planner.host) is None for inner in members if isinstance(inner, PtirOp))


def _can_read(planner: NativePlan, op: ptir.DotGeneralOp, which: int, found: Deferred) -> bool:
    """Return whether a product can read an operand from what it is deferred to."""
    if total_of(op) not in (F32, F64) or not is_tiled(planner, op, total_of(op)):
        return False
    if not found.ops:
        return True
    values, other = op.values(), op.operands[1 - which]
    both = other is op.operands[which] or (other in planner.deferred and bool(planner.deferred[other].ops))
    matrix = len(planner.shape(op.operands[which])) == 2
    return matrix and not values["batch_lhs"] and len(values["contract_lhs"]) == 1 and not both
