"""Compiling a model for speed: the optimiser of PTIR, and what depends on weights alone computed once, by `mind_runtime.bind`."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.passes import PassPipeline

import mind_dialect
import mind_runtime
from mind_tools.universe import get_all_passes

from .weights import Weights


def optimised(module: ModuleOp, *, split: bool = True) -> ModuleOp:
    """A copy of `module` after the optimiser; with `split`, what depends on weights alone is a function of its own."""
    ctx = Context()
    for dialect in (Builtin, Func):
        ctx.load_dialect(dialect)
    mind_dialect.register(ctx)
    module = module.clone()
    PassPipeline.parse_spec(get_all_passes(), f"mind-ptir-optimize{{split={str(split).lower()}}}").apply(ctx, module)
    return module


def compile(
    module: ModuleOp, weights: Weights, donate: Collection[str] = (), target: str = "numpy", specialize: str | None = None
) -> mind_runtime.Bound:
    """
    The function of `module`, optimised and with its weights prepared.

    It takes the inputs that `weights` does not name; `donate`, `target` and `specialize` as for `mind_runtime.compile`.
    """
    return mind_runtime.bind(optimised(module), weights, target=target, donate=donate, specialize=specialize)
