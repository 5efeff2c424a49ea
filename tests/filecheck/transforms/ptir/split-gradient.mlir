// RUN: mind-opt %s --split-gradient | filecheck %s

// The gradient is that of --autodiff='seed=cotangent'.

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// The forward part returns the result and what exp gave; the backward part has what was saved, then the cotangent.
// CHECK-LABEL: func.func @f_grad_forward(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {mind.split_of = @f_grad}
// CHECK-NEXT:  [[E:%[a-z0-9_.]+]] = ptir.exp %x : tensor<4xf32>
// CHECK-NEXT:  [[P:%[a-z0-9_.]+]] = ptir.mul [[E]], %y : tensor<4xf32>
// CHECK-NEXT:  func.return [[P]], [[E]] : tensor<4xf32>, tensor<4xf32>
// CHECK-LABEL: func.func @f_grad_backward
// CHECK-SAME:  mind.saved = array<i64: 1, 3>
// CHECK-NOT:   ptir.exp
// CHECK:       func.return
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %e = ptir.exp %x : tensor<4xf32>
  %p = ptir.mul %e, %y : tensor<4xf32>
  func.return %p : tensor<4xf32>
}
func.func @f_grad(%x: tensor<4xf32>, %y: tensor<4xf32>, %cotangent: tensor<4xf32> {mind.name = "cotangent", mind.cotangent})
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {mind.grad_of = @f, mind.grad_wrt = array<i64: 0, 1>} {
  %e = ptir.exp %x : tensor<4xf32>
  %p = ptir.mul %e, %y : tensor<4xf32>
  %0 = ptir.mul %cotangent, %y : tensor<4xf32>
  %1 = ptir.mul %cotangent, %e : tensor<4xf32>
  %2 = ptir.mul %0, %e : tensor<4xf32>
  func.return %p, %2, %1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
}
