"""
Constants of both generations, how each stores its value, and the value of the lattice that it stands for.

    shape.constant       early: sizes and shapes, `?`, `[*]` and `[invalid]` among them; an ArrayAttr, or for a size one element
    shape.constant_dim   early, from an example only: a size, any integer attribute
    shape.const_size     modern: a known size, an index attribute
    shape.const_shape    modern: a ranked shape, dense index elements; a negative one stands for an unknown extent
    shape.const_witness  modern: a constraint that holds, or one that does not

Only builtin attributes are stored: a real mlir-opt refuses any `#shape.` attribute, whereas unknown ops it can read.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    i1,
)
from xdsl.ir import Attribute
from xdsl.irdl import AnyAttr, irdl_op_definition, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure

from ..errors import MindError, brief, error
from .base import ShapeOp, Types
from .lattice import MAX_RANK, UNRANKED, Extent, Invalid, Shape, Size, Unranked
from .text import INVALID, UNKNOWN_WORD, UNRANKED_WORD, parse_constant, parse_integers, print_constant
from .types import (
    SHAPE_OR_EXTENTS,
    SHAPE_OR_SIZE,
    SIZE,
    WITNESS,
    ShapeType,
    SizeType,
    extents_type,
    index,
    is_array,
    is_dense,
    is_extents,
    is_integer,
    shape,
    size,
    witness,
)

MAX_SIZE = (1 << 63) - 1
"""The greatest size."""
MIN_INDEX = -(1 << 63)
NO_REASON = "invalid"
"""The reason of an invalid constant that states none."""


def invalid_constant(value: object, why: str) -> MindError:
    """E9008: a constant that is no size or shape."""
    return error("E9008", f"{brief(value)} {why}", value=brief(value))


def size_of(attribute: Attribute, also: str = "") -> int:
    """
    The size that an integer attribute of type index holds.

    E9008 for others, which `also` may name, and for sizes below 0 or beyond 64 bits.
    """
    if not is_integer(attribute) or not isinstance(attribute.type, IndexType):
        raise invalid_constant(attribute, f"is no size, expected an integer of type index{also}")
    return checked_size(attribute.value.data)


def early_size_of(attribute: Attribute, also: str) -> int:
    """The size that an integer of `shape.constant` holds, whose type the specification leaves open; else as `size_of`."""
    if is_integer(attribute) and isinstance(cast(Attribute, attribute.type), IntegerType) and attribute.type != i1:
        return checked_size(attribute.value.data)
    return size_of(attribute, also)


def checked_size(value: int) -> int:
    """`value`; E9008 unless it is from 0 to `MAX_SIZE`."""
    if not 0 <= value <= MAX_SIZE:
        raise invalid_constant(value, "is no size, expected a number from 0 to 2^63 - 1")
    return value


def checked_rank(rank: int) -> int:
    """`rank`; E9004 if it is beyond the limit."""
    if rank > MAX_RANK:
        raise error("E9004", f"a shape of rank {rank}, at most {MAX_RANK} is supported", rank=rank, limit=MAX_RANK)
    return rank


def _invalid(words: Sequence[Attribute]) -> Invalid | None:
    """The invalid value that `"invalid"`, with or without a reason, stands for; None for all else."""
    if not words or len(words) > 2 or words[0] != StringAttr(INVALID):
        return None
    reason = words[-1]
    return Invalid(reason.data if len(words) == 2 and isinstance(reason, StringAttr) else NO_REASON)


def lattice_of(attribute: Attribute, type: Attribute) -> Size | Shape:
    """
    The size or shape that the value of `shape.constant` stands for; `type` says which.

    E9008 and E9004 for what no constant can hold.
    """
    words = attribute.data if is_array(attribute) else (attribute,)
    if isinstance(type, SizeType):
        if (found := _invalid(words)) is not None:
            return found
        if attribute == StringAttr(UNKNOWN_WORD):
            return UNKNOWN_WORD
        return early_size_of(attribute, ', "?" or "invalid"')
    if not is_array(attribute):
        raise invalid_constant(attribute, "is no shape, expected a list of sizes")
    if (found := _invalid(words)) is not None:
        return found
    if words == (StringAttr(UNRANKED_WORD),):
        return UNRANKED
    checked_rank(len(words))
    return tuple(UNKNOWN_WORD if word == StringAttr(UNKNOWN_WORD) else early_size_of(word, ' or "?"') for word in words)


def attribute_of(value: Size | Shape, *, of_shape: bool) -> Attribute:
    """
    Return the attribute that `shape.constant` stores for a value of the lattice; `of_shape` distinguishes an invalid shape from
    an invalid size.

    A name becomes unknown: it means something within one program only.
    """
    match value:
        case Invalid():
            words = [StringAttr(INVALID), *(() if value.reason == NO_REASON else (StringAttr(value.reason),))]
            return ArrayAttr(words) if of_shape or len(words) > 1 else words[0]
        case Unranked():
            return ArrayAttr([StringAttr(UNRANKED_WORD)])
        case tuple():
            return ArrayAttr([_extent(extent) for extent in value])
        case _:
            return _extent(value)


def _extent(extent: Extent) -> Attribute:
    return IntegerAttr(extent, index) if isinstance(extent, int) else StringAttr(UNKNOWN_WORD)


class ShapeConstantOp(ShapeOp, ABC):
    """An op that is nothing but a value."""

    traits = traits_def(Pure(), ConstantLike())


@irdl_op_definition
class ConstantOp(ShapeConstantOp):
    """A size or shape; early form, which alone has constants that are unknown, unranked or invalid."""

    name = "shape.constant"
    value = prop_def(AnyAttr())
    result = result_def(SHAPE_OR_SIZE)

    @classmethod
    def of(cls, value: Size | Shape, type: Attribute) -> Self:
        """The constant that holds `value`."""
        return cls(value=attribute_of(value, of_shape=isinstance(type, ShapeType)), result_types=[type])

    def lattice(self) -> Size | Shape:
        """The value that the constant holds."""
        return lattice_of(self.value, self.result.type)

    def check_op(self) -> None:
        self.lattice()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        value, type = parse_constant(parser)
        return cls.create(properties={"value": value}, attributes=attributes, result_types=[type])

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        print_constant(printer, self.value, self.result.type)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)


@irdl_op_definition
class ConstantDimOp(ShapeConstantOp):
    """A size; the early specification has it in an example only."""

    name = "shape.constant_dim"
    value = prop_def(AnyAttr())
    result = result_def(SIZE)

    def check_op(self) -> None:
        value = self.value
        if not is_integer(value):
            raise invalid_constant(value, "is no size, expected an integer")
        checked_size(value.value.data)

    def lattice(self) -> Size:
        """The value that the constant holds."""
        return cast(IntegerAttr[Any], self.value).value.data


@irdl_op_definition
class ConstSizeOp(ShapeConstantOp):
    """A known size."""

    name = "shape.const_size"
    value = prop_def(AnyAttr())
    result = result_def(SIZE)

    def check_op(self) -> None:
        size_of(self.value)

    def lattice(self) -> Size:
        """The value that the constant holds."""
        return size_of(self.value)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = IntegerAttr(parser.parse_integer(allow_boolean=False), index)
        return cls.create(properties={"value": value}, attributes=parser.parse_optional_attr_dict(), result_types=[size])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_constant(printer, self.value, size)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class ConstWitnessOp(ShapeConstantOp):
    """A constraint that is known to hold, or known to fail."""

    name = "shape.const_witness"
    passing = prop_def(AnyAttr())
    result = result_def(WITNESS)

    def check_properties(self) -> None:
        value = self.passing
        if not is_integer(value) or value.type != i1:
            raise error("E9007", f"passing is {brief(value)}, expected true or false", property="passing")

    @property
    def passes(self) -> bool:
        """Return whether the constraint holds."""
        return bool(cast(IntegerAttr[Any], self.passing).value.data)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = IntegerAttr.from_bool(parser.parse_boolean())
        attributes = parser.parse_optional_attr_dict()
        return cls.create(properties={"passing": value}, attributes=attributes, result_types=[witness])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.passing)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class ConstShapeOp(ShapeConstantOp):
    """A ranked shape; negative extents, which upstream's own text has, stand for unknown ones."""

    name = "shape.const_shape"
    INFERS: ClassVar = True
    shape = prop_def(AnyAttr())
    result = result_def(SHAPE_OR_EXTENTS)

    @classmethod
    def of(cls, extents: Iterable[int], result_type: Attribute | None = None) -> Self:
        """
        The constant with the given extents, of type `tensor<Nxindex>` if none is stated.

        E9008 for an extent beyond 64 bits, E9004 for too many.
        """
        stored = dense_extents(list(extents))
        return cls(shape=stored, result_types=None if result_type is None else [result_type])

    @classmethod
    def infer(cls, operands: Types, properties: Mapping[str, Attribute]) -> Types:
        return [extents_type(len(_elements(properties["shape"])))]

    @staticmethod
    def agrees(inferred: Attribute, stated: Attribute) -> bool:
        return stated in (shape, inferred)

    @property
    def extents(self) -> Sequence[int]:
        """The numbers that the constant holds."""
        return _elements(self.shape)

    def lattice(self) -> Shape:
        """The value that the constant holds."""
        return tuple(UNKNOWN_WORD if extent < 0 else extent for extent in self.extents)

    def check_properties(self) -> None:
        checked_rank(len(_elements(self.shape)))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        stored = dense_extents(parse_integers(parser))
        parser.parse_punctuation(":")
        return cls.create(properties={"shape": stored}, attributes=attributes, result_types=[parser.parse_type()])

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        try:
            printer.print_string(str(list(self.extents)))
        except MindError:  # so that a diagnostic can show an ill-formed op
            printer.print_attribute(self.shape)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)


