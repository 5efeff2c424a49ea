"""xDSL's passes hoist our ops out of loops and branches, but none that could fail where the loop or branch never runs."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.test import TestOp as Use
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.transforms.control_flow_hoist import ControlFlowHoistPass
from xdsl.transforms.loop_invariant_code_motion import LoopInvariantCodeMotionPass

from mind_dialect.core import CORE_OPS
from mind_dialect.core import EXTENSION_OPS as CORE_EXTENSIONS
from mind_dialect.dominance import walk
from mind_dialect.op import DialectOp
from mind_dialect.ptir import EXTENSION_OPS, PTIR_OPS
from programs import context, parse

F, IDX, N = "tensor<3xf32>", "tensor<3xi32>", 'tensor<?xf32, "N">'
S, J, K = "tensor<3xsi32>", "tensor<2xsi32>", "tensor<3x2xsi32>"
MIND_ARGUMENTS = f"%x: {F}, %i: {IDX}, %t: tensor<f32>"
PTIR_ARGUMENTS = f"%x: {F}, %s: {S}, %j: {J}, %k: {K}, %n: {N}, %u: tensor<?xf32>, %p: tensor<i1>"


def branch(inner: str, type: str) -> str:
    return f"""ptir.cond %p, %x, %s, %j : (tensor<i1>, {F}, {S}, {J}) -> {type} true {{
      ^bb0(%a: {F}, %b: {S}, %c: {J}):
        %r = {inner}
        ptir.yield %r : {type}
      }} false {{
      ^bb0(%a: {F}, %b: {S}, %c: {J}):
        %r = {inner}
        ptir.yield %r : {type}
      }}"""


LOOP = f"""ptir.while %x : {F} cond {{
      ^bb0(%a: {F}):
        %q = ptir.constant 0 : tensor<i1>
        ptir.yield %q, %a : tensor<i1>, {F}
      }} body {{
      ^bb0(%a: {F}):
        ptir.yield %a : {F}
      }}"""
ROWS = "update_window_dims = [] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0]"
GATHERED = (
    "offset_dims = [] collapsed_slice_dims = [0] operand_batching_dims = [] start_indices_batching_dims = [] "
    "start_index_map = [0] index_vector_dim = 1 slice_sizes = [1]"
)
SCATTERED = (
    "update_window_dims = [] inserted_window_dims = [0] input_batching_dims = [] scatter_indices_batching_dims = [] "
    "scatter_dims_to_operand_dims = [0] index_vector_dim = 1"
)
UNIQUE = f"unique = false : ({S}, {J}, {J})"
CASES: dict[str, tuple[str, bool]] = {
    "mind.neg": (f"mind.neg %x : {F}", True),
    "mind.div of floats": (f"mind.div %x, %x : {F}", True),
    "mind.div": (f"mind.div %i, %i : {IDX}", False),
    "mind.index in bounds": (f"mind.index %x indices = [2] : {F} -> tensor<f32>", True),
    "mind.index": (f"mind.index %x indices = [3] : {F} -> tensor<f32>", False),
    "mind.gather": (f"mind.gather %x, %i : ({F}, {IDX}) -> {F}", False),
    "mind.scatter_add": (f"mind.scatter_add %i, %x shape = [3] : ({IDX}, {F}) -> {F}", False),
    "mind.index_scatter in bounds": (f"mind.index_scatter %t shape = [3] indices = [0] : tensor<f32> -> {F}", True),
    "mind.index_scatter": (f"mind.index_scatter %t shape = [3] indices = [-1] : tensor<f32> -> {F}", False),
    "ptir.neg": (f"ptir.neg %x : {F}", True),
    "ptir.div of floats": (f"ptir.div %x, %x : {F}", True),
    "ptir.div": (f"ptir.div %s, %s : {S}", False),
    "ptir.remainder": (f"ptir.remainder %s, %s : {S}", False),
    "ptir.take": (f"ptir.take %x, %j : ({F}, {J}) -> tensor<2xf32>", False),
    "ptir.gather": (f"ptir.gather %k, %k axis = 0 : {K}", False),
    "ptir.scatter_add": (f"ptir.scatter_add %s, %j, %j {ROWS} : ({S}, {J}, {J}) -> {S}", False),
    "ptir.scatter_reduce": (f"ptir.scatter_reduce %s, %j, %j kind = add axis = 0 : ({S}, {J}, {J}) -> {S}", False),
    "ptir.gather_windows": (f"ptir.gather_windows %x, %j {GATHERED} mode = raise : ({F}, {J}) -> tensor<2xf32>", False),
    "ptir.gather_windows, clamped": (
        f"ptir.gather_windows %x, %j {GATHERED} mode = clamp : ({F}, {J}) -> tensor<2xf32>",
        True,
    ),
    "ptir.scatter_windows": (f"ptir.scatter_windows %s, %j, %j kind = add {SCATTERED} mode = raise {UNIQUE} -> {S}", False),
    "ptir.scatter_windows, drop": (
        f"ptir.scatter_windows %s, %j, %j kind = add {SCATTERED} mode = drop {UNIQUE} -> {S}",
        True,
    ),
    "ptir.segment_reduce": (
        f"ptir.segment_reduce %s, %s kind = sum num_segments = 2 indices_are_sorted = true unique = true : ({S}, {S}) -> {J}",
        False,
    ),
    "ptir.custom_call": (f'ptir.custom_call %x target = "a.b.v1" attrs = {{}} : {F}', False),
    "ptir.rng_uniform": (f"ptir.rng_uniform shape = [3] dtype = f32 : () -> {F}", False),
    "ptir.top_k": (
        f"ptir.top_k %x k = 3 axis = 0 largest = true indices_dtype = si32 : {F} -> ({F}, {S})",
        True,
    ),
    "named sizes": (f"ptir.add %n, %n : {N}", True),
    "a claim about a named size": (f"ptir.reshape %n new_shape = [3] : {N} -> {F}", False),
    "unknown sizes": ("ptir.add %u, %u : tensor<?xf32>", False),
    "a branch": (branch(f"ptir.neg %a : {F}", F), True),
    "a branch that can fail": (branch(f"ptir.div %b, %b : {S}", S), False),
    "a while loop": (LOOP, False),
}
"""An op in a loop that it does not depend on, and whether it is hoisted."""


def in_a_loop(op: str) -> ModuleOp:
    """A function with the op in a loop of no iterations."""
    arguments = MIND_ARGUMENTS if op.startswith("mind.") else PTIR_ARGUMENTS
    profile = 'mind.profile = "core-v1.1"' if op.startswith("mind.") else 'ptir.spec_version = "ptir.v0.4"'
    results = "%v, %w" if "top_k" in op else "%v"
    return parse(f"""module attributes {{{profile}}} {{
  func.func @f({arguments}) {{
    %zero = arith.constant 0 : index
    scf.for %iteration = %zero to %zero step %zero {{
      {results} = {op}
    }}
    func.return
  }}
}}""")


@pytest.mark.parametrize("name", CASES)
def test_what_is_hoisted(name: str) -> None:
    text, hoisted = CASES[name]
    module = in_a_loop(text)
    module.verify()
    LoopInvariantCodeMotionPass().apply(context(), module)
    module.verify()
    (loop,) = (op for op in walk(module) if isinstance(op, scf.ForOp))
    assert not any(isinstance(op, DialectOp) for op in loop.body.block.ops) == hoisted


def branch_instead(module: ModuleOp) -> None:
    """The loop replaced by a branch with the op on both sides, whose results are used."""
    loop = next(op for op in walk(module) if isinstance(op, scf.ForOp))
    op = next(op for op in loop.body.block.ops if isinstance(op, DialectOp))
    op.detach()
    never, other = arith.ConstantOp.from_int_and_width(0, 1), op.clone()
    sides = [[each, scf.YieldOp(*each.results)] for each in (op, other)]
    branch = scf.IfOp(never, op.result_types, *sides)
    Rewriter.insert_op((never, branch, Use(branch.results)), InsertPoint.before(loop))
    Rewriter.erase_op(loop)


@pytest.mark.filterwarnings("ignore:Use .erase:DeprecationWarning")  # In xDSL's own pass.
@pytest.mark.parametrize("name", CASES)
def test_what_is_hoisted_out_of_a_branch(name: str) -> None:
    text, hoisted = CASES[name]
    module = in_a_loop(text)
    branch_instead(module)
    module.verify()
    ControlFlowHoistPass().apply(context(), module)
    module.verify()
    sides = [side for op in walk(module) if isinstance(op, scf.IfOp) for side in op.regions]
    assert [any(isinstance(op, DialectOp) for op in side.block.ops) for side in sides] == [not hoisted] * 2


@pytest.mark.quick
def test_every_op_that_can_fail_is_tried() -> None:
    ops = [*CORE_OPS, *CORE_EXTENSIONS, *PTIR_OPS, *EXTENSION_OPS]
    failing = {op.name for op in ops if op.CAN_FAIL or op.can_fail is not DialectOp.can_fail}
    assert failing <= {name for name, (_, hoisted) in CASES.items() if not hoisted}
