"""
Ops of xDSL's `tensor` dialect, and tensor constants of `arith`, on NumPy arrays, in xDSL's interpreter.

xDSL's own implementations hold tensors in a class of their own, which our ops do not take.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
)
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    ReturnedValues,
    impl,
    impl_terminator,
    register_impls,
)
from xdsl.ir import Attribute

from mind_dialect import neighbours
from mind_dialect.errors import error
from mind_dialect.ptir.types import DTYPE_OF_TYPE
from mind_lowering.memory_need import physical_memory
from mind_lowering.ptir_kernels.formats import array_dtype

Values = tuple[Any, ...]


_SIGNLESS: dict[Attribute, str] = {IndexType(): "int64", **{IntegerType(bits): f"int{bits}" for bits in (8, 16, 32, 64)}}


def element_dtype(type: Attribute) -> np.dtype[Any]:
    """The array dtype of an element type of any dialect; integers without a sign are signed, an index has 64 bits."""
    if (known := DTYPE_OF_TYPE.get(type)) is not None:
        return array_dtype(known.name)
    if (name := _SIGNLESS.get(type)) is None:
        raise error("E2005", f"no arrays of {type}", dtype=str(type), supported=list(_SIGNLESS.values()))
    return np.dtype(name)


def _shape(type: Attribute, sizes: Values = ()) -> list[int]:
    dynamic = iter(sizes)
    return [int(next(dynamic)) if n == DYNAMIC_INDEX else n for n in cast(TensorType, type).get_shape()]


def _place(op: Any, array: Any, indices: Values) -> Values:
    """E6001 unless the indices are in bounds."""
    if not all(0 <= i < n for i, n in zip(indices, array.shape, strict=True)):
        message = f"{op.name}: index {list(indices)} is out of bounds for shape {list(array.shape)}"
        raise error("E6001", message, indices=list(indices), shape=list(array.shape))
    return tuple(int(i) for i in indices)


def _zeros(type: Attribute, sizes: Values) -> Any:
    """An array of a type whose unknown extents are `sizes`; E3006 for one below 0, E6004 for more than the memory."""
    shape, dtype = _shape(type, sizes), element_dtype(cast(TensorType, type).element_type)
    if (negative := next((i for i, n in enumerate(shape) if n < 0), None)) is not None:
        message = f"extent {shape[negative]} at {negative} in {shape}, expected 0 or more"
        raise error("E3006", message, shape=tuple(shape), index=negative, value=shape[negative])
    if (needed := int(np.prod(shape, dtype=object)) * dtype.itemsize) > physical_memory():
        message = f"cannot allocate {shape}: {needed} bytes are needed"
        raise error("E6004", message, shape=tuple(shape), dtype=str(dtype), backend="numpy")
    return np.zeros(shape, dtype)


@register_impls
class ForeignFunctions(InterpreterFunctions):
    """The implementations; a tensor is an array, never written to."""

    @impl(arith.ConstantOp)
    def run_constant(self, _interpreter: Interpreter, op: arith.ConstantOp, _args: Values) -> Values:
        """A tensor as an array, a number as a Python number."""
        if isinstance(op.value, IntegerAttr | FloatAttr):
            return (cast("IntegerAttr[Any]", op.value).value.data,)
        if not isinstance(op.value, DenseIntOrFPElementsAttr):
            raise error("E4000", f"constant {op.value}, expected a number or a tensor", given=str(op.value), expected="a number")
        type = cast(TensorType, op.result.type)
        values = list(op.value.get_values())
        array = np.array(values, element_dtype(type.element_type))
        return (np.broadcast_to(array.reshape(()), _shape(type)) if len(values) == 1 else array.reshape(_shape(type)),)

    @impl(tensor.EmptyOp)
    def run_empty(self, _interpreter: Interpreter, op: tensor.EmptyOp, args: Values) -> Values:
        """Zeros, as what is empty may hold anything."""
        return (_zeros(op.tensor.type, args),)

    @impl(neighbours.EmptyOp)
    def run_any_empty(self, _interpreter: Interpreter, op: neighbours.EmptyOp, args: Values) -> Values:
        """As `tensor.empty` of xDSL."""
        return (_zeros(op.tensor.type, args),)

    @impl(tensor.ReshapeOp)
    def run_reshape(self, _interpreter: Interpreter, op: tensor.ReshapeOp, args: Values) -> Values:
        """The elements under the shape that the second operand holds."""
        source, shape = args
        return (np.asarray(source).reshape([int(n) for n in np.asarray(shape)]),)

    @impl(neighbours.ReshapeOp)
    def run_any_reshape(self, _interpreter: Interpreter, op: neighbours.ReshapeOp, args: Values) -> Values:
        """As `tensor.reshape` of xDSL; E3007 for another number of elements, which no type rules out here."""
        source, shape = np.asarray(args[0]), [int(n) for n in np.asarray(args[1])]
        if any(n < 0 for n in shape) or int(np.prod(shape, dtype=object)) != source.size:
            message = f"tensor.reshape: {list(source.shape)} ({source.size} elements) to {shape}"
            raise error("E3007", message, shapes=(source.shape, tuple(shape)), counts=(source.size, None))
        return (source.reshape(shape),)

    @impl(neighbours.RankOp)
    def run_rank(self, _interpreter: Interpreter, op: neighbours.RankOp, args: Values) -> Values:
        """The number of dimensions."""
        return (int(np.ndim(args[0])),)

    @impl(neighbours.GenerateOp)
    def run_generate(self, interpreter: Interpreter, op: neighbours.GenerateOp, args: Values) -> Values:
        """The results of the region for each place."""
        made = _zeros(op.result.type, args)
        for place in np.ndindex(made.shape):
            (made[place],) = interpreter.run_ssacfg_region(op.body, place, "generate")
        return (made,)

    @impl_terminator(tensor.YieldOp)
    def run_yield(self, _interpreter: Interpreter, op: tensor.YieldOp, args: Values) -> tuple[ReturnedValues, Values]:
        """Return the values that a region yields."""
        return ReturnedValues(args), ()

    @impl(tensor.InsertOp)
    def run_insert(self, _interpreter: Interpreter, op: tensor.InsertOp, args: Values) -> Values:
        """A copy with one element replaced."""
        value, dest, *indices = args
        made = np.array(dest)
        made[_place(op, made, tuple(indices))] = value
        return (made,)

    @impl(tensor.ExtractOp)
    def run_extract(self, _interpreter: Interpreter, op: tensor.ExtractOp, args: Values) -> Values:
        """One element, as a Python number."""
        array, *indices = args
        return (np.asarray(array)[_place(op, np.asarray(array), tuple(indices))].item(),)

    @impl(tensor.DimOp)
    def run_dim(self, _interpreter: Interpreter, op: tensor.DimOp, args: Values) -> Values:
        """The size of a dimension."""
        extents = np.array(np.shape(args[0]))
        (axis,) = _place(op, extents, args[1:])
        return (int(extents[axis]),)

    @impl(tensor.CastOp)
    def run_cast(self, _interpreter: Interpreter, op: tensor.CastOp, args: Values) -> Values:
        """The same array under a type that says more or less; E2001 if its shape is not that of the type."""
        (array,) = args
        if isinstance(op.dest.type, TensorType):
            found, wanted = np.shape(array), op.dest.type.get_shape()
            if len(found) != len(wanted) or any(w not in (DYNAMIC_INDEX, n) for n, w in zip(found, wanted, strict=True)):
                message = f"tensor.cast: an array of shape {list(found)}, expected {op.dest.type}"
                raise error("E2001", message, expected=str(op.dest.type), actual=str(list(found)))
        return (array,)

    @impl(tensor.FromElementsOp)
    def run_from_elements(self, _interpreter: Interpreter, op: tensor.FromElementsOp, args: Values) -> Values:
        """The operands as the elements of an array."""
        type = cast("TensorType[Any]", op.result.type)
        return (np.array(args, element_dtype(type.element_type)).reshape(_shape(type)),)

    @impl(tensor.ExtractSliceOp)
    def run_extract_slice(self, _interpreter: Interpreter, op: tensor.ExtractSliceOp, args: Values) -> Values:
        """Equidistant elements; E6001 if they are not all there."""
        array, *rest = args
        numbers = iter(rest)
        parts = (op.static_offsets, op.static_sizes, op.static_strides)
        offsets, sizes, strides = (
            [int(next(numbers)) if n == DYNAMIC_INDEX else n for n in cast(Any, part).get_values()] for part in parts
        )
        for start, size, stride, extent in zip(offsets, sizes, strides, array.shape, strict=True):
            last = start + (size - 1) * stride
            if not 0 <= size or (size and not (0 <= start < extent and 0 <= last < extent)) or not 0 <= start <= extent:
                message = f"tensor.extract_slice: {size} elements from {start} on, stride {stride}, of {extent}"
                raise error("E6001", message, indices=[start, last], shape=list(array.shape))
        places = [start + stride * np.arange(size) for start, size, stride in zip(offsets, sizes, strides, strict=True)]
        taken = np.asarray(array)[np.ix_(*places)]
        wanted = cast("TensorType[Any]", op.result.type).get_shape()
        if len(wanted) != taken.ndim:
            message = f"tensor.extract_slice to {op.result.type}, expected a result of rank {taken.ndim}"
            raise error("E4000", message, operation=op, given=str(op.result.type), expected=f"rank {taken.ndim}")
        return (taken,)
