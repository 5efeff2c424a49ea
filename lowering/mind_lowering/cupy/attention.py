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

from xdsl.ir import Block, SSAValue

from mind_dialect.ptir import (
    AddOp,
    CastOp,
    CompareOp,
    DotGeneralOp,
    IotaOp,
    PtirOp,
    ReduceOp,
    ReshapeOp,
    SelectOp,
    TransposeOp,
    YieldOp,
)
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import F32, F64
from mind_passes.ptir.building import uniform
from mind_passes.ptir.patterns import softmax
from mind_passes.ptir.patterns.attention import HIDDEN

from ..native.views import row_major
from .body import Body, Scope, spec
from .kernel import MOST_BLOCKS, Kernel, Writer, indented
from .layout import Strided, strided
from .places import cut, place
from .scalars import NARROW, STORED, cast, literal, register
from .unsupported import Unsupported

SHARED_BYTES = 48 << 10
"""Of shared memory that a block has without being asked for."""
FEW_ROWS = 8
"""Up to so many rows of queries are too few for tiles."""
ENOUGH_BLOCKS = 256
LEAST_KEYS = 128
"""Keys that a block has at least before it shares a row with others."""
_TILES = tuple((tall, wide) for tall in (64, 32, 16) for wide in (32, 16, 8))


def is_attention(block: Block) -> bool:
    """Whether a body holds two products, as that of an attention does."""
    return sum(isinstance(op, DotGeneralOp) for op in block.ops) == 2


@dataclass
class _Parts:
    """The parts of an attention."""

    body: Body
    first: DotGeneralOp
    scores: SSAValue
    last: DotGeneralOp
    q: Strided
    k: Strided
    v: Strided
    places: tuple[int, ...]
    """How far apart elements of the last product are in the result, along each axis."""


def _parts(block: Block) -> _Parts:
    """What the ops of an attention are; Unsupported for two products that are something else."""
    body = Body(block, given=(DotGeneralOp,))
    first, last = (op for op in body.ops if isinstance(op, DotGeneralOp))
    if body.sites:
        raise Unsupported("products with what can fail")
    weights = last.lhs.owner
    weights = weights.x.owner if isinstance(weights, CastOp) else weights
    found = softmax.find(weights) if isinstance(weights, PtirOp) else None
    shape = spec(last.lhs)[1]
    if not isinstance(weights, PtirOp) or found is None or found.axis % len(shape) != len(shape) - 1 or spec(found.z)[1] != shape:
        raise Unsupported("products without a softmax between them")
    if not spec(weights.results[0])[0].is_float or spec(first.result)[1] != shape or len(shape) < 2:
        raise Unsupported("scores of another shape than the first product")
    inside = {*found.inside, weights}
    if any(isinstance(op, ReduceOp) and op not in inside for op in body.ops):
        raise Unsupported("reductions beside the softmax")
    for op in (first, last):
        accum = op.values()["accum_dtype"] or default_accumulator(spec(op.lhs)[0])
        if accum not in (F32, F64) or spec(op.lhs)[0].kind != accum.kind:
            raise Unsupported(f"products that accumulate in {accum}")
    q, k, v = (strided(value, body.inputs) for value in (first.lhs, first.rhs, last.rhs))
    if not q.dtype is k.dtype is v.dtype:
        raise Unsupported("queries, keys and values of different dtypes")
    return _Parts(body, first, found.z, last, q, k, v, _places(last, body))


def _places(last: DotGeneralOp, body: Body) -> tuple[int, ...]:
    """How far apart elements of the last product are in the result, which may be a transpose of it, and that reshaped."""
    value: SSAValue = last.result
    users = {v: o for o in body.ops for v in o.operands}
    perm = tuple(range(len(spec(value)[1])))
    if isinstance(turn := users.get(value), TransposeOp):
        perm, value = tuple(a % len(perm) for a in turn.values()["perm"]), turn.result
    steps = row_major(spec(value)[1])
    if isinstance(view := users.get(value), ReshapeOp):
        value = view.result
    if body.results != [value] or perm[-1] != len(perm) - 1:
        raise Unsupported("products with something after them")
    return tuple(steps[perm.index(a)] for a in range(len(perm)))


