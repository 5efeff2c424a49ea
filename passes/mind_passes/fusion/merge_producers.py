"""
Fusions are merged into their only consumer, where that is one kernel still.

Fusion kept them apart because of an op between that moves elements, or because an op was alone. No element is computed much more
often than before: what would be repeated stays a kernel of its own. Linear in ops, because bodies are bounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import ptir, register
from mind_dialect.dominance import walk
from mind_dialect.ptir import FUSIBLE, TARGETED, ConvolutionOp, FusionOp, ScatterReduceOp

from ..ptir.building import spec_of, substitute
from ..ptir.failing import can_fail
from .kernels import IsKernel, always
from .merge_rows import merged_fusion

MOST_OPS = 96
"""At most so many ops are in a merged fusion."""
MOST_REPEATED = 4
"""At most so many times an element is computed."""
TOTAL: frozenset[type[Operation]] = frozenset({ptir.TransposeOp, ptir.ReverseOp, ptir.TileOp, ptir.ConcatOp, ptir.PadOp})
"""Ops that move elements and read every element of their operands, so that a failure in computing one is noticed."""
_PRODUCTS = (ConvolutionOp,)
"""Ops that read their operands many times, and whose kernels continue with each result."""
_POINTWISE = ("elementwise", "view")


def merge_producers(module: Operation, is_kernel: IsKernel = always) -> None:
    """Merge fusions of static shape inside `module` into the fusions that alone use them, where these are kernels still."""
    for user in [op for op in walk(module) if isinstance(op, FusionOp)]:
        current: FusionOp | None = user
        while current is not None:
            current = _with_producer(current, is_kernel)


def _with_producer(user: FusionOp, is_kernel: IsKernel) -> FusionOp | None:
    for producer in dict.fromkeys(v.owner for v in user.operands):
        if isinstance(producer, FusionOp) and producer.parent is user.parent and _is_wanted(producer, user):
            merged = merged_fusion((producer, user))
            if not is_kernel(merged):
                merged.erase()  # drops its uses
                continue
            substitute(user, merged)
            producer.detach()
            producer.erase()
            return merged
    return None


def _is_wanted(producer: FusionOp, user: FusionOp) -> bool:
    """Return whether `producer` is pointwise, for `user` alone, which reads every element, and few of them repeatedly."""
    inner, outer = (list(op.body.block.ops)[:-1] for op in (producer, user))
    if any(use.operation is not user for v in producer.results for use in v.uses) or len(inner) + len(outer) > MOST_OPS:
        return False
    if not all(spec_of(v).is_static for op in (*inner, *outer) for v in op.results):
        return False
    if any(type(op) in _PRODUCTS for op in outer):
        return False
    if any(FUSIBLE.get(type(op)) not in _POINTWISE and not _moves(op) for op in inner):
        simple = all(FUSIBLE.get(type(op)) in _POINTWISE for op in outer)
        return simple and any(type(op) in _PRODUCTS for op in inner) and _is_taken_once(producer, outer)
    fails = any(map(can_fail, inner))
    if fails and any(TARGETED.get(type(op)) is not None and type(op) not in TOTAL for op in outer):
        return False
    if not fails and len(inner) <= MOST_REPEATED and all(_count(v) == 1 for v in producer.results):
        return True  # a number is cheaper rematerialized than written and read
    most = max((_count(v) for op in outer for v in op.results), default=0)
    return most <= MOST_REPEATED * min(_count(v) for v in producer.results)


def _moves(op: Operation) -> bool:
    """Return whether an op moves elements."""
    return TARGETED.get(type(op)) == "map" or isinstance(op, ScatterReduceOp)


def _is_taken_once(producer: FusionOp, outer: list[Operation]) -> bool:
    """Return whether the users of a product have the size of its result."""
    sizes = {_count(v) for v in producer.results}
    return len(sizes) == 1 and max((_count(v) for op in outer for v in op.results), default=0) <= max(sizes)


def _count(value: SSAValue) -> int:
    """Return the number of elements of a value of static shape."""
    return prod(n for n in spec_of(value).shape if isinstance(n, int))


@dataclass(frozen=True)
class PtirMergeProducersPass(ModulePass):
    """Merge fusions into their only users, unless these would compute elements several times."""

    name = "mind-ptir-merge-producers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        merge_producers(op)
