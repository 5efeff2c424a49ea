// RUN: MIND_INVALID

// CHECK: error[E3003]: MatMul %0: cannot contract [2, 3] with [4, 5]: 3 and 4, expected equal
func.func @contraction(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>) {
  %0 = mind.matmul %x, %y : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  func.return
}

// -----

// CHECK: error[E3002]: MatMul %0: rank 1, expected at least 2
func.func @rank_1(%x: tensor<3xf32>, %y: tensor<3x4xf32>) {
  %0 = mind.matmul %x, %y : (tensor<3xf32>, tensor<3x4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: error[E3002]: MatMul %0: rank 0, expected at least 2
func.func @rank_0(%x: tensor<2x3xf32>, %y: tensor<f32>) {
  %0 = mind.matmul %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E3001]: MatMul %0: cannot broadcast [5] with [6]: 5 and 6 at dimension 0, expected equal or 1
func.func @batches(%x: tensor<5x2x3xf32>, %y: tensor<6x3x4xf32>) {
  %0 = mind.matmul %x, %y : (tensor<5x2x3xf32>, tensor<6x3x4xf32>) -> tensor<5x2x4xf32>
  func.return
}

// -----

// CHECK: error[E2004]: MatMul %0: operands of dtypes f32 and i32, expected one dtype
func.func @mixed_dtypes(%x: tensor<2x3xf32>, %y: tensor<3x4xi32>) {
  %0 = mind.matmul %x, %y : (tensor<2x3xf32>, tensor<3x4xi32>) -> tensor<2x4xf32>
  func.return
}

// -----

// CHECK: error[E4015]: MatMul %0: declared result tensor<4x2xf32>, inferred tensor<2x4xf32>
func.func @declared_shape(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) {
  %0 = mind.matmul %x, %y : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<4x2xf32>
  func.return
}
