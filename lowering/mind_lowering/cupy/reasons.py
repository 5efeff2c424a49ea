"""Reasons why ops run as calls of the array library and not in our kernels, which `--explain` prints."""

from __future__ import annotations

from collections import Counter

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp

from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.ptir import FUSIBLE, TARGETED, FusionOp, PtirOp
from mind_passes.fusion.absorb_views import STRIDED
from mind_passes.ptir.patterns.matching import fusion
from mind_passes.ptir.patterns.product_epilogue import epilogue_of
from mind_passes.ptir.recompute import KEPT

from ..numpy import is_lowered
from .kernels.patterns import why_no_kernel
from .kernels.sorts import is_sorted_here
from .options import DEFAULT, CupyOptions
from .prepare import prepared
from .products.attention import is_attention

LIBRARY: dict[type[PtirOp], str] = {
    ptir.DotGeneralOp: "cuBLAS",
    ptir.FftOp: "cuFFT",
    ptir.RaggedDotOp: "cuBLAS multiplies one group at a time",
    ptir.SortOp: "CuPy sorts",
    ptir.TopKOp: "CuPy sorts",
    ptir.ArgMinOp: "CuPy has a function for it",
    ptir.WindowArgOp: "CuPy compares values and indices, one axis after the other",
    **dict.fromkeys((ptir.GatherWindowsOp, ptir.ScatterWindowsOp), "its dimension numbers are general"),
    ptir.DimensionSizeOp: "its result is a size, which the host knows",
    ptir.DigammaOp: "its code is too long for a kernel, and it is rare",
    **dict.fromkeys(ptir.COMPLEX_OPS, "kernels do not support complex numbers"),
}
"""Ops that are calls of array functions, and why."""

_FREE = (*STRIDED, ptir.ReshapeOp, ptir.BroadcastToOp, ptir.ConstantOp, ptir.IotaOp, ptir.StopGradientOp, ptir.YieldOp)
"""Ops that cost nothing where they stand alone."""
_FLOW = (ptir.CondOp, ptir.WhileOp, ptir.ScanOp)


def reasons(func: FuncOp, options: CupyOptions = DEFAULT) -> list[str]:
    """
    A line for each kind of op that is a call, and how many there are, in the order of the text; none for what came lowered.

    Before them, how many attentions there are whose weights are made again for their gradient.
    """
    if is_lowered(func):
        return []
    found: Counter[str] = Counter()
    again = 0
    for op in walk(prepared(func, options)):
        again += isinstance(op, FusionOp) and len(op.results) > 1 and is_attention(op.body.block)
        held = isinstance(op.parent_op(), FusionOp)
        if isinstance(op, FusionOp) and (merged := epilogue_of(op)) is not None:
            found[f"dot_general with {merged.form}: cuBLASLt"] += 1
        if isinstance(op, PtirOp) and not held and not isinstance(op, (FusionOp, *_FREE, *_FLOW)) and not is_staged(op):
            found[f"{op.OPCODE}: {reason(op)}"] += 1
    calls = [f"call of {line}" if count == 1 else f"{count} calls of {line}" for line, count in found.items()]
    return [f"weights of attentions that are recomputed for a gradient: {again}", *calls] if again else calls


def is_staged(op: PtirOp) -> bool:
    """Return whether an op is kernels of ours in a plan."""
    return isinstance(op, ptir.RandomOp) or is_sorted_here(op)


def reason(op: PtirOp) -> str:
    """Return the reason why an op outside of fusions is a call."""
    if isinstance(kept := op.attributes.get(KEPT), StringAttr):
        return f"{LIBRARY[type(op)]}, and weights are stored for a gradient: {kept.data}"
    if type(op) in LIBRARY:
        return LIBRARY[type(op)]
    if type(op) not in FUSIBLE and type(op) not in TARGETED:
        return "no kernel row takes it"
    why = why_no_kernel(fusion([op], op.results).body.block)
    return "a kernel that was not requested" if why is None else f"no kernel, {why}"
