"""Buffer plans: fixed programs by hand, random ones against the arrays of a run and a walk of their own."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from counting import calls
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_lowering import xp
from mind_lowering.conversion import BufferizeOptions, FunctionPlan, Usage, plan_buffers, plan_function, plan_text
from mind_lowering.kernels import NUMPY
from mind_lowering.xp.functions import CONSTANT
from mind_lowering.xp.regions import IfOp, LoopOp
from mind_tools.memory_report import buffer_plan
from native_control_programs import BOTH
from programs import parse
from ptir_control_programs import control_programs
from ptir_forms import program
from ptir_programs import function


def plan_of(body: str, signature: str = "%x: tensor<2x3xf32>", donate: Sequence[int] = (), **options: Any) -> FunctionPlan:
    module = parse(f'module attributes {{ptir.spec_version = "ptir.v0.4"}} {{\nfunc.func @f({signature}) {body}\n}}')
    return plan_function(next(functions(module)), BufferizeOptions(**options), donate)


def lines(plan: FunctionPlan) -> list[str]:
    return [line.strip() for line in str(plan).splitlines()]


CHAIN = """-> tensor<2x3xf32> {
  %a = ptir.neg %x : tensor<2x3xf32>
  %b = ptir.neg %a : tensor<2x3xf32>
  %c = ptir.neg %b : tensor<2x3xf32>
  func.return %c : tensor<2x3xf32>
}"""


def test_a_chain_needs_two_arrays_at_once() -> None:
    assert lines(plan_of(CHAIN)) == [
        "@f: peak 48 bytes, parameters 24, constants 0, results 24",
        "b0 %x: 24 bytes, parameter",
        "b1 %a: 24 bytes, live 1 to 2",
        "b2 %b: 24 bytes, live 2 to 3",
        "b3 %c: 24 bytes, result, live 3 to 5",
        "b4: 24 bytes, in b3",  # in row-major order, where it may not be
    ]


def test_what_is_large_is_written_in_place() -> None:
    """The plan is that of the run, which writes large arrays over operands that die."""
    large = CHAIN.replace("2x3", "256x256")
    signature = "%x: tensor<256x256xf32>"
    assert lines(plan_of(large, signature))[2:] == [
        "b1 %a: 262144 bytes, result, live 1 to 5",
        "b2 %b: 262144 bytes, over b1",
        "b3 %c: 262144 bytes, over b1",
        "b4: 262144 bytes, in b1",
    ]
    donated = plan_of(large, signature, donate=(0,))
    assert [b.sources for b in donated.buffers] == [(), (0,), (0,), (0,)]
    assert donated.peak_bytes == 262144  # no array may be larger than what there is, even without memory of its own


def test_a_view_keeps_its_source_alive() -> None:
    plan = plan_of("""-> tensor<2x3xf32> {
  %a = ptir.neg %x : tensor<2x3xf32>
  %t = ptir.transpose %a perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %b = ptir.neg %x : tensor<2x3xf32>
  %u = ptir.neg %t : tensor<3x2xf32>
  %s = ptir.reshape %u new_shape = [2, 3] : tensor<3x2xf32> -> tensor<2x3xf32>
  %c = ptir.add %b, %s : tensor<2x3xf32>
  func.return %c : tensor<2x3xf32>
}""")
    assert lines(plan)[2:6] == [
        "b1 %a: 24 bytes, live 1 to 4",
        "b2 %t: 24 bytes, in b1",
        "b3 %b: 24 bytes, live 3 to 6",
        "b4 %u: 24 bytes, live 4 to 5",
    ]


CACHE_INPUTS = "%cache: tensor<8x4xf32>, %row: tensor<1x4xf32>, %at: tensor<2xsi32>"
CACHE = """-> tensor<8x4xf32> {
  %k = ptir.neg %cache : tensor<8x4xf32>
  %0 = ptir.dynamic_update_slice %k, %row, %at sizes = [1, 4]
    : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<2xsi32>) -> tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}"""


def test_a_dying_cache_is_updated_in_place() -> None:
    plan = plan_of(CACHE, CACHE_INPUTS)
    assert (plan.buffers[4].sources, plan.buffers[4].in_place) == ((3,), True)
    of_caller = CACHE.replace("%k = ptir.neg %cache : tensor<8x4xf32>\n", "").replace("%k,", "%cache,")
    kept = plan_of(of_caller, CACHE_INPUTS)
    assert kept.buffers[3].owns, "a parameter is the caller's"


def test_parameters_and_constants_are_copied_to_be_returned() -> None:
    plan = plan_of("""-> (tensor<2x3xf32>, tensor<f32>) {
  %c = ptir.constant 1.0 : tensor<f32>
  func.return %x, %c : tensor<2x3xf32>, tensor<f32>
}""")
    assert [b.usage for b in plan.buffers] == [Usage.PARAMETER, Usage.CONSTANT, Usage.RESULT, Usage.RESULT]
    assert (plan.peak_bytes, plan.bytes_of(Usage.CONSTANT), plan.temporaries) == (28, 4, [])


def test_sizes_that_are_not_known() -> None:
    body, signature = CHAIN.replace("2x3xf32", '?x3xf32, "B,*"'), '%x: tensor<?x3xf32, "B,*">'
    plan = plan_of(body, signature)
    assert lines(plan)[0] == "@f: peak 12 bytes, parameters 0, constants 0, results 0, 2 buffers of unknown size"
    assert plan_of(body, signature, sizes={"B": 2}).peak_bytes == 24
    with pytest.raises(MindError, match=r"E8001.*no known size"):
        plan_of(body, signature, require_static_shapes=True)


def test_core_ir_and_calls_are_planned_too() -> None:
    text = """func.func @f(%x: tensor<2x3xf32>) -> tensor<2x1x3xf32> {
  %a = mind.exp %x : tensor<2x3xf32>
  %c = mind.expand_dims %a axes = [1] : tensor<2x3xf32> -> tensor<2x1x3xf32>
  func.return %c : tensor<2x1x3xf32>
}
func.func @g(%x: tensor<2x3xf32>) -> tensor<2x1x3xf32> {
  %0 = func.call @f(%x) : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
  func.return %0 : tensor<2x1x3xf32>
}"""
    plan = plan_buffers(parse(text))
    f, g = plan.functions.values()
    assert [b.sources for b in f.buffers] == [b.sources for b in g.buffers] == [(), (), (1,), (1,)]
    assert (f.peak_bytes, g.peak_bytes) == (24, 24)
    assert plan_text(plan).splitlines()[0] == lines(f)[0]


def test_functions_of_other_dialects_are_left_out() -> None:
    module = parse("""func.func private @g(tensor<2xf32>) -> tensor<2xf32>
