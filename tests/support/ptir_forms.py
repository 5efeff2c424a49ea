"""
Functions that many builders write out in PTIR: the contract's library forms, the idioms of its public producer, and variants.

Each takes tensors and gives the ops' last value; `program` makes a module of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Region, SSAValue

from mind_dialect import ptir
from mind_dialect.op import value_of
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.control import region_of
from mind_dialect.ptir.types import read_type
from mind_dialect.ptir_program import SPEC_VERSION, VERSION_ATTRIBUTE
from mind_dialect.verify import verify
from ptir_rows import typed

Value = SSAValue


def program(types: str, body: Callable[..., Any]) -> ModuleOp:
    """
    A verified module with the function `@f` of arguments of `types`, written `f32[2,3] si32[]`; one result or several.

    It is a copy, so that ops which `body` made for nothing are gone, and no uses of values with them.
    """

    def results(*arguments: SSAValue) -> Sequence[Any]:
        found = body(*arguments)
        return found if isinstance(found, list | tuple) else [found]

    arguments = [typed(t) for t in types.split()]
    block = region_of(results, arguments).detach_block(0)
    end = block.last_op
    returned = list(end.operands)
    block.erase_op(end)
    block.add_op(ReturnOp(*returned))
    func = FuncOp("f", FunctionType.from_lists(arguments, [v.type for v in returned]), Region(block))
    module = ModuleOp([func])
    module.attributes[VERSION_ATTRIBUTE] = StringAttr(SPEC_VERSION)
    verify(module)
    return module.clone()


def shape(x: Any) -> tuple[int, ...]:
    return read_type(value_of(x).type).shape


def like(x: Any, number: float) -> Any:
    """A scalar literal, broadcast twice."""
    literal = ptir.ConstantOp(PtirLiteralAttr.from_values(read_type(value_of(x).type).dtype, (), (number,)))
    scalar = ptir.BroadcastToOp(literal, result_shape=())
    return ptir.BroadcastToOp(scalar, result_shape=shape(x))


def spread(x: Any, to: Any) -> Any:
    return ptir.BroadcastToOp(x, result_shape=shape(to))


def reduce(x: Any, kind: str, axis: int = -1, *, keepdims: bool = True, **dtypes: Any) -> Any:
    return ptir.ReduceOp(x, kind=kind, axes=(axis,), keepdims=keepdims, **dtypes)


def dropped(x: Any, kind: str, axis: int) -> Any:
    """A reduction that drops its axis, and a reshape that puts it back."""
    small = reduce(x, kind, axis, keepdims=False)
    extents = list(shape(x))
    extents[axis] = 1
    return ptir.ReshapeOp(small, new_shape=extents)


def softmax(z: Any, axis: int = -1, *, sum_axis: int | None = None, reduced: Any = reduce) -> Any:
    e = ptir.ExpOp(ptir.SubOp(z, spread(reduced(z, "max", axis), z)))
    return ptir.DivOp(e, spread(reduced(e, "sum", axis if sum_axis is None else sum_axis), e))


def softmax_by_reciprocal(z: Any) -> Any:
    e = ptir.ExpOp(ptir.SubOp(z, spread(reduce(z, "max"), z)))
    return ptir.MulOp(ptir.ReciprocalOp(spread(reduce(e, "sum"), e)), e)


def library_softmax(z: Any) -> Any:
    """As the contract writes it: negative axes, dtypes spelt out."""
    wide = {"accum_dtype": "f32", "out_dtype": "f32"}
    return softmax(z, reduced=lambda x, kind, axis: reduce(x, kind, axis, **wide))


def otherwise(x: Any, odd: float, instead: float, *, kind: str = "equal") -> Any:
    """`x`, but `instead` where it is `odd`."""
    return ptir.SelectOp(ptir.CompareOp(x, like(x, odd), kind=kind), like(x, instead), x)


GUARDS = {"max": (-math.inf, 0.0), "sum": (0.0, 1.0)}


def guarded_softmax(z: Any, axis: int = -1, **guards: tuple[float, float]) -> Any:
    """0 for rows that are -inf throughout; `guards` change what is put in the place of what."""
    known = {**GUARDS, **guards}
    return softmax(z, axis, reduced=lambda x, kind, axis: otherwise(reduce(x, kind, axis), *known[kind]))


def gelu(x: Any) -> Any:
    half = ptir.MulOp(x, like(x, 0.5))
    return ptir.MulOp(half, ptir.AddOp(ptir.ErfOp(ptir.MulOp(x, like(x, 0.5**0.5))), like(x, 1.0)))


def gelu_by_division(x: Any) -> Any:
    sum_ = ptir.AddOp(like(x, 1.0), ptir.ErfOp(ptir.DivOp(x, like(x, 2**0.5))))
    return ptir.MulOp(ptir.DivOp(ptir.MulOp(x, sum_), like(x, 2.0)), like(x, 1.0))


def gelu_of_half_sum(x: Any) -> Any:
    sum_ = ptir.AddOp(ptir.ErfOp(ptir.MulOp(x, like(x, 0.5**0.5))), like(x, 1.0))
    return ptir.MulOp(ptir.MulOp(like(x, 0.5), sum_), x)


def not_gelu(x: Any, *, half: float = 0.5, one: float = 1.0, root: float = 0.5**0.5) -> Any:
    sum_ = ptir.AddOp(ptir.ErfOp(ptir.MulOp(x, like(x, root))), like(x, one))
    return ptir.MulOp(ptir.MulOp(x, like(x, half)), sum_)


def cube(x: Any) -> Any:
    return ptir.MulOp(ptir.MulOp(x, x), x)


def power(x: Any, y: float = 3.0) -> Any:
    return ptir.PowOp(x, like(x, y))


def gelu_tanh(x: Any, cubic: Callable[[Any], Any] = cube, *, coefficient: float = 0.044715, root: float = 2 / math.pi) -> Any:
    """The producer's approximation: the coefficient comes after the cube, the half is taken of x."""
    inner = ptir.MulOp(ptir.AddOp(x, ptir.MulOp(cubic(x), like(x, coefficient))), like(x, root**0.5))
    return ptir.MulOp(ptir.MulOp(x, like(x, 0.5)), ptir.AddOp(ptir.TanhOp(inner), like(x, 1.0)))


