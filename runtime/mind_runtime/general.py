"""The general program of a function with open sizes, on NumPy: what depends on constants alone is computed once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import read_type
from mind_dialect.verify import verify
from mind_lowering.core_to_ptir import is_core
from mind_lowering.numpy import is_lowered, lowered
from mind_passes.callees import calls_in
from mind_passes.ptir.split_constants import ConstantSplit, split_constants

from .compiled import Body, ComputedConstants, body_of

SMALLEST = 1 << 14
"""Arrays of fewer bytes are computed in each call."""
LARGEST = 1 << 30
"""So many bytes at most are kept; of a machine with little memory the eighth part."""


def general_body(func: FuncOp, donated: Collection[int], limit: int) -> tuple[Body, Sequence[Operation | None]]:
    """Return the body of a function for any sizes, and for each of its ops the op of the function that it comes from."""
    split = _split(func, limit)
    if split is None:
        made = lowered(func, donated)
        return body_of(made.func), made.origins
    made, constants = lowered(split.func, donated), body_of(lowered(split.constants).func)
    body = replace(body_of(made.func), computed=ComputedConstants(constants))
    return body, [op if op is None else split.origins.get(op) for op in made.origins]


def _split(func: FuncOp, limit: int) -> ConstantSplit | None:
    """The split of a function of PTIR with open sizes, if it computes on constants."""
    if len(func.body.blocks) != 1 or is_lowered(func) or is_core(func) or calls_in(func):
        return None
    verify(func)
    ops = func.body.block.ops
    if all(read_type(t).is_static for t in func.function_type.inputs) or not all(isinstance(op, PtirOp) for op in list(ops)[:-1]):
        return None
    return split_constants(func, SMALLEST, min(LARGEST, limit // 8))
