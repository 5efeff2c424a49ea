// RUN: mind-opt %s --ptir-split-windows | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// CHECK-LABEL: func.func @overlapping
// CHECK-NEXT:  [[A:%[a-z0-9_.]+]] = ptir.reduce_window %x kind = max window_dims = [1, 1, 5, 1] strides = [1, 1, 2, 1] padding = {{\[\[}}0, 0], [0, 0], [2, 1], [0, 0]] base_dilation = [1, 1, 1, 1] window_dilation = [1, 1, 1, 1] : tensor<1x4x20x16xf32> -> tensor<1x4x10x16xf32>
// CHECK-NEXT:  %y = ptir.reduce_window [[A]] kind = max window_dims = [1, 1, 1, 3] strides = [1, 1, 1, 1] padding = {{\[\[}}0, 0], [0, 0], [0, 0], [2, 2]] base_dilation = [1, 1, 1, 1] window_dilation = [1, 1, 1, 2] : tensor<1x4x10x16xf32>
// CHECK-NEXT:  func.return %y
func.func @overlapping(%x: tensor<1x4x20x16xf32>) -> tensor<1x4x10x16xf32> {
  %y = ptir.reduce_window %x kind = max window_dims = [1, 1, 5, 3] strides = [1, 1, 2, 1] padding = [[0, 0], [0, 0], [2, 1], [2, 2]] base_dilation = [1, 1, 1, 1] window_dilation = [1, 1, 1, 2] : tensor<1x4x20x16xf32> -> tensor<1x4x10x16xf32>
  func.return %y : tensor<1x4x10x16xf32>
}

// Windows side by side are read once as they are.
// CHECK-LABEL: func.func @side_by_side
// CHECK-NEXT:  ptir.reduce_window %x
// CHECK-NEXT:  func.return
func.func @side_by_side(%x: tensor<1x4x20x16xf32>) -> tensor<1x4x10x8xf32> {
  %y = ptir.reduce_window %x kind = max window_dims = [1, 1, 2, 2] strides = [1, 1, 2, 2] padding = [[0, 0], [0, 0], [0, 0], [0, 0]] base_dilation = [1, 1, 1, 1] window_dilation = [1, 1, 1, 1] : tensor<1x4x20x16xf32> -> tensor<1x4x10x8xf32>
  func.return %y : tensor<1x4x10x8xf32>
}

// The rounding of sums depends on their order.
// CHECK-LABEL: func.func @sums
// CHECK-NEXT:  ptir.reduce_window %x
// CHECK-NEXT:  func.return
func.func @sums(%x: tensor<1x4x20x16xf32>) -> tensor<1x4x16x12xf32> {
  %y = ptir.reduce_window %x kind = sum window_dims = [1, 1, 5, 5] strides = [1, 1, 1, 1] padding = [[0, 0], [0, 0], [0, 0], [0, 0]] base_dilation = [1, 1, 1, 1] window_dilation = [1, 1, 1, 1] : tensor<1x4x20x16xf32> -> tensor<1x4x16x12xf32>
  func.return %y : tensor<1x4x16x12xf32>
}
}
