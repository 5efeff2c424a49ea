// RUN: MIND_INVALID

// CHECK: error[E4006]: Index %0: 1 indices for rank 2, expected one per dimension
func.func @too_few(%x: tensor<2x3xf32>) {
  %0 = mind.index %x indices = [1] : tensor<2x3xf32> -> tensor<f32>
  func.return
}

// -----

// CHECK: error[E4006]: Index %0: 3 indices for rank 2, expected one per dimension
func.func @too_many(%x: tensor<2x3xf32>) {
  %0 = mind.index %x indices = [1, 2, 0] : tensor<2x3xf32> -> tensor<f32>
  func.return
}

// -----

// CHECK: error[E4015]: Index %0: declared result tensor<3xf32>, inferred tensor<f32>
func.func @declared_shape(%x: tensor<2x3xf32>) {
  %0 = mind.index %x indices = [1, 2] : tensor<2x3xf32> -> tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E4000]: Index %0: has attributes [], expected ['indices']
func.func @no_indices(%x: tensor<2x3xf32>) {
  %0 = mind.index %x : tensor<2x3xf32> -> tensor<f32>
  func.return
}
