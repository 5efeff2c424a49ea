// RUN: MIND_INVALID

// CHECK: error[E3003]: Dot %0: cannot contract [3] with [4]: 3 and 4, expected equal
func.func @contraction(%x: tensor<3xf32>, %y: tensor<4xf32>) {
  %0 = mind.dot %x, %y : (tensor<3xf32>, tensor<4xf32>) -> tensor<f32>
  func.return
}

// -----

// CHECK: error[E3003]: Dot %0: cannot contract [2, 3] with [4, 5]: 3 and 4, expected equal
func.func @contraction_of_matrices(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>) {
  %0 = mind.dot %x, %y : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  func.return
}

// -----

// CHECK: error[E3002]: Dot %0: rank 3, expected 1 or 2
func.func @rank_3(%x: tensor<2x3x4xf32>, %y: tensor<4xf32>) {
  %0 = mind.dot %x, %y : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E3002]: Dot %0: rank 0, expected 1 or 2
func.func @rank_0(%x: tensor<f32>, %y: tensor<3xf32>) {
  %0 = mind.dot %x, %y : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E2004]: Dot %0: operands of dtypes f32 and f64, expected one dtype
func.func @mixed_dtypes(%x: tensor<3xf32>, %y: tensor<3xf64>) {
  %0 = mind.dot %x, %y : (tensor<3xf32>, tensor<3xf64>) -> tensor<f32>
  func.return
}

// -----

// CHECK: error[E4015]: Dot %0: declared result tensor<2x1xf32>, inferred tensor<2xf32>
func.func @declared_shape(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
  %0 = mind.dot %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x1xf32>
  func.return
}
