"""
Rows of sorts.

A comparator is recognised by what it does (`scalars.sort_order`): the keys, in their order of weight, each up or down. Keys are
operands, or what the comparator computes of each side alike. One operand is PTIR's `sort`. Several are gathered by a permutation:
that of stable sorts by each key, the least significant first.
"""

from __future__ import annotations

from itertools import product

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import error
from mind_dialect.ptir.types import SI32
from mind_dialect.ptir_shapes import Dims

from ..unsupported import Refused
from .converter import StablehloConverter, StablehloRow, Values
from .elementwise import total_order
from .foreign import ForeignOp
from .scalars import Key, sort_order
from .sort_keys import argument_columns, computed_columns


def _sort(to: StablehloConverter, op: ForeignOp) -> Values:
    shape, axis = to.shape(op.operands[0]), op.integer("dimension", -1)
    rank = len(shape)
    if not -rank <= axis < rank:
        raise error("E3004", f"dimension {axis} is out of range for rank {rank}", axis=axis, rank=rank)
    axis %= rank
    keys, order, is_total = _keys(to, op, shape)
    if len(keys) == 1 and keys[0] is op.operands[0] and len(op.operands) == 1 and not order[0].part and not is_total:
        return [to.emit(ptir.SortOp, op.operands[0], axis=axis, descending=order[0].descending)]
    if 0 in shape:
        return op.operands
    places = None
    for key in reversed(order):
        operand = keys[key.operand]
        if key.part:
            operand = to.emit(ptir.RealOp if key.part == "real" else ptir.ImagOp, operand)
        if is_total and to.dtype(operand).is_float:
            operand = total_order(to, operand)
        ordered = operand if places is None else to.emit(ptir.GatherOp, operand, places, axis=axis)
        found = _places(to, ordered, axis, key.descending)
        places = found if places is None else to.emit(ptir.GatherOp, places, found, axis=axis)
    assert places is not None, "an order has a key"
    return [to.emit(ptir.GatherOp, v, places, axis=axis) for v in op.operands]


def _keys(to: StablehloConverter, op: ForeignOp, shape: Dims) -> tuple[Values, list[Key], bool]:
    """
    Return what a comparator orders by: its operands, or what it computes of them; and whether floats are totally ordered.

    Raises `Refused` for a comparator that orders by neither.
    """
    block = op.body()
    arguments = [v for v in op.operands for _ in range(2)]
    if len(block.args) != len(arguments):
        count, expected = len(block.args), len(arguments)
        raise error("E8005", f"a region takes {count} values, expected {expected}", region=0, expected=expected, actual=count)
    for columns in (argument_columns(block), computed_columns(block)):
        dtypes = [to.spec_of(left).dtype for left, _ in columns]
        for ties, total in product((False, True), repeat=2):
            if (order := sort_order(block, columns, dtypes, total=total, ties=ties)) is not None:
                return to.computed(block, arguments, shape, [left for left, _ in columns]), order, total
    raise Refused("a comparator that does not order the operands", "compare one to three keys of them, each up or down")


def _places(to: StablehloConverter, key: SSAValue, axis: int, descending: bool) -> SSAValue:
    """The stable permutation that sorts a key along `axis`."""
    size = to.shape(key)[axis]
    if not isinstance(size, int):
        raise Refused("a sort of several operands along a dimension whose size is not known")
    return to.add(ptir.TopKOp(key, k=size, axis=axis, largest=descending, indices_dtype=SI32)).results[1]


ORDERING: dict[str, StablehloRow | Refused] = {"stablehlo.sort": _sort}
