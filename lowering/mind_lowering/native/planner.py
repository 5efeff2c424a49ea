"""
Which kernels run in which order, on what memory: one walk over the ops of a function.

Views cost nothing. A fusion is one group; an op alone is a group of one; what no native kernel runs is a step of its own, a small
function of PTIR that the runtime hands to the NumPy target. Nothing falls back without a note that says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr, PtirOp
from mind_dialect.ptir.types import BF16, F16, I1, UI16, PtirDType, read_type

from .attention import add_attention
from .control import NoKernel, random_ops
from .convolutions.fusion import add_fused_convolution
from .elementwise import EMITTERS
from .flow import Branch, Loop
from .groups import Group
from .kernels import FALLBACK, KERNELS, product_block, why_not
from .lowered import Foreign
from .memory import Access
from .partials import cut_up
from .prepack import Ahead, Once
from .products.deferred import Deferred, defer
from .products.fusion import add_fused_product
from .rows.step import add_rows
from .steps import NativeStep
from .target_info import TargetInfo
from .views import Buffer, Use, View, whole

Step = NativeStep | Foreign | Loop | Branch


@dataclass
class Planner:
    """The steps of a function so far, and where each value is."""

    host: TargetInfo
    views: dict[SSAValue, View] = field(default_factory=dict[SSAValue, View])
    steps: list[Step] = field(default_factory=list[Step])
    access: list[Access] = field(default_factory=list[Access])
    constants: list[tuple[Buffer, PtirLiteralAttr]] = field(default_factory=list[tuple[Buffer, PtirLiteralAttr]])
    counts: dict[Use, int] = field(default_factory=dict[Use, int])
    keep: list[Block] = field(default_factory=list[Block])
    """Blocks that hold ops made here."""
    deferred: dict[SSAValue, Deferred] = field(default_factory=dict[SSAValue, Deferred])
    """Values that are not computed, because products alone read them and widen them in registers."""
    draws: int = 0
    drawn: bool = False
    """Whether native code draws random numbers."""
    depth: int = 0
    """In how many regions of branches and loops the next step is."""
    loops: list[Ahead] = field(default_factory=list[Ahead])
    """Those that it is in, with what is done before them."""
    once: Once = field(default_factory=Once)
    kept: int = 0
    """Bytes of memory that stay while loops run, or from call to call."""

    # Values

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        """The extents of a value, which are all known."""
        return tuple(n for n in read_type(value.type).shape if isinstance(n, int))

    def buffer(self, use: Use, dtype: PtirDType, count: int, name: str) -> Buffer:
        """New memory."""
        index = self.counts.get(use, 0)
        self.counts[use] = index + 1
        return Buffer(use, index, dtype, count, name)

    def new(self, use: Use, value: SSAValue) -> View:
        """New memory for a value."""
        dtype, shape = read_type(value.type).dtype, self.shape(value)
        count = 1
        for n in shape:
            count *= n
        return whole(self.buffer(use, dtype, count, value.name_hint or ""), shape)

    def target(self, value: SSAValue) -> View:
        """Memory in the arena for a value, which is from now on there."""
        self.views[value] = made = self.new(Use.ARENA, value)
        return made

    def constant(self, literal: PtirLiteralAttr, value: SSAValue) -> Buffer:
        """Memory that holds a constant before any call."""
        dtype, shape = literal.spec
        count = 1
        for n in shape:
            count *= n
        made = self.buffer(Use.CONSTANT, dtype, count, value.name_hint or "constant")
        self.constants.append((made, literal))
        return made

    def view(self, value: SSAValue) -> View:
        """Where a value is."""
        return self.views[value]

    def buffer_of(self, view: View) -> Buffer:
        """The memory of a view that has some."""
        assert isinstance(view.base, Buffer)
        return view.base

    # Steps

    def append(self, step: Loop | Branch, access: Sequence[Access]) -> None:
        """Append steps in steps, whose accesses are in the order of their run."""
        self.steps.append(step)
        self.access += access

    def add(self, step: NativeStep) -> None:
        """Append a native kernel, or several where one would be too few to share."""
        for part in cut_up(self, step) if isinstance(step, Group) else [step]:
            self.steps.append(part)
            self.access.append(part.access())

    def copy(self, value: SSAValue, source: View, target: View, origin: PtirOp | None = None) -> None:
        """Append a copy of a value from one place to another, bit by bit; `origin` is the op whose indices are looked up."""
        if source.dtype in (F16, BF16) and isinstance(source.base, Buffer):  # which would be widened and narrowed again
            source, target = replace(source, dtype=UI16), replace(target, dtype=UI16)
        name = f"{value.name_hint}.copy" if value.name_hint else "copy"
        self.add(
            Group(name, source.shape, {value: source}, outputs=[(value, target)], origin=() if origin is None else (origin,))
        )

    def copied(self, value: SSAValue, source: View) -> View:
        """A value in memory of its own, in row-major order."""
        target = self.new(Use.ARENA, value)
        self.copy(value, source, target)
        return target

    def group(self, ops: Sequence[PtirOp], results: Sequence[SSAValue]) -> str | None:
        """Append ops as one group with some results; a reason if it cannot be."""
        if reason := next((r for op in ops if (r := why_not(op, self.host)) is not None), None):
            return reason
        made = {r for op in ops for r in op.results}
        inner = [op for op in ops if not isinstance(op, ptir.ReduceOp)]
        group = Group(_name(ops, results), _group_shape(self, ops[0]), ops=list(inner))
        for op in ops:
            for value in op.operands:
                if value not in made:
                    group.inputs[value] = self.view(value)
        for value in results:
            if isinstance(value.owner, ptir.ReduceOp):
                group.reductions.append((value.owner, self.target(value)))
            else:
                group.outputs.append((value, self.target(value)))
        self.add(group)
        return None

    def reduction(self, op: ptir.ReduceOp, source: View, result: SSAValue) -> None:
        """Append one reduction of a view, whose result stands for another value."""
        group = Group(_name([op], [result]), source.shape, {op.x: source})
        group.reductions.append((op, self.target(result)))
        self.add(group)

    def product(
        self, op: ptir.DotGeneralOp, shape: tuple[int, ...], lhs: View, rhs: View, contracted: int, total: PtirDType
    ) -> None:
        """Append a product as a group; `lhs` and `rhs` are spread over all axes, the contracted ones last."""
        block, ops = product_block(op, shape, contracted, total)
        self.keep.append(block)
        (*inner, last) = ops
        assert isinstance(last, ptir.ReduceOp)
        members = [o for o in inner if isinstance(o, PtirOp)]
        group = Group(_name([op], op.results), shape, dict(zip(block.args, (lhs, rhs), strict=True)), members)
        if contracted:
            group.reductions.append((last, self.target(op.result)))
        else:
            cast = ptir.CastOp(members[-1].results[0], dtype=op.result_spec().dtype)
            block.add_op(cast)
            group.ops.append(cast)
            group.outputs.append((cast.result, self.target(op.result)))
        self.add(group)

    def foreign(self, op: PtirOp, reason: str) -> None:
        """Append an op that NumPy runs; in a region, none is."""
        if self.depth:
            raise NoKernel(f"in it {shown(op)}: {reason}")
        outputs: list[Buffer] = []
        inputs = [self.views[v] if isinstance(self.views[v].base, Buffer) else self.copied(v, self.views[v]) for v in op.operands]
        for value in op.results:
            self.views[value] = made = self.new(Use.FOREIGN, value)
            outputs.append(self.buffer_of(made))
        self.steps.append(Foreign(_outlined(op), op, inputs, outputs, self.draws, reason))
        self.access.append(Access([self.buffer_of(v) for v in inputs], outputs))
        self.draws += random_ops(op)

    def step(self, op: PtirOp) -> None:
        """Append what an op is."""
        if defer(self, op):
            return
        row = KERNELS.get(type(op))
        reason = FALLBACK[type(op)] if row is None else row(self, op)
        if reason is not None:
            self.foreign(op, reason)

    # Fusions

    def fusion(self, op: ptir.FusionOp) -> str | None:
        """
        The body of a fusion: what is a view is one, a product has what follows as its epilogue, the rest is one group.

        A body that was not made by fusing may need several groups: one ends where its results are read in another shape.
        """
        block = op.body.block
        ending = block.last_op
        assert ending is not None, "verified"
        members = [inner for inner in block.ops if _is_member(inner)]
        if reason := next((r for inner in members if isinstance(inner, PtirOp) and (r := why_not(inner, self.host))), None):
            return reason
        for argument, value in zip(block.args, op.operands, strict=True):
            if value not in self.deferred:
                self.views[argument] = self.views[value]
        if not any(add(self, op) for add in (add_attention, add_fused_product, add_fused_convolution, add_rows)):
            self.separate(op)
        for value, yielded in zip(op.results, ending.operands, strict=True):
            self.views[value] = self.views[yielded]
        return None

    def separate(self, op: ptir.FusionOp) -> None:
        """Append the body of a fusion as views, kernels of their own, and groups."""
        pending: dict[Operation, PtirOp] = {}
        for inner in op.body.block.ops:
            if not isinstance(inner, PtirOp) or isinstance(inner, ptir.YieldOp):
                continue
            if _must_wait(inner, pending, self):
                self.flush(pending)
            if _is_member(inner):
                pending[inner] = inner
            else:
                self.step(inner)
        self.flush(pending)

    def flush(self, pending: dict[Operation, PtirOp]) -> None:
        """Append the pending ops as a group."""
        if pending:
            results = [r for op in pending.values() for r in op.results if any(use.operation not in pending for use in r.uses)]
            reason = self.group(list(pending.values()), results)
            assert reason is None, "asked before"
        pending.clear()


def _is_member(op: Operation) -> bool:
    """Whether an op of a fusion is computed in its group; the others are views, or kernels of their own."""
    return isinstance(op, ptir.ReduceOp) or type(op) in EMITTERS


def _must_wait(op: PtirOp, pending: dict[Operation, PtirOp], planner: Planner) -> bool:
    """Whether an op cannot be in the pending group, and needs it, or ends it."""
    if not pending:
        return False
    if not _is_member(op):
        return any(v.owner in pending for v in op.operands)
    first = next(iter(pending.values()))
    if _group_shape(planner, op) != _group_shape(planner, first):
        return True
    if isinstance(op, ptir.ReduceOp):  # all that are pending are over the same axes
        other = next((p for p in pending.values() if isinstance(p, ptir.ReduceOp)), op)
        if other.values()["axes"] != op.values()["axes"]:
            return True
    return any(isinstance(v.owner, ptir.ReduceOp) and v.owner in pending for v in op.operands)


def _group_shape(planner: Planner, op: PtirOp) -> tuple[int, ...]:
    return planner.shape(op.operands[0] if isinstance(op, ptir.ReduceOp) else op.results[0])


def _name(ops: Sequence[PtirOp], results: Sequence[SSAValue]) -> str:
    """A name for a kernel: that of its last result and the last few opcodes."""
    hint = next((r.name_hint for r in reversed(results) if r.name_hint), None)
    codes = "_".join(op.OPCODE for op in ops[-3:])
    return f"{hint}.{codes}" if hint else codes


def _outlined(op: PtirOp) -> FuncOp:
    """Return a function of one op, in no module; for an op without results, a branch that only may fail, it returns `false`."""
    block = Block(arg_types=op.operand_types)
    for argument, value in zip(block.args, op.operands, strict=True):
        argument.name_hint = value.name_hint
    made = op.clone()
    for i, argument in enumerate(block.args):
        made.operands[i] = argument
    block.add_op(made)
    results = made.results
    if not results:
        block.add_op(none := ptir.ConstantOp(PtirLiteralAttr.from_values(I1, (), [False])))
        results = none.results
    block.add_op(ReturnOp(*results))
    func = FuncOp("op", ([a.type for a in block.args], [r.type for r in results]), Region(block))
    func.location = op.location
    return func


def shown(op: PtirOp) -> str:
    """An op in a note."""
    hint = next((r.name_hint for r in op.results if r.name_hint), None)
    types = ", ".join(str(read_type(v.type)) for v in op.operands)
    return f"{op.OPCODE}{'' if hint is None else f' %{hint}'} of {types or 'nothing'}"
