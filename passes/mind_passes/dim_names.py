"""Names of dimensions in types and properties: which a function uses, and others in their place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute, Operation

from mind_dialect.dominance import values_of, walk
from mind_dialect.extents.dims import (
    dim_of,
    exact_quotient,
    is_expression,
    names_in,
    sub_dims,
    substituted,
)
from mind_dialect.extents.solutions import linear_in
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.attributes import DIM, DIMS
from mind_dialect.ptir.types import DTYPE_OF_TYPE, read_type, tensor_type
from mind_dialect.ptir_shapes import UNKNOWN, Dim, Dims


def has_names(type: Attribute) -> bool:
    """Return whether `type` is a tensor of PTIR with names of dimensions."""
    if not isinstance(type, TensorType):
        return False
    tensor = cast(TensorType, type)
    return isinstance(tensor.encoding, StringAttr) and tensor.element_type in DTYPE_OF_TYPE


def dims_of(type: Attribute) -> Dims | None:
    """The dimensions of a tensor of PTIR, None for another type."""
    if not isinstance(type, TensorType):
        return None
    tensor = cast(TensorType, type)
    return read_type(tensor).shape if tensor.element_type in DTYPE_OF_TYPE else None


def names_used(root: Operation) -> list[str]:
    """The names that the types and properties of a function, or of an op with regions, have, in the order of the text."""
    found: dict[str, None] = {}
    for op in walk(root):
        _add((value.type for value in values_of(op)), found)
        for dims in op.stated_dims().values() if isinstance(op, PtirOp) else ():
            found.update(dict.fromkeys(name for d in dims for name in names_in(d)))
    return list(found)


def _add(types: Iterable[Attribute], found: dict[str, None]) -> None:
    for type in types:
        if has_names(type):
            found.update(dict.fromkeys(name for d in read_type(type).shape for name in names_in(d)))


def unify(declared: Attribute, given: Attribute, names: dict[str, Dim]) -> None:
    """Add to `names` the dimensions that a type has where the declared one has new names."""
    shape, other = dims_of(declared) if has_names(declared) else None, dims_of(given)
    for name, dim in zip(shape or (), other or (), strict=False):
        if isinstance(name, str) and name != UNKNOWN and dim != UNKNOWN and not is_expression(name):
            names.setdefault(name, dim)
    for name, dim in zip(shape or (), other or (), strict=False):
        if dim != UNKNOWN and (linear := linear_in(name, frozenset(names))) is not None:
            new, factor, rest = linear
            quotient = exact_quotient(sub_dims(dim, substituted(dim_of(rest), names)), factor)
            if quotient != UNKNOWN:
                names[new] = quotient


class Renaming:
    """Dimensions to put where names stand; without any, types and properties stay the same objects."""

    def __init__(self, names: Mapping[str, Dim]):
        self.names = {name: dim for name, dim in names.items() if name != dim}
        self._types: dict[Attribute, Attribute] = {}

    def type(self, type: Attribute) -> Attribute:
        """`type` with dimensions of those names."""
        if not self.names or not has_names(type):
            return type
        if (made := self._types.get(type)) is None:
            dtype, shape = read_type(type)
            made = self._types[type] = tensor_type(dtype, self.dims(shape))
        return made

    def dims(self, dims: Dims) -> Dims:
        """`dims` with others in the place of names."""
        return tuple(substituted(d, self.names) for d in dims)

    def properties(self, op: Operation) -> dict[str, Attribute]:
        """The properties of `op`."""
        if not self.names or not isinstance(op, PtirOp):
            return dict(op.properties)
        changed = op.stated_dims()
        renamed = {name: self.dims(dims) for name, dims in changed.items()}
        stored = {
            name: DIM.attribute(*dims) if op.CODECS[name] is DIM else DIMS.attribute(dims) for name, dims in renamed.items()
        }
        return {**op.properties, **stored}
