"""
Fusions that only one other uses become part of it where that is one kernel still: what was fused apart, because an op of places
or of one op alone stood between, is computed where it is read.

Nothing is computed much more often than before: what is repeated stays a kernel of its own. Linear in ops, as bodies are bounded.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from mind_dialect.dominance import walk
from mind_dialect.ptir import FUSIBLE, TARGETED, ConvolutionOp, FusionOp, PtirOp
from mind_passes.ptir.building import substitute

from ...merge_rows import merged_fusion
from ..kernels.body import spec
from ..kernels.failures import sites_of
from ..kernels.kernel import make_kernel
from ..kernels.maps import MAPS, TOTAL
from ..kernels.unsupported import Unsupported

MOST_JOINED = 96
"""So many ops at most are in a fusion that others joined."""
MOST_REPEATED = 4
"""So many times at most an element is computed."""
_PRODUCTS = (ConvolutionOp,)
"""Ops that read their operands many times, and whose kernels go on with each result."""


def join(module: ModuleOp) -> None:
    """Let fusions become part of those that use them."""
    for user in [op for op in walk(module) if isinstance(op, FusionOp)]:
        current: FusionOp | None = user
        while current is not None:
            current = _with_a_maker(current)


def _with_a_maker(user: FusionOp) -> FusionOp | None:
    for maker in dict.fromkeys(v.owner for v in user.operands):
        if isinstance(maker, FusionOp) and maker.parent is user.parent and _is_wanted(maker, user):
            made = _joined(maker, user)
            if made is None:
                continue
            substitute(user, made)
            maker.detach()
            maker.erase()
            return made
    return None


def _is_wanted(maker: FusionOp, user: FusionOp) -> bool:
    """Whether `maker` goes element by element, for `user` alone, which looks at every element and not at many of them again."""
    inner, outer = (list(op.body.block.ops)[:-1] for op in (maker, user))
    if any(use.operation is not user for v in maker.results for use in v.uses) or len(inner) + len(outer) > MOST_JOINED:
        return False
    if any(type(op) in _PRODUCTS for op in outer):
        return False
    if any(FUSIBLE.get(type(op)) not in ("elementwise", "view") and type(op) not in MAPS for op in inner):
        simple = all(FUSIBLE.get(type(op)) in ("elementwise", "view") for op in outer)
        return simple and any(type(op) in _PRODUCTS for op in inner) and _is_taken_once(maker, outer)
    fails = any(isinstance(op, PtirOp) and sites_of(op) for op in inner)
    if fails and any(TARGETED.get(type(op)) is not None and type(op) not in TOTAL for op in outer):
        return False
    if not fails and len(inner) <= MOST_REPEATED and all(prod(spec(v)[1]) == 1 for v in maker.results):
        return True  # a number that is cheaper found again than written and read
    most = max((prod(spec(v)[1]) for op in outer for v in op.results), default=0)
    return most <= MOST_REPEATED * min(prod(spec(v)[1]) for v in maker.results)


def _is_taken_once(maker: FusionOp, outer: list[Operation]) -> bool:
    """Whether what uses a product has the size of its result."""
    sizes = {prod(spec(v)[1]) for v in maker.results}
    return len(sizes) == 1 and max((prod(spec(v)[1]) for op in outer for v in op.results), default=0) <= max(sizes)


def _joined(maker: FusionOp, user: FusionOp) -> FusionOp | None:
    """Both bodies, one after the other; None if that is no kernel."""
    made = merged_fusion((maker, user))
    try:
        if not make_kernel(made.body.block).is_narrow:
            return made
    except Unsupported:
        pass
    made.erase()
    return None
