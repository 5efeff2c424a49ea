"""
Batching rules, and the helpers that they are written with.

A rule gets an op of the function for one example, the operands for the batch, which of them are batched (a batch dimension of
extent `size` at axis 0, the others as they were), and makes the op or ops whose results are batched at axis 0. It inserts
nothing: the driver does, and it also copies what no rule is asked for, an op without batched operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.op import value_of
from mind_dialect.ptir import IotaOp, PtirOp, ReshapeOp, ScanOp, YieldOp
from mind_dialect.ptir.types import SI64, read_type, tensor_type
from mind_dialect.ptir_shapes import INFER, UNKNOWN, Dim, Dims

from ..ptir.construct import broadcast, dims, make, reshape, spec, transpose

OpT = TypeVar("OpT", bound=PtirOp)
Value = SSAValue | Operation
Values = Sequence[SSAValue]
Flags = Sequence[bool]
Rule = Callable[[Any, Values, Flags, Dim], "Value | Sequence[Value]"]
"""From the op, its operands for the batch, which are batched, and the extent of the batch, to the batched results."""
LOOP = "mind.vmap_loop"
"""On a scan that runs an op once per example: the name of that op."""


@dataclass(frozen=True)
class Row:
    """A rule, and, if it may fall back to a loop over the examples, when."""

    rule: Rule
    loops: str | None = None


# Types


@lru_cache(maxsize=4096)
def batched_type(type: Attribute, size: Dim, axis: int = 0) -> Attribute:
    """A type with the batch dimension at `axis`."""
    dtype, shape = read_type(type)
    return tensor_type(dtype, (*shape[:axis], size, *shape[axis:]))


def rank(x: SSAValue) -> int:
    """Return the number of dimensions of a value."""
    return len(read_type(x.type).shape)


def after(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Axes of an example of this rank, some counted from the end, as axes of the batch."""
    return tuple(a % rank + 1 for a in axes)


# The batch axis


def spread(x: SSAValue, batched: bool, size: Dim) -> Value:
    """`x` with the batch axis at 0: repeated if it has none; E5006 for a dimension without a name."""
    return x if batched else broadcast(x, (size, *dims(x)))


def spread_all(xs: Values, flags: Flags, size: Dim) -> list[Value]:
    """`spread` of each."""
    return [spread(x, flag, size) for x, flag in zip(xs, flags, strict=True)]


def to_front(x: Value, axis: int) -> Value:
    """`x` with one axis moved to the front."""
    n = len(spec(x).shape)
    return transpose(x, (axis, *(a for a in range(n) if a != axis)))


def from_front(x: Value, axis: int) -> Value:
    """`x` with its first axis moved to `axis`."""
    n = len(spec(x).shape)
    return transpose(x, (*range(1, axis + 1), 0, *range(axis + 1, n)))


# Making ops


def again(op: OpT, operands: Sequence[Value], size: Dim, at: int = 0, /, **changed: Any) -> OpT:
    """The op on other operands, some properties changed, with the batch dimension at axis `at` of its results."""
    properties = dict(op.properties)
    properties.update(op.store_properties(changed))
    return type(op).create(
        operands=[value_of(v) for v in operands],
        properties=properties,
        attributes=dict(op.attributes),
        result_types=[batched_type(v.type, size, at) for v in op.results],
    )


def reshape_to(x: Value, shape: Dims) -> Value:
    """`x` under another shape, one dimension of which may be unknown: it follows from the others."""
    if UNKNOWN not in shape:
        return reshape(x, shape)
    stated = tuple(INFER if d == UNKNOWN else d for d in shape)
    return make(ReshapeOp, x, type=tensor_type(spec(x).dtype, shape), new_shape=stated)


def infers(merged: Dim, rest: Dims) -> bool:
    """
    Return whether a reshape can work out the extent of merged axes from the number of elements: not where there may be none.

    >>> infers("?", (3, "B")), infers("?", (0, 3)), infers(6, (0, 3))
    (True, False, True)
    """
    return merged != UNKNOWN or 0 not in rest


# The loop


def by_loop(op: Operation, xs: Values, flags: Flags, size: Dim) -> list[SSAValue]:
    """
    The op run once per example, in a scan over the batch: what stands for an op without a direct form.

    What is not batched is carried through unchanged; with nothing else to scan, the examples are counted. The scan says in
    `mind.vmap_loop` which op it runs.
    """
    order = sorted(range(len(xs)), key=lambda i: flags[i])
    still = sum(not flag for flag in flags)
    counted = [] if any(flags) else [make(IotaOp, type=tensor_type(SI64, (size,)), shape=(size,), dtype=SI64, axis=0).results[0]]
    block = Block(arg_types=[*(op.operands[i].type for i in order), *(tensor_type(SI64, ()) for _ in counted)])
    inside = dict(zip(order, block.args, strict=False))
    inner = op.clone()
    inner.operands = [inside[i] for i in range(len(xs))]
    block.add_op(inner)
    block.add_op(YieldOp.create(operands=[*block.args[:still], *inner.results]))
    carried = [xs[i].type for i in order[:still]]
    loop = ScanOp.create(
        operands=[*(xs[i] for i in order), *counted],
        properties=ScanOp.store_properties({"carry_count": still, "scan_output_count": len(op.results)}),
        attributes={LOOP: StringAttr(op.name)},
        result_types=[*carried, *(batched_type(r.type, size) for r in op.results)],
        regions=[Region(block)],
    )
    return list(loop.results[still:])


__all__ = [
    "LOOP",
    "Flags",
    "Row",
    "Rule",
    "Value",
    "Values",
    "after",
    "again",
    "batched_type",
    "by_loop",
    "from_front",
    "infers",
    "rank",
    "reshape_to",
    "spread",
    "spread_all",
    "to_front",
]
