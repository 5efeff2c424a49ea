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

from ..kernels.body import Body
from ..kernels.element import for_each, function, scratch
from ..kernels.folds import check_total
from ..kernels.indexing import IndexingCheck, IndexingWalk, Known, check_elements
from ..kernels.kernel import CudaKernel, KernelWriter, Schedule, indented, store
from ..kernels.maps import Key
from ..kernels.places import Dims, cut, linear, place, reshaped, spec
from ..kernels.rows import RESIDENT
from ..kernels.scalars import NARROW, STORED, cast, literal, register
from ..kernels.scope import KernelSource, Scope
from ..kernels.unsupported import Unsupported
from ..kernels.windows import window_place

TILE = 64
ENOUGH_BLOCKS = 256
MOST_INPUTS = 4
"""Arrays that a convolution with a bias and a residual reads. Registers of one that reads more are bounded: none spill then."""
LEAST_DEPTH = 128
"""Products that a block adds up at least before it shares a tile with others."""


class ConvolutionSchedule(Schedule):
    """A convolution and what follows it element by element."""

    def __init__(self, op: ConvolutionOp, block: Block):
        self.op, self.body = op, Body(block, given=(ConvolutionOp,))
        if self.body.reductions or self.body.sites or sum(isinstance(o, ConvolutionOp) for o in self.body.ops) > 1:
            raise Unsupported("a convolution with more than elementwise ops after it")
        size = prod(spec(op.result)[1])
        if any(prod(spec(v)[1]) != size for v in self.body.results):
            raise Unsupported("a convolution with results of other sizes after it")
        values = op.values()
        (self.dtype, self.image), self.kernel, self.shape = spec(op.lhs), spec(op.rhs)[1], spec(op.result)[1]
        self.groups: int = values["feature_group_count"]
        self.wide: PtirDType = values["accum_dtype"] or default_accumulator(self.dtype)
        check_total("sum", self.wide)
        self.window, self.channels, self.per_group = self.kernel[:-2], self.kernel[-2], self.kernel[-1] // self.groups
        self.rows, self.depth = prod(self.shape[:-1]), prod(self.kernel[:-1])
        if 0 in (self.rows, self.depth, self.per_group, prod(self.image)):
            raise Unsupported("a convolution of nothing")
        if max(self.rows, prod(self.kernel)) >= 1 << 31:
            raise Unsupported("a convolution of too many rows")
        self.by_channel = self.channels == 1 and self.per_group <= 2
        self.down, self.across = -(-self.rows // TILE), -(-self.per_group // TILE)
        self.tiles = self.down * self.across * self.groups
        self.shares = max(1, min(ENOUGH_BLOCKS // self.tiles, self.depth // LEAST_DEPTH))
        if not self.by_channel and self.tiles * self.shares >= 1 << 31:
            raise Unsupported("a convolution of too many tiles")
        check_elements(self.body, op.operands)
        check = IndexingCheck(Known(self.body))
        check.values(self._results(check))

    def emit(self) -> CudaKernel:
        writer = KernelWriter(self.body)
        lines = [*self._left(writer.source), *self._right(writer.source), *self._finish(writer)]
        return (self._by_channel if self.by_channel else self._by_tile)(writer, lines)

    def _by_tile(self, writer: KernelWriter, lines: Sequence[str]) -> CudaKernel:
        """A block, or several along the depth, for each tile of the result."""
        down, across, tiles, shares = self.down, self.across, self.tiles, self.shares
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
        launch = writer.launch(tiles * shares, threads, scratch_bytes, tiles if shares > 1 else 0)
        return writer.kernel([*head, *lines, call], launch, threads=RESIDENT if len(self.body.inputs) > MOST_INPUTS else 0)

    def _by_channel(self, writer: KernelWriter, lines: Sequence[str]) -> CudaKernel:
        """A thread for each element of the result, of one channel of the image."""
        type = register(self.wide)
        body = [
            f"const I row = e / {self.kernel[-1]}, column = e % {self.kernel[-1]}, group = column / {self.per_group};",
            *lines,
            f"{type} sum = {literal(self.wide, 0)};",
            f"for (I k = 0; k < {self.depth}; ++k) sum = mind::fused(a(row, k), b(k, column % {self.per_group}), sum);",
            f"finish(sum, row, column % {self.per_group});",
        ]
        return for_each(writer, "e", self.rows * self.kernel[-1], body)

    def _left(self, source: KernelSource) -> list[str]:
        """The function from a row and a depth to an element of a window."""
        values, rank = self.op.values(), len(self.window)
        image = "".join(f", I p{i}" for i in range(rank))
        at = place(((self.image[0],), "n"), *(((n,), f"p{i}") for i, n in enumerate(self.image[1:-1])), ((self.image[-1],), "c"))
        lines = function(source, "image", self.op.lhs, at, f"I n{image}, I c", self.wide)
        names = scratch(source)
        first = [c.number for c in cut(place((self.shape[:-1], "m")), range(rank + 1), names)]
        inner = [c.number for c in cut(place((self.kernel[:-1], "k")), range(rank + 1), names)]
        body = list(names.lines)
        for i, extent in enumerate(self.image[1:-1]):
            statement, is_outside, element = window_place(values, i, extent, first[i + 1], inner[i])
            body += [statement, f"if ({is_outside}) return {literal(self.wide, 0)};"]
            image = image.replace(f", I p{i}", f", {element}", 1)
        channel = inner[rank] if self.groups == 1 else f"{inner[rank]} + group * {self.channels}"
        body.append(f"return image({first[0]}{image}, {channel});")
        return [*lines, f"auto a = [&](I m, I k) -> {register(self.wide)} {{", *indented(body), "};"]

    def _right(self, source: KernelSource) -> list[str]:
        """The function from a depth and a column of the group to a weight."""
        at = place((self.kernel[:-1], "k"), ((self.kernel[-1],), "o"))
        lines = function(source, "weight", self.op.rhs, at, "I k, I o", self.wide)
        column = "o" if self.groups == 1 else f"group * {self.per_group} + o"
        return [*lines, f"auto b = [&](I k, I o) -> {register(self.wide)} {{ return weight(k, {column}); }};"]

    def _results(self, names: IndexingWalk) -> list[Key]:
        """The results at the place of a sum, which is finished there."""
        out: Dims = self.shape
        at = place((out[:-1], "m"), ((out[-1],), "o"))
        names.source.row = linear(at, names)
        names.source.finished[self.op.result] = "v0"
        return [(v, reshaped(at, spec(v)[1], names)) for v in self.body.results]

    def _finish(self, writer: KernelWriter) -> list[str]:
        """The function that does to a sum what follows, and writes the results."""
        scope, dtype = Scope(writer.source), spec(self.op.result)[0]
        roots = self._results(scope)
        scope.whole = writer.source.row
        found = scope.values(roots)
        writes = [store(b, scope.whole, v, x) for b, v, x in zip(writer.outputs, self.body.results, found, strict=True)]
        column = "c" if self.groups == 1 else f"group * {self.per_group} + c"
        head = [f"const I o = {column};", f"const {register(dtype)} v0 = {cast('x', self.wide, dtype)};"]
        type = register(self.wide)
        return [f"auto finish = [&]({type} x, I m, I c) {{", *indented([*head, *scope.lines, *writes]), "};"]
