"""
The patterns of `ptir-recognize`, one file each: what of the contract's library forms and of builders' idioms is known.

`match` takes the op that a pattern would end in and looks back through defining ops, a bounded number of them. It expects
canonical ops: no transpose before a product, properties in normal form, one constant in place of its views.
"""

from __future__ import annotations

from collections.abc import Callable

from mind_dialect.ptir import AddOp, DivOp, DotGeneralOp, MulOp, PtirOp

from . import attention, convolution, gelu, layer_norm, rms_norm, softmax
from .matching import Match

PATTERNS: dict[str, tuple[tuple[type[PtirOp], ...], Callable[[PtirOp], Match | None]]] = {
    "attention": ((DotGeneralOp,), attention.match),
    "convolution": ((DotGeneralOp,), convolution.match),
    "layer-norm": ((AddOp, MulOp, DivOp), layer_norm.match),
    "rms-norm": ((MulOp, DivOp), rms_norm.match),
    "gelu": ((MulOp,), gelu.match),
    "gelu-tanh": ((MulOp,), gelu.match_tanh),
    "softmax": ((DivOp, MulOp), softmax.match),
}
"""By name: the ops that a pattern may end in, and how it is found. Of two that end in one op the first is taken."""

__all__ = ["PATTERNS", "Match"]
