"""
PTIR types: builtin tensors of the contract's 19 dtypes, with dimensions that are a size, an expression of names, or unknown.

    tensor<2x3xsi32>    tensor<?x4xf32, "B,*">    tensor<?x?xf32, "P+T,2*B">    tensor<?xf32>

The encoding says each dynamic dimension in canonical text, with `*` for one that is static or of which nothing is known; a type
whose dynamic dimensions are all unknown has no encoding. Equal names are equal sizes within one call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    ComplexType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    IntegerType,
    NoneAttr,
    Signedness,
    StringAttr,
    TensorType,
    f32,
    f64,
    i1,
)
from xdsl.ir import Attribute

from ..by_identity import by_identity
from ..elements import Boolean, Complex, Element, Float, Integer, SmallFloat
from ..errors import MindError, brief, error
from ..extents import ExtentSyntaxError, TooLarge
from ..extents.dims import canonical, dim_texts, names_in
from ..lazy_dataclass import dataclass
from ..ptir_shapes import MAX_EXTENT, UNKNOWN, Dim, Dims
from ..types import DType


class Kind(StrEnum):
    """The families of dtypes."""

    BOOL = "bool"
    SIGNED = "signed"
    UNSIGNED = "unsigned"
    FLOAT = "float"
    COMPLEX = "complex"


@dataclass(frozen=True, eq=False)
class PtirDType(DType):
    """An element type of PTIR; `name` is the contract's, `bits` its width. There is one object for each."""

    kind: Kind
    bits: int

    @cached_property
    def element(self) -> Element:
        """The checks, bytes and text of one element."""
        return _ELEMENTS[self.name]

    @property
    def size(self) -> int:
        """Bytes per element; numbers of 4 bits take one."""
        return self.element.size

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by name, so that a copy is the same object."""
        return dtype_named, (self.name,)


_ELEMENTS: dict[str, Element] = {
    "i1": Boolean(),
    **{f"{'su'[not signed]}i{bits}": Integer(bits, signed) for bits in (4, 8, 16, 32, 64) for signed in (True, False)},
    "fp8_e4m3": SmallFloat(4, 3, infinite=False),
    "fp8_e5m2": SmallFloat(5, 2),
    "bf16": SmallFloat(8, 7),
    "f16": Float("e"),
    "f32": Float("f"),
    "f64": Float("d"),
    "cf32": Complex(Float("f")),
    "cf64": Complex(Float("d")),
}


def _integer(bits: int, kind: Kind) -> PtirDType:
    signedness = Signedness.SIGNED if kind is Kind.SIGNED else Signedness.UNSIGNED
    return PtirDType(f"{kind[0]}i{bits}", IntegerType(bits, signedness), "", False, kind, bits)


I1 = PtirDType("i1", i1, "", False, Kind.BOOL, 1)
SI4, SI8, SI16, SI32, SI64 = (_integer(bits, Kind.SIGNED) for bits in (4, 8, 16, 32, 64))
UI4, UI8, UI16, UI32, UI64 = (_integer(bits, Kind.UNSIGNED) for bits in (4, 8, 16, 32, 64))
F8E4M3 = PtirDType("fp8_e4m3", Float8E4M3FNType(), "", True, Kind.FLOAT, 8)
F8E5M2 = PtirDType("fp8_e5m2", Float8E5M2Type(), "", True, Kind.FLOAT, 8)
BF16 = PtirDType("bf16", BFloat16Type(), "", True, Kind.FLOAT, 16)
F16 = PtirDType("f16", Float16Type(), "<e", True, Kind.FLOAT, 16)
F32 = PtirDType("f32", f32, "<f", True, Kind.FLOAT, 32)
F64 = PtirDType("f64", f64, "<d", True, Kind.FLOAT, 64)
CF32 = PtirDType("cf32", ComplexType(f32), "", False, Kind.COMPLEX, 64)
CF64 = PtirDType("cf64", ComplexType(f64), "", False, Kind.COMPLEX, 128)

ALL: tuple[PtirDType, ...] = (
    *(I1, SI4, UI4, SI8, UI8, SI16, UI16, SI32, UI32, SI64, UI64),
    *(F8E4M3, F8E5M2, BF16, F16, F32, F64, CF32, CF64),
)
"""Every dtype, in the contract's order."""

