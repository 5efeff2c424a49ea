"""ptir-merge-rows and ptir-form-rows: work in the number of fusions. The merges themselves: `filecheck/transforms/ptir`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

import ptir_forms as forms
from counting import calls
from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.ptir import FusionOp, PtirOp
from mind_passes.fusion import merge_rows as merging
from mind_passes.fusion.form_rows import form_rows
from mind_passes.fusion.fuse import fuse
from mind_passes.fusion.merge_lookups import MOST_AROUND, merge_lookups
from mind_passes.fusion.merge_rows import MOST_SIBLINGS, merge_rows

PASSES: dict[str, Callable[[ModuleOp, Callable[[FusionOp], bool]], None]] = {"merge rows": merge_rows, "form rows": form_rows}


def readers(count: int) -> ModuleOp:
    """Sums of terms that all read one value: as many fusions."""
    module = forms.program("f32[3,4]", lambda x: [forms.reduce(ptir.MulOp(ptir.NegOp(x), x), "sum") for _ in range(count)])
    fuse(module)
    assert sum(isinstance(op, FusionOp) for op in walk(module)) == count
    return module


@pytest.mark.parametrize("merged", [True, False])
@pytest.mark.parametrize("name", PASSES)
def test_fusions_that_read_one_value_cost_linear_work(name: str, merged: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "FARTHEST", 20)
    tried: list[FusionOp] = []

    def is_kernel(op: FusionOp) -> bool:
        tried.append(op)
        return merged

    def effort(count: int) -> int:
        module = readers(count)
        return calls(lambda: PASSES[name](module, is_kernel))

    assert effort(400) < 2.2 * effort(200)
    assert len(tried) > 400 or merged, "readers were tried"


def test_the_nearest_readers_of_each_are_tried() -> None:
    tried: list[FusionOp] = []
    merge_rows(readers(10), lambda op: bool(tried.append(op)))
    assert len(tried) == sum(min(i, MOST_SIBLINGS) for i in range(10))


def test_readers_too_far_away_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "FARTHEST", 2)
    tried: list[FusionOp] = []
    merge_rows(readers(10), lambda op: bool(tried.append(op)))
    assert len(tried) == sum(min(i, 2) for i in range(10))


@pytest.mark.parametrize(("lookups", "is_one"), [(30, True), (60, True), (70, False)])
def test_fusions_around_lookups_have_a_limit(lookups: int, is_one: bool) -> None:
    """Each lookup takes three ops: an index, an element, its sum with those before."""

    def total_of(x: SSAValue, i: SSAValue) -> PtirOp:
        total = ptir.NegOp(x)
        for _ in range(lookups):
            total = ptir.AddOp(total, ptir.GatherOp(x, ptir.AbsOp(i), axis=0))
        return total

    module = forms.program("f32[8] si32[8]", total_of)
    fuse(module)
    merge_lookups(module)
    bodies = [sum(1 for _ in op.body.block.ops) for op in walk(module) if isinstance(op, FusionOp)]
    assert (len(bodies) == 1) == is_one
    assert max(bodies) <= MOST_AROUND + 1, "with what it yields"
