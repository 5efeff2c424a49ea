"""The pass that lowers whole modules for CuPy, to calls and fusions, or to launches on memory that is assigned."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.errors import error
from mind_dialect.program import functions
from mind_dialect.ptir_program import SPEC_VERSION, VERSION_ATTRIBUTE
from mind_passes.ptir.failing import forget_origins

from .. import xp
from ..core_to_ptir import replace_body
from .kernels.call_kernels import call_kernels
from .lower import is_ours, lowered_for_cupy
from .options import CupyOptions
from .planning.planner import Unplanned, plan_function
from .source import cupy_source


def launches_of(func: FuncOp) -> FuncOp:
    """A function lowered for CuPy as the launches that run; E8001 where a dimension has no size."""
    source, kernels = cupy_source(func)
    try:
        return plan_function(func, kernels.launches(), calls=call_kernels(func, source.name, kernels)).func
    except Unplanned as e:
        raise error("E8001", f"@{func.sym_name.data} has no launches: {e}", name="?", extents=()).at(func, func.name) from None


@dataclass(frozen=True)
class LowerToCupyPass(ModulePass):
    """
    Lower functions of Core IR and PTIR to calls over an array namespace, each `ptir.fusion` to one CUDA kernel.

    The functions are optimised and fused first. `fast-reduce=true` lets updates of floats be combined in any order,
    `epilogues=true` lets cuBLASLt add biases and apply GELU as it writes products, `warp-groups=true` lets attention use `wgmma`.
    `launches=true` lowers them to the `launch` dialect: kernels, calls and copies on assigned memory; E8001 for a dimension
    without a size.
    """

    name = "mind-lower-to-cupy"

    fast_reduce: bool = False
    epilogues: bool = False
    warp_groups: bool = False
    launches: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        xp.register(ctx)
        register(ctx)
        options = CupyOptions(fast_reduce=self.fast_reduce, epilogues=self.epilogues, warp_groups=self.warp_groups)
        made = [(func, lowered_for_cupy(func, options=options).func) for func in functions(op) if is_ours(func)]
        for func, new in made:
            forget_origins(new)
            replace_body(func, launches_of(new) if self.launches else new)
        if made:  # Core IR has become PTIR, which says what its version is
            op.attributes.setdefault(VERSION_ATTRIBUTE, StringAttr(SPEC_VERSION))
