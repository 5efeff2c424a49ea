// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

func.func @valid(%x: tensor<1x5x5x3xf32>, %w: tensor<3x3x3x8xf32>) {
  %0 = mind.conv2d %x, %w strides = [1, 1] padding = Valid : (tensor<1x5x5x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x3x3x8xf32>
  func.return
}
// CHECK-LABEL: func.func @valid(%x: tensor<1x5x5x3xf32>, %w: tensor<3x3x3x8xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.conv2d %x, %w strides = [1, 1] padding = Valid : (tensor<1x5x5x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x3x3x8xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "valid"
// GENERIC-NEXT: ^bb0(%x: tensor<1x5x5x3xf32>, %w: tensor<3x3x3x8xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.conv2d"(%x, %w) <{strides = array<i64: 1, 1>, padding = "Valid"}> : (tensor<1x5x5x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x3x3x8xf32>

// The extent is divided by the stride, rounded up.
func.func @same(%x: tensor<1x5x5x3xf32>, %w: tensor<3x3x3x8xf32>) {
  %0 = mind.conv2d %x, %w strides = [2, 2] padding = Same : (tensor<1x5x5x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x3x3x8xf32>
  func.return
}
// CHECK-LABEL: func.func @same(%x: tensor<1x5x5x3xf32>, %w: tensor<3x3x3x8xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.conv2d %x, %w strides = [2, 2] padding = Same : (tensor<1x5x5x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x3x3x8xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "same"
// GENERIC-NEXT: ^bb0(%x: tensor<1x5x5x3xf32>, %w: tensor<3x3x3x8xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.conv2d"(%x, %w) <{strides = array<i64: 2, 2>, padding = "Same"}> : (tensor<1x5x5x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x3x3x8xf32>

func.func @padded(%x: tensor<1x5x5x3xf32>, %w: tensor<3x3x3x8xf32>) {
  %0 = mind.conv2d %x, %w strides = [1, 1] padding = [[1, 2], [0, 1]] : (tensor<1x5x5x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x6x4x8xf32>
  func.return
}
// CHECK-LABEL: func.func @padded(%x: tensor<1x5x5x3xf32>, %w: tensor<3x3x3x8xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.conv2d %x, %w strides = [1, 1] padding = {{\[\[}}1, 2], [0, 1]] : (tensor<1x5x5x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x6x4x8xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "padded"
// GENERIC-NEXT: ^bb0(%x: tensor<1x5x5x3xf32>, %w: tensor<3x3x3x8xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.conv2d"(%x, %w) <{strides = array<i64: 1, 1>, padding = array<i64: 1, 2, 0, 1>}> : (tensor<1x5x5x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x6x4x8xf32>

func.func @f64(%x: tensor<2x4x4x1xf64>, %w: tensor<2x2x1x1xf64>) {
  %0 = mind.conv2d %x, %w strides = [3, 2] padding = Valid : (tensor<2x4x4x1xf64>, tensor<2x2x1x1xf64>) -> tensor<2x1x2x1xf64>
  func.return
}
// CHECK-LABEL: func.func @f64(%x: tensor<2x4x4x1xf64>, %w: tensor<2x2x1x1xf64>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.conv2d %x, %w strides = [3, 2] padding = Valid : (tensor<2x4x4x1xf64>, tensor<2x2x1x1xf64>) -> tensor<2x1x2x1xf64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "f64"
// GENERIC-NEXT: ^bb0(%x: tensor<2x4x4x1xf64>, %w: tensor<2x2x1x1xf64>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.conv2d"(%x, %w) <{strides = array<i64: 3, 2>, padding = "Valid"}> : (tensor<2x4x4x1xf64>, tensor<2x2x1x1xf64>) -> tensor<2x1x2x1xf64>
