"""
Lattice values of ops of the builtin dialects that carry sizes: constants and arithmetic of `arith`, lists of `tensor`.

Their ops know no errors: what would be Invalid in the lattice is unknown here, as `arith` wraps around and what `tensor` does out
of bounds is undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, IndexType, IntegerAttr, IntegerType, TensorType, i1
from xdsl.ir import Attribute, Operation

from .. import neighbours
from ..extents.dims import sub_dims
from . import lattice
from .evaluate import Row, Shaped, Value, as_shape, settle, top_of
from .lattice import UNKNOWN, Shape, Unranked
from .size_facts import relation_of
from .types import shaped_extents


def _constant(op: arith.ConstantOp) -> Value:
    found = constant_of(op.value)
    return top_of(op.result.type) if found is None else found


def constant_of(attribute: Attribute) -> Value:
    """The value of a constant attribute; None for what is neither integer nor list of integers."""
    if isinstance(attribute, IntegerAttr):
        value = attribute.value.data
        return bool(value) if cast(Any, attribute).type == i1 else value
    if isinstance(attribute, DenseIntOrFPElementsAttr):
        dense = cast(DenseIntOrFPElementsAttr[Any], attribute)
        extents = dense.get_shape()
        if len(extents) == 1 and isinstance(dense.get_element_type(), IntegerType | IndexType) and extents[0] <= lattice.MAX_RANK:
            values = tuple(dense.get_values())
            return Shaped(extents, values) if len(values) == extents[0] else None
    return None


def _index_cast(op: arith.IndexCastOp, value: Value) -> Value:
    """Known numbers stay if the new type holds them, names if it is as wide as an index."""
    type: Attribute = op.result.type
    element: Attribute = cast(Any, type).element_type if isinstance(type, TensorType) else type
    width = cast(int, cast(Any, element).width.data) if isinstance(element, IntegerType) else 64

    def kept(item: lattice.Extent) -> lattice.Extent:
        fits = width == 64 if isinstance(item, str) else -(1 << width - 1) <= item < 1 << width - 1
        return item if fits else UNKNOWN

    if not isinstance(value, Shaped):
        return kept(cast(lattice.Extent, value)) if isinstance(value, int | str) else top_of(type)
    return Shaped(value.shape, tuple(map(kept, value.contents)) if isinstance(value.contents, tuple) else value.contents)


def _subtract(a: lattice.Extent, b: lattice.Extent) -> Value:
    return a if b == 0 else sub_dims(a, b)


def _min(a: lattice.Extent, b: lattice.Extent) -> Value:
    """The smaller; an unknown index may be negative, which an unknown size may not."""
    return UNKNOWN if UNKNOWN in (a, b) else lattice.min_size(a, b)


def _compare(op: arith.CmpiOp, a: Value, b: Value) -> Value:
    """Numbers are compared, of sizes with names what is decided for all sizes that the facts allow."""
    claim = relation_of(op, a, b)
    return None if claim is None else claim.holds()


def _cast(op: tensor.CastOp, value: Value) -> Value:
    return value


def _from_elements(op: Operation, *elements: Value) -> Value:
    if len(shaped_extents(op.results[0].type) or ()) != 1 or len(elements) > lattice.MAX_RANK:
        return None
    return Shaped((len(elements),), cast(Any, elements)) if all(isinstance(e, int | str) for e in elements) else None


def _extract(op: tensor.ExtractOp, value: Value, *indices: Value) -> Value:
    if not isinstance(value, Shaped) or len(indices) != 1 or not isinstance(value.contents, tuple):
        return None
    (i,), contents = indices, value.contents
    return contents[i] if isinstance(i, int) and 0 <= i < len(contents) else None


def _dim(op: tensor.DimOp, value: Value, index: Value) -> Value:
    return lattice.get_extent(value.shape, cast(Any, index)) if isinstance(value, Shaped) else None


def _reshape(op: tensor.ReshapeOp, value: Value, shape: Value) -> Value:
    found: Shape = as_shape(shape)
    return None if isinstance(found, Unranked) else Shaped(found)


def _rank(op: neighbours.RankOp, value: Value) -> Value:
    return len(value.shape) if isinstance(value, Shaped) and isinstance(value.shape, tuple) else None


def _generate(op: neighbours.GenerateOp, *sizes: Value) -> Value:
    """A tensor of the extents that are operands where its type has none; the elements are unknown."""
    given = iter(sizes)
    extents = [next(given) if n == DYNAMIC_INDEX else n for n in cast(Any, op.result.type).get_shape()]
    known = (n if isinstance(n, str) or (isinstance(n, int) and n >= 0) else UNKNOWN for n in extents)
    return Shaped(tuple(known))


def _arithmetic(function: Callable[[Any, Any], Value]) -> Row:
    def row(op: Operation, a: Value, b: Value) -> Value:
        known = isinstance(op.results[0].type, IndexType) and isinstance(a, int | str) and isinstance(b, int | str)
        return function(a, b) if known else None

    return row


FOREIGN: Mapping[type[Operation], Row] = {
    arith.ConstantOp: _constant,
    arith.AddiOp: _arithmetic(lattice.add),
    arith.SubiOp: _arithmetic(_subtract),
    arith.MuliOp: _arithmetic(lattice.mul),
    arith.MaxSIOp: _arithmetic(lattice.max_size),
    arith.MinSIOp: _arithmetic(_min),
    arith.CmpiOp: _compare,
    arith.IndexCastOp: _index_cast,
    tensor.CastOp: _cast,
    tensor.DimOp: _dim,
    tensor.ExtractOp: _extract,
    tensor.FromElementsOp: _from_elements,
    tensor.ReshapeOp: _reshape,
    neighbours.ReshapeOp: _reshape,
    neighbours.RankOp: _rank,
    neighbours.GenerateOp: _generate,
}
"""A row that knows nothing gives None."""


def evaluate_foreign(op: Operation, values: tuple[Value, ...]) -> tuple[Value, ...]:
    """The values of the results of any other op: by its row, else by their types."""
    row = FOREIGN.get(type(op))
    found = None if row is None else cast(Value, row(op, *values))
    if found is None:
        return tuple(map(top_of, op.result_types))
    result_type = op.result_types[0]
    settled = settle(found, result_type)
    parts = settled if isinstance(settled, Shaped) else (settled,)
    return (settled if lattice.invalid(*parts) is None else top_of(result_type),)
