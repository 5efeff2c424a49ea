"""Elementwise ops: what is computed at each place by itself. Shapes must be equal; `ptir.broadcast_to` makes them so."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Commutative, ConstantLike

from .. import ptir_shapes as shapes
from ..op import TENSOR
from ..ptir_shapes import Dims
from ..textform import print_property, print_rest
from .attributes import DTYPE, LITERAL, Word
from .base import OneResultOp, PtirOp
from .legal import check_cast
from .literal import PtirLiteralAttr, parse_literal
from .types import I1, Kind, PtirDType, part_of


@irdl_op_definition
class ConstantOp(OneResultOp):
    """A tensor literal of any dtype; a fill stores one element for all."""

    name = "ptir.constant"
    value = prop_def(LITERAL)
    traits = traits_def(ConstantLike())

    def __init__(self, value: PtirLiteralAttr):
        super().__init__(value=value)

    @classmethod
    def infer_shape(cls, operands: Sequence[Dims], values: Mapping[str, Any]) -> Dims:
        return values["value"].spec[1]

    @classmethod
    def result_dtype(cls, dtypes: Sequence[PtirDType], values: Mapping[str, Any]) -> PtirDType:
        return values["value"].spec[0]

    @property
    def literal(self) -> PtirLiteralAttr:
        """The value of a verified constant."""
        return LITERAL.value(self.value)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        if (value := self.properties.get("value")) is not None:
            print_property(printer, LITERAL, value)
        print_rest(self, printer)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        literal = parse_literal(parser)
        attributes = parser.parse_optional_attr_dict()
        return cls.create(properties={"value": literal}, attributes=attributes, result_types=[literal.type])


class UnaryOp(OneResultOp, ABC):
    """One operand; the result has its type."""

    RULE: ClassVar = staticmethod(shapes.elementwise)
    x = operand_def(TENSOR)


class BinaryOp(OneResultOp, ABC):
    """Two operands of one type; the result has it too."""

    SAME_DTYPE: ClassVar = ("lhs", "rhs")
    RULE: ClassVar = staticmethod(shapes.same_shape)
    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)


@irdl_op_definition
class NegOp(UnaryOp):
    """`-x`; integers wrap."""

    name = "ptir.neg"


@irdl_op_definition
class AbsOp(UnaryOp):
    """`|x|`; the least signed integer stays as it is. Of complex numbers the magnitude, in the dtype of their parts."""

    name = "ptir.abs"

    @classmethod
    def result_dtype(cls, dtypes: Sequence[PtirDType], values: Mapping[str, Any]) -> PtirDType:
        return part_of(dtypes[0])


@irdl_op_definition
class ExpOp(UnaryOp):
    """`e ** x`."""

    name = "ptir.exp"


@irdl_op_definition
class LogOp(UnaryOp):
    """The natural logarithm: -inf at 0, NaN below."""

    name = "ptir.log"


@irdl_op_definition
class TanhOp(UnaryOp):
    """The hyperbolic tangent."""

    name = "ptir.tanh"


@irdl_op_definition
class ErfOp(UnaryOp):
    """The error function."""

    name = "ptir.erf"


@irdl_op_definition
class RsqrtOp(UnaryOp):
    """`1 / sqrt(x)`."""

    name = "ptir.rsqrt"


@irdl_op_definition
class ReciprocalOp(UnaryOp):
    """`1 / x`."""

    name = "ptir.reciprocal"


@irdl_op_definition
class AddOp(BinaryOp):
    """`lhs + rhs`; integers wrap."""

    name = "ptir.add"
    traits = traits_def(Commutative())


@irdl_op_definition
class SubOp(BinaryOp):
    """`lhs - rhs`; integers wrap."""

    name = "ptir.sub"


@irdl_op_definition
class MulOp(BinaryOp):
    """`lhs * rhs`; integers wrap."""

    name = "ptir.mul"
    traits = traits_def(Commutative())


class DivisionOp(BinaryOp, ABC):
    """A binary op that fails for integers on a zero `rhs`, unless that is a constant of another number: E8004."""

    def can_fail(self) -> bool:
        if self.operand_spec(0).dtype.kind not in (Kind.SIGNED, Kind.UNSIGNED):
            return False
        divisor = self.operands[1].owner
        return not (isinstance(divisor, ConstantOp) and divisor.literal.is_fill and any(divisor.literal.data.data))


@irdl_op_definition
class DivOp(DivisionOp):
    """`lhs / rhs`; integers truncate toward zero, the least over -1 is itself, division by zero is E8004 at run time."""

    name = "ptir.div"


@irdl_op_definition
class MaximumOp(BinaryOp):
    """The greater of two; NaN if either is NaN. The result for zeros of both signs is unspecified."""

    name = "ptir.maximum"
    traits = traits_def(Commutative())


@irdl_op_definition
class MinimumOp(BinaryOp):
    """The lesser of two; NaN if either is NaN. The result for zeros of both signs is unspecified."""

    name = "ptir.minimum"
    traits = traits_def(Commutative())


@irdl_op_definition
class CompareOp(BinaryOp):
    """`lhs kind rhs` as i1; with NaN only `not_equal` is true."""

    name = "ptir.compare"
    KINDS: ClassVar = ("less", "less_equal", "equal", "greater_equal", "greater", "not_equal")
    RULE: ClassVar = staticmethod(shapes.compare)
    RULE_TAKES: ClassVar = ()
    MIXED_CATEGORY: ClassVar = "CompareDTypePromotionInvalid"
    kind = prop_def(Word(*KINDS))

    @classmethod
    def result_dtype(cls, dtypes: Sequence[PtirDType], values: Mapping[str, Any]) -> PtirDType:
        return I1


@irdl_op_definition
class SelectOp(OneResultOp):
    """`on_true` where `pred`, else `on_false`; all of one shape."""

    name = "ptir.select"
    SAME_DTYPE: ClassVar = ("on_true", "on_false")
    RULE: ClassVar = staticmethod(shapes.same_shape)
    pred = operand_def(TENSOR)
    on_true = operand_def(TENSOR)
    on_false = operand_def(TENSOR)

    @classmethod
    def result_dtype(cls, dtypes: Sequence[PtirDType], values: Mapping[str, Any]) -> PtirDType:
        return dtypes[1]


@irdl_op_definition
class CastOp(UnaryOp):
    """
    `x` in another dtype.

    To floats: nearest, ties to even, overflow to infinity (NaN in fp8_e4m3). To integers: truncated, saturated, NaN to 0. To i1:
    whether it is not 0. From complex to complex only.
    """

    name = "ptir.cast"
    RULE_TAKES: ClassVar = ()
    dtype = prop_def(DTYPE)

    @classmethod
    def result_dtype(cls, dtypes: Sequence[PtirDType], values: Mapping[str, Any]) -> PtirDType:
        check_cast(dtypes[0], values["dtype"])
        return values["dtype"]


@irdl_op_definition
class StopGradientOp(UnaryOp):
    """`x`; no gradient flows through."""

    name = "ptir.stop_gradient"


@irdl_op_definition
class ClampOp(OneResultOp):
    """`min(max(x, lo), hi)`."""

    name = "ptir.clamp"
    SAME_DTYPE: ClassVar = ("x", "lo", "hi")
    RULE: ClassVar = staticmethod(shapes.same_shape)
    x = operand_def(TENSOR)
    lo = operand_def(TENSOR)
    hi = operand_def(TENSOR)


UNARY_OPS: tuple[type[PtirOp], ...] = (NegOp, AbsOp, ExpOp, LogOp, TanhOp, ErfOp, RsqrtOp, ReciprocalOp)
BINARY_OPS: tuple[type[PtirOp], ...] = (AddOp, SubOp, MulOp, DivOp, MaximumOp, MinimumOp)
