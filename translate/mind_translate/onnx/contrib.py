"""Rows of operators of ONNX Runtime, which the package `onnx` does not define: products with packed weights, and fused ones."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from mind_dialect.errors import brief, error
from mind_dialect.ptir.types import F32, F64, UI8

from ..packed import blocked_product, unpacked
from ..unsupported import Refused
from .contrib_attention import ATTENTIONS
from .contrib_fused import FUSED
from .contrib_quantized import QUANTIZED
from .converter import OnnxConverter, OnnxRow
from .emitter import static
from .node import Node

ZERO_POINTS = {4: 8, 8: 128}
"""The zero points that hold where none are given, by bits."""


def _matmul_nbits(to: OnnxConverter, node: Node) -> SSAValue:
    """`A B^T` with B of 4 or 8 bits in blocks along K; in f32 for narrower floats."""
    if not 3 <= len(node.operands) <= 6:
        raise error("E2007", f"has {len(node.operands)} operands, expected 3 to 6", expected="3 to 6", actual=len(node.operands))
    if node.has(4):
        raise Refused("blocks that g_idx permutes", "permute the columns before the product")
    x, weights, scales = (node.x(i) for i in range(3))
    k, n, block = (_positive(node, name) for name in ("K", "N", "block_size"))
    if (bits := node.int("bits", 4)) not in ZERO_POINTS:
        raise Refused(f"weights of {bits} bits in blocks", "quantize to 4 or 8 bits")
    if block < 16 or block & (block - 1):
        message = f"block_size is {block}, expected a power of two from 16 on"
        raise error("E8002", message, attribute="block_size", value=block)
    blocks, dtype = -(-k // block), F64 if to.dtype(x) is F64 else F32
    size = block * bits // 8
    if to.dtype(weights) is not UI8:
        raise Refused(f"B of {to.dtype(weights)}", "store packed weights as bytes, UINT8")
    _sized(to, "B", weights, n * blocks * size)
    _sized(to, "scales", scales, n * blocks)
    if not (shape := to.shape(x)) or shape[-1] != k:
        raise error(
            "E3003", f"A has the shape {list(shape)}, expected {k} columns", dimension="columns", extents=(brief(list(shape)), k)
        )
    x = to.pad(x, 0.0, [0] * len(shape), [*[0] * (len(shape) - 1), blocks * block - k])
    scale = to.cast(to.reshape(scales, (n, blocks)), dtype)
    zero = to.like(float(ZERO_POINTS[bits]), scale)
    if node.has(3):
        zero = to.cast(_zero_points(to, node.x(3), n, blocks, bits), dtype)
    found = blocked_product(to, x, to.reshape(weights, (n, blocks, size)), scale, zero, bits, dtype)
    if node.has(5):
        found = to.plus(found, to.cast(node.x(5), dtype))
    return to.cast(found, to.dtype(node.x(0)))


def _zero_points(to: OnnxConverter, given: SSAValue, n: int, blocks: int, bits: int) -> SSAValue:
    """Zero points of each block: numbers, or bytes that hold two of 4 bits."""
    if to.dtype(given) is not UI8 or bits == 8:
        _sized(to, "zero_points", given, n * blocks)
        return to.reshape(given, (n, blocks))
    _sized(to, "zero_points", given, n * -(-blocks // 2))
    return unpacked(to, to.reshape(given, (n, -(-blocks // 2))), blocks)


def _positive(node: Node, name: str) -> int:
    found = node.int(name)
    if not 0 < found < 1 << 31:
        raise error("E8002", f"{name} is {found}, expected a positive number", attribute=name, value=found)
    return found


def _sized(to: OnnxConverter, name: str, x: SSAValue, count: int) -> None:
    total = prod(static(to.shape(x)))
    if total != count:
        raise error("E3003", f"{name} has {total} elements, expected {count}", dimension=name, extents=(total, count))


CONTRIB: dict[str, OnnxRow] = {"com.microsoft.MatMulNBits": _matmul_nbits, **ATTENTIONS, **FUSED, **QUANTIZED}
