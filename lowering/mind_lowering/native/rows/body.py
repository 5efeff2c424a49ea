"""
The body of a fusion as a row kernel: which axes are rows, which values are one number per row, what each stage computes.

A body fits if its reductions are over the same axes of one shape, and every value is either of that shape or one per row, read at
its own place. Reductions over all other axes may end it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.ir import Block, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr, PtirOp, ReduceOp, YieldOp
from mind_dialect.ptir.types import I1, Kind, PtirDType, known_extents, read_type
from mind_passes.ptir.building import accumulator, axes_of_reduction

from ...launch.views import VIEWS, Ints
from ..grouping import is_lookup, unsupported, why_not
from ..target_info import TargetInfo
from ..views import Buffer, Indices, Use, View, broadcast, filled, indices, viewed, whole
from .plan import Counting, RowPlan, Value, extremes

MOST_OPS = 256
"""Ops of one kernel, at most."""


class Unfit(Exception):
    """A fusion is no row kernel, for the reason in the message."""


def plan_rows(block: Block, host: TargetInfo, place: Callable[[SSAValue], View]) -> RowPlan:
    """Return the plan of a fusion's body as a row kernel, given where its arguments are; raise `Unfit` if it is none."""
    return _Planning(block, host, place).run()


def anywhere(argument: SSAValue) -> View:
    """A place for an argument, where it is not known yet."""
    shape = _shape(argument)
    return whole(Buffer(Use.INPUT, 0, read_type(argument.type).dtype, prod(shape)), shape)


