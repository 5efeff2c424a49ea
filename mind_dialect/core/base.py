"""
Base class of every Core IR op: coded checks in a fixed order, one shape rule, one text format.

The order of checks within an op is structure and attributes, dtypes, rank and shape (the op's rule), declared result type.
Operands being defined is the business of `mind_dialect.verify`. IRDL constraints stay loose, as their failures carry no code.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import result_def, traits_def
from xdsl.traits import NoMemoryEffect

from ..errors import MindError, error
from ..op import TENSOR, DialectOp, value_of
from ..profiles import Profile
from ..types import NUMERIC, DType, Shape, element_dtype, read_type, static_shape, tensor_type

__all__ = ["CoreOp", "Rule", "mixed_dtypes", "supported_dtype", "value_of"]

Rule = Callable[..., Shape]


class CoreOp(DialectOp, ABC):
    """A Core IR instruction: an opcode, some operands, some properties, one tensor result."""

    RULE: ClassVar[Rule]
    """From the operands' shapes and the properties to the result's shape."""
    DTYPES: ClassVar[tuple[DType, ...]] = NUMERIC
    COUNTS_FROM_END: ClassVar[bool] = False
    """True if the rule takes `negative`, which core-v1.1 allows and core-v1 does not."""

    result = result_def(TENSOR)
    traits = traits_def(NoMemoryEffect())

    def __init__(self, *operands: SSAValue | Operation, profile: Profile = Profile.CORE_V1, **properties: Any):
        """Build the op; the result type is inferred. Raises the coded error that the verifier would raise."""
        values = [value_of(v) for v in operands]
        try:
            self.check_arity(len(values), 1)
            stored = self.store_properties(properties)
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
    def check_dtypes(cls, dtypes: Sequence[DType]) -> None:
        """Raise E2005 if the op does not take the first dtype, E2004 if the others differ from it."""
        supported_dtype(dtypes[0], cls.DTYPES)
        for other in dtypes[1:]:
            if other is not dtypes[0]:
                raise mixed_dtypes(dtypes[0], other)

    @classmethod
    def infer(cls, operand_types: Sequence[Attribute], values: Mapping[str, Any], profile: Profile) -> Attribute:
        """The result type of well-formed operands and properties, or the coded error that says what is wrong."""
        dtypes = [element_dtype(t) for t in operand_types]
        cls.check_dtypes(dtypes)
        shapes = [static_shape(t) for t in operand_types]
        extra = {"negative": profile is not Profile.CORE_V1} if cls.COUNTS_FROM_END else {}
        shape, dtype = cls.RULE(*shapes, **values, **extra), cls.result_dtype(dtypes)
        return operand_types[0] if shape == shapes[0] and dtype is dtypes[0] else tensor_type(dtype, shape)

    @classmethod
    def result_dtype(cls, dtypes: Sequence[DType]) -> DType:
        """The dtype of the result, given those of the operands."""
        return dtypes[0]

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

    def check_rules(self, profile: Profile) -> None:
        """Every rule of the specification for this op, in the fixed order; raises the coded error of the first one broken."""
        self.check_arity(len(self.operands), len(self.results))
        if self.regions or self.successors:
            raise error("E4000", "has regions or successors, expected none", given="regions", expected="none")
        if self.attributes:
            self.check_discardable()
        inferred = self.infer(self.operand_types, self.values(), profile)
        declared = self.results[0].type
        if declared != inferred:
            message = f"declared result {declared}, inferred {inferred}"
            raise error("E4015", message, declared=str(declared), inferred=str(inferred))


def supported_dtype(dtype: DType, supported: Sequence[DType]) -> None:
    """Raise E2005 unless `dtype` is one of `supported`."""
    if dtype not in supported:
        names = [str(d) for d in supported]
        raise error("E2005", f"takes dtypes {names}, found {dtype}", dtype=str(dtype), supported=names)


def mixed_dtypes(lhs: DType, rhs: DType) -> MindError:
    """E2004: two operands should have one dtype."""
    return error("E2004", f"operands of dtypes {lhs} and {rhs}, expected one dtype", lhs=str(lhs), rhs=str(rhs))
