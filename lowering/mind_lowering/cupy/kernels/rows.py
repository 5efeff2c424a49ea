"""Kernels of rows: some lanes of a warp, a warp or a block for each row, whose last axes are reduced."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from mind_dialect.ptir import ReduceOp

from .body import Body, Reduction
from .indexing import WHOLE, IndexingWalk
from .kernel import MOST_BLOCKS, THREADS, CudaKernel, indented, vector_width
from .places import Dims, Place, place
from .reduction_stages import ENOUGH_BLOCKS, ReductionSchedule
from .scope import Scope

KEPT = 32
"""So many elements of a row at most stay in the registers of a thread, so that they are read and computed once."""
RESIDENT = 1024
"""Threads that are resident at least where ptxas would take few registers and spill others: 64 registers each."""
LEAST_SHARE = 4096
"""Elements that a block has at least before it shares a row with others."""


class RowSchedule(ReductionSchedule):
    """Some lanes of a warp per row, or a warp, or a block."""

    ROW = "r"

    def __init__(self, body: Body, shape: Dims, axes: Sequence[int], columns: Sequence[ReduceOp] = ()):
        super().__init__(body, shape, axes, columns)
        width = vector_width(body, prod(shape))
        self.width = width if self.count % width == 0 or self.rows == 1 else 1
        self.team = self.least_team()
        self.block = max(128, self.team)
        if self.one_stage and not columns and self.rows < ENOUGH_BLOCKS and self.count >= 2 * LEAST_SHARE:
            self.team = self.block = THREADS
            self.shares = min(-(-self.count // LEAST_SHARE), -(-ENOUGH_BLOCKS // self.rows))
        self.slots = self.slots_of(self.team)
        self.keeps = self.stages > 1 and self.shares == 1 and self.slots <= KEPT
        per_block = self.block // self.team
        self.uneven = self.shares == 1 and self.rows % per_block != 0
        self.leader = "t == 0 && r < " + str(self.rows) if self.uneven else "t == 0"
        self.is_narrow = self.shares == 1 and not self.keeps and self.rows < ENOUGH_BLOCKS and self.count >= 2 * LEAST_SHARE
        self.check()

    def least_team(self) -> int:
        """The number of threads that share a row."""
        return next(team for team, most in TEAMS if self.count <= most)

    def slots_of(self, team: int) -> int:
        """The number of elements of a row in each thread of a team."""
        return -(-self.count // (team * self.width)) * self.width

    def kernel(self) -> CudaKernel:
        block, rows, shares = self.block, self.rows, self.shares
        if shares > 1:
            row = [f"const I r = blockIdx.x / {shares};", f"const int share = blockIdx.x % {shares};", *self.row()]
            lines = [self.thread(), *row]
            return self.writer.kernel(lines, self.writer.launch(rows * shares, block, self.scratch, counters=rows))
        blocks = min(-(-rows // (block // self.team)), MOST_BLOCKS)
        launch = self.writer.launch(blocks, block)
        return self.writer.kernel([self.thread(), *self.each_row()], launch, threads=RESIDENT if launch.fails else 0)

    def thread(self) -> str:
        """The statement that gives the number of a thread in its team."""
        return f"const int t = threadIdx.x % {self.team};" if self.team < self.block else "const int t = threadIdx.x;"

    def each_row(self, blocks: str = "I(gridDim.x)") -> list[str]:
        """The loop of a team over its rows, given the number of blocks."""
        per_block = self.block // self.team
        row = f"const I r = base + threadIdx.x / {self.team};" if per_block > 1 else "const I r = base;"
        loop = f"for (I base = I(blockIdx.x) * {per_block}; base < {self.rows}; base += {blocks} * {per_block}) {{"
        return [loop, *indented([row, *self.row()]), "}"]

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
        end = "" if count % width == 0 else f"I({count})"  # of a single row
        lines = self.writer.elements(scope, self.place(scope), head, outputs, sums, (width, start, end), guard, column)
        if self.keeps or self.columns:
            lines = self.each_slot(lines)
        else:
            first = _times(f"I(share) * {team} + t" if self.shares > 1 else "t", width)
            step = team * width * self.shares
            lines = [f"for (I first = {first}; first < {count}; first += {step}) {{", *indented(lines), "}"]
        return [f"if (r < {self.rows}) {{", *indented(lines), "}"] if self.uneven else lines

    def each_slot(self, lines: Sequence[str]) -> list[str]:
        """The loop over the elements of a row that stay in a thread, `width` at a time, from `first` on."""
        first = f"const I first = {_times(f'I(k) * {self.team} + t', self.width)};"
        if self.count % (self.team * self.width):
            lines = [f"if (first < {self.count}) {{", *indented(lines), "}"]
        steps = f"for (int k = 0; k < {self.slots // self.width}; ++k) {{"
        return ["#pragma unroll", steps, *indented([first, *lines]), "}"]

    def together(self, kind: str, total: str, start: str) -> str:
        return f"mind::all<{kind}, {self.team}>({total}, {start})"

    def parts(self, kind: str, total: str, pointer: str) -> tuple[str, str]:
        at = f"{pointer}[r * {self.shares} + "
        taken = f"for (int p = t; p < {self.shares}; p += {self.team}) {total} = {kind}::of({total}, {at}p]);"
        return f"if (t == 0) {at}share] = {total};", taken


TEAMS = (
    *((team, 8 * team) for team in (1, 2, 4, 8, 16)),
    *((team, 16 * team) for team in (32, 128, 256, 512)),
    (1024, 1 << 63),
)
"""The number of threads that share a row, and the most elements of such a row."""


def _times(text: str, width: int) -> str:
    return text if width == 1 else f"I({text}) * {width}"
