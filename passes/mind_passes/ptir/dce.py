"""
Dead code elimination: ops whose results are unused go, and unused carries of loops and results of branches.

What is dead is in `dead_ops.py`, what of loops and branches is in `loop_carried.py`. Inputs of functions stay.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from mind_dialect import register

from .loop_carried import drop_unneeded


@dataclass(frozen=True)
class PtirDcePass(ModulePass):
    """Erase unused PTIR ops, carries of loops and results of branches. Inputs, and random ops, stay."""

    name = "mind-ptir-dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        drop_unneeded(op)