def gelu_tanh_left(x: Any) -> Any:
    """As published for PyTorch: the coefficient comes first, and products associate to the left."""
    cubic = ptir.MulOp(ptir.MulOp(ptir.MulOp(like(x, 0.044715), x), x), x)
    inner = ptir.MulOp(like(x, math.sqrt(2 / math.pi)), ptir.AddOp(cubic, x))
    return ptir.MulOp(like(x, 0.5), ptir.MulOp(x, ptir.AddOp(like(x, 1.0), ptir.TanhOp(inner))))


def rms(x: Any, *, axis: int = -1, epsilon: float = 1e-6, of: Any = None) -> Any:
    """`x` over the root of the mean square of `of`, itself unless given."""
    y = x if of is None else of
    squares = reduce(ptir.MulOp(y, y), "sum", axis)
    mean = ptir.MulOp(squares, like(squares, 1 / shape(x)[axis]))
    return ptir.MulOp(x, spread(ptir.RsqrtOp(ptir.AddOp(mean, like(mean, epsilon))), x))


def rms_norm(x: Any, gamma: Any, *, axis: int = -1) -> Any:
    return ptir.MulOp(rms(x, axis=axis), along(gamma, x, axis))


def rms_norm_by_division(x: Any, gamma: Any) -> Any:
    squares = dropped(ptir.MulOp(x, x), "sum", -1)
    mean = ptir.DivOp(squares, like(squares, shape(x)[-1]))
    return ptir.MulOp(along(gamma, x, -1), ptir.DivOp(x, spread(ptir.SqrtOp(ptir.AddOp(mean, like(mean, 1e-5))), x)))


def normal(x: Any) -> Any:
    """The first part of a layer norm."""
    mean = reduce(x, "sum")
    centred = ptir.SubOp(x, spread(ptir.MulOp(mean, like(mean, 1 / 8)), x))
    squares = reduce(ptir.MulOp(centred, centred), "sum")
    variance = ptir.MulOp(squares, like(squares, 1 / 8))
    return ptir.MulOp(centred, spread(ptir.RsqrtOp(ptir.AddOp(variance, like(variance, 1e-5))), x))


