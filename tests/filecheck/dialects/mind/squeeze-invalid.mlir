// RUN: MIND_INVALID

// CHECK: error[E3009]: Squeeze %0: cannot squeeze axis 1 of [1, 2, 1]: its extent is 2, expected 1
func.func @extent(%x: tensor<1x2x1xf32>) {
  %0 = mind.squeeze %x axes = [1] : tensor<1x2x1xf32> -> tensor<1x1xf32>
  func.return
}

// -----

// CHECK: error[E3004]: Squeeze %0: axis 3 is out of range for rank 3, expected 0 <= axis < 3
func.func @axis_range(%x: tensor<1x2x1xf32>) {
  %0 = mind.squeeze %x axes = [3] : tensor<1x2x1xf32> -> tensor<1x2xf32>
  func.return
}

// -----

// CHECK: error[E3004]: Squeeze %0: axis -1 is out of range for rank 3, expected 0 <= axis < 3
func.func @negative_axis(%x: tensor<1x2x1xf32>) {
  %0 = mind.squeeze %x axes = [-1] : tensor<1x2x1xf32> -> tensor<1x2xf32>
  func.return
}

// -----

// CHECK: error[E3005]: Squeeze %0: axis 0 is given twice in [0, 0]
func.func @duplicate(%x: tensor<1x2x1xf32>) {
  %0 = mind.squeeze %x axes = [0, 0] : tensor<1x2x1xf32> -> tensor<2x1xf32>
  func.return
}

// -----

// CHECK: error[E4015]: Squeeze %0: declared result tensor<1x2xf32>, inferred tensor<2x1xf32>
func.func @declared_shape(%x: tensor<1x2x1xf32>) {
  %0 = mind.squeeze %x axes = [0] : tensor<1x2x1xf32> -> tensor<1x2xf32>
  func.return
}

// -----

// CHECK: error[E4000]: Squeeze %0: has attributes [], expected ['axes']
func.func @no_axes(%x: tensor<1x2x1xf32>) {
  %0 = mind.squeeze %x : tensor<1x2x1xf32>
  func.return
}
