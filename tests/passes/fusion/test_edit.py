"""`FusionEdit`: copies of ops and fusions in a new body, while the program stays as it is; what results is verified and run."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

import mind_runtime
from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.ptir import FusionOp
from mind_dialect.verify import verify
from mind_passes.fusion.edit import FusionEdit
from mind_passes.fusion.fuse import fuse
from mind_passes.ptir.building import substitute
from mind_passes.ptir.dead_ops import erase_dead
from ptir_forms import program, reduce, spread


def fused(types: str, body: Any) -> tuple[ModuleOp, list[FusionOp]]:
    module = program(types, body)
    fuse(module)
    return module, [op for op in walk(module) if isinstance(op, FusionOp)]


def softmax_parts(x: Any) -> Any:
    e = ptir.ExpOp(ptir.NegOp(x))
    return ptir.DivOp(e, spread(reduce(e, "sum"), e))


def opcodes(op: FusionOp) -> list[str]:
    return [inner.name.removeprefix("ptir.") for inner in op.body.block.ops]


def results(module: ModuleOp, *arrays: Any) -> Any:
    verify(module)
    return mind_runtime.compile(module)(*arrays)


X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


def test_two_fusions_in_a_row_are_one():
    module, (first, second) = fused("f32[3,4]", softmax_parts)
    before, expected = str(module), results(module.clone(), X)
    edit = FusionEdit()
    edit.inline(first)
    edit.inline(second)
    assert str(module) == before
    made = edit.fusion(second.results, like=second)
    assert list(made.operands) == list(first.operands)
    assert opcodes(made) == ["neg", "exp", "reduce", "broadcast_to", "div", "yield"]
    substitute(second, made)
    erase_dead(module)
    assert first.parent is None
    assert results(module, X).tobytes() == expected.tobytes()


def test_views_before_and_after_a_fusion_become_part_of_it():
    def body(x: Any) -> Any:
        turned = ptir.TransposeOp(x, perm=(1, 0))
        return ptir.TransposeOp(ptir.ExpOp(ptir.NegOp(turned)), perm=(1, 0))

    module, (op,) = fused("f32[3,4]", body)
    expected = results(module.clone(), X)
    before, after = op.operands[0].owner, next(iter(op.results[0].uses)).operation
    assert isinstance(before, Operation)
    edit = FusionEdit()
    edit.append(before)
    edit.inline(op)
    edit.append(after)
    made = edit.fusion(after.results, location=after.location)
    assert opcodes(made) == ["transpose", "neg", "exp", "transpose", "yield"]
    substitute(after, made)
    erase_dead(module)
    assert [o.name for o in walk(module) if o.name == "ptir.transpose" and not isinstance(o.parent_op(), FusionOp)] == []
    assert results(module, X).tobytes() == expected.tobytes()


def test_what_no_result_needs_is_pruned():
    module, (op,) = fused("f32[3,4] f32[3,4]", lambda x, y: [s := ptir.AddOp(x, x), ptir.MulOp(s, y)])
    (first, second), y = op.results, op.operands[1]
    assert op.operands[0] is not y
    edit = FusionEdit()
    edit.inline(op)
    edit.prune([first])
    made = edit.fusion([first], like=op)
    assert opcodes(made) == ["add", "yield"]
    assert list(made.operands) == [op.operands[0]]
    second.replace_all_uses_with(first)
    substitute(op, made)
    sums = results(module, X, X)
    assert all(s.tobytes() == (X + X).tobytes() for s in sums)


def test_a_value_is_read_once_and_an_unused_edit_leaves_no_use():
    module, (op,) = fused("f32[3,4]", lambda x: [ptir.NegOp(ptir.AddOp(x, x))])
    x = op.operands[0]
    uses = len(list(x.uses))
    edit = FusionEdit()
    assert edit.read(x) is edit.read(x)
    assert edit.argument(x) is not edit.body.args[0]
    edit.inline(op)
    made = edit.fusion(op.results, like=op, pattern="softmax")
    assert made.pattern is None, "it has the pattern of the fusion that it is like"
    assert len(made.operands) == 2
    made.erase()
    assert len(list(x.uses)) == uses
    verify(module)
