// RUN: mind-opt %s --ptir-convolve-patches | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// The cotangent is the window; the images, and the places of the filter, are what it slides along.
// CHECK-LABEL: func.func @filter_gradient
// CHECK-NEXT:  [[S:%[a-z0-9_.]+]] = ptir.slice %x starts = [0, 0, 0] sizes = [2, 8, 3] : tensor<2x9x3xf32> -> tensor<2x8x3xf32>
// CHECK-NEXT:  [[A:%[a-z0-9_.]+]] = ptir.reshape [[S]] new_shape = [2, 8, 1, 3] : tensor<2x8x3xf32> -> tensor<2x8x1x3xf32>
// CHECK-NEXT:  [[L:%[a-z0-9_.]+]] = ptir.transpose [[A]] perm = [3, 0, 1, 2] : tensor<2x8x1x3xf32> -> tensor<3x2x8x1xf32>
// CHECK-NEXT:  [[R:%[a-z0-9_.]+]] = ptir.reshape %g new_shape = [2, 4, 1, 5] : tensor<2x4x5xf32> -> tensor<2x4x1x5xf32>
// CHECK-NEXT:  [[C:%[a-z0-9_.]+]] = ptir.convolution [[L]], [[R]] strides = [1, 1] padding = {{\[\[}}0, 0], [1, 0]] base_dilation = [1, 1] window_dilation = [1, 2] feature_group_count = 1 : (tensor<3x2x8x1xf32>, tensor<2x4x1x5xf32>) -> tensor<3x1x3x5xf32>
// CHECK-NEXT:  [[V:%[a-z0-9_.]+]] = ptir.reshape [[C]] new_shape = [3, 3, 1, 5] : tensor<3x1x3x5xf32> -> tensor<3x3x1x5xf32>
// CHECK-NEXT:  [[T:%[a-z0-9_.]+]] = ptir.transpose [[V]] perm = [1, 0, 2, 3] : tensor<3x3x1x5xf32>
// CHECK-NEXT:  %r = ptir.reshape [[T]] new_shape = [9, 5] : tensor<3x3x1x5xf32> -> tensor<9x5xf32>
// CHECK-NEXT:  func.return %r : tensor<9x5xf32>
func.func @filter_gradient(%x: tensor<2x9x3xf32>, %g: tensor<2x4x5xf32>) -> tensor<9x5xf32> {
  %p = ptir.extract_patches %x window = [3] strides = [2] dilation = [1] padding = [[1, 0]] pad_value = 0.0 : f32 : tensor<2x9x3xf32> -> tensor<2x4x9xf32>
  %r = ptir.dot_general %p, %g batch_lhs = [] batch_rhs = [] contract_lhs = [0, 1] contract_rhs = [0, 1] : (tensor<2x4x9xf32>, tensor<2x4x5xf32>) -> tensor<9x5xf32>
  func.return %r : tensor<9x5xf32>
}

// Patches that another op reads are stored anyway.
// CHECK-LABEL: func.func @shared
// CHECK-NEXT:  %p = ptir.extract_patches
// CHECK-NEXT:  %r = ptir.dot_general
// CHECK-NEXT:  func.return
func.func @shared(%x: tensor<2x9x3xf32>, %g: tensor<2x4x5xf32>) -> (tensor<2x4x9xf32>, tensor<9x5xf32>) {
  %p = ptir.extract_patches %x window = [3] strides = [2] dilation = [1] padding = [[1, 0]] pad_value = 0.0 : f32 : tensor<2x9x3xf32> -> tensor<2x4x9xf32>
  %r = ptir.dot_general %p, %g batch_lhs = [] batch_rhs = [] contract_lhs = [0, 1] contract_rhs = [0, 1] : (tensor<2x4x9xf32>, tensor<2x4x5xf32>) -> tensor<9x5xf32>
  func.return %p, %r : tensor<2x4x9xf32>, tensor<9x5xf32>
}
}
