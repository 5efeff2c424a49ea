"""
What every Core IR op shares: coded checks in a fixed order, one shape rule, one text format.

The order of checks within an op is structure and attributes, dtypes, rank and shape (the op's rule), declared result type.
Operands being defined is the business of `mind_dialect.verify`. IRDL constraints stay loose, as their failures carry no code.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from ..errors import MindError, error
from ..profiles import Profile, profile_of
from ..types import NUMERIC, DType, Shape, read_type, tensor_type
from .attributes import Codec
from .format import parse_op, print_op

Rule = Callable[..., Shape]


class CoreOp(IRDLOperation, ABC):
    """A Core IR instruction: an opcode, some operands, some properties, one tensor result."""

    OPCODE: ClassVar[str]
    """The specification's name of the op."""
    OPERANDS: ClassVar[tuple[str, ...]] = ()
    CODECS: ClassVar[Mapping[str, Codec]] = {}
    """The op's properties, each with its kind."""
    RULE: ClassVar[Rule]
    """From the operands' shapes and the properties to the result's shape."""
    DTYPES: ClassVar[tuple[DType, ...]] = NUMERIC
    COUNTS_FROM_END: ClassVar[bool] = False
    """Whether the rule takes `negative`, what core-v1.1 allows and core-v1 does not."""
    EXTENSION: ClassVar[str | None] = None
    """Why the op exists although the specification has no such opcode; None for the 24 and `Div`."""

    result = result_def()
    traits = traits_def(Pure())

    def __init__(self, *operands: SSAValue | Operation, profile: Profile = Profile.CORE_V1, **properties: Any):
        """Build the op; the result type is inferred. Raises the coded error that the verifier would raise."""
        values = [value_of(v) for v in operands]
        stored = {name: self.CODECS[name].attribute(v) for name, v in properties.items() if v is not None}
        try:
            self.check_arity(len(values), 1)
            result = self.infer([v.type for v in values], self.read_properties(stored), profile)
        except MindError as e:
            raise MindError(e.code, f"{self.OPCODE}: {e.message}", {"op": self.OPCODE, **e.context}) from None
        Operation.__init__(self, operands=values, properties=stored, result_types=[result])  # past IRDL's slow generic path

    @classmethod
    def check_arity(cls, operands: int, results: int) -> None:
        """Raise E2007 unless the counts of operands and results are right."""
        wanted = len(cls.OPERANDS)
        if operands != wanted:
            raise error("E2007", f"expects {wanted} operands, found {operands}", expected=wanted, actual=operands)
        if results != 1:
            raise error("E2007", f"expects 1 result, found {results}", expected=1, actual=results)

    @classmethod
    def read_properties(cls, properties: Mapping[str, Attribute]) -> dict[str, Any]:
        """The properties as Python values; E4000 for an unknown, missing or ill-typed one (E4005, E4013 by kind)."""
        if properties.keys() != cls.CODECS.keys():
            given, expected = sorted(properties), sorted(cls.CODECS)
            raise error("E4000", f"has attributes {given}, expected {expected}", given=given, expected=expected)
        return {name: codec.value(properties[name]) for name, codec in cls.CODECS.items()}

    @classmethod
    def check_dtypes(cls, dtypes: Sequence[DType]) -> None:
        """Raise E2005 if the op does not take the first dtype, E2004 if the others differ from it."""
        supported_dtype(dtypes[0], cls.DTYPES)
        for other in dtypes[1:]:
            if other is not dtypes[0]:
                raise mixed_dtypes(dtypes[0], other)

    @classmethod
    def infer(cls, operand_types: Sequence[Attribute], values: Mapping[str, Any], profile: Profile) -> Attribute:
        """The result type of well-formed operands and properties, or the coded error that says what is wrong."""
        read = [read_type(t) for t in operand_types]
        cls.check_dtypes([dtype for dtype, _ in read])
        extra = {"negative": profile is not Profile.CORE_V1} if cls.COUNTS_FROM_END else {}
        shape = cls.RULE(*(s for _, s in read), **values, **extra)
        dtype = cls.result_dtype([dtype for dtype, _ in read])
        return operand_types[0] if read[0] == (dtype, shape) else tensor_type(dtype, shape)

    @classmethod
    def result_dtype(cls, dtypes: Sequence[DType]) -> DType:
        """The dtype of the result, given those of the operands."""
        return dtypes[0]

    def values(self) -> dict[str, Any]:
        """The op's properties as Python values."""
        return self.read_properties(self.properties)

    def operand_shape(self, i: int) -> Shape:
        """The shape of operand `i` of a verified op."""
        return read_type(self.operands[i].type)[1]

    @property
    def result_shape(self) -> Shape:
        """The shape of the result of a verified op."""
        return read_type(self.result.type)[1]

    @property
    def dtype(self) -> DType:
        """The dtype of the result of a verified op."""
        return read_type(self.result.type)[0]

    def check(self, profile: Profile = Profile.CORE_V1) -> None:
        """Every rule of the specification for this op, in the fixed order; raises a coded `MindError` that names the op."""
        try:
            self.check_arity(len(self.operands), len(self.results))
            if self.regions or self.successors:
                raise error("E4000", "has regions or successors, expected none", given="regions", expected="none")
            if self.attributes:
                self._check_discardable()
            inferred = self.infer(self.operand_types, self.values(), profile)
            declared = self.results[0].type
            if declared != inferred:
                raise error(
                    "E4015",
                    f"declared result {declared}, inferred {inferred}",
                    declared=str(declared),
                    inferred=str(inferred),
                )
        except MindError as e:
            raise e.at(self, self.place()) from None

    def _check_discardable(self) -> None:
        """Attributes with a dialect prefix are other people's notes; anything else is a misspelt property."""
        for name in self.attributes:
            if "." not in name:
                expected = sorted(self.CODECS)
                raise error("E4000", f"unknown attribute {name!r}, expected {expected}", given=name, expected=expected)

    def place(self) -> str:
        """The opcode and, inside a block, the ValueId of the result: its place in definition order."""
        if self.parent is None or len(self.results) != 1:
            return self.OPCODE
        number = len(self.parent.args)
        for op in self.parent.ops:
            if op is self:
                break
            number += len(op.results)
        return f"{self.OPCODE} %{number}"

    def verify(self, verify_nested_ops: bool = True) -> None:
        """As xDSL's, with the coded checks first."""
        try:
            self.check(profile_of(self))
        except MindError as e:
            self.emit_error(str(e), e)
        super().verify(verify_nested_ops)

    def print(self, printer: Printer) -> None:
        print_op(self, printer)

    @classmethod
    def parse(cls, parser: Parser) -> CoreOp:
        return parse_op(cls, parser)


def value_of(value: SSAValue | Operation) -> SSAValue:
    """The value, or the only result of the op; a fifth of the cost of `SSAValue.get`."""
    return value.results[0] if isinstance(value, Operation) else value


def supported_dtype(dtype: DType, supported: Sequence[DType]) -> None:
    """Raise E2005 unless `dtype` is one of `supported`."""
    if dtype not in supported:
        names = [str(d) for d in supported]
        raise error("E2005", f"takes dtypes {names}, found {dtype}", dtype=str(dtype), supported=names)


def mixed_dtypes(lhs: DType, rhs: DType) -> MindError:
    """E2004: two operands should have one dtype."""
    return error("E2004", f"operands of dtypes {lhs} and {rhs}, expected one dtype", lhs=str(lhs), rhs=str(rhs))
