"""Rows of operators of ONNX Runtime, which the package `onnx` does not define: products with packed weights, and fused ones."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import brief, error
from mind_dialect.extents.dims import product_dims
from mind_dialect.ptir.types import F32, F64, UI8

from ..packed import blocked_product, unpacked
from ..unsupported import Refused
from .contrib_attention import ATTENTIONS
from .contrib_checks import stated
from .contrib_fused import FUSED
from .contrib_quantized import QUANTIZED
from .converter import OnnxConverter, OnnxRow
from .emitter import static
from .indexing import from_start
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
    blocks, dtype = -(-k // _power(block)), F64 if to.dtype(x) is F64 else F32
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
    zero = _zero_points(to, node.x(3), n, blocks, bits) if node.has(3) else to.like(float(ZERO_POINTS[bits]), scale)
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


def _gather_blocks(to: OnnxConverter, node: Node) -> SSAValue:
    """Rows of a table of integers in blocks along its columns, dequantized; an index out of range is E6001 at run time."""
    data, scales, index = node.ranked(0, 2), node.ranked(2, 2), node.x(1)
    bits, block = _table_form(to, node, data), _power(node.int("block_size", 128))
    is_packed = to.dtype(data).bits != bits
    rows, columns, blocks = static((*to.shape(data), to.shape(scales)[1]), "blocks")
    size = 2 * columns if is_packed else columns
    if blocks != (expected := -(-size // block)):
        raise error("E3003", f"scales have {blocks} blocks, expected {expected}", dimension="blocks", extents=(blocks, expected))
    flat = from_start(to, to.reshape(index, (product_dims(to.shape(index)),)), rows)
    codes, scale = (to.emit(ptir.TakeOp, x, flat) for x in (data, scales))
    codes = unpacked(to, codes, size) if is_packed else codes
    zero = to.like(float(ZERO_POINTS[bits] if to.dtype(data) is UI8 else 0), scale)
    if node.has(3):
        zero = to.emit(ptir.TakeOp, node.ranked(3, 2), flat)
        zero = to.cast(unpacked(to, zero, blocks) if is_packed else zero, to.dtype(scale))
    count = to.shape(flat)[0]
    codes = to.cast(to.pad(codes, 0, [0, 0], [0, blocks * block - size]), to.dtype(scale))
    zero, scale = (to.reshape(v, (count, blocks, 1)) for v in (zero, scale))
    found = to.times(to.minus(to.reshape(codes, (count, blocks, block)), zero), scale)
    return to.reshape(to.part(to.reshape(found, (count, blocks * block)), 1, 0, size), (*to.shape(index), size))


def _table_form(to: OnnxConverter, node: Node, data: SSAValue) -> int:
    """Return the bits of a table; of 4 bits, bytes hold two. Raises `Refused` for other tables."""
    bits, dtype = node.int("bits", 4), to.dtype(data)
    if node.axis("gather_axis", 0, data) != 0 or node.axis("quantize_axis", 1, data) != 1:
        raise Refused("blocks along rows that are gathered", "quantize along axis 1, and gather along axis 0")
    if bits not in ZERO_POINTS or dtype.is_float or (dtype is not UI8 and dtype.bits != bits):
        raise Refused(f"a table of {dtype} with {bits} bits", "quantize to integers of 4 or 8 bits")
    return bits


def _power(block: int) -> int:
    """Return a size of blocks; E8002 for one that is not a power of two from 16 on."""
    if block < 16 or block & (block - 1):
        message = f"block_size is {block}, expected a power of two from 16 on"
        raise error("E8002", message, attribute="block_size", value=block)
    return block


def _positive(node: Node, name: str) -> int:
    found = node.int(name)
    if not 0 < found < 1 << 31:
        raise error("E8002", f"{name} is {found}, expected a positive number", attribute=name, value=found)
    return found


def _sized(to: OnnxConverter, name: str, x: SSAValue, count: int) -> None:
    total = prod(static(to.shape(x)))
    if total != count:
        raise error("E3003", f"{name} has {total} elements, expected {count}", dimension=name, extents=(total, count))


CONTRIB: dict[str, OnnxRow] = {
    "com.microsoft.GatherBlockQuantized": stated(3, 4, "bits block_size gather_axis quantize_axis", _gather_blocks),
    "com.microsoft.MatMulNBits": _matmul_nbits,
    **ATTENTIONS,
    **FUSED,
    **QUANTIZED,
}
