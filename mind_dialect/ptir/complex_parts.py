"""EXTENSION ops between complex numbers and their parts."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition

from .base import PtirOp
from .elementwise import BinaryOp, UnaryOp
from .types import DTYPES, PtirDType, part_of


class PartOp(UnaryOp, ABC):
    """One complex operand; the result has the dtype of its parts."""

    @classmethod
    def result_dtype(cls, dtypes: Sequence[PtirDType], values: Mapping[str, Any]) -> PtirDType:
        return part_of(dtypes[0])


@irdl_op_definition
class RealOp(PartOp):
    """The real part."""

    name = "ptir.real"
    EXTENSION: ClassVar = "the contract has complex numbers and no way to their parts"


@irdl_op_definition
class ImagOp(PartOp):
    """The imaginary part."""

    name = "ptir.imag"
    EXTENSION: ClassVar = "the contract has complex numbers and no way to their parts"


@irdl_op_definition
class ComplexOp(BinaryOp):
    """`lhs + rhs i`, each part as it is."""

    name = "ptir.complex"
    EXTENSION: ClassVar = "a sum of casts turns an infinite part into NaN"

    @classmethod
    def result_dtype(cls, dtypes: Sequence[PtirDType], values: Mapping[str, Any]) -> PtirDType:
        return DTYPES[f"cf{dtypes[0].bits}"]


@irdl_op_definition
class ConjOp(UnaryOp):
    """The complex conjugate."""

    name = "ptir.conj"
    EXTENSION: ClassVar = "three ops otherwise: both parts, and a complex number of them"


COMPLEX_OPS: tuple[type[PtirOp], ...] = (RealOp, ImagOp, ComplexOp, ConjOp)