class _Planning:
    """One body on its way."""

    def __init__(self, block: Block, host: TargetInfo, place: Callable[[SSAValue], View]):
        self.block, self.host, self.place = block, host, place
        self.views: dict[SSAValue, View] = {}
        self.made: dict[Buffer, Value] = {}
        """The values that are computed, by the memory that they would have."""
        self.ops = [op for op in block.ops if isinstance(op, PtirOp) and not isinstance(op, YieldOp)]
        if len(self.ops) > MOST_OPS:
            raise Unfit(f"{len(self.ops)} ops")
        self.plan = self._domain()
        self.thin_shapes = (
            tuple(1 if a in self.plan.axes else n for a, n in enumerate(self.plan.shape)),
            tuple(n for a, n in enumerate(self.plan.shape) if a not in self.plan.axes),
        )

        own = (self.plan.shape, self.thin_shapes[0])
        self.moves = [_moves(broadcast(whole(Buffer(Use.ARENA, 0, I1, 0), shape), self.plan.shape)) for shape in own]
        """The strides that matter of what is computed, full and thin."""

    def _domain(self) -> RowPlan:
        """The shape and the axes of the rows."""
        reductions = [op for op in self.ops if isinstance(op, ReduceOp)]
        shapes = dict.fromkeys(_shape(op.operands[0]) for op in reductions)
        if len(shapes) != 1:
            raise Unfit("sums over several shapes" if shapes else "no sum")
        (shape,) = shapes
        inner = [op for op in reductions if any(not isinstance(u.operation, YieldOp) for u in op.result.uses)]
        along = [op for op in reductions if len(shape) - 1 in axes_of_reduction(op)]
        axes = dict.fromkeys(axes_of_reduction(op) for op in inner or along or reductions)
        if len(axes) != 1:
            raise Unfit("sums over several axes")
        plan = RowPlan(shape, next(iter(axes)))
        others = tuple(a for a in range(len(shape)) if a not in plan.axes)
        for op in reductions:
            if axes_of_reduction(op) != plan.axes and (op in inner or axes_of_reduction(op) != others or plan.rows == 1):
                raise Unfit("sums over several axes")
        if plan.length < 2 or plan.rows < 1:
            raise Unfit("rows of no more than one element")
        return plan

    def run(self) -> RowPlan:
        """The plan."""
        plan = self.plan
        for argument in self.block.args:
            self.views[argument] = self.place(argument)
        for op in self.ops:
            self._add(op)
        ending = self.block.last_op
        assert isinstance(ending, YieldOp), "verified"
        totals = {op.result for op, _ in plan.columns}
        written: dict[Buffer, None] = {}
        for value in ending.operands:
            if value in totals:
                continue
            view = self.views[value]
            if not isinstance(view.base, Buffer) or view.base not in self.made:
                raise Unfit("a result that is not computed")
            plan.views[value] = view
            written.setdefault(view.base)
        plan.values = self._live([self.made[b] for b in written])
        for buffer in written:
            value = self.made[buffer]
            target = whole(buffer, self.thin_shapes[0] if value.is_thin else plan.shape)
            named = next((v for v, view in plan.views.items() if view.base is buffer), None)
            assert named is not None
            plan.outputs.append((named, value, broadcast(target, plan.shape)))
        return plan

    def _live(self, written: Sequence[Value]) -> list[Value]:
        """Return the values that results need, in order."""
        live = {*written, *(v for _, v in self.plan.columns)}
        for value in reversed(self.plan.values):
            if value in live:
                live.update(value.operands)
        self.plan.inputs = {view: v for view, v in self.plan.inputs.items() if v in live}
        return [v for v in self.plan.values if v in live]

    def _add(self, op: PtirOp) -> None:
        """One op more."""
        result = op.results[0]
        if isinstance(op, ptir.ConstantOp):
            literal = op.literal
            if (not literal.is_fill and prod(_shape(result)) != 1) or read_type(result.type).dtype.kind is Kind.COMPLEX:
                raise Unfit("a constant of several numbers")
            number = PtirLiteralAttr.from_values(literal.spec[0], (), (literal.item(),))
            self.views[result] = filled(number, _shape(result))
        elif isinstance(op, ptir.IotaOp):
            self.views[result] = indices(read_type(result.type).dtype, _shape(result), op.values()["axis"])
        elif type(op) in VIEWS:
            found = viewed(self.views[op.operands[0]], op)
            if found is None:
                raise Unfit(f"{op.OPCODE} of an operand whose elements are not in order")
            self.views[result] = found
        elif isinstance(op, ptir.GatherOp):
            self._pick(op)
        elif is_lookup(op):
            raise Unfit("what is looked up")
        elif (reason := why_not(op, self.host)) is not None:
            raise Unfit(reason)
        elif isinstance(op, ReduceOp):
            self._reduce(op)
        else:
            self._compute(op)

    def _reduce(self, op: ReduceOp) -> None:
        x = self._operand(op.x, self.plan.shape)
        if axes_of_reduction(op) != self.plan.axes:
            if x.is_total:
                raise Unfit("a sum over the rows of what the pass over a row ends with")
            self.plan.columns.append((op, x))
            return
        value = Value(read_type(op.result.type).dtype, True, x.stage, op, [x])
        if x.is_thin:
            raise Unfit("a sum of one repeated number")
        self._made(op.result, value)

    def _pick(self, op: ptir.GatherOp) -> None:
        """One element of each row of an operand, at an index for the row."""
        shape, thin = self.plan.shape, self.thin_shapes[0]
        if self.plan.axes != (op.values()["axis"] % len(_shape(op.x)),) or (_shape(op.x), _shape(op.indices)) != (shape, thin):
            raise Unfit("a gather of several elements of a row, or along other axes")
        index, row = self._operand(op.indices, thin), self._operand(op.x, shape)
        if reason := unsupported([index.dtype, row.dtype], self.host):
            raise Unfit(reason)
        if row.is_thin or row.view is None or not isinstance(row.view.base, Buffer):
            raise Unfit("a gather from a computed value")
        self._made(op.result, Value(row.dtype, True, index.stage + index.is_total, op, [index, row]))

    def _compute(self, op: PtirOp) -> None:
        shape = _shape(op.results[0])
        if shape != self.plan.shape and shape not in self.thin_shapes:
            raise Unfit(f"{op.OPCODE} over {list(shape)}")
        operands = [self._operand(v, shape) for v in op.operands]
        is_thin = all(v.is_thin for v in operands)
        if shape != self.plan.shape and not is_thin:
            raise Unfit(f"{op.OPCODE} over {list(shape)} of an operand that is not one number for each row")
        stage = max((v.stage + v.is_total for v in operands), default=0)
        value = Value(read_type(op.results[0].type).dtype, is_thin, stage, op, operands)
        value.counting = None if is_thin else _counting(op, operands)
        self._made(op.results[0], value)

    def _made(self, result: SSAValue, value: Value) -> None:
        shape = _shape(result)
        own = self.thin_shapes[0] if value.is_thin and shape == self.plan.shape else shape
        buffer = Buffer(Use.ARENA, 0, value.dtype, prod(own), result.name_hint or "")
        value.hint = result.name_hint or ""
        self.views[result] = broadcast(whole(buffer, own), shape)
        self.made[buffer] = value
        self.plan.values.append(value)

    def _operand(self, operand: SSAValue, shape: Ints) -> Value:
        """An operand of an op over `shape`."""
        view = self.views[operand]
        if view.shape != shape:
            raise Unfit("operands of several shapes")
        view = self._in_rows(view)
        if isinstance(view.base, Buffer) and view.base in self.made:
            value = self.made[view.base]
            if _moves(view) != self.moves[value.is_thin] or view.offset:
                raise Unfit("a value that is read at other indices than its own")
            return value
        if view not in self.plan.inputs:
            is_thin = not _varies(view, self.plan.axes)
            self.plan.inputs[view] = Value(view.dtype, is_thin, view=view, hint=operand.name_hint or "")
        return self.plan.inputs[view]

    def _in_rows(self, view: View) -> View:
        """A view of one of the shapes in that of all rows."""
        if view.lookups:
            raise Unfit("what is looked up")
        if view.shape == self.plan.shape:
            return view
        left = list(view.strides)
        keepdims = len(view.shape) == len(self.plan.shape)
        strides = [0 if a in self.plan.axes and not keepdims else left.pop(0) for a in range(len(self.plan.shape))]
        strides = [0 if a in self.plan.axes else s for a, s in enumerate(strides)]
        return View(view.base, view.dtype, self.plan.shape, tuple(strides), view.offset)