func.func @f(%x: i32) -> i32 {
  %0 = arith.addi %x, %x : i32
  func.return %0 : i32
}
func.func @nothing(%x: tensor<2xf32>) {
  func.return
}
func.func @h(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}""")
    assert list(plan_buffers(module).functions) == ["h"]


def test_what_is_no_program_of_tensors_is_refused() -> None:
    with pytest.raises(MindError, match=r"E4000.*2 blocks"):
        plan_of('{\n  "test.termop"() [^bb1] : () -> ()\n^bb1:\n  func.return\n}')


# Random programs


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


def block_of(plan: FunctionPlan) -> Block:
    """The lowered block that a plan is of."""
    return plan.buffers[0].value.owner


def roots(plan: FunctionPlan, i: int) -> set[int]:
    """The buffers in whose memory a value may lie: a copy that may not be needed has memory of its own in a plan."""
    buffer = plan.buffers[i]
    found = set(buffer.sources) if buffer.sources else {i}
    owner = buffer.value.owner
    if isinstance(owner, xp.CallOp) and owner.function in ("k.row_major", "k.reshape"):
        found |= roots(plan, next(b.index for b in plan.buffers if b.value is owner.operands[0]))
    elif isinstance(owner, xp.CallOp) and buffer.sources and owner.operands:
        found |= roots(plan, next(b.index for b in plan.buffers if b.value is (owner.written_over or owner.operands[0])))
    return found


def arrays(plan: FunctionPlan) -> dict[int, np.ndarray]:
    """What each value of a straight-line function is in a run; all are kept, so that no memory is used twice."""
    numbers = {b.value: b.index for b in plan.buffers}
    found: dict[int, Any] = {i: np.ones((4, 4), "f4") for i in range(len(block_of(plan).args))}
    for op in block_of(plan).ops:
        if isinstance(op, xp.CallOp):
            inputs = [found[numbers[v]] for v in op.operands]
            namespace, _, name = op.function.partition(".")
            run = getattr(np if namespace == "xp" else NUMPY, name)
            out = {} if op.target is None else {"out": found[numbers[op.target]]}
            found[numbers[op.results[0]]] = run(*inputs, **op.values(), **out)
    return found


@pytest.mark.parametrize("in_place_from", [0, 1 << 16])
@pytest.mark.parametrize("seed", range(30))
def test_arrays_share_memory_as_planned(seed: int, in_place_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of other buffers never do; a view, and what is written in place, does."""
    monkeypatch.setattr("mind_lowering.xp.in_place.IN_PLACE_FROM", in_place_from)
    plan = plan_function(random_function(seed))
    found = arrays(plan)
    for i, x in found.items():
        for k in range(i):
            if np.shares_memory(x, found[k]):
                assert roots(plan, i) & roots(plan, k)
        for source in plan.buffers[i].sources:
            assert np.shares_memory(x, found[source])


