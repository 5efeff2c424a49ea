"""ptir-fuse and ptir-defuse: which groups form, that they are maximal, and that they change no bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

import counting
import ptir_forms as forms
from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.ptir import DotGeneralOp, FusionOp, PtirOp, ReduceOp, YieldOp
from mind_dialect.ptir.types import DTYPES
from mind_dialect.verify import verify
from mind_passes.fusion.defuse import defuse
from mind_passes.fusion.fuse import fuse
from mind_passes.fusion.grouping import Group, Grouping
from mind_passes.ptir.cse import eliminate_common
from mind_passes.ptir.dead_ops import erase_dead, holders
from programs import parse
from ptir_evaluator import evaluate, function_of, same_bits, special_inputs
from ptir_random_programs import Maker

XY = "f32[3,4] f32[3,4]"


def groups_of(module: ModuleOp) -> list[str]:
    """The ops of each fusion, without what it ends in."""
    fusions = [op for op in walk(module) if isinstance(op, FusionOp)]
    return [" ".join(op.OPCODE for op in f.body.block.ops if not isinstance(op, YieldOp)) for f in fusions]


def swiglu(x: Any, a: Any, b: Any) -> Any:
    p, q = forms.dot(x, a, (1,), (0,)), forms.dot(x, b, (1,), (0,))
    return ptir.MulOp(ptir.MulOp(p, ptir.LogisticOp(p)), q)


def residual(x: Any) -> Any:
    """What is normalised and added again: there is a way around, through the reduction."""
    y = ptir.ExpOp(ptir.NegOp(x))
    return ptir.AddOp(y, forms.spread(forms.reduce(y, "sum"), y))


def draws(x: Any) -> Any:
    a = ptir.RngUniformOp(shape=(3, 4), dtype="f32")
    b = ptir.RngUniformOp(shape=(3, 4), dtype="f32")
    return [ptir.AddOp(ptir.NegOp(x), b), a]


def crossed(x: Any, a: Any, b: Any) -> Any:
    """Two products that each need the other's group, were they taken in carelessly."""
    p, q = forms.dot(x, a, (1,), (0,)), forms.dot(x, b, (1,), (0,))
    back = ptir.MulOp(ptir.AddOp(p, q), p)
    return ptir.MulOp(ptir.SubOp(q, back), q)


