"""
Kernels that reduce: a team of threads per row where the last axes are reduced, else neighbouring threads for columns.

All reductions of a kernel go over the same axes of the same shape. They happen in stages, one loop over the elements each: a
softmax has the greatest first, then the sum, then the results. A row that fits in registers is read and computed once. Where
rows or columns are too few for the machine several blocks share one, and the last of them to finish takes up what all have left,
always in one order: nothing depends on which block is faster, and no float is added atomically.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from math import prod

from xdsl.ir import Block, SSAValue

from mind_dialect.ptir import PtirOp, ReduceOp

from .body import Body, Reduction, reduced_axes
from .folds import accumulator, check_total, combiner, result_of, start_of, total_bytes, total_type
from .indexing import WHOLE, IndexingCheck, IndexingWalk, Known
from .kernel import MOST_BLOCKS, THREADS, CudaKernel, KernelWriter, Schedule, indented, store, vector_width
from .maps import Key
from .places import Chunk, Dims, Place, linear, place, reshaped, spec
from .scalars import register
from .scope import Scope, kept_line
from .unsupported import Unsupported

KEPT = 32
"""So many elements of a row at most stay in the registers of a thread."""
ENOUGH_BLOCKS = 256
"""Fewer than so many leave the machine idle: rows and columns are shared by several blocks then."""
LEAST_SHARE = 4096
"""Elements that a block has at least before it shares a row with others."""


def reduction_schedule(op: PtirOp, block: Block) -> Schedule:
    """The schedule of a body with reductions."""
    body = Body(block)
    body.check_size()
    first = body.reductions[0]
    shape, axes = spec(first.x)[1], reduced_axes(first)
    if any((spec(op.x)[1], reduced_axes(op)) != (shape, axes) for op in body.reductions):
        raise Unsupported("reductions of different shapes or axes")
    if prod(shape) == 0:
        raise Unsupported("a reduction of nothing, or to nothing")
    trailing = axes == tuple(range(len(shape) - len(axes), len(shape)))
    return (_Rows if trailing else _Columns)(body, shape, axes)


class _Reduction(Schedule):
    """A kernel of reductions over the same axes."""

    ROW: str
    """The name of the index over what is kept."""
    leader: str
    """The condition under which a thread writes the values of a row."""

    def __init__(self, body: Body, shape: Dims, axes: Sequence[int]):
        self.body, self.shape, self.axes = body, shape, axes
        self.count = prod(shape[a] for a in axes)
        self.rows = prod(shape) // self.count
        self.row_index = self.ROW if self.rows > 1 else "0"
        self.stages = max(body.stage[v] for v in (*body.results, *(op.results[0] for op in body.reductions))) + 1
        self.whole: list[list[int]] = [[] for _ in range(self.stages)]
        """The outputs that have every element, by stage."""
        self.small: list[int] = []
        """The outputs that have one element per row."""
        for number, value in enumerate(body.results):
            size = prod(spec(value)[1])
            if size == prod(shape) and (self.count > 1 or body.stage[value] == 0):
                self.whole[body.stage[value]].append(number)
            elif size == self.rows:
                self.small.append(number)
            else:
                raise Unsupported("a result that is neither whole nor one per row")
        self.shares = 1
        """The number of blocks that share a row, or a tile of columns."""
        self.keeps = False
        """True if the values of a row stay in registers."""

    @property
    def one_stage(self) -> bool:
        """Return whether everything that has all elements is done in the loop that reduces."""
        return self.stages == 2 and not self.whole[1]

    def sums(self, stage: int) -> list[tuple[Reduction, str]]:
        """The reductions of a stage, with the variables of their totals."""
        return [(op, f"sum{i}") for i, op in enumerate(self.body.reductions) if self.body.stage[op.x] == stage]

    def check(self) -> None:
        """Raise Unsupported unless each stage can compute what it needs."""
        for op in self.body.reductions:
            if isinstance(op, ReduceOp):
                check_total(op.values()["kind"], accumulator(op))
        known, kept = Known(self.body, row=self.row_index), set[Key]()
        for stage in range(self.stages):
            check, sums = IndexingCheck(known, kept), [op for op, _ in self.sums(stage)]
            at = self.place(check)
            values: list[SSAValue] = [*(self.body.results[n] for n in self.whole[stage]), *(op.x for op in sums)]
            check.values([(v, reshaped(at, spec(v)[1], check)) for v in values])
            kept |= {key for key in check.names if self.keeps and key[1] == at}
            known.finished |= dict.fromkeys([op.results[0] for op in sums], "")
        IndexingCheck(known).values(self._in_row())

    def emit(self) -> CudaKernel:
        self.writer = KernelWriter(self.body)
        self.writer.source.row = self.row_index
        self.kept: dict[Key, str] = {}
        self.scopes: list[Scope] = []
        self.scratch = 0
        return self.kernel()

    # What the two kinds differ in

    @abstractmethod
    def kernel(self) -> CudaKernel:
        """The kernel around its rows."""

    @abstractmethod
    def place(self, names: IndexingWalk) -> Place:
        """The place of an element of a row, in the loop."""

    @abstractmethod
    def loop(self, scope: Scope, outputs: Sequence[int], sums: Sequence[tuple[Reduction, str]]) -> list[str]:
        """The loop over a thread's elements of a row."""

    @abstractmethod
    def together(self, kind: str, total: str, start: str) -> str:
        """Combine what each thread of a row has into what all have."""

    @abstractmethod
    def parts(self, kind: str, total: str, pointer: str) -> tuple[str, str]:
        """Emit, for blocks that share rows, what leaves a block's total at a pointer, and what takes up those of all blocks."""

    # What they have in common

    def row(self) -> list[str]:
        """The statements for one row, its index being there."""
        lines: list[str] = []
        for stage in range(self.stages):
            sums = self.sums(stage)
            if not sums and not self.whole[stage]:
                continue
            for op, total in sums:
                lines.append(f"{total_type(op)} {total} = {start_of(op)};")
            scope = Scope(self.writer.source, self.kept, keeps=self.keeps)
            lines += self.loop(scope, self.whole[stage], sums)
            self.scopes.append(scope)
            self.kept |= scope.keeping
            lines += self._finished(sums)
        if self.small:
            lines += [f"if ({self.leader}) {{", *indented(self._small()), "}"]
        return self._with_kept(lines)

    def _finished(self, sums: Sequence[tuple[Reduction, str]]) -> list[str]:
        """The totals of a stage over all threads and blocks, in registers."""
        lines: list[str] = []
        last: list[str] = []
        for op, total in sums:
            kind, start = combiner(op), start_of(op)
            lines.append(f"{total} = {self.together(kind, total, start)};")
            if self.shares > 1:
                pointer, type = f"part{total.removeprefix('sum')}", total_type(op)
                lines.append(f"{type}* {pointer} = reinterpret_cast<{type}*>(scratch + {self.scratch});")
                self.scratch += -(-total_bytes(op) * self.rows * self.shares // 256) * 256
                left, taken = self.parts(kind, total, pointer)
                lines.append(left)
                last += [f"{total} = {start};", taken, f"{total} = {self.together(kind, total, start)};"]
        if self.shares > 1 and sums:
            lines += [f"if (!mind::is_last(counters + blockIdx.x / {self.shares}, {self.shares}u)) return;", *last]
        for op, total in sums:
            result = op.results[0]
            name = self.writer.source.finished[result] = self.writer.source.fresh("r")
            dtype = spec(result)[0]
            lines.append(f"const {register(dtype)} {name} = {result_of(op, total)};")
        return lines

    def _small(self) -> list[str]:
        """The results that there is one of per row."""
        scope = Scope(self.writer.source)
        scope.whole = None
        row = self.writer.source.row
        names = scope.values(roots := self._in_row())
        writes = [store(self.writer.outputs[n], row, v, x) for n, (v, _), x in zip(self.small, roots, names, strict=True)]
        return [*scope.lines, *writes]

    def _in_row(self) -> list[Key]:
        """The results that there is one of per row, at the place of the row."""
        return [(v, place((spec(v)[1], self.row_index))) for v in (self.body.results[n] for n in self.small)]

    def _with_kept(self, lines: list[str]) -> list[str]:
        """Arrays for what is kept and used again, then the lines, without those that keep what is not."""
        used = {name: spec(value)[0] for scope in self.scopes for (value, _), name in scope.reused.items()}
        idle = {kept_line(name) for name in self.kept.values() if name not in used}
        arrays = [f"{register(dtype)} {name}_[{self.slots}];" for name, dtype in used.items()]
        return [*arrays, *(line for line in lines if line.strip() not in idle)]

    slots = 0
    """The number of elements of a row in each thread."""


class _Rows(_Reduction):
    """Some lanes of a warp per row, or a warp, or a block."""

    ROW = "r"

    def __init__(self, body: Body, shape: Dims, axes: Sequence[int]):
        super().__init__(body, shape, axes)
        width = vector_width(body, prod(shape))
        self.width = width if self.count % width == 0 or self.rows == 1 else 1
        self.team = next(team for team, most in _TEAMS if self.count <= most)
        self.block = max(128, self.team)
        if self.one_stage and self.rows < ENOUGH_BLOCKS and self.count >= 2 * LEAST_SHARE:
            self.team = self.block = THREADS
            self.shares = min(-(-self.count // LEAST_SHARE), -(-ENOUGH_BLOCKS // self.rows))
        self.slots = -(-self.count // (self.team * self.width)) * self.width
        self.keeps = self.stages > 1 and self.shares == 1 and self.slots <= KEPT
        per_block = self.block // self.team
        self.uneven = self.shares == 1 and self.rows % per_block != 0
        self.leader = "t == 0 && r < " + str(self.rows) if self.uneven else "t == 0"
        self.is_narrow = self.shares == 1 and not self.keeps and self.rows < ENOUGH_BLOCKS and self.count >= 2 * LEAST_SHARE
        self.check()

    def kernel(self) -> CudaKernel:
        block, team, rows, shares = self.block, self.team, self.rows, self.shares
        per_block = block // team
        lines = [f"const int t = threadIdx.x % {team};" if team < block else "const int t = threadIdx.x;"]
        inner = self.row()
        if shares > 1:
            lines += [f"const I r = blockIdx.x / {shares};", f"const int share = blockIdx.x % {shares};", *inner]
            return self.writer.kernel(lines, self.writer.launch(rows * shares, block, self.scratch, counters=rows))
        row = f"const I r = base + threadIdx.x / {team};" if per_block > 1 else "const I r = base;"
        loop = f"for (I base = I(blockIdx.x) * {per_block}; base < {rows}; base += I(gridDim.x) * {per_block}) {{"
        lines += [loop, *indented([row, *inner]), "}"]
        return self.writer.kernel(lines, self.writer.launch(min(-(-rows // per_block), MOST_BLOCKS), block))

    def place(self, names: IndexingWalk) -> Place:
        column = "c" if self.rows > 1 else WHOLE
        if self.rows > 1:
            names.texts[f"r * {self.count} + c"] = WHOLE
        return place((self.shape[: -len(self.axes)], "r"), (self.shape[-len(self.axes) :], column))

    def loop(self, scope: Scope, outputs: Sequence[int], sums: Sequence[tuple[Reduction, str]]) -> list[str]:
        count, width, team = self.count, self.width, self.team
        column = "c" if self.rows > 1 else WHOLE
        head = [f"const I {column} = first + j;" if width > 1 else f"const I {column} = first;"]
        if self.rows > 1:
            head.append(f"const I {WHOLE} = r * {count} + c;")
        if self.keeps:
            head.append(f"const int slot = k * {width} + j;" if width > 1 else "const int slot = k;")
        start = f"r * {count} + first" if self.rows > 1 else "first"
        guard = f"{column} < {count}" if count % width else None
        end = f"I(r * {count} + {count})" if self.rows > 1 else f"I({count})"
        lines = self.writer.elements(scope, self.place(scope), head, outputs, sums, (width, start, end), guard, column)
        if self.keeps:
            first = f"const I first = {_times(f'I(k) * {team} + t', width)};"
            if count % (team * width):
                lines = [f"if (first < {count}) {{", *indented(lines), "}"]
            steps = f"for (int k = 0; k < {self.slots // width}; ++k) {{"
            lines = ["#pragma unroll", steps, *indented([first, *lines]), "}"]
        else:
            first = _times(f"I(share) * {team} + t" if self.shares > 1 else "t", width)
            step = team * width * self.shares
            lines = [f"for (I first = {first}; first < {count}; first += {step}) {{", *indented(lines), "}"]
        return [f"if (r < {self.rows}) {{", *indented(lines), "}"] if self.uneven else lines

    def together(self, kind: str, total: str, start: str) -> str:
        return f"mind::all<{kind}, {self.team}>({total}, {start})"

    def parts(self, kind: str, total: str, pointer: str) -> tuple[str, str]:
        at = f"{pointer}[r * {self.shares} + "
        taken = f"for (int p = t; p < {self.shares}; p += {self.team}) {total} = {kind}::of({total}, {at}p]);"
        return f"if (t == 0) {at}share] = {total};", taken


_TEAMS = (
    *((team, 8 * team) for team in (1, 2, 4, 8, 16)),
    *((team, 16 * team) for team in (32, 128, 256, 512)),
    (1024, 1 << 63),
)
"""The number of threads that share a row, and the most elements of such a row."""


class _Columns(_Reduction):
    """A warp for 32 neighbouring columns, `WARPS` warps for as many parts of what is reduced."""

    ROW = "q"
    WARPS = THREADS // 32

    def __init__(self, body: Body, shape: Dims, axes: Sequence[int]):
        super().__init__(body, shape, axes)
        self.tiles = -(-self.rows // 32)
        if self.one_stage and self.tiles < ENOUGH_BLOCKS:
            self.shares = max(1, min(-(-ENOUGH_BLOCKS // self.tiles), self.count // (8 * self.WARPS)))
        if self.tiles * self.shares >= 1 << 31:
            raise Unsupported("more columns than a grid has blocks for")
        self.inside = f"q < {self.rows}" if self.rows % 32 else "true"
        self.leader = f"w == 0 && {self.inside}"
        self.is_narrow = not self.one_stage and self.tiles < ENOUGH_BLOCKS and self.count > 8 * self.WARPS
        self.check()

    def kernel(self) -> CudaKernel:
        shares = self.shares
        lines = ["const int w = threadIdx.x / 32;"]
        tile = f"blockIdx.x / {shares}" if shares > 1 else "blockIdx.x"
        lines += [f"const I q = I({tile}) * 32 + threadIdx.x % 32;"]
        lines += [f"const int share = blockIdx.x % {shares};"] if shares > 1 else []
        lines += self.row()
        counters = self.tiles if shares > 1 else 0
        return self.writer.kernel(lines, self.writer.launch(self.tiles * shares, THREADS, self.scratch, counters))

    def loop(self, scope: Scope, outputs: Sequence[int], sums: Sequence[tuple[Reduction, str]]) -> list[str]:
        lines = self.writer.elements(scope, self.place(scope), [], outputs, sums, along="t")
        first = f"I(share) * {self.WARPS} + w" if self.shares > 1 else "w"
        loop = f"for (I t = {first}; t < {self.count}; t += {self.WARPS * self.shares}) {{"
        lines = [loop, *indented(lines), "}"]
        return lines if self.inside == "true" else [f"if ({self.inside}) {{", *indented(lines), "}"]

    def place(self, names: IndexingWalk) -> Place:
        """The place of element `t` of column `q`; together the indices of the kept axes are `q` again."""
        runs: list[tuple[bool, Dims]] = []
        for axis, n in enumerate(self.shape):
            reduced = axis in self.axes
            if runs and runs[-1][0] == reduced:
                runs[-1] = (reduced, (*runs[-1][1], n))
            else:
                runs.append((reduced, (n,)))
        chunks = [Chunk(dims, _part(names, runs, number)) for number, (_, dims) in enumerate(runs)]
        kept = tuple(chunk for chunk, (reduced, _) in zip(chunks, runs, strict=True) if not reduced)
        self._alias(names, kept)
        return place(*chunks)

    def _alias(self, names: IndexingWalk, kept: Sequence[Chunk]) -> None:
        """Let the index over all kept axes be `q` wherever it is put together again."""
        real = [chunk for chunk in kept if prod(chunk.dims) != 1]
        if len(real) > 1:
            head = linear(place(*real[:-1]), names)
            names.texts[f"{head} * {prod(real[-1].dims)} + {real[-1].number}"] = "q"

    def together(self, kind: str, total: str, start: str) -> str:
        return f"mind::across<{kind}, {self.WARPS}>({total})"

    def parts(self, kind: str, total: str, pointer: str) -> tuple[str, str]:
        condition = f"if ({self.inside}) " if self.inside != "true" else ""
        loop = f"for (int p = w; p < {self.shares}; p += {self.WARPS})"
        taken = f"{condition}{loop} {total} = {kind}::of({total}, {pointer}[I(p) * {self.rows} + q]);"
        return f"if ({self.leader}) {pointer}[I(share) * {self.rows} + q] = {total};", taken


def _times(text: str, width: int) -> str:
    return text if width == 1 else f"I({text}) * {width}"


def _part(names: IndexingWalk, runs: Sequence[tuple[bool, Dims]], number: int) -> str:
    """The index of one run of axes, from that over all kept or all reduced ones."""
    reduced, dims = runs[number]
    after = prod(prod(d) for r, d in runs[number + 1 :] if r == reduced)
    before = prod(prod(d) for r, d in runs[:number] if r == reduced)
    text = "t" if reduced else "q"
    if prod(dims) == 1:
        return "0"
    if after != 1:
        text = names.index(f"{text} / {after}")
    return text if before == 1 else names.index(f"{text} % {prod(dims)}")
