"""Helpers of every PTIR rewrite: shapes and constants behind values, equality of types, a new op in the place of another."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from xdsl.dialects.builtin import BytesAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.elements import Number
from mind_dialect.op import value_of
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import Kind, PtirDType, TensorSpec, read_type, tensor_type
from mind_dialect.ptir_shapes import UNKNOWN

OpT = TypeVar("OpT", bound=ptir.PtirOp)
RowT = TypeVar("RowT")
Found = SSAValue | ptir.PtirOp | None
Rule = Callable[[Any], Found]
"""From an op to a value or a new op that may stand for its only result, of the same type; None where the rule does not apply."""

FOLD_LIMIT = 256
"""Literals of more stored elements are neither searched nor rearranged, which bounds time and memory per op."""


def row_of_kind(table: Mapping[type[ptir.PtirOp], RowT], kind: type[ptir.PtirOp]) -> RowT | None:
    """
    Return the row of an op class in a table whose rows are of each element by itself: its own, or that of a class that it is of.

    `bitcast` takes only a row of its own: it is elementwise by its class, but may make several elements of one.
    """
    kinds = (kind,) if issubclass(kind, ptir.BitcastOp) else kind.__mro__
    return next((table[one] for one in kinds if one in table), None)


def spec_of(value: SSAValue) -> TensorSpec:
    """The dtype and dimensions of a value of a verified program."""
    return read_type(value.type)


def only_units(view: ptir.PtirOp) -> bool:
    """Return whether a reshape adds and drops extents of 1, no more."""
    before, after = spec_of(view.operands[0]).shape, spec_of(view.results[0]).shape
    return [d for d in before if d != 1] == [d for d in after if d != 1]


def same_type(a: Attribute, b: Attribute) -> bool:
    """Equality of types, quick where both are one object."""
    return a is b or a == b


def stands_for(value: SSAValue, op: ptir.PtirOp) -> SSAValue | None:
    """`value` if it has the type of the result of `op`; a declared type that says more is a check that must stay."""
    return value if same_type(value.type, op.results[0].type) else None


def is_known(op: ptir.PtirOp) -> bool:
    """Return whether each dimension around `op` has a size or a name: no declared type then claims what only a run can check."""
    return not any(UNKNOWN in read_type(v.type).shape for v in (*op.operands, *op.results))


def of_one_shape(op: ptir.PtirOp) -> bool:
    """Return whether operands and results have one shape, dimension names included, so that a run has nothing left to check."""
    shape = spec_of(op.results[0]).shape
    return UNKNOWN not in shape and all(spec_of(v).shape == shape for v in op.operands)


def in_place_of(op: ptir.PtirOp, cls: type[OpT], *operands: SSAValue, type: Attribute | None = None, **values: Any) -> OpT:
    """An op of class `cls` with the location and, unless given, the result type of `op`; the caller answers for the type."""
    return cls.create(
        operands=operands,
        properties=cls.store_properties(values),
        result_types=[op.results[0].type if type is None else type],
        location=op.location,
    )


def new_ops(op: Operation) -> list[Operation]:
    """Return the ops behind a new one that are in no block yet, in the order of their uses, and it: each is visited once."""
    found: dict[Operation, None] = {}
    left = [(op, False)]
    while left:
        current, is_ready = left.pop()
        if current in found:
            continue
        if is_ready:
            found[current] = None
            continue
        left.append((current, True))
        owners = [v.owner for v in current.operands]
        left += [(o, False) for o in reversed(owners) if isinstance(o, Operation) and o.parent is None and o not in found]
    return list(found)


def insert_new(op: Operation, before: Operation, block: Block) -> None:
    """Put a new op, and the new ops that it uses, before another."""
    block.insert_ops_before(new_ops(op), before)


def put_before(op: Operation, made: SSAValue | Operation) -> SSAValue:
    """Insert a new op, and the new ops that it uses, before an op and with its location; return the result."""
    value, block = value_of(made), op.parent
    assert isinstance(block, Block)
    if isinstance(value.owner, Operation) and value.owner.parent is None:
        for new in new_ops(value.owner):
            new.location = op.location
            block.insert_op_before(new, op)
    return value


def rewire(op: Operation, became: Mapping[SSAValue, SSAValue]) -> None:
    """Let `op` use what its operands became: all at once, as each change of an op's operands copies them."""
    if became and any(value in became for value in op.operands):
        op.operands = [became.get(value, value) for value in op.operands]


