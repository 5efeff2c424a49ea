"""
Types of the `launch` dialect: MLIR's `memref`, with strides in the type and no offset.

    memref<16x512xf32>    memref<16x128xf32, strided<[512, 1]>>    memref<4x8xf32, strided<[0, 1]>>

A value of such a type is an address and the layout of what lies there. Strides count elements; 0 repeats, negative ones reverse.
An offset belongs to the op that moves an address, so that two views that differ in nothing else have one type.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from math import prod
from typing import cast

from xdsl.dialects.builtin import MemRefType, NoneAttr, StridedLayoutAttr, TensorType
from xdsl.ir import Attribute

from mind_dialect.by_identity import by_identity
from mind_dialect.errors import brief, error
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import DTYPE_OF_TYPE, PtirDType, tensor_type, unknown_dtype

MAX_INTERNED = 1 << 12


@dataclass(frozen=True)
class Ref:
    """The layout of a value: dtype, extents, and strides in elements."""

    dtype: PtirDType
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def count(self) -> int:
        """The number of elements, repeated ones included."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of an allocation of this type."""
        return self.count * self.dtype.size

    @cached_property
    def span(self) -> range:
        """The places, in elements from the address, between the first and the last element; none without elements."""
        if not self.count:
            return range(0)
        reaches = [(n - 1) * stride for n, stride in zip(self.shape, self.strides, strict=True)]
        return range(sum(min(r, 0) for r in reaches), sum(max(r, 0) for r in reaches) + 1)

    @cached_property
    def is_row_major(self) -> bool:
        """Return whether the strides are those of a row-major array; strides along an extent of 1 do not matter."""
        return all(s == r or n == 1 for n, s, r in zip(self.shape, self.strides, row_major(self.shape), strict=True))

    @cached_property
    def repeats(self) -> bool:
        """Return whether several elements share a place, as far as a stride of 0 says."""
        return 0 not in self.shape and any(stride == 0 and n > 1 for n, stride in zip(self.shape, self.strides, strict=True))

    @property
    def tensor(self) -> TensorType:
        """The type of the value as a tensor, as bodies of kernels have it."""
        return tensor_type(self.dtype, self.shape)


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """
    Return the strides of a row-major array.

    >>> row_major((2, 3, 4)), row_major(())
    ((12, 4, 1), ())
    """
    strides = [1]
    for n in reversed(shape[1:]):
        strides.append(strides[-1] * max(n, 1))
    return tuple(reversed(strides))[len(strides) - len(shape) :]


@lru_cache(maxsize=MAX_INTERNED)
def ref(dtype: PtirDType, shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> MemRefType:
    """Return the type of a layout, one object for each; row-major ones are written without strides."""
    element = tensor_type(dtype, ()).element_type
    if strides is None or Ref(dtype, shape, strides).is_row_major:
        return MemRefType(element, shape)
    return MemRefType(element, shape, StridedLayoutAttr(strides))


@by_identity
def read_ref(type: Attribute) -> Ref:
    """
    Return the layout that a type says.

    Raises E2001 for what is no memref of static extents with strides and without an offset, E2005 for an element type that PTIR
    does not have.
    """
    if not isinstance(type, MemRefType):
        raise error("E2001", f"launch values are memrefs, found {brief(type)}", expected="memref", actual=brief(type))
    memref = cast("MemRefType[Attribute]", type)
    if (dtype := DTYPE_OF_TYPE.get(memref.element_type)) is None:
        raise unknown_dtype(memref.element_type)
    shape, strides = tuple(memref.get_shape()), _strides(memref)
    plain = isinstance(memref.memory_space, NoneAttr) and min(shape, default=0) >= 0
    if strides is None or len(strides) != len(shape) or not plain:
        shown, expected = brief(str(memref)), "static extents, and strides for each without an offset or a memory space"
        raise error("E2001", f"found {shown}, expected {expected}", expected=expected, actual=shown)
    return Ref(dtype, shape, strides)


def _strides(memref: MemRefType[Attribute]) -> tuple[int, ...] | None:
    """The strides of a type; None for a layout that is no list of numbers."""
    if isinstance(memref.layout, NoneAttr):
        return row_major(tuple(memref.get_shape()))
    if not isinstance(memref.layout, StridedLayoutAttr) or memref.layout.get_offset() != 0:
        return None
    found = [s for s in memref.layout.get_strides() if s is not None]
    return tuple(found) if len(found) == len(memref.layout.strides) else None
