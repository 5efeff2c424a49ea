"""
Base class of the ops of our dialects: properties with codecs, coded checks that name the op and its location, one text form.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from xdsl.dialects.builtin import TensorType
from xdsl.interfaces import ConditionallySpeculatableInterface, HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import BaseAttr, IRDLOperation
from xdsl.parser import Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer

from .canonicalization import canonicalization_patterns
from .declared_op import DeclaredOp
from .errors import MindError, error
from .names import shown_op
from .op_class import OpClass
from .profiles import PROFILE_ATTRIBUTE, Profile, profile_of
from .textform import parse_op, print_op


class CodedOp(IRDLOperation, HasCanonicalizationPatternsInterface, ABC, metaclass=OpClass):
    """An op whose verifier's errors are coded and say which op they are about; xDSL's `canonicalize` has our rewrites of it."""

    EXTENSION: ClassVar[str | None] = None
    """The reason for an op whose opcode the specification does not have; None for its own opcodes."""

    @property
    def opcode(self) -> str:
        """The name of the op in messages: the specification's."""
        return self.name

    @property
    def extension(self) -> str | None:
        """
        The reason for which `strict` refuses a well-formed op, as its message says it; None if the specification has the op.
        """
        return None if self.EXTENSION is None else self.opcode

    @abstractmethod
    def check_rules(self, profile: Profile) -> None:
        """Every rule of the specification for this op, in a fixed order; raises the coded error of the first one broken."""

    def check(self, profile: Profile = Profile.CORE_V1) -> None:
        """As `check_rules`; the error names the op and its result."""
        try:
            self.check_rules(profile)
        except MindError as e:
            raise e.at(self, self.place()) from None

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return canonicalization_patterns(cls.name.partition(".")[0])

    def place(self) -> str:
        """Return the name of the op in messages: the opcode and, inside a block, the name of its result."""
        return shown_op(self.opcode, self)

    def verify(self, verify_nested_ops: bool = True) -> None:
        """As xDSL's, with the coded checks first."""
        try:
            self.check(profile_of(self.parent_op()))
        except MindError as e:
            self.emit_error(str(e), e)
        super().verify(verify_nested_ops)


TENSOR: BaseAttr[TensorType[Attribute]] = BaseAttr(TensorType)
"""The constraint of operands and results; what tensors an op takes is for the coded checks, which come first."""


class DialectOp(CodedOp, DeclaredOp, ConditionallySpeculatableInterface, ABC):
    """An op of one of our own dialects: properties by codecs, one text form for all."""

    CAN_FAIL: ClassVar[bool] = False
    """True if the op fails on some inputs, whatever its dtype."""

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

    def can_fail(self) -> bool:
        """Return whether the op has a run-time error of its own, which what its regions hold is not."""
        return self.CAN_FAIL

    def is_speculatable(self) -> bool:
        """Return whether the op may run where the program would not: loop-invariant code motion asks this of pure ops."""
        return not self.can_fail()

    def print(self, printer: Printer) -> None:
        print_op(self, printer)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return parse_op(cls, parser)


def value_of(value: SSAValue | Operation) -> SSAValue:
    """The value, or the only result of the op; a fifth of the cost of `SSAValue.get`."""
    return value.results[0] if isinstance(value, Operation) else value
