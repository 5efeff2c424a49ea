"""Compiling a model for speed: patterns recognised, canonical form, common subexpressions, then `mind_runtime.compile`."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.passes import PassPipeline

import mind_dialect
import mind_runtime
from mind_tools.universe import get_all_passes

PIPELINE = "mind-ptir-recognize,mind-ptir-canonicalize,mind-ptir-cse,mind-ptir-canonicalize"


def optimised(module: ModuleOp) -> ModuleOp:
    """A copy of `module` after `PIPELINE`."""
    ctx = Context()
    for dialect in (Builtin, Func):
        ctx.load_dialect(dialect)
    mind_dialect.register(ctx)
    module = module.clone()
    PassPipeline.parse_spec(get_all_passes(), PIPELINE).apply(ctx, module)
    return module


def compile(module: ModuleOp, donate: Collection[str] = ()) -> mind_runtime.Program:
    """The only function of `module`, optimised, for the numpy target; `donate` as for `mind_runtime.compile`."""
    return mind_runtime.compile(optimised(module), donate=donate)
