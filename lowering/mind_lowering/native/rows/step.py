"""
Row kernels: fusions with several reductions over the same rows: softmax, a layer norm, a cross entropy with its gradient.

`body` finds what is to be done, `loops` writes it; here it is a pattern and a step. Sums over the rows, such as the
gradients of a layer norm's parameters, are partial sums of each unit of work in memory, which a group of its own adds up.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import field, replace
from functools import cached_property
from math import prod

from xdsl.ir import Block, SSAValue

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import FusionOp, PtirOp, ReduceOp
from mind_dialect.ptir.types import Kind, PtirDType, tensor_type
from mind_passes.ptir.building import accumulator

from ...launch.kernel_patterns import Match, Rejection
from ...launch.ref import row_major
from .. import costs
from ..groups import Group, layout
from ..memory import Access, buffers_of
from ..nest import Axis, axes_of, lane_axis
from ..nontemporal import LEAST, passing
from ..patterns import Builder, Operands, moving
from ..steps import NativeStep
from ..target_info import LINE, TargetInfo
from ..views import Buffer, Use, View, whole
from .body import Unfit, anywhere, computed_in, plan_rows
from .plan import REGISTERS, RowPlan, Value, kept_size

SCRATCH = 256 << 10
"""Bytes that a kernel keeps of a row, at most: they are on the stack of its thread."""
COPIES = 512 << 10
"""Bytes that it keeps where the inputs are among them, at most; and no more than the cache of the second level."""
NEAR = 1
"""Of how many caches of the first level a strip is read where it is, at most."""
LINES = 2
"""Lines of one place of the rows of a strip, at least, where inputs are kept: neighbours come from memory together."""
CACHES = 1
"""Of how many caches of the second level a row may be, at most."""
VECTORS = 4
"""Vectors of neighbouring rows that are worked on at a time, where lanes run from row to row; fewer with fewer registers."""
WIDE = 256
"""Bytes of one place of the rows of a strip, at most, where lanes run from row to row."""
STRIPS = 64
"""So many strips at least, if rows are worked on in several groups."""
FEW = 1 << 16
"""Elements that one thread may as well do alone."""
FEW_ROWS = 8
"""Rows below which a kernel of more elements is better shared out in another way."""
UNIT, SUMMED_UNIT = 10_000, 40_000
"""About how many nanoseconds a unit of work is; longer where each leaves partial sums behind."""
UNITS = 16
"""So many units at least, if they are not very small."""


@dataclass
class RowStep(NativeStep):
    """One row kernel; `partial` has the memory of partial sums over the rows, a row for each unit of work."""

    name: str
    plan: RowPlan
    per_unit: int
    partial: list[Buffer] = field(default_factory=list[Buffer])

    @cached_property
    def views(self) -> Sequence[View]:
        """Every view in the shape of all rows: inputs, outputs, partial sums."""
        return [*self.plan.inputs, *(v for _, _, v in self.plan.outputs), *(_as_row(b, self.plan) for b in self.partial)]

    @property
    def addresses(self) -> Sequence[View]:
        return [v for v in self.views if isinstance(v.base, Buffer)]

    @property
    def sources(self) -> Sequence[PtirOp]:
        return [v.op for v in self.plan.values if v.op is not None]

    def access(self) -> Access:
        reads = buffers_of(self.plan.inputs)
        writes = buffers_of(v for _, _, v in self.plan.outputs)
        return Access(reads, [*writes, *self.partial], self._over())

    def cost(self, host: TargetInfo) -> float:
        return _cost(self.plan, host)

    def contents(self) -> str:
        codes = [v.op.OPCODE for v in self.plan.values if v.op is not None] + [op.OPCODE for op, _ in self.plan.columns]
        shape = ", ".join(f"{n}" if a in self.plan.axes else f"{n} rows" for a, n in enumerate(self.plan.shape))
        return f"{' '.join(codes)} over [{shape}]"

    def key(self) -> Hashable:
        plan, numbers = self.plan, dict[Value, int]()
        parts: list[Hashable] = [plan.shape, plan.axes, self.per_unit]
        for value in plan.inputs.values():
            numbers[value] = len(numbers)
        for value in plan.values:
            assert value.op is not None
            operands = tuple([numbers[v] for v in value.operands])
            parts.append((type(value.op), operands, frozenset(value.op.properties.items()), value.dtype, value.is_thin))
            numbers[value] = len(numbers)
        parts.append(tuple([numbers[v] for _, v, _ in plan.outputs]))
        parts += [(numbers[v], frozenset(op.properties.items()), accumulator(op)) for op, v in plan.columns]
        return tuple([*parts, *(layout(v) for v in self.views), tuple(self.past())])

    def past(self, cache: int = LEAST) -> list[bool]:
        """Return which results are written by non-temporal stores, as `passing` does."""
        return passing(list(self.plan.inputs), [v for _, _, v in self.plan.outputs], cache)

    def _over(self) -> list[tuple[Buffer, Buffer]]:
        """Return pairs of a result of the last pass and the operand that it may be put over, which is read place by place."""
        found: list[tuple[Buffer, Buffer]] = []
        for _, value, target in self.plan.outputs:
            if value.is_thin or value.stage < self.plan.stages - 1:
                continue
            for view in self.plan.inputs:
                if not isinstance(view.base, Buffer) or not isinstance(target.base, Buffer):
                    continue
                alike = all(v.is_whole and v.shape == self.plan.shape for v in self.views if v.base is view.base)
                if alike and view.dtype.size == value.dtype.size:
                    found.append((target.base, view.base))
        return found


@dataclass(frozen=True)
class Layout:
    """Layout of the lanes of a row kernel: along an axis of a row or, in `groups` of `vectors` of `width`, from row to row."""

    axes: Sequence[Axis]
    along: int
    width: int
    vectors: int = 0
    groups: int = 1
    keeps: bool = True
    """True if values are kept for later passes, False if they are rematerialized."""
    copies: bool = False
    """True if inputs that several passes read are kept too: later passes read memory that is contiguous and in a cache."""

    @staticmethod
    def of(plan: RowPlan, views: Sequence[View], host: TargetInfo) -> Layout:
        """Return the layout that costs least."""
        axes = axes_of(plan.shape, plan.axes, [v.strides for v in views])
        width = host.lanes(max(_register_bytes(d) for d in computed_in(plan)))
        along = lane_axis(axes, width)
        assert along is not None, "a row has two elements or more"
        width = min(width, 1 << (axes[along].extent - 1).bit_length())
        if axes[along].reduced:
            return Layout(axes, along, width)
        most = max(1, VECTORS * host.registers // REGISTERS)
        vectors = min(most, -(-axes[along].extent // width))
        layout = Layout(axes, along, width, vectors)
        layout = replace(layout, keeps=layout.scratch(plan) * layout.strip <= SCRATCH)
        layout = replace(layout, groups=layout.most_groups(plan, host))
        return layout._copying(plan, host) or layout

    def _copying(self, plan: RowPlan, host: TargetInfo) -> Layout | None:
        """Return a layout that copies the inputs; None where they are near anyway, or where copies of two lines fit no cache."""
        if not plan.read_again or self.footprint(plan) <= NEAR * host.l1_bytes:
            return None
        size = max(_register_bytes(d) for d in computed_in(plan))
        for vectors in range(self.vectors, 0, -1):
            layout = replace(self, vectors=vectors, groups=1, keeps=True, copies=True)
            limits = [WIDE // (layout.strip * size), self.axes[self.along].extent // layout.strip, layout.count(plan) // UNITS]
            groups = min(*limits, min(COPIES, host.l2_bytes) // layout.footprint(plan))
            if groups * layout.strip * size >= max(1, LINES * LINE):
                return replace(layout, groups=groups)
        return None

    def most_groups(self, plan: RowPlan, host: TargetInfo) -> int:
        """Return the number of groups of a strip: wide ones read more of each page, if they stay in the caches and suffice."""
        size = max(_register_bytes(d) for d in computed_in(plan))
        limits = [WIDE // (self.strip * size), self.axes[self.along].extent // self.strip, self.count(plan) // STRIPS]
        limits += [host.l2_bytes // 2 // max(1, self.footprint(plan)), SCRATCH // max(1, self.scratch(plan) * self.strip)]
        return max(1, min(limits)) if self.keeps else 1

    def kept(self, plan: RowPlan) -> dict[Value, int]:
        """Return the values that are kept for later passes, each with the pass that keeps it."""
        return {**(plan.kept if self.keeps else {}), **(plan.read_again if self.copies else {})}

    def scratch(self, plan: RowPlan) -> int:
        """Return the bytes of a row that is kept."""
        return plan.length * sum(kept_size(room[0]) for room in plan.rooms(self.kept(plan)))

    @property
    def strip(self) -> int:
        """Return the number of rows that are worked on at a time."""
        return max(1, self.width * self.vectors * self.groups)

    def count(self, plan: RowPlan) -> int:
        """Return the number of strips of rows."""
        extent = self.axes[self.along].extent
        return plan.rows // extent * -(-extent // self.strip) if self.vectors else plan.rows

    def footprint(self, plan: RowPlan) -> int:
        """Return the bytes of a strip that stay in the caches between passes: all that is read, kept and written, or copies."""
        return (self.scratch(plan) + (0 if self.copies else plan.moved)) * self.strip


def _register_bytes(dtype: PtirDType) -> int:
    return 4 if dtype.kind is Kind.FLOAT and dtype.size < 4 else dtype.size


def plan_of(block: Block, host: TargetInfo, place: Callable[[SSAValue], View] = anywhere) -> RowPlan:
    """Return the plan of a fusion's body as a row kernel; raise `Unfit` if it is none, or had better not be one."""
    plan = plan_rows(block, host, place)
    if plan.is_group:
        return plan
    layout = Layout.of(plan, [*plan.inputs, *(v for _, _, v in plan.outputs)], host)
    if layout.vectors and plan.columns:
        raise Unfit("sums over rows whose elements are not contiguous")
    if not layout.vectors and plan.scratch > SCRATCH:
        raise Unfit(f"rows of {plan.scratch} bytes that are kept")
    if layout.footprint(plan) > CACHES * host.l2_bytes:
        raise Unfit(f"rows of {layout.footprint(plan)} bytes")
    if layout.count(plan) < FEW_ROWS and prod(plan.shape) > FEW:
        raise Unfit(f"{plan.rows} rows of {plan.length} elements")
    return plan


