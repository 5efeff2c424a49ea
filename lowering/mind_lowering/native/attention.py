"""
Attention without its scores in memory: `softmax(f(q k^T)) v` as one kernel, `f` any elementwise ops (scale, mask).

`recognize` makes such a fusion, with the pattern `attention`. Here: which of them are one kernel, its parts, and its step. Keys
and values are copied into panels first; a unit of work is a block of rows, whose scores are on the stack of its thread
(`attention_kernel`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import F32, F64, read_type
from mind_passes.fusion.defuse import defuse
from mind_passes.ptir.patterns import softmax
from mind_passes.ptir.patterns.causal import Bounds, hidden_from
from mind_passes.ptir.recognize import recognize

from ..launch.kernel_patterns import Match, Rejection
from .costs import BYTES, VECTORS
from .grouping import is_elementwise
from .memory import Access, buffers_of
from .patterns import Builder, Operands, moving, readable
from .products.axes import accumulator
from .products.chain import MADE, Chain, divided
from .products.cut import MOST_DOT_ROWS, STRETCH, ProductCut, tile_of
from .products.kernels import ProductStep
from .products.product import Limits, Product, SizeLimit
from .reasons import unsupported
from .steps import NativeStep
from .target_info import TargetInfo
from .views import Buffer, Use, View

PATTERN = "attention"
SCRATCH = 160 << 10
"""Bytes of scores, and of sums of some blocks of keys, that a unit of work has on the stack, at most."""
WORK = 4e6
"""Multiplications and additions in a unit of work, about."""
MOST_TILES = 4
"""Of rows, in a unit of work."""
LIMITED_TILES = 2
"""The same where a size limits rows."""
MOST_ROWS = 12 * MOST_TILES
"""In a unit of work, on any machine."""
KEYS = 512
"""In a block, where all keys are too many."""
BEYOND = -1e30
"""A number that hides a score to which it is added, however great that is."""
CAUSAL_KEYS = 128
"""In a block, where a causal mask hides blocks: less is computed in vain than in longer ones."""


@dataclass
class AttentionStep(NativeStep):
    """
    The kernel of an attention: `scores` are products of queries and keys, `sums` of what softmax makes of them and values.

    Both have copies of their right operands. The other memory of theirs is the stack: `apart` elements a row of scores.
    """

    name: str
    scores: Product
    sums: Product
    tiles: int
    apart: int
    guarded: bool
    """True if rows whose scores are all -inf give 0."""
    words: str
    bounds: Bounds | None
    """Keys that a causal mask hides: blocks that no row sees are left out, if each row has a score far above the hidden ones."""

    @property
    def reads(self) -> list[View]:
        """Return the views that are read in addition to queries, keys and values."""
        return list(self.scores.epilogue.reads)

    @property
    def addresses(self) -> Sequence[View]:
        copies = [v for v in (self.scores.rhs_copy, self.sums.rhs_copy) if v is not None]
        return [self.scores.lhs, *copies, *self.reads, self.sums.out]

    def access(self) -> Access:
        bases = buffers_of(self.addresses)
        return Access(bases[:-1], bases[-1:])

    def cost(self, host: TargetInfo) -> float:
        count = prod(self.scores.out.shape)
        lanes = host.lanes(self.scores.total.size)
        return count * (self.scores.depth + self.sums.columns + 30) / lanes / VECTORS + count / BYTES

    @property
    def flops(self) -> int:
        return 2 * prod(self.scores.out.shape) * (self.scores.depth + self.sums.columns)

    def key(self) -> Hashable:
        return self.scores.key(), self.sums.key(), self.tiles, self.apart, self.guarded, self.bounds

    def contents(self) -> str:
        scores, sums = self.scores, self.sums
        of = f"{list(scores.batch)} " if scores.batch else ""
        then = f" {self.words}" if self.words else ""
        keys = f", {sums.cut.depth} keys at a time" if sums.blocks > 1 else ""
        keys += " as far as a causal mask shows them" if self.bounds is not None else ""
        return (
            f"attention of {of}{scores.rows} queries of {scores.depth}, {scores.columns} keys, values of {sums.columns},"
            f"{then} softmax in {scores.total}: {self.tiles} tiles of {scores.cut.rows} rows{keys}"
        )


@dataclass(frozen=True)
class Parts:
    """The ops of an attention: scores are `first`, then `chain`, whose result is `z`; `last` multiplies what softmax gives."""

    first: ptir.DotGeneralOp
    chain: Sequence[PtirOp]
    z: SSAValue
    last: ptir.DotGeneralOp
    guarded: bool
    """True if rows whose scores are all -inf give 0."""
    views: Sequence[PtirOp]
    """Views of what is outside, and constants."""
    bounds: Bounds | None
    """Keys that a causal mask hides."""


def find_attention(module: ModuleOp, host: TargetInfo) -> None:
    """Make attentions fusions, where they are kernels of this target."""
    if recognize(module, (PATTERN,)):
        defuse(module, only=lambda op: _is_one(op) and parts(op, host) is None)


def _is_one(op: ptir.FusionOp) -> bool:
    return op.values()["pattern"] == PATTERN


def parts(op: ptir.FusionOp, host: TargetInfo) -> Parts | None:
    """The parts of a fusion of that pattern if it is a kernel here."""
    ending = op.body.block.last_op
    last = None if ending is None else ending.operands[0].owner
    if not _is_one(op) or not isinstance(last, ptir.DotGeneralOp) or not isinstance(last.lhs.owner, PtirOp):
        return None
    found = softmax.find(last.lhs.owner)
    if found is None:
        return None
    known: set[Operation] = {last, last.lhs.owner, *found.inside}
    rest = [o for o in op.body.block.ops if isinstance(o, PtirOp) and o not in known and not isinstance(o, ptir.YieldOp)]
    views, others = ([o for o in rest if isinstance(o, MADE) == is_view] for is_view in (True, False))
    products = [o for o in others if isinstance(o, ptir.DotGeneralOp)]
    chain = [o for o in others if is_elementwise(o)]
    if len(products) != 1 or len(products) + len(chain) != len(others):
        return None
    made = Parts(products[0], chain, found.z, last, found.guarded, views, _hidden(found.z, products[0]))
    return made if _fits(made, host) else None


def _hidden(z: SSAValue, product: PtirOp) -> Bounds | None:
    """Return what a causal mask hides, if a hidden key has no weight in a row with a greater score, whatever the scores are."""
    found = hidden_from(z, product)
    return found if found is not None and (not found.added or found.hidden <= BEYOND) else None


def _fits(made: Parts, host: TargetInfo) -> bool:
    """Return whether dtypes and shapes are those of a kernel."""
    values = [v for op in (made.first, *made.chain, made.last) for v in (*op.operands, *op.results)]
    types, dtype = [read_type(v.type) for v in values], read_type(made.z.type).dtype
    totals = {accumulator(made.first), accumulator(made.last), read_type(made.last.lhs.type).dtype, dtype}
    if totals != {dtype} or dtype not in (F32, F64) or not all(t.is_static and 0 not in t.shape for t in types):
        return False
    if unsupported([t.dtype for t in types], host) or any(op.can_fail() for op in made.chain):
        return False
    scores = read_type(made.z.type).shape
    rows, columns = scores[-2], read_type(made.last.result.type).shape[-1]
    if any(read_type(o.results[0].type).shape != scores for o in (made.first, *made.chain)):
        return False
    assert isinstance(rows, int)
    assert isinstance(columns, int)
    return rows > MOST_DOT_ROWS and columns * dtype.size * MOST_ROWS <= SCRATCH // 2


def match_attention(op: ptir.FusionOp, operands: Operands, host: TargetInfo) -> Match | Rejection:
    """Match a fusion that is an attention."""
    made = parts(op, host)
    return (
        Rejection("it is not an attention of two products in f32 or f64")
        if made is None
        else Match(moving([*op.operands, *op.results]), made)
    )


def expand_attention(build: Builder, op: ptir.FusionOp, match: Match) -> None:
    """Append an attention: panels of keys and values, and its kernel."""
    made: Parts = match.schedule
    for inner in made.views:
        build.step(inner)
    q, k, v = _operands(build, made)
    inside: set[Operation] = {made.first, *made.chain}
    inputs = {value: readable(build, value) for o in made.chain for value in o.operands if value.owner not in inside}
    out = _target(build, made.last.result, op.results[0])
    step = _planned(build, made, (q, k, v, out), inputs)
    for which, product in (("keys", step.scores), ("values", step.sums)):
        with build.packing([product.rhs], prod(product.rhs.shape) * product.total.size):
            build.add(ProductStep(f"{step.name}.{which}", "panels", product))
    build.add(step)


def _target(build: Builder, value: SSAValue, result: SSAValue) -> View:
    """Memory for the result, in the order of a transpose that alone reads it: no copy of it is then needed."""
    users = [use.operation for use in result.uses]
    if len(users) != 1 or not isinstance(user := users[0], ptir.TransposeOp):
        return build.target(value)
    turned = build.new(Use.ARENA, user.result)
    given: Sequence[int] = user.values()["perm"]
    places = {a % len(turned.shape): i for i, a in enumerate(given)}
    order = [places[a] for a in range(len(turned.shape))]
    found = replace(turned, shape=build.shape(value), strides=tuple([turned.strides[i] for i in order]))
    build.views[value] = found
    return found


def _operands(build: Builder, made: Parts) -> tuple[View, View, View]:
    """Queries `[*batch, rows, depth]`, keys `[*batch, depth, keys]`, values `[*batch, keys, columns]`, wherever they lie."""

    def view(op: ptir.DotGeneralOp, which: int, *, depth_last: bool) -> View:
        side = ("lhs", "rhs")[which]
        values, value = op.values(), op.operands[which]
        found = build.view(value)
        if not isinstance(found.base, Buffer) or found.lookups:
            found = build.copied(value, found)
        rank = len(found.shape)
        batch, contract = ([a % rank for a in values[f"{role}_{side}"]] for role in ("batch", "contract"))
        free = [a for a in range(rank) if a not in batch and a not in contract]
        order = [*batch, *free, *contract] if depth_last else [*batch, *contract, *free]
        return replace(found, shape=tuple(found.shape[a] for a in order), strides=tuple(found.strides[a] for a in order))

    q, k = view(made.first, 0, depth_last=True), view(made.first, 1, depth_last=False)
    return q, k, view(made.last, 1, depth_last=False)


def _planned(build: Builder, made: Parts, views: tuple[View, View, View, View], inputs: dict[SSAValue, View]) -> AttentionStep:
    """The products of an attention, cut for a machine."""
    q, k, v, out = views
    host, total, name = build.host, read_type(made.z.type).dtype, made.last.result.name_hint or PATTERN
    (rows, depth), keys, columns = q.shape[-2:], k.shape[-1], v.shape[-1]
    width, batch = host.lanes(total.size), q.shape[:-2]
    tall, wide = tile_of(host, total, rows, -(-keys // width))
    limits = _limits(build, made)
    most = MOST_TILES if limits[0] is None else LIMITED_TILES
    tiles = max(1, min(most, -(-rows // tall), int(WORK / (2 * tall * keys * (depth + columns)))))
    room = SCRATCH // total.size // (tall * tiles) - columns - 4 * width
    room, size = (room, KEYS) if made.bounds is None else (min(room, CAUSAL_KEYS), CAUSAL_KEYS)
    block = keys if keys <= room else max(size // (wide * width), 1) * wide * width
    apart = -(-block // width) * width + width
    stacked = Buffer(Use.ARENA, -1, total, rows * apart + keys, f"{name}.scores")
    still = (0,) * len(batch)
    scores = View(stacked, total, (*batch, rows, keys), (*still, apart, 1))
    chain = Chain(made.first.result, accumulator(made.first), made.chain, inputs, [(made.z, scores)])
    cut = ProductCut(width, tall, wide, depth, True, tiles, False, True)
    first = Product(name, q, k, scores, total, cut, chain.epilogue(), limits=limits)
    tall, wide = tile_of(host, total, rows, -(-columns // width))
    cut = ProductCut(width, tall, wide, min(block, keys), True, tiles, False, True)
    totals = View(_stack(stacked, rows), total, (*batch, rows, columns), (*still, 1, 0))
    last = Product(name, scores, v, out, total, cut, divided(totals, out, made.guarded))
    if last.blocks > 1:
        span = -(-columns // width) * width
        last.partial = View(_stack(stacked, rows * span), total, (*batch, rows, columns), (*still, span, 1))
    for product in (first, last):
        product.cut = replace(product.cut, group=max(1, min(STRETCH // (product.cut.columns * total.size), product.panels // 8)))
        product.rhs_copy = _panels(build, product)
    words, bounds = " ".join(op.OPCODE for op in made.chain), made.bounds if last.blocks > 1 else None
    return AttentionStep(name, first, last, tiles, apart, made.guarded, words, bounds)


def _limits(build: Builder, made: Parts) -> Limits:
    """Return the sizes that limit queries and keys: what is demanded of rows of the result, and of columns of the scores."""
    queries, keys = build.demanded.along(made.last.result)[-2], build.demanded.along(made.first.result)[-1]
    return None if queries is None else SizeLimit(queries, 1), None if keys is None else SizeLimit(keys, 1)


def _stack(buffer: Buffer, count: int) -> Buffer:
    """Memory on the stack of so many elements."""
    return Buffer(buffer.use, -1, buffer.dtype, count, buffer.name)


def _panels(build: Builder, product: Product) -> View:
    """Memory for the panels of a product's right operand."""
    distinct = [n for n, s in zip(product.batch, product.rhs.strides[:-2], strict=True) if s]
    count = prod(distinct) * product.panels * product.depth * product.cut.columns
    return View(build.buffer(Use.ARENA, product.total, count, f"{product.name}.panels"), product.total, (count,), (1,))
