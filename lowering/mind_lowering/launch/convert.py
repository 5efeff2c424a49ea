"""
From PTIR to `launch`: one kernel for each fusion and each op alone, views where a layout says them, regions as they are.

Every temporary has memory of its own, which `launch-assign-memory` lets share; a loop's carries are written at the end of each
iteration. Schedules are absent: a target states them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import ptir, register
from mind_dialect.dominance import walk
from mind_dialect.errors import error
from mind_dialect.program import functions
from mind_dialect.ptir import BINARY_EXTENSIONS, BINARY_OPS, UNARY_EXTENSIONS, UNARY_OPS, PtirOp, RandomOp
from mind_dialect.ptir.control import yielded
from mind_dialect.ptir.types import read_type
from mind_dialect.ptir_program import state_version

from ..core_to_ptir import is_core, replace_body
from ..outline import own_module
from .base import LaunchOp
from .compute_ops import HostCallOp, KernelOp
from .control_ops import AtOp, ConditionOp, ForOp, IfOp, WhileOp, YieldOp
from .kernel_body import body_of_fusion, body_of_op
from .liveness import base
from .memory_ops import AllocOp, CopyOp, Space, ViewOp
from .ref import read_ref, ref
from .return_op import ReturnOp
from .views import VIEWS, StridedLayout, view_of

POINTWISE: frozenset[type[Operation]] = frozenset(
    (*UNARY_OPS, *BINARY_OPS, *UNARY_EXTENSIONS, *BINARY_EXTENSIONS, ptir.CompareOp, ptir.SelectOp, ptir.ClampOp, ptir.CastOp)
)
"""Ops whose result at an index depends on the operands at that index alone."""
ON_HOST: dict[type[Operation], str] = {
    ptir.CustomCallOp: "its function is a Python function",
    ptir.RngUniformOp: "its key and counter are kept on the host",
    ptir.RngNormalOp: "its key and counter are kept on the host",
}
"""Ops that no kernel computes, and why."""


@dataclass(frozen=True)
class ConvertPtirToLaunchPass(ModulePass):
    """
    Convert functions of PTIR, and Core IR, to launches of kernels on memory.

    Functions must not call others. E8001 refuses dimensions without a size, E9014 an op that runs on the host inside of a branch
    or a loop.
    """

    name = "mind-convert-ptir-to-launch"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        for func in list(functions(op)):
            if is_core(func) or any(isinstance(inner, PtirOp) for inner in walk(func)):
                replace_body(func, converted_to_launch(func))
        state_version(op)  # kernels hold ops of PTIR, those of Core IR too


def converted_to_launch(func: FuncOp, donate: Collection[int] = ()) -> FuncOp:
    """Return a verified function of PTIR or Core IR as a new function of launches; `donate` names inputs by number."""
    _, work = own_module(func, "launch")
    _check_static(work)
    conversion = _Conversion()
    block = work.body.block
    new = Block(arg_types=block.arg_types)
    for i, (argument, old) in enumerate(zip(new.args, block.args, strict=True)):
        argument.name_hint = old.name_hint
        conversion.values[old] = conversion.alloc(old, Space.INPUT, i, donated=i in donate)
    conversion.block(block)
    conversion.results(yielded(block))
    new.add_ops(conversion.ops)
    made = FuncOp.create(properties=dict(work.properties), attributes=dict(work.attributes), regions=[Region(new)])
    made.location = work.location
    return made


def _check_static(func: FuncOp) -> None:
    """Raise E8001 for a value of a size that only a run knows: the memory of launches is planned."""
    for op in walk(func):
        for value in (*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)):
            shape = read_type(value.type).shape
            if (name := next((n for n in shape if not isinstance(n, int)), None)) is not None:
                message = f"dimension {name} of {value.type} has no size, expected extents that are numbers"
                raise error("E8001", message, name=str(name), extents=shape).at(op, op.name)


class _Conversion:
    """A function on its way: `ops` is what is being filled, `values` the address of each tensor."""

    def __init__(self) -> None:
        self.ops: list[Operation] = []
        self.values: dict[SSAValue, SSAValue] = {}
        self.constants = 0
        self.random_ops = 0
        self.depth = 0

    def add(self, op: Operation) -> Operation:
        self.ops.append(op)
        return op

    def alloc(self, like: SSAValue, space: Space, index: int | None = None, **words: Any) -> SSAValue:
        """Return new memory for a tensor."""
        op = AllocOp(_own_type(like), space, index, **words)
        op.res.name_hint = like.name_hint
        self.ops.append(op)
        return op.res

    def copied(self, value: SSAValue) -> SSAValue:
        """Return a new temporary with the elements of an array."""
        layout = read_ref(value.type)
        op = AllocOp(ref(layout.dtype, layout.shape), Space.ARENA)
        self.ops += [op, CopyOp(value, op.res)]
        return op.res

    def block(self, block: Block) -> None:
        """Convert all ops but the last."""
        for op in block.ops:
            if op is not block.last_op:
                self.op(op)

    def op(self, op: Operation) -> None:
        match op:
            case ptir.ConstantOp():
                self.values[op.results[0]] = self.alloc(op.results[0], Space.CONSTANT, self.constants, literal=op.literal)
                self.constants += 1
            case ptir.CondOp():
                self.cond(op)
            case ptir.WhileOp():
                self.while_loop(op)
            case ptir.ScanOp():
                self.scan(op)
            case PtirOp():
                if not self.view(op):
                    self.compute(op)
            case _:
                raise error("E5001", f"{op.name} is not an op of PTIR", op=op.name).at(op, op.name)

    def view(self, op: PtirOp) -> bool:
        """Convert an op that moves no element; False where it must."""
        if type(op) not in VIEWS:
            return False
        x = read_ref(self.values[op.operands[0]].type)
        found = view_of(op, StridedLayout(x.shape, x.strides))
        if found is None:
            return False
        moved = found.offset if 0 not in found.shape else 0
        made = ViewOp(self.values[op.operands[0]], ref(x.dtype, found.shape, found.strides), moved)
        made.res.name_hint = op.results[0].name_hint
        self.values[op.results[0]] = self.add(made).results[0]
        return True

    def compute(self, op: PtirOp) -> None:
        """Convert a fusion, or another op, to a kernel, or to a call on the host."""
        reason = ON_HOST.get(type(op))
        if reason is not None and self.depth:
            message = f"{op.name} runs on the host, as {reason}, which is not possible in a branch or loop of launches"
            raise error("E9014", message, issue=reason, ops=[op.name]).at(op, op.name)
        reads = [self.values[v] for v in op.operands]
        writes = [self.alloc(r, Space.ARENA if reason is None else Space.HOST) for r in op.results]
        body = _body(op)
        name = "_".join(inner.name.removeprefix("ptir.") for inner in body.ops if isinstance(inner, PtirOp))[:60]
        if reason is None:
            pairs = _pointwise_pairs(body, reads, writes)
            made: LaunchOp = KernelOp(name, reads, writes, body, inplace=pairs or None)
        else:
            ordinal = self.random_ops if isinstance(op, RandomOp) else None
            made = HostCallOp(name, reads, writes, body, reason, ordinal)
        self.random_ops += isinstance(op, RandomOp)
        made.location = op.location
        self.add(made)
        self.values.update(zip(op.results, writes, strict=True))

    # Control flow

    def region(self, region: Region, values: Sequence[SSAValue], args: Sequence[Attribute] = ()) -> tuple[Block, list[SSAValue]]:
        """Return the block of a region whose parameters have these addresses, and the addresses that it yields."""
        outer, self.ops = self.ops, []
        self.depth += 1
        block = Block(arg_types=args)
        self.values.update(zip(region.block.args, values or block.args, strict=True))
        self.block(region.block)
        found = [self.values[v] for v in yielded(region.block)]
        block.add_ops(self.ops)
        self.ops = outer
        self.depth -= 1
        return block, found

    def cond(self, op: ptir.CondOp) -> None:
        predicate, *values = [self.values[v] for v in op.operands]
        types = [_own_type(r) for r in op.results]
        blocks: list[Block] = []
        for region in op.regions:
            outer = self.ops
            block, given = self.region(region, values)
            self.ops = []
            found = [v if v.type == t else self.copied(v) for v, t in zip(given, types, strict=True)]
            block.add_ops([*self.ops, YieldOp(found)])
            self.ops = outer
            blocks.append(block)
        made = self.add(IfOp(predicate, types, *blocks))
        self.values.update(zip(op.results, made.results, strict=True))

    def while_loop(self, op: ptir.WhileOp) -> None:
        inits = self.inits(op.operands)
        types = [v.type for v in inits]
        test, (predicate, *passed) = self.region(op.regions[0], (), types)
        self.carry_on(test, test.args, passed, predicate)
        body, given = self.region(op.regions[1], (), types)
        self.carry_on(body, body.args, given)
        made = self.add(WhileOp(inits, test, body))
        self.values.update(zip(op.results, made.results, strict=True))

    def scan(self, op: ptir.ScanOp) -> None:
        """Read slices where they lie in their arrays, and put stacked results where they belong."""
        carried = op.num_carries
        inits = self.inits(op.inits)
        arrays = [self.values[v] for v in op.scanned]
        stacks = [self.alloc(r, Space.ARENA) for r in op.stacks]
        types = [IndexType(), *(v.type for v in inits)]
        outer, self.ops = self.ops, []
        block = Block(arg_types=types)
        parts = [self.add(AtOp(x, block.args[0])).results[0] for x in arrays]
        inner, given = self.region(op.regions[0], [*block.args[1:], *parts])
        block.add_ops(self.ops)
        self.ops = []
        for stack, value in zip(stacks, given[carried:], strict=True):
            part = self.add(AtOp(stack, block.args[0])).results[0]
            self.add(CopyOp(value, part))
        for moved in list(inner.ops):
            moved.detach()
            block.add_op(moved)
        block.add_ops(self.ops)
        self.ops = outer
        self.carry_on(block, block.args[1:], given[:carried])
        made = self.add(ForOp(read_ref(arrays[0].type).shape[0], inits, block))
        self.values.update(zip(op.results, [*made.results, *stacks], strict=True))

    def inits(self, olds: Sequence[SSAValue]) -> list[SSAValue]:
        """Return memory that a loop may write to: that of a temporary with no other use, else a copy."""
        found: list[SSAValue] = []
        for old in olds:
            value = self.values[old]
            owner = value.owner
            own = isinstance(owner, AllocOp) and owner.kind is Space.ARENA and old.has_one_use() and owner in self.ops
            found.append(value if own and value not in found else self.copied(value))
        return found

    def carry_on(
        self, block: Block, carries: Sequence[SSAValue], given: Sequence[SSAValue], predicate: SSAValue | None = None
    ) -> None:
        """End a body, or a test: what it yields is put into its carries, after copies of what lies in other ones."""
        outer, self.ops = self.ops, []
        held = zip(carries, given, strict=True)
        sources = [(c, self.copied(v) if base(v) in carries and v is not c else v) for c, v in held]
        if predicate is not None and base(predicate) in carries:
            predicate = self.copied(predicate)
        self.ops += [CopyOp(v, c) for c, v in sources if v is not c]
        self.add(YieldOp(carries) if predicate is None else ConditionOp(predicate, carries))
        block.add_ops(self.ops)
        self.ops = outer

    def results(self, values: Sequence[SSAValue]) -> None:
        """End the function: temporaries that it returns are outputs, all else is copied into one."""
        returned: list[SSAValue] = []
        for i, old in enumerate(values):
            value = self.values[old]
            owner = value.owner
            if isinstance(owner, AllocOp) and owner in self.ops and owner.kind is Space.ARENA and not _is_carried(value):
                owner.become_output(i)
            elif not isinstance(owner, AllocOp) or owner.kind is not Space.HOST or value in returned:
                value = self.alloc(old, Space.OUTPUT, i)
                self.add(CopyOp(self.values[old], value))
            returned.append(value)
        self.add(ReturnOp(returned))


def _own_type(value: SSAValue) -> Attribute:
    """The type of memory of its own for a tensor of static extents."""
    dtype, shape = read_type(value.type)
    return ref(dtype, tuple([n for n in shape if isinstance(n, int)]))


def _is_carried(value: SSAValue) -> bool:
    """Return whether a loop has been given the memory of a value."""
    return any(isinstance(use.operation, ForOp | WhileOp) for use in value.uses)


def _body(op: PtirOp) -> Block:
    """Return the body of a kernel: that of a fusion, which is used up, or an op alone."""
    return body_of_fusion(op) if isinstance(op, ptir.FusionOp) else body_of_op(op)


def _pointwise_pairs(body: Block, reads: Sequence[SSAValue], writes: Sequence[SSAValue]) -> list[tuple[int, int]]:
    """Return the pairs of writes and reads of one type, where a body computes each element from those at its index."""
    ops = [op for op in body.ops if op is not body.last_op and not isinstance(op, ptir.ConstantOp)]
    if not all(type(op) in POINTWISE for op in ops):
        return []
    return [(i, j) for i, w in enumerate(writes) for j, r in enumerate(reads) if w.type == r.type]
