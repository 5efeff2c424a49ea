"""
One function in the making, from instructions in order: what the reader and the records have in common.

Values go by a key, the reader's `%name` or the records' number. Errors are coded and carry no place; the caller knows it.
"""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    LocationAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from mind_dialect.core import OPS_BY_OPCODE, CoreOp
from mind_dialect.core.attributes import INTEGERS
from mind_dialect.errors import MindError, brief, error
from mind_dialect.literals import LiteralAttr, Number, unhex
from mind_dialect.profiles import PROFILE_ATTRIBUTE, Profile
from mind_dialect.program import COTANGENT_ATTRIBUTE, LATE_ATTRIBUTE, NAME_ATTRIBUTE
from mind_dialect.shapes import non_negative, positive
from mind_dialect.types import DType, Shape, read_type

DEFAULT_NAME = "main"
"""The name of a function whose text has no header."""
VISIBILITY = "sym_visibility"


class Symbol(str):
    """The name of a function, as the value of an attribute; written `@name`."""

    __slots__ = ()


@dataclass(frozen=True)
class Nested:
    """Nested lists of numbers: the numbers row-major, the shape, and the reader's place of each number."""

    flat: Sequence[Number]
    shape: Shape
    places: Sequence[int] = ()


Note = str | Symbol | Sequence[int] | bool
"""The value of an attribute with a dotted name: a string, a symbol, integers, or True for a unit attribute."""


def note_attribute(name: str, value: object) -> Attribute:
    """A dotted attribute as xDSL stores it; E4000 for another name or another kind of value."""
    if name == PROFILE_ATTRIBUTE and value not in set(Profile):
        known = [str(p) for p in Profile]
        raise error("E4000", f"{name} is {brief(value)}, expected one of {known}", given=brief(value), expected=known)
    if "." in name or name == VISIBILITY:
        if isinstance(value, Symbol):
            return SymbolRefAttr(value)
        if isinstance(value, str):
            return StringAttr(value)
        if value is True:
            return UnitAttr()
        if isinstance(value, list | tuple):
            return INTEGERS.attribute(value)  # pyright: ignore[reportUnknownArgumentType]
        raise error("E4000", f"{name} is {brief(value)}, expected {_KINDS}", given=brief(value), expected=_KINDS)
    raise error("E4000", f"unknown attribute {name!r}, expected a dotted name", given=name, expected="a dotted name")


def note_value(name: str, attribute: Attribute) -> Note:
    """The inverse of `note_attribute`; E4000 for an attribute that the text cannot carry."""
    if isinstance(attribute, StringAttr):
        return attribute.data
    if isinstance(attribute, SymbolRefAttr) and not attribute.nested_references.data:
        return Symbol(attribute.root_reference.data)
    if isinstance(attribute, UnitAttr):
        return True
    try:
        return list(INTEGERS.value(attribute))
    except MindError:
        given = brief(attribute)
        raise error("E4000", f"{name} is {given}, this text form holds {_KINDS}", given=given, expected=_KINDS) from None


_KINDS = "a string, a symbol, a list of i64 or true"


def opcode_named(opcode: str) -> type[CoreOp]:
    """The op of an opcode; E4000 if there is none."""
    if (cls := OPS_BY_OPCODE.get(opcode)) is None:
        known = ["Input", *OPS_BY_OPCODE]
        lowered = {name.lower(): name for name in known}
        close = [lowered[name] for name in difflib.get_close_matches(opcode.lower(), lowered, n=3)]
        expected = f"expected {' or '.join(close)}" if close else f"expected one of {known}"
        raise error("E4000", f"unknown opcode {brief(opcode)}, {expected}", given=brief(opcode), expected=close or known)
    return cls


def literal(attributes: Mapping[str, Any], declared: Attribute | None) -> LiteralAttr:
    """
    The value of a `ConstTensor` from its attributes `dtype`, `shape`, and `value` or `fill`.

    `dtype` and `shape` may be left to the declared type; a value may be its bytes in hex. Raises E4000 for missing attributes,
    E3010 and E4005 for the elements.
    """
    given, expected = sorted(attributes), "dtype, shape, and value or fill"
    if ("value" in attributes) == ("fill" in attributes):
        raise error("E4000", f"ConstTensor has attributes {given}, expected {expected}", given=given, expected=expected)
    if declared is None and not {"dtype", "shape"} <= attributes.keys():
        raise error("E4000", f"ConstTensor without type has {given}, expected {expected}", given=given, expected=expected)
    own = (None, None) if declared is None else read_type(declared)
    dtype: DType = attributes.get("dtype", own[0])
    shape: Shape = attributes.get("shape", own[1])
    value: Nested | str | None = attributes.get("value")
    if isinstance(value, str):
        return LiteralAttr.from_bytes(dtype, shape, unhex(value, dtype))
    if value is None:
        return LiteralAttr.filled(dtype, shape, attributes["fill"])
    if value.shape != shape:
        message = f"ConstTensor: the value has shape {brief(list(value.shape))}, declared is {brief(list(shape))}"
        raise error("E3010", message, declared=shape, inferred=value.shape)
    return LiteralAttr.from_values(dtype, shape, value.flat)