def _moves(view: View) -> Ints:
    """The strides that matter."""
    return tuple(0 if n == 1 else s for n, s in zip(view.shape, view.strides, strict=True))


def _varies(view: View, axes: Ints) -> bool:
    return any(view.strides[a] for a in axes if view.shape[a] > 1)


def _counting(op: PtirOp, operands: Sequence[Value]) -> Counting | None:
    """Return the count that a comparison is, if it compares places of a row with one integer for the row."""
    for counter, other in (operands, operands[::-1]) if isinstance(op, ptir.CompareOp) else ():
        view, dtype = counter.view, counter.dtype
        if view is None or not isinstance(view.base, Indices) or counter.is_thin or not other.is_thin:
            continue
        if dtype.kind not in (Kind.SIGNED, Kind.UNSIGNED):
            continue
        signed = dtype.kind is Kind.SIGNED
        low, high = extremes(view)
        limit = 1 << min(31, dtype.bits - signed)
        if low > (-limit if signed else -1) and high < limit - 1:
            return Counting(counter, other, low, high)
    return None


def computed_in(plan: RowPlan) -> list[PtirDType]:
    """The dtypes that vectors hold; of what counts places 32 bits are enough."""
    found = [accumulator(v.op) for v in plan.values if isinstance(v.op, ReduceOp)] + [accumulator(op) for op, _ in plan.columns]
    found += [value.dtype for value in _in_vectors(plan)]
    return found


def _in_vectors(plan: RowPlan) -> list[Value]:
    """The values that are in vectors, those of which all lanes are the same included."""
    found = {v: None for _, v, _ in plan.outputs if not v.is_thin} | {v: None for _, v in plan.columns}
    for value in plan.values:
        if not value.is_thin:
            found[value] = None
        if value.is_total or not (value.is_thin or value.counting):
            found |= dict.fromkeys(value.operands)
    return list(found)


def _shape(value: SSAValue) -> Ints:
    found = known_extents(value.type)
    if len(found) != len(read_type(value.type).shape):
        raise Unfit("a dimension without a size")
    return found
