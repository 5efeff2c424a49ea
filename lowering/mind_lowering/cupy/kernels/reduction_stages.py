"""
The stages of kernels that reduce, one loop over the elements each: a softmax has the greatest first, then the sum, then the
results. Where rows or columns are too few for the machine several blocks share one, and the last of them to finish takes up what
all have left, always in one order: nothing depends on which block is faster, and no float is added atomically.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from mind_dialect.ptir import ReduceOp

from .body import Body, Reduction
from .folds import accumulator, check_total, combiner, result_of, start_of, total_bytes, total_type
from .indexing import IndexingCheck, IndexingWalk, Known
from .kernel import CudaKernel, KernelWriter, Schedule, indented, store
from .maps import Key
from .places import Dims, Place, place, reshaped, spec
from .scalars import register
from .scope import KernelSource, Scope, kept_line
from .unsupported import Unsupported

ENOUGH_BLOCKS = 256
"""Fewer than so many leave the machine idle: rows and columns are shared by several blocks then."""


class ReductionSchedule(Schedule):
    """A kernel of reductions over the same axes, and perhaps of others over the remaining axes."""

    ROW: str
    """The name of the index over the results of a reduction."""
    leader: str
    """The condition under which a thread writes the values of a row."""

    def __init__(self, body: Body, shape: Dims, axes: Sequence[int], columns: Sequence[ReduceOp] = ()):
        self.body, self.shape, self.axes, self.columns = body, shape, axes, columns
        self.reductions = [op for op in body.reductions if op not in columns]
        self.count = prod(shape[a] for a in axes)
        self.rows = prod(shape) // self.count
        self.row_index = self.ROW if self.rows > 1 else "0"
        self.below: list[int] = []
        """The outputs that depend on reductions over the remaining axes."""
        dependent = _dependent(body, columns)
        computed = [v for v in body.results if v not in dependent]
        reduced = [op.results[0] for op in self.reductions]
        self.stages = max(body.stage[v] for v in (*computed, *reduced, *(op.x for op in columns))) + 1
        self.whole: list[list[int]] = [[] for _ in range(self.stages)]
        """The outputs that have every element, by stage."""
        self.small: list[int] = []
        """The outputs that have one element per row."""
        for number, value in enumerate(body.results):
            size = prod(spec(value)[1])
            if value in dependent:
                self.below.append(number)
            elif size == prod(shape) and (self.count > 1 or body.stage[value] == 0):
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
        return [(op, f"sum{i}") for i, op in enumerate(self.reductions) if self.body.stage[op.x] == stage]

    def running(self, stage: int) -> list[tuple[Reduction, str]]:
        """The reductions over the remaining axes whose operands are known at a stage, with the variables of their totals."""
        return [(op, self.running_total(i)) for i, op in enumerate(self.columns) if self.body.stage[op.x] == stage]

    def running_total(self, number: int) -> str:
        """The variable in which a thread has the total of one of its elements over the rows that it has seen."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise Unsupported unless each stage can compute what it needs."""
        for op in self.body.reductions:
            if isinstance(op, ReduceOp):
                check_total(op.values()["kind"], accumulator(op))
        known, kept = Known(self.body, row=self.row_index), set[Key]()
        for stage in range(self.stages):
            check, sums = IndexingCheck(known, kept), [op for op, _ in self.sums(stage)]
            at = self.place(check)
            reduced = [op.x for op in (*sums, *(op for op, _ in self.running(stage)))]
            values: list[SSAValue] = [*(self.body.results[n] for n in self.whole[stage]), *reduced]
            check.values([(v, reshaped(at, spec(v)[1], check)) for v in values])
            kept |= {key for key in check.names if self.keeps and key[1] == at}
            known.finished |= dict.fromkeys([op.results[0] for op in sums], "")
        IndexingCheck(known).values(at_row([self.body.results[n] for n in self.small], self.row_index))

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
            sums, running = self.sums(stage), self.running(stage)
            if not (sums or running or self.whole[stage]):
                continue
            for op, total in sums:
                lines.append(f"{total_type(op)} {total} = {start_of(op)};")
            scope = Scope(self.writer.source, self.kept, keeps=self.keeps)
            lines += self.loop(scope, self.whole[stage], [*sums, *running])
            self.scopes.append(scope)
            self.kept |= scope.keeping
            lines += self._finished(sums)
        if self.small:
            lines += [f"if ({self.leader}) {{", *indented(self.written(self.writer.source, self.small)), "}"]
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

    def written(self, source: KernelSource, outputs: Sequence[int]) -> list[str]:
        """The outputs that have one element per row of a source, by number, at the index over its rows."""
        scope = Scope(source)
        scope.whole = None
        values = [self.body.results[n] for n in outputs]
        names = scope.values(at_row(values, source.row))
        writes = [store(self.writer.outputs[n], source.row, v, x) for n, v, x in zip(outputs, values, names, strict=True)]
        return [*scope.lines, *writes]

    def _with_kept(self, lines: list[str]) -> list[str]:
        """Arrays for the values that are read again, then the lines, without those that keep other values."""
        used = {name: spec(value)[0] for scope in self.scopes for (value, _), name in scope.reused.items()}
        idle = {kept_line(name) for name in self.kept.values() if name not in used}
        arrays = [f"{register(dtype)} {name}_[{self.slots}];" for name, dtype in used.items()]
        return [*arrays, *(line for line in lines if line.strip() not in idle)]

    slots = 0
    """The number of elements of a row in each thread."""


def at_row(values: Sequence[SSAValue], row: str) -> list[Key]:
    """Return values that have one element per row, at the place of a row."""
    return [(v, place((spec(v)[1], row))) for v in values]


def _dependent(body: Body, reductions: Sequence[ReduceOp]) -> set[SSAValue]:
    """Return the results of some reductions, and what is computed of them."""
    found: set[SSAValue] = {op.results[0] for op in reductions}
    for op in body.ops:
        if not found.isdisjoint(op.operands):
            found.update(op.results)
    return found