def layer_norm(x: Any, gamma: Any, beta: Any, *, axis: int = -1, epsilon: float = 1e-5, count: int | None = None) -> Any:
    """The producer's nineteen ops."""
    n = shape(x)[axis] if count is None else count
    total = reduce(x, "sum", axis)
    centred = ptir.SubOp(x, spread(ptir.MulOp(total, like(total, 1 / n)), x))
    squares = reduce(ptir.MulOp(centred, centred), "sum", axis)
    variance = ptir.MulOp(squares, like(squares, 1 / n))
    deviation = ptir.RsqrtOp(ptir.AddOp(variance, like(variance, epsilon)))
    normal = ptir.MulOp(centred, spread(deviation, x))
    return ptir.AddOp(ptir.MulOp(normal, along(gamma, x, axis)), along(beta, x, axis))


def layer_norm_by_division(x: Any, gamma: Any, beta: Any, *, axis: int = -1) -> Any:
    n = shape(x)[axis]
    total = dropped(x, "sum", axis)
    centred = ptir.SubOp(x, spread(ptir.DivOp(total, like(total, n)), x))
    squares = dropped(ptir.MulOp(centred, centred), "sum", axis)
    variance = ptir.DivOp(squares, like(squares, n))
    deviation = ptir.SqrtOp(ptir.AddOp(like(variance, 1e-3), variance))
    normal = ptir.DivOp(centred, spread(deviation, x))
    return ptir.AddOp(along(beta, x, axis), ptir.MulOp(along(gamma, x, axis), normal))


def along(vector: Any, x: Any, axis: int) -> Any:
    """A vector along one axis of `x`."""
    rank = len(shape(x))
    if axis % rank != rank - 1:
        vector = ptir.ReshapeOp(vector, new_shape=[shape(vector)[0], *[1] * (rank - 1 - axis % rank)])
    return spread(vector, x)


MATMUL = {"batch_lhs": (0, 1), "batch_rhs": (0, 1), "contract_lhs": (3,), "contract_rhs": (2,)}


def scores(q: Any, k: Any) -> Any:
    """The contract's first line: a transpose, then a product."""
    wide = {"accum_dtype": "f32", "out_dtype": "f32"}
    return ptir.DotGeneralOp(q, ptir.TransposeOp(k, perm=(0, 1, 3, 2)), **MATMUL, **wide)


def attention(
    q: Any, k: Any, v: Any, *, scale: float = 0.25, mask: Callable[[Any], Any] | None = None, softmax: Any = library_softmax
) -> Any:
    s = scores(q, k)
    s = ptir.MulOp(s, like(s, scale))
    s = s if mask is None else mask(s)
    return ptir.DotGeneralOp(softmax(s), v, **MATMUL, accum_dtype="f32")


def causal(s: Any, hidden: float) -> Any:
    """Which scores a causal mask keeps: `select(row >= column, 0, hidden)`."""
    rows, columns = (ptir.IotaOp(shape=shape(s), dtype="si32", axis=a) for a in (-2, -1))
    kept = ptir.CompareOp(rows, columns, kind="greater_equal")
    return ptir.AddOp(s, ptir.SelectOp(kept, like(s, 0.0), like(s, hidden)))


def selected(s: Any, hidden: float) -> Any:
    rows, columns = (ptir.IotaOp(shape=shape(s), dtype="si32", axis=a) for a in (-2, -1))
    return ptir.SelectOp(ptir.CompareOp(rows, columns, kind="less"), like(s, hidden), s)


def window(s: Any, before: int, hidden: float = -math.inf) -> Any:
    """Scores of the last `before` keys up to the query's own place."""
    rows, columns = (ptir.IotaOp(shape=shape(s), dtype="si32", axis=a) for a in (-2, -1))
    late = ptir.CompareOp(columns, rows, kind="less_equal")
    early = ptir.CompareOp(columns, ptir.SubOp(rows, like(rows, before)), kind="greater_equal")
    return ptir.SelectOp(ptir.AndOp(late, early), s, like(s, hidden))


