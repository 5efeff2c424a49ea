"""
Ops of the shape dialect as Python: one row each, which says how its results are written when they are asked for.

What cannot fail is written where it is first needed, and so not at all if it is not; what may fail is written where it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IndexType, StringAttr
from xdsl.ir import Attribute, Operation

from mind_dialect import shape
from mind_dialect.shape.evaluate import as_shape
from mind_dialect.shape.lattice import Ranked
from mind_dialect.shape.types import SizeType, is_extents
from mind_passes.shape.emitted import CODE_ATTRIBUTE, OP_ATTRIBUTE, WORDING_ATTRIBUTE

from .shape_python_text import Parts
from .shape_python_writer import ShapeWriter

Row = Callable[..., None]
_RELATIONS = {0: ("==", "!="), 1: ("!=", "=="), 2: ("<", ">="), 3: ("<=", ">"), 4: (">", "<="), 5: (">=", "<")}
"""By the number of the predicate of `arith.cmpi`: the relation and its opposite."""


def _is_size(type: Attribute) -> bool:
    return isinstance(type, SizeType | IndexType)


def _text(op: Operation, name: str) -> str | None:
    found = op.attributes.get(name)
    return found.data if isinstance(found, StringAttr) else None


def _of(op: Operation) -> str:
    return _text(op, OP_ATTRIBUTE) or ""


# Sizes


def _infix(sign: str) -> Row:
    def row(w: ShapeWriter, op: Operation) -> None:
        a, b = op.operands
        w.later(op.results[0], lambda: _operation(w, sign, w.size(a), w.size(b)))

    return row


def _operation(w: ShapeWriter, sign: str, a: str | None, b: str | None) -> str | None:
    """`a sign b`, without what changes nothing."""
    if b == NEUTRAL[sign]:
        return a
    return b if a == NEUTRAL[sign] and sign in "+*" else w.computed("{} " + sign + " {}", a, b)


NEUTRAL = {"+": "0", "-": "0", "*": "1", "//": "1"}


def _extremum(name: str) -> Row:
    def row(w: ShapeWriter, op: Operation) -> None:
        a, b = op.operands
        if isinstance(op, shape.MaxOp | shape.MinOp) and not _is_size(op.result.type):
            w.now(op.results[0], w.call_shapes("extremes", [a, b], repr(name)))
        else:
            w.later(op.results[0], lambda: w.computed(name + "({}, {})", w.size(a), w.size(b)))

    return row


def _divide(w: ShapeWriter, op: Operation) -> None:
    a, b = op.operands
    divisor = w.flow.of(b)
    if isinstance(divisor, int) and divisor != 0:
        w.later(op.results[0], lambda: _operation(w, "//", w.size(a), w.size(b)))
    else:
        w.now(op.results[0], w.computed("divide({}, {})", w.size(a), w.size(b)))


def _to_size(w: ShapeWriter, op: Operation) -> None:
    w.now(op.results[0], w.computed("size({})", w.size(op.operands[0])))


def _same(w: ShapeWriter, op: Operation) -> None:
    operand = op.operands[0]
    w.later(op.results[0], lambda: w.value(operand))


def _constant(w: ShapeWriter, op: Operation) -> None:
    """Nothing: where it is known, the lattice says what it is; elsewhere it is unknown."""
    found: Any = w.flow.of(op.results[0])
    if op.results[0].type in (shape.ShapeType(),) or is_extents(op.results[0].type):
        dims = as_shape(found)
        if not isinstance(dims, tuple):
            w.unsupported(op, "a shape of unknown rank")
        w.later(op.results[0], lambda: tuple([None] * len(dims)))
    else:
        w.later(op.results[0], lambda: None)


# Shapes


def _shape_of(w: ShapeWriter, op: Operation) -> None:
    operand = op.operands[0]
    if is_extents(operand.type):
        w.later(op.results[0], lambda: (w.computed("len({})", w.tuple(operand)),))
    else:
        _same(w, op)


def _from_extents(w: ShapeWriter, op: Operation) -> None:
    w.later(op.results[0], lambda: tuple(w.size(v) for v in op.operands))


def _get_extent(w: ShapeWriter, op: Operation) -> None:
    source, place = op.operands
    index, known = w.flow.of(place), as_shape(w.flow.of(source))
    if isinstance(index, int) and isinstance(known, tuple):
        w.later(op.results[0], lambda: cast("Parts", w.shape(source))[index])
    else:
        w.now(op.results[0], w.computed("extent({}, {})", w.tuple(source), w.size(place)))


def _rank(w: ShapeWriter, op: Operation) -> None:
    w.later(op.results[0], lambda: w.computed("len({})", w.tuple(op.operands[0])))


def _num_elements(w: ShapeWriter, op: Operation) -> None:
    def product() -> str | None:
        parts = w.shape(op.operands[0])
        if isinstance(parts, str):
            return w.computed("count({})", parts)
        factors = [n for n in parts if n != "1"]
        return w.computed(" * ".join("{}" for _ in factors), *factors) if factors else "1"

    w.later(op.results[0], product)


def _concat(w: ShapeWriter, op: Operation) -> None:
    def joined() -> Parts | str | None:
        a, b = (w.shape(v) for v in op.operands)
        if isinstance(a, tuple) and isinstance(b, tuple):
            return a + b
        return w.computed("{} + {}", w.tuple(op.operands[0]), w.tuple(op.operands[1]))

    w.later(op.results[0], joined)


def _split_at(w: ShapeWriter, op: Operation) -> None:
    source, place = op.operands
    known, index = as_shape(w.flow.of(source)), w.flow.of(place)
    head, tail = op.results
    if isinstance(known, tuple) and isinstance(index, int):
        n = index + len(known) if index < 0 else index
        w.later(head, lambda: cast("Parts", w.shape(source))[:n])
        w.later(tail, lambda: cast("Parts", w.shape(source))[n:])
    else:
        pair = w.computed("split({}, {})", w.tuple(source), w.size(place))
        w.now(head, f"{pair}[0]")
        w.now(tail, f"{pair}[1]")


def _any(w: ShapeWriter, op: Operation) -> None:
    """Of several shapes that are equal the extents that are sizes or inputs, before those that are computed."""

    def chosen() -> Parts | str | None:
        shapes = [w.shape(v) for v in op.operands]
        ranked = [s for s in shapes if isinstance(s, tuple)]
        if not ranked:
            return shapes[0]
        return tuple(min(column, key=lambda n: n is None or not n.isdecimal()) for column in zip(*ranked, strict=True))

    w.later(op.results[0], chosen)


def _broadcast(w: ShapeWriter, op: Operation) -> None:
    error = op.properties.get("error")
    if isinstance(error, StringAttr):
        w.check(f"broadcastable({', '.join(map(w.tuple, op.operands))})", "not {}", f"fail({error.data!a})")
    w.now(op.results[0], w.broadcast(op.operands, _of(op)))


def _meet(w: ShapeWriter, op: shape.MeetOp | shape.JoinOp) -> None:
    reason = repr(None) if op.string("error") is None else ascii(op.string("error"))
    a, b = op.operands
    if _is_size(op.result.type):
        m, n = w.size(a), w.size(b)
        w.now(
            op.results[0], n if m is None else m if n is None or m == n else w.computed(f"meet_size({{}}, {{}}, {reason})", m, n)
        )
    else:
        w.now(op.results[0], w.call_shapes("meet", [a, b], reason, last=True))


def _with_shape(w: ShapeWriter, op: Operation) -> None:
    w.now(op.results[0], w.call_shapes("meet", op.operands, "None", last=True))


def _debug_print(w: ShapeWriter, op: Operation) -> None:
    operand = op.operands[0]
    text = (w.size(operand) or "None") if _is_size(operand.type) else w.tuple(operand)
    w.line(f"show({text})")
    _same(w, op)


def _reads_elements(w: ShapeWriter, op: Operation) -> None:
    if isinstance(as_shape(w.flow.of(op.results[0])), tuple) and "?" not in cast(Ranked, as_shape(w.flow.of(op.results[0]))):
        _constant(w, op)
    elif is_extents(op.operands[0].type):
        _same(w, op)
    else:
        w.unsupported(op, "it reads the elements of a value, and only shapes are given")


# Truths and constraints


def _truth(name: str) -> Row:
    def row(w: ShapeWriter, op: Operation) -> None:
        w.later(op.results[0], lambda: w.computed(f"{name}({', '.join('{}' for _ in op.operands)})", *map(w.tuple, op.operands)))

    return row


def _compare(w: ShapeWriter, op: arith.CmpiOp) -> None:
    number = op.predicate.value.data
    if number not in _RELATIONS:
        w.unsupported(op, "an unsigned comparison")
    w.later(op.result, lambda: w.computed("{} " + _RELATIONS[number][0] + " {}", w.size(op.lhs), w.size(op.rhs)))


def _require(w: ShapeWriter, op: shape.CstrRequireOp) -> None:
    if w.flow.of(op.result) is True:
        return
    code, of, pred = _text(op, CODE_ATTRIBUTE) or "E9020", _of(op), op.pred.owner
    wording = _text(op, WORDING_ATTRIBUTE) or op.message
    if not isinstance(pred, arith.CmpiOp):
        holds = w.value(op.pred)
        if holds is not None:
            w.check(str(holds), "not {}", f"fail({wording!a}, {code!a}, {of!a})")
        return
    a, b = w.size(pred.lhs), w.size(pred.rhs)
    if a is None or b is None:
        return
    relation, opposite = _RELATIONS.get(pred.predicate.value.data, ("", ""))
    if a == b and relation in ("==", "<=", ">="):
        return
    w.check(
        f"{a} {relation} {b}",
        f"{a} {opposite} {b}",
        f"fail({wording!a}, {code!a}, {of!a}, {a}, {b}{w.homes(pred.lhs, pred.rhs)})",
    )


def _cstr_eq(w: ShapeWriter, op: shape.CstrEqOp) -> None:
    if w.flow.of(op.result) is True:
        return
    shapes = [w.shape(v) for v in op.operands]
    if any(isinstance(s, str) for s in shapes):
        w.line(f"equal({_of(op)!a}, {', '.join(map(w.tuple, op.operands))})")
        return
    pairs: dict[tuple[str, str], None] = {}
    first, *others = cast(Sequence["Parts"], shapes)
    for other, value in zip(others, op.operands[1:], strict=True):
        proven = w.flow.proven(op, value)
        for i, (m, n) in enumerate(zip(first, other, strict=True)):
            if m != n and m is not None and n is not None and i not in proven:
                pairs[m, n] = None
    if pairs:
        holds, fails = (f" {word} ".join(f"{m} {sign} {n}" for m, n in pairs) for word, sign in (("and", "=="), ("or", "!=")))
        w.check(holds, fails, f"differ({_of(op)!a}, {', '.join(map(w.tuple, op.operands))}{w.homes(*op.operands)})")


def _cstr_broadcastable(w: ShapeWriter, op: shape.CstrBroadcastableOp) -> None:
    if w.flow.of(op.result) is not True:
        w.broadcast(op.operands, _of(op))


def _nothing(w: ShapeWriter, op: Operation) -> None:
    """Write nothing: the lattice knows a witness or a constant, or it is unused."""


# Regions


def _assuming(w: ShapeWriter, op: shape.AssumingOp) -> None:
    passed = w.block(op.body.block)
    for result, value in zip(op.results, passed, strict=True):
        w.later(result, lambda value=value: w.value(value))


def _reduce(w: ShapeWriter, op: shape.ReduceOp) -> None:
    block, source = op.body.block, op.operands[0]
    known = as_shape(w.flow.of(source))
    if isinstance(known, tuple) and len(known) <= w.UNROLLED:
        carried: list[Any] = [w.value(v) for v in op.operands[1:]]
        for i, extent in enumerate(cast("Parts", w.shape(source))):
            carried = w.step(block, [str(i), extent, *carried])
        for result, value in zip(op.results, carried, strict=True):
            w.now(result, value)
    else:
        w.loop(op)


# Lists of indices


def _extract(w: ShapeWriter, op: tensor.ExtractOp) -> None:
    if len(op.indices) != 1:
        w.unsupported(op, "an element of no list of indices")
    source, place = op.tensor, op.indices[0]
    known, index = as_shape(w.flow.of(source)), w.flow.of(place)
    if isinstance(known, tuple) and isinstance(index, int) and 0 <= index < len(known):
        w.later(op.result, lambda: cast("Parts", w.shape(source))[index])
    else:
        w.now(op.result, w.computed("extent({}, {})", w.tuple(source), w.size(place)))


ROWS: Mapping[type[Operation], Row] = {
    shape.ConstSizeOp: _constant,
    shape.ConstShapeOp: _constant,
    shape.ConstantOp: _constant,
    shape.ConstantDimOp: _constant,
    shape.ConstWitnessOp: _nothing,
    shape.AddOp: _infix("+"),
    shape.MulOp: _infix("*"),
    shape.DivOp: _divide,
    shape.MaxOp: _extremum("max"),
    shape.MinOp: _extremum("min"),
    shape.IndexToSizeOp: _to_size,
    shape.SizeToIndexOp: _same,
    shape.ShapeOfOp: _shape_of,
    shape.ValueOfOp: _same,
    shape.ValueAsShapeOp: _reads_elements,
    shape.CreateShapeOp: _reads_elements,
    shape.WithShapeOp: _with_shape,
    shape.FromExtentTensorOp: _same,
    shape.ToExtentTensorOp: _same,
    shape.FromExtentsOp: _from_extents,
    shape.MeetOp: _meet,
    shape.JoinOp: _meet,
    shape.BroadcastOp: _broadcast,
    shape.AnyOp: _any,
    shape.ConcatOp: _concat,
    shape.SplitAtOp: _split_at,
    shape.GetExtentOp: _get_extent,
    shape.DimOp: _get_extent,
    shape.RankOp: _rank,
    shape.NumElementsOp: _num_elements,
    shape.DebugPrintOp: _debug_print,
    shape.IsBroadcastableOp: _truth("broadcastable"),
    shape.ShapeEqOp: _truth("are_equal"),
    shape.CstrBroadcastableOp: _cstr_broadcastable,
    shape.CstrEqOp: _cstr_eq,
    shape.CstrRequireOp: _require,
    shape.AssumingAllOp: _nothing,
    shape.AssumingOp: _assuming,
    shape.ReduceOp: _reduce,
    arith.ConstantOp: _constant,
    arith.AddiOp: _infix("+"),
    arith.SubiOp: _infix("-"),
    arith.MuliOp: _infix("*"),
    arith.MaxSIOp: _extremum("max"),
    arith.MinSIOp: _extremum("min"),
    arith.CmpiOp: _compare,
    arith.IndexCastOp: _same,
    tensor.CastOp: _same,
    tensor.DimOp: _get_extent,
    tensor.FromElementsOp: _from_extents,
    tensor.ExtractOp: _extract,
}
"""Every op of the shape dialect but functions and terminators, and what of other dialects works on indices."""
