"""
A Core IR function: one flat block of `mind` ops, inputs as block arguments, outputs as the operands of `func.return`.

A value's ValueId is its place in definition order, arguments first; nothing stores it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, BytesAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from .core import CoreOp
from .errors import MindError, error
from .expressions import Expression
from .names import value_ids

NAME_ATTRIBUTE = "mind.name"
"""The argument attribute that holds an input's name."""
COTANGENT_ATTRIBUTE = "mind.cotangent"
"""The argument attribute of an input that autodiff made for an incoming cotangent; its extents may be 0."""


LATE_ATTRIBUTE = "mind.late"
"""The argument attribute of an input that stands behind an operation in the text it was read from, which the verifier refuses."""


def require_module(given: object, kind: type[Operation] = ModuleOp) -> None:
    """
    Raise E2001, with what to write instead, unless `given` is a module, or an op of `kind`.

    >>> require_module(lambda x: x + 1)
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E2001: expected a module, found a function; call it on variables of mind_dialect.build and give program("f", result)
    """  # noqa: E501
    if isinstance(given, kind):
        return
    actual = type(given).__name__
    article = "an" if actual[0] in "AEIOaeio" else "a"
    message = f"expected a module, found {article} {actual}; {_instead(given)}"
    raise error("E2001", message, expected="ModuleOp", actual=actual)


def _instead(given: Any) -> str:
    """Return what to pass for a module in place of `given`."""
    if isinstance(given, Expression):
        return 'give program("f", expression) of mind_dialect.build'
    if isinstance(given, Operation):
        return "give the module that holds it"
    if hasattr(given, "module"):
        return "give its .module"
    if hasattr(given, "execute"):
        return "give the module from which it was compiled"
    if callable(given):
        return 'call it on variables of mind_dialect.build and give program("f", result)'
    return "mind_tools.frontends has load(path) and parse(text)"


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
    """Return whether any op of `func` is of our dialects."""
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


def shown_name(name: str) -> str:
    """A name in a message: as it is, or escaped if it is no plain word."""
    return name if name.isidentifier() else ascii(name)


def input_names(func: FuncOp) -> list[str]:
    """
    The name of each input: `mind.name`, else the SSA name, else `arg` and its index; made unique by a suffix, as in MLIR text.

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
                n = suffixes.get(base, 1)
                name, suffixes[base] = f"{base}_{n}", n + 1
            taken.add(name)
        names.append(name)
    return names


def stated_attributes(found: Iterable[DictionaryAttr]) -> ArrayAttr[DictionaryAttr] | None:
    """
    The attributes of arguments or results as a property of a function; None where there are none, of which its text is silent.

    >>> stated_attributes([DictionaryAttr({}), DictionaryAttr({})])
    """
    dictionaries = list(found)
    return ArrayAttr(dictionaries) if any(d.data for d in dictionaries) else None


def named_attributes(func: FuncOp, names: Sequence[str]) -> list[dict[str, Attribute]]:
    """
    Return the attributes of the inputs of a function, with `names` if none states one and each input has one of its own there.
    """
    found = [dict(_argument_attributes(func, i)) for i in range(len(func.body.blocks[0].args))]
    distinct = "" not in names and len(names) == len(set(names)) == len(found)
    if distinct and not any(NAME_ATTRIBUTE in attributes for attributes in found):
        for attributes, name in zip(found, names, strict=True):
            attributes[NAME_ATTRIBUTE] = StringAttr(name)
    return found


def state_names(func: FuncOp, names: Mapping[SSAValue, str]) -> None:
    """State the names of those inputs that `names` has and that state none, as `mind.name`, unless another input states it."""
    arguments = func.body.blocks[0].args
    attributes = [dict(_argument_attributes(func, i)) for i in range(len(arguments))]
    stated = {text_of(found[NAME_ATTRIBUTE]) for found in attributes if NAME_ATTRIBUTE in found}
    for argument, found in zip(arguments, attributes, strict=True):
        if NAME_ATTRIBUTE not in found and (name := names.get(argument)) is not None and name not in stated:
            found[NAME_ATTRIBUTE] = StringAttr(name)
    func.arg_attrs = stated_attributes(DictionaryAttr(found) for found in attributes)


def _stated_name(func: FuncOp, i: int) -> str | None:
    name = _argument_attributes(func, i).get(NAME_ATTRIBUTE)
    if name is None:
        return None
    if not (text := text_of(name)):
        raise _input_error(func, i, f"{NAME_ATTRIBUTE} is {name}, expected a non-empty string of UTF-8")
    return text


def text_of(attribute: Attribute) -> str | None:
    """
    Return the text of a string attribute, None for all else and for bytes that are not UTF-8.

    Stock xDSL reads a string whose escapes stand for characters outside ASCII, which is how it prints them, as bytes.
    """
    if isinstance(attribute, BytesAttr):
        try:
            return attribute.data.decode()
        except UnicodeDecodeError:
            return None
    return attribute.data if isinstance(attribute, StringAttr) else None


def ssa_name(name: str | None) -> str | None:
    """
    Return `name` if MLIR text can write it behind a `%`, else None: such a value is printed by its number.

    >>> ssa_name("w.0"), ssa_name("the x"), ssa_name("größe")
    ('w.0', None, None)
    """
    return name if name is not None and name.isascii() and SSAValue.is_valid_name(name) else None


def argument_attribute(func: FuncOp, i: int, name: str) -> bool:
    """Return whether argument `i` carries the attribute `name`."""
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


__all__ = [
    "COTANGENT_ATTRIBUTE",
    "NAME_ATTRIBUTE",
    "argument_attribute",
    "core_block",
    "foreign_op",
    "functions",
    "functions_called",
    "holds_core_ir",
    "input_names",
    "outputs",
    "require_module",
    "shown_name",
    "value_ids",
]
