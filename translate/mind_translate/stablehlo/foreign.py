"""
An op of StableHLO or CHLO as the rows of the tables see it: landed operands, result types, attributes read with coded errors.

Attributes come from any reader: ours keeps dimension numbers as text, other flows have classes of their own, which print the same
text. Old files keep in the attribute dictionary what is a property today, and lists as `dense<...>` instead of `array<...>`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from mind_dialect.errors import MindError, brief, error
from mind_dialect.ptir.types import PtirDType, TensorSpec, read_type, tensor_type
from mind_dialect.ptir_shapes import MAX_EXTENT, UNKNOWN, Dims
from mind_dialect.stablehlo.dialect import ForeignAttribute
from mind_dialect.stablehlo.types import DTYPE_OF_ELEMENT

from ..unsupported import Refused

Window = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[tuple[int, int], ...]]
_REQUIRED: Any = object()


def name_of(op: Operation) -> str:
    """The name of an op, of an unregistered one too."""
    stored = op.attributes.get("op_name__")
    return stored.data if op.name == "builtin.unregistered" and isinstance(stored, StringAttr) else op.name


class ForeignOp:
    """One op to convert; `operands` are PTIR values, `results` the types that its results must have."""

    def __init__(self, op: Operation, operands: Sequence[SSAValue], results: Sequence[TensorSpec]):
        self.op, self.operands, self.results = op, list(operands), list(results)
        self.name = name_of(op)
        self.attributes: dict[str, Attribute] = {**op.attributes, **op.properties} if op.attributes else op.properties

    @property
    def short(self) -> str:
        """The name without the dialect."""
        return self.name.partition(".")[2]

    @property
    def dtype(self) -> PtirDType:
        """The dtype of the first result."""
        return self.results[0].dtype

    @property
    def shape(self) -> Dims:
        """The dimensions of the first result."""
        return self.results[0].shape

    @property
    def regions(self) -> Sequence[Region]:
        """The regions, unconverted."""
        return self.op.regions

    def body(self, i: int = 0) -> Block:
        """The one block of a region; E8005 if it has none or several, or no terminator."""
        regions = self.op.regions
        region = regions[i] if i < len(regions) else None
        block = region.block if region is not None and len(region.blocks) == 1 else None
        if block is None or block.last_op is None:
            actual = "no region" if region is None else f"{len(region.blocks)} blocks"
            message = f"region {i} has {actual}, expected one block that ends in stablehlo.return"
            raise error("E8005", message, region=i, expected="one block", actual=actual)
        return block

    def wrong(self, name: str, expected: str) -> MindError:
        """E8002: an attribute is missing or is something else."""
        given = self.attributes.get(name)
        what = "is missing" if given is None else f"is {brief(given)}"
        return error("E8002", f"{name} {what}, expected {expected}", attribute=name, value=given)

    def integers(self, name: str, default: Sequence[int] = _REQUIRED) -> tuple[int, ...]:
        """A list of integers."""
        if (given := self.attributes.get(name)) is None and default is not _REQUIRED:
            return tuple(default)
        if (found := as_integers(given)) is None:
            raise self.wrong(name, "a list of integers")
        return found

    def integer(self, name: str, default: int = _REQUIRED) -> int:
        """One integer."""
        given = self.attributes.get(name)
        if given is None and default is not _REQUIRED:
            return default
        if not isinstance(given, IntegerAttr):
            raise self.wrong(name, "an integer")
        return cast(IntegerAttr[Any], given).value.data

    def flag(self, name: str) -> bool:
        """A truth; false if it is absent."""
        return self.integer(name, 0) != 0

    def string(self, name: str) -> str:
        """A string."""
        if not isinstance(given := self.attributes.get(name), StringAttr):
            raise self.wrong(name, "a string")
        return given.data

    def symbol(self, name: str) -> str:
        """The name of a function."""
        if not isinstance(given := self.attributes.get(name), SymbolRefAttr):
            raise self.wrong(name, "the name of a function")
        return given.root_reference.data

    def word(self, name: str, known: Sequence[str], default: str = _REQUIRED) -> str:
        """One of a few words, such as a comparison direction."""
        given = self.attributes.get(name)
        if given is None and default is not _REQUIRED:
            return default
        found = re.search(r"(\w+)\W*$", given.data if isinstance(given, StringAttr) else str(given))
        if given is None or found is None or found[1] not in known:
            raise self.wrong(name, f"one of {', '.join(known)}")
        return found[1]

    def numbers(self, name: str) -> DimensionNumbers:
        """Dimension numbers, such as those of `dot_general`."""
        if (given := self.attributes.get(name)) is None:
            raise self.wrong(name, "dimension numbers")
        return DimensionNumbers(self, name, numbers_in(str(given)))

    def window(self, rank: int) -> Window:
        """`window_dimensions`, strides, base and window dilations, padding; E8002 unless all have `rank` entries."""
        ones = (1,) * rank
        names = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
        lists = [self.integers(name, _REQUIRED if name == names[0] else ones) for name in names]
        for name, entries in zip(names, lists, strict=True):
            if len(entries) != rank or any(n < 1 for n in entries):
                raise self.wrong(name, f"{rank} positive integers")
        return (lists[0], lists[1], lists[2], lists[3], self.pairs("padding", rank))

    def pairs(self, name: str, rank: int) -> tuple[tuple[int, int], ...]:
        """`rank` pairs of integers; zeros if absent."""
        flat = self.integers(name, (0,) * (2 * rank))
        if len(flat) == 1:  # a splat
            flat = flat * (2 * rank)
        if len(flat) != 2 * rank:
            raise self.wrong(name, f"{rank} pairs of integers")
        return tuple(zip(flat[::2], flat[1::2], strict=True))


class DimensionNumbers:
    """Lists and integers by name, absent ones empty."""

    def __init__(self, op: ForeignOp, name: str, found: dict[str, tuple[int, ...]]):
        self._op, self._name, self._found = op, name, found

    def list(self, name: str, rank: int | None = None) -> tuple[int, ...]:
        """A list; with `rank`, of distinct dimensions below it, else E8002."""
        values = self._found.get(name, ())
        if rank is not None and (len(set(values)) != len(values) or any(not 0 <= d < rank for d in values)):
            raise self._op.wrong(self._name, f"{name} of distinct dimensions from 0 to {rank - 1}")
        return values

    def integer(self, name: str, default: int = 0) -> int:
        """One integer."""
        return self._found.get(name, (default,))[0]


_NUMBERS = re.compile(r"(\w+)\s*=\s*(?:\[([^\]]*)\]|(-?\d+))")


@lru_cache(maxsize=256)
def numbers_in(text: str) -> dict[str, tuple[int, ...]]:
    """
    The lists and integers of dimension numbers.

    >>> numbers_in("#stablehlo.gather<offset_dims = [0, 1], index_vector_dim = 1>")
    {'offset_dims': (0, 1), 'index_vector_dim': (1,)}
    """
    found: dict[str, tuple[int, ...]] = {}
    for name, entries, single in _NUMBERS.findall(text):
        items = [single] if single else [item for item in entries.split(",") if item.strip()]
        found[name] = tuple(int(item) for item in items if re.fullmatch(r"\s*-?\d{1,18}\s*", item))
    return found


def as_integers(attribute: Attribute | None) -> tuple[int, ...] | None:
    """A list of integers in any of its spellings; None for what is none."""
    match attribute:
        case DenseArrayBase() | DenseIntOrFPElementsAttr():
            values = cast(Any, attribute).get_values()
            return tuple(int(v) for v in values) if all(isinstance(v, int) for v in values) else None
        case ArrayAttr():
            items = attribute.data
            if all(isinstance(item, IntegerAttr) for item in items):
                return tuple(cast(IntegerAttr[Any], item).value.data for item in items)
            return None
        case _:
            return None


@lru_cache(maxsize=1 << 12)
def landed_type(type: Attribute) -> TensorType[Any]:
    """The PTIR type of a StableHLO type: integers without a sign have one, everything else stays. Raises `Refused`."""
    if not isinstance(type, TensorType):
        raise Refused(f"a value of type {brief(type)}", _TYPE_ADVICE)
    tensor = cast(TensorType[Any], type)
    return cast(TensorType[Any], tensor_type(dtype_of(tensor.element_type), read_dims(tensor)))


_TYPE_ADVICE = "PTIR has tensors only, without tokens, tuples and quantized types"


def dtype_of(element: Attribute) -> PtirDType:
    """The dtype of a StableHLO element type. Raises `Refused`."""
    if (dtype := DTYPE_OF_ELEMENT.get(element)) is None:
        raise Refused(f"element type {brief(element)}", "PTIR has i1, 4- to 64-bit integers, fp8_e4m3, fp8_e5m2 and wider floats")
    return dtype


def read_dims(tensor: TensorType[Any]) -> Dims:
    """The dimensions of a type, dynamic ones unknown."""
    return tuple(UNKNOWN if n == DYNAMIC_INDEX else n for n in tensor.get_shape())


def is_dynamic(type: Attribute) -> bool:
    """Return whether a type is a tensor with a dynamic dimension."""
    return isinstance(type, TensorType) and DYNAMIC_INDEX in type.get_shape()


def landed_spec(type: Attribute) -> TensorSpec:
    """The dtype and dimensions of a StableHLO type. Raises `Refused`."""
    return read_type(landed_type(type))


_BOUNDS = {
    "stablehlo.bounds": re.compile(r"(.*)", re.DOTALL),
    "stablehlo.type_extensions": re.compile(r"\s*bounds\s*=\s*\[(.*)\]\s*", re.DOTALL),
}
_NO_BOUND = ("?", str(-(1 << 63)))


def bounds_of(type: Attribute) -> list[int | None]:
    """
    Return the upper bounds that the type of a tensor states of its dimensions.

    `#stablehlo.bounds<8, ?>` and `#stablehlo.type_extensions<bounds = [8, ?]>` do; the latter may have the least number of 64
    bits for `?`. E4000 for another number of them, and for what is no size.
    """
    encoding: object = type.encoding if isinstance(type, TensorType) else None
    if not isinstance(encoding, ForeignAttribute) or encoding.name not in _BOUNDS:
        return []
    found = _BOUNDS[encoding.name].fullmatch(encoding.data)
    words = [word.strip() for word in found[1].split(",")] if found is not None else ["none"]
    sizes = [None if word in _NO_BOUND else int(word) if word.isdecimal() and len(word) < 20 else -1 for word in words]
    rank = len(cast("TensorType[Attribute]", type).get_shape())
    if len(sizes) != rank or any(n is not None and not 0 <= n <= MAX_EXTENT for n in sizes):
        given, expected = f"#{encoding.name}<{brief(encoding.data)}>", f"{rank} bounds, each a size or ?"
        raise error("E4000", f"{given} of {rank} dimensions, expected {expected}", given=given, expected=expected)
    return sizes
