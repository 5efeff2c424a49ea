"""
Operands of lowered ops: numbers, shapes, truths, and how each is read from a value.

    of a value of type     is lowered to
    !shape.size, index     `SizeOperand`: a number, and whether it is valid
    !shape.shape, extents  `Shape`: a number per extent, and whether it is valid
    i1, !shape.witness     `Holds`
    !shape.value_shape     `Paired`: a tensor and its shape
    all else               itself
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, TensorType
from xdsl.ir import SSAValue

from mind_dialect.errors import brief
from mind_dialect.shape.evaluate import Shaped
from mind_dialect.shape.foreign import constant_of
from mind_dialect.shape.lattice import MAX_RANK
from mind_dialect.shape.types import shaped_extents

from .numbers import VALID, Check, Number, Numbers, Truth


class Refused(Exception):
    """An op has no lowering, for the reason in the message."""


class SizeOperand(NamedTuple):
    """A number; where it is valid, `natural` says that it is not negative."""

    n: Number
    check: Check = VALID
    natural: bool = True


class Shape(NamedTuple):
    """Extents, which are not negative where the shape is valid."""

    extents: Sequence[Number]
    check: Check = VALID


class Holds(NamedTuple):
    """A truth, or whether a constraint holds."""

    truth: Truth
    reasons: tuple[str, ...] = ()


class Paired(NamedTuple):
    """A tensor and its shape."""

    value: SSAValue
    shape: Shape


Lowered = SizeOperand | Shape | Holds | Paired | SSAValue


def size(to: Numbers, x: Lowered) -> SizeOperand:
    """A size or an index; an index may be negative."""
    return x if isinstance(x, SizeOperand) else SizeOperand(cast(SSAValue, x), VALID, to.is_natural(cast(SSAValue, x)))


def truth(x: Lowered) -> Truth:
    """A truth."""
    return x.truth if isinstance(x, Holds) else cast(SSAValue, x)


def shape(to: Numbers, x: Lowered) -> Shape:
    """A shape, or a list of integers as one; refused if nothing says how long it is."""
    if isinstance(x, Shape):
        return x
    if isinstance(x, Paired):
        x = x.value
    assert isinstance(x, SSAValue)
    elements = _elements(to, x)
    return Shape(elements, to.all_of([to.natural(n, "extent") for n in elements]))


def _elements(to: Numbers, x: SSAValue) -> Sequence[Number]:
    """The elements of a list of integers."""
    owner = x.owner
    match owner:
        case arith.ConstantOp():
            found = constant_of(owner.value)
            if isinstance(found, Shaped) and isinstance(found.contents, tuple):
                return cast("tuple[int, ...]", found.contents)
        case tensor.CastOp() if isinstance(owner.source.type, TensorType):
            return _elements(to, owner.source)
        case tensor.FromElementsOp() if isinstance(owner.result.type.element_type, IndexType):
            return [known(v) for v in owner.elements]
        case _:
            pass
    extents = shaped_extents(x.type)
    if extents is None or len(extents) != 1:
        raise Refused(f"{brief(x.type)} is not a list of extents")
    if extents[0] == DYNAMIC_INDEX:
        raise Refused(f"the rank is unknown: the length of a {x.type} is not known")
    if extents[0] > MAX_RANK:
        raise Refused(f"rank {extents[0]} is more than {MAX_RANK}")
    return [to.element(x, i) for i in range(extents[0])]


def known(value: SSAValue) -> Number:
    """A constant as the number that it is."""
    owner = value.owner
    found = constant_of(owner.value) if isinstance(owner, arith.ConstantOp) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else value


def shape_of(to: Numbers, x: Lowered) -> Shape:
    """The shape of a tensor, memref or vector."""
    if isinstance(x, Paired):
        return x.shape
    assert isinstance(x, SSAValue)
    extents = shaped_extents(x.type)
    if extents is None:
        raise Refused(f"the rank is unknown: {brief(x.type)} is unranked")
    return Shape([to.dim(x, i) if n == DYNAMIC_INDEX else n for i, n in enumerate(extents)])


def made(extents: Sequence[Number], check: Check = VALID) -> Shape:
    """A shape; refused beyond the highest rank."""
    if len(extents) > MAX_RANK:
        raise Refused(f"rank {len(extents)} is more than {MAX_RANK}")
    return Shape(extents, check)
