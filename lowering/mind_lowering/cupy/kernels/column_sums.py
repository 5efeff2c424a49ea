"""
Kernels of rows that are reduced over the rows, column by column: a layer norm's gradient with those of its weights, or an
activation's with that of a bias.

Each block loops over several rows, with the totals of its columns in registers, and leaves them in scratch. The last block of
a group combines those of the group, and the last of these those of all groups: in the same order, whichever block is faster. It
also computes what follows the totals of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isqrt, prod

from xdsl.ir import SSAValue

from mind_dialect.ptir import ReduceOp

from .body import Body
from .folds import combiner, result_of, start_of, total_bytes, total_type
from .indexing import IndexingCheck, Known
from .kernel import MOST_BLOCKS, CudaKernel, indented
from .places import Dims, spec
from .reduction_stages import ENOUGH_BLOCKS, at_row
from .rows import TEAMS, RowSchedule
from .scalars import register
from .unsupported import Unsupported

RESIDENT = 96 << 10
"""So many threads share the rows at most: what a large card has room for, because each block leaves a row of totals."""
LEAST_ROWS = 4
"""A team has so many rows at least: what it leaves is little against what it reads."""
MOST_RUNNING = 32
"""So many totals at most stay in the registers of a thread."""
LEAST_RUNNING = 4
"""A row has as many threads as if so many totals of each column were kept at least: other values of the row are kept too."""

UNROLLED = 4
"""So many rows are read at once where nothing in a row depends on its other elements."""


class RowAndColumnSchedule(RowSchedule):
    """Rows, with totals of columns in the registers of the threads that have these columns in each row."""

    COLUMN = "q"

    def __init__(self, body: Body, shape: Dims, axes: Sequence[int], columns: Sequence[ReduceOp]):
        if len(columns) < len(body.reductions) and not _share_rows(body, shape, columns):
            raise Unsupported("sums over rows of columns of other arrays")
        super().__init__(body, shape, axes, columns)
        per_block = self.block // self.team
        if any(prod(spec(body.results[n])[1]) != self.count for n in self.below):
            raise Unsupported("a result of sums over rows that is not one per column")
        if self.small and self.rows == self.count:  # they could be written over an operand that is read with columns, later
            raise Unsupported("as many results of rows as of columns")
        most = min(max(ENOUGH_BLOCKS, RESIDENT // self.block), self.rows // (LEAST_ROWS * per_block))
        if most < ENOUGH_BLOCKS:
            raise Unsupported("columns of few rows that are reduced too")
        loops = -(-self.rows // (per_block * most))
        self.blocks = min(-(-self.rows // (per_block * loops)), MOST_BLOCKS)
        self.group = isqrt(self.blocks - 1) + 1
        self.is_narrow = False
        finished: dict[SSAValue, str] = dict.fromkeys([op.results[0] for op in columns], "")
        below = [body.results[n] for n in self.below]
        IndexingCheck(Known(body, finished=finished, row=self.COLUMN)).values(at_row(below, self.COLUMN))

    def least_team(self) -> int:
        kept = max(LEAST_RUNNING, len(self.columns))
        found = [team for team, _ in TEAMS if self.slots_of(team) * kept <= MOST_RUNNING]
        if not found or self.count == 1:
            raise Unsupported("sums over rows of more columns than stay in registers")
        return found[0]

    def running_total(self, number: int) -> str:
        return f"column{number}[k][{'j' if self.width > 1 else '0'}]"

    def kernel(self) -> CudaKernel:
        rows, pointers = self.each_row(str(self.blocks)), list[str]()
        if not self.reductions:  # no barriers: a thread waits for several rows at once
            rows = [f"#pragma unroll {UNROLLED}", *rows]
        for i, op in enumerate(self.columns):
            pointers.append(f"{total_type(op)}* parts{i} = reinterpret_cast<{total_type(op)}*>(scratch + {self.scratch});")
            self.scratch += -(-total_bytes(op) * self.count * self.blocks // 256) * 256
        totals = [f"{total_type(op)} column{i}[{self.slots // self.width}][{self.width}];" for i, op in enumerate(self.columns)]
        lines = [self.thread(), *totals, *self._start(), *rows, *self._of_teams(), *pointers, *self._of_blocks(), *self._below()]
        groups = -(-self.blocks // self.group)
        return self.writer.kernel(lines, self.writer.launch(self.blocks, self.block, self.scratch, groups + 1))

    def _each_total(self, text: Callable[[int, ReduceOp], str]) -> list[str]:
        """A statement for each total of a thread, `column0[k][j]` and so on."""
        lines = [f"column{i}[k][j] = {text(i, op)};" for i, op in enumerate(self.columns)]
        inner = ["#pragma unroll", f"for (int j = 0; j < {self.width}; ++j) {{", *indented(lines), "}"]
        return ["#pragma unroll", f"for (int k = 0; k < {self.slots // self.width}; ++k) {{", *indented(inner), "}"]

    def _start(self) -> list[str]:
        return self._each_total(lambda i, op: start_of(op))

    def _of_teams(self) -> list[str]:
        """Combine the totals of the teams of a block, which have rows of their own."""
        teams = self.block // self.team
        if teams == 1:
            return []
        return self._each_total(lambda i, op: f"mind::across<{combiner(op)}, {teams}, {self.team}>(column{i}[k][j])")

    def _of_blocks(self) -> list[str]:
        """Combine the totals of all blocks, in the last one; a thread has the same columns throughout."""
        blocks, group = self.blocks, self.group
        groups = -(-blocks // group)
        first = [
            f"const int group = blockIdx.x / {group};",
            f"const int members = group < {groups - 1} ? {group} : {blocks - (groups - 1) * group};",
        ]
        return [
            *self._left("I(blockIdx.x)"),
            *first,
            "if (!mind::is_last(counters + group, mind::ui32(members))) return;",
            *self._taken(f"I(group) * {group}", f"I(group) * {group} + members", 1),
            *self._left(f"I(group) * {group}"),
            f"if (!mind::is_last(counters + {groups}, {groups}u)) return;",
            *self._taken("0", str(blocks), group),
            *self._left("0"),
        ]

    def _left(self, place: str) -> list[str]:
        """Leave totals at a place among those of all blocks."""
        count, width = self.count, self.width
        at = f"+ ({place}) * {count}" if place != "0" else "+ 0"
        stores = [f"mind::store<{width}>(parts{i} {at}, column{i}[k], first);" for i in range(len(self.columns))]
        return self._by_team(self.each_slot(stores))

    def _taken(self, start: str, end: str, step: int) -> list[str]:
        """Combine the totals at some places."""
        lines: list[str] = []
        for i, op in enumerate(self.columns):
            lines += [
                f"{total_type(op)} part{i}[{self.width}];",
                f"mind::load<{self.width}>(part{i}, parts{i} + p * {self.count}, first);",
                "#pragma unroll",
                f"for (int j = 0; j < {self.width}; ++j) column{i}[k][j] = {combiner(op)}::of(column{i}[k][j], part{i}[j]);",
            ]
        loop = f"for (I p = {start}; p < {end}; p += {step}) {{"
        return [*self._start(), *self._by_team(["#pragma unroll 4", loop, *indented(self.each_slot(lines)), "}"])]

    def _by_team(self, lines: Sequence[str]) -> list[str]:
        """Let the first team of a block run some statements."""
        return list(lines) if self.team == self.block else [f"if (threadIdx.x < {self.team}) {{", *indented(lines), "}"]

    def _below(self) -> list[str]:
        """Compute what depends on the totals, in the last block."""
        column, finished, totals = self.COLUMN, dict[SSAValue, str](), list[str]()
        for i, op in enumerate(self.columns):
            result = op.results[0]
            name = finished[result] = self.writer.source.fresh("r")
            totals.append(f"const {register(spec(result)[0])} {name} = {result_of(op, f'parts{i}[{column}]')};")
        source = replace(self.writer.source, finished=finished, row=column)
        loop = f"for (I {column} = threadIdx.x; {column} < {self.count}; {column} += {self.block}) {{"
        return ["__syncthreads();", loop, *indented([*totals, *self.written(source, self.below)]), "}"]


def _share_rows(body: Body, shape: Dims, columns: Sequence[ReduceOp]) -> bool:
    """Return whether each reduction over rows reads an array, a value for each element, that the rest of a body reads too."""
    arrays: dict[SSAValue, frozenset[SSAValue]] = {v: frozenset([v] if spec(v)[1] == shape else []) for v in body.inputs}
    nothing: frozenset[SSAValue] = frozenset()
    for op in body.ops:
        arrays[op.results[0]] = nothing.union(*(arrays[v] for v in op.operands))
    rest = nothing.union(*(arrays[op.x] for op in body.reductions if op not in columns))
    return all(not rest.isdisjoint(arrays[op.x]) for op in columns)