DTypes = tuple[PtirDType, ...]
BOOL: DTypes = (I1,)
SIGNED: DTypes = (SI4, SI8, SI16, SI32, SI64)
INTEGERS: DTypes = (SI4, UI4, SI8, UI8, SI16, UI16, SI32, UI32, SI64, UI64)
WIDE_FLOATS: DTypes = (BF16, F16, F32, F64)
FLOATS: DTypes = (F8E4M3, F8E5M2, *WIDE_FLOATS)
COMPLEX: DTypes = (CF32, CF64)
REAL: DTypes = (*INTEGERS, *FLOATS)
NUMBERS: DTypes = (*REAL, *COMPLEX)
ORDERED: DTypes = (I1, *REAL)
INDEX: DTypes = (SI32, SI64)
QUANTIZED: DTypes = (SI4, UI4, SI8, UI8, SI16, UI16, SI32, UI32)
DTYPES: dict[str, PtirDType] = {d.name: d for d in ALL}
"""By the contract's names."""
DTYPE_OF_TYPE: dict[Attribute, PtirDType] = {d.type: d for d in ALL}

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class TensorSpec(NamedTuple):
    """A dtype and a shape."""

    dtype: PtirDType
    shape: Dims

    @property
    def is_static(self) -> bool:
        """Return whether every dimension is a size."""
        return not any(isinstance(d, str) for d in self.shape)

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


def part_of(dtype: PtirDType) -> PtirDType:
    """
    The dtype of the parts of a complex number; of others the dtype itself.

    >>> str(part_of(CF64)), str(part_of(SI8))
    ('f64', 'si8')
    """
    return DTYPES[f"f{dtype.bits // 2}"] if dtype.kind is Kind.COMPLEX else dtype


def dtype_named(name: str) -> PtirDType:
    """The dtype of a contract name such as `si32`, `fp8_e4m3`; E2005 for another."""
    if (dtype := DTYPES.get(name)) is None:
        raise unknown_dtype(name)
    return dtype


def unknown_dtype(given: object) -> MindError:
    """E2005: PTIR has no such element type."""
    names, shown = list(DTYPES), brief(given)
    message = f"unknown dtype {shown}, expected one of {names}"
    return error("E2005", message, category="DTypeNotSupported", dtype=shown, supported=names)


def is_dim_name(name: str) -> bool:
    """Return whether `name` can name a dimension: a letter or underscore, then letters, digits, underscores."""
    return _NAME.fullmatch(name) is not None


def is_dim(text: str) -> bool:
    """Return whether a text is the name of a dimension, or an expression of names in canonical form."""
    try:
        return checked_dim(text) == text
    except MindError:
        return False


def tensor_type(dtype: PtirDType, shape: Sequence[Dim]) -> TensorType:
    """The builtin type of a dtype and dimensions, in its one canonical form; the same object again while it is remembered."""
    return _tensor_type(dtype, tuple(shape))


@lru_cache(maxsize=1 << 12)
def _tensor_type(dtype: PtirDType, shape: tuple[Dim, ...]) -> TensorType:
    extents = [DYNAMIC_INDEX if isinstance(d, str) else d for d in shape]
    if any(isinstance(d, str) and d != UNKNOWN for d in shape):
        names = ["*" if isinstance(d, int) or d == UNKNOWN else d for d in shape]
        return TensorType(dtype.type, extents, StringAttr(",".join(names)))
    return TensorType(dtype.type, extents)


