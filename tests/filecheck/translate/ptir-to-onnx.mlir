// REQUIRES: onnx
// RUN: mind-opt %s -t onnx -o %t.onnx && mind-opt %t.onnx | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @main(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<2x4xf32> {
    %p = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %y = ptir.tanh %p : tensor<2x4xf32>
    func.return %y : tensor<2x4xf32>
  }
}

//      CHECK: builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// CHECK-NEXT:   func.func @main(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<2x4xf32> {
// CHECK-NEXT:     %einsum = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:     %tanh = ptir.tanh %einsum : tensor<2x4xf32>
// CHECK-NEXT:     func.return %tanh : tensor<2x4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
