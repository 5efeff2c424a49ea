"""
`convert-shape-to-std`: ops on extent tensors and indices as `arith`, `tensor` and `scf`, whatever the rank.

As upstream's pass, but that a list of unknown length is filled by a loop, as xDSL has no `tensor.generate`. What works on
`!shape.shape` or `!shape.size` stays, as those may hold errors, and so do `div`, `concat`, `num_elements` (which
`shape-to-shape-lowering` makes a reduction), `shape_of` of an unranked tensor, and what else upstream keeps. Unlike
upstream's, the output has no casts to the same type and no `shape_of` that only served an op which no longer needs it, and equal
constants stay apart: `canonicalize` merges them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, ModuleOp, StringAttr, TensorType, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free

from mind_dialect import neighbours, register
from mind_dialect import shape as sh
from mind_dialect.dominance import walk
from mind_dialect.shape.types import ShapeType, SizeType, ValueShapeType, extents_type, index, shaped_extents, static_length
from mind_passes.shape.constraints import QUESTIONS

from .std_builder import StdBuilder

Row = Callable[..., Sequence[SSAValue] | None]
"""The values in the place of an op's results; None where the op stays."""


def _binary(kind: type[Operation]) -> Row:
    def row(to: StdBuilder, op: Operation) -> Sequence[SSAValue]:
        return [to.of(kind, *op.operands)]

    return row


def _any(to: StdBuilder, op: sh.AnyOp) -> Sequence[SSAValue] | None:
    return _as(to, op.operands[0], op.result.type) if op.operands else None


def _as(to: StdBuilder, value: SSAValue, type: Attribute) -> Sequence[SSAValue] | None:
    """`value` cast to `type`, unless the two state different lengths."""
    lengths = {static_length(value.type), static_length(type)} - {None}
    return [to.cast(value, type)] if len(lengths) < 2 else None


def _const_shape(to: StdBuilder, op: sh.ConstShapeOp) -> Sequence[SSAValue]:
    return [to.cast(_list(to, [to.number(n) for n in op.extents]), op.result.type)]


def _list(to: StdBuilder, extents: Sequence[SSAValue]) -> SSAValue:
    return to.of(tensor.FromElementsOp, *extents, type=extents_type(len(extents)))


def _dim_of(to: StdBuilder, value: SSAValue, at: SSAValue) -> SSAValue:
    return to.of(memref.DimOp if isinstance(value.type, MemRefType) else tensor.DimOp, value, at)


def _dim(to: StdBuilder, op: sh.DimOp) -> Sequence[SSAValue] | None:
    return [_dim_of(to, op.value, op.index)] if isinstance(op.value.type, TensorType | MemRefType) else None


def _get_extent(to: StdBuilder, op: sh.GetExtentOp) -> Sequence[SSAValue]:
    source = op.shape.owner
    if isinstance(source, sh.ShapeOfOp) and isinstance(source.arg.type, TensorType):
        return [_dim_of(to, source.arg, op.dim)]
    return [to.element(op.shape, op.dim)]


def _rank(to: StdBuilder, op: sh.RankOp) -> Sequence[SSAValue]:
    return [to.length(op.shape)]


def _shape_of(to: StdBuilder, op: sh.ShapeOfOp) -> Sequence[SSAValue] | None:
    extents = shaped_extents(op.arg.type)
    if extents is None:
        return None
    listed = [_dim_of(to, op.arg, to.number(i)) if n == DYNAMIC_INDEX else to.number(n) for i, n in enumerate(extents)]
    return [to.cast(_list(to, listed), op.result.type)]


def _to_extent_tensor(to: StdBuilder, op: sh.ToExtentTensorOp) -> Sequence[SSAValue] | None:
    return _as(to, op.input, op.result.type)


def _size_to_index(to: StdBuilder, op: sh.SizeToIndexOp) -> Sequence[SSAValue] | None:
    source = op.arg.owner
    if isinstance(source, sh.ConstSizeOp):
        return [to.number(cast(int, source.lattice()))]
    return [op.arg] if isinstance(op.arg.type, IndexType) else None


