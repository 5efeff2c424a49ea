// RUN: mind-opt %s --ptir-fuse --ptir-fuse-convolutions | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// Bias and activation run on results in registers.
// CHECK-LABEL: func.func @bias
// CHECK-NEXT:  [[R:%[a-z0-9_.]+]] = ptir.fusion %x, %w, %b : (tensor<1x5x2xf32>, tensor<3x2x4xf32>, tensor<4xf32>) -> tensor<1x3x4xf32> body {
// CHECK-NEXT:  ^bb0([[X_1:%[a-z0-9_.]+]]: tensor<1x5x2xf32>, [[W_1:%[a-z0-9_.]+]]: tensor<3x2x4xf32>, [[B_1:%[a-z0-9_.]+]]: tensor<4xf32>):
// CHECK-NEXT:    [[C:%[a-z0-9_.]+]] = ptir.convolution [[X_1]], [[W_1]] strides = [1] padding = {{\[\[}}0, 0]] base_dilation = [1] window_dilation = [1] feature_group_count = 1 : (tensor<1x5x2xf32>, tensor<3x2x4xf32>) -> tensor<1x3x4xf32>
// CHECK-NEXT:    [[T:%[a-z0-9_.]+]] = ptir.broadcast_to [[B_1]] result_shape = [1, 3, 4] : tensor<4xf32> -> tensor<1x3x4xf32>
// CHECK-NEXT:    [[S:%[a-z0-9_.]+]] = ptir.add [[C]], [[T]] : tensor<1x3x4xf32>
// CHECK-NEXT:    [[R_1:%[a-z0-9_.]+]] = ptir.tanh [[S]] : tensor<1x3x4xf32>
// CHECK-NEXT:    ptir.yield [[R_1]] : tensor<1x3x4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return [[R]] : tensor<1x3x4xf32>
func.func @bias(%x: tensor<1x5x2xf32>, %w: tensor<3x2x4xf32>, %b: tensor<4xf32>) -> tensor<1x3x4xf32> {
  %c = ptir.convolution %x, %w strides = [1] padding = [[0, 0]] base_dilation = [1] window_dilation = [1] feature_group_count = 1 : (tensor<1x5x2xf32>, tensor<3x2x4xf32>) -> tensor<1x3x4xf32>
  %t = ptir.broadcast_to %b result_shape = [1, 3, 4] : tensor<4xf32> -> tensor<1x3x4xf32>
  %s = ptir.add %c, %t : tensor<1x3x4xf32>
  %r = ptir.tanh %s : tensor<1x3x4xf32>
  func.return %r : tensor<1x3x4xf32>
}

// Another op reads the result of the convolution.
// CHECK-LABEL: func.func @shared
// CHECK-NEXT:  [[C:%[a-z0-9_.]+]] = ptir.convolution %x, %w strides = [1] padding = {{\[\[}}0, 0]] base_dilation = [1] window_dilation = [1] feature_group_count = 1 : (tensor<1x5x2xf32>, tensor<3x2x4xf32>) -> tensor<1x3x4xf32>
// CHECK-NEXT:  [[R:%[a-z0-9_.]+]] = ptir.tanh [[C]] : tensor<1x3x4xf32>
// CHECK-NEXT:  func.return [[C]], [[R]] : tensor<1x3x4xf32>, tensor<1x3x4xf32>
func.func @shared(%x: tensor<1x5x2xf32>, %w: tensor<3x2x4xf32>) -> (tensor<1x3x4xf32>, tensor<1x3x4xf32>) {
  %c = ptir.convolution %x, %w strides = [1] padding = [[0, 0]] base_dilation = [1] window_dilation = [1] feature_group_count = 1 : (tensor<1x5x2xf32>, tensor<3x2x4xf32>) -> tensor<1x3x4xf32>
  %r = ptir.tanh %c : tensor<1x3x4xf32>
  func.return %c, %r : tensor<1x3x4xf32>, tensor<1x3x4xf32>
}
}
