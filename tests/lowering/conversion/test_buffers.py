"""Buffer plans: fixed programs by hand, random ones by running the plan and watching the memory, and the tables it shares."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import FrozenInstanceError

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_dialect.ptir import OPS_BY_OPCODE, CondOp, FusionOp, PtirOp, ScanOp, WhileOp, YieldOp
from mind_lowering.conversion import Alias, BufferizeOptions, FunctionPlan, Usage, plan_buffers, plan_function, plan_text
from mind_lowering.conversion.buffers import IDENTITIES, IN_PLACE, VIEWS, BufferSlot
from mind_lowering.ptir_kernels.table import WITHOUT_KERNEL, kernel_call, storage
from mind_lowering.xp.functions import Storage
from programs import parse
from ptir_programs import ACCEPTED, REGIONS, function, row_module


def plan_of(body: str, signature: str = "%x: tensor<2x3xf32>", **options: bool) -> FunctionPlan:
    module = parse(f'module attributes {{ptir.spec_version = "ptir.v0.4"}} {{\nfunc.func @f({signature}) {body}\n}}')
    return plan_function(next(functions(module)), BufferizeOptions(**options))


CHAIN = """-> tensor<2x3xf32> {
  %a = ptir.neg %x : tensor<2x3xf32>
  %b = ptir.neg %a : tensor<2x3xf32>
  %c = ptir.neg %b : tensor<2x3xf32>
  %d = ptir.neg %c : tensor<2x3xf32>
  func.return %d : tensor<2x3xf32>
}"""


def test_a_chain_needs_two_slots() -> None:
    """A slot is free one op after its last use, never at it; the result is the caller's."""
    assert plan_text(plan_buffers_of(CHAIN)).splitlines() == [
        "@f: peak 48 bytes, slots 48, parameters 24, constants 0, results 24",
        "  b0: 24 bytes, parameter, live 0 to 1",
        "  b1: 24 bytes, live 1 to 2, slot 0",
        "  b2: 24 bytes, live 2 to 3, slot 1, may overwrite b1",
        "  b3: 24 bytes, live 3 to 4, slot 0, may overwrite b2",
        "  b4: 24 bytes, result, live 4 to 5, may overwrite b3",
        "  slot 0: 24 bytes of f32, for b1, b3",
        "  slot 1: 24 bytes of f32, for b2",
    ]


def plan_buffers_of(body: str):
    return plan_buffers(parse(f"func.func @f(%x: tensor<2x3xf32>) {body}"))


def test_a_view_keeps_its_source_alive() -> None:
    """What the public implementation gets wrong: a slot must not be used again under a living view."""
    plan = plan_of("""-> tensor<2x3xf32> {
  %a = ptir.neg %x : tensor<2x3xf32>
  %t = ptir.transpose %a perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %b = ptir.neg %x : tensor<2x3xf32>
  %c = ptir.neg %b : tensor<2x3xf32>
  %u = ptir.neg %t : tensor<3x2xf32>
  func.return %c : tensor<2x3xf32>
}""")
    a, t, b = plan.buffers[1:4]
    assert (t.alias, t.source, t.group) == (Alias.VIEW, a.index, a.group)
    assert a.live == t.live == (1, 5)
    assert b.slot not in (None, a.slot)
    assert t.slot == a.slot


def test_the_reshape_of_a_view_is_a_copy_and_that_of_a_whole_is_none() -> None:
    plan = plan_of("""-> tensor<6xf32> {
  %a = ptir.neg %x : tensor<2x3xf32>
  %r = ptir.reshape %a new_shape = [6] : tensor<2x3xf32> -> tensor<6xf32>
  %t = ptir.transpose %a perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %s = ptir.reshape %t new_shape = [6] : tensor<3x2xf32> -> tensor<6xf32>
  %u = ptir.add %r, %s : tensor<6xf32>
  func.return %u : tensor<6xf32>
}""")
    assert [(b.source, b.alias) for b in plan.buffers[1:5]] == [(None, None), (1, Alias.IDENTITY), (1, Alias.VIEW), (None, None)]
    assert [b.group for b in plan.buffers] == [0, 1, 1, 1, 4, 5]


