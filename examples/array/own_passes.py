"""Passes of your own, by object or by name, and a module for any tool of xDSL."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import mind_array as ma
from mind_dialect.ptir import AddOp
from mind_lowering.ptir_optimize import PtirOptimizePass


@dataclass(frozen=True)
class CountAdds(ModulePass):
    """Count additions."""

    name = "count-adds"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        counts.append(sum(isinstance(inner, AddOp) for inner in op.walk()))


counts: list[int] = []


def f(x):
    return x + 1.0 + 2.0


fast = ma.jit(f, passes=[PtirOptimizePass(), CountAdds()])
named = ma.jit(f, passes="mind-ptir-canonicalize,mind-ptir-optimize")
results = fast(ma.ones(3)), named(ma.ones(3))
module = ma.trace(f, ma.spec((4, 8), "float32"))
print(counts, results, module)
