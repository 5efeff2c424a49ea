"""
The canonical form of a Core IR function, and the pass that brings functions into it.

A function is canonical when
1. every op has a use; inputs stay, used or not, and outputs stay in their order, duplicates included;
2. the operands of Add and Mul ascend by ValueId, which is the place in definition order, inputs first;
3. properties are in normal form (`rewrites/normal_forms.py`): axes ascend from the front, no -1 in shapes, one spelling each;
4. no rule of `rewrites/` applies: no integer constant can be folded exactly, no view of a view is left, and so on;
5. only inputs have names: a result is its ValueId. An input without `mind.name` is named by its SSA name, which stays. Autodiff,
   and the option `keep-names`, let results have names too.

What stays keeps its order. Equal ops stay apart (no common subexpressions), floats are not folded unless asked, and nothing is
ever reassociated. The form depends on the program alone: programs that are equal up to the names of results, the order of Add and
Mul operands and dead code have one canonical text. An op that would fail at run time (E6001) and whose result is unused is dead
code like any other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from mind_dialect import register
from mind_dialect.core import AddOp, CoreOp, MulOp
from mind_dialect.errors import error
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.program import (
    LATE_ATTRIBUTE,
    NAME_ATTRIBUTE,
    argument_attribute,
    core_block,
    foreign_op,
    functions,
    holds_core_ir,
    input_names,
    ssa_name,
    stated_attributes,
)

from .rewrites import FLOAT_RULES, RULES
from .rewrites.building import Rule
from .rewrites.normal_forms import normalize

Rules = Mapping[type[CoreOp], tuple[Rule, ...]]


def canonicalize(func: FuncOp, *, fold_floats: bool = False, keep_names: bool = False, keep: Collection[SSAValue] = ()) -> None:
    """
    Bring a verified function into canonical form, in place, in linear time.

    With `keep_names` a result keeps its name, or gives it to what stands for it. The results in `keep` stay: their ops are not
    replaced or erased, and no rule looks through them, so that a derivative by such a value counts every use that it has.
    Raises E4000 for what is not one flat block of Core IR, E4001 for a use before its definition.
    """
    block = core_block(func)
    _keep_input_names(func, block)
    _place_inputs(func)
    if not keep_names:
        for op in block.ops:
            for result in op.results:
                result.name_hint = None
    kept = set(keep)
    _simplify_block(block, FLOAT_RULES if fold_floats else RULES, kept)
    _prune(block, kept)


def _keep_input_names(func: FuncOp, block: Block) -> None:
    """Let the SSA name of an input be its `mind.name`, where it has one that SSA allows."""
    for i, (argument, name) in enumerate(zip(block.args, input_names(func), strict=True)):
        if argument_attribute(func, i, NAME_ATTRIBUTE):
            argument.name_hint = ssa_name(name)


def _place_inputs(func: FuncOp) -> None:
    """Forget that inputs stood behind operations in a text: here they stand first."""
    if func.arg_attrs is not None and any(LATE_ATTRIBUTE in found.data for found in func.arg_attrs.data):
        kept = ({k: v for k, v in found.data.items() if k != LATE_ATTRIBUTE} for found in func.arg_attrs.data)
        func.arg_attrs = stated_attributes(DictionaryAttr(found) for found in kept)


def _simplify_block(block: Block, rules: Rules, keep: Collection[SSAValue]) -> None:
    """
    One pass forward; what the rules replace is left without uses. `ids` holds the values that stay, in definition order.

    What uses a value of `keep` meanwhile uses a stand-in, the argument of another block, behind which no rule sees an op.
    """
    ids: dict[SSAValue, int] = {argument: i for i, argument in enumerate(block.args)}
    became: dict[SSAValue, SSAValue] = {}
    stand_ins: dict[SSAValue, SSAValue] = {}
    for op in block.ops:
        _rewire(op, became, ids)
        if not isinstance(op, CoreOp):
            continue
        op.check_arity(len(op.operands), len(op.results))
        result = op.results[0]
        if result in keep:
            _simplify(op, {}, ids)
            became[result] = stand_ins[result] = Block(arg_types=[result.type]).args[0]
            ids[result] = ids[stand_ins[result]] = len(ids)
            continue
        stands_for = _simplify(op, rules, ids)
        if stands_for is not result:
            became[result] = stands_for
            if stands_for.name_hint is None and isinstance(stands_for.owner, Operation):
                stands_for.name_hint = result.name_hint
        if stands_for not in ids:
            ids[stands_for] = len(ids)
    for value, stand_in in stand_ins.items():
        stand_in.replace_all_uses_with(value)


def _rewire(op: Operation, became: Mapping[SSAValue, SSAValue], ids: Mapping[SSAValue, int]) -> None:
    """Let `op` use what its operands became."""
    operands = tuple(op.operands)
    wanted = tuple(became.get(value, value) for value in operands)
    for i, value in enumerate(wanted):
        if value not in ids:
            raise error("E4001", f"{op.name} uses operand {i} before its definition", operation=op, operand=i)
    if wanted != operands:
        op.operands = wanted


def _simplify(op: CoreOp, rules: Rules, ids: Mapping[SSAValue, int]) -> SSAValue:
    """The value that stands for the result of `op` when no rule applies any more; a new op is inserted before `op`."""
    current = op
    while True:
        _sort_operands(current, ids)
        normalize(current)
        for rule in rules.get(type(current), ()):
            found = rule(current)
            if found is not None:
                break
        else:
            break
        if current is not op:
            current.erase()
        if isinstance(found, SSAValue):
            return found
        current = found
    if current is not op:
        cast(Block, op.parent).insert_op_before(current, op)
    return current.results[0]


def _sort_operands(op: CoreOp, ids: Mapping[SSAValue, int]) -> None:
    """Add and Mul take their operands in ascending order."""
    if isinstance(op, AddOp | MulOp):
        lhs, rhs = op.operands
        if ids[lhs] > ids[rhs]:
            op.operands = (rhs, lhs)


def _prune(block: Block, keep: Collection[SSAValue]) -> None:
    """Erase the ops without uses but those of `keep`, last first, so that what only they used goes too."""
    for op in reversed(tuple(block.ops)):
        if isinstance(op, CoreOp) and op.results[0].first_use is None and op.results[0] not in keep:
            block.erase_op(op)


class CanonicalizeCoreOp(RewritePattern):
    """
    Apply to an op of Core IR what the pass does, normal form and one rule, as part of xDSL's `canonicalize`.

    Operands of Add and Mul stay in their order: the driver numbers no ops, so it cannot tell which of two values comes first.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        for each in (op, *(v.owner for v in op.operands)):  # rules rely on the normal form of what defines their operands
            if isinstance(each, CoreOp) and normalize(each):
                rewriter.notify_op_modified(each)
        for rule in RULES.get(type(op), ()) if isinstance(op, CoreOp) else ():
            if (found := rule(op)) is not None:
                if isinstance(found, CoreOp):
                    normalize(found)
                    rewriter.replace(op, found)
                else:
                    rewriter.replace(op, [], [found])
                return


@dataclass(frozen=True)
class MindCanonicalizePass(ModulePass):
    """
    Bring Core IR functions into canonical form: definition order, sorted operands, exact rewrites, no dead code.

    Functions without any `mind` op are left alone. One that mixes in other ops is refused with E4000, or left alone with
    `skip-mixed=true`. `fold-floats=true` also folds float constants. Results lose their names, so that equal programs have one
    text; `keep-names=true` keeps them.
    """

    name = "mind-canonicalize"

    fold_floats: bool = False
    skip_mixed: bool = False
    keep_names: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        for func in tuple(functions(op)):
            if holds_core_ir(func) and not (self.skip_mixed and foreign_op(func) is not None):
                canonicalize(func, fold_floats=self.fold_floats, keep_names=self.keep_names)
