"""From a lowered function to one of launches, whose memory is assigned: one walk."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue

from mind_dialect.ptir import FusionOp, PtirLiteralAttr
from mind_dialect.ptir.control import yielded

from ...kernels import NUMPY
from ...launch import compute_ops, control_ops
from ...launch.assign_memory import assign_memory
from ...launch.kernel_body import body_of_fusion
from ...launch.liveness import launch_ops, whole
from ...launch.memory_ops import AllocOp, CopyOp, Space, ViewOp
from ...launch.ref import Ref, read_ref
from ...launch.return_op import ReturnOp
from ...xp import CallOp, ExpectOp, FreeOp, is_constant
from ...xp import ReturnOp as LoweredReturnOp
from ...xp.functions import COPY, EMPTY, ROW_MAJOR
from ...xp.regions import ConditionOp, ForOp, IfOp, WhileOp
from ..kernels.call_kernels import CallKernels
from ..kernels.in_place import over_operands
from ..kernels.stages import Staged
from .addresses import is_ordered
from .builder import PLACED, LaunchBuilder, Unplanned
from .host_calls import VIEWS, host_reason
from .planned_products import EPILOGUE, plan_epilogue, plan_matmul, plan_product
from .planned_scans import plan_scan

__all__ = ["LaunchPlan", "Unplanned", "plan_function"]
REST = 128
"""Small memory rests for so many ops of a plan before it is used again: launches that share none may run side by side."""


@dataclass
class LaunchPlan:
    """A function of launches, the bytes that it needs, and the ops that its own come from."""

    func: FuncOp
    arena: int
    """Bytes of temporaries."""
    records: int
    """Bytes for what kernels note of failures."""
    state: int
    """Bytes that are zero at first: the seed and the induction variables, where there are draws, and counters of kernels."""
    draws: bool
    """True if the state begins with the seed."""
    origins: Mapping[Operation, Operation]
    """The op of the lowered function that an op comes from."""
    allocations: list[AllocOp] = field(init=False)

    def __post_init__(self) -> None:
        self.allocations = [op for op in launch_ops(self.func.body.block) if isinstance(op, AllocOp)]

    @property
    def inputs(self) -> list[AllocOp]:
        """The inputs by number."""
        return [op for op in self.allocations if op.kind is Space.INPUT]

    @property
    def outputs(self) -> list[AllocOp]:
        """Return the memory of the results: of their own, or of a donated input."""
        ending = self.func.body.block.last_op
        assert isinstance(ending, ReturnOp)
        return [v.owner for v in ending.inputs if isinstance(v.owner, AllocOp)]

    @property
    def output_bytes(self) -> int:
        """Of results in memory of their own."""
        return sum(op.ref.nbytes for op in self.outputs if given_input(op) is None)

    @property
    def in_place(self) -> list[tuple[int, int]]:
        """Results in the memory of donated inputs, by number."""
        found = [(i, given_input(op)) for i, op in enumerate(self.outputs)]
        return [(i, given) for i, given in found if given is not None]


def given_input(result: AllocOp) -> int | None:
    """The number of the input in whose memory a result is; None for memory of its own."""
    if result.over is not None and isinstance(result.over.owner, AllocOp):
        return result.over.owner.number
    return result.number if result.kind is Space.INPUT else None


def plan_function(
    func: FuncOp, kernels: Mapping[FusionOp, tuple[str, Any]], donated: Collection[int] = (), calls: CallKernels | None = None
) -> LaunchPlan:
    """
    The plan of a function lowered for CuPy; Unplanned where a dimension has no size.

    `kernels` gives for each fusion the name of its kernel and its `Launch` of `kernel.py`, `calls` those of calls that are
    kernels of ours. The bodies of fusions move into the plan.
    """
    build = LaunchBuilder(donated, calls or CallKernels())
    planner = _LaunchPlanner(build, kernels)
    block = func.body.block
    new = Block(arg_types=block.arg_types)
    for i, (argument, made) in enumerate(zip(block.args, new.args, strict=True)):
        made.name_hint = argument.name_hint
        address = build.alloc(*build.spec(argument), Space.INPUT, i, donated=i in donated)
        address.name_hint = argument.name_hint
        build.bind(argument, address)
    planner.block(block)
    ending = block.last_op
    assert isinstance(ending, LoweredReturnOp), "lowered"
    build.add(ReturnOp(_results(build, ending)), ending)
    new.add_ops([*(() if build.state is None else (build.state,)), *build.ops])
    for kernel, fusion in planner.fusions:
        kernel.body.add_block(body_of_fusion(fusion))
    state = build.place_state()
    planned = FuncOp.create(properties=dict(func.properties), attributes=dict(func.attributes), regions=[Region(new)])
    planned.location = func.location
    arena = assign_memory(planned, order="size", align=PLACED, rest=REST)
    return LaunchPlan(planned, arena, build.records, state, build.state is not None, build.origins)


def _results(build: LaunchBuilder, ending: LoweredReturnOp) -> list[SSAValue]:
    """Return the addresses of the results: memory of their own, or of a donated input."""
    found: list[SSAValue] = []
    outermost = set(build.ops)
    for i, value in enumerate(ending.operands):
        address = build.values[value]
        owner, dtype, shape = whole(address), *build.spec(value)
        given = owner is not None and owner.kind is Space.INPUT and owner.number in build.donated and address is owner.res
        own_memory = owner is not None and owner.kind is Space.ARENA and owner in outermost
        if owner is None or owner.res in found or not (given or own_memory):
            own = build.alloc(dtype, shape, Space.OUTPUT, i)
            build.copy(address, own, ending)
            address = own
        elif own_memory:
            address = _as_output(build, owner, address, i)
        found.append(address)
    return found


def _as_output(build: LaunchBuilder, owner: AllocOp, address: SSAValue, i: int) -> SSAValue:
    """Let a temporary be the memory of a result, whose sizes may be others: what was in it is then a view."""
    if owner.res.type == address.type:
        owner.become_output(i)
        return owner.res
    output = AllocOp(address.type, Space.OUTPUT, i)
    view = ViewOp(output.res, owner.res.type)
    at = build.ops.index(owner)
    build.ops[at : at + 1] = [output, view]
    owner.res.replace_all_uses_with(view.res)
    return output.res


@dataclass
class _LaunchPlanner:
    """Appends the launches of ops."""

    build: LaunchBuilder
    kernels: Mapping[FusionOp, tuple[str, Any]]
    fusions: list[tuple[compute_ops.KernelOp, FusionOp]] = field(default_factory=list[tuple[compute_ops.KernelOp, FusionOp]])

    def block(self, block: Block) -> None:
        """Append the launches of a block's ops."""
        for op in block.ops:
            if isinstance(op, CallOp):
                self.call(op)
            elif isinstance(op, FusionOp):
                self.launch(op)
            elif isinstance(op, IfOp):
                self.branch(op)
            elif isinstance(op, WhileOp):
                self.loop(op)
            elif isinstance(op, ForOp):
                plan_scan(self.build, op, self.block)
            else:
                assert isinstance(op, FreeOp | ExpectOp) or op is block.last_op, op.name

    def launch(self, op: FusionOp) -> None:
        """A kernel of ours."""
        build = self.build
        name, how = self.kernels[op]
        reads = [build.ready(build.values[v], op) for v in op.operands]
        pairs = over_operands(op)
        if how.into is None:
            writes = [build.made(r) for r in op.results]
        else:
            into: int = how.into
            writes = [build.bind(op.results[0], reads[into])]
            pairs |= {(0, into)}
        if not how.grid:
            return
        own = [build.scratch(how.scratch)] if how.scratch else []
        own += [build.counting(how.counters)] if how.counters else []
        own += [build.record()] if how.fails else []
        schedule = DictionaryAttr({"grid": IntegerAttr(how.grid, i64), "block": IntegerAttr(how.block, i64)})
        words: dict[str, Any] = {"inplace": sorted(pairs) or None, "scratch": len(own) or None, "schedule": schedule}
        made = compute_ops.KernelOp(name, reads, [*writes, *own], **words)
        self.fusions.append((made, op))
        build.add(made, op)

    def staged(self, op: CallOp, staged: Staged) -> None:
        """A call that is kernels of ours."""
        build = self.build
        kinds = {
            "scratch": [build.scratch(size) for size in staged.scratch],
            "operand": [build.ready(build.values[v], op) for v in op.operands],
            "result": [build.made(r) for r in op.results],
        }

        def address(word: str) -> SSAValue:
            kind, _, number = word.partition(" ")
            return kinds[kind][int(number)] if number else build.iterations()

        for stage in staged.stages:
            if stage.kernel.launch.grid:
                reads, writes = [address(w) for w in stage.reads], [address(w) for w in stage.writes]
                build.kernel(build.calls.names[stage], reads, writes, op.function, op)

    def call(self, op: CallOp) -> None:
        """A view, a constant, kernels of ours, or a call of the array library."""
        build, function, arguments = self.build, op.function, op.values()
        if is_constant(op):
            return self.constant(op, arguments["value"])
        if (staged := build.calls.of.get(op)) is not None:
            return self.staged(op, staged)
        inputs = [build.values[v] for v in op.operands]
        if function == EMPTY:
            build.made(op.results[0])
            return None
        if function in VIEWS and (view := self.view(op, inputs[0], arguments)) is not None:
            build.bind(op.results[0], view)
            return None
        if function == "k.dot_general" and plan_product(build, op, inputs, arguments):
            return None
        if function == EPILOGUE and plan_epilogue(build, op, inputs, arguments):
            return None
        if function == "xp.matmul" and plan_matmul(build, op, inputs):
            return None
        if not op.results:
            raise Unplanned("shapes are checked during the run")
        if function in (COPY, ROW_MAJOR):
            build.add(CopyOp(inputs[0], build.made(op.results[0])), op)
            return None
        into = op.written_over
        if into is None:
            writes = [build.made(r) for r in op.results]
        else:
            writes = [build.bind(op.results[0], build.values[into])]
        pairs = [(0, i) for i, v in enumerate(inputs) if v is writes[0]]
        words: dict[str, Any] = {"with": op.arguments, "inplace": pairs or None, "sync": host_reason(op)}
        build.add(compute_ops.CallOp(function, inputs, writes, **words), op)
        return None

    def constant(self, op: CallOp, literal: PtirLiteralAttr) -> None:
        """A constant; one number is repeated by strides of 0."""
        dtype, shape = self.build.spec(op.results[0])
        if literal.is_fill:
            one = self.build.constant(PtirLiteralAttr.from_bytes(dtype, (), literal.data.data))
            self.build.bind(op.results[0], self.build.view(one, Ref(dtype, shape, (0,) * len(shape))))
        else:
            self.build.bind(op.results[0], self.build.constant(literal))

    def view(self, op: CallOp, source: SSAValue, arguments: dict[str, Any]) -> SSAValue | None:
        """The address of a view, as NumPy finds it; None where elements have to be moved."""
        layout = read_ref(source.type)
        _, shape = self.build.spec(op.results[0])
        if op.function in ("k.reshape", ROW_MAJOR, "k.identity"):
            return None if op.function == ROW_MAJOR and not is_ordered(source) else self.build.reshaped(source, shape)
        seen: Any = np.lib.stride_tricks.as_strided(np.empty(1, "V1"), layout.shape, layout.strides)
        start = seen.__array_interface__["data"][0]
        seen = getattr(NUMPY, op.function.partition(".")[2])(seen, **arguments)
        moved = seen.__array_interface__["data"][0] - start
        return self.build.view(source, Ref(layout.dtype, shape, tuple(seen.strides)), moved)

    # Control flow

    def branch(self, op: IfOp) -> None:
        """Each branch copies what it yields to where the results are."""
        results = [self.build.made(r) for r in op.results]
        found: list[Block] = []
        for region in op.regions:
            with self.build.region() as ops:
                self.block(region.block)
                self.build.assign(yielded(region.block), results, op)
            found.append(Block([*ops, control_ops.YieldOp()]))
        self.build.add(control_ops.IfOp(self.build.values[op.condition], [], *found), op)

    def loop(self, op: WhileOp) -> None:
        """Keep loop-carried values at one address from iteration to iteration."""
        build, test, body = self.build, op.cond_region.block, op.body_region.block
        carried = build.carried(op, test.args)
        build.iteration(op, begins=True)
        with build.region() as tests:
            self.block(test)
        condition = test.last_op
        assert isinstance(condition, ConditionOp), "verified"
        passed = [build.values[v] for v in condition.inputs]
        tests = _hoisted(build, tests, passed)
        for argument, address in zip(body.args, passed, strict=True):
            build.bind(argument, address)
        with build.region() as iteration:
            self.block(body)
            build.assign(yielded(body), carried, op)
            build.iteration(op)
        ending = control_ops.ConditionOp(build.values[condition.go_on])
        made = control_ops.WhileOp([], Block([*tests, ending]), Block([*iteration, control_ops.YieldOp()]))
        build.add(made, op)
        for result, address in zip(op.results, passed, strict=True):
            build.bind(result, address)


def _hoisted(build: LaunchBuilder, ops: Sequence[Operation], values: Sequence[SSAValue]) -> list[Operation]:
    """`ops` without the memory of values and views of it, which are appended: what comes after the ops can then name them."""
    moved: set[Operation] = set()
    for value in values:
        owner = value.owner
        while isinstance(owner, Operation):
            moved.add(owner)
            owner = owner.source.owner if isinstance(owner, ViewOp) else None
    build.ops += [op for op in ops if op in moved]
    return [op for op in ops if op not in moved]