@pytest.mark.parametrize("in_place_from", [0, 1 << 16])
@pytest.mark.parametrize("seed", range(30))
def test_the_peak_is_that_of_the_live_ranges(seed: int, in_place_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mind_lowering.xp.in_place.IN_PLACE_FROM", in_place_from)
    plan = plan_function(random_function(seed))
    own = [(b.byte_len or 0, *b.live) for b in plan.buffers if b.live is not None]
    last = max(end for _, _, end in own)
    live = [sum(size for size, begin, end in own if begin <= n <= end) for n in range(1, last + 1)]
    assert plan.peak_bytes == max(64, *live)  # 64 bytes are one array


def numbered(block: Block, count: list[int]) -> Iterator[tuple[Operation, int, int]]:
    """The ops that have numbers, with their first and their last."""
    for op in block.ops:
        if isinstance(op, xp.FreeOp | xp.ExpectOp) or (isinstance(op, xp.CallOp) and op.function == CONSTANT):
            continue
        count[0] += 1
        begin = count[0]
        for region in op.regions:
            yield from numbered(region.block, count)
        count[0] += bool(op.regions)
        yield op, begin, count[0]


def test_every_use_is_within_the_live_range() -> None:
    for row in BOTH.values():
        check_uses(plan_function(next(functions(program(*row)))))


@settings(max_examples=40)
@given(control_programs())
def test_every_use_in_a_random_program_is_within_the_live_range(text: str) -> None:
    check_uses(plan_function(next(functions(parse(text)))))


def check_uses(plan: FunctionPlan) -> None:
    buffers = {b.value: b for b in plan.buffers}
    for op, begin, end in numbered(block_of(plan), [0]):
        inside = [a for region in op.regions for a in region.block.args]
        for value in (*op.operands, *op.results, *inside):
            found = buffers[value]
            for root in (plan.buffers[i] for i in (found.sources or (found.index,))):
                if root.live is not None:
                    assert root.live[0] <= (end if value in op.results and op.regions else begin) <= root.live[1]
                    if isinstance(op, LoopOp | IfOp) and value in op.results:
                        assert root.live[1] >= end
                    assert root.owns
                    assert not root.usage & (Usage.PARAMETER | Usage.CONSTANT)


def test_arrays_of_the_picture_lie_apart() -> None:
    for row in BOTH.values():
        plan = buffer_plan(next(functions(program(*row))), {})
        for i, a in enumerate(plan.blocks):
            for b in plan.blocks[:i]:
                together = a.first <= b.last and b.first <= a.last
                apart = a.offset + a.bytes <= b.offset or b.offset + b.bytes <= a.offset
                assert apart or not together
                assert max(a.offset + a.bytes, b.offset + b.bytes) <= plan.bytes


def test_planning_is_linear() -> None:
    few, many = (calls(lambda f=f: plan_function(f)) for f in (chain(100), chain(1000)))
    assert many < 11 * few


def chain(n: int) -> FuncOp:
    def body(x: SSAValue) -> Sequence[Operation]:
        ops = [ptir.NegOp(x)]
        for _ in range(n):
            ops.append(ptir.NegOp(ops[-1]))
        return ops

    return function("f32[2]", body)
