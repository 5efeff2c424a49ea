"""
Ops of the shape dialect as lowered ops: one row each, from lowered operands to lowered results.

A row gives what `mind_dialect.shape.evaluate` has for the op, with the extents as numbers. What it gives for an invalid result
is any number whatever; nothing may read it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

from xdsl.dialects import tensor
from xdsl.dialects.builtin import IndexType, StringAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from mind_dialect import shape as sh
from mind_dialect.errors import brief
from mind_dialect.shape import lattice
from mind_dialect.shape.evaluate import shape_of_type
from mind_dialect.shape.lattice import Invalid, show
from mind_dialect.shape.types import SizeType

from .numbers import VALID, Check, Number, Numbers, Truth
from .operands import Holds, Lowered, Paired, Refused, Shape, SizeOperand, known, made, shape, shape_of, size, truth

Row = Callable[..., Lowered | tuple[Lowered, ...]]


# Sizes


def _arithmetic(name: str) -> Row:
    def row(to: Numbers, op: Operation, a: Lowered, b: Lowered) -> SizeOperand:
        x, y = size(to, a), size(to, b)
        natural = x.natural and y.natural
        n, check = getattr(to, name)(x.n, y.n, natural=natural)
        return SizeOperand(n, to.all_of([x.check, y.check, check]), natural)

    return row


def _extremum(name: str) -> Row:
    def row(to: Numbers, op: Operation, a: Lowered, b: Lowered) -> Lowered:
        choose: Callable[[Number, Number], Number] = getattr(to, name)
        if isinstance(a, SizeOperand) or isinstance(b, SizeOperand):
            x, y = size(to, a), size(to, b)
            return SizeOperand(choose(x.n, y.n), to.all_of([x.check, y.check]))
        s, t = shape(to, a), shape(to, b)
        checks = [s.check, t.check, _same_rank(s, t, op.name)]
        return Shape(list(map(choose, s.extents, t.extents)) or s.extents, to.all_of(checks))

    return row


def _same_rank(a: Shape, b: Shape, name: str) -> Check:
    if len(a.extents) == len(b.extents):
        return VALID
    return Check(False, (f"{name.removeprefix('shape.')} of shapes of ranks {len(a.extents)} and {len(b.extents)}",))


def _index_to_size(to: Numbers, op: Operation, a: Lowered) -> SizeOperand:
    x = size(to, a)
    return SizeOperand(x.n, x.check, x.natural)


def _size_to_index(to: Numbers, op: Operation, a: Lowered) -> SizeOperand:
    return size(to, a)


# Constants


def _constant(to: Numbers, op: Operation) -> Lowered:
    found: Any = cast(Any, op).lattice()
    if isinstance(found, int):
        return SizeOperand(found)
    if isinstance(found, tuple) and all(isinstance(n, int) for n in cast("tuple[Any, ...]", found)):
        return Shape(cast("tuple[int, ...]", found))
    if isinstance(found, Invalid):
        raise Refused(f"it is invalid: {found.reason}")
    raise Refused(f"{show(cast(Any, found))} is not known in full")


def _const_witness(to: Numbers, op: sh.ConstWitnessOp) -> Holds:
    return Holds(op.passes, ("a constraint that never holds",))


# Shapes


def _meet(to: Numbers, op: sh.MeetOp | sh.JoinOp, a: Lowered, b: Lowered) -> Lowered:
    why = op.string("error")
    if isinstance(op.arg0.type, SizeType | IndexType):
        x, y = size(to, a), size(to, b)
        equal = Check(to.compare("eq", x.n, y.n), (why or "sizes differ",))
        return SizeOperand(_better(x.n, y.n), to.all_of([x.check, y.check, equal]), x.natural or y.natural)
    s, t = shape(to, a), shape(to, b)
    checks = [s.check, t.check, Check(_equal(to, s, t), (why or "shapes differ",))]
    same_rank = len(s.extents) == len(t.extents)
    return Shape(list(map(_better, s.extents, t.extents)) if same_rank else s.extents, to.all_of(checks))


def _better(a: Number, b: Number) -> Number:
    """Of two numbers that are equal, one that is known."""
    return b if isinstance(b, int) else a


def _equal(to: Numbers, a: Shape, b: Shape) -> Truth:
    if len(a.extents) != len(b.extents):
        return False
    holds: Truth = True
    for m, n in zip(a.extents, b.extents, strict=True):
        holds = to.both(holds, to.compare("eq", m, n))
    return holds


def _broadcast_of(to: Numbers, shapes: Sequence[Shape]) -> tuple[list[Number], Truth]:
    """The extents that shapes broadcast to, and whether they do."""
    rank = max((len(s.extents) for s in shapes), default=0)
    found, fits = list[Number](), cast(Truth, True)
    for place in range(rank):
        known: Number = 1
        for extents in (s.extents for s in shapes):
            i = place - rank + len(extents)
            if i < 0 or extents[i] == 1 or extents[i] is known:
                continue
            extent = extents[i]
            one = to.compare("eq", known, 1)
            agrees = to.either(to.compare("eq", extent, 1), to.compare("eq", extent, known))
            fits = to.both(fits, to.either(one, agrees))
            known = to.select(one, extent, known)
        found.append(known)
    return found, fits


_APART = "operands could not be broadcast together"


def _broadcast(to: Numbers, op: sh.BroadcastOp, *operands: Lowered) -> Shape:
    shapes = [shape(to, x) for x in operands]
    extents, fits = _broadcast_of(to, shapes)
    return made(extents, to.all_of([*(s.check for s in shapes), Check(fits, (op.string("error") or _APART,))]))


def _any(to: Numbers, op: sh.AnyOp, *operands: Lowered) -> Shape:
    shapes = [shape(to, x) for x in operands]
    if not shapes:
        raise Refused("it has no operands, so it is any one of no shapes")
    first = shapes[0].extents
    alike = [s.extents for s in shapes if len(s.extents) == len(first)]
    extents = [next((n for n in column if isinstance(n, int)), column[0]) for column in zip(*alike, strict=True)]
    return Shape(extents, to.all_of([s.check for s in shapes]))


def _concat(to: Numbers, op: Operation, a: Lowered, b: Lowered) -> Shape:
    s, t = shape(to, a), shape(to, b)
    return made([*s.extents, *t.extents], to.all_of([s.check, t.check]))


def _split_at(to: Numbers, op: Operation, a: Lowered, b: Lowered) -> tuple[Shape, Shape]:
    s, at = shape(to, a), size(to, b)
    place = known(at.n) if isinstance(at.n, SSAValue) else at.n
    rank = len(s.extents)
    if not isinstance(place, int):
        raise Refused("the ranks are unknown: the index is not constant")
    if not -rank <= place <= rank:
        raise Refused(f"it is invalid: index {place} is out of bounds for a split of rank {rank}")
    check = to.all_of([s.check, at.check])
    place += rank if place < 0 else 0
    return Shape(s.extents[:place], check), Shape(s.extents[place:], check)


def _from_extents(to: Numbers, op: Operation, *operands: Lowered) -> Shape:
    sizes = [size(to, x) for x in operands]
    checks = [c for x in sizes for c in (x.check, VALID if x.natural else to.natural(x.n, "extent"))]
    return made([x.n for x in sizes], to.all_of(checks))


def _as_shape(to: Numbers, op: Operation, a: Lowered) -> Shape:
    return shape(to, a)


def _shape_of(to: Numbers, op: Operation, a: Lowered) -> Shape:
    return shape_of(to, a)


def _with_shape(to: Numbers, op: Operation, a: Lowered, b: Lowered) -> Paired:
    own, stated = shape_of(to, a), shape(to, b)
    value = a.value if isinstance(a, Paired) else cast(SSAValue, a)
    conforms = Check(_equal(to, own, stated), ("a value of another shape",))
    extents = own.extents if len(own.extents) != len(stated.extents) else list(map(_better, own.extents, stated.extents))
    return Paired(value, Shape(extents, to.all_of([own.check, stated.check, conforms])))


def _value_of(to: Numbers, op: sh.ValueOfOp, a: Lowered) -> SSAValue:
    assert isinstance(a, Paired)
    to.demand(a.shape.check)
    given, wanted = a.value.type, op.result.type
    if given == wanted:
        return a.value
    if isinstance(lattice.join(shape_of_type(given), shape_of_type(wanted)), Invalid):
        raise Refused(f"it is invalid: {brief(given)} is not {brief(wanted)}")
    if not (isinstance(given, TensorType) and isinstance(wanted, TensorType)):
        raise Refused(f"there is no cast from {brief(given)} to {brief(wanted)}")  # pyright: ignore[reportUnknownArgumentType]
    return to.once(tensor.CastOp, [a.value], cast(Any, wanted))


# What is read from shapes


def _get_extent(to: Numbers, op: Operation, a: Lowered, b: Lowered) -> SizeOperand:
    return _extent(to, shape(to, a), size(to, b))


def _dim(to: Numbers, op: Operation, a: Lowered, b: Lowered) -> SizeOperand:
    return _extent(to, shape_of(to, a), size(to, b))


def _extent(to: Numbers, of: Shape, at: SizeOperand) -> SizeOperand:
    """One extent; by a chain of selections where the index is not constant."""
    place, rank = known(at.n) if isinstance(at.n, SSAValue) else at.n, len(of.extents)
    shown = place if isinstance(place, int) else "?"
    why = (f"axis {shown} is out of bounds for array of dimension {rank}",)
    checks = [of.check, at.check]
    if rank == 0 or (isinstance(place, int) and not 0 <= place < rank):
        return SizeOperand(0, to.all_of([*checks, Check(False, why)]))
    if isinstance(place, int):
        return SizeOperand(of.extents[place], to.all_of(checks))
    inside = to.both(to.compare("sge", place, 0), to.compare("slt", place, rank))
    found = of.extents[0]
    for i, extent in enumerate(of.extents[1:], 1):
        found = to.select(to.compare("eq", place, i), extent, found)
    return SizeOperand(found, to.all_of([*checks, Check(inside, why)]))


def _rank(to: Numbers, op: Operation, a: Lowered) -> SizeOperand:
    s = shape(to, a)
    return SizeOperand(len(s.extents), s.check)


def _num_elements(to: Numbers, op: Operation, a: Lowered) -> SizeOperand:
    s = shape(to, a)
    n, check = to.product_of(s.extents)
    return SizeOperand(n, to.all_of([s.check, check]))


# Constraints


def _shape_eq(to: Numbers, op: Operation, *operands: Lowered) -> Holds:
    """Return whether shapes are equal; that of two that are invalid is true."""
    shapes = [shape(to, x) for x in operands]
    if len(shapes) < 2:
        return Holds(True)
    valid = to.all_of([s.check for s in shapes]).holds
    holds = valid
    for a, b in pairwise(shapes):
        holds = to.both(holds, _equal(to, a, b))
    if valid is True:
        return Holds(holds)
    bad: Truth = True
    for s in shapes:
        bad = to.both(bad, to.no(s.check.holds))
    return Holds(to.either(holds, bad))


def _is_broadcastable(to: Numbers, op: Operation, *operands: Lowered) -> Holds:
    shapes = [shape(to, x) for x in operands]
    return Holds(to.both(to.all_of([s.check for s in shapes]).holds, _broadcast_of(to, shapes)[1]))


def stated_attributes(op: Operation) -> dict[str, Attribute]:
    """Return the attributes of ours that an op states about itself for whoever reports an error."""
    return {name: value for name, value in op.attributes.items() if name.startswith("mind.")}


def _cstr_broadcastable(to: Numbers, op: Operation, *operands: Lowered) -> Holds:
    shapes = [shape(to, x) for x in operands]
    fits = Check(_broadcast_of(to, shapes)[1], (_APART,))
    to.demand(to.all_of([*(s.check for s in shapes), fits]), stated_attributes(op))
    return Holds(True)


def _cstr_eq(to: Numbers, op: Operation, *operands: Lowered) -> Holds:
    shapes = [shape(to, x) for x in operands]
    equal = [Check(_equal(to, a, b), ("shapes differ",)) for a, b in pairwise(shapes)]
    to.demand(to.all_of([*(s.check for s in shapes), *equal]), stated_attributes(op))
    return Holds(True)


def _cstr_require(to: Numbers, op: sh.CstrRequireOp, pred: Lowered) -> Holds:
    message = op.msg
    assert isinstance(message, StringAttr)
    to.demand(Check(truth(pred), (message.data,)), stated_attributes(op))
    return Holds(True)


def _assuming_all(to: Numbers, op: Operation, *operands: Lowered) -> Holds:
    found = to.all_of([Check(truth(x), x.reasons if isinstance(x, Holds) else ()) for x in operands])
    return Holds(found.holds, found.reasons)


def _debug_print(to: Numbers, op: Operation, a: Lowered) -> Lowered:
    raise Refused("it prints, and arith has no op for that")


ROWS: Mapping[type[Operation], Row] = {
    sh.ConstSizeOp: _constant,
    sh.ConstShapeOp: _constant,
    sh.ConstWitnessOp: _const_witness,
    sh.ConstantOp: _constant,
    sh.ConstantDimOp: _constant,
    sh.AddOp: _arithmetic("sum"),
    sh.MulOp: _arithmetic("product"),
    sh.DivOp: _arithmetic("quotient"),
    sh.MaxOp: _extremum("larger"),
    sh.MinOp: _extremum("smaller"),
    sh.IndexToSizeOp: _index_to_size,
    sh.SizeToIndexOp: _size_to_index,
    sh.ShapeOfOp: _shape_of,
    sh.ValueOfOp: _value_of,
    sh.ValueAsShapeOp: _as_shape,
    sh.WithShapeOp: _with_shape,
    sh.CreateShapeOp: _as_shape,
    sh.FromExtentTensorOp: _as_shape,
    sh.ToExtentTensorOp: _as_shape,
    sh.FromExtentsOp: _from_extents,
    sh.MeetOp: _meet,
    sh.JoinOp: _meet,
    sh.BroadcastOp: _broadcast,
    sh.AnyOp: _any,
    sh.ConcatOp: _concat,
    sh.SplitAtOp: _split_at,
    sh.GetExtentOp: _get_extent,
    sh.RankOp: _rank,
    sh.NumElementsOp: _num_elements,
    sh.DimOp: _dim,
    sh.DebugPrintOp: _debug_print,
    sh.IsBroadcastableOp: _is_broadcastable,
    sh.ShapeEqOp: _shape_eq,
    sh.CstrBroadcastableOp: _cstr_broadcastable,
    sh.CstrEqOp: _cstr_eq,
    sh.CstrRequireOp: _cstr_require,
    sh.AssumingAllOp: _assuming_all,
}
"""Every op of the dialect but those with regions, and their terminators, which `functions` knows."""
