// RUN: not mind-opt %s --autodiff="seed=cotangent" --split-input-file 2>&1 | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// CHECK: error[E5001]: while %r: cannot be differentiated: it may iterate any number of times; max-iterations, or ptir.max_iterations on the op, states a bound
func.func @unbounded(%x: tensor<f32>, %limit: tensor<f32>) -> tensor<f32> {
  %r, %l = ptir.while %x, %limit : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>) cond {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = ptir.compare %a, %b kind = less : (tensor<f32>, tensor<f32>) -> tensor<i1>
    ptir.yield %p, %a, %b : tensor<i1>, tensor<f32>, tensor<f32>
  } body {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %n = ptir.mul %a, %a : tensor<f32>
    ptir.yield %n, %b : tensor<f32>, tensor<f32>
  }
  func.return %r : tensor<f32>
}
}
