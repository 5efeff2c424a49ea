"""Types of StableHLO and PTIR: the same, except that signed integers lose their sign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.ir import Attribute

from ..ptir.types import ALL, Kind, PtirDType, TensorSpec, read_type

ELEMENT_OF_DTYPE: dict[PtirDType, Any] = {d: IntegerType(d.bits) if d.kind is Kind.SIGNED else d.type for d in ALL}
"""The StableHLO element type of each dtype."""
DTYPE_OF_ELEMENT: dict[Attribute, PtirDType] = {
    **{d.type: d for d in ALL},
    **{element: d for d, element in ELEMENT_OF_DTYPE.items()},
}
"""The dtype of each element type that PTIR has; integers without a sign are signed, those with one are PTIR's own."""


def stablehlo_type(dtype: PtirDType, shape: Sequence[int]) -> TensorType[Any]:
    """The type of a tensor of static shape."""
    return TensorType(ELEMENT_OF_DTYPE[dtype], shape)


def spec_of(type: Attribute) -> TensorSpec:
    """The dtype and shape of a type that `stablehlo_type` gives."""
    if not isinstance(type, TensorType):
        return read_type(type)
    tensor = cast("TensorType[Any]", type)
    return TensorSpec(DTYPE_OF_ELEMENT[tensor.element_type], tuple(tensor.get_shape()))
