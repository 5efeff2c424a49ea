// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

func.func @valid(%g: tensor<1x3x3x8xf32>, %w: tensor<3x3x3x8xf32>) {
  %0 = mind.conv2d_backward_input %g, %w shape = [1, 5, 5, 3] strides = [1, 1] padding = Valid : (tensor<1x3x3x8xf32>, tensor<3x3x3x8xf32>) -> tensor<1x5x5x3xf32>
  func.return
}
// CHECK-LABEL: func.func @valid(%g: tensor<1x3x3x8xf32>, %w: tensor<3x3x3x8xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.conv2d_backward_input %g, %w shape = [1, 5, 5, 3] strides = [1, 1] padding = Valid : (tensor<1x3x3x8xf32>, tensor<3x3x3x8xf32>) -> tensor<1x5x5x3xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "valid"
// GENERIC-NEXT: ^bb0(%g: tensor<1x3x3x8xf32>, %w: tensor<3x3x3x8xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.conv2d_backward_input"(%g, %w) <{shape = array<i64: 1, 5, 5, 3>, strides = array<i64: 1, 1>, padding = "Valid"}> : (tensor<1x3x3x8xf32>, tensor<3x3x3x8xf32>) -> tensor<1x5x5x3xf32>

func.func @same(%g: tensor<1x3x3x8xf32>, %w: tensor<3x3x3x8xf32>) {
  %0 = mind.conv2d_backward_input %g, %w shape = [1, 5, 5, 3] strides = [2, 2] padding = Same : (tensor<1x3x3x8xf32>, tensor<3x3x3x8xf32>) -> tensor<1x5x5x3xf32>
  func.return
}
// CHECK-LABEL: func.func @same(%g: tensor<1x3x3x8xf32>, %w: tensor<3x3x3x8xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.conv2d_backward_input %g, %w shape = [1, 5, 5, 3] strides = [2, 2] padding = Same : (tensor<1x3x3x8xf32>, tensor<3x3x3x8xf32>) -> tensor<1x5x5x3xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "same"
// GENERIC-NEXT: ^bb0(%g: tensor<1x3x3x8xf32>, %w: tensor<3x3x3x8xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.conv2d_backward_input"(%g, %w) <{shape = array<i64: 1, 5, 5, 3>, strides = array<i64: 2, 2>, padding = "Same"}> : (tensor<1x3x3x8xf32>, tensor<3x3x3x8xf32>) -> tensor<1x5x5x3xf32>

func.func @padded(%g: tensor<1x6x4x8xf32>, %w: tensor<3x3x3x8xf32>) {
  %0 = mind.conv2d_backward_input %g, %w shape = [1, 5, 5, 3] strides = [1, 1] padding = [[1, 2], [0, 1]] : (tensor<1x6x4x8xf32>, tensor<3x3x3x8xf32>) -> tensor<1x5x5x3xf32>
  func.return
}
// CHECK-LABEL: func.func @padded(%g: tensor<1x6x4x8xf32>, %w: tensor<3x3x3x8xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.conv2d_backward_input %g, %w shape = [1, 5, 5, 3] strides = [1, 1] padding = {{\[\[}}1, 2], [0, 1]] : (tensor<1x6x4x8xf32>, tensor<3x3x3x8xf32>) -> tensor<1x5x5x3xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "padded"
// GENERIC-NEXT: ^bb0(%g: tensor<1x6x4x8xf32>, %w: tensor<3x3x3x8xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.conv2d_backward_input"(%g, %w) <{shape = array<i64: 1, 5, 5, 3>, strides = array<i64: 1, 1>, padding = array<i64: 1, 2, 0, 1>}> : (tensor<1x6x4x8xf32>, tensor<3x3x3x8xf32>) -> tensor<1x5x5x3xf32>