def _both(to: StdBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    return to.of(arith.AndIOp, a, b, type=i1)


def _shape_eq(to: StdBuilder, op: Operation) -> Sequence[SSAValue]:
    """The first against each of the others: as long, and the same throughout."""
    return [_all_equal(to, op.operands)]


def _all_equal(to: StdBuilder, shapes: Sequence[SSAValue]) -> SSAValue:
    if len(shapes) < 2:
        return to.truth(True)
    first = shapes[0]
    rank = to.length(first)
    answers = [_equal(to, first, rank, other) for other in shapes[1:]]
    found = answers[0]
    for answer in answers[1:]:
        found = _both(to, found, answer)
    return found


def _equal(to: StdBuilder, first: SSAValue, rank: SSAValue, other: SSAValue) -> SSAValue:
    def same() -> SSAValue:
        def step(i: SSAValue, so_far: SSAValue) -> Sequence[SSAValue]:
            return [_both(to, so_far, to.compare("eq", to.element(first, i), to.element(other, i)))]

        return to.loop(rank, [to.truth(True)], step)[0]

    return to.branch(to.compare("eq", rank, to.length(other)), same, lambda: to.truth(False), i1)


@dataclass(frozen=True)
class _Aligned:
    """Shapes with their ends aligned: the greatest rank, and how many ones each has before it."""

    shapes: Sequence[SSAValue]
    rank: SSAValue
    missing: Sequence[SSAValue]


def _align(to: StdBuilder, shapes: Sequence[SSAValue]) -> _Aligned:
    ranks = [to.length(s) for s in shapes]
    rank = ranks[0]
    for other in ranks[1:]:
        rank = to.of(arith.MaxUIOp, other, rank)
    return _Aligned(shapes, rank, [to.of(arith.SubiOp, rank, r) for r in ranks])


def _at(to: StdBuilder, x: _Aligned, i: SSAValue, start: SSAValue, type: Attribute, also: Callable[..., SSAValue]) -> SSAValue:
    """`also` of what was found so far and an extent, over the shapes that have one at place `i`."""
    found = start
    for shape, missing in zip(x.shapes, x.missing, strict=True):
        before = found

        def there(shape: SSAValue = shape, missing: SSAValue = missing, before: SSAValue = before) -> SSAValue:
            return also(before, to.element(shape, to.of(arith.SubiOp, i, missing)))

        found = to.branch(to.compare("ult", i, missing), lambda before=before: before, there, type)
    return found


def _extent_at(to: StdBuilder, x: _Aligned, i: SSAValue) -> SSAValue:
    """The extent that shapes broadcast to at place `i`: the last that is not 1."""
    one = to.number(1)

    def also(found: SSAValue, extent: SSAValue) -> SSAValue:
        return to.of(arith.SelectOp, to.compare("eq", extent, one), found, extent)

    return _at(to, x, i, one, index, also)


def _broadcast(to: StdBuilder, op: sh.BroadcastOp) -> Sequence[SSAValue] | None:
    if not op.operands:
        return None
    x = _align(to, op.operands)

    def step(i: SSAValue, made: SSAValue) -> Sequence[SSAValue]:
        value = _extent_at(to, x, i)
        return [to.put(tensor.InsertOp(value, made, i))]

    empty = to.put(neighbours.EmptyOp([x.rank], extents_type(None)))
    return [to.cast(to.loop(x.rank, [empty], step)[0], op.result.type)]


def _is_broadcastable(to: StdBuilder, op: Operation) -> Sequence[SSAValue]:
    return [_all_broadcastable(to, op.operands)]


def _all_broadcastable(to: StdBuilder, shapes: Sequence[SSAValue]) -> SSAValue:
    if len(shapes) < 2:
        return to.truth(True)
    x = _align(to, shapes)

    def step(i: SSAValue, so_far: SSAValue) -> Sequence[SSAValue]:
        wanted, one = _extent_at(to, x, i), to.number(1)

        def also(fits: SSAValue, extent: SSAValue) -> SSAValue:
            agrees = to.of(arith.OrIOp, to.compare("eq", extent, one), to.compare("eq", extent, wanted), type=i1)
            return _both(to, fits, agrees)

        return [_at(to, x, i, so_far, i1, also)]

    return to.loop(x.rank, [to.truth(True)], step)[0]


def _required(answer: Callable[[StdBuilder, Sequence[SSAValue]], SSAValue]) -> Row:
    def row(to: StdBuilder, op: Operation) -> Sequence[SSAValue]:
        holds = answer(to, op.operands)
        properties = {"msg": StringAttr(QUESTIONS[type(op)][1])}
        attributes = dict(op.attributes)
        made = sh.CstrRequireOp.create(
            operands=[holds], properties=properties, attributes=attributes, result_types=op.result_types
        )
        return [to.put(made)]

    return row


def _reduce(to: StdBuilder, op: sh.ReduceOp) -> Sequence[SSAValue]:
    """The region, step by step; its arguments are the index, the extent there and the carry."""
    old, extents = op.body.block, op.shape

    def step(i: SSAValue, *carried: SSAValue) -> Sequence[SSAValue]:
        counter = old.args[0].type
        place = i if counter == index else to.of(arith.IndexCastOp, i, type=counter)
        values: dict[SSAValue, SSAValue] = dict(zip(old.args, (place, to.element(extents, i), *carried), strict=True))
        ending = cast(Operation, old.last_op)
        for inner in old.ops:
            if inner is not ending:
                cast(Block, to.block).add_op(inner.clone(values))
        return [values.get(v, v) for v in ending.operands]

    return to.loop(to.length(extents), list(op.init_vals), step)


def _split_at(to: StdBuilder, op: sh.SplitAtOp) -> Sequence[SSAValue]:
    zero, rank, place, one = to.number(0), to.length(op.operand), op.index, 1
    from_end = to.of(arith.AddiOp, place, rank)
    at = to.of(arith.SelectOp, to.compare("slt", place, zero), from_end, place)
    rest = to.of(arith.SubiOp, rank, at)
    return [
        to.cast(to.put(tensor.ExtractSliceOp(op.operand, [start], [size], [one], extents_type(None))), result.type)
        for start, size, result in ((0, at, op.head), (at, rest, op.tail))
    ]


ROWS: Mapping[type[Operation], Row] = {
    sh.AddOp: _binary(arith.AddiOp),
    sh.MulOp: _binary(arith.MuliOp),
    sh.AnyOp: _any,
    sh.BroadcastOp: _broadcast,
    sh.ConstShapeOp: _const_shape,
    sh.CstrBroadcastableOp: _required(_all_broadcastable),
    sh.CstrEqOp: _required(_all_equal),
    sh.DimOp: _dim,
    sh.GetExtentOp: _get_extent,
    sh.IsBroadcastableOp: _is_broadcastable,
    sh.RankOp: _rank,
    sh.ReduceOp: _reduce,
    sh.ShapeEqOp: _shape_eq,
    sh.ShapeOfOp: _shape_of,
    sh.SizeToIndexOp: _size_to_index,
    sh.SplitAtOp: _split_at,
    sh.ToExtentTensorOp: _to_extent_tensor,
}
"""Every op that is converted, if it has to do with indices and extent tensors only."""


def convert(module: ModuleOp) -> None:
    """
    Convert what can be converted of a verified module, in place.

    Of what nothing uses, only ops that served converted ops alone go: what the text leaves unused is converted, or stays.
    """
    ops = list(walk(module))
    unused = {op for op in ops if _is_unused(op)}
    made: list[Operation] = []
    wanted: set[Operation] = set()
    for op in reversed(ops):
        if op.results and op not in unused and _is_unused(op) and is_side_effect_free(op):
            Rewriter.erase_op(op)
            continue
        if type(op) not in ROWS or (_holds_errors(op) and not isinstance(op, sh.SizeToIndexOp)):
            continue
        results = ROWS[type(op)](StdBuilder(op, made), op)
        if results is None:
            continue
        for old, new in zip(op.results, results, strict=True):
            if new.name_hint is None:
                new.name_hint = old.name_hint
        if op in unused:
            wanted |= {value.owner for value in results if isinstance(value.owner, Operation)}
        Rewriter.replace_op(op, [], list(results))
    for op in reversed(made):
        if op not in wanted and op.results and _is_unused(op):
            Rewriter.erase_op(op)


def _is_unused(op: Operation) -> bool:
    return all(result.first_use is None for result in op.results)


def _holds_errors(op: Operation) -> bool:
    """Return whether an op takes or gives what may be an error."""
    return any(isinstance(v.type, ShapeType | SizeType | ValueShapeType) for v in (*op.operands, *op.results))


@dataclass(frozen=True)
class ConvertShapeToStdPass(ModulePass):
    """Convert ops on extent tensors and indices to arith, tensor and scf; values that may be errors stay."""

    name = "mind-convert-shape-to-std"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        for dialect in (arith.Arith, scf.Scf, tensor.Tensor, memref.MemRef):
            if ctx.get_optional_dialect(dialect.name) is None:
                ctx.load_dialect(dialect)
        convert(op)