class FunctionBuilder:
    """Collects inputs, then instructions, then outputs; `finish` makes the function."""

    def __init__(self, name: str, notes: Mapping[str, object], profile: Profile = Profile.CORE_V1):
        if not name:
            raise error("E4000", "a function has an empty name", given="", expected="a name")
        self.name = name
        self.visibility = notes.get(VISIBILITY)
        self.attributes = {k: note_attribute(k, v) for k, v in notes.items()}
        self.attributes.pop(VISIBILITY, None)
        stated = self.attributes.get(PROFILE_ATTRIBUTE)
        self.profile = Profile(stated.data) if isinstance(stated, StringAttr) else profile
        self._inputs: list[tuple[Hashable, Attribute, LocationAttr | None]] = []
        self._input_notes: list[DictionaryAttr] = []
        self._names: set[str] = set()
        self._block: Block | None = None
        self._ops: list[Operation] = []
        self._values: dict[Hashable, SSAValue] = {}

    @property
    def block(self) -> Block:
        """The block under construction; the first use of it closes the inputs."""
        if (block := self._block) is None:
            block = self._block = Block(arg_types=[type for _, type, _ in self._inputs])
            for argument, (key, _, location) in zip(block.args, self._inputs, strict=True):
                self._values[key] = argument
                if location is not None:
                    argument.location = location
        return block

    def add_input(
        self, key: Hashable, name: object, notes: Mapping[str, object], type: Attribute, location: LocationAttr | None
    ) -> None:
        """
        Add an `Input`; E4004 for a missing, empty or repeated name, E3006 for its extents.

        One that stands behind an operation is an argument all the same, marked for the verifier to refuse.
        """
        i = len(self._inputs)
        issue = None
        if not isinstance(name, str) or not name:
            issue = f"has the name {brief(name)}, expected a non-empty string" if name is not None else "lacks the attribute name"
        elif name in self._names:
            issue = f"has the name {brief(name)} of an earlier one"
        if issue is not None:
            raise error("E4004", f"Input {i} {issue}", index=i, issue=issue)
        assert isinstance(name, str)
        _, shape = read_type(type)
        (non_negative if COTANGENT_ATTRIBUTE in notes else positive)(shape)
        stored: dict[str, Attribute] = {NAME_ATTRIBUTE: StringAttr(name)}
        for k, v in notes.items():
            if k in (NAME_ATTRIBUTE, VISIBILITY) or "." not in k:
                raise error("E4000", f"Input has no attribute {k!r}, expected name or a dotted one", given=k, expected=["name"])
            stored[k] = note_attribute(k, v)
        self._names.add(name)
        self._inputs.append((key, type, location))
        if self._ops and self._block is not None:
            stored[LATE_ATTRIBUTE] = UnitAttr()
        self._input_notes.append(DictionaryAttr(stored))
        if self._block is not None:
            self._values[key] = argument = self._block.insert_arg(type, i)
            if location is not None:
                argument.location = location

    def define(self, key: Hashable, value: SSAValue) -> None:
        """Give `value` a key that is not in use yet."""
        self._values[key] = value

    def value(self, key: Hashable) -> SSAValue | None:
        """The value of a key; None if it is not defined so far."""
        if self._block is None:
            _ = self.block
        return self._values.get(key)

    def instruction(
        self,
        cls: type[CoreOp],
        operands: Sequence[SSAValue],
        properties: Mapping[str, Attribute],
        type: Attribute | None,
        location: LocationAttr | None,
    ) -> SSAValue:
        """Append an op of the declared type, or of the inferred one if none is declared; returns its result."""
        if len(properties) != len(cls.CODECS):
            given, expected = sorted(properties), sorted(cls.CODECS)
            raise error("E4000", f"{cls.OPCODE} has attributes {given}, expected {expected}", given=given, expected=expected)
        if type is None:
            type = self._infer(cls, operands, properties)
        op = cls.create(operands=operands, properties=properties, result_types=(type,), location=location)
        self._ops.append(op)
        return op.results[0]

    def _infer(self, cls: type[CoreOp], operands: Sequence[SSAValue], properties: Mapping[str, Attribute]) -> Attribute:
        try:
            cls.check_arity(len(operands), 1)
            return cls.infer([v.type for v in operands], cls.read_properties(properties), self.profile)
        except MindError as e:
            raise MindError(e.code, f"{cls.OPCODE}: {e.message}", {"op": cls.OPCODE, **e.context}) from None

    def finish(self, outputs: Sequence[SSAValue], location: LocationAttr | None = None) -> FuncOp:
        """The function that returns `outputs`."""
        block = self.block
        block.add_ops(self._ops)
        block.add_op(ReturnOp(*outputs))
        types = ([a.type for a in block.args], [v.type for v in outputs])
        visibility = self.visibility if isinstance(self.visibility, str) else None
        notes = ArrayAttr(self._input_notes) if self._input_notes else None
        func = FuncOp(self.name, types, Region(block), visibility, arg_attrs=notes)
        func.attributes.update(self.attributes)
        if location is not None:
            func.location = location
        return func
