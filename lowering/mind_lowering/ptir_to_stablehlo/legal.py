"""Every op of PTIR: its rule, or the reason why it has none."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import ALL
from mind_passes.ptir.lu import EXPANSIONS

from ..conversion import LegalitySpec
from . import control, dynamic, elementwise, indexing, models, random, reductions, structural
from .elementwise import Rule
from .linalg import LINALG

ONE_RESULT: Mapping[type[PtirOp], Rule] = {
    **elementwise.RULES,
    **structural.RULES,
    **reductions.RULES,
    **indexing.RULES,
    **models.RULES,
    **random.RULES,
}
"""The rules of ops with one result, which they return."""

CONVERTED: tuple[type[PtirOp], ...] = (*ONE_RESULT, *reductions.SEVERAL, *control.RULES)
"""Every op with a rule."""

REFUSED: Mapping[type[PtirOp], str] = {
    ptir.CustomCallOp: "its function is Python, registered by name; run it outside of the program, or build it from PTIR ops",
}
"""The ops without a rule; `linalg.LINALG` and `EXPANSIONS` have rules of some custom calls."""


MOST_TRANSFORMED = 3
"""Axes of a Fourier transform (StableHLO, fft, C4)."""


def refusal(op: Operation) -> str | None:
    """Return the reason why an op is not legal, if it is not."""
    if isinstance(op, ptir.CustomCallOp) and op.values()["target"] in (*LINALG, *EXPANSIONS):
        return None
    if isinstance(op, PtirOp) and type(op) in REFUSED:
        return f"operation {op.name} is not allowed: {REFUSED[type(op)]}"
    if isinstance(op, ptir.FftOp) and len(op.values()["lengths"]) > MOST_TRANSFORMED:
        return f"operation {op.name} is not allowed: XLA transforms at most {MOST_TRANSFORMED} axes at once"
    return None


def dynamic_refusal(op: Operation) -> str | None:
    """Return the reason why an op is not legal where dimensions may have names, if it is not."""
    if (found := refusal(op)) is not None or not isinstance(op, PtirOp) or isinstance(op, ptir.YieldOp):
        return found
    if isinstance(op, ptir.CustomCallOp):
        return f"operation {op.name} is not allowed in programs with open dimensions"
    reason = dynamic.refusal(op)
    return None if reason is None else f"operation {op.name} is not allowed {reason}"


def specification(sizes_open: bool) -> LegalitySpec:
    """Every dtype, every op with a rule or a reason, and static sizes unless they may be open."""
    spec = LegalitySpec(refuses=dynamic_refusal if sizes_open else refusal).with_dynamic_dims(sizes_open)
    return spec.allow_dtypes(ALL).allow_ops((*CONVERTED, *REFUSED))
