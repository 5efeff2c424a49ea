"""Shared by the derivative rules of several families: an op on other operands, tangents of ops that are linear in operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from xdsl.ir import SSAValue

from mind_dialect.op import value_of
from mind_dialect.ptir import MaximumOp, PtirOp
from mind_dialect.ptir.types import Kind, PtirDType, part_of

from ...ptir.construct import Value, add, cast, full, make, spec
from ..rules import Tangent

OpT = TypeVar("OpT", bound=PtirOp)


def zeros(like: Value) -> Value:
    return full(0.0, like)


def applied(op: OpT, given: Mapping[int, Value], **changed: Any) -> OpT:
    """The op itself on other operands, by position, and perhaps with other properties; its type stays."""
    operands = [value_of(given[i]) if i in given else x for i, x in enumerate(op.operands)]
    properties = {**op.properties, **op.store_properties(changed)}
    return type(op).create(operands=operands, properties=properties, result_types=op.result_types)


def jointly(*positions: int) -> Tangent:
    """The tangent of an op that is linear in operands together: the op on their tangents, zeros for what does not vary."""

    def tangent(op: PtirOp, ts: Sequence[SSAValue | None]) -> Value:
        return applied(op, {i: zeros(op.operands[i]) if (t := ts[i]) is None else t for i in positions})

    return tangent


def product_rule(op: PtirOp, ts: Sequence[SSAValue | None]) -> Value:
    """The tangent of an op that is linear in each operand by itself: the sum of the op on each tangent in its place."""
    return sum_of([applied(op, {i: t}) for i, t in enumerate(ts) if t is not None])


def sum_of(parts: Sequence[Value]) -> Value:
    """The sum of one or more values."""
    found = parts[0]
    for part in parts[1:]:
        found = add(found, part)
    return found


def adjoint_in_kind(g: Value, dtype: PtirDType) -> Value:
    """The adjoint of what was real before it became complex: the real part; others as they are."""
    is_complex = spec(g).dtype.kind is Kind.COMPLEX
    return cast(g, part_of(spec(g).dtype)) if is_complex and dtype.kind is not Kind.COMPLEX else g


def at_least_one(count: Value) -> Value:
    """A count to divide by, where some groups may be empty."""
    return make(MaximumOp, count, full(1.0, count))
