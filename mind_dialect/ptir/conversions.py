"""EXTENSION ops between dtypes that keep bits: the same bits under another dtype, and the low bits of an integer."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, prop_def

from ..errors import error
from .attributes import DTYPE
from .base import PtirOp
from .elementwise import UnaryOp
from .types import DTYPES, PtirDType


class ConversionOp(UnaryOp, ABC):
    """One operand; the result has its shape and the dtype `dtype`."""

    RULE_TAKES: ClassVar = ()
    dtype = prop_def(DTYPE)

    @classmethod
    def result_dtype(cls, dtypes: Sequence[PtirDType], values: Mapping[str, Any]) -> PtirDType:
        return values["dtype"]


@irdl_op_definition
class BitcastOp(ConversionOp):
    """
    The bits of `x` as a number of another dtype of the same width.

    Between widths it is a few ops around this one, which `bitcast_ops` builds.
    """

    name = "ptir.bitcast"
    EXTENSION: ClassVar = "random numbers and packed weights are made of bits; no cast keeps them"

    @classmethod
    def result_dtype(cls, dtypes: Sequence[PtirDType], values: Mapping[str, Any]) -> PtirDType:
        source, target = dtypes[0], values["dtype"]
        if source.bits != target.bits:
            names = [str(d) for d in DTYPES.values() if d.bits == source.bits and d.kind != "complex"]
            message = f"cannot bitcast {source} of {source.bits} bits to {target} of {target.bits}, expected one of {names}"
            raise error("E2005", message, category="DTypeNotSupported", dtype=str(target), supported=names)
        return target


@irdl_op_definition
class TruncateOp(ConversionOp):
    """An integer in another integer dtype, wrapping: the number that has the same low bits."""

    name = "ptir.truncate"
    EXTENSION: ClassVar = "the contract's cast saturates; hashes and indices of other systems wrap"


CONVERSIONS: tuple[type[PtirOp], ...] = (BitcastOp, TruncateOp)
