"""
The canonical form of PTIR: no rule of `rewrites/` applies, properties have one spelling, nothing is dead.

One pass forward over functions and the regions of all ops, linear, in the order of the text; ops that are replaced are left
without uses and erased at the end. Before it, what is known of branches and loops is put in their place (`control.py`); after it,
dead loop-carried values are removed (`loop_carried.py`). Rules apply where every dimension has a size or a name, and
elementwise ones where all shapes are one: elsewhere an op may be the place where a run-time mismatch is found, and stays. Ops of
other dialects stay as they are, but for operands that became others.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import FUSIBLE, PtirOp

from .building import Rule, insert_new, is_known, new_ops, of_one_shape, rewire
from .control import simplify_control
from .failing import replaced
from .loop_carried import drop_unneeded
from .rewrites import ALL_RULES, RULES
from .rewrites.normal_forms import normalize

Rules = Mapping[type[PtirOp], tuple[Rule, ...]]


def canonicalize(root: Operation, *, fast_math: bool = False) -> bool:
    """Bring the verified ops inside `root` into canonical form, in place; whether anything changed."""
    rules: Rules = ALL_RULES if fast_math else RULES
    became: dict[SSAValue, SSAValue] = {}
    changed = simplify_control(root)
    for op in walk(root):
        rewire(op, became)
        if not isinstance(op, PtirOp):
            continue
        changed |= normalize(op)
        if len(op.results) == 1 and type(op) in rules:
            found = _simplify(op, rules)
            if found is not op.results[0]:
                became[op.results[0]] = found
                replaced(op, found)
                changed = True
    return drop_unneeded(root) or changed


def _simplify(op: PtirOp, rules: Rules) -> SSAValue:
    """The value that stands for the result of `op` when no rule applies any more; new ops are inserted before `op`."""
    current = op
    value: SSAValue = op.results[0]
    while (found := _apply(current, rules)) is not None:
        value = found if isinstance(found, SSAValue) else found.results[0]
        if current is not op:
            _discard(current, value)
        if isinstance(found, SSAValue):
            break
        current = found
        normalize(current)
    made = value.owner
    if isinstance(made, Operation) and made.parent is None:
        block = op.parent
        assert isinstance(block, Block)
        insert_new(made, op, block)
        value.name_hint = op.results[0].name_hint
    return value


def _apply(op: PtirOp, rules: Rules) -> SSAValue | PtirOp | None:
    """Apply the first rule that matches `op`; the values that take the place of its results."""
    tried = rules.get(type(op), ())
    if not tried or not (of_one_shape(op) if FUSIBLE.get(type(op)) == "elementwise" else is_known(op)):
        return None
    for rule in tried:
        found = rule(op)
        if found is not None:
            return found
    return None


def _discard(op: Operation, kept: SSAValue) -> None:
    """Erase a new op that was never inserted, and the new constants that only it uses, but for what gives `kept`."""
    fresh = [v.owner for v in op.operands if isinstance(v.owner, Operation) and v.owner.parent is None and v is not kept]
    op.erase()
    for owner in fresh:
        if not any(result.first_use for result in owner.results):
            owner.erase()


class CanonicalizePtirOp(RewritePattern):
    """
    Apply to an op of PTIR what the pass does, normal form and one rule, as part of xDSL's `canonicalize`.

    Branches and loops stay: what is known of them (`control.py`) and what they carry (`loop_carried.py`) takes a walk over them
    all.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        for each in (op, *(v.owner for v in op.operands)):  # rules rely on the normal form of what defines their operands
            if isinstance(each, PtirOp) and normalize(each):
                rewriter.notify_op_modified(each)
        if not isinstance(op, PtirOp) or len(op.results) != 1 or (found := _apply(op, RULES)) is None:
            return
        if isinstance(found, SSAValue):
            replaced(op, found)
            rewriter.replace(op, [], [found])
        else:
            normalize(found)
            replaced(op, found.results[0])
            rewriter.replace(op, new_ops(found))


@dataclass(frozen=True)
class PtirCanonicalizePass(ModulePass):
    """
    Bring PTIR into canonical form: exact rewrites, one spelling, no dead code, inside regions too.

    `fast-math=true` adds rewrites that treat floats as real numbers: they may lose NaN, infinities and the sign of zero.
    """

    name = "mind-ptir-canonicalize"

    fast_math: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        canonicalize(op, fast_math=self.fast_math)
