"""
The canonical form of a Core IR function, and the pass that brings functions into it.

A function is canonical when
1. every op has a use; inputs stay, used or not, and outputs stay in their order, duplicates included;
2. the operands of Add and Mul ascend by ValueId, which is the place in definition order, inputs first;
3. properties are in normal form (`rewrites/normal_forms.py`): axes ascend from the front, no -1 in shapes, one spelling each;
4. no rule of `rewrites/` applies: no integer constant can be folded exactly, no view of a view is left, and so on;
5. only inputs have names: a result is its ValueId. An input without `mind.name` is named by its SSA name, which stays.

What stays keeps its order. Equal ops stay apart (no common subexpressions), floats are not folded unless asked, and nothing is
ever reassociated. The form depends on the program alone: programs that are equal up to the names of results, the order of Add and
Mul operands and dead code have one canonical text. An op that would fail at run time (E6001) and whose result is unused is dead
code like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.core import AddOp, CoreOp, MulOp
from mind_dialect.errors import error
from mind_dialect.program import NAME_ATTRIBUTE, argument_attribute, core_block, foreign_op, functions, holds_core_ir, input_names

from .rewrites import FLOAT_RULES, RULES
from .rewrites.building import Rule
from .rewrites.normal_forms import normalize

Rules = Mapping[type[CoreOp], tuple[Rule, ...]]


def canonicalize(func: FuncOp, *, fold_floats: bool = False) -> None:
    """
    Bring a verified function into canonical form, in place, in linear time.

    Raises E4000 for what is not one flat block of Core IR, E4001 for a use before its definition.
    """
    block = core_block(func)
    _keep_input_names(func, block)
    _simplify_block(block, FLOAT_RULES if fold_floats else RULES)
    _prune(block)


def _keep_input_names(func: FuncOp, block: Block) -> None:
    """Let the SSA name of an input be its `mind.name`, where it has one that SSA allows."""
    for i, (argument, name) in enumerate(zip(block.args, input_names(func), strict=True)):
        if argument_attribute(func, i, NAME_ATTRIBUTE):
            argument.name_hint = name if SSAValue.is_valid_name(name) else None


def _simplify_block(block: Block, rules: Rules) -> None:
    """One pass forward; what the rules replace is left without uses. `ids` holds the values that stay, in definition order."""
    ids: dict[SSAValue, int] = {argument: i for i, argument in enumerate(block.args)}
    became: dict[SSAValue, SSAValue] = {}
    for op in block.ops:
        _rewire(op, became, ids)
        if not isinstance(op, CoreOp):
            continue
        op.check_arity(len(op.operands), len(op.results))
        result = op.results[0]
        result.name_hint = None
        stands_for = _simplify(op, rules, ids)
        if stands_for is not result:
            became[result] = stands_for
        if stands_for not in ids:
            ids[stands_for] = len(ids)


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


def _prune(block: Block) -> None:
    """Erase the ops without uses, last first, so that what only they used goes too."""
    for op in reversed(tuple(block.ops)):
        if isinstance(op, CoreOp) and op.results[0].first_use is None:
            block.erase_op(op)


@dataclass(frozen=True)
class MindCanonicalizePass(ModulePass):
    """
    Bring Core IR functions into canonical form: definition order, sorted operands, exact rewrites, no dead code.

    Functions without any `mind` op are left alone. One that mixes in other ops is refused with E4000, or left alone with
    `skip-mixed=true`. `fold-floats=true` also folds float constants.
    """

    name = "mind-canonicalize"

    fold_floats: bool = False
    skip_mixed: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        for func in tuple(functions(op)):
            if holds_core_ir(func) and not (self.skip_mixed and foreign_op(func) is not None):
                canonicalize(func, fold_floats=self.fold_floats)
