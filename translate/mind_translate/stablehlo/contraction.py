"""
Rows of products, convolutions and Fourier transforms.

The result's dtype says what StableHLO accumulates in where it is wider than that of the operands: without `accum_dtype` sums of
si8 would wrap. Convolutions become channels-last; groups of the batch become groups of channels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.legal import accumulators
from mind_dialect.ptir.types import I1, SI32, PtirDType
from mind_dialect.ptir_shapes import Dims
from mind_dialect.shapes.structural import inverse_permutation

from ..landing import INTEGER_KINDS
from ..unsupported import Refused
from .converter import StablehloConverter, StablehloRow
from .foreign import ForeignOp
from .structural import known_integers, padded, zero


def _dot_general(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    numbers = op.numbers("dot_dimension_numbers")
    x, y = op.operands
    ranks = {"lhs": len(to.shape(x)), "rhs": len(to.shape(y))}
    dims = {
        f"{kind}_{side}": numbers.list(f"{side}_{long}_dimensions", ranks[side])
        for kind, long in (("batch", "batching"), ("contract", "contracting"))
        for side in ("lhs", "rhs")
    }
    return product(to, x, y, op.dtype, **dims)


def product(to: StablehloConverter, x: SSAValue, y: SSAValue, dtype: PtirDType, **dims: Sequence[int]) -> SSAValue:
    """`dot_general` with a result of `dtype`."""
    pairs = {side: [*dims[f"batch_{side}"], *dims[f"contract_{side}"]] for side in ("lhs", "rhs")}
    to.sizes.same_shapes([[to.shape(v)[d] for d in pairs[side]] for side, v in (("lhs", x), ("rhs", y))])
    x, y, properties = operands_for(to, x, y, dtype)
    if to.is_truth(x):
        x, y = to.cast(x, SI32), to.cast(y, SI32)
        return to.cast(to.emit(ptir.DotGeneralOp, x, y, **dims), dtype)
    return to.emit(ptir.DotGeneralOp, x, y, **dims, **properties)


def operands_for(to: StablehloConverter, x: SSAValue, y: SSAValue, dtype: PtirDType) -> tuple[SSAValue, SSAValue, dict[str, Any]]:
    """The operands of a sum of products in one dtype, and its `accum_dtype` and `out_dtype` for a result of `dtype`."""
    source = to.dtype(x)
    if source is not to.dtype(y) or (source.kind in INTEGER_KINDS and dtype.is_float):
        return to.cast(x, dtype), to.cast(y, dtype), {}
    properties: dict[str, Any] = {}
    if dtype is not source and source is not I1:
        if dtype in accumulators(source):
            properties["accum_dtype"] = dtype
        properties["out_dtype"] = dtype
    return x, y, properties


def _dot(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    x, y = op.operands
    last = len(to.shape(x)) - 1
    return product(to, x, y, op.dtype, batch_lhs=(), batch_rhs=(), contract_lhs=(last,), contract_rhs=(0,))


def _einsum(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    """`ab,bc->ac` over distinct letters: what is in both operands and the result is a batch axis."""
    match = re.fullmatch(r"([a-zA-Z]*),([a-zA-Z]*)->([a-zA-Z]*)", op.string("einsum_config").replace(" ", ""))
    left, right, result = match.groups() if match is not None else ("aa", "", "")
    sums = [letter for letter in left + right if letter not in result and not (letter in left and letter in right)]
    if any(len(set(part)) != len(part) for part in (left, right, result)) or sums:
        raise Refused("an einsum with repeated letters or sums of one operand", "write it as dot_general")
    batch = [letter for letter in left if letter in right and letter in result]
    contract = [letter for letter in left if letter in right and letter not in result]
    made = product(
        to,
        op.operands[0],
        op.operands[1],
        op.dtype,
        batch_lhs=[left.index(c) for c in batch],
        batch_rhs=[right.index(c) for c in batch],
        contract_lhs=[left.index(c) for c in contract],
        contract_rhs=[right.index(c) for c in contract],
    )
    order = [*batch, *(c for c in left if c not in right), *(c for c in right if c not in left)]
    return to.transpose(made, [order.index(c) for c in result])


_PARTS = re.compile(r"\[([^\]]*)\]\s*x\s*\[([^\]]*)\]\s*->\s*\[([^\]]*)\]")
_LISTS = (
    ("input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"),
    ("kernel_output_feature_dimension", "kernel_input_feature_dimension", "kernel_spatial_dimensions"),
    ("output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"),
)


def _layouts(op: ForeignOp, rank: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the index of each dimension: batch, spatial, feature of input and result; spatial, in, out of the kernel."""
    given = op.attributes.get("dimension_numbers")
    spatial = [str(i) for i in range(rank - 2)]
    wanted = (["b", *spatial, "f"], [*spatial, "i", "o"], ["b", *spatial, "f"])
    match = _PARTS.search(str(given))
    if match is not None:
        letters = [[item.strip() for item in part.split(",")] for part in match.groups()]
    else:
        letters = [_letters(op, names, rank, i == 1) for i, names in enumerate(_LISTS)]
    if any(sorted(found) != sorted(names) for found, names in zip(letters, wanted, strict=True)):
        raise op.wrong("dimension_numbers", f"each of {', '.join(wanted[0])} once (i and o in the kernel)")
    x, y, z = (tuple(found.index(name) for name in names) for found, names in zip(letters, wanted, strict=True))
    return x, y, z


