"""Branches and loops with updates in place: the same numbers as without, and never a byte of anyone else's written."""

# ruff: noqa: E501
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from xdsl.parser import Parser

import mind_runtime
from mind_dialect.verify import verify
from mind_lowering import ptir_to_xp, xp
from mind_lowering.lower_to_numpy import lower_module
from programs import context, parse
from ptir_control_programs import control_programs
from ptir_evaluator import evaluate, function_of


def inputs() -> list[np.ndarray]:
    return [np.arange(1, 5, dtype=np.float32), np.array([[10, 20], [30, 40]], np.float32)]


def test_updates_in_place_are_seen_by_nobody() -> None:
    random_programs_keep_memory_apart()


def test_memory_of_what_dies_is_written_to_again_and_nobody_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As above, with elementwise results in the place of operands of any size."""
    monkeypatch.setattr(ptir_to_xp, "IN_PLACE_FROM", 0)
    random_programs_keep_memory_apart()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example])
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


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example])
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


CONFUSED = {
    "what is yielded twice": """
    func.func @f(%x: tensor<4xf32>, %m: tensor<2x2xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %n = ptir.constant 3 : tensor<si32>
      %z = ptir.constant fill 0.0 : tensor<4xf32>
      %c, %a, %b, %s = ptir.while %n, %x, %x, %z : (tensor<si32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
          -> (tensor<si32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) cond {
      ^bb0(%c: tensor<si32>, %a: tensor<4xf32>, %b: tensor<4xf32>, %s: tensor<4xf32>):
        %zero = ptir.constant 0 : tensor<si32>
        %p = ptir.compare %c, %zero kind = greater : (tensor<si32>, tensor<si32>) -> tensor<i1>
        ptir.yield %p, %c, %a, %b, %s : tensor<i1>, tensor<si32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
      } body {
      ^bb0(%c: tensor<si32>, %a: tensor<4xf32>, %b: tensor<4xf32>, %s: tensor<4xf32>):
        %one = ptir.constant 1 : tensor<si32>
        %d = ptir.sub %c, %one : tensor<si32>
        %i = ptir.reshape %c new_shape = [1] : tensor<si32> -> tensor<1xsi32>
        %w = ptir.constant [-7.0] : tensor<1xf32>
        %u = ptir.dynamic_update_slice %a, %w, %i sizes = [1] : (tensor<4xf32>, tensor<1xf32>, tensor<1xsi32>) -> tensor<4xf32>
        %t = ptir.add %s, %b : tensor<4xf32>
        %v = ptir.reverse %u axes = [0] : tensor<4xf32>
        ptir.yield %d, %u, %v, %t : tensor<si32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
      }
      func.return %a, %s : tensor<4xf32>, tensor<4xf32>
    }""",
    "a slice of an input, carried on": """
    func.func @f(%x: tensor<4xf32>, %m: tensor<2x2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
      %z = ptir.constant fill 0.0 : tensor<2xf32>
      %a, %s = ptir.scan %z, %z, %m carry_count = 2 scan_output_count = 0
          : (tensor<2xf32>, tensor<2xf32>, tensor<2x2xf32>) -> (tensor<2xf32>, tensor<2xf32>) body {
      ^bb0(%a: tensor<2xf32>, %s: tensor<2xf32>, %row: tensor<2xf32>):
        %i = ptir.constant [1] : tensor<1xsi32>
        %w = ptir.constant [-7.0] : tensor<1xf32>
        %u = ptir.dynamic_update_slice %a, %w, %i sizes = [1] : (tensor<2xf32>, tensor<1xf32>, tensor<1xsi32>) -> tensor<2xf32>
        %t = ptir.add %s, %u : tensor<2xf32>
        ptir.yield %row, %t : tensor<2xf32>, tensor<2xf32>
      }
      func.return %a, %s : tensor<2xf32>, tensor<2xf32>
    }""",
    "an initial value that is scanned too": """
    func.func @f(%x: tensor<4xf32>, %m: tensor<2x2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
      %e = ptir.neg %m : tensor<2x2xf32>
      %r = ptir.slice %e starts = [1, 0] sizes = [1, 2] : tensor<2x2xf32> -> tensor<1x2xf32>
      %f = ptir.reshape %r new_shape = [2] : tensor<1x2xf32> -> tensor<2xf32>
      %z = ptir.constant fill 0.0 : tensor<2xf32>
      %a, %s = ptir.scan %f, %z, %e carry_count = 2 scan_output_count = 0
          : (tensor<2xf32>, tensor<2xf32>, tensor<2x2xf32>) -> (tensor<2xf32>, tensor<2xf32>) body {
      ^bb0(%a: tensor<2xf32>, %s: tensor<2xf32>, %row: tensor<2xf32>):
        %i = ptir.constant [1] : tensor<1xsi32>
        %w = ptir.constant [-7.0] : tensor<1xf32>
        %u = ptir.dynamic_update_slice %a, %w, %i sizes = [1] : (tensor<2xf32>, tensor<1xf32>, tensor<1xsi32>) -> tensor<2xf32>
        %t = ptir.add %s, %row : tensor<2xf32>
        ptir.yield %u, %t : tensor<2xf32>, tensor<2xf32>
      }
      func.return %a, %s : tensor<2xf32>, tensor<2xf32>
    }""",
    "an initial value that is used afterwards": """
    func.func @f(%x: tensor<4xf32>, %m: tensor<2x2xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %n = ptir.constant 2 : tensor<si32>
      %e = ptir.neg %x : tensor<4xf32>
      %r, %a, %b = ptir.while %n, %e, %x : (tensor<si32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<si32>, tensor<4xf32>, tensor<4xf32>) cond {
      ^bb0(%c: tensor<si32>, %a: tensor<4xf32>, %b: tensor<4xf32>):
        %zero = ptir.constant 0 : tensor<si32>
        %p = ptir.compare %c, %zero kind = greater : (tensor<si32>, tensor<si32>) -> tensor<i1>
        ptir.yield %p, %c, %a, %b : tensor<i1>, tensor<si32>, tensor<4xf32>, tensor<4xf32>
      } body {
      ^bb0(%c: tensor<si32>, %a: tensor<4xf32>, %b: tensor<4xf32>):
        %one = ptir.constant 1 : tensor<si32>
        %d = ptir.sub %c, %one : tensor<si32>
        %i = ptir.constant [1] : tensor<1xsi32>
        %w = ptir.constant [-7.0] : tensor<1xf32>
        %u = ptir.dynamic_update_slice %a, %w, %i sizes = [1] : (tensor<4xf32>, tensor<1xf32>, tensor<1xsi32>) -> tensor<4xf32>
        ptir.yield %d, %u, %b : tensor<si32>, tensor<4xf32>, tensor<4xf32>
      }
      %later = ptir.abs %e : tensor<4xf32>
      func.return %a, %later : tensor<4xf32>, tensor<4xf32>
    }""",
    "an input that an inner loop updates": """
    func.func @f(%x: tensor<4xf32>, %m: tensor<2x2xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %n = ptir.constant 2 : tensor<si32>
      %r, %a, %b = ptir.while %n, %x, %x : (tensor<si32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<si32>, tensor<4xf32>, tensor<4xf32>) cond {
      ^bb0(%c: tensor<si32>, %a: tensor<4xf32>, %b: tensor<4xf32>):
        %zero = ptir.constant 0 : tensor<si32>
        %p = ptir.compare %c, %zero kind = greater : (tensor<si32>, tensor<si32>) -> tensor<i1>
        ptir.yield %p, %c, %a, %b : tensor<i1>, tensor<si32>, tensor<4xf32>, tensor<4xf32>
      } body {
      ^bb0(%c: tensor<si32>, %a: tensor<4xf32>, %b: tensor<4xf32>):
        %one = ptir.constant 1 : tensor<si32>
        %d = ptir.sub %c, %one : tensor<si32>
        %k = ptir.constant 1 : tensor<si32>
        %r2, %q, %s = ptir.while %k, %a, %b : (tensor<si32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<si32>, tensor<4xf32>, tensor<4xf32>) cond {
      ^bb0(%c2: tensor<si32>, %a2: tensor<4xf32>, %b2: tensor<4xf32>):
        %zero2 = ptir.constant 0 : tensor<si32>
        %p2 = ptir.compare %c2, %zero2 kind = greater : (tensor<si32>, tensor<si32>) -> tensor<i1>
        ptir.yield %p2, %c2, %a2, %b2 : tensor<i1>, tensor<si32>, tensor<4xf32>, tensor<4xf32>
      } body {
      ^bb0(%c2: tensor<si32>, %a2: tensor<4xf32>, %b2: tensor<4xf32>):
        %one2 = ptir.constant 1 : tensor<si32>
        %d2 = ptir.sub %c2, %one2 : tensor<si32>
        %i = ptir.constant [1] : tensor<1xsi32>
        %w = ptir.constant [-7.0] : tensor<1xf32>
        %u = ptir.dynamic_update_slice %a2, %w, %i sizes = [1] : (tensor<4xf32>, tensor<1xf32>, tensor<1xsi32>) -> tensor<4xf32>
        ptir.yield %d2, %u, %b2 : tensor<si32>, tensor<4xf32>, tensor<4xf32>
        }
        ptir.yield %d, %q, %s : tensor<si32>, tensor<4xf32>, tensor<4xf32>
      }
      func.return %a, %b : tensor<4xf32>, tensor<4xf32>
    }""",
    "values that change places": """
    func.func @f(%x: tensor<4xf32>, %m: tensor<2x2xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %n = ptir.constant 1 : tensor<si32>
      %e = ptir.neg %x : tensor<4xf32>
      %f = ptir.abs %x : tensor<4xf32>
      %r, %a, %b = ptir.while %n, %e, %f : (tensor<si32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<si32>, tensor<4xf32>, tensor<4xf32>) cond {
      ^bb0(%c: tensor<si32>, %a: tensor<4xf32>, %b: tensor<4xf32>):
        %zero = ptir.constant 0 : tensor<si32>
        %p = ptir.compare %c, %zero kind = greater : (tensor<si32>, tensor<si32>) -> tensor<i1>
        ptir.yield %p, %c, %a, %b : tensor<i1>, tensor<si32>, tensor<4xf32>, tensor<4xf32>
      } body {
      ^bb0(%c: tensor<si32>, %a: tensor<4xf32>, %b: tensor<4xf32>):
        %one = ptir.constant 1 : tensor<si32>
        %d = ptir.sub %c, %one : tensor<si32>
        ptir.yield %d, %b, %a : tensor<si32>, tensor<4xf32>, tensor<4xf32>
      }
      %i = ptir.constant [1] : tensor<1xsi32>
        %w = ptir.constant [-7.0] : tensor<1xf32>
        %u = ptir.dynamic_update_slice %a, %w, %i sizes = [1] : (tensor<4xf32>, tensor<1xf32>, tensor<1xsi32>) -> tensor<4xf32>
      %later = ptir.neg %f : tensor<4xf32>
      func.return %u, %later : tensor<4xf32>, tensor<4xf32>
    }""",
}


@pytest.mark.parametrize("name", CONFUSED)
def test_values_that_share_memory_are_not_confused(name: str) -> None:
    module = parse(f'module attributes {{ptir.spec_version = "ptir.v0.4"}} {{{CONFUSED[name]}}}')
    verify(module)
    arguments = inputs()
    expected = evaluate(function_of(module), inputs())
    for got, want in zip(mind_runtime.compile(module)(*arguments), expected, strict=True):
        np.testing.assert_array_equal(got, want)
    for argument, original in zip(arguments, inputs(), strict=True):
        np.testing.assert_array_equal(argument, original)