class _Attention:
    """One kernel on its way."""

    def __init__(self, parts: _Parts):
        self.parts, self.body = parts, parts.body
        self.writer = Writer(parts.body)
        shape = spec(parts.first.result)[1]
        self.batch, (self.rows, self.keys) = shape[:-2], shape[-2:]
        self.count = prod(self.batch)
        self.q = self._axes(parts.first, "lhs")
        self.k = self._axes(parts.first, "rhs")
        self.v = self._axes(parts.last, "rhs")
        n = len(self.batch)
        if self._axes(parts.last, "lhs") != (list(range(n)), n, n + 1):
            raise Unsupported("weights that are not taken row by row")
        self.depth, self.width = parts.q.shape[self.q[2]], parts.v.shape[self.v[1]]
        self.wide = F64 if parts.q.dtype is F64 else F32
        if 0 in (self.count, self.rows, self.keys, self.depth, self.width):
            raise Unsupported("an attention of nothing")
        self.scope = Scope(self.writer.source)
        self.scope.whole = None
        self.bounds = hidden_from(parts.scores, parts.first)

    def _axes(self, op: DotGeneralOp, side: str) -> tuple[list[int], int, int]:
        """The batch axes of an operand, the one that is left, and the contracted one."""
        values, rank = op.values(), len(spec(op.lhs if side == "lhs" else op.rhs)[1])
        batch = [a % rank for a in values[f"batch_{side}"]]
        contracted = [a % rank for a in values[f"contract_{side}"]]
        left = [a for a in range(rank) if a not in (*batch, *contracted)]
        if len(contracted) != 1 or len(left) != 1 or len(batch) != len(self.batch):
            raise Unsupported("products of other than matrices")
        return batch, left[0], contracted[0]

    def made(self) -> Kernel:
        """The kernel, in the form for its sizes."""
        if self.rows <= FEW_ROWS:
            return self._few()
        narrow = self.parts.q.dtype in NARROW and self.depth % 16 == 0 and self.width % 8 == 0
        if narrow and max(self.depth, self.width) <= 128:
            return self._tiles("attend_narrow", 64, 64 if max(self.depth, self.width) <= 64 else 32, STORED[self.parts.q.dtype])
        bytes = self.wide.size
        for tall, wide in _TILES:
            if (tall <= max(16, self.rows)) and bytes * self._elements(tall, wide) <= SHARED_BYTES - 1024:
                return self._tiles("attend", tall, wide, register(self.wide))
        raise Unsupported(f"an attention of depth {self.depth}")

    def _elements(self, tall: int, wide: int) -> int:
        """Elements of shared memory for a tile."""
        return (tall + wide) * (self.depth + 1) + wide * -(-self.width // 8) * 8 + tall * (wide + 1)

    def _tiles(self, function: str, tall: int, wide: int, first: str) -> Kernel:
        """Tiles of rows, those that look at the most keys first."""
        tiles = -(-self.rows // tall)
        types = f"{self.rows}, {self.keys}, {self.depth}, {self.width}, " + (
            f"{wide}, {first}" if function == "attend_narrow" else f"{tall}, {wide}, {first}"
        )
        lines = [
            f"const I z = b / {tiles};",
            f"const I top = ({tiles - 1} - b % {tiles}) * {tall};",
            *self._scored(),
            self._end(),
        ]
        operands, hidden = self._operands(), self._hidden()
        out = f"b0 + {self._batch('z')}, I({self.parts.places[-2]})"
        call = f"mind::{function}<{types}>({operands}, {out}, I(top), {hidden}, score, end);"
        total = tiles * self.count
        loop = [f"for (I b = blockIdx.x; b < {total}; b += gridDim.x) {{", *indented([*lines, *self.scope.lines, call]), "}"]
        return self.writer.kernel(loop, self.writer.launch(min(total, MOST_BLOCKS), 128))

    def _few(self) -> Kernel:
        """Some blocks for each row."""
        total = self.count * self.rows
        shares = max(1, min(-(-ENOUGH_BLOCKS // total), self.keys // LEAST_KEYS))
        held = 32 * -(-self.width // 8) * 8 * self.wide.size
        if total * shares > MOST_BLOCKS or held > SHARED_BYTES - 1024 or self.depth > 512:
            raise Unsupported(f"an attention of {total} rows one by one")
        wide = register(self.wide)
        lines = [f"const I row = blockIdx.x / {shares}, z = row / {self.rows}, r0 = row % {self.rows};", *self._scored()]
        types = f"{self.keys}, {self.depth}, {self.width}, {shares}, {wide}"
        parts = f"reinterpret_cast<{wide}*>(scratch) + row * {shares * (self.width + 2)}, counters + row"
        parts = parts if shares > 1 else f"({wide}*)0, (mind::ui32*)0"
        operands, share = self._operands(), f"int(blockIdx.x % {shares})"
        out = f"b0 + {self._batch('z')} + r0 * {self.parts.places[-2]}"
        call = f"mind::attend_one<{types}>({operands}, {out}, r0, {share}, {parts}, score);"
        scratch = self.wide.size * total * shares * (self.width + 2) if shares > 1 else 0
        launch = self.writer.launch(total * shares, 256, scratch, total if shares > 1 else 0)
        return self.writer.kernel([*lines, *self.scope.lines, call], launch)

    def _batch(self, index: str) -> str:
        """Where the matrix of an index over the batch is in the result."""
        at = cut(place((self.batch, index)), range(len(self.batch)), self.scope)
        terms = [f"{c.number} * {n}" for c, n in zip(at, self.parts.places, strict=False) if c.number != "0"]
        return " + ".join(terms) or "0"

    def _operands(self) -> str:
        """Queries, keys and values as matrices with rows of `depth` or `width`."""
        found: list[str] = []
        for operand, (batch, *axes) in ((self.parts.q, self.q), (self.parts.k, self.k), (self.parts.v, self.v)):
            down, right = axes if operand is not self.parts.v else reversed(axes)
            base = operand.base(self.writer.source, self.scope, batch, "z" if self.count > 1 else "0")
            type = STORED[operand.dtype]
            found.append(f"mind::Matrix<{type}, I>{{{base}, I({operand.stride(down)}), I({operand.stride(right)})}}")
        return ", ".join(found)

    def _scored(self) -> Sequence[str]:
        """The function from a product of a query and a key, in the accumulator, to its score."""
        scope, type = Scope(self.writer.source), register(self.wide)
        scope.whole = None
        rows, keys = ("r" if self.rows > 1 else "0"), ("c" if self.keys > 1 else "0")
        at = place((self.batch, "z"), ((self.rows,), rows), ((self.keys,), keys))
        dtype = spec(self.parts.first.result)[0]
        scope.names[self.parts.first.result, at] = "v0"
        (name,) = scope.values([(self.parts.scores, at)])
        head = f"const {register(dtype)} v0 = {cast('x', self.wide, dtype)};"
        tail = f"return {cast(name, spec(self.parts.scores)[0], self.wide)};"
        return [f"auto score = [&]({type} x, I r, I c) -> {type} {{", *indented([head, *scope.lines, tail]), "};"]

    def _end(self) -> str:
        """How many keys the rows up to one see at most."""
        if self.bounds is None:
            return f"auto end = [](I r) -> I {{ return {self.keys}; }};"
        past = self.bounds.past
        return f"auto end = [](I r) -> I {{ return r + {past} < {self.keys} ? r + {past} : {self.keys}; }};"

    def _hidden(self) -> str:
        return literal(self.wide, -float("inf") if self.bounds is None else self.bounds.hidden)


@dataclass(frozen=True)
class Bounds:
    """Row `r` sees keys below `r + past`; the others have a score near `hidden`."""

    past: int
    hidden: float


def hidden_from(scores: SSAValue, product: PtirOp) -> Bounds | None:
    """What a causal mask hides, if the scores have one: a selection by row and column that is a score or is added to it."""
    op = scores.owner
    for _ in range(8):
        if isinstance(op, SelectOp) and (found := _bounds(op)) is not None:
            return found
        if isinstance(op, CastOp):
            op = op.x.owner
        elif isinstance(op, AddOp):
            masks = [v.owner for v in op.operands if isinstance(v.owner, SelectOp) and _bounds(v.owner) is not None]
            if masks:
                return _bounds(masks[0])  # type: ignore[arg-type]
            op = op.lhs.owner if _leads_to(op.lhs, product) else op.rhs.owner
        else:
            return None
    return None


def _leads_to(value: SSAValue, product: PtirOp) -> bool:
    op = value.owner
    for _ in range(8):
        if op is product:
            return True
        if not isinstance(op, PtirOp) or not op.operands:
            return False
        op = op.operands[0].owner
    return False


def _bounds(op: SelectOp) -> Bounds | None:
    compare = op.pred.owner
    if not isinstance(compare, CompareOp):
        return None
    axes = [_counted(v) for v in compare.operands]
    if sorted(axes, key=str) != ["column", "row"]:
        return None
    kind = compare.values()["kind"]
    for number, shown in ((uniform(op.on_false), True), (uniform(op.on_true), False)):
        if isinstance(number, float) and number <= HIDDEN:
            pairs = [(1, 0), (1, 1), (0, 1)]  # row and column
            seen = [_holds(kind, *(pair if axes[0] == "row" else pair[::-1])) is shown for pair in pairs]
            if seen[0] and not seen[2]:
                return Bounds(1 if seen[1] else 0, number)
    return None


def _holds(kind: str, a: int, b: int) -> bool:
    return {
        "less": a < b,
        "less_equal": a <= b,
        "equal": a == b,
        "greater_equal": a >= b,
        "greater": a > b,
        "not_equal": a != b,
    }[kind]


def _counted(value: SSAValue) -> str | None:
    """Whether a value is the number of its row or of its column."""
    op = value.owner
    while isinstance(op, PtirOp) and op.OPCODE == "broadcast_to":
        op = op.operands[0].owner
    if not isinstance(op, IotaOp):
        return None
    shape, rank = spec(value)[1], len(spec(value)[1])
    own = spec(op.results[0])[1]
    axis = op.values()["axis"] % len(own) + rank - len(own)
    if own[axis - rank] != shape[axis]:
        return None
    return {rank - 2: "row", rank - 1: "column"}.get(axis)


def attention_kernel(block: Block) -> Kernel:
    """The kernel of the body of an attention; Unsupported says why there is none."""
    assert isinstance(block.last_op, YieldOp)
    return _Attention(_parts(block)).made()
