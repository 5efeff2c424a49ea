"""Branches and loops with updates in place: the same numbers as without, and never a byte of anyone else's written."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from xdsl.parser import Parser

import mind_runtime
from mind_dialect.verify import verify
from mind_lowering import xp
from mind_lowering.lower_to_numpy import lower_module
from mind_lowering.xp import in_place
from programs import context, parse
from ptir_confused_programs import CONFUSED
from ptir_control_programs import control_programs
from ptir_evaluator import evaluate, function_of


def inputs() -> list[np.ndarray]:
    return [np.arange(1, 5, dtype=np.float32), np.array([[10, 20], [30, 40]], np.float32)]


def test_updates_in_place_are_seen_by_nobody() -> None:
    random_programs_keep_memory_apart()


def test_memory_of_what_dies_is_written_to_again_and_nobody_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As above, with elementwise results in the place of operands of any size."""
    monkeypatch.setattr(in_place, "IN_PLACE_FROM", 0)
    random_programs_keep_memory_apart()


@settings(max_examples=40)
@given(control_programs())
def random_programs_keep_memory_apart(text: str) -> None:
    module = parse(text)
    verify(module)
    expected = evaluate(function_of(module), inputs())
    arguments = inputs()
    program = mind_runtime.compile(module)
    for _ in range(2):
        found = program(*arguments)
        results = found if isinstance(found, tuple) else (found,)
        for got, want in zip(results, expected, strict=True):
            np.testing.assert_array_equal(got, want)
            assert got.flags.c_contiguous
            assert got.flags.writeable
        for i, got in enumerate(results):
            assert not any(np.may_share_memory(got, other) for other in (*results[:i], *arguments))
        for argument, original in zip(arguments, inputs(), strict=True):
            np.testing.assert_array_equal(argument, original)
        for got in results:
            got[...] = 99
    donated = mind_runtime.compile(module, donate=["arg0", "arg1"])
    found = donated(*inputs())
    for got, want in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
        np.testing.assert_array_equal(got, want)


@settings(max_examples=40)
@given(control_programs())
def test_the_lowered_form_verifies_and_survives_its_text(text: str) -> None:
    module = parse(text)
    lower_module(module)
    verify(module)
    ctx = context()
    xp.register(ctx)
    text = str(module)
    again = Parser(ctx, text).parse_module()
    verify(again)
    assert str(again) == text
    assert mind_runtime.compile(again).source == mind_runtime.compile(module).source


@pytest.mark.parametrize("name", CONFUSED)
def test_values_that_share_memory_are_not_confused(name: str) -> None:
    module = parse(CONFUSED[name])
    verify(module)
    arguments = inputs()
    expected = evaluate(function_of(module), inputs())
    for got, want in zip(mind_runtime.compile(module)(*arguments), expected, strict=True):
        np.testing.assert_array_equal(got, want)
    for argument, original in zip(arguments, inputs(), strict=True):
        np.testing.assert_array_equal(argument, original)
