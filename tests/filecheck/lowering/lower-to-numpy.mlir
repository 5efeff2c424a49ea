// RUN: mind-opt %s --lower-to-numpy | filecheck %s

// Frees follow last uses; inputs are the caller's and are never freed.
func.func @frees(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %y = mind.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %z = mind.mul %y, %y : tensor<2x4xf32>
  %r = mind.relu %z : tensor<2x4xf32>
  %s = mind.add %r, %z : tensor<2x4xf32>
  func.return %s : tensor<2x4xf32>
}
// CHECK-LABEL: func.func @frees
// CHECK-NEXT:  %y = xp.call "xp.matmul"(%x, %w) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %z = xp.call "xp.multiply"(%y, %y) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  xp.free %y : tensor<2x4xf32>
// CHECK-NEXT:  %r = xp.call "k.keep_positive"(%z, %z) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %s = xp.call "xp.add"(%r, %z) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  xp.free %r, %z : tensor<2x4xf32>, tensor<2x4xf32>
// CHECK-NEXT:  xp.return %s : tensor<2x4xf32>

// An output that is an input, a constant, part of another value, or returned before is copied; rank 0 always is. What was computed
// from an input may have the strides of that input, and is put in row-major order if need be.
func.func @copies(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2xf32>, tensor<f32>) {
  %c = mind.constant fill 1.0 : tensor<2x3xf32>
  %y = mind.neg %x : tensor<2x3xf32>
  %t = mind.transpose %y permutation = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %s = mind.const_f32 nan : tensor<f32>
  func.return %x, %c, %y, %t, %s : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2xf32>, tensor<f32>
}
// CHECK-LABEL: func.func @copies
// CHECK-NEXT:  %c = xp.call "k.constant"() with {value = #ptir.literal<fill 1.0 : tensor<2x3xf32>>} : () -> tensor<2x3xf32>
// CHECK-NEXT:  %y = xp.call "xp.negative"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  %t = xp.call "k.transpose"(%y) with {perm = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT:  %s = xp.call "k.constant"() with {value = #ptir.literal<nan : tensor<f32>>} : () -> tensor<f32>
// CHECK-NEXT:  [[V0:%\d+]] = xp.call "k.copy"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  [[V1:%\d+]] = xp.call "k.copy"(%c) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  [[V2:%\d+]] = xp.call "k.row_major"(%y) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  xp.free %y : tensor<2x3xf32>
// CHECK-NEXT:  [[V3:%\d+]] = xp.call "k.copy"(%t) : (tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT:  xp.free %t : tensor<3x2xf32>
// CHECK-NEXT:  [[V4:%\d+]] = xp.call "k.copy"(%s) : (tensor<f32>) -> tensor<f32>
// CHECK-NEXT:  xp.return [[V0]], [[V1]], [[V2]], [[V3]], [[V4]] : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2xf32>, tensor<f32>

// A whole value under another shape needs no copy.
func.func @no_copy(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %y = mind.neg %x : tensor<2x3xf32>
  %r = mind.reshape %y new_shape = [-1] : tensor<2x3xf32> -> tensor<6xf32>
  func.return %r : tensor<6xf32>
}
// CHECK-LABEL: func.func @no_copy
// CHECK-NEXT:  %y = xp.call "xp.negative"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  %r = xp.call "k.reshape"(%y) with {new_shape = array<i64: 6>} : (tensor<2x3xf32>) -> tensor<6xf32>
// CHECK-NEXT:  xp.free %y : tensor<2x3xf32>
// CHECK-NEXT:  xp.return %r : tensor<6xf32>

// Properties are resolved: all axes where none are named, axes and bounds from the end, padding as numbers. A constant of one number
// is a scalar.
func.func @properties(%x: tensor<1x5x5x1xf32>, %w: tensor<2x2x1x2xf32>) -> (tensor<f32>, tensor<1x3x5x2xf32>, tensor<1x5x5x1xf32>)
    attributes {mind.profile = "core-v1.1"} {
  %m = mind.mean %x axes = [] keepdims = true : tensor<1x5x5x1xf32> -> tensor<f32>
  %n = mind.sum %x axes = [-1] keepdims = true : tensor<1x5x5x1xf32> -> tensor<1x5x5x1xf32>
  %c = mind.conv2d %x, %w strides = [2, 1] padding = Same : (tensor<1x5x5x1xf32>, tensor<2x2x1x2xf32>) -> tensor<1x3x5x2xf32>
  func.return %m, %c, %n : tensor<f32>, tensor<1x3x5x2xf32>, tensor<1x5x5x1xf32>
}
// CHECK-LABEL: func.func @properties
// CHECK-SAME:  attributes {mind.profile = "core-v1.1"}
// CHECK-NEXT:  [[S:%\d+]] = xp.call "xp.add.reduce"(%x) with {axis = array<i64: 0, 1, 2, 3>, keepdims = false, dtype = f32} : (tensor<1x5x5x1xf32>) -> tensor<f32>
// CHECK-NEXT:  [[N:%\d+]] = xp.call "k.constant"() with {value = #ptir.literal<25.0 : tensor<f32>>} : () -> tensor<f32>
// CHECK-NEXT:  %m = xp.call "xp.divide"([[S]], [[N]]) : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT:  xp.free [[S]] : tensor<f32>
// CHECK-NEXT:  %n = xp.call "xp.add.reduce"(%x) with {axis = array<i64: 3>, keepdims = true, dtype = f32} : (tensor<1x5x5x1xf32>) -> tensor<1x5x5x1xf32>
// CHECK-NEXT:  %c = xp.call "k.convolution"(%x, %w) with {strides = array<i64: 2, 1>, padding = [array<i64: 0, 1>, array<i64: 0, 1>], base_dilation = array<i64: 1, 1>, window_dilation = array<i64: 1, 1>, feature_group_count = 1 : i64} : (tensor<1x5x5x1xf32>, tensor<2x2x1x2xf32>) -> tensor<1x3x5x2xf32>

// Functions of other dialects stay.
func.func @foreign(%i: index) -> index {
  func.return %i : index
}
// CHECK-LABEL: func.func @foreign
// CHECK-NEXT:  func.return %i : index
