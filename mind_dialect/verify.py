"""
Verification of a whole module: definition before use, then interfaces, then every op in order, each failure coded.

xDSL's `module.verify()` does not check dominance and stops at the first failure without saying where in the text it stands.
The order is fixed, so the first error of a module is the same in every process. Ops of other dialects are left to their
own verifiers. Source of the rules: "Verification" of the Core IR chapter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

from .core import ConstantOp, SliceOp
from .dominance import undominated, walk
from .errors import MindError, brief, error
from .names import SYMBOL_ATTRIBUTE, VISIBILITIES, VISIBILITY_ATTRIBUTE, shown_op, shown_value, value_ids
from .op import CodedOp
from .profiles import PROFILE_ATTRIBUTE, Profile, profile_of
from .program import COTANGENT_ATTRIBUTE, LATE_ATTRIBUTE, argument_attribute, foreign_op, holds_core_ir, input_names
from .ptir_program import ProgramCheck
from .shapes import non_negative, positive
from .types import read_type

LIBRARY_ATTRIBUTE = "shape.lib"


def verify(module: Operation, *, strict: bool = False, lenient: bool = False) -> None:
    """
    Raise the first coded error of a module or function, if any.

    `strict` also refuses what the specification's newest text or its instruction set does not have: extension ops and fills
    (E4000), slices of no elements (E3006). `lenient` lets a module of PTIR state no version.
    """
    for found in failures(module, strict=strict, lenient=lenient):
        raise found


def failures(module: Operation, *, strict: bool = False, lenient: bool = False) -> Iterator[MindError]:
    """Every coded error of `module` in the fixed order. Use before definition ends the search: later errors would mislead."""
    places = _Places()
    early = False
    for op, i in undominated(module):
        early = True
        yield _early_use(op, i, places)
    if not early:
        yield from _op_failures(module, strict, places, ProgramCheck(lenient=lenient))


class _Places:
    """Names of ops and values for messages. Each block is numbered once, and only if something in it failed."""

    def __init__(self) -> None:
        self._blocks: set[Block] = set()
        self._ids: dict[SSAValue, int] = {}

    def of(self, op: Operation) -> str:
        if not isinstance(op, CodedOp):
            return op.name
        return shown_op(op.opcode, op, self._numbered(op.parent))

    def value(self, value: SSAValue) -> str:
        owner = value.owner
        return shown_value(value, self._numbered(owner.parent if isinstance(owner, Operation) else owner))

    def _numbered(self, block: Block | None) -> Mapping[SSAValue, int]:
        if block is not None and block not in self._blocks:
            self._blocks.add(block)
            self._ids.update(value_ids(block))
        return self._ids


def _early_use(op: Operation, i: int, places: _Places) -> MindError:
    value = op.operands[i]
    owner, name = value.owner, places.of(op)
    definition = places.of(owner) if isinstance(owner, Operation) else "a block argument"
    shown = places.value(value)
    if (wall := _isolation(op, value)) is not None:
        message = f"{name} uses {shown} from outside of {places.of(wall)}, whose regions see their arguments only; pass it in"
        return error("E4001", message, operation=op, op=name, operand=i, definition=definition)
    return error(
        "E4001",
        f"{name} uses {shown} before its definition, which is {definition}",
        operation=op,
        op=name,
        operand=i,
        definition=definition,
    )


def _isolation(op: Operation, value: SSAValue) -> Operation | None:
    """The op isolated from above around `op` that hides `value`, which is defined in a block around it; None if none does."""
    block = value.owner.parent if isinstance(value.owner, Operation) else value.owner
    wall, inner = None, op
    while inner.parent is not block:
        outer = inner.parent_op()
        if outer is None:
            return None
        wall = outer if wall is None and outer.has_trait(IsolatedFromAbove) else wall
        inner = outer
    return wall


def _op_failures(module: Operation, strict: bool, places: _Places, program: ProgramCheck) -> Iterator[MindError]:
    """Failures of `module` and what it holds, in text order."""
    profile, scope = Profile.CORE_V1, None
    for op in walk(module):
        yield from program.failures(op)
        try:
            if isinstance(op, CodedOp):
                if (parent := op.parent_op()) is not scope or scope is None:
                    scope, profile = parent, _profile_in(parent)
                op.check_rules(profile)
                if strict:
                    _check_strict(op)
                if (issue := _misplaced(op) or _symbol_issue(op)) is not None:
                    raise error("E4016", issue, issue=issue)
            else:
                if PROFILE_ATTRIBUTE in op.attributes:
                    profile_of(op)
                _check_foreign(op)
                if isinstance(op, FuncOp) and holds_core_ir(op) and foreign_op(op) is None:
                    _check_inputs(op)
            if LIBRARY_ATTRIBUTE in op.attributes:
                _check_shape_libraries(op)
        except MindError as e:
            yield e.at(op, places.of(op)) if e.op is None else e


def _profile_in(scope: Operation | None) -> Profile:
    """The profile that holds inside `scope`; one that is misnamed is reported where it stands, not again at every op."""
    try:
        return profile_of(scope)
    except MindError:
        return Profile.CORE_V1


def _check_strict(op: CodedOp) -> None:
    fill = isinstance(op, ConstantOp) and op.literal.is_fill
    if (given := "fill" if fill else op.extension) is not None:
        raise error("E4000", f"{given} is an extension, refused by strict", given=given, expected="an opcode of Core v1")
    if isinstance(op, SliceOp) and 0 in (shape := op.result_shape):
        message = f"a slice of no elements, {list(shape)}, is refused by strict"
        raise error("E3006", message, shape=shape, index=shape.index(0), value=0)


def _misplaced(op: Operation) -> str | None:
    """
    Return the error in the position of `op` in its block, if there is one.

    The rules of `Operation.verify`, which counts the blocks of the region at the end of each.
    """
    if op.parent is None or op.parent.parent is None:
        return "has successors but is in no region" if op.successors else None
    region = op.parent.parent
    if op.next_op is not None:
        terminates = op.has_trait(IsTerminator, value_if_unregistered=False)
        issue = "is a terminator" if terminates else "has successors" if op.successors else None
        return None if issue is None else f"{issue} but is not the last op of its block"
    if any(block.parent is not region for block in op.successors):
        return "branches into another region"
    single = region.first_block is region.last_block
    if op.has_trait(IsTerminator) or region.parent is None or (single and region.parent.has_trait(NoTerminator)):
        return None
    return "is the last op of its block, expected a terminator such as func.return"


def check_parts(op: Operation) -> None:
    """Raise E4000 for an op of xDSL's that lacks a property or has one of another kind, as generic text may."""
    try:
        op.get_irdl_definition().verify(op)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    except VerifyException as e:
        found = brief(str(e))
        raise error("E4000", f"{op.name}: {found}", operation=op, given=found, expected="its properties") from None


