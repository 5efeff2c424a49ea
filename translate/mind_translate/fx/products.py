"""
Rows of products, attention, convolutions and Fourier transforms.

Narrow floats accumulate in f32, and a bias is added before the result is rounded, as torch does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import F32, F64, Kind, PtirDType, TensorSpec
from mind_dialect.ptir_shapes import Dims
from mind_dialect.shapes import inverse_permutation

from ..attention import attention, band
from ..unsupported import Refused
from .converter import AtenConverter, Call, Results, Row, Table, wide


def product(
    to: AtenConverter, x: SSAValue, y: SSAValue, batch: Sequence[int], contract: tuple[int, int], dtype: PtirDType | None = None
) -> SSAValue:
    """The sums of products over one axis of each, for each place along leading batch axes; in `dtype`."""
    if to.is_truth(x):
        raise Refused("a product of boolean matrices")
    dims = {"batch_lhs": tuple(batch), "batch_rhs": tuple(batch), "contract_lhs": contract[:1], "contract_rhs": contract[1:]}
    out = {} if dtype in (None, to.dtype(x)) else {"out_dtype": dtype}
    return to.emit(ptir.DotGeneralOp, x, y, **dims, **out)


def _plain(batch: Sequence[int], contract: tuple[int, int]) -> Row:
    def row(to: AtenConverter, call: Call, x: SSAValue, y: SSAValue) -> SSAValue:
        return product(to, x, y, batch, contract)

    return row


def _plus(batch: Sequence[int], contract: tuple[int, int]) -> Row:
    """`beta c + alpha x y`; with `beta = 0` the first operand does not count, whatever it holds."""

    def row(to: AtenConverter, call: Call, c: SSAValue, x: SSAValue, y: SSAValue, beta: Any = 1, alpha: Any = 1) -> SSAValue:
        found = to.scaled(product(to, x, y, batch, contract, wide(call.dtype)), alpha)
        if beta != 0:
            c = to.scaled(to.tensor(c, wide(call.dtype), call.shape), beta)
            found = to.emit(ptir.AddOp, found, c)
        return to.cast(found, call.dtype)

    return row


def _linear(to: AtenConverter, call: Call, x: SSAValue, weight: SSAValue, bias: SSAValue | None = None) -> SSAValue:
    """`x w^T + b` over the last axis, whatever is before it."""
    last = len(to.shape(x)) - 1
    contract = (last, len(to.shape(weight)) - 1)
    if bias is None:
        return product(to, x, weight, (), contract)
    found = product(to, x, weight, (), contract, wide(call.dtype))
    return to.cast(to.emit(ptir.AddOp, found, to.tensor(bias, wide(call.dtype), to.shape(found))), call.dtype)


def _matmul(to: AtenConverter, call: Call, x: SSAValue, y: SSAValue) -> SSAValue:
    """Vectors, matrices and stacks of them, whose leading axes broadcast."""
    a, b = to.shape(x), to.shape(y)
    if len(b) <= 2:
        return product(to, x, y, (), (len(a) - 1, 0))
    if len(a) == 1:
        x, a = to.reshape(x, (1, *a)), (1, *a)
        rows: Dims = ()
    else:
        rows = a[-2:-1]
    lead = call.shape[: len(call.shape) - len(rows) - 1]
    x, y = to.broadcast(x, (*lead, *a[-2:])), to.broadcast(y, (*lead, *b[-2:]))
    found = product(to, x, y, range(len(lead)), (len(lead) + 1, len(lead)))
    return to.shaped(found, call.shape)


def _attention(
    to: AtenConverter,
    call: Call,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    mask: SSAValue | None = None,
    dropout: float = 0.0,
    causal: bool = False,
    scale: float | None = None,
    grouped: bool = False,
) -> SSAValue:
    """
    `softmax(scale q k^T + mask) v`; rows of which all is masked give 0.

    A mask of truths says what takes part, one of numbers is added. `enable_gqa` repeats keys and values for groups of queries.
    """
    if dropout:
        raise Refused(
            "dropout in attention, whose random numbers no other library reproduces", "use model.eval(), or dropout_p=0"
        )
    dtype = wide(call.dtype)
    query, key, value = (to.cast(v, dtype) for v in (query, key, value))
    lead = call.shape[:-2]
    shared = (*lead[:-1], to.shape(key)[-3]) if grouped else lead
    query = to.broadcast(query, (*lead, *to.shape(query)[-2:]))
    key, value = (to.broadcast(v, (*shared, *to.shape(v)[-2:])) for v in (key, value))
    factor = 1 / math.sqrt(to.sizes(query, [len(lead) + 1])[0]) if scale is None else scale
    seen = band(to, to.shape(query)[-2], to.shape(key)[-2], after=0) if causal else None
    found = attention(to, query, key, value, scale=factor, masks=(seen, mask), guarded=mask is not None)
    return to.cast(found, call.dtype)


def _plus_of_all(to: AtenConverter, call: Call, c: SSAValue, x: SSAValue, y: SSAValue, beta: Any = 1, alpha: Any = 1) -> Results:
    """`beta c + alpha` times the sum of the products of all matrices, which is one product of longer rows."""
    (batch, m, k), n = to.sizes(x), to.shape(y)[-1]
    x, y = to.reshape(to.transpose(x, [1, 0, 2]), (m, batch * k)), to.reshape(y, (batch * k, n))
    return _plus((), (1, 0))(to, call, c, x, y, beta, alpha)


def _convolution(
    to: AtenConverter,
    call: Call,
    x: SSAValue,
    weight: SSAValue,
    bias: SSAValue | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> SSAValue:
    """Channels last; a transposed one is a convolution with the reversed filter of the spread-out image."""
    n = len(to.shape(x)) - 2
    lists = (stride, padding, dilation, output_padding)
    stride, padding, dilation, output_padding = (list(v) * n if len(v) == 1 else list(v) for v in lists)
    image = to.transpose(x, [0, *range(2, 2 + n), 1])
    if transposed:
        kernel, pads = _transposed_kernel(to, weight, groups), _transposed_padding(to, weight, padding, dilation, output_padding)
        steps, spread = [1] * n, stride
    else:
        kernel = to.transpose(weight, [*range(2, 2 + n), 1, 0])
        pads, steps, spread = [(p, p) for p in padding], stride, [1] * n
    dtype = wide(call.dtype)
    found = to.emit(
        ptir.ConvolutionOp,
        image,
        kernel,
        strides=tuple(steps),
        padding=tuple(pads),
        base_dilation=tuple(spread),
        window_dilation=tuple(dilation),
        feature_group_count=groups,
        out_dtype=None if dtype is call.dtype else dtype,
    )
    if bias is not None:
        found = to.emit(ptir.AddOp, found, to.tensor(bias, dtype, to.shape(found)))
    return to.transpose(to.cast(found, call.dtype), [0, n + 1, *range(1, n + 1)])


def _transposed_padding(
    to: AtenConverter, weight: SSAValue, padding: Sequence[int], dilation: Sequence[int], more: Sequence[int]
) -> list[tuple[int, int]]:
    """Return the padding of the spread-out image: what the filter reaches beyond `padding`, and `more` after it."""
    low = [d * (k - 1) - p for d, k, p in zip(dilation, to.sizes(weight)[2:], padding, strict=True)]
    pads = [(a, a + b) for a, b in zip(low, more, strict=True)]
    if any(p < 0 for pair in pads for p in pair):
        raise Refused("a transposed convolution with more padding than its filter reaches")
    return pads


def _conv_tbc(to: AtenConverter, call: Call, x: SSAValue, weight: SSAValue, bias: SSAValue, padding: int = 0) -> SSAValue:
    """A convolution along the first axis, `[time, batch, channels]` by `[time, in, out]`."""
    time, batch, channels = call.shape
    inner = Call(call.name, (TensorSpec(call.dtype, (batch, channels, time)),))
    x, weight = to.transpose(x, [1, 2, 0]), to.transpose(weight, [2, 1, 0])
    found = _convolution(to, inner, x, weight, bias, [1], [padding], [1], False, [0], 1)
    return to.transpose(found, [2, 0, 1])


def _trilinear(
    to: AtenConverter,
    call: Call,
    x: SSAValue,
    y: SSAValue,
    z: SSAValue,
    x_ones: Sequence[int],
    y_ones: Sequence[int],
    z_ones: Sequence[int],
    sums: Sequence[int],
    *_: Any,
) -> SSAValue:
    """Products of three operands with dimensions of 1 put in, summed over some of the axes."""
    rank = len(to.shape(x)) + len(x_ones)
    spread: list[SSAValue] = []
    for v, ones in ((x, x_ones), (y, y_ones), (z, z_ones)):
        own = iter(to.shape(v))
        spread.append(to.reshape(v, tuple(1 if i in ones else next(own) for i in range(rank))))
    whole = tuple(max(sizes) for sizes in zip(*map(to.sizes, spread), strict=True))
    first, second, third = (to.broadcast(to.cast(v, wide(call.dtype)), whole) for v in spread)
    product_ = to.emit(ptir.MulOp, to.emit(ptir.MulOp, first, second), third)
    return to.cast(to.reduce("sum", product_, sums) if sums else product_, call.dtype)


def _transposed_kernel(to: AtenConverter, weight: SSAValue, groups: int) -> SSAValue:
    """`[in, out / groups, spatial...]` as `[spatial..., in / groups, out]`, reversed."""
    inner, outer, *sizes = to.sizes(weight)
    n = len(sizes)
    grouped = to.reshape(weight, (groups, inner // groups, outer, *sizes))
    kernel = to.reshape(to.transpose(grouped, [*range(3, 3 + n), 1, 0, 2]), (*sizes, inner // groups, groups * outer))
    return to.emit(ptir.ReverseOp, kernel, axes=tuple(range(n)))


def _transform(to: AtenConverter, x: SSAValue, kind: str, dims: Sequence[int], lengths: Sequence[int], norm: int) -> SSAValue:
    """A Fourier transform over axes in any order; `norm` divides by 1, by the root of the size, or by the size."""
    if to.dtype(x) not in (F32, F64) and to.dtype(x).kind is not Kind.COMPLEX:
        raise Refused(f"a Fourier transform of {to.dtype(x)}")
    rank = len(to.shape(x))
    last = [d % rank for d in dims]
    perm = [*(i for i in range(rank) if i not in last), *last]
    found = to.emit(ptir.FftOp, to.transpose(x, perm), kind=kind, lengths=tuple(lengths))
    size = math.prod(lengths)
    divided = size if kind in ("ifft", "irfft") else 1
    factor = divided / (1, math.sqrt(size), size)[norm]
    return to.scaled(to.transpose(found, inverse_permutation(perm)), factor)


def _lengths(to: AtenConverter, x: SSAValue, dims: Sequence[int]) -> list[int]:
    return [to.sizes(x, [to.axis(x, d)])[0] for d in dims]


def _fft_c2c(to: AtenConverter, call: Call, x: SSAValue, dims: Sequence[int], norm: int, forward: bool) -> SSAValue:
    return _transform(to, x, "fft" if forward else "ifft", dims, _lengths(to, x, dims), norm) if dims else x


def _fft_r2c(to: AtenConverter, call: Call, x: SSAValue, dims: Sequence[int], norm: int, onesided: bool) -> SSAValue:
    lengths = _lengths(to, x, dims)
    if not onesided:
        return _transform(to, to.cast(x, call.dtype), "fft", dims, lengths, norm)
    return _transform(to, x, "rfft", dims, lengths, norm)


def _fft_c2r(to: AtenConverter, call: Call, x: SSAValue, dims: Sequence[int], norm: int, last: int) -> SSAValue:
    return _transform(to, x, "irfft", dims, [*_lengths(to, x, dims[:-1]), last], norm)


PRODUCTS: Table = {
    "_fft_c2c.default": _fft_c2c,
    "_fft_c2r.default": _fft_c2r,
    "_fft_r2c.default": _fft_r2c,
    "addmm.default": _plus((), (1, 0)),
    "addmv.default": _plus((), (1, 0)),
    "baddbmm.default": _plus((0,), (2, 1)),
    "bmm.default": _plain((0,), (2, 1)),
    "addbmm.default": _plus_of_all,
    "conv_tbc.default": _conv_tbc,
    "convolution.default": _convolution,
    "dot.default": _plain((), (0, 0)),
    "_trilinear.default": _trilinear,
    "linear.default": _linear,
    "matmul.default": _matmul,
    "mm.default": _plain((), (1, 0)),
    "mv.default": _plain((), (1, 0)),
    "scaled_dot_product_attention.default": _attention,
}
