"""Building blocks of patterns: a match and its replacement, factors, means, values stretched along axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TypeVar

from xdsl.ir import Block, Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.elements import UnfitError
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import Kind

from ...fusion.edit import FusionEdit
from ..building import only_units, spec_of, uniform
from ..rewrites.casts import FLOATS

OpT = TypeVar("OpT", bound=ptir.PtirOp)


class MismatchError(Exception):
    """Ops do not have the form that is looked for, as far as this can tell; the message may say why."""


@dataclass(frozen=True)
class Match:
    """
    Ops that together are a known function: `root`, whose result is the function's, and those that only it needs.

    The match holds only if nothing else uses what is `inside`. `build` makes the op that takes the place of them all.
    """

    root: ptir.PtirOp
    inside: list[ptir.PtirOp]
    build: Callable[[Match], ptir.PtirOp] = field(compare=False)

    def is_closed(self) -> bool:
        """Return whether the values inside are used by the ops of the match alone."""
        members: set[Operation] = {self.root, *self.inside}
        return all(use.operation in members for op in self.inside for result in op.results for use in result.uses)


def made_by(value: SSAValue, cls: type[OpT]) -> OpT | None:
    """The op of class `cls` that `value` is the result of."""
    return value.owner if isinstance(value.owner, cls) else None


def is_float(value: SSAValue) -> bool:
    """Return whether the elements of `value` are floats."""
    return spec_of(value).dtype.kind is Kind.FLOAT


def is_near(value: SSAValue, number: float) -> bool:
    """
    Return whether every element of `value` is `number`, rounded to the dtype or off by the last digit.

    Builders compute such constants in the dtype or in a wider one.
    """
    found, dtype = uniform(value), spec_of(value).dtype
    if not isinstance(found, float) or dtype.kind is not Kind.FLOAT:
        return False
    try:
        wanted = dtype.element.check(number)
    except UnfitError:
        return False
    last_digit = abs(number) * 2.0 ** (1 - FLOATS[dtype.name].precision) if dtype.bits >= 32 else 0.0
    return found == wanted or abs(found - number) <= last_digit


def factor(value: SSAValue) -> tuple[ptir.PtirOp, SSAValue, float] | None:
    """The op, x and number of `x * number`, `number * x` or `x / number`."""
    op = value.owner
    if isinstance(op, ptir.MulOp):
        for x, c in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            if isinstance(number := uniform(c), float):
                return op, x, number
    elif isinstance(op, ptir.DivOp) and isinstance(number := uniform(op.rhs), float) and abs(number) > 0:
        return op, op.lhs, 1 / number
    return None


def times(value: SSAValue, number: float) -> tuple[ptir.PtirOp, SSAValue] | None:
    """The op and x of `x * number`, `number * x` or `x / (1 / number)`."""
    op = value.owner
    if isinstance(op, ptir.MulOp):
        for x, c in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            if is_near(c, number):
                return op, x
    elif isinstance(op, ptir.DivOp) and is_near(op.rhs, 1 / number):
        return op, op.lhs
    return None


def reduced(value: SSAValue, kind: str) -> tuple[ptir.ReduceOp, tuple[int, ...]] | None:
    """The reduction of that kind and its axes, if it gives the dtype of its operand."""
    op = made_by(value, ptir.ReduceOp)
    if op is None or op.values()["kind"] != kind or spec_of(op.x).dtype is not spec_of(op.result).dtype:
        return None
    return op, op.values()["axes"]


def stretched(value: SSAValue, axes: Sequence[int]) -> tuple[SSAValue, list[ptir.PtirOp]] | None:
    """
    Return the value that `value` repeats along `axes` and nowhere else, and the views between: a broadcast, perhaps reshapes.

    The views give what is repeated an extent of 1 there; dropping such extents is all that reshapes do here.
    """
    shape, last = spec_of(value).shape, made_by(value, ptir.BroadcastToOp)
    if last is None:
        return None
    views: list[ptir.PtirOp] = [last]
    x = last.x
    while len(views) < 3 and (view := made_by(x, ptir.ReshapeOp)) is not None:
        views.append(view)
        x = view.x
    thin = spec_of(last.x).shape
    kept = tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    if (1,) * (len(shape) - len(thin)) + thin != kept or not all(map(only_units, views[1:])):
        return None
    return x, views


# Fusions


def fused(pattern: str) -> Callable[[Match], ptir.PtirOp]:
    """A builder of fusions of a pattern."""

    def build(match: Match) -> ptir.PtirOp:
        return fusion([*match.inside, match.root], [match.root.results[0]], pattern)

    return build


def fusion(ops: Sequence[Operation], results: Sequence[SSAValue], pattern: str | None = None) -> ptir.FusionOp:
    """
    A fusion of copies of `ops`, given in an order in which each comes after what it uses, that gives `results`.

    Constants of one element everywhere, and broadcasts of what is outside, are copied in, where they are cheaper made than
    read: not for products.
    """
    edit, members = FusionEdit(), set[Operation | Block](ops)

    def copy(op: Operation, makes: Callable[[Operation], bool]) -> None:
        for value in op.operands:
            if value in edit.inner:
                continue
            owner = value.owner
            assert owner not in members, "an op comes before what it uses"
            if isinstance(owner, Operation) and makes(owner):
                copy(owner, is_fill)
            else:
                edit.read(value)
        edit.copy(op)

    for op in ops:
        copy(op, is_no_view if isinstance(op, ptir.DotGeneralOp) else is_view)
    new = edit.fusion(results, location=ops[-1].location, pattern=pattern)
    for old, result in zip(results, new.results, strict=True):
        result.name_hint = old.name_hint
    return new


def is_view(op: Operation) -> bool:
    """Return whether a fusion makes the result of `op` itself."""
    return isinstance(op, ptir.BroadcastToOp) or is_fill(op)


def is_fill(op: Operation) -> bool:
    """Return whether `op` is a constant that is one element everywhere."""
    if not isinstance(op, ptir.ConstantOp):
        return False
    literal = op.literal
    return len(literal.data.data) == literal.spec[0].size


def is_no_view(op: Operation) -> bool:
    """False."""
    return False