def linear_bias(s: Any, slope: float) -> Any:
    """Less for keys that are further away (ALiBi)."""
    rows, columns = (ptir.IotaOp(shape=shape(s), dtype="f32", axis=a) for a in (-2, -1))
    return ptir.AddOp(s, ptir.MulOp(ptir.SubOp(columns, rows), like(s, slope)))


def capped(s: Any, cap: float) -> Any:
    return ptir.MulOp(ptir.TanhOp(ptir.DivOp(s, like(s, cap))), like(s, cap))


def grouped(q: Any, k: Any, v: Any, times: int, **rest: Any) -> Any:
    """Heads of keys and values `[B,G,T,d]`, each for `times` heads of queries, on an axis of their own."""
    b, g, t, _ = shape(k)
    q = ptir.ReshapeOp(q, new_shape=(b, g, times, *shape(q)[2:]))
    wide = [ptir.ReshapeOp(x, new_shape=(b, g, 1, t, shape(x)[-1])) for x in (k, v)]
    k, v = (ptir.BroadcastToOp(x, result_shape=(b, g, times, t, shape(x)[-1])) for x in wide)
    batch = ((0, 1, 2), (0, 1, 2))
    s = dot(q, k, (4,), (4,), batch)
    y = dot(rest.get("softmax", softmax)(ptir.MulOp(s, like(s, 0.25))), v, (4,), (3,), batch)
    return ptir.ReshapeOp(y, new_shape=(b, g * times, *shape(y)[3:]))


PATCHES = {"window": (3, 2), "strides": (2, 1), "dilation": (1, 2), "padding": ((1, 1), (0, 1))}


def patches(x: Any, pad_value: float = 0.0, **changes: Any) -> Any:
    return ptir.ExtractPatchesOp(x, **{**PATCHES, **changes}, pad_value=pad_value)


def dot(a: Any, b: Any, of_a: Sequence[int], of_b: Sequence[int], batch: tuple[Sequence[int], Sequence[int]] = ((), ())) -> Any:
    return ptir.DotGeneralOp(a, b, batch_lhs=batch[0], batch_rhs=batch[1], contract_lhs=of_a, contract_rhs=of_b)


def flat_convolution(x: Any, w: Any, **changes: Any) -> Any:
    """Patches as rows, a matrix of weights."""
    return dot(patches(x, **changes), w, (3,), (0,))


def matrix_convolution(x: Any, w: Any) -> Any:
    """All places in one axis."""
    p = patches(x)
    n = shape(p)
    return dot(ptir.ReshapeOp(p, new_shape=(-1, n[-1])), w, (1,), (0,))


def oihw_convolution(x: Any, w: Any) -> Any:
    """The producer's: weights as PyTorch stores them."""
    p, (_, channels, height, width) = patches(x), shape(w)
    split = ptir.ReshapeOp(p, new_shape=(*shape(p)[:3], height, width, channels))
    return dot(split, w, (3, 4, 5), (2, 3, 1))


def grouped_convolution(x: Any, w: Any) -> Any:
    """The producer's for groups, `w[g, o/g, c/g, h, w]`."""
    p, (groups, out, channels, height, width) = patches(x), shape(w)
    split = ptir.ReshapeOp(p, new_shape=(*shape(p)[:3], height, width, groups, channels))
    y = ptir.TransposeOp(dot(split, w, (3, 4, 6), (3, 4, 2), ((5,), (0,))), perm=(1, 2, 3, 0, 4))
    return ptir.ReshapeOp(y, new_shape=(*shape(p)[:3], groups * out))


def turned_convolution(x: Any, w: Any) -> Any:
    """Weights first: the channels come out before the places."""
    p = patches(x)
    return dot(w, p, (1,), (3,))


def turned_oihw_convolution(x: Any, w: Any) -> Any:
    p, (_, channels, height, width) = patches(x), shape(w)
    split = ptir.ReshapeOp(p, new_shape=(*shape(p)[:3], height, width, channels))
    return dot(w, split, (2, 3, 1), (3, 4, 5))


def turned_grouped_convolution(x: Any, w: Any) -> Any:
    p, (groups, _, channels, height, width) = patches(x), shape(w)
    split = ptir.ReshapeOp(p, new_shape=(*shape(p)[:3], height, width, groups, channels))
    return dot(w, split, (3, 4, 2), (3, 4, 6), ((0,), (5,)))
