// RUN: MIND_INVALID

// CHECK: error[E4006]: IndexScatter %0: 1 indices for rank 2, expected one per dimension
func.func @length(%u: tensor<f32>) {
  %0 = mind.index_scatter %u shape = [3, 4] indices = [2] : tensor<f32> -> tensor<3x4xf32>
  func.return
}

// -----

// CHECK: error[E3002]: IndexScatter %0: rank 1, expected 0 for the update
func.func @update_rank(%u: tensor<1xf32>) {
  %0 = mind.index_scatter %u shape = [3] indices = [2] : tensor<1xf32> -> tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E3006]: IndexScatter %0: extent -3 at 0 in [-3], expected non-negative
func.func @negative(%u: tensor<f32>) {
  %0 = mind.index_scatter %u shape = [-3] indices = [2] : tensor<f32> -> tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E4015]: IndexScatter %0: declared result tensor<4xf32>, inferred tensor<3xf32>
func.func @declared_shape(%u: tensor<f32>) {
  %0 = mind.index_scatter %u shape = [3] indices = [2] : tensor<f32> -> tensor<4xf32>
  func.return
}
