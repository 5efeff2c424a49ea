"""Core IR types: builtin ranked tensors of i32, i64, f32 and f64 with static extents."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneAttr, TensorType, f32, f64, i32, i64
from xdsl.ir import Attribute

from .errors import brief, error
from .lazy_dataclass import dataclass
from .shapes import MAX_EXTENT

Shape = tuple[int, ...]


@dataclass(frozen=True)
class DType:
    """An element type of Core IR: its name, its builtin type, and how one element is stored (little-endian)."""

    name: str
    type: Attribute
    format: str
    is_float: bool

    @property
    def size(self) -> int:
        """Bytes per element."""
        return struct.calcsize(self.format)

    def __str__(self) -> str:
        return self.name


I32 = DType("i32", i32, "<i", False)
I64 = DType("i64", i64, "<q", False)
F32 = DType("f32", f32, "<f", True)
F64 = DType("f64", f64, "<d", True)
DTYPES: dict[str, DType] = {d.name: d for d in (I32, I64, F32, F64)}
FLOATS = (F32, F64)
INTEGERS = (I32, I64)
NUMERIC = (I32, I64, F32, F64)

_BY_TYPE = {d.type: d for d in NUMERIC}


def dtype_named(name: str) -> DType:
    """The dtype called `name`; E2005 if Core IR has none of that name."""
    if (dtype := DTYPES.get(name)) is None:
        raise error("E2005", f"unknown dtype {name!r}, expected one of {list(DTYPES)}", dtype=name, supported=list(DTYPES))
    return dtype


def tensor_type(dtype: DType, shape: Sequence[int]) -> TensorType:
    """The builtin tensor type of a dtype and a shape."""
    return TensorType(dtype.type, shape)


def read_type(type: Attribute) -> tuple[DType, Shape]:
    """
    The dtype and shape of a Core IR type.

    Raises E2001 for what is no plain tensor, E2005 for another element type, E3006 for an extent that is dynamic, negative or
    beyond i64.
    """
    return element_dtype(type), static_shape(type)


def element_dtype(type: Attribute) -> DType:
    """The dtype of a plain tensor type; E2001 for another type, E2005 for another element type."""
    if not isinstance(type, TensorType):
        raise error("E2001", f"expected a tensor, found {type}", expected="tensor", actual=str(type))
    tensor = cast(TensorType, type)
    element = tensor.element_type
    if (dtype := _BY_TYPE.get(element)) is None:
        names = list(DTYPES)
        message = f"tensor elements must be one of {names}, found {element}"
        raise error("E2005", message, dtype=str(element), supported=names)
    if not isinstance(tensor.encoding, NoneAttr):
        raise error("E2001", f"expected a tensor without encoding, found {tensor}", expected="no encoding", actual=str(tensor))
    return dtype


def static_shape(type: Attribute) -> Shape:
    """The shape of a tensor type; E3006 names the first extent that is dynamic, negative or beyond i64."""
    shape = cast(TensorType, type).get_shape()
    for i, n in enumerate(shape):
        if not 0 <= n <= MAX_EXTENT:
            value = "?" if n == DYNAMIC_INDEX else n
            shown = tuple("?" if d == DYNAMIC_INDEX else d for d in shape)
            message = f"extent {brief(value)} at {i} in {brief(list(shown))}, expected static, 0 to 2^63 - 1"
            raise error("E3006", message, shape=shown, index=i, value=value)
    return shape
