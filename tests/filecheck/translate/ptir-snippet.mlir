// RUN: mind-opt %s -t ptir-snippet | filecheck %s --check-prefix=SNIPPET
// RUN: mind-opt %s -t ptir-snippet | mind-opt -f ptir-text | filecheck %s
// A snippet keeps the names of values.

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @scaled(%x: tensor<2x3xf32>, %s: tensor<f32>) -> tensor<2x3xf32> {
    %all = ptir.broadcast_to %s result_shape = [2, 3] : tensor<f32> -> tensor<2x3xf32>
    %y = ptir.mul %x, %all : tensor<2x3xf32>
    func.return %y : tensor<2x3xf32>
  }
}
// SNIPPET:      func @scaled(%x: tensor<f32, 2x3>, %s: tensor<f32>) -> tensor<f32, 2x3> {
// SNIPPET-NEXT:   %all = broadcast_to(%s) shape[2, 3] -> tensor<f32, 2x3>
// SNIPPET-NEXT:   %y = mul %x, %all -> tensor<f32, 2x3>
// SNIPPET-NEXT:   return %y
// SNIPPET-NEXT: }

// CHECK:      builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// CHECK-NEXT:   func.func @scaled(%x: tensor<2x3xf32>, %s: tensor<f32>) -> tensor<2x3xf32> {
// CHECK-NEXT:     %all = ptir.broadcast_to %s result_shape = [2, 3] : tensor<f32> -> tensor<2x3xf32>
// CHECK-NEXT:     %y = ptir.mul %x, %all : tensor<2x3xf32>
