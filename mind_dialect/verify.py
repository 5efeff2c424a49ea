"""
Verification of a whole module: definition before use, then interfaces, then every op in order, each failure coded.

xDSL's `module.verify()` does not check dominance and stops at the first failure without saying where in the text it stands.
The order is fixed, so the first error of a module is the same in every process. Ops of other dialects are left to their
own verifiers. Source of the rules: "Verification" of the Core IR chapter.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl.dominance import DominanceInfo
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from .core import ConstantOp, CoreOp
from .errors import MindError, error
from .profiles import Profile, profile_of
from .program import COTANGENT_ATTRIBUTE, argument_attribute, foreign_op, holds_core_ir, input_names
from .shapes import non_negative, positive
from .types import read_type


def verify(module: Operation, *, strict: bool = False) -> None:
    """Raise the first coded error of a module or function, if any; `strict` also refuses extension ops and fills."""
    for found in failures(module, strict=strict):
        raise found


def failures(module: Operation, *, strict: bool = False) -> Iterator[MindError]:
    """Every coded error of `module` in the fixed order. Use before definition ends the search: later errors would mislead."""
    undominated = list(_undominated(module))
    yield from undominated
    if undominated:
        return
    yield from _op_failures(module, strict)


def _undominated(module: Operation) -> Iterator[MindError]:
    for region in module.regions:
        yield from _check_region(region, set())


def _check_region(region: Region, visible: set[SSAValue]) -> Iterator[MindError]:
    """Linear for one block; `visible` is as before on return."""
    blocks = region.blocks
    if len(blocks) == 1:
        defined: list[SSAValue] = []
        yield from _check_block(blocks[0], visible, defined)
        visible.difference_update(defined)
    elif blocks:
        dominance = DominanceInfo(region)
        for block in blocks:
            above = {
                value
                for other in blocks
                if other is not block and dominance.strictly_dominates(other, block)
                for value in (*other.args, *(r for op in other.ops for r in op.results))
            }
            yield from _check_block(block, visible | above, [])


def _check_block(block: Block, visible: set[SSAValue], defined: list[SSAValue]) -> Iterator[MindError]:
    visible.update(block.args)
    defined.extend(block.args)
    for op in block.ops:
        for i, value in enumerate(op.operands):
            if value not in visible:
                yield _undefined(op, i, value)
        if op.regions:
            isolated = op.has_trait(IsolatedFromAbove, value_if_unregistered=False)
            for region in op.regions:
                yield from _check_region(region, set() if isolated else visible)
        visible.update(op.results)
        defined.extend(op.results)


def _undefined(op: Operation, i: int, value: SSAValue) -> MindError:
    name = f"%{value.name_hint}" if value.name_hint else f"operand {i}"
    defined = value.owner.name if isinstance(value.owner, Operation) else "a block argument elsewhere"
    return error("E4001", f"{op.name} uses {name} before its definition by {defined}", operation=op, operand=i)


def _op_failures(op: Operation, strict: bool) -> Iterator[MindError]:
    """Failures of `op` and what it holds, in text order, without recursion."""
    profile = Profile.CORE_V1
    scope: Operation | None = None
    for inner in op.walk():
        try:
            if isinstance(inner, CoreOp):
                if (parent := inner.parent_op()) is not scope or scope is None:
                    scope, profile = parent, profile_of(parent)
                inner.check(profile)
                if strict:
                    _check_strict(inner)
                if inner.next_op is None:  # only the last op of a block can break xDSL's rule on terminators
                    Operation.verify(inner, verify_nested_ops=False)
            else:
                profile_of(inner)
                inner.verify(verify_nested_ops=False)
                if isinstance(inner, FuncOp) and holds_core_ir(inner) and foreign_op(inner) is None:
                    _check_inputs(inner)
        except MindError as e:
            yield e
        except VerifyException as e:
            issue = str(e).splitlines()[0] if str(e) else "no reason given"
            yield error("E4016", f"{inner.name} does not verify: {issue}", operation=inner, issue=issue)


def _check_strict(op: CoreOp) -> None:
    fill = isinstance(op, ConstantOp) and op.literal.is_fill
    if op.EXTENSION is not None or fill:
        given = "fill" if fill else op.OPCODE
        raise error("E4000", f"{given} is an extension, refused by strict", given=given, expected="an opcode of Core v1").at(
            op, op.place()
        )


def _check_inputs(func: FuncOp) -> None:
    """Inputs have distinct non-empty names (E4004), Core IR types, and positive extents (E3006)."""
    input_names(func)
    for i, argument in enumerate(func.body.block.args):
        try:
            _, shape = read_type(argument.type)
            (non_negative if argument_attribute(func, i, COTANGENT_ATTRIBUTE) else positive)(shape)
        except MindError as e:
            raise e.at(func, f"input {i} of @{func.sym_name.data}") from None
