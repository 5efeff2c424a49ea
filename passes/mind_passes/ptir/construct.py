"""
New PTIR ops from values, inserted nowhere: the vocabulary of derivative and batching rules.

Each function answers for the types of what it makes, so that nothing is inferred twice. A value with an unnamed dynamic dimension
has a shape that no new op can state; whoever needs one gets E5006.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeVar

from xdsl.dialects.builtin import BytesAttr
from xdsl.ir import Attribute, Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.elements import Number
from mind_dialect.errors import error
from mind_dialect.op import value_of
from mind_dialect.ptir.types import I1, Kind, PtirDType, TensorSpec, part_of, read_type, tensor_type
from mind_dialect.ptir_shapes import INFER, UNKNOWN, Dim, Dims, same_shape
from mind_dialect.ptir_shapes import reshape as reshaped

Value = SSAValue | Operation
OpT = TypeVar("OpT", bound=ptir.PtirOp)


typed = lru_cache(1024)(tensor_type)
"""The type of a dtype and dimensions; making one costs more than the rest of a rule."""


def spec(x: Value) -> TensorSpec:
    """The dtype and dimensions of a value."""
    return read_type(value_of(x).type)


def dims(x: Value) -> Dims:
    """The dimensions of `x`, which new ops are going to state; E5006 for one without a name."""
    value = value_of(x)
    shape = spec(value).shape
    if UNKNOWN in shape:
        message = f"a value of type {value.type} has a dimension without a name, expected a size or a name in its encoding"
        raise error("E5006", message, operation=value.owner if isinstance(value.owner, Operation) else None, type=str(value.type))
    return shape


def static(x: Value) -> tuple[int, ...]:
    """The sizes of `x`, where names will not do; E5006 for a dynamic dimension."""
    shape = dims(x)
    sizes = tuple(d for d in shape if isinstance(d, int))
    if len(sizes) != len(shape):
        message = f"a value of type {value_of(x).type} has a dimension whose size is not known, expected static ones"
        raise error("E5006", message, type=str(value_of(x).type))
    return sizes


def make(cls: type[OpT], *operands: Value, type: Attribute | None = None, **values: Any) -> OpT:
    """An op with these operands and properties; its type is that of the first operand unless given."""
    taken = [value_of(v) for v in operands]
    return cls.create(
        operands=taken, properties=cls.store_properties(values), result_types=[taken[0].type if type is None else type]
    )


# Elementwise


def elementwise(cls: type[OpT], *operands: Value, dtype: PtirDType | None = None, **values: Any) -> OpT:
    """An op on operands of one shape: what any of them knows of a dimension, the result has. Its dtype is that of the last."""
    types = [value_of(v).type for v in operands]
    last, equal = types[-1], all(t is types[-1] or t == types[-1] for t in types)
    if equal and dtype is None:
        return make(cls, *operands, type=last, **values)
    found, shape = read_type(last)
    if not equal:
        shape = same_shape(*(read_type(t).shape for t in types))
    return make(cls, *operands, type=typed(dtype or found, shape), **values)


def add(a: Value, b: Value) -> ptir.AddOp:
    return elementwise(ptir.AddOp, a, b)


def sub(a: Value, b: Value) -> ptir.SubOp:
    return elementwise(ptir.SubOp, a, b)


def mul(a: Value, b: Value) -> ptir.MulOp:
    return elementwise(ptir.MulOp, a, b)


def div(a: Value, b: Value) -> ptir.DivOp:
    return elementwise(ptir.DivOp, a, b)


def neg(a: Value) -> ptir.NegOp:
    return make(ptir.NegOp, a)


def compare(kind: str, a: Value, b: Value) -> ptir.CompareOp:
    """`a kind b` as i1."""
    return elementwise(ptir.CompareOp, a, b, dtype=I1, kind=kind)


def where(pred: Value, on_true: Value, on_false: Value) -> ptir.SelectOp:
    """`on_true` where `pred`, else `on_false`."""
    return elementwise(ptir.SelectOp, pred, on_true, on_false)


def cast(x: Value, dtype: PtirDType) -> Value:
    """`x` in another dtype; `x` itself if it has that dtype. Of complex numbers in a real dtype the real part."""
    found = spec(x)
    if found.dtype.kind is Kind.COMPLEX and dtype.kind is not Kind.COMPLEX:
        part = part_of(found.dtype)
        return cast(make(ptir.RealOp, x, type=typed(part, found.shape)), dtype)
    return x if found.dtype is dtype else make(ptir.CastOp, x, type=typed(dtype, found.shape), dtype=dtype)


def scale(x: Value, number: float) -> ptir.MulOp:
    """`x` times a number."""
    return mul(x, full(number, x))


# Constants


def scalar(number: Number, dtype: PtirDType) -> ptir.ConstantOp:
    """A constant of rank 0."""
    return filled(number, dtype, ())


def filled(number: Number, dtype: PtirDType, shape: tuple[int, ...]) -> ptir.ConstantOp:
    """A constant of static shape whose every element is `number`."""
    data = dtype.element.pack([number]) if 0 not in shape else b""
    literal = _literal(dtype, shape, data)
    return ptir.ConstantOp.create(properties={"value": literal}, result_types=[literal.type])


@lru_cache(1024)
def _literal(dtype: PtirDType, shape: tuple[int, ...], data: bytes) -> ptir.PtirLiteralAttr:
    return ptir.PtirLiteralAttr(typed(dtype, shape), BytesAttr(data))


def full(number: Number, like: Value) -> Value:
    """`number` everywhere, in the type of `like`; E5006 if `like` has a dimension without a name."""
    dtype, shape = spec(like)
    static = tuple(d for d in shape if isinstance(d, int))
    if len(static) == len(shape):
        return filled(number, dtype, static)
    return broadcast(scalar(number, dtype), dims(like))


# Shapes


def broadcast(x: Value, shape: Sequence[Dim]) -> Value:
    """`x` repeated up to `shape`, aligned at the last axis; `x` itself if it has that shape."""
    found = spec(x)
    if found.shape == tuple(shape):
        return x
    return make(ptir.BroadcastToOp, x, type=typed(found.dtype, tuple(shape)), result_shape=tuple(shape))


def reshape(x: Value, shape: Sequence[Dim]) -> Value:
    """`x` under another shape of as many elements; `x` itself if it has that shape."""
    found = spec(x)
    if found.shape == tuple(shape):
        return x
    return make(ptir.ReshapeOp, x, type=typed(found.dtype, tuple(shape)), new_shape=tuple(shape))


def reshape_like(x: Value, like: Value) -> Value:
    """`x` under the shape of `like`, of which one dimension may lack a name: it follows from the others. E5006 for two."""
    shape = spec(like).shape
    if shape.count(UNKNOWN) != 1 or 0 in shape:
        return reshape(x, dims(like))
    stated = tuple(INFER if d == UNKNOWN else d for d in shape)
    dtype, found = spec(x)
    return make(ptir.ReshapeOp, x, type=typed(dtype, reshaped(found, new_shape=stated)), new_shape=stated)


def transpose(x: Value, perm: Sequence[int]) -> Value:
    """Axis `i` of the result is axis `perm[i]` of `x`; `x` itself if nothing moves."""
    found = spec(x)
    if list(perm) == list(range(len(found.shape))):
        return x
    return make(ptir.TransposeOp, x, type=typed(found.dtype, tuple(found.shape[a] for a in perm)), perm=tuple(perm))


def with_axes(x: Value, axes: Sequence[int], shape: Dims) -> Value:
    """`x` repeated along new axes, so that the result has `shape`: what undoes a reduction over `axes` without keepdims."""
    gone = {a % len(shape) for a in axes}
    return broadcast(reshape(x, tuple(1 if a in gone else d for a, d in enumerate(shape))), shape)


# Reductions


def reduce_sum(x: Value, axes: Sequence[int], *, keepdims: bool = False) -> Value:
    """The sum over `axes`, in the dtype of `x`; `x` itself if there are none."""
    return reduce("sum", x, axes, keepdims=keepdims) if axes else x


def reduce(kind: str, x: Value, axes: Sequence[int], *, keepdims: bool = False) -> ptir.ReduceOp:
    """The sum, greatest or least over `axes`, in the dtype of `x`."""
    dtype, shape = spec(x)
    gone = {a % len(shape) for a in axes}
    kept = tuple(1 if a in gone else d for a, d in enumerate(shape) if keepdims or a not in gone)
    return make(ptir.ReduceOp, x, type=typed(dtype, kept), kind=kind, axes=tuple(axes), keepdims=keepdims)