@by_identity
def read_type(type: Attribute) -> TensorSpec:
    """
    The dtype and dimensions of a PTIR type.

    Raises E2001 for what is no ranked tensor or has another encoding, E2005 for an element type outside the contract, E3006
    for a negative extent.
    """
    if not isinstance(type, TensorType):
        raise error("E2001", f"expected a tensor, found {brief(type)}", expected="tensor", actual=brief(type))
    tensor = cast(TensorType, type)
    if (dtype := DTYPE_OF_TYPE.get(tensor.element_type)) is None:
        raise unknown_dtype(tensor.element_type)
    extents = tensor.get_shape()
    for i, n in enumerate(extents):
        if not 0 <= n <= MAX_EXTENT and n != DYNAMIC_INDEX:
            message = f"extent {brief(n)} at {i} in {brief(list(extents))}, expected 0 to 2^63 - 1"
            raise error("E3006", message, category="NegativeDimension", shape=extents, index=i, value=n)
    if isinstance(tensor.encoding, NoneAttr):
        if DYNAMIC_INDEX not in extents:
            return TensorSpec(dtype, extents)
        return TensorSpec(dtype, tuple(UNKNOWN if n == DYNAMIC_INDEX else n for n in extents))
    return TensorSpec(dtype, _named(tensor, extents))


@by_identity
def known_extents(type: Attribute) -> tuple[int, ...]:
    """Return the extents of a PTIR type that are numbers, as all are in what is compiled for sizes."""
    return tuple([n for n in read_type(type).shape if isinstance(n, int)])


def _named(tensor: TensorType, extents: tuple[int, ...]) -> Dims:
    texts = dim_texts(tensor.encoding.data) if isinstance(tensor.encoding, StringAttr) else []
    fits = len(texts) == len(extents) and all(text == "*" or n == DYNAMIC_INDEX for n, text in zip(extents, texts, strict=True))
    if not fits or set(texts) == {"*"}:
        expected = (
            "a string with a name or expression for each dynamic dimension and * for the others, or no encoding without names"
        )
        raise _wrong_encoding(tensor, f"expected {expected}", expected)
    named = [UNKNOWN if text == "*" else _dim(tensor, text) for text in texts]
    return tuple(n if n != DYNAMIC_INDEX else dim for n, dim in zip(extents, named, strict=True))


def _dim(tensor: TensorType, text: str) -> str:
    if is_dim_name(text):
        return text
    try:
        dim = checked_dim(text)
    except MindError as e:
        raise _wrong_encoding(tensor, e.message, "an expression of names") from None
    if isinstance(dim, int):
        raise _wrong_encoding(tensor, f"dimension {brief(text)!r} is the size {dim}, which belongs in the shape", dim)
    if dim != text:
        raise _wrong_encoding(tensor, f"dimension {brief(text)!r}, expected its canonical text, {dim}", dim)
    return dim


def _wrong_encoding(tensor: TensorType, issue: str, expected: Dim) -> MindError:
    return error("E2001", f"encoding of {brief(tensor)}: {issue}", expected=expected, actual=brief(tensor.encoding))


def checked_dim(text: str) -> Dim:
    """
    The dimension that a text says, in canonical form; E8002 for a text that is no expression, or too large a one.

    >>> checked_dim("T + P"), checked_dim("B")
    ('P+T', 'B')
    """
    if is_dim_name(text):
        return text
    try:
        dim = canonical(text)
        wrong = next((name for name in names_in(dim) if not is_dim_name(name)), None)
        issue = None if wrong is None else f"{wrong!r} is no name of ASCII letters, digits and underscores"
    except ExtentSyntaxError as e:
        issue = f"{e.message} at column {e.column}"
        dim = UNKNOWN
    except TooLarge as e:
        issue, dim = str(e), UNKNOWN
    if issue is not None:
        message = f"dimension {brief(text)!r}: {issue}; expected an expression of names such as P+T"
        raise error("E8002", message, attribute="dimension", value=brief(text))
    return dim