_WITHOUT_ARGUMENTS = frozenset({"scf.if", "scf.execute_region"})
"""Ops of xDSL whose text has no place for arguments of their regions; MLIR refuses these, xDSL does not."""


def _check_foreign(op: Operation) -> None:
    """
    The op's own verifier. Whatever it raises becomes E4016, coded errors excepted.

    `verify_` is called by itself, as xDSL's driver prints the whole module into the exception. Some verifiers of xDSL fail by
    assertion or attribute error on ops built by hand.
    """
    try:
        op.verify_()
        if type(op).verify is not Operation.verify:
            op.verify(verify_nested_ops=False)
        issue = _misplaced(op) or _symbol_issue(op) or next((f"block {i} of a region is empty" for i in _unterminated(op)), None)
        if op.name in _WITHOUT_ARGUMENTS and any(block.args for region in op.regions for block in region.blocks):
            issue = issue or "a region has arguments, expected none"
    except MindError:
        raise
    except Exception as e:
        first, _, rest = str(e).partition("\n")
        more = f" {rest.strip().splitlines()[0]}" if first.endswith(":") and rest.strip() else ""
        issue = brief(f"{first}{more}" or type(e).__name__)
    if issue is not None:
        raise error("E4016", f"does not verify: {issue}", issue=issue)


def _symbol_issue(op: Operation) -> str | None:
    """
    Return the error in the visibility or the position of a symbol, which MLIR refuses and xDSL does not.

    xDSL prints a visibility of any text, which it cannot read again. Of other dialects, ops that hold symbols may lack the trait.
    """
    if not op.has_trait(SymbolOpInterface, value_if_unregistered=False) or op.get_attr_or_prop(SYMBOL_ATTRIBUTE) is None:
        return None
    found, parent = op.get_attr_or_prop(VISIBILITY_ATTRIBUTE), op.parent_op()
    if found is not None and not (isinstance(found, StringAttr) and found.data in VISIBILITIES):
        return f"{VISIBILITY_ATTRIBUTE} is {brief(found)}, expected one of {', '.join(VISIBILITIES)}"
    if isinstance(op, FuncOp | CodedOp) and parent is not None and not parent.has_trait(SymbolTable):
        return f"is a symbol in {parent.name}, expected an op that holds symbols, such as a module"
    return None


def _unterminated(op: Operation) -> Iterator[int]:
    """The numbers of empty blocks where a terminator is due; xDSL asks for it only in `Block.verify`."""
    for region in op.regions:
        single = region.first_block is region.last_block
        for i, block in enumerate(region.blocks):
            if block.last_op is None and not (single and op.has_trait(NoTerminator)):
                yield i


def _check_shape_libraries(op: Operation) -> None:
    """The rules of `shape.lib`, which may stand on ops of any dialect."""
    from .shape import check_libraries  # the dialect is loaded where it is used only

    check_libraries(op)


def _check_inputs(func: FuncOp) -> None:
    """Inputs stand first and have distinct non-empty names (E4004), Core IR types, and positive extents (E3006)."""
    names = input_names(func)
    for i, name in enumerate(names):
        if argument_attribute(func, i, LATE_ATTRIBUTE):
            issue = f"Input {brief(name)} stands behind an operation, expected before all"
            raise error("E4004", issue, operation=func, index=i, issue=issue)
    for i, argument in enumerate(func.body.block.args):
        try:
            _, shape = read_type(argument.type)
            (non_negative if argument_attribute(func, i, COTANGENT_ATTRIBUTE) else positive)(shape)
        except MindError as e:
            raise e.at(func, f"input {i} of @{func.sym_name.data}") from None
