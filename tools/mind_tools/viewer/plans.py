"""The memory plans that a page shows: of every function of a program, as buffers or as an executor lays them out."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.func import FuncOp

from mind_dialect.errors import MindError
from mind_dialect.program import functions, shown_name

from ..diagnostics import as_coded
from ..memory_report import buffer_plan, memory_plan
from .page import Plan
from .recording import Planned


def plans(planned: Planned, executor: str | None, function: str | None, sizes: Mapping[str, int]) -> list[Plan]:
    """
    Return the plans of the functions of a program that have bodies, or of the one that is named.

    Without an executor a plan is of the buffers of the program as it stands, and nothing is compiled. With one the function is
    compiled for it, and called once if its code depends on sizes. What has no plan has the reason instead; E6002 for an executor
    that is not there, E7003 for an unknown function.
    """
    from mind_runtime.compilation import find_function

    module = planned.module
    found = [f for f in functions(module) if f.body.blocks] if function is None else [find_function(module, function)]
    return [_plan(planned, func, executor, sizes) for func in found]


def _plan(planned: Planned, func: FuncOp, executor: str | None, sizes: Mapping[str, int]) -> Plan:
    module, name = planned.module, func.sym_name.data
    shown = f"@{shown_name(name)}"
    try:
        if executor is None:
            return Plan(shown, buffer_plan(func, sizes, planned.names))
        from mind_runtime import compile
        from mind_runtime.agreement import draw_arguments

        program = compile(module, name, executor)
        arguments = draw_arguments(module, name, 0, sizes)
        return Plan(shown, memory_plan(program, func, arguments), notes=program.explain())
    except (MindError, RecursionError, MemoryError, ValueError) as e:
        coded = as_coded(e, "memory plan")
        if coded.code == "E6002":
            raise
        return Plan(shown, None, f"{coded.code} {coded.message}")