CASES: dict[str, tuple[str, Callable[..., Any], list[str]]] = {
    "a chain": (XY, lambda x, y: ptir.ExpOp(ptir.NegOp(ptir.TanhOp(ptir.AddOp(x, y)))), ["add tanh neg exp"]),
    "one op": (XY, lambda x, y: ptir.AddOp(x, y), []),
    "a bias": ("f32[3,4] f32[4]", lambda x, b: ptir.AddOp(x, forms.spread(b, x)), ["broadcast_to add"]),
    "a diamond": (XY, lambda x, y: ptir.AddOp(ptir.NegOp(s := ptir.MulOp(x, y)), ptir.ExpOp(s)), ["mul neg exp add"]),
    "constants": (XY, lambda x, y: ptir.AddOp(ptir.MulOp(x, forms.like(x, 2.0)), y), ["broadcast_to mul add"]),
    "a sum at the end": (XY, lambda x, y: forms.reduce(ptir.MulOp(x, y), "sum"), ["mul reduce"]),
    "two sums": (XY, lambda x, y: [forms.reduce(s := ptir.MulOp(x, y), "sum"), forms.reduce(s, "max")], ["mul reduce"]),
    "after a sum": (
        XY,
        lambda x, y: ptir.NegOp(ptir.ExpOp(forms.reduce(ptir.MulOp(x, y), "sum"))),
        ["mul reduce", "exp neg"],
    ),
    "softmax": (
        "f32[3,4]",
        forms.softmax,
        ["broadcast_to sub exp reduce", "broadcast_to div"],
    ),
    "a product and its epilogue": (
        "f32[3,4] f32[4,5] f32[5]",
        lambda x, w, b: ptir.MaximumOp(
            s := ptir.AddOp(d := forms.dot(x, w, (1,), (0,)), forms.spread(b, d)), forms.like(s, 0.0)
        ),
        ["dot_general broadcast_to add broadcast_to maximum"],
    ),
    "what goes into a product": (
        "f32[3,4] f32[4,5]",
        lambda x, w: forms.dot(ptir.NegOp(ptir.ExpOp(x)), w, (1,), (0,)),
        ["exp neg"],
    ),
    "two products": ("f32[3,4] f32[4,5] f32[4,5]", swiglu, ["dot_general logistic mul mul"]),
    "two products, crossed": ("f32[3,4] f32[4,5] f32[4,5]", crossed, ["dot_general add mul sub mul"]),
    "a sum of one element": (
        "f32[3,1]", lambda x: ptir.NegOp(ptir.ExpOp(forms.reduce(ptir.AbsOp(x), "sum"))), ["abs reduce", "exp neg"]
    ),
    "a way around": ("f32[3,4]", residual, ["neg exp reduce", "broadcast_to add"]),
    "used outside": (XY, lambda x, y: [s := ptir.AddOp(x, y), ptir.ExpOp(ptir.NegOp(s))], ["add neg exp"]),
    "two shapes": (
        "f32[3,4] f32[2]",
        lambda x, y: [ptir.ExpOp(ptir.NegOp(x)), ptir.NegOp(ptir.ExpOp(y))],
        ["neg exp", "exp neg"],
    ),
    "late": (
        "f32[3,3] f32[3,3]",
        lambda x, y: ptir.AddOp(ptir.NegOp(x), forms.dot(y, y, (1,), (0,))),
        ["neg dot_general add"],
    ),
    "names of dimensions": ("f32[B,4] f32[B,4]", lambda x, y: ptir.ExpOp(ptir.AddOp(x, y)), ["add exp"]),
    "unknown dimensions": ("f32[?,4] f32[?,4]", lambda x, y: ptir.ExpOp(ptir.AddOp(x, y)), []),
    "a slice between": (
        XY,
        lambda x, y: ptir.NegOp(ptir.SliceOp(ptir.ExpOp(ptir.AddOp(x, y)), starts=(0, 0), sizes=(3, 4))),
        ["add exp"],
    ),
    "random numbers": ("f32[3,4]", draws, ["neg add"]),
    "in a branch": (
        "i1[] f32[3]",
        lambda p, x: ptir.CondOp(p, x, true=lambda a: [ptir.NegOp(ptir.ExpOp(a))], false=lambda a: [a]),
        ["exp neg"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_groups(name: str) -> None:
    types, body, expected = CASES[name]
    module = forms.program(types, body)
    before = module.clone()
    assert fuse(module) == bool(expected)
    verify(module)
    assert groups_of(module) == expected
    assert str(parse(str(module))) == str(module)
    unchanged(before, module)
    assert not [g for g in groups_of(module) if not g]
    again = module.clone()
    fuse(again)
    assert str(again) == str(module)


def unchanged(before: ModuleOp, after: ModuleOp) -> None:
    for seed in range(3):
        arrays = special_inputs(function_of(before), seed)
        if any(0 in a.shape for a in arrays):
            continue
        a, b = (evaluate(function_of(m), arrays) for m in (before, after))
        assert all(map(same_bits, a, b))


def counted(module: ModuleOp) -> list[str]:
    return sorted(op.name for op in walk(module) if isinstance(op, PtirOp))


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    module = Maker(seed, DTYPES["f32" if seed % 3 else "si16"]).module(25)
    erase_dead(module)
    before = module.clone()
    fuse(module)
    verify(module)
    unchanged(before, module)
    again = before.clone()
    fuse(again)
    assert str(again) == str(module)
    defuse(module)
    verify(module)
    unchanged(before, module)
    eliminate_common(module)
    eliminate_common(before)
    assert counted(module) == counted(before)


def test_defusing_gives_the_program_back() -> None:
    for name in ("a chain", "a bias", "a diamond", "softmax", "after a sum", "in a branch"):
        types, body, _ = CASES[name]
        module = forms.program(types, body)
        eliminate_common(module)
        text = str(module)
        assert fuse(module)
        assert defuse(module)
        verify(module)
        assert str(module) == text
        assert not defuse(module)


def mergeable(grouping: Grouping) -> list[tuple[Group, Group]]:
    """Pairs of groups that could be one and are not, found by trying: an edge within a kernel, and no way around."""
    groups = [g for g in grouping.groups() if g.is_open]
    needs: dict[Any, set[Any]] = {}
    edges: dict[tuple[Group, Group], bool] = {}
    for op, makers in grouping.needs.items():
        user: Any = grouping.group_of(op) or op
        for maker in makers:
            source: Any = grouping.group_of(maker) or maker
            if source is not user:
                needs.setdefault(user, set()).add(source)
                edges[source, user] = edges.get((source, user), True) and grouping.joins(maker, op)

    def reaches(start: Any, goal: Any, *, direct: bool) -> bool:
        stack = [n for n in needs.get(start, ()) if direct or n is not goal]
        seen = set(stack)
        while stack:
            node = stack.pop()
            if node is goal:
                return True
            fresh = [n for n in needs.get(node, ()) if n not in seen]
            seen.update(fresh)
            stack += fresh
        return False

    return [(a, b) for a in groups for b in groups if edges.get((a, b)) and a.fits([b]) and not reaches(b, a, direct=False)]


@pytest.mark.parametrize("seed", range(40))
def test_groups_are_maximal(seed: int) -> None:
    module = Maker(seed, DTYPES["f32"]).module(25)
    erase_dead(module)
    kept = holders(module)
    for op in walk(module):
        if isinstance(op, FusionOp | PtirOp) or not op.regions:
            continue
        for block in op.regions[0].blocks:
            assert mergeable(Grouping.of(block, kept)) == []


def calls(length: int) -> int:
    def body(x: Any, y: Any) -> Any:
        values = [x, y]
        for i in range(length):
            values.append((ptir.AddOp if i % 3 else ptir.MulOp)(values[-1], values[-2]))
            if i % 10 == 9:
                values.append(ptir.AddOp(values[-1], forms.spread(forms.reduce(values[-1], "sum"), x)))
        return values[-1]

    module = forms.program(XY, body)
    count = counting.calls(lambda: fuse(module))
    verify(module)
    return count


def test_cost_is_linear() -> None:
    assert calls(800) < 2.3 * calls(400)


def test_no_group_has_two_products_or_reductions() -> None:
    for seed in range(20):
        module = Maker(seed, DTYPES["f32"]).module(40)
        fuse(module)
        for op in walk(module):
            if isinstance(op, FusionOp):
                inner: list[Operation] = list(op.body.block.ops)
                assert sum(isinstance(o, DotGeneralOp) for o in inner) <= 1
                assert sum(isinstance(o, ReduceOp) for o in inner) <= 1
