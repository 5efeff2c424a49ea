"""The EXTENSION op of discrete Fourier transforms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from .. import ptir_shapes as shapes
from ..codecs import INTEGERS
from ..op import TENSOR
from .attributes import Word
from .base import OneResultOp
from .types import DTYPES, PtirDType, part_of


@irdl_op_definition
class FftOp(OneResultOp):
    """
    The discrete Fourier transform along the last axes, as many as `lengths` has entries; the inverses divide by their product.

    `rfft` takes real numbers and keeps the first half of the last axis; `irfft` is its inverse and takes half for the whole.
    """

    name = "ptir.fft"
    EXTENSION: ClassVar = "a product with the matrix of the transform costs n^2"
    RULE: ClassVar = staticmethod(shapes.fft)
    RULE_TAKES: ClassVar = ("kind", "lengths")
    x = operand_def(TENSOR)
    kind = prop_def(Word("fft", "ifft", "rfft", "irfft"))
    lengths = prop_def(INTEGERS)

    @classmethod
    def result_dtype(cls, dtypes: Sequence[PtirDType], values: Mapping[str, Any]) -> PtirDType:
        match values["kind"]:
            case "rfft":
                return DTYPES[f"cf{dtypes[0].bits}"]
            case "irfft":
                return part_of(dtypes[0])
            case _:
                return dtypes[0]