def test_a_view_of_everything_in_order_is_the_whole() -> None:
    """So its reshape is no copy. Decoding with a cache is full of these."""
    plan = plan_of("""-> tensor<6xf32> {
  %a = ptir.neg %x : tensor<2x3xf32>
  %s = ptir.slice %a starts = [0, 0] sizes = [2, 3] : tensor<2x3xf32> -> tensor<2x3xf32>
  %b = ptir.broadcast_to %s result_shape = [1, 2, 3] : tensor<2x3xf32> -> tensor<1x2x3xf32>
  %t = ptir.transpose %b perm = [1, 0, 2] : tensor<1x2x3xf32> -> tensor<2x1x3xf32>
  %r = ptir.reshape %t new_shape = [6] : tensor<2x1x3xf32> -> tensor<6xf32>
  %p = ptir.slice %r starts = [0] sizes = [5] : tensor<6xf32> -> tensor<5xf32>
  %u = ptir.neg %r : tensor<6xf32>
  func.return %u : tensor<6xf32>
}""")
    assert [b.alias for b in plan.buffers[2:7]] == [Alias.IDENTITY] * 4 + [Alias.VIEW]
    assert plan.buffers[7].in_place == 5


def test_nothing_is_overwritten_that_is_read_in_another_order() -> None:
    plan = plan_of(
        """-> tensor<3x3xf32> {
  %a = ptir.neg %x : tensor<3x3xf32>
  %t = ptir.transpose %a perm = [1, 0] : tensor<3x3xf32> -> tensor<3x3xf32>
  %u = ptir.add %a, %t : tensor<3x3xf32>
  %v = ptir.add %u, %u : tensor<3x3xf32>
  func.return %v : tensor<3x3xf32>
}""".replace("tensor<2x3xf32>", "tensor<3x3xf32>"),
        "%x: tensor<3x3xf32>",
    )
    assert [b.in_place for b in plan.buffers] == [None, None, None, None, 3]


CACHE_INPUTS = "%cache: tensor<8x4xf32>, %row: tensor<1x4xf32>, %at: tensor<2xsi32>"
CACHE = """-> tensor<8x4xf32> {
  %k = ptir.neg %cache : tensor<8x4xf32>
  %0 = ptir.dynamic_update_slice %k, %row, %at sizes = [1, 4]
    : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<2xsi32>) -> tensor<8x4xf32>
  %1 = ptir.dynamic_update_slice %0, %row, %at sizes = [1, 4]
    : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<2xsi32>) -> tensor<8x4xf32>
  func.return %1 : tensor<8x4xf32>
}"""


def test_a_dying_cache_may_be_updated_in_place() -> None:
    plan = plan_of(CACHE, CACHE_INPUTS)
    assert [b.in_place for b in plan.buffers[3:]] == [None, 3, 4]
    of_caller = CACHE.replace("%k = ptir.neg %cache : tensor<8x4xf32>\n", "").replace("%k,", "%cache,")
    kept = plan_of(of_caller, CACHE_INPUTS)
    assert kept.buffers[3].in_place is None, "a parameter is the caller's"


def test_parameters_results_and_constants_have_no_slot() -> None:
    plan = plan_of("""-> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) {
  %c = ptir.constant 1.0 : tensor<f32>
  %a = ptir.neg %x : tensor<2x3xf32>
  func.return %x, %a, %c : tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>
}""")
    usages = [b.usage for b in plan.buffers]
    assert usages == [Usage.PARAMETER | Usage.RESULT, Usage.CONSTANT | Usage.RESULT, Usage.RESULT]
    assert not plan.slots
    assert (plan.peak_bytes, plan.bytes_of(Usage.CONSTANT)) == (24, 4)


def test_a_returned_view_hands_out_its_memory() -> None:
    plan = plan_of("""-> tensor<3x2xf32> {
  %a = ptir.neg %x : tensor<2x3xf32>
  %t = ptir.transpose %a perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  func.return %t : tensor<3x2xf32>
}""")
    assert Usage.RESULT in plan.buffers[1].usage
    assert not plan.slots


DYNAMIC = """-> tensor<?x3xf32, "B,*"> {
  %a = ptir.neg %x : tensor<?x3xf32, "B,*">
  %b = ptir.neg %a : tensor<?x3xf32, "B,*">
  %c = ptir.neg %b : tensor<?x3xf32, "B,*">
  %d = ptir.neg %c : tensor<?x3xf32, "B,*">
  func.return %d : tensor<?x3xf32, "B,*">
}"""


