"""
The optimiser of PTIR: its passes in their order.

First canonical form, constant folding, common subexpressions and dead code, again while anything changes; then what loops repeat
moves out of them, then known patterns, which need canonical ops, and the same once more after each; then, if asked for, the split
into what depends on weights alone and the rest, and fusion, which is last because nothing looks into a fusion.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.program import functions
from mind_dialect.ptir import PtirOp
from mind_passes.fusion.fuse import fuse
from mind_passes.ptir.canonicalize import canonicalize
from mind_passes.ptir.cse import eliminate_common
from mind_passes.ptir.failing import unmark_used
from mind_passes.ptir.hoist import hoist
from mind_passes.ptir.recognize import recognize
from mind_passes.ptir.sink_views import sink_views
from mind_passes.ptir.split_parameters import split_parameters

from .ptir_fold import fold_constants

DEFAULT_ITERATIONS = 8
"""So many rounds at most. A round undoes nothing that one before it did; more than three are rare."""


def simplify(root: Operation, *, fast_math: bool = False, iterations: int = DEFAULT_ITERATIONS) -> int:
    """Canonical form, folding and common subexpressions until nothing changes; how many rounds changed something."""
    for done in range(iterations):
        changed = canonicalize(root, fast_math=fast_math)
        changed |= sink_views(root)
        changed |= fold_constants(root)
        changed |= eliminate_common(root)
        if not changed:
            return done
    return iterations


def simplified(change: Callable[[ModuleOp], bool]) -> Callable[[ModuleOp], None]:
    """Return the change of a module, which says whether there was any, with a simplification after it."""

    def changed(module: ModuleOp) -> None:
        if change(module):
            simplify(module)

    return changed


def optimize(
    module: ModuleOp,
    *,
    fast_math: bool = False,
    iterations: int = DEFAULT_ITERATIONS,
    patterns: bool = True,
    split: bool = False,
    fusions: bool = False,
) -> None:
    """Run the optimiser on a verified module, in place; the options are those of the pass."""
    simplify(module, fast_math=fast_math, iterations=iterations)
    if hoist(module):
        simplify(module, fast_math=fast_math, iterations=iterations)
    if patterns and recognize(module):
        simplify(module, fast_math=fast_math, iterations=iterations)
    if split:
        for func in tuple(functions(module)):
            if _is_ptir(func):
                split_parameters(func)
    if fusions:
        fuse(module)


def optimize_marked(module: ModuleOp) -> None:
    """Run the optimiser without patterns on a module whose failing ops are marked; those that are used need no mark then."""
    optimize(module, patterns=False)
    unmark_used(module)


def _is_ptir(func: FuncOp) -> bool:
    return len(func.body.blocks) == 1 and any(isinstance(op, PtirOp) for op in walk(func))


@dataclass(frozen=True)
class PtirOptimizePass(ModulePass):
    """
    The optimiser of PTIR: canonical form, constant folding, common subexpressions, dead code, known patterns.

    `fast-math=true` treats floats as real numbers, `patterns=false` leaves softmax and the like as they are, `split=true` moves
    what depends on weights alone into `@f_prepare`, `fusions=true` forms fusions at the end; `iterations` bounds the rounds.
    """

    name = "mind-ptir-optimize"

    fast_math: bool = False
    iterations: int = DEFAULT_ITERATIONS
    patterns: bool = True
    split: bool = False
    fusions: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        optimize(
            op,
            fast_math=self.fast_math,
            iterations=self.iterations,
            patterns=self.patterns,
            split=self.split,
            fusions=self.fusions,
        )
