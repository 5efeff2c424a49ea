"""
A Core IR function: one flat block of `mind` ops, inputs as block arguments, outputs as the operands of `func.return`.

A value's ValueId is its place in definition order, arguments first; nothing stores it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from .core import CoreOp
from .errors import MindError, error

NAME_ATTRIBUTE = "mind.name"
"""The argument attribute that holds an input's name."""
COTANGENT_ATTRIBUTE = "mind.cotangent"
"""The argument attribute of an input that autodiff made for an incoming cotangent; its extents may be 0."""


def functions(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions of a module in order, nested modules included."""
    for op in module.walk():
        if isinstance(op, FuncOp):
            yield op


def functions_called(module: ModuleOp, name: str) -> list[FuncOp]:
    """The functions of that name, with or without a leading `@`; a name that itself begins with `@` is tried first."""
    found = list(functions(module))
    return [f for f in found if f.sym_name.data == name] or [f for f in found if f.sym_name.data == name.removeprefix("@")]


def holds_core_ir(func: FuncOp) -> bool:
    """Whether any op of `func` is one of ours."""
    return any(isinstance(op, CoreOp) for op in func.walk())


def foreign_op(func: FuncOp) -> Operation | None:
    """The first op that keeps `func` from being one flat block of Core IR; `func` itself if it has not one block."""
    if len(func.body.blocks) != 1:
        return func
    for op in func.body.block.ops:
        if not isinstance(op, CoreOp) and not (isinstance(op, ReturnOp) and op.next_op is None):
            return op
    return None


def core_block(func: FuncOp) -> Block:
    """The one block of a flat Core IR function that ends in `func.return`; E4000 names the op that forbids it."""
    culprit = foreign_op(func)
    if culprit is None and isinstance(func.body.block.last_op, ReturnOp):
        return func.body.block
    given = "a function without func.return" if culprit is None else culprit.name
    if culprit is func:
        given = f"func.func with {len(func.body.blocks)} blocks"
    message = f"@{func.sym_name.data} is not one flat block of Core IR: found {given}, expected mind ops and func.return"
    raise error("E4000", message, operation=culprit or func, given=given, expected="mind ops and func.return")


def outputs(func: FuncOp) -> tuple[SSAValue, ...]:
    """The values a flat Core IR function returns."""
    last = core_block(func).last_op
    return tuple(last.operands) if last is not None else ()


def value_ids(block: Block) -> dict[SSAValue, int]:
    """The ValueId of every value of a block."""
    ids: dict[SSAValue, int] = {}
    for value in block.args:
        ids[value] = len(ids)
    for op in block.ops:
        for value in op.results:
            ids[value] = len(ids)
    return ids


def shown_name(name: str) -> str:
    """A name in a message: as it is, or escaped if it is no plain word."""
    return name if name.isidentifier() else ascii(name)


def input_names(func: FuncOp) -> list[str]:
    """
    The name of each input: `mind.name`, else the SSA name, else `arg` and its index; made unique by a suffix.

    Raises E4004 for a `mind.name` that is no string, is empty, or is given twice.
    """
    stated = [_stated_name(func, i) for i in range(len(func.body.block.args))]
    taken: set[str] = set()
    for i, name in enumerate(stated):
        if name in taken:
            raise _input_error(func, i, f"name {name!r} is given twice")
        if name is not None:
            taken.add(name)
    names: list[str] = []
    suffixes: dict[str, int] = {}
    for i, (argument, name) in enumerate(zip(func.body.block.args, stated, strict=True)):
        if name is None:
            name = base = argument.name_hint or f"arg{i}"
            while name in taken:
                n = suffixes.get(base, 0)
                name, suffixes[base] = f"{base}_{n}", n + 1
            taken.add(name)
        names.append(name)
    return names


def _stated_name(func: FuncOp, i: int) -> str | None:
    name = _argument_attributes(func, i).get(NAME_ATTRIBUTE)
    if name is None:
        return None
    if not isinstance(name, StringAttr) or not name.data:
        raise _input_error(func, i, f"{NAME_ATTRIBUTE} is {name}, expected a non-empty string")
    return name.data


def argument_attribute(func: FuncOp, i: int, name: str) -> bool:
    """Whether argument `i` carries the attribute `name`."""
    return name in _argument_attributes(func, i)


def _argument_attributes(func: FuncOp, i: int) -> Mapping[str, Attribute]:
    if func.arg_attrs is None:
        return {}
    if len(func.arg_attrs.data) != len(func.body.block.args):
        count = len(func.arg_attrs.data)
        raise _input_error(func, i, f"{count} sets of argument attributes for {len(func.body.block.args)} inputs")
    return func.arg_attrs.data[i].data


def _input_error(func: FuncOp, i: int, issue: str) -> MindError:
    return error("E4004", f"input {i} of @{func.sym_name.data}: {issue}", operation=func, index=i, issue=issue)
