"""PTIR programs of loops in which values share memory that an update in place must not confuse, by what they share."""

# ruff: noqa: E501
from __future__ import annotations

_TEXTS = {
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
    "an input that a loop passes on and nothing reads": """
    func.func @f(%x: tensor<4xf32>, %m: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
      %n = ptir.constant 1 : tensor<si32>
      %k, %r, %y = ptir.while %n, %m, %x : (tensor<si32>, tensor<2x2xf32>, tensor<4xf32>) -> (tensor<si32>, tensor<2x2xf32>, tensor<4xf32>) cond {
      ^bb0(%i: tensor<si32>, %a: tensor<2x2xf32>, %b: tensor<4xf32>):
        %zero = ptir.constant 0 : tensor<si32>
        %p = ptir.compare %i, %zero kind = greater : (tensor<si32>, tensor<si32>) -> tensor<i1>
        ptir.yield %p, %i, %a, %b : tensor<i1>, tensor<si32>, tensor<2x2xf32>, tensor<4xf32>
      } body {
      ^bb0(%i: tensor<si32>, %a: tensor<2x2xf32>, %b: tensor<4xf32>):
        %one = ptir.constant 1 : tensor<si32>
        %j = ptir.sub %i, %one : tensor<si32>
        %c = ptir.reshape %b new_shape = [2, 2] : tensor<4xf32> -> tensor<2x2xf32>
        ptir.yield %j, %c, %b : tensor<si32>, tensor<2x2xf32>, tensor<4xf32>
      }
      %u = ptir.neg %m : tensor<2x2xf32>
      func.return %r, %u : tensor<2x2xf32>, tensor<2x2xf32>
    }""",
    "a carry that an inner loop passes on": """
    func.func @f(%x: tensor<4xf32>, %m: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<4xf32>) {
      %xs = ptir.concat %m, %m axis = 0 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
      %r = ptir.scan %m, %xs carry_count = 1 scan_output_count = 0 : (tensor<2x2xf32>, tensor<4x2xf32>) -> tensor<2x2xf32> body {
      ^bb0(%c: tensor<2x2xf32>, %part: tensor<2xf32>):
        %n = ptir.constant 3 : tensor<si32>
        %k, %w, %v = ptir.while %n, %c, %c : (tensor<si32>, tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<si32>, tensor<2x2xf32>, tensor<2x2xf32>) cond {
        ^bb0(%i: tensor<si32>, %a: tensor<2x2xf32>, %b: tensor<2x2xf32>):
          %zero = ptir.constant 0 : tensor<si32>
          %p = ptir.compare %i, %zero kind = greater : (tensor<si32>, tensor<si32>) -> tensor<i1>
          ptir.yield %p, %i, %a, %b : tensor<i1>, tensor<si32>, tensor<2x2xf32>, tensor<2x2xf32>
        } body {
        ^bb0(%i: tensor<si32>, %a: tensor<2x2xf32>, %b: tensor<2x2xf32>):
          %one = ptir.constant 1 : tensor<si32>
          %j = ptir.sub %i, %one : tensor<si32>
          ptir.yield %j, %a, %a : tensor<si32>, tensor<2x2xf32>, tensor<2x2xf32>
        }
        %s = ptir.transpose %v perm = [1, 0] : tensor<2x2xf32>
        ptir.yield %s : tensor<2x2xf32>
      }
      func.return %r, %x : tensor<2x2xf32>, tensor<4xf32>
    }""",
}

CONFUSED = {name: f'module attributes {{ptir.spec_version = "ptir.v0.4"}} {{{text}}}' for name, text in _TEXTS.items()}
"""Each is a function of a vector of 4 and a matrix of 2 by 2, both f32."""
