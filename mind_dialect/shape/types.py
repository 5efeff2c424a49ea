"""
The types of the shape dialect and the kinds of type that its ops take.

`!shape.type` is the early specification's name of `!shape.shape`, and is read as that. `!shape.element_type` is the early
specification's alone; no op takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import TypeIs, TypeVar
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    TensorType,
    UnrankedMemRefType,
    UnrankedTensorType,
    VectorType,
    i1,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import AttrConstraint, InferenceContext, IntConstraint, VerificationContext, irdl_attr_definition
from xdsl.parser import AttrParser

from ..errors import brief, error
from .lattice import MAX_RANK


class PlainType(ParametrizedAttribute, TypeAttribute):
    """A type without parameters."""

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        if parser.parse_optional_punctuation("<") is not None:
            parser.raise_error(f"!{cls.name} takes no parameters")
        return ()


@irdl_attr_definition
class ShapeType(PlainType):
    """A shape: ranked with known or unknown extents, unranked, or invalid."""

    name = "shape.shape"


@irdl_attr_definition
class EarlyShapeType(PlainType):
    """The early name of `ShapeType`; there are no values of this class."""

    name = "shape.type"

    @classmethod
    def new(cls, params: Sequence[Attribute]) -> Any:
        return ShapeType.new(params)


@irdl_attr_definition
class SizeType(PlainType):
    """A size: a number from 0 up, unknown, or invalid."""

    name = "shape.size"


@irdl_attr_definition
class ValueShapeType(PlainType):
    """A value and its shape, either of which may be unknown."""

    name = "shape.value_shape"


@irdl_attr_definition
class WitnessType(PlainType):
    """The result of a constraint: code that needs the constraint to hold takes it as operand."""

    name = "shape.witness"


@irdl_attr_definition
class ElementType(PlainType):
    """The element type of a shaped type; it may be unknown or an error."""

    name = "shape.element_type"


SHAPE_TYPES: tuple[type[ParametrizedAttribute], ...] = (
    ShapeType,
    EarlyShapeType,
    SizeType,
    ValueShapeType,
    WitnessType,
    ElementType,
)
"""The types of the dialect."""

shape, size, value_shape, witness, index = ShapeType(), SizeType(), ValueShapeType(), WitnessType(), IndexType()

_MAY_HOLD_ERRORS = (ShapeType, SizeType, ValueShapeType)


def is_integer(attribute: Attribute) -> TypeIs[IntegerAttr[Any]]:
    """Return whether `attribute` is an integer, of whatever type."""
    return isinstance(attribute, IntegerAttr)


def is_array(attribute: Attribute) -> TypeIs[ArrayAttr[Attribute]]:
    """Return whether `attribute` is a list of attributes."""
    return isinstance(attribute, ArrayAttr)


def is_dense(attribute: Attribute) -> TypeIs[DenseIntOrFPElementsAttr[Any]]:
    """Return whether `attribute` is a `dense<...>`."""
    return isinstance(attribute, DenseIntOrFPElementsAttr)


def may_hold_error(type: Attribute) -> bool:
    """Return whether a value of `type` may be invalid; an index or an extent tensor cannot."""
    return isinstance(type, _MAY_HOLD_ERRORS)


def _is_list(type: Attribute) -> TypeIs[TensorType[Any]]:
    return isinstance(type, TensorType) and len(type.shape) == 1


def is_extents(type: Attribute) -> TypeIs[TensorType[Any]]:
    """Return whether `type` is that of an extent tensor, `tensor<?xindex>` or `tensor<4xindex>`."""
    return _is_list(type) and isinstance(type.element_type, IndexType)


def extents_type(length: int | None) -> TensorType[IndexType]:
    """The type of an extent tensor for shapes of rank `length`; None is unknown."""
    return TensorType(index, [DYNAMIC_INDEX if length is None else length])


def static_length(type: Attribute) -> int | None:
    """The static length of an extent tensor, None for other types."""
    length = type.get_shape()[0] if is_extents(type) else DYNAMIC_INDEX
    return None if length == DYNAMIC_INDEX else length


def is_shaped(type: Attribute) -> bool:
    """Return whether `type` is a tensor, memref or vector, ranked or not."""
    return isinstance(type, TensorType | MemRefType | VectorType | UnrankedTensorType | UnrankedMemRefType)


def shaped_extents(type: Attribute) -> tuple[int, ...] | None:
    """The extents of a ranked shaped type, `DYNAMIC_INDEX` for unknown ones; None for all other types."""
    return type.get_shape() if isinstance(type, TensorType | MemRefType | VectorType) else None


def _rank(type: Attribute) -> int:
    """The greatest rank that a value of `type` has or stands for, as far as the type says."""
    extents = shaped_extents(type)
    return 0 if extents is None else max(len(extents), static_length(type) or 0)


def _is_list_of_integers(type: Attribute) -> bool:
    return _is_list(type) and isinstance(type.element_type, IntegerType | IndexType)


def _is_list_of_indices(type: Attribute) -> bool:
    return _is_list(type) and type.element_type in (IndexType(), IntegerType(32), IntegerType(64))


@dataclass(frozen=True)
class KindConstraint(AttrConstraint[Attribute]):
    """The kind of an operand or result: `text` describes it in messages; `only` is the type if there is just one."""

    text: str
    accepts: Callable[[Attribute], bool] = field(repr=False)
    only: Attribute | None = None

    def fits(self, type: Attribute) -> bool:
        """Return whether `type` is of this kind and of no more dimensions than are supported."""
        return self.accepts(type) and _rank(type) <= MAX_RANK

    def check(self, type: Attribute, what: str) -> None:
        """Raise E9001 if `type` is of another kind, E9004 if it stands for a shape of too many dimensions."""
        if not self.accepts(type):
            message = f"{what} has type {brief(type)}, expected {self.text}"
            raise error("E9001", message, expected=self.text, actual=brief(type))
        if (rank := _rank(type)) > MAX_RANK:
            raise error("E9004", f"{what} is of rank {rank}, at most {MAX_RANK} is supported", rank=rank, limit=MAX_RANK)

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        pass  # the parser would refuse without a code what `check` refuses with one

    def can_infer(self, var_constraint_names: AbstractSet[str]) -> bool:
        return self.only is not None

    def infer(self, context: InferenceContext) -> Attribute:
        assert self.only is not None
        return self.only

    def mapping_type_vars(self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]) -> KindConstraint:
        return self


def _one(type: Attribute) -> KindConstraint:
    return KindConstraint(str(type), lambda t: t == type, type)


def _either(text: str, *kinds: Callable[[Attribute], bool] | type[Attribute]) -> KindConstraint:
    classes = tuple(k for k in kinds if isinstance(k, type))
    predicates = [k for k in kinds if not isinstance(k, type)]
    return KindConstraint(text, lambda t: isinstance(t, classes) or any(p(t) for p in predicates))


SIZE, SHAPE, WITNESS, VALUE_SHAPE, INDEX, I1 = _one(size), _one(shape), _one(witness), _one(value_shape), _one(index), _one(i1)
SIZE_OR_INDEX = _either("!shape.size or index", SizeType, IndexType)
SHAPE_OR_EXTENTS = _either("!shape.shape or an extent tensor (tensor<?xindex>)", ShapeType, is_extents)
SHAPE_OR_SIZE = _either("!shape.shape or !shape.size", ShapeType, SizeType)
SHAPE_LIKE = _either("a shape, extent tensor, size or index", ShapeType, SizeType, IndexType, is_extents)
SHAPED = _either("a tensor, memref or vector", is_shaped)
SHAPED_OR_VALUE_SHAPE = _either("a tensor, memref, vector or !shape.value_shape", is_shaped, ValueShapeType)
EXTENTS = _either("an extent tensor (tensor<?xindex>)", is_extents)
INTEGERS_OR_VALUE_SHAPE = _either("a tensor<?xi32> of any integers or !shape.value_shape", _is_list_of_integers, ValueShapeType)
INDICES = _either("a tensor<?xi32>, of i32, i64 or index", _is_list_of_indices)
ANY = KindConstraint("any type", lambda _: True)
