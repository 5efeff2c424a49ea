"""
Attention as one kernel, without the scores in memory: which fusions are one, and its text around what `attention.cuh` has.

What happens to a score between the two products, scale, masks and casts, is any elementwise code: it is written out per score.
The forms: one row per block where rows are few, with several blocks along the keys; tiles on tensor cores for f16 and bf16;
tiles otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, SSAValue

from mind_dialect.dominance import walk
from mind_dialect.ptir import CastOp, DotGeneralOp, FusionOp, PtirOp, ReciprocalOp, ReduceOp
from mind_dialect.ptir.types import F32, F64, PtirDType
from mind_passes.ptir.patterns import softmax
from mind_passes.ptir.patterns.causal import hidden_from

from ..kernels.body import Body
from ..kernels.element import scratch
from ..kernels.indexing import IndexingCheck, Known
from ..kernels.kernel import MOST_BLOCKS, CudaKernel, KernelWriter, Schedule, indented
from ..kernels.places import spec
from ..kernels.scalars import NARROW, STORED, cast, literal, register
from ..kernels.scope import Scope
from ..kernels.unsupported import Unsupported
from .destinations import destination_of
from .layout import Strided, strided
from .matrices import SHARED_BYTES, Axes, Matrix, axes_of, batch_offset, check_sums, scored

FEW_ROWS = 8
"""Up to so many rows of queries are too few for tiles."""
ENOUGH_BLOCKS = 256
LEAST_KEYS = 128
"""Keys that a block has at least before it shares a row with others."""
NARROW_KEYS = 32
"""Keys of a tile of f16 or bf16: with 64, ptxas spills registers for some machines, and fewer blocks are resident."""
GROUP_COLUMNS = 64
"""The columns of a tile of four warps together, and its keys: of greater depths, two tiles are more than the 48 kB of a block."""
RESIDENT = 512
"""Threads that are resident at once where four warps multiply together: ptxas gives each a few more registers otherwise."""
WARP_GROUP = "mind.warp_group"
"""Marks products of an attention that four warps compute together, on GPUs that have `wgmma`."""
_TILES = tuple((tall, wide) for tall in (64, 32, 16) for wide in (32, 16, 8))


def is_attention(block: Block) -> bool:
    """Return whether a body holds two products and reductions, as that of an attention does."""
    products = sum(isinstance(op, DotGeneralOp) for op in block.ops)
    return products == 2 and any(isinstance(op, ReduceOp) for op in block.ops)


@dataclass
class _AttentionParts:
    """The parts of an attention."""

    body: Body
    first: DotGeneralOp
    scores: SSAValue
    last: DotGeneralOp
    q: Strided
    k: Strided
    v: Strided
    places: tuple[int, ...]
    """The strides of the last product in the result."""
    keeps: bool
    """True if the greatest score of each row, and 1 over the sum of its exponentials, are results too."""


def _parts(block: Block) -> _AttentionParts:
    """Return the parts of an attention; Unsupported for products that are something else."""
    body = Body(block, given=(DotGeneralOp,))
    first, last = (op for op in body.ops if isinstance(op, DotGeneralOp))
    if body.sites:
        raise Unsupported("products with ops that can fail")
    weights = last.lhs.owner
    weights = weights.x.owner if isinstance(weights, CastOp) else weights
    found = softmax.find(weights) if isinstance(weights, PtirOp) else None
    shape = spec(last.lhs)[1]
    if not isinstance(weights, PtirOp) or found is None or found.axis % len(shape) != len(shape) - 1 or spec(found.z)[1] != shape:
        raise Unsupported("products without a softmax between them")
    if found.guarded:
        raise Unsupported("rows without keys that give 0")
    if not spec(weights.results[0])[0].is_float or spec(first.result)[1] != shape or len(shape) < 2:
        raise Unsupported("scores of another shape than the first product")
    inside = {*found.inside, weights}
    if any(isinstance(op, ReduceOp) and op not in inside for op in body.ops):
        raise Unsupported("reductions other than those of the softmax")
    for op in (first, last):
        check_sums(op)
    q, k, v = (strided(value, body.inputs) for value in (first.lhs, first.rhs, last.rhs))
    if not q.dtype is k.dtype is v.dtype:
        raise Unsupported("queries, keys and values of different dtypes")
    keeps = len(body.results) > 1
    if keeps and not _is_kept(body.results[1:], found, F64 if q.dtype is F64 else F32):
        raise Unsupported("an attention with other results")
    return _AttentionParts(body, first, found.z, last, q, k, v, destination_of(last, body, 0).places, keeps)


def _is_kept(results: Sequence[SSAValue], found: softmax.Softmax, wide: PtirDType) -> bool:
    """Return whether results are the greatest score of each row, and 1 over the sum of its exponentials."""
    reductions = {op.values()["kind"]: op.result for op in found.inside if isinstance(op, ReduceOp)}
    if len(results) != 2 or results[0] is not reductions["max"] or any(spec(v)[0] is not wide for v in results):
        return False
    return isinstance(results[1].owner, ReciprocalOp) and results[1].owner.x is reductions["sum"]


class AttentionSchedule(Schedule):
    """An attention, in the form for its sizes."""

    def __init__(self, op: DotGeneralOp, block: Block):
        self.parts = parts = _parts(block)
        self.body = parts.body
        shape = spec(parts.first.result)[1]
        self.batch, (self.rows, self.keys) = shape[:-2], shape[-2:]
        self.count = prod(self.batch)
        n = len(self.batch)
        q, k, v = axes_of(parts.first, "lhs", n), axes_of(parts.first, "rhs", n), axes_of(parts.last, "rhs", n)
        if axes_of(parts.last, "lhs", n) != Axes(tuple(range(n)), n, n + 1):
            raise Unsupported("weights that are not taken row by row")
        self.q = Matrix(parts.q, q.batch, q.left, q.contracted)
        self.k = Matrix(parts.k, k.batch, k.left, k.contracted)
        self.v = Matrix(parts.v, v.batch, v.contracted, v.left)
        self.depth, self.width = self.q.shape[1], self.v.shape[1]
        self.wide = F64 if parts.q.dtype is F64 else F32
        if 0 in (self.count, self.rows, self.keys, self.depth, self.width):
            raise Unsupported("an attention of nothing")
        self.bounds = hidden_from(parts.scores, parts.first)
        self.at = scored(self.batch, self.rows, self.keys)
        check = IndexingCheck(Known(self.body))
        check.names[parts.first.result, self.at] = "v0"
        check.values([(parts.scores, self.at)])
        self.few = self.rows <= FEW_ROWS and not parts.keeps
        if self.few:
            self._check_few()
        else:
            self.tile = self._tile()

    def _check_few(self) -> None:
        total = self.count * self.rows
        self.shares = max(1, min(-(-ENOUGH_BLOCKS // total), self.keys // LEAST_KEYS))
        held = 32 * -(-self.width // 8) * 8 * self.wide.size
        if total * self.shares > MOST_BLOCKS or held > SHARED_BYTES - 1024 or self.depth > 512:
            raise Unsupported(f"an attention of {total} rows one by one")

    def _tile(self) -> tuple[str, int, int, str]:
        """Return the function, rows and columns of a tile, and the type of its elements."""
        narrow = self.parts.q.dtype in NARROW and self.depth % 16 == 0 and self.width % 8 == 0
        is_marked = WARP_GROUP in self.parts.first.attributes
        if narrow and is_marked and self.depth == self.width == GROUP_COLUMNS:
            return "attend_warp_group", 64, GROUP_COLUMNS, STORED[self.parts.q.dtype]
        if narrow and max(self.depth, self.width) <= 128:
            return "attend_narrow", 64, NARROW_KEYS, STORED[self.parts.q.dtype]
        bytes = self.wide.size
        for tall, wide in _TILES:
            if (tall <= max(16, self.rows)) and bytes * self._elements(tall, wide) <= SHARED_BYTES - 1024:
                return "attend", tall, wide, register(self.wide)
        raise Unsupported(f"an attention of depth {self.depth}")

    def emit(self) -> CudaKernel:
        writer = KernelWriter(self.body)
        scope = scratch(writer.source)
        return (self._few if self.few else self._tiles)(writer, scope)

    def _elements(self, tall: int, wide: int) -> int:
        """Elements of shared memory for a tile."""
        deep, thick = -(-self.depth // 8) * 8 + 4, -(-self.width // 8) * 8
        return (tall + wide) * deep + wide * thick + tall * (wide + 1)

    def _tiles(self, writer: KernelWriter, scope: Scope) -> CudaKernel:
        """Tiles of rows, those that look at the most keys first."""
        function, tall, wide, first = self.tile
        tiles = -(-self.rows // tall)
        sizes = {"attend_warp_group": first, "attend_narrow": f"{wide}, {first}", "attend": f"{tall}, {wide}, {first}"}[function]
        types = f"{self.rows}, {self.keys}, {self.depth}, {self.width}, {sizes}"
        lines = [
            f"const I z = b / {tiles};",
            f"const I top = ({tiles - 1} - b % {tiles}) * {tall};",
            *self._scored(writer),
            self._end(),
        ]
        operands, hidden = self._operands(scope), self._hidden()
        out = f"b0 + {batch_offset(self.batch, self.parts.places, 'z', scope)}, I({self.parts.places[-2]})"
        none = f"({register(self.wide)}*)0"
        kept = f"b1 + z * {self.rows}, b2 + z * {self.rows}" if self.parts.keeps else f"{none}, {none}"
        is_grouped = function == "attend_warp_group"
        given = f"{operands}, {out}, I(top), {hidden}, {kept}, score, end{', tiles' if is_grouped else ''}"
        call = f"mind::{function}<{types}>({given});"
        total = tiles * self.count
        room = f"alignas(1024) __shared__ mind::ui16 tiles[{2 * wide * (self.depth + self.width)}];"
        loop = [
            *([room] if is_grouped else []),
            f"for (I b = blockIdx.x; b < {total}; b += gridDim.x) {{",
            *indented([*lines, *scope.lines, call]),
            "}",
        ]
        launch, threads = writer.launch(min(total, MOST_BLOCKS), 128), RESIDENT if is_grouped else 0
        return writer.kernel(loop, launch, names=["attention"], threads=threads)

    def _few(self, writer: KernelWriter, scope: Scope) -> CudaKernel:
        """Some blocks for each row."""
        total, shares, wide = self.count * self.rows, self.shares, register(self.wide)
        lines = [f"const I row = blockIdx.x / {shares}, z = row / {self.rows}, r0 = row % {self.rows};", *self._scored(writer)]
        types = f"{self.keys}, {self.depth}, {self.width}, {shares}, {wide}"
        parts = f"reinterpret_cast<{wide}*>(scratch) + row * {shares * (self.width + 2)}, counters + row"
        parts = parts if shares > 1 else f"({wide}*)0, (mind::ui32*)0"
        operands, share = self._operands(scope), f"int(blockIdx.x % {shares})"
        out = f"b0 + {batch_offset(self.batch, self.parts.places, 'z', scope)} + r0 * {self.parts.places[-2]}"
        call = f"mind::attend_one<{types}>({operands}, {out}, r0, {share}, {parts}, score);"
        scratch = self.wide.size * total * shares * (self.width + 2) if shares > 1 else 0
        launch = writer.launch(total * shares, 256, scratch, total if shares > 1 else 0)
        return writer.kernel([*lines, *scope.lines, call], launch, names=["attention"])

    def _operands(self, scope: Scope) -> str:
        """Queries, keys and values as matrices with rows of `depth` or `width`."""
        index = "z" if self.count > 1 else "0"
        return ", ".join(m.text(scope, index) for m in (self.q, self.k, self.v))

    def _scored(self, writer: KernelWriter) -> Sequence[str]:
        """The function from a product of a query and a key, in the accumulator, to its score."""
        scope, type = scratch(writer.source), register(self.wide)
        dtype = spec(self.parts.first.result)[0]
        scope.names[self.parts.first.result, self.at] = "v0"
        (name,) = scope.values([(self.parts.scores, self.at)])
        head = f"const {register(dtype)} v0 = {cast('x', self.wide, dtype)};"
        tail = f"return {cast(name, spec(self.parts.scores)[0], self.wide)};"
        return [f"auto score = [&]({type} x, I r, I c) -> {type} {{", *indented([head, *scope.lines, tail]), "};"]

    def _end(self) -> str:
        """Return the most keys that the rows up to one see."""
        if self.bounds is None:
            return f"auto end = [](I r) -> I {{ return {self.keys}; }};"
        past = self.bounds.past
        return f"auto end = [](I r) -> I {{ return r + {past} < {self.keys} ? r + {past} : {self.keys}; }};"

    def _hidden(self) -> str:
        return literal(self.wide, -float("inf") if self.bounds is None else self.bounds.hidden)


def mark_warp_groups(module: ModuleOp) -> None:
    """Mark the products of attentions that four warps can compute together."""
    for op in walk(module):
        if isinstance(op, FusionOp) and is_attention(op.body.block):
            products = [inner for inner in op.body.block.ops if isinstance(inner, DotGeneralOp)]
            for product in products:
                product.attributes[WARP_GROUP] = UnitAttr()
            if not _is_grouped(products[-1], op.body.block):
                for product in products:
                    del product.attributes[WARP_GROUP]


def _is_grouped(last: DotGeneralOp, block: Block) -> bool:
    """Return whether the products of an attention, which are marked, are computed by four warps together."""
    try:
        schedule = AttentionSchedule(last, block)
    except Unsupported:
        return False
    return not schedule.few and schedule.tile[0] == "attend_warp_group"
