"""The buffer plan in a program's text: as attributes that passes and tests can read, or as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.target import Target

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.program import functions

from .conversion import BufferizeOptions, FunctionPlan, Usage, plan_buffers, plan_function, plan_text

PLAN, BUFFERS = "mind.buffer_plan", "mind.buffers"


def plan_attributes(plan: FunctionPlan) -> Mapping[str, Attribute]:
    """The totals of a plan, its slots, and the buffers of the function's parameters."""
    sizes = {
        "peak_bytes": plan.peak_bytes,
        "slot_bytes": plan.slot_bytes,
        "parameter_bytes": plan.bytes_of(Usage.PARAMETER),
        "constant_bytes": plan.bytes_of(Usage.CONSTANT),
        "result_bytes": plan.bytes_of(Usage.RESULT),
        "unknown_sizes": plan.unknown,
    }
    texts = {"slots": [str(s) for s in plan.slots], "parameters": [str(b) for b in plan.buffers if Usage.PARAMETER in b.usage]}
    lists = {name: ArrayAttr([StringAttr(t) for t in found]) for name, found in texts.items()}
    return {**{name: IntegerAttr(n, i64) for name, n in sizes.items()}, **lists}


def _values_of(op: Operation) -> Iterator[SSAValue]:
    """The parameters of an op's regions, then its results."""
    for region in op.regions:
        for block in region.blocks:
            yield from block.args
    yield from op.results


@dataclass(frozen=True)
class PlanBuffersPass(ModulePass):
    """
    Note where values could live: live ranges, aliases, slots, peak bytes. Changes nothing else.

    `require-static=true` refuses dimensions without a size.
    """

    name = "mind-plan-buffers"

    require_static: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        options = BufferizeOptions(require_static_shapes=self.require_static)
        for func in functions(op):
            plan = plan_function(func, options)
            func.attributes[PLAN] = DictionaryAttr(plan_attributes(plan))
            for inner in walk(func):
                values = inner.results if inner is func else _values_of(inner)
                found = [plan.buffers[plan.values[v]] for v in values if v in plan.values]
                if found:
                    inner.attributes[BUFFERS] = ArrayAttr([StringAttr(str(buffer)) for buffer in found])


@dataclass(frozen=True)
class BufferPlanTarget(Target):
    """The buffer plan of every function as a table."""

    name = "mind-buffer-plan"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(f"{plan_text(plan_buffers(module))}\n")
