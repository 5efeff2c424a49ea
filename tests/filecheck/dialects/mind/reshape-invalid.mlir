// RUN: MIND_INVALID

// CHECK: error[E3007]: Reshape %0: cannot reshape [2, 3] (6 elements) to [2, 4] (8 elements)
func.func @count(%x: tensor<2x3xf32>) {
  %0 = mind.reshape %x new_shape = [2, 4] : tensor<2x3xf32> -> tensor<2x4xf32>
  func.return
}

// -----

// CHECK: error[E3006]: Reshape %0: extent -1 at 1 in [1, -1], expected positive
func.func @two_inferred(%x: tensor<2x3xf32>) {
  %0 = mind.reshape %x new_shape = [-1, -1] : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E3007]: Reshape %0: cannot reshape [2, 3] (6 elements) to [4, -1] (4 elements)
func.func @not_divisible(%x: tensor<2x3xf32>) {
  %0 = mind.reshape %x new_shape = [4, -1] : tensor<2x3xf32> -> tensor<4x1xf32>
  func.return
}

// -----

// CHECK: error[E3006]: Reshape %0: extent 0 at 0 in [0, 3], expected positive
func.func @extent_0(%x: tensor<2x3xf32>) {
  %0 = mind.reshape %x new_shape = [0, 3] : tensor<2x3xf32> -> tensor<0x3xf32>
  func.return
}

// -----

// CHECK: error[E3006]: Reshape %0: extent -2 at 0 in [-2, 3], expected positive
func.func @negative(%x: tensor<2x3xf32>) {
  %0 = mind.reshape %x new_shape = [-2, 3] : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E4015]: Reshape %0: declared result tensor<2x3xf32>, inferred tensor<6xf32>
func.func @declared_shape(%x: tensor<2x3xf32>) {
  %0 = mind.reshape %x new_shape = [6] : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E3007]: Reshape %0: cannot reshape [0] (0 elements) to [-1] (1 elements)
func.func @inferred_from_nothing(%x: tensor<4xf32>) {
  %e = mind.slice %x starts = [1] ends = [1] steps = [1] : tensor<4xf32> -> tensor<0xf32>
  %0 = mind.reshape %e new_shape = [-1] : tensor<0xf32>
  func.return
}

// -----

// CHECK: error[E4000]: Reshape %0: has attributes [], expected ['new_shape']
func.func @no_shape(%x: tensor<2x3xf32>) {
  %0 = mind.reshape %x : tensor<2x3xf32> -> tensor<6xf32>
  func.return
}

// -----

// CHECK: error[E1007]: '[' expected
func.func @shape_kind(%x: tensor<2x3xf32>) {
  %0 = mind.reshape %x new_shape = 6 : tensor<2x3xf32> -> tensor<6xf32>
  func.return
}
