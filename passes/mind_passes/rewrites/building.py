"""Helpers of every rewrite: the defining op of a value, type equality, and a new op in the place of another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from xdsl.ir import Attribute, SSAValue

from mind_dialect.core import CoreOp
from mind_dialect.types import Shape, read_type

OpT = TypeVar("OpT", bound=CoreOp)
Rule = Callable[[Any], SSAValue | CoreOp | None]
"""From an op to an existing value or a new op that may stand for it; None where the rule does not apply."""


def shape_of(value: SSAValue) -> Shape:
    """The shape of a value of a verified program."""
    return read_type(value.type)[1]


def is_integer(op: CoreOp) -> bool:
    """Return whether the result of `op` is a tensor of integers."""
    return not read_type(op.results[0].type)[0].is_float


def same_type(a: Attribute, b: Attribute) -> bool:
    """Equality of types, quick where both are one object."""
    return a is b or a == b


def in_place_of(op: CoreOp, cls: type[OpT], *operands: SSAValue, **values: Any) -> OpT:
    """An op of class `cls` that has the result type and the location of `op`; the caller answers for the type."""
    return cls.create(
        operands=operands,
        properties={name: cls.CODECS[name].attribute(value) for name, value in values.items()},
        result_types=[op.results[0].type],
        location=op.location,
    )
