"""
Convolution as a matrix product whose left operand is never in memory: rows are places of the result, the depth are the places of
a window and its channels, and each element is read where the window has it.

Padding and the holes of dilations are zeros. What follows element by element, such as a bias and an activation, is done to the
sums before they are written. A channel by itself is a thread's sum over its window.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Block

from mind_dialect.ptir import ConvolutionOp
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import F32, PtirDType

from ..kernels.body import Body, Scope
from ..kernels.element import for_each, function, scratch
from ..kernels.kernel import CudaKernel, KernelWriter, indented, store
from ..kernels.places import Dims, cut, linear, place, reshaped, spec
from ..kernels.scalars import NARROW, STORED, cast, literal, register
from ..kernels.unsupported import Unsupported

TILE = 64
ENOUGH_BLOCKS = 256
LEAST_DEPTH = 128
"""Products that a block adds up at least before it shares a tile with others."""


def convolution_kernel(op: ConvolutionOp, block: Block) -> CudaKernel:
    """The kernel of a convolution and what follows it element by element."""
    body = Body(block, given=(ConvolutionOp,))
    if body.reductions or body.sites or sum(isinstance(o, ConvolutionOp) for o in body.ops) > 1:
        raise Unsupported("a convolution with more than elementwise ops after it")
    size = prod(spec(op.result)[1])
    if any(prod(spec(v)[1]) != size for v in body.results):
        raise Unsupported("a convolution with results of other sizes after it")
    return _Convolution(op, body).made()


class _Convolution:
    """One kernel on its way."""

    def __init__(self, op: ConvolutionOp, body: Body):
        self.op, self.body, self.writer = op, body, KernelWriter(body)
        values = op.values()
        (self.dtype, self.image), self.kernel, self.shape = spec(op.lhs), spec(op.rhs)[1], spec(op.result)[1]
        self.groups: int = values["feature_group_count"]
        self.wide: PtirDType = values["accum_dtype"] or default_accumulator(self.dtype)
        if self.wide in NARROW:
            raise Unsupported(f"sums in {self.wide}")
        register(self.wide)
        self.window, self.channels, self.per_group = self.kernel[:-2], self.kernel[-2], self.kernel[-1] // self.groups
        self.rows, self.depth = prod(self.shape[:-1]), prod(self.kernel[:-1])
        if 0 in (self.rows, self.depth, self.per_group, prod(self.image)):
            raise Unsupported("a convolution of nothing")
        if max(self.rows, prod(self.kernel)) >= 1 << 31:
            raise Unsupported("a convolution of too many rows")

    def made(self) -> CudaKernel:
        """The kernel, in the form for its sizes."""
        lines = [*self._left(), *self._right(), *self._finish()]
        if self.channels == 1 and self.per_group <= 2:
            return self._by_channel(lines)
        down, across = -(-self.rows // TILE), -(-self.per_group // TILE)
        tiles = down * across * self.groups
        shares = max(1, min(ENOUGH_BLOCKS // tiles, self.depth // LEAST_DEPTH))
        if tiles * shares >= 1 << 31:
            raise Unsupported("a convolution of too many tiles")
        narrow = self.dtype in NARROW and self.wide is F32
        name, threads = ("product_narrow", 128) if narrow else ("product", 256)
        number = STORED[self.dtype] if narrow else register(self.wide)
        tile = f"const I tile = blockIdx.x / {shares}" if shares > 1 else "const I tile = blockIdx.x"
        head = [f"{tile}, group = tile / {down * across};"]
        held = f"reinterpret_cast<{register(self.wide)}*>(scratch)"
        parts = f"{held} + mind::si64(tile) * {shares * TILE * TILE}, counters + tile" if shares > 1 else "0, 0"
        share = f"int(blockIdx.x % {shares})" if shares > 1 else "0"
        types = f"{self.rows}, {self.depth}, {self.per_group}, {shares}, {number}"
        corner = f"I(tile % {down * across} / {across} * {TILE}), I(tile % {across} * {TILE})"
        call = f"mind::{name}<{types}, I>({corner}, {share}, {parts}, a, b, finish);"
        scratch_bytes = self.wide.size * tiles * shares * TILE * TILE if shares > 1 else 0
        launch = self.writer.launch(tiles * shares, threads, scratch_bytes, tiles if shares > 1 else 0)
        return self.writer.kernel([*head, *lines, call], launch)

    def _by_channel(self, lines: Sequence[str]) -> CudaKernel:
        """A thread for each element of the result, of one channel of the image."""
        type = register(self.wide)
        body = [
            f"const I row = e / {self.kernel[-1]}, column = e % {self.kernel[-1]}, group = column / {self.per_group};",
            *lines,
            f"{type} sum = {literal(self.wide, 0)};",
            f"for (I k = 0; k < {self.depth}; ++k) sum = mind::fused(a(row, k), b(k, column % {self.per_group}), sum);",
            f"finish(sum, row, column % {self.per_group});",
        ]
        return for_each(self.writer, "e", self.rows * self.kernel[-1], body)

    def _left(self) -> list[str]:
        """The function from a row and a depth to an element of a window."""
        values, rank = self.op.values(), len(self.window)
        image = "".join(f", I p{i}" for i in range(rank))
        at = place(((self.image[0],), "n"), *(((n,), f"p{i}") for i, n in enumerate(self.image[1:-1])), ((self.image[-1],), "c"))
        lines = function(self.writer.source, "image", self.op.lhs, at, f"I n{image}, I c", self.wide)
        names = scratch(self.writer.source)
        first = [c.number for c in cut(place((self.shape[:-1], "m")), range(rank + 1), names)]
        inner = [c.number for c in cut(place((self.kernel[:-1], "k")), range(rank + 1), names)]
        body = list(names.lines)
        for i, extent in enumerate(self.image[1:-1]):
            stride, dilation, base = values["strides"][i], values["window_dilation"][i], values["base_dilation"][i]
            low, _ = values["padding"][i]
            body.append(f"const I p{i} = {first[i + 1]} * {stride} + {inner[i]} * {dilation} - {low};")
            tests = [f"p{i} < 0", f"p{i} >= {(extent - 1) * base + 1}", *([f"p{i} % {base} != 0"] if base > 1 else [])]
            body.append(f"if ({' || '.join(tests)}) return {literal(self.wide, 0)};")
            image = image.replace(f", I p{i}", f", p{i} / {base}" if base > 1 else f", p{i}", 1)
        channel = inner[rank] if self.groups == 1 else f"{inner[rank]} + group * {self.channels}"
        body.append(f"return image({first[0]}{image}, {channel});")
        return [*lines, f"auto a = [&](I m, I k) -> {register(self.wide)} {{", *indented(body), "};"]

    def _right(self) -> list[str]:
        """The function from a depth and a column of the group to a weight."""
        at = place((self.kernel[:-1], "k"), ((self.kernel[-1],), "o"))
        lines = function(self.writer.source, "weight", self.op.rhs, at, "I k, I o", self.wide)
        column = "o" if self.groups == 1 else f"group * {self.per_group} + o"
        return [*lines, f"auto b = [&](I k, I o) -> {register(self.wide)} {{ return weight(k, {column}); }};"]

    def _finish(self) -> list[str]:
        """The function that does to a sum what follows, and writes the results."""
        scope = Scope(self.writer.source)
        out: Dims = self.shape
        dtype = spec(self.op.result)[0]
        at = place((out[:-1], "m"), ((out[-1],), "o"))
        scope.whole = scope.source.row = linear(at, scope)
        scope.source.finished[self.op.result] = "v0"
        places = [reshaped(at, spec(v)[1], scope) for v in self.body.results]
        found = scope.values(list(zip(self.body.results, places, strict=True)))
        writes = [store(b, scope.whole, v, x) for b, v, x in zip(self.writer.outputs, self.body.results, found, strict=True)]
        column = "c" if self.groups == 1 else f"group * {self.per_group} + c"
        head = [f"const I o = {column};", f"const {register(dtype)} v0 = {cast('x', self.wide, dtype)};"]
        type = register(self.wide)
        return [f"auto finish = [&]({type} x, I m, I c) {{", *indented([*head, *scope.lines, *writes]), "};"]