def test_equal_names_share_slots_and_unknown_sizes_do_not() -> None:
    named = plan_of(DYNAMIC, '%x: tensor<?x3xf32, "B,*">')
    assert [s.buffers for s in named.slots] == [(1, 3), (2,)]
    assert (named.peak_bytes, named.unknown) == (0, 5)
    unnamed = plan_of(DYNAMIC.replace(', "B,*"', ""), "%x: tensor<?x3xf32>")
    assert [s.buffers for s in unnamed.slots] == [(1,), (2,), (3,)]
    with pytest.raises(MindError, match=r"E8001.*no known size"):
        plan_of(DYNAMIC, '%x: tensor<?x3xf32, "B,*">', require_static_shapes=True)


def test_sizes_beyond_memory_and_foreign_dtypes() -> None:
    body = "-> tensor<{t}> {{ func.return %x : tensor<{t}> }}"
    huge, foreign = f"{1 << 61}xf32", "2xi7"
    with pytest.raises(MindError, match=r"E6004.*2\^63"):
        plan_of(body.format(t=huge), f"%x: tensor<{huge}>")
    assert plan_of(body.format(t=foreign), f"%x: tensor<{foreign}>").unknown == 1
    with pytest.raises(MindError, match="E2005"):
        plan_of(body.format(t=foreign), f"%x: tensor<{foreign}>", require_known_dtypes=True)
    with pytest.raises(MindError, match=r"E4000.*2 blocks"):
        plan_of('{\n  "test.termop"() [^bb1] : () -> ()\n^bb1:\n  func.return\n}')


def test_core_ir_is_planned_too() -> None:
    (plan,) = plan_buffers(
        parse("""func.func @f(%x: tensor<2x3xf32>) -> tensor<2x1x3xf32> {
  %a = mind.exp %x : tensor<2x3xf32>
  %b = mind.relu %a : tensor<2x3xf32>
  %c = mind.expand_dims %b axes = [1] : tensor<2x3xf32> -> tensor<2x1x3xf32>
  func.return %c : tensor<2x1x3xf32>
}""")
    ).functions.values()
    assert [b.source for b in plan.buffers] == [None, None, None, 2]
    assert [b.in_place for b in plan.buffers] == [None, None, 1, None]
    assert plan.peak_bytes == 48


# Random programs: the plan is run, and every read must find what was written


def random_function(seed: int) -> FuncOp:
    """Ops on 4 by 4 matrices and on vectors of 16: copies, views of views, reshapes of both."""
    rng = random.Random(seed)

    def body(*arguments: SSAValue) -> Sequence[Operation]:
        values, ops = list(arguments), list[Operation]()
        for _ in range(rng.randrange(3, 30)):
            x, y = rng.choice(values), rng.choice(values)
            kind = rng.choice(["neg", "neg", "add", "reshape", "transpose", "row"])
            if x.type.get_num_dims() == 1 or kind == "reshape":
                made = [ptir.ReshapeOp(x, new_shape=[4, 4] if x.type.get_num_dims() == 1 else [16])]
            elif kind == "row":
                row = ptir.SliceOp(x, starts=[1, 0], sizes=[1, 4])
                made = [row, ptir.BroadcastToOp(row, result_shape=[4, 4])]
            elif kind == "add" and x.type == y.type:
                made = [ptir.AddOp(x, y)]
            else:
                made = [ptir.TransposeOp(x, perm=[1, 0]) if kind == "transpose" else ptir.NegOp(x)]
            ops += made
            values += [op.results[0] for op in made if op.results[0].type.get_shape() != (1, 4)]
        return ops

    return function("f32[4,4] f32[4,4]", body)


class Memory:
    """Where each group's memory is, and which group wrote there last."""

    def __init__(self, plan: FunctionPlan):
        self.plan = plan
        self.cells: dict[object, int] = {}
        self.live: set[int] = set()
        self.most = 0

    def cell(self, group: int) -> object:
        root = self.plan.buffers[group]
        return ("slot", root.slot) if root.slot is not None else ("own", group)

    def write(self, value: SSAValue) -> None:
        buffer = self.plan.buffers[self.plan.values[value]]
        if buffer.owns:
            self.cells[self.cell(buffer.group)] = buffer.group
        else:
            self.read(value)

    def read(self, value: SSAValue) -> None:
        group = self.plan.buffers[self.plan.values[value]].group
        assert self.cells.get(self.cell(group)) == group, f"the memory of b{group} was written over"


