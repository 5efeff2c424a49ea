// RUN: mind-opt %s --lower-to-numpy | mind-opt | filecheck %s
// RUN: mind-opt %s --lower-to-numpy -t numpy | filecheck %s --check-prefix=PYTHON

// Draws in loops are told apart by the iterations of all loops around them; a loop without draws counts nothing.

module attributes {ptir.spec_version = "ptir.v0.4"} {
// CHECK-LABEL: func.func @draws
// CHECK:         xp.call "k.rng_uniform"() with {shape = array<i64: 2>, dtype = f32, ordinal = 0 : i64, seed = @seed, iterations = @iterations}
// CHECK:         xp.call "k.rng_normal"() with {shape = array<i64: 2>, dtype = f32, ordinal = 1 : i64, seed = @seed} :
// PYTHON-LABEL: def draws(x, i, *, seed=0):
// PYTHON:           for [[STEP:i[0-9]+]] in k.steps(x):
// PYTHON:               for [[TURN:i[0-9]+]] in k.iterations():
// PYTHON:                   k.rng_uniform({{.*}}ordinal=0, seed=seed, iterations=([[STEP]], [[TURN]]))
// PYTHON:           while True:
// PYTHON:           k.rng_normal({{.*}}ordinal=1, seed=seed)
func.func @draws(%x: tensor<3xi1>, %i: tensor<i1>) -> (tensor<3x2xf32>, tensor<i1>, tensor<2xf32>) {
  %a = ptir.scan %x carry_count = 0 scan_output_count = 1 : tensor<3xi1> -> tensor<3x2xf32> body {
  ^bb0(%e: tensor<i1>):
    %z = ptir.constant fill 0.0 : tensor<2xf32>
    %p, %q = ptir.while %e, %z : (tensor<i1>, tensor<2xf32>) -> (tensor<i1>, tensor<2xf32>) cond {
    ^bb1(%c: tensor<i1>, %w: tensor<2xf32>):
      ptir.yield %c, %c, %w : tensor<i1>, tensor<i1>, tensor<2xf32>
    } body {
    ^bb2(%c: tensor<i1>, %w: tensor<2xf32>):
      %n = ptir.not %c : tensor<i1>
      %r = ptir.rng_uniform shape = [2] dtype = f32 : tensor<2xf32>
      ptir.yield %n, %r : tensor<i1>, tensor<2xf32>
    }
    ptir.yield %q : tensor<2xf32>
  }
  %j = ptir.while %i : tensor<i1> cond {
  ^bb3(%c: tensor<i1>):
    ptir.yield %c, %c : tensor<i1>, tensor<i1>
  } body {
  ^bb4(%c: tensor<i1>):
    %n = ptir.not %c : tensor<i1>
    ptir.yield %n : tensor<i1>
  }
  %s = ptir.rng_normal shape = [2] dtype = f32 : tensor<2xf32>
  func.return %a, %j, %s : tensor<3x2xf32>, tensor<i1>, tensor<2xf32>
}
}
