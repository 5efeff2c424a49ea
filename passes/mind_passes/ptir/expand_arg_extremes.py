"""
The places of extremes as reductions, for targets whose kernels fuse these: an `arg_max` then reads what its operand is made of.

It is the least index of the elements that equal the extreme, or that are NaN, which the extreme is then, too.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import ArgMaxOp, ArgMinOp, IotaOp, OrOp, PtirOp, ReduceOp
from mind_dialect.ptir.types import SI32, SI64, Kind

from .building import put_before
from .construct import Value, broadcast, compare, filled, make, reduce, spec, static, where
from .dead_ops import replace_values


def place_of_extreme(op: ArgMaxOp | ArgMinOp) -> Value:
    """Return the result of an op of static shape."""
    x, values = op.x, op.values()
    shape = static(x)
    axis: int = values["axis"] % len(shape)
    most = reduce("max" if isinstance(op, ArgMaxOp) else "min", x, [axis], keepdims=True)
    found: Value = compare("equal", x, broadcast(most, shape))
    if spec(x).dtype.kind is Kind.FLOAT:
        found = make(OrOp, found, compare("not_equal", x, x))
    count = SI32 if shape[axis] < 1 << 31 else SI64
    index = IotaOp(shape=shape, dtype=count, axis=axis)
    chosen = where(found, index, filled(shape[axis], count, shape))
    return ReduceOp(chosen, kind="min", axes=[axis], keepdims=values["keepdims"], out_dtype=values["output_dtype"])


def expand_arg_extremes(module: Operation, is_computed: Callable[[PtirOp], bool] = lambda op: True) -> bool:
    """Replace the places of extremes, of static shape, that `is_computed` holds for; return whether there were any."""
    became: dict[SSAValue, SSAValue] = {}
    for op in [op for op in walk(module) if isinstance(op, ArgMaxOp | ArgMinOp)]:
        if spec(op.x).is_static and static(op.x)[op.values()["axis"]] and is_computed(op):
            became[op.result] = new = put_before(op, place_of_extreme(op))
            new.name_hint = op.result.name_hint
    return replace_values(module, became)


@dataclass(frozen=True)
class PtirExpandArgExtremesPass(ModulePass):
    """Replace the places of extremes, of static shape, by reductions."""

    name = "mind-ptir-expand-arg-extremes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        expand_arg_extremes(op)
