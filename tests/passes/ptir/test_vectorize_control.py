"""mind-vectorize on loops, branches and random numbers, held against runs of each example."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from mind_dialect import ptir
from mind_dialect.ptir.types import read_type
from mind_passes.vectorize import VectorizeOptions, vectorize
from programs import parse
from ptir_batching import HEAD, check, compiled, failure, looped, loops, numbers
from ptir_control_programs import control_programs
from ptir_evaluator import same_bits
from ptir_forms import program
from ptir_oracle import KERNELS

F32 = np.float32


# Control flow


COND = (
    HEAD
    + """  func.func @f(%p: tensor<i1>, %x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<f32>) {
    %a, %b = ptir.cond %p, %x, %y : (tensor<i1>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<f32>) true {
    ^bb0(%u: tensor<3xf32>, %v: tensor<3xf32>):
      %n = ptir.neg %u : tensor<3xf32>
      %s = ptir.reduce %v kind = sum axes = [0] keepdims = false : tensor<3xf32> -> tensor<f32>
      ptir.yield %n, %s : tensor<3xf32>, tensor<f32>
    } false {
    ^bb0(%u: tensor<3xf32>, %v: tensor<3xf32>):
      %c = ptir.constant 2.0 : tensor<f32>
      ptir.yield %v, %c : tensor<3xf32>, tensor<f32>
    }
    func.return %a, %b : tensor<3xf32>, tensor<f32>
  }
}
"""
)
DIVIDE = (
    HEAD
    + """  func.func @f(%p: tensor<i1>, %x: tensor<si32>, %y: tensor<si32>) -> tensor<si32> {
    %r = ptir.cond %p, %x, %y : (tensor<i1>, tensor<si32>, tensor<si32>) -> tensor<si32> true {
    ^bb0(%u: tensor<si32>, %v: tensor<si32>):
      %q = ptir.div %u, %v : tensor<si32>
      ptir.yield %q : tensor<si32>
    } false {
    ^bb0(%u: tensor<si32>, %v: tensor<si32>):
      %two = ptir.constant 2 : tensor<si32>
      %h = ptir.div %u, %two : tensor<si32>
      ptir.yield %h : tensor<si32>
    }
    func.return %r : tensor<si32>
  }
}
"""
)
COUNT = (
    HEAD
    + """  func.func @f(%n: tensor<si32>, %x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<si32>) {
    %m, %a, %b = ptir.while %n, %x, %y : (tensor<si32>, tensor<2xf32>, tensor<2xf32>)
        -> (tensor<si32>, tensor<2xf32>, tensor<2xf32>) cond {
    ^bb0(%i: tensor<si32>, %u: tensor<2xf32>, %v: tensor<2xf32>):
      %zero = ptir.constant 0 : tensor<si32>
      %go = ptir.compare %i, %zero kind = greater : (tensor<si32>, tensor<si32>) -> tensor<i1>
      ptir.yield %go, %i, %u, %v : tensor<i1>, tensor<si32>, tensor<2xf32>, tensor<2xf32>
    } body {
    ^bb0(%i: tensor<si32>, %u: tensor<2xf32>, %v: tensor<2xf32>):
      %one = ptir.constant 1 : tensor<si32>
      %j = ptir.sub %i, %one : tensor<si32>
      %w = ptir.add %u, %v : tensor<2xf32>
      ptir.yield %j, %w, %u : tensor<si32>, tensor<2xf32>, tensor<2xf32>
    }
    func.return %a, %b, %m : tensor<2xf32>, tensor<2xf32>, tensor<si32>
  }
}
"""
)
UNTIL = (  # what `cond` passes at the end would go on again
    HEAD
    + """  func.func @f(%n: tensor<si32>) -> tensor<si32> {
    %m = ptir.while %n : tensor<si32> cond {
    ^bb0(%i: tensor<si32>):
      %one = ptir.constant 1 : tensor<si32>
      %three = ptir.constant 3 : tensor<si32>
      %four = ptir.constant 4 : tensor<si32>
      %last = ptir.constant 12 : tensor<si32>
      %r = ptir.remainder %i, %four : tensor<si32>
      %a = ptir.compare %r, %three kind = not_equal : (tensor<si32>, tensor<si32>) -> tensor<i1>
      %b = ptir.compare %i, %last kind = less : (tensor<si32>, tensor<si32>) -> tensor<i1>
      %go = ptir.and %a, %b : tensor<i1>
      %next = ptir.add %i, %one : tensor<si32>
      ptir.yield %go, %next : tensor<i1>, tensor<si32>
    } body {
    ^bb0(%i: tensor<si32>):
      ptir.yield %i : tensor<si32>
    }
    func.return %m : tensor<si32>
  }
}
"""
)
HALVE = (
    HEAD
    + """  func.func @f(%n: tensor<si32>, %d: tensor<si32>) -> tensor<si32> {
    %m, %e = ptir.while %n, %d : (tensor<si32>, tensor<si32>) -> (tensor<si32>, tensor<si32>) cond {
    ^bb0(%i: tensor<si32>, %k: tensor<si32>):
      %zero = ptir.constant 0 : tensor<si32>
      %go = ptir.compare %i, %zero kind = greater : (tensor<si32>, tensor<si32>) -> tensor<i1>
      ptir.yield %go, %i, %k : tensor<i1>, tensor<si32>, tensor<si32>
    } body {
    ^bb0(%i: tensor<si32>, %k: tensor<si32>):
      %j = ptir.div %i, %k : tensor<si32>
      ptir.yield %j, %k : tensor<si32>, tensor<si32>
    }
    func.return %m : tensor<si32>
  }
}
"""
)
SCAN = (
    HEAD
    + """  func.func @f(%c: tensor<2xf32>, %d: tensor<2xf32>, %xs: tensor<4x2xf32>, %ks: tensor<4xf32>)
      -> (tensor<2xf32>, tensor<2xf32>, tensor<4x2xf32>, tensor<4xf32>) {
    %a, %b, %s, %t = ptir.scan %c, %d, %xs, %ks carry_count = 2 scan_output_count = 2
      : (tensor<2xf32>, tensor<2xf32>, tensor<4x2xf32>, tensor<4xf32>)
      -> (tensor<2xf32>, tensor<2xf32>, tensor<4x2xf32>, tensor<4xf32>) body {
    ^bb0(%u: tensor<2xf32>, %v: tensor<2xf32>, %x: tensor<2xf32>, %k: tensor<f32>):
      %w = ptir.add %v, %x : tensor<2xf32>
      %z = ptir.neg %u : tensor<2xf32>
      %q = ptir.exp %k : tensor<f32>
      ptir.yield %v, %z, %w, %q : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<f32>
    }
    func.return %a, %b, %s, %t : tensor<2xf32>, tensor<2xf32>, tensor<4x2xf32>, tensor<4xf32>
  }
}
"""
)
P = np.array([True, False, True])
I = np.array([3, 0, 1], np.int32)  # noqa: E741


@pytest.mark.parametrize(
    ("text", "arrays", "axes", "looping"),
    [
        (COND, [P, numbers(3, 3), numbers(3, 3, seed=1)], (0, 0, 0), []),
        (COND, [P, numbers(3), numbers(3, seed=1)], (0, None, None), []),
        (COND, [P[0], numbers(3, 3), numbers(3, seed=1)], (None, 0, None), []),
        (COND, [P[1], numbers(3), numbers(3, 3, seed=1)], (None, None, 0), []),
        (DIVIDE, [P, np.array([7, 8, 9], np.int32), np.array([2, 0, -2], np.int32)], (0, 0, 0), ["ptir.cond"]),
        (DIVIDE, [P[0], np.array([7, 8, 9], np.int32), np.array([2, 3, -2], np.int32)], (None, 0, 0), []),
        (COUNT, [I, numbers(3, 2), numbers(3, 2, seed=1)], (0, 0, 0), []),
        (COUNT, [I, numbers(2), numbers(2, seed=1)], (0, None, None), []),
        (UNTIL, [np.array([0, 3, 2], np.int32)], (0,), []),
        (HALVE, [np.array([7, 0, 1], np.int32), np.array([2, 0, 3], np.int32)], (0, 0), ["ptir.while"]),
        (HALVE, [np.array([7, 0, 1], np.int32), np.array(3, np.int32)], (0, None), ["ptir.while"]),
        (HALVE, [np.array(7, np.int32), np.array([2, 4, 3], np.int32)], (None, 0), ["ptir.while"]),
        (COUNT, [I[0], numbers(3, 2), numbers(2)], (None, 0, None), []),
        (COUNT, [I[0], numbers(2), numbers(3, 2)], (None, None, 0), []),
        (COUNT, [I[1], numbers(2), numbers(3, 2)], (None, None, 0), []),
        (SCAN, [numbers(3, 2), numbers(2), numbers(4, 2), numbers(4)], (0, None, None, None), []),
        (SCAN, [numbers(2), numbers(3, 2), numbers(4, 2), numbers(4)], (None, 0, None, None), []),
        (SCAN, [numbers(2), numbers(2), numbers(3, 4, 2), numbers(4)], (None, None, 0, None), []),
        (SCAN, [numbers(2), numbers(2), numbers(4, 2), numbers(3, 4)], (None, None, None, 0), []),
        (SCAN, [numbers(3, 2), numbers(3, 2), numbers(3, 4, 2), numbers(3, 4)], (0, 0, 0, 0), []),
    ],
)
@pytest.mark.parametrize("size", [3, "N"])
def test_control_flow(text: str, arrays: list[Any], axes: tuple[Any, ...], looping: list[str], size: int | str):
    for n in (3, 1, 0):
        cut = [x if a is None else x[:n] for x, a in zip(arrays, axes, strict=True)]

        def runner(func):
            return compiled(func.parent_op(), func.sym_name.data)

        made = check(parse(text), cut, axes, n, exact=False, size=n if size == 3 else size, runner=runner)
        assert loops(made) == looping


def test_carries_are_batched_only_where_the_batch_reaches_them():
    made = vectorize(parse(SCAN), options=VectorizeOptions((None, None, None, 0), size=3)).function
    (scan,) = [op for op in made.body.block.ops if isinstance(op, ptir.ScanOp)]
    assert [read_type(r.type).shape for r in scan.results] == [(2,), (2,), (4, 2), (4, 3)]
    made = vectorize(parse(SCAN), options=VectorizeOptions((0, None, None, None), size=3)).function
    (scan,) = [op for op in made.body.block.ops if isinstance(op, ptir.ScanOp)]
    assert [read_type(r.type).shape for r in scan.results] == [(3, 2), (3, 2), (4, 3, 2), (4,)]


def test_a_division_by_zero_in_a_branch_not_taken_is_none():
    made = vectorize(parse(DIVIDE))
    run = compiled(made.module, "f_vmap")
    x = np.array([7, 8, 9], np.int32)
    assert run(P, x, np.array([2, 0, -2], np.int32))[0].tolist() == [3, 4, -4]
    assert failure(run, P, x, np.array([0, 1, 1], np.int32)).code == "E8004"


@settings(max_examples=60)
@given(control_programs())
def test_random_control_flow(text: str):
    for axes in ((0, 0), (None, 0)):
        arrays = [numbers(3, 4) if axes[0] == 0 else numbers(4), numbers(3, 2, 2)]
        check(parse(text), arrays, axes, 3, exact=False)


# Random numbers


DRAWS = (
    HEAD
    + """  func.func @f(%n: tensor<si32>, %x: tensor<2xf32>) -> (tensor<2xf32>, tensor<f64>) {
    %a = ptir.rng_uniform shape = [2] dtype = f32 : tensor<2xf32>
    %y = ptir.add %x, %a : tensor<2xf32>
    %m, %z = ptir.while %n, %y : (tensor<si32>, tensor<2xf32>) -> (tensor<si32>, tensor<2xf32>) cond {
    ^bb0(%i: tensor<si32>, %u: tensor<2xf32>):
      %zero = ptir.constant 0 : tensor<si32>
      %go = ptir.compare %i, %zero kind = greater : (tensor<si32>, tensor<si32>) -> tensor<i1>
      %q = ptir.rng_uniform shape = [2] dtype = f32 : tensor<2xf32>
      %v = ptir.add %u, %q : tensor<2xf32>
      ptir.yield %go, %i, %v : tensor<i1>, tensor<si32>, tensor<2xf32>
    } body {
    ^bb0(%i: tensor<si32>, %u: tensor<2xf32>):
      %one = ptir.constant 1 : tensor<si32>
      %j = ptir.sub %i, %one : tensor<si32>
      %t = ptir.constant true : tensor<i1>
      %k, %w = ptir.scan %j, %u carry_count = 1 scan_output_count = 1
        : (tensor<si32>, tensor<2xf32>) -> (tensor<si32>, tensor<2xf32>) body {
      ^bb1(%c: tensor<si32>, %e: tensor<f32>):
        %r = ptir.rng_uniform shape = [] dtype = f32 : tensor<f32>
        %g = ptir.add %e, %r : tensor<f32>
        ptir.yield %c, %g : tensor<si32>, tensor<f32>
      }
      %h = ptir.cond %t, %w : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32> true {
      ^bb1(%o: tensor<2xf32>):
        %r = ptir.rng_uniform shape = [2] dtype = f32 : tensor<2xf32>
        %g = ptir.mul %o, %r : tensor<2xf32>
        ptir.yield %g : tensor<2xf32>
      } false {
      ^bb1(%o: tensor<2xf32>):
        %r = ptir.rng_uniform shape = [2] dtype = f32 : tensor<2xf32>
        ptir.yield %r : tensor<2xf32>
      }
      ptir.yield %k, %h : tensor<si32>, tensor<2xf32>
    }
    %b = ptir.rng_normal shape = [] dtype = f64 : tensor<f64>
    func.return %z, %b : tensor<2xf32>, tensor<f64>
  }
}
"""
)


@pytest.mark.parametrize("axes", [(0, 0), (None, 0), (0, None)])
@pytest.mark.parametrize("size", [3, "N"])
def test_the_same_draws_are_those_of_a_run_for_each_example(axes, size):
    made = vectorize(parse(DRAWS), options=VectorizeOptions(axes, size=size))
    n, x = (I if axes[0] == 0 else I[0]), numbers(*([3] if axes[1] == 0 else []), 2)
    one, many = compiled(made.module, "f"), compiled(made.module, "f_vmap")
    for seed in (0, 7):
        expected = looped(lambda *v, seed=seed: one(*v, seed=seed), (n, x), axes, 3)
        for i, found in enumerate(many(n, x, seed=seed)):
            assert same_bits(found, np.stack([e[i] for e in expected]))


@pytest.mark.parametrize("axes", [(0, 0), (None, 0)])
@pytest.mark.parametrize("size", [3, "N"])
def test_different_draws_are_one_per_example_also_in_loops(axes, size):
    options = VectorizeOptions(axes, size=size, randomness="different")
    made = vectorize(parse(DRAWS), options=options)
    z, b = compiled(made.module, "f_vmap")(np.array([2, 2, 2] if axes[0] == 0 else 2, np.int32), np.zeros((3, 2), F32), seed=3)

    def draw(ordinal: int, *shape: int, iterations: tuple[int, ...] = ()) -> np.ndarray:
        return KERNELS.rng_uniform(shape=shape, dtype=F32, ordinal=ordinal, seed=3, iterations=iterations)

    u = draw(0, 3, 2)
    for iteration in range(2):
        v = u + draw(1, 3, 2, iterations=(iteration,)) + np.stack([draw(2, 3, iterations=(iteration, i)) for i in range(2)], 1)
        u = v * draw(3, 3, 2, iterations=(iteration,))
    np.testing.assert_allclose(z, u + draw(1, 3, 2, iterations=(2,)), rtol=1e-6)
    assert len(set(b.tolist())) == 3


def test_draws_alone_make_a_batch():
    module = program("f32[2]", lambda x: [ptir.AddOp(x, ptir.RngUniformOp(shape=(2,), dtype="f32"))])
    made = vectorize(module, options=VectorizeOptions((None,), size=4, randomness="different"))
    (found,) = compiled(made.module, "f_vmap")(np.zeros(2, F32))
    assert len({tuple(row) for row in found.tolist()}) == 4
    (found,) = compiled(vectorize(module, options=VectorizeOptions((None,), size=4)).module, "f_vmap")(np.zeros(2, F32))
    assert len({tuple(row) for row in found.tolist()}) == 1


def test_a_loop_over_examples_would_draw_anew():
    text = HALVE.replace(
        "%j = ptir.div %i, %k : tensor<si32>",
        """%r = ptir.rng_uniform shape = [] dtype = f32 : tensor<f32>
      %h = ptir.constant 2.0 : tensor<f32>
      %s = ptir.mul %r, %h : tensor<f32>
      %w = ptir.cast %s dtype = si32 : tensor<f32> -> tensor<si32>
      %q = ptir.div %i, %k : tensor<si32>
      %j = ptir.add %q, %w : tensor<si32>""",
    )
    assert failure(vectorize, parse(text)).code == "E5001"
    n, d = np.full(16, 9, np.int32), np.full(16, 3, np.int32)
    for axes in ((0, 0), (None, None)):
        made = vectorize(parse(text), options=VectorizeOptions(axes, size=16, randomness="different"))
        assert loops(made.function) == ["ptir.while"]
        inputs = (n, d) if axes[0] == 0 else (n[0], d[0])
        assert compiled(made.module, "f_vmap")(*inputs)[0].shape == (16,)