def substitute(op: Operation, made: Operation) -> None:
    """Put `made`, whose first results are those of `op`, in the place of `op`."""
    block = op.parent
    assert isinstance(block, Block)
    made.location = op.location
    block.insert_op_before(made, op)
    for old, new in zip(op.results, made.results, strict=False):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    block.erase_op(op)


def axes_of_reduction(op: ptir.ReduceOp) -> tuple[int, ...]:
    """Return the axes of a reduction, counted from 0, in order."""
    rank = len(spec_of(op.x).shape)
    return tuple(sorted(a % rank for a in op.values()["axes"]))


def is_exact(op: ptir.ReduceOp) -> bool:
    """Return whether the order in which a reduction meets its elements does not matter."""
    return op.values()["kind"] not in ("sum", "prod") or spec_of(op.x).dtype.kind in (Kind.SIGNED, Kind.UNSIGNED)


def accumulator(op: ptir.PtirOp) -> PtirDType:
    """Return the dtype that a reduction, a product or a convolution accumulates in."""
    return op.values().get("accum_dtype") or default_accumulator(op.operand_spec(0).dtype)


# Constants


def constant(op: Operation, dtype: PtirDType, shape: tuple[int, ...], data: bytes) -> ptir.ConstantOp:
    """A constant with the location of `op`: all elements' bytes, or those of one for all."""
    literal = ptir.PtirLiteralAttr(tensor_type(dtype, shape), BytesAttr(data))
    return ptir.ConstantOp.create(properties={"value": literal}, result_types=[literal.type], location=op.location)


def fill(op: Operation, dtype: PtirDType, shape: tuple[int, ...], number: Number) -> ptir.ConstantOp:
    """A constant whose every element is `number`."""
    return constant(op, dtype, shape, dtype.element.pack([number]) if math.prod(shape) else b"")


def literal_of(value: SSAValue) -> ptir.PtirLiteralAttr | None:
    """The literal that `value` is, if it is the result of a constant."""
    op = value.owner
    return op.literal if isinstance(op, ptir.ConstantOp) else None


def element_bytes(value: SSAValue) -> bytes | None:
    """
    The bytes of the one element that is everywhere in `value`; None if there is no such element, or none is known.

    Sees through a broadcast or reshape, which may have dynamic dimensions. Elements are equal if all their bits are.
    """
    for _ in range(3):
        if not isinstance(value.owner, ptir.BroadcastToOp | ptir.ReshapeOp):
            break
        value = value.owner.operands[0]
    literal = literal_of(value)
    if literal is None:
        return None
    size, data = literal.spec[0].size, literal.data.data
    if len(data) == size:
        return data
    if not size <= len(data) <= FOLD_LIMIT * size:
        return None
    return data[:size] if data == data[:size] * (len(data) // size) else None


def uniform(value: SSAValue) -> Number | None:
    """The number that is everywhere in `value`, if one is known."""
    data = element_bytes(value)
    return None if data is None else spec_of(value).dtype.element.unpack(data)[0]


def is_all(value: SSAValue, number: float) -> bool:
    """Return whether every element of `value` is `number`; +0 and -0 are two floats, of complex numbers both parts count."""
    found = uniform(value)
    if found is None:
        return False
    if isinstance(found, complex):
        imaginary = number if number == 0 else 0.0
        return _same(found.real, number) and _same(found.imag, imaginary)
    return _same(found, number)


def _same(a: float, b: float) -> bool:
    return a == b and (isinstance(a, int) or math.copysign(1, a) == math.copysign(1, b))


# What may not be touched


def stays(op: Operation) -> bool:
    """
    Return whether `op` itself, whatever its regions hold, must be neither erased, merged nor reordered.

    Ops of other dialects are theirs to judge. A random op is pure, but its key is its place among the random ops of the
    program, so that taking one away would change the numbers of those after it.
    """
    return _class_stays(type(op))


@lru_cache(1 << 10)
def _class_stays(cls: type[Operation]) -> bool:
    return not issubclass(cls, ptir.PtirOp) or issubclass(cls, ptir.RandomOp)


def is_plain(op: Operation) -> bool:
    """Return whether `op` is an ordinary op of ours: pure, without regions, and no call of somebody's kernel."""
    return not stays(op) and not isinstance(op, ptir.RegionOp | ptir.CustomCallOp)
