// RUN: mind-opt %s --ptir-wrap-ops | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// Elementwise ops take their broadcasts with them; what only moves elements stays.
// CHECK-LABEL: func.func @single
// CHECK-NEXT:  [[S:%[a-z0-9_.]+]] = ptir.fusion %x, %b : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32> body {
// CHECK-NEXT:  ^bb0([[X_1:%[a-z0-9_.]+]]: tensor<3x4xf32>, [[B_1:%[a-z0-9_.]+]]: tensor<4xf32>):
// CHECK-NEXT:    [[C:%[a-z0-9_.]+]] = ptir.broadcast_to [[B_1]] result_shape = [3, 4] : tensor<4xf32> -> tensor<3x4xf32>
// CHECK-NEXT:    [[S_1:%[a-z0-9_.]+]] = ptir.add [[X_1]], [[C]] : tensor<3x4xf32>
// CHECK-NEXT:    ptir.yield [[S_1]] : tensor<3x4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  [[T:%[a-z0-9_.]+]] = ptir.transpose %x perm = [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
// CHECK-NEXT:  func.return [[S]], [[T]] : tensor<3x4xf32>, tensor<4x3xf32>
func.func @single(%x: tensor<3x4xf32>, %b: tensor<4xf32>) -> (tensor<3x4xf32>, tensor<4x3xf32>) {
  %c = ptir.broadcast_to %b result_shape = [3, 4] : tensor<4xf32> -> tensor<3x4xf32>
  %s = ptir.add %x, %c : tensor<3x4xf32>
  %t = ptir.transpose %x perm = [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  func.return %s, %t : tensor<3x4xf32>, tensor<4x3xf32>
}
}
