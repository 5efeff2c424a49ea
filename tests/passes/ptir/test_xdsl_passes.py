"""xDSL's own passes, in any order, change no bit of what programs with views, updates, branches and loops compute."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
from xdsl.transforms.control_flow_hoist import ControlFlowHoistPass
from xdsl.transforms.dead_code_elimination import DeadCodeElimination
from xdsl.transforms.loop_invariant_code_motion import LoopInvariantCodeMotionPass

from mind_dialect.ptir.types import DTYPES
from mind_dialect.verify import verify
from programs import context, parse
from ptir_control_programs import control_programs
from ptir_evaluator import evaluate, function_of, same_bits, special_inputs
from ptir_random_programs import Maker

PASSES = (
    CanonicalizePass,
    CommonSubexpressionElimination,
    ControlFlowHoistPass,
    DeadCodeElimination,
    LoopInvariantCodeMotionPass,
)
ORDERS = st.lists(st.sampled_from(PASSES), min_size=1, max_size=6)


def check(text: str, order: list[type], seed: int) -> None:
    module = parse(text)
    arguments = special_inputs(function_of(module), seed)
    expected = evaluate(function_of(module), arguments)
    for each in order:
        each().apply(context(), module)
        verify(module)
    found = evaluate(function_of(parse(str(module))), arguments)
    assert len(found) == len(expected)
    assert all(map(same_bits, found, expected)), f"{order}\n{text}\n{module}"


@settings(max_examples=25)
@given(text=control_programs(), order=ORDERS, seed=st.integers(0, 3))
def test_branches_and_loops(text: str, order: list[type], seed: int) -> None:
    check(text, order, seed)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**40), dtype=st.sampled_from(["f32", "f64", "si32", "ui8", "bf16"]), order=ORDERS)
def test_values_that_invite_rewrites(seed: int, dtype: str, order: list[type]) -> None:
    check(str(Maker(seed, DTYPES[dtype]).module(12)), order, seed % 4)
