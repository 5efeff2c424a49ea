// RUN: mind-opt %s --ptir-gather-axes --ptir-canonicalize | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// Both transposes are gone.
// CHECK-LABEL: func.func @columns
// CHECK-NEXT:  [[I:%[a-z0-9_.]+]] = ptir.broadcast_to %i result_shape = [3, 2] : tensor<2xsi64> -> tensor<3x2xsi64>
// CHECK-NEXT:  [[R:%[a-z0-9_.]+]] = ptir.gather %x, [[I]] axis = 1 : (tensor<3x5xf32>, tensor<3x2xsi64>) -> tensor<3x2xf32>
// CHECK-NEXT:  func.return [[R]]
func.func @columns(%x: tensor<3x5xf32>, %i: tensor<2xsi64>) -> tensor<3x2xf32> {
  %t = ptir.transpose %x perm = [1, 0] : tensor<3x5xf32> -> tensor<5x3xf32>
  %y = ptir.take %t, %i : (tensor<5x3xf32>, tensor<2xsi64>) -> tensor<2x3xf32>
  %r = ptir.transpose %y perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  func.return %r : tensor<3x2xf32>
}

// What is read in the order of the rows stays.
// CHECK-LABEL: func.func @rows
// CHECK:       ptir.take
func.func @rows(%x: tensor<3x5xf32>, %i: tensor<2xsi64>) -> tensor<2x3xf32> {
  %t = ptir.transpose %x perm = [1, 0] : tensor<3x5xf32> -> tensor<5x3xf32>
  %y = ptir.take %t, %i : (tensor<5x3xf32>, tensor<2xsi64>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
}