def _letters(op: ForeignOp, names: Sequence[str], rank: int, is_kernel: bool) -> list[str]:
    """The spelt-out form of one of the three layouts."""
    numbers = op.numbers("dimension_numbers")
    found = [""] * rank
    places = (
        *((name, numbers.integer(name)) for name in names[:2]),
        *((str(i), d) for i, d in enumerate(numbers.list(names[2]))),
    )
    for name, d in places:
        if 0 <= d < rank:
            found[d] = {names[0]: "o" if is_kernel else "b", names[1]: "i" if is_kernel else "f"}.get(name, name)
    return found


def _convolution(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    return convolution(to, op, op.operands[0], op.operands[1], op.pairs("padding", len(op.shape) - 2))


def _dynamic_conv(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    flat = known_integers(to, op.operands[2])
    return convolution(to, op, op.operands[0], op.operands[1], tuple(zip(flat[::2], flat[1::2], strict=False)))


def convolution(to: StablehloConverter, op: ForeignOp, x: SSAValue, y: SSAValue, padding: Sequence[tuple[int, int]]) -> SSAValue:
    """A convolution in any layout."""
    rank = len(to.shape(x))
    if rank < 2 or len(to.shape(y)) != rank or len(op.shape) != rank or len(padding) != rank - 2:
        raise op.wrong(
            "dimension_numbers", "operands and result of one rank, at least 2, and a pair of padding per spatial dimension"
        )
    of_x, of_y, of_z = _layouts(op, rank)
    spatial, ones = rank - 2, (1,) * (rank - 2)
    strides, base, window = (op.integers(n, ones) for n in ("window_strides", "lhs_dilation", "rhs_dilation"))
    groups, batches = op.integer("feature_group_count", 1), op.integer("batch_group_count", 1)
    x, y, properties = operands_for(to, to.transpose(x, of_x), to.transpose(y, of_y), op.dtype)
    reversed_axes = tuple(i for i, flag in enumerate(op.integers("window_reversal", (0,) * spatial)) if flag)
    if reversed_axes:
        y = to.emit(ptir.ReverseOp, y, axes=reversed_axes)
    if any(n < 0 for pair in padding for n in pair):
        low, high = [0, *(p[0] for p in padding), 0], [0, *(p[1] for p in padding), 0]
        x = padded(to, x, to.fill(zero(to.dtype(x)), to.dtype(x)), low, high, [0, *(b - 1 for b in base), 0])
        padding, base = ((0, 0),) * spatial, ones
    if batches > 1:
        if groups > 1:
            raise op.wrong("batch_group_count", "1 where feature_group_count is not 1")
        x, groups = _batch_groups(to, op, x, batches), batches
    truths = to.is_truth(x)
    if truths:
        x, y = to.cast(x, SI32), to.cast(y, SI32)
    z = to.emit(
        ptir.ConvolutionOp,
        x,
        y,
        strides=strides,
        padding=tuple(padding),
        base_dilation=base,
        window_dilation=window,
        feature_group_count=groups,
        **properties,
    )
    return to.transpose(to.cast(z, op.dtype) if truths else z, inverse_permutation(of_z))


def _batch_groups(to: StablehloConverter, op: ForeignOp, x: SSAValue, groups: int) -> SSAValue:
    """`[g * N, spatial, C]` as `[N, spatial, g * C]`: each group of the batch becomes a group of channels."""
    n, *spatial, c = to.shape(x)
    if not isinstance(n, int) or not isinstance(c, int) or groups < 1 or n % groups:
        raise op.wrong("batch_group_count", f"a divisor of the batch, {n}")
    grouped: Dims = (groups, n // groups, *spatial, c)
    last = len(grouped) - 1
    moved = to.transpose(to.reshape(x, grouped), [*range(1, last), 0, last])
    return to.reshape(moved, (n // groups, *spatial, groups * c))


def _fft(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    kind = op.word("fft_type", ("FFT", "IFFT", "RFFT", "IRFFT")).lower()
    return to.emit(ptir.FftOp, op.operands[0], kind=kind, lengths=op.integers("fft_length"))


CONTRACTION: dict[str, StablehloRow | Refused] = {
    "stablehlo.convolution": _convolution,
    "stablehlo.dot": _dot,
    "stablehlo.dot_general": _dot_general,
    "stablehlo.dynamic_conv": _dynamic_conv,
    "stablehlo.einsum": _einsum,
    "stablehlo.fft": _fft,
    "stablehlo.unary_einsum": Refused("an einsum of one operand", "write it as transpose and reduce"),
}