def run(memory: Memory, block: Block, pick: random.Random) -> None:
    """Execute a block on the memory; loops run twice."""
    for op in block.ops:
        for value in op.operands:
            memory.read(value)
        ending = None
        iterations = {CondOp: [pick.randrange(2)], WhileOp: [0, 1, 0, 1, 0], ScanOp: [0, 0], FusionOp: [0]}.get(type(op), [])
        for i in iterations:
            inner = op.regions[i].block
            for argument in inner.args:
                memory.write(argument)
            run(memory, inner, pick)
            ending = inner.last_op
            assert isinstance(ending, YieldOp)
        yielded = ending.operands if isinstance(op, CondOp) and ending is not None else [None] * len(op.results)
        for value, moved in zip(op.results, yielded, strict=True):
            if moved is not None:
                memory.read(moved)
            memory.write(value)


@pytest.mark.parametrize("seed", range(60))
def test_running_the_plan_of_a_random_program(seed: int) -> None:
    func = random_function(seed)
    func.verify()
    plan = plan_function(func)
    memory = Memory(plan)
    for argument in func.body.block.args:
        memory.write(argument)
    run(memory, func.body.block, random.Random(0))
    assert [b.group for b in plan.buffers if b.owns] == [b.index for b in plan.buffers if b.owns]
    assert plan.peak_bytes == brute_force_peak(func, plan)


def brute_force_peak(func: FuncOp, plan: FunctionPlan) -> int:
    """At each op, the bytes of everything made before and used from there on."""
    ops = list(func.body.block.ops)
    most = 0
    for i, op in enumerate(ops):
        before = {v for o in ops[: i + 1] for v in o.results}
        after = {v for o in ops[i:] for v in o.operands} | set(op.results)
        groups = {plan.buffers[plan.values[v]].group for v in before & after}
        own = [plan.buffers[g] for g in groups if Usage.PARAMETER not in plan.buffers[g].usage]
        most = max(most, sum(b.byte_len or 0 for b in own))
    return most


SCAN_OF_TEMPORARY = """
func.func @scan(%x: tensor<3x2xf32>, %s: tensor<2xf32>) -> tensor<2xf32> {
  %t = ptir.neg %x : tensor<3x2xf32>
  %c = ptir.scan %s, %t carry_count = 1 scan_output_count = 0 : (tensor<2xf32>, tensor<3x2xf32>) -> tensor<2xf32> body {
  ^bb0(%carry: tensor<2xf32>, %row: tensor<2xf32>):
    %a = ptir.neg %row : tensor<2xf32>
    %w = ptir.broadcast_to %a result_shape = [3, 2] : tensor<2xf32> -> tensor<3x2xf32>
    %e = ptir.exp %w : tensor<3x2xf32>
    %n = ptir.reduce %e kind = sum axes = [0] keepdims = false : tensor<3x2xf32> -> tensor<2xf32>
    ptir.yield %n : tensor<2xf32>
  }
  func.return %c : tensor<2xf32>
}
"""
"""What is scanned must outlive its last use in the body: there is a next iteration."""

YIELDS_CROSSED = """
func.func @cond(%p: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %u, %v = ptir.cond %p, %x : (tensor<i1>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) true {
  ^bb0(%y: tensor<2xf32>):
    %b = ptir.neg %y : tensor<2xf32>
    %c = ptir.abs %y : tensor<2xf32>
    ptir.yield %c, %b : tensor<2xf32>, tensor<2xf32>
  } false {
  ^bb0(%y: tensor<2xf32>):
    ptir.yield %y, %y : tensor<2xf32>, tensor<2xf32>
  }
  %w = ptir.add %u, %v : tensor<2xf32>
  func.return %w : tensor<2xf32>
}
"""
"""What is yielded must live until all results are made."""


@pytest.mark.parametrize("text", [REGIONS, SCAN_OF_TEMPORARY, YIELDS_CROSSED], ids=["all", "scan", "cond"])
def test_running_the_plan_of_nested_regions(text: str) -> None:
    for func in functions(parse(text)):
        plan = plan_function(func)
        for seed in range(8):
            memory = Memory(plan)
            for argument in func.body.block.args:
                memory.write(argument)
            run(memory, func.body.block, random.Random(seed))