def is_row_kernel(fusion: FusionOp, host: TargetInfo) -> bool:
    """Return whether a fusion is a row kernel, wherever its operands are, or the beginning of one."""
    try:
        plan_of(fusion.body.block, host)
    except Unfit:
        return False
    return True


def match_rows(op: FusionOp, operands: Operands, host: TargetInfo) -> Match | Rejection:
    """Match a fusion that is a row kernel where its operands are."""
    block = op.body.block
    places = operands.body(block, op.operands)
    if len(places) < len(block.args):
        return Rejection("an operand is not computed, because products read its source")
    try:
        plan = plan_of(block, host, places.__getitem__)
    except Unfit as reason:
        return Rejection(str(reason))
    if plan.is_group:
        return Rejection("an elementwise group is equivalent")
    return Match(moving([*op.operands, *op.results]), plan)


def expand_rows(build: Builder, op: FusionOp, match: Match) -> None:
    """Append a fusion as a row kernel, and what adds up its sums over the rows."""
    plan: RowPlan = match.schedule
    named = next((v.name_hint for v in reversed(op.results) if v.name_hint), None)
    chosen = Layout.of(plan, [*plan.inputs, *(v for _, _, v in plan.outputs)], build.host)
    step = RowStep(f"{named or 'rows'}.rows", plan, _per_unit(plan, chosen.count(plan), build.host))
    units = -(-plan.rows // step.per_unit)
    for reduction, _ in plan.columns:
        name = f"{reduction.result.name_hint or 'sum'}.partial"
        step.partial.append(build.buffer(Use.ARENA, accumulator(reduction), units * plan.length, name))
    build.add(step)
    build.views.update(plan.views)
    for (reduction, _), buffer in zip(plan.columns, step.partial, strict=True):
        _fold(build, reduction, whole(buffer, (units, plan.length)))


def _fold(build: Builder, op: ReduceOp, partial: View) -> None:
    """Append the sum of the partial sums of a reduction over rows."""
    dtype = accumulator(op)
    block = Block(arg_types=[tensor_type(dtype, partial.shape)])
    kind = op.values()["kind"]
    made = ReduceOp(block.args[0], kind=kind, axes=(0,), keepdims=False, accum_dtype=dtype, out_dtype=op.result_spec().dtype)
    made.result.name_hint = op.result.name_hint
    block.add_op(made)
    build.keep.append(block)
    target = build.target(op.result)
    group = Group(f"{op.result.name_hint or 'sum'}.fold", partial.shape, {made.x: partial})
    group.reductions.append((made, whole(build.buffer_of(target), partial.shape[1:])))
    build.add(group)


def _as_row(buffer: Buffer, plan: RowPlan) -> View:
    """A row of partial sums in the shape of all rows: the same for each."""
    inner = iter(row_major([plan.shape[a] for a in plan.axes]))
    strides = tuple(next(inner) if a in plan.axes else 0 for a in range(len(plan.shape)))
    return View(buffer, buffer.dtype, plan.shape, strides)


def _cost(plan: RowPlan, host: TargetInfo) -> float:
    """About how many nanoseconds it takes."""
    ops = [v.op for stage in range(plan.stages) for v in plan.needed(stage) if v.op is not None]
    views = [*plan.inputs, *(v for _, _, v in plan.outputs)]
    return costs.elementwise(host, plan.shape, ops + [op for op, _ in plan.columns] * 3, views)


def _per_unit(plan: RowPlan, count: int, host: TargetInfo) -> int:
    """Return the number of rows, or strips of rows, of one unit of work."""
    most = int((SUMMED_UNIT if plan.columns else UNIT) * count / _cost(plan, host))
    return max(1, min(most, max(-(-count // UNITS), most // 8)))
