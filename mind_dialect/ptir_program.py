"""
Rules of a PTIR program as a whole: the version that it states, and the names of its dimensions.

The module around PTIR ops, or any module around that one, carries `ptir.spec_version = "ptir.v0.4"`, so a foreign module that
embeds some PTIR states the version once, on itself. Ops that stand in no module are a fragment and state none. A dimension name
that a property uses must have a size by then: it names a dimension of an input or of an earlier value of the same function.
This file loads no PTIR op, so that Core IR is verified without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr, TensorType, UnknownLoc
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation

from .declared_dims import DECLARED, argument_types, names_given, undeclarable
from .dominance import walk
from .errors import MindError, brief, error
from .extents import ExtentSyntaxError, TooLarge
from .extents.dims import dim_texts, is_expression, names_in
from .ptir.attributes import DIM
from .ptir.base import PtirOp
from .ptir.types import TensorSpec, read_type
from .read_extents import READ_EXTENTS, wrong_read_extents

SPEC_VERSION = "ptir.v0.4"
VERSION_ATTRIBUTE = "ptir.spec_version"
"""The attribute of a module that states the version of the contract."""
ENTRY_ATTRIBUTE = "ptir.entry"
"""The attribute of a module that names the function to be run, where it has several."""


_HOW_TO_STATE = f'module attributes {{{VERSION_ATTRIBUTE} = "{SPEC_VERSION}"}} {{'


def stated_entry(module: Operation, names: Iterable[str]) -> str | None:
    """The function that a module names as its entry, if it names one; E2002 unless it is one of `names`."""
    stated = module.attributes.get(ENTRY_ATTRIBUTE)
    if stated is None:
        return None
    name = stated.root_reference.data if isinstance(stated, SymbolRefAttr) else None
    name = stated.data if isinstance(stated, StringAttr) else name
    known = list(names)
    if name is None or name not in known:
        given = brief(stated)
        raise error("E2002", f"{ENTRY_ATTRIBUTE} is {given}, expected one of {brief(known)}", name=given)
    return name


def check_version(given: Attribute | None, *, lenient: bool = False, begin: str = _HOW_TO_STATE) -> None:
    """
    Raise E8006 (SpecVersionMismatch) unless `given` is our version; `lenient` lets a missing one pass.

    `begin` is the beginning of a program in the current form that states it.
    """
    if given is None and lenient:
        return
    if not isinstance(given, StringAttr) or given.data != SPEC_VERSION:
        found, hint = ("nothing", f"; begin with {begin}, or read it under --lenient") if given is None else (str(given), "")
        message = f"{VERSION_ATTRIBUTE} is {found}, expected {SPEC_VERSION!r}{hint}"
        raise error("E8006", message, given=None if given is None else str(given), expected=SPEC_VERSION)


def check_states_version(module: ModuleOp, *, lenient: bool = False) -> None:
    """As `check_version`, of a module that should be a program of PTIR; E4000 that says how if it is one of Core IR."""
    given = module.attributes.get(VERSION_ATTRIBUTE)
    core = next((op for op in walk(module) if op.name.startswith("mind.")), None) if given is None else None
    if core is not None:
        message = f"{core.name} is an op of Core IR, expected PTIR, which the pass mind-convert-to-ptir makes of it"
        raise error("E4000", message, operation=core, given=core.name, expected="ptir ops")
    check_version(given, lenient=lenient)


def state_version(module: ModuleOp) -> None:
    """State our version on a module that holds PTIR and states none: what hand-written text leaves out."""
    if VERSION_ATTRIBUTE not in module.attributes and any(op.name.startswith("ptir.") for op in walk(module)):
        module.attributes[VERSION_ATTRIBUTE] = StringAttr(SPEC_VERSION)


def input_specs(func: FuncOp) -> list[TensorSpec]:
    """Return what is known of the inputs of a function with a body; E2001, E2005 or E3006 for one that is no tensor of PTIR."""
    found: list[TensorSpec] = []
    for i, argument in enumerate(func.body.blocks[0].args):
        try:
            found.append(read_type(argument.type))
        except MindError as e:
            raise e.at(func, f"input {i} of @{func.sym_name.data}") from None
    return found


class ProgramCheck:
    """The rules of whole programs; ask it about each op in text order. Each fault is reported once."""

    def __init__(self, *, lenient: bool = False):
        self._lenient = lenient
        self._blocks: set[Block] = set()
        self._modules: set[Operation] = set()
        self._names: set[str] = set()

    def failures(self, op: Operation) -> Iterator[MindError]:
        """
        Return the rules that `op` breaks: a wrong version of its module, which the first op reports, or a name without a size.
        """
        if isinstance(op, FuncOp):
            self._names = set()
        if DECLARED in op.attributes and "function_type" in op.properties:
            yield from undeclarable(op)
        if READ_EXTENTS in op.attributes and isinstance(op, FuncOp):
            yield from wrong_read_extents(op)
        if op.name.startswith("ptir."):
            if op.parent is not None and op.parent not in self._blocks:
                self._blocks.add(op.parent)
                yield from self._version(op)
            for name, attribute in op.properties.items():
                if isinstance(attribute, ArrayAttr):
                    yield from self._unbound(op, name, cast(ArrayAttr[Attribute], attribute))
                elif isinstance(attribute, StringAttr) and isinstance(op, PtirOp) and op.CODECS.get(name) is DIM:
                    yield from self._unbound(op, name, (attribute,))
        for region in op.regions:
            for block in region.blocks:
                self._bind(block.arg_types)
        if isinstance(op, FuncOp):
            self._names |= names_given(argument_types(op))
        self._bind(op.result_types)

    def _version(self, op: Operation) -> Iterator[MindError]:
        outer, given, module = op.parent_op(), None, None
        while outer is not None and given is None:
            if isinstance(outer, ModuleOp):
                given = outer.attributes.get(VERSION_ATTRIBUTE)
                module = module or outer
            outer = outer.parent_op()
        if module is None or module in self._modules:
            return
        self._modules.add(module)
        try:
            check_version(given, lenient=self._lenient)
        except MindError as e:
            yield e.at(op if isinstance(module.location, UnknownLoc) else module, f"the module around {op.name}")

    def _unbound(self, op: Operation, name: str, dims: Iterable[Attribute]) -> Iterator[MindError]:
        for dim in dims:
            for used in _names(dim.data) if isinstance(dim, StringAttr) else ():
                if used not in self._names:
                    self._names.add(used)
                    issue = f"{name} uses the dimension name {used}, which no input and no earlier value has"
                    yield error("E8001", issue, name=used, extents=()).at(op, op.name)

    def _bind(self, types: Iterable[Attribute]) -> None:
        for type in types:
            if isinstance(type, TensorType) and isinstance(encoding := cast(TensorType, type).encoding, StringAttr):
                self._names.update(text for text in dim_texts(encoding.data) if not is_expression(text))


def _names(text: str) -> tuple[str, ...]:
    """The names in a dimension; another text is one name."""
    try:
        return names_in(text) or (text,)
    except (ExtentSyntaxError, TooLarge):
        return (text,)
