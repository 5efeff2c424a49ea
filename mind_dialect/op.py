"""What the ops of our dialects share: properties with codecs, coded checks that name the op and its place, one text form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer

from .codecs import Codec
from .errors import MindError, error
from .profiles import PROFILE_ATTRIBUTE, Profile, profile_of
from .textform import parse_op, print_op


class CodedOp(IRDLOperation, ABC):
    """An op whose verifier's errors are coded and say which op they are about."""

    EXTENSION: ClassVar[str | None] = None
    """Why the op exists although the specification has no such opcode; None for what it has."""

    @property
    def opcode(self) -> str:
        """What messages call the op: the specification's name."""
        return self.name

    @abstractmethod
    def check_rules(self, profile: Profile) -> None:
        """Every rule of the specification for this op, in a fixed order; raises the coded error of the first one broken."""

    def check(self, profile: Profile = Profile.CORE_V1) -> None:
        """As `check_rules`; the error names the op and its ValueId."""
        try:
            self.check_rules(profile)
        except MindError as e:
            raise e.at(self, self.place()) from None

    def place(self) -> str:
        """The opcode and, inside a block, the ValueId of the first result: its place in definition order."""
        if self.parent is None or not self.results:
            return self.opcode
        number = len(self.parent.args)
        for op in self.parent.ops:
            if op is self:
                break
            number += len(op.results)
        return f"{self.opcode} %{number}"

    def verify(self, verify_nested_ops: bool = True) -> None:
        """As xDSL's, with the coded checks first."""
        try:
            self.check(profile_of(self.parent_op()))
        except MindError as e:
            self.emit_error(str(e), e)
        super().verify(verify_nested_ops)


class DialectOp(CodedOp, ABC):
    """An op of one of our own dialects: properties by codecs, one text form for all."""

    OPCODE: ClassVar[str]
    """The specification's name of the op."""
    CODECS: ClassVar[Mapping[str, Codec]] = {}
    """The op's properties, each with its kind."""
    OPTIONAL: ClassVar[frozenset[str]] = frozenset()
    """The properties that may be absent; their value is then None."""
    REGION_NAMES: ClassVar[tuple[str, ...]] = ()
    """What the text form calls the op's regions."""

    @property
    def opcode(self) -> str:
        return self.OPCODE

    @classmethod
    def read_properties(cls, properties: Mapping[str, Attribute]) -> dict[str, Any]:
        """The properties as Python values; E4000 for an unknown, missing or ill-typed one (others by kind)."""
        if properties.keys() != cls.CODECS.keys():
            given, known = properties.keys(), cls.CODECS.keys()
            if not given <= known or not known - given <= cls.OPTIONAL:
                shown, expected = sorted(given), sorted(known)
                optional = f", {sorted(cls.OPTIONAL)} optional" if cls.OPTIONAL else ""
                message = f"has attributes {shown}, expected {expected}{optional}"
                raise error("E4000", message, given=shown, expected=expected)
        return {n: codec.value(properties[n]) if n in properties else None for n, codec in cls.CODECS.items()}

    @classmethod
    def store_properties(cls, values: Mapping[str, Any]) -> dict[str, Attribute]:
        """Attributes for Python values, those that are None left out; E4000 for a name the op does not have."""
        if not values.keys() <= cls.CODECS.keys():
            given, expected = sorted(values), sorted(cls.CODECS)
            raise error("E4000", f"given attributes {given}, expected {expected}", given=given, expected=expected)
        return {name: cls.CODECS[name].attribute(v) for name, v in values.items() if v is not None}

    def values(self) -> dict[str, Any]:
        """The op's properties as Python values."""
        return self.read_properties(self.properties)

    def check_discardable(self) -> None:
        """Attributes with a dialect prefix are other people's notes; a profile, or anything else, is a misplaced property."""
        for name in self.attributes:
            if "." not in name or name == PROFILE_ATTRIBUTE:
                expected = sorted(self.CODECS)
                raise error("E4000", f"unknown attribute {name!r}, expected {expected}", given=name, expected=expected)

    def print(self, printer: Printer) -> None:
        print_op(self, printer)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return parse_op(cls, parser)


def value_of(value: SSAValue | Operation) -> SSAValue:
    """The value, or the only result of the op; a fifth of the cost of `SSAValue.get`."""
    return value.results[0] if isinstance(value, Operation) else value
