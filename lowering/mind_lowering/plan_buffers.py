"""The buffer plan in a program's text: as attributes that passes and tests can read, or as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.utils.target import Target

from mind_dialect import register
from mind_dialect.dominance import walk

from .buffer_plan import BufferizeOptions, FunctionPlan, Usage, plan_buffers, plan_function, plan_text, planned_functions

PLAN, BUFFERS = "mind.buffer_plan", "mind.buffers"


def plan_attributes(plan: FunctionPlan) -> Mapping[str, Attribute]:
    """Return the totals of a plan, and the buffers of the function's parameters."""
    sizes = {
        "peak_bytes": plan.peak_bytes,
        "parameter_bytes": plan.bytes_of(Usage.PARAMETER),
        "constant_bytes": plan.bytes_of(Usage.CONSTANT),
        "result_bytes": plan.bytes_of(Usage.RESULT),
        "unknown_sizes": plan.unknown,
    }
    parameters = [StringAttr(str(b)) for b in plan.buffers if Usage.PARAMETER in b.usage]
    return {**{name: IntegerAttr(n, i64) for name, n in sizes.items()}, "parameters": ArrayAttr(parameters)}


@dataclass(frozen=True)
class PlanBuffersPass(ModulePass):
    """
    Annotate functions with the arrays that a run on NumPy allocates, their live ranges and the peak memory.

    `require-static=true` refuses dimensions without a size.
    """

    name = "mind-plan-buffers"

    require_static: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        options = BufferizeOptions(require_static_shapes=self.require_static)
        plans = [(func, plan_function(func, options)) for func in planned_functions(op)]
        for func, plan in plans:
            func.attributes[PLAN] = DictionaryAttr(plan_attributes(plan))
            within = set(walk(func))
            found: dict[Operation, list[StringAttr]] = {}
            for buffer in plan.buffers:
                if buffer.origin is not None and buffer.origin in within:  # not of a function that is called
                    found.setdefault(buffer.origin, []).append(StringAttr(str(buffer)))
            for inner, texts in found.items():
                inner.attributes[BUFFERS] = ArrayAttr(texts)


@dataclass(frozen=True)
class BufferPlanTarget(Target):
    """Print the buffer plan of each function as a table."""

    name = "mind-buffer-plan"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(f"{plan_text(plan_buffers(module))}\n")
