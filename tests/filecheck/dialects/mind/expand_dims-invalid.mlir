// RUN: MIND_INVALID

// CHECK: error[E3004]: ExpandDims %0: axis 3 is out of range for rank 3, expected 0 <= axis < 3
func.func @axis_range(%x: tensor<2x3xf32>) {
  %0 = mind.expand_dims %x axes = [3] : tensor<2x3xf32> -> tensor<2x3x1xf32>
  func.return
}

// -----

// CHECK: error[E3004]: ExpandDims %0: axis -1 is out of range for rank 3, expected 0 <= axis < 3
func.func @negative_axis(%x: tensor<2x3xf32>) {
  %0 = mind.expand_dims %x axes = [-1] : tensor<2x3xf32> -> tensor<2x3x1xf32>
  func.return
}

// -----

// CHECK: error[E3005]: ExpandDims %0: axis 0 is given twice in [0, 0]
func.func @duplicate(%x: tensor<2x3xf32>) {
  %0 = mind.expand_dims %x axes = [0, 0] : tensor<2x3xf32> -> tensor<1x1x2x3xf32>
  func.return
}

// -----

// CHECK: error[E4015]: ExpandDims %0: declared result tensor<2x1x3xf32>, inferred tensor<1x2x3xf32>
func.func @declared_shape(%x: tensor<2x3xf32>) {
  %0 = mind.expand_dims %x axes = [0] : tensor<2x3xf32> -> tensor<2x1x3xf32>
  func.return
}

// -----

// CHECK: error[E4000]: ExpandDims %0: has attributes [], expected ['axes']
func.func @no_axes(%x: tensor<2x3xf32>) {
  %0 = mind.expand_dims %x : tensor<2x3xf32>
  func.return
}