SCAN_WITH_STACKS = """
func.func @scan(%h: tensor<2xf32>, %xs: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %last, %all, %more = ptir.scan %h, %xs carry_count = 1 scan_output_count = 2
      : (tensor<2xf32>, tensor<3x2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>, tensor<3x2xf32>) body {
  ^bb0(%b: tensor<2xf32>, %x: tensor<2xf32>):
    %big = ptir.tile %x repeats = [3] : tensor<2xf32> -> tensor<6xf32>
    %r = ptir.reshape %big new_shape = [3, 2] : tensor<6xf32> -> tensor<3x2xf32>
    %s = ptir.reduce %r kind = sum axes = [0] keepdims = false : tensor<3x2xf32> -> tensor<2xf32>
    %now = ptir.add %b, %s : tensor<2xf32>
    ptir.yield %now, %now, %s : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
  %y = ptir.neg %all : tensor<3x2xf32>
  %z = ptir.neg %more : tensor<3x2xf32>
  func.return %y, %z : tensor<3x2xf32>, tensor<3x2xf32>
}
"""


def test_a_stack_of_a_scan_shares_memory_with_nothing_that_lives_in_its_body() -> None:
    """Each iteration writes a row of it and needs its temporaries after that: it lives from the scan's begin."""
    (func,) = functions(parse(SCAN_WITH_STACKS))
    plan = plan_function(func)
    scan = func.body.block.first_op
    assert isinstance(scan, ScanOp)
    stacks = [plan.buffers[plan.values[v]] for v in scan.results[1:]]
    inside = [plan.buffers[plan.values[v]] for op in scan.body_region.block.ops for v in op.results]
    assert len(inside) == 4
    assert {b.slot for b in stacks}.isdisjoint({b.slot for b in inside})
    assert len({b.slot for b in stacks}) == 2
    for stack in stacks:
        assert all(stack.live[0] < b.live[0] and b.live[1] < stack.live[1] for b in inside)


def test_the_watch_sees_a_slot_taken_too_early() -> None:
    """The oracle can fail: with a view's source freed early, as the public implementation does, it does."""
    func = next(f for f in map(random_function, range(60)) if any(b.alias is Alias.VIEW for b in plan_function(f).buffers[2:]))
    plan = plan_function(func)
    for buffer in plan.buffers:
        if buffer.slot is not None:
            buffer.slot = 0
    memory = Memory(plan)
    for argument in func.body.block.args:
        memory.write(argument)
    with pytest.raises(AssertionError, match="written over"):
        run(memory, func.body.block, random.Random(0))


@pytest.mark.parametrize("row", ACCEPTED, ids=str)
def test_aliases_are_those_of_the_numpy_kernels(row) -> None:
    """One truth about memory: what shares memory on the numpy target shares it in the plan, and nothing else does."""
    op = next(o for f in functions(row_module(row)) for o in f.body.block.ops if isinstance(o, PtirOp))
    if type(op) in WITHOUT_KERNEL or isinstance(op, ptir.IotaOp):  # an iota repeats elements of nothing that the program has
        return
    expected = {Storage.WHOLE: IDENTITIES, Storage.PART: VIEWS}.get(storage(kernel_call(op).callee), frozenset())
    found = IDENTITIES if type(op) in IDENTITIES else VIEWS if type(op) in VIEWS else frozenset()
    if isinstance(op, ptir.CastOp) or (isinstance(op, ptir.ReduceOp) and not op.values()["axes"]):  # by dtypes, a copy or not
        return
    assert found == expected


def test_what_may_be_overwritten_has_the_type_of_the_result() -> None:
    for kind, places in IN_PLACE.items():
        if issubclass(kind, PtirOp):
            assert kind.OPCODE in OPS_BY_OPCODE
            assert max(places) < len(kind.OPERANDS)


def test_planning_is_linear() -> None:
    """Ten times the ops, ten times the work: counted in buffers touched, as no test measures time."""
    from counting import calls

    few, many = (calls(lambda f=f: plan_function(f)) for f in (chain(200), chain(2000)))
    assert many < 11 * few


def chain(n: int) -> FuncOp:
    def body(x: SSAValue) -> Sequence[Operation]:
        ops = [ptir.NegOp(x)]
        for _ in range(n):
            ops.append(ptir.NegOp(ops[-1]))
        return ops

    return function("f32[2]", body)


def test_slots_stay_as_they_are() -> None:
    """A plan is printed and followed by others than who made it."""
    slot = BufferSlot(0, None, None, (1, 4))
    with pytest.raises(FrozenInstanceError):
        slot.index = 1  # type: ignore[misc]
    assert len({slot, BufferSlot(0, None, None, (1, 4))}) == 1
