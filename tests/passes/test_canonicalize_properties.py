"""The canonical form on random programs: idempotent, one text per program, nothing changes a bit of any result."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass

import mind_passes.canonicalize as under_test
from canonicalize_programs import rewritable_program, scrambled
from evaluator import evaluate, only_function, same_bits, special_inputs
from mind_dialect.core import CoreOp
from mind_dialect.verify import verify
from mind_passes.canonicalize import MindCanonicalizePass, canonicalize
from mind_passes.rewrites import RULES
from mind_passes.rewrites.building import Rule
from programs import context

SEEDS = st.integers(0, 2**40)
"""A failing seed rebuilds its program: `rewritable_program(random.Random(seed))`."""
property_test = settings(max_examples=200)
SUPPORT = Path(__file__).parents[1] / "support"


def after(module: ModuleOp, *passes: ModulePass) -> ModuleOp:
    """A copy of `module` after some passes, verified."""
    copy = module.clone()
    ctx = context()
    for each in passes:
        each.apply(ctx, copy)
        verify(copy)
    return copy


def results(module: ModuleOp, offset: int):
    try:
        return evaluate(module, special_inputs(module, offset))
    except IndexError:
        return None


def assert_same_results(before: ModuleOp, canonical: ModuleOp) -> None:
    """Bit for bit where the given program has results: what fails in it may be dead code, as under `x * 0` of integers."""
    for offset in range(0, 14, 3):
        a, b = results(before, offset), results(canonical, offset)
        if a is not None:
            assert b is not None, f"{before}\n{canonical}"
            assert all(map(same_bits, a, b)), f"{before}\n{canonical}\n{special_inputs(before, offset)}\n{a}\n{b}"


@given(seed=SEEDS)
@property_test
def test_idempotent(seed: int) -> None:
    module = rewritable_program(random.Random(seed))
    once = after(module, MindCanonicalizePass())
    assert str(after(once, MindCanonicalizePass())) == str(once)


@given(seed=SEEDS)
@property_test
def test_one_text_for_equal_programs(seed: int) -> None:
    module = rewritable_program(random.Random(seed))
    other = scrambled(random.Random(seed + 1), module)
    verify(other)
    assert str(after(other, MindCanonicalizePass())) == str(after(module, MindCanonicalizePass()))


@pytest.mark.parametrize("fold_floats", [False, True])
@given(seed=SEEDS)
@property_test
def test_results_keep_every_bit(fold_floats: bool, seed: int) -> None:
    module = rewritable_program(random.Random(seed))
    assert_same_results(module, after(module, MindCanonicalizePass(fold_floats=fold_floats)))


@given(seed=SEEDS)
@property_test
def test_stock_canonicalize_changes_nothing_for_ours(seed: int) -> None:
    module = rewritable_program(random.Random(seed))
    assert_same_results(module, after(module, CanonicalizePass()))
    ours = after(module, MindCanonicalizePass())
    assert str(after(module, CanonicalizePass(), MindCanonicalizePass())) == str(ours)
    assert str(after(ours, CanonicalizePass())) == str(ours)


def test_the_generator_reaches_every_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the properties above would say nothing about the rule."""
    unmet = {rule.__name__ for rules in RULES.values() for rule in rules}

    def watch(rule: Rule) -> Rule:
        def watched(op: CoreOp):
            found = rule(op)
            if found is not None:
                unmet.discard(rule.__name__)
            return found

        return watched

    monkeypatch.setattr(under_test, "RULES", {cls: tuple(map(watch, rules)) for cls, rules in RULES.items()})
    for seed in range(3000):
        if not unmet:
            return
        canonicalize(only_function(rewritable_program(random.Random(seed))))
    raise AssertionError(unmet)


PRINT_SOME = """
import random
from mind_passes.canonicalize import MindCanonicalizePass
from programs import context
from canonicalize_programs import rewritable_program
for seed in range(30):
    module = rewritable_program(random.Random(seed))
    MindCanonicalizePass(fold_floats=True).apply(context(), module)
    print(module)
"""


def test_one_text_in_every_process() -> None:
    texts = {
        subprocess.run(
            [sys.executable, "-c", PRINT_SOME],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(SUPPORT)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "12345")
    }
    assert len(texts) == 1
    assert texts.pop().count("func.func @f") == 30
