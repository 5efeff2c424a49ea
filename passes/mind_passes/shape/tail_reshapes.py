"""
Tails of reshapes: one that merges or splits a dimension with a tail takes each element from where the sizes put it.

    reshape %x new_shape = [B*T, 4]   of [B, T, 4]: row i is that of (i / T_size, i mod T_size)

In a padded array, tails are between the rows that follow each other in the array of the sizes. Elements of dimensions without
tails that come last stay together as rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import gcd

from xdsl.ir import SSAValue

from mind_dialect.extents.dims import product_dims
from mind_dialect.ptir import AddOp, DivOp, IotaOp, MaximumOp, MinimumOp, RemainderOp, ReshapeOp, SubOp, TakeOp, TileOp
from mind_dialect.ptir.base import OneResultOp
from mind_dialect.ptir.models import RandomOp
from mind_dialect.ptir.types import SI64
from mind_dialect.ptir_shapes import UNKNOWN, Dim, Dims

from ..ptir.building import in_place_of, put_before, spec_of, substitute
from ..ptir.construct import Value, broadcast, elementwise, make, mul, reshape, scalar, typed
from .tail_masks import Masks
from .tail_sizes import Put, Refused
from .tail_windows import bound


def reshapes(masks: Masks, op: ReshapeOp) -> None:
    """Leave a reshape that moves no element across an axis with a tail; else take the elements by computed places."""
    given, made = spec_of(op.x), spec_of(op.result)
    if _runs(given.shape) == _runs(made.shape) or (_leads(given.shape) and _leads(made.shape)):
        return
    (before, n), (after, m) = _split(given.shape), _split(made.shape)
    if n == 0 or m == 0:  # no elements
        return
    row = gcd(n, m)
    before, after = [*before, n // row], [*after, m // row]
    total = product_dims(before)
    if total == UNKNOWN:
        raise Refused(f"reshape merges {', '.join(map(str, before))} to a size that is too large an expression")
    put: Put = partial(put_before, op)
    places = _places(masks, put, before, after, total)
    rows = put(reshape(op.x, (total, row)))
    found = put(make(TakeOp, rows, places, type=typed(given.dtype, (*after, row))))
    substitute(op, make(ReshapeOp, found, type=op.result.type, new_shape=made.shape))


def repeats(masks: Masks, op: TileOp) -> None:
    """Repeat a dimension with a tail as a new one before it, which a reshape merges with it."""
    given, counts = spec_of(op.x).shape, op.values()["repeats"]
    if 0 in counts or not any(isinstance(n, str) and r != 1 for n, r in zip(given, counts, strict=True)):
        return
    pairs = [((1, n), (r, n)) if r != 1 else ((n,), (n,)) for n, r in zip(given, counts, strict=True)]
    thin, wide = (tuple(n for pair in side for n in pair) for side in zip(*pairs, strict=True))
    repeated = put_before(op, broadcast(put_before(op, reshape(op.x, thin)), wide))
    _replace_by_reshape(masks, op, repeated)


def draws(masks: Masks, op: RandomOp) -> None:
    """Draw in a row, as element `i` is the same for each number of elements, and put the numbers where the sizes do."""
    shape = spec_of(op.result).shape
    if _leads(shape):
        return
    count = product_dims(shape)
    if count == UNKNOWN:
        raise Refused(f"{op.OPCODE} of {', '.join(map(str, shape))}, whose product is too large an expression")
    row = in_place_of(op, type(op), type=typed(spec_of(op.result).dtype, (count,)), **{**op.values(), "shape": (count,)})
    put_before(op, row)
    _replace_by_reshape(masks, op, row.result)


def _replace_by_reshape(masks: Masks, op: OneResultOp, x: SSAValue) -> None:
    placed = in_place_of(op, ReshapeOp, x, new_shape=spec_of(op.result).shape)
    substitute(op, placed)
    reshapes(masks, placed)


def _runs(shape: Dims) -> list[int | str]:
    """Return the dimensions with tails, and the number of elements before, between and after them."""
    found: list[int | str] = [1]
    for n in shape:
        if isinstance(n, int):
            last = found[-1]
            assert isinstance(last, int)
            found[-1] = last * n
        else:
            found += [n, 1]
    return found


def _leads(shape: Dims) -> bool:
    """Return whether all elements of a size come before the tail: it is of the first dimension that has more than one element."""
    runs = _runs(shape)
    return runs[0] == 1 and len(runs) <= 3


def _split(shape: Dims) -> tuple[list[Dim], int]:
    """Return the dimensions up to the last one with a tail, and the number of elements of the others."""
    count = next((i for i, n in enumerate(reversed(shape)) if isinstance(n, str)), len(shape))
    rest = _runs(shape)[-1]
    assert isinstance(rest, int)
    return list(shape[: len(shape) - count]), rest


def _places(masks: Masks, put: Put, before: Sequence[Dim], after: Sequence[Dim], total: Dim) -> SSAValue:
    """Return for each row of the result the number of the row of a padded operand that it is; of tails that of some row."""
    shape = tuple(after)

    def spread(n: Value) -> Value:
        return broadcast(put(n), shape)

    number: Value = spread(scalar(0, SI64))
    for axis, n in enumerate(after):
        index = make(IotaOp, type=typed(SI64, shape), shape=shape, dtype=SI64, axis=axis)
        number = put(elementwise(AddOp, put(mul(put(number), spread(masks.sizes.of(n, put)))), index))
    place, stride = put(spread(scalar(0, SI64))), put(scalar(1, SI64))
    for i, n in reversed(list(enumerate(before))):
        size = put(spread(elementwise(MaximumOp, masks.sizes.of(n, put), scalar(1, SI64))))
        index = put(number) if i == 0 else put(elementwise(RemainderOp, number, size))
        number = put(elementwise(DivOp, number, size))
        place = put(elementwise(AddOp, place, mul(index, spread(stride))))
        stride = put(mul(stride, bound(n)))
    last = put(elementwise(SubOp, bound(total), scalar(1, SI64)))
    return put(elementwise(MinimumOp, place, spread(last)))