def dense_extents(extents: Sequence[int]) -> DenseIntOrFPElementsAttr[Any]:
    """The attribute that stores extents; E9008 for one beyond 64 bits."""
    checked_rank(len(extents))
    for extent in extents:
        if not MIN_INDEX <= extent <= MAX_SIZE:
            raise invalid_constant(extent, "is beyond 64 bits")
    return DenseIntOrFPElementsAttr.from_list(TensorType(index, [len(extents)]), extents)


def _elements(attribute: Attribute) -> Sequence[int]:
    """The elements of a dense list of indices; E9007 for all else."""
    if not is_dense(attribute) or not is_extents(attribute.type):
        message = f"shape is {brief(attribute)}, expected dense elements of a tensor<Nxindex>"
        raise error("E9007", message, property="shape")
    length = attribute.get_shape()[0]
    if len(attribute.data.data) != 8 * length:
        raise error("E9007", f"shape holds {len(attribute.data.data)} bytes, expected {8 * length}", property="shape")
    return cast(Sequence[int], attribute.get_values())


CONSTANT_OPS: tuple[type[ShapeOp], ...] = (ConstSizeOp, ConstShapeOp, ConstWitnessOp)
EARLY_CONSTANT_OPS: tuple[type[ShapeOp], ...] = (ConstantOp, ConstantDimOp)
