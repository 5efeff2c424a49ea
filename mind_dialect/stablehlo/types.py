"""Types of StableHLO and PTIR: the same, except that signed integers lose their sign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, StringAttr, TensorType
from xdsl.ir import Attribute

from ..extents.dims import UNKNOWN, dim_texts
from ..ptir.types import ALL, Kind, PtirDType, TensorSpec, read_type, tensor_type
from ..ptir_shapes import Dim

ELEMENT_OF_DTYPE: dict[PtirDType, Any] = {d: IntegerType(d.bits) if d.kind is Kind.SIGNED else d.type for d in ALL}
"""The StableHLO element type of each dtype."""
DTYPE_OF_ELEMENT: dict[Attribute, PtirDType] = {
    **{d.type: d for d in ALL},
    **{element: d for d, element in ELEMENT_OF_DTYPE.items()},
}
"""The dtype of each element type that PTIR has; integers without a sign are signed, those with one are PTIR's own."""


def stablehlo_type(dtype: PtirDType, shape: Sequence[Dim]) -> TensorType[Any]:
    """The type of a tensor; dimensions without a size are in its encoding, as in types of PTIR, which StableHLO does not have."""
    if any(isinstance(n, str) for n in shape):
        named = tensor_type(dtype, shape)
        return TensorType(ELEMENT_OF_DTYPE[dtype], named.get_shape(), named.encoding)
    return TensorType(ELEMENT_OF_DTYPE[dtype], cast("Sequence[int]", shape))


def spec_of(type: Attribute) -> TensorSpec:
    """The dtype and shape of a type that `stablehlo_type` gives."""
    if not isinstance(type, TensorType):
        return read_type(type)
    tensor = cast("TensorType[Any]", type)
    dtype, shape = DTYPE_OF_ELEMENT[tensor.element_type], tensor.get_shape()
    if DYNAMIC_INDEX not in shape:
        return TensorSpec(dtype, tuple(shape))
    texts = dim_texts(tensor.encoding.data) if isinstance(tensor.encoding, StringAttr) else ["*"] * len(shape)
    names = [UNKNOWN if text == "*" else text for text in texts]
    return TensorSpec(dtype, tuple([name if n == DYNAMIC_INDEX else n for n, name in zip(shape, names, strict=True)]))


def plain(type: Attribute) -> Attribute:
    """Return a type of `stablehlo_type` as StableHLO has it: `?` in the place of names."""
    if isinstance(type, TensorType) and isinstance(type.encoding, StringAttr):
        tensor = cast("TensorType[Any]", type)
        return TensorType(tensor.element_type, tensor.get_shape())
    return cast(Attribute, type)
