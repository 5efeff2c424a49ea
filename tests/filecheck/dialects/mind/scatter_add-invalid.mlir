// RUN: MIND_INVALID

// CHECK: error[E3002]: ScatterAdd %0: rank 2, expected 1 for the updates
func.func @rank(%i: tensor<2xi64>, %u: tensor<2x3xf32>) {
  %0 = mind.scatter_add %i, %u shape = [5] : (tensor<2xi64>, tensor<2x3xf32>) -> tensor<5xf32>
  func.return
}

// -----

// CHECK: error[E3001]: ScatterAdd %0: updates has shape [2, 3], expected [2, 4]
func.func @extent(%i: tensor<2xi64>, %u: tensor<2x3xf32>) {
  %0 = mind.scatter_add %i, %u shape = [5, 4] : (tensor<2xi64>, tensor<2x3xf32>) -> tensor<5x4xf32>
  func.return
}

// -----

// CHECK: error[E3002]: ScatterAdd %0: rank 0, expected at least 1
func.func @target_rank_0(%i: tensor<2xi64>, %u: tensor<2x3xf32>) {
  %0 = mind.scatter_add %i, %u shape = [] : (tensor<2xi64>, tensor<2x3xf32>) -> tensor<f32>
  func.return
}

// -----

// CHECK: error[E4011]: ScatterAdd %0: indices have dtype f32, expected i32 or i64
func.func @index_dtype(%i: tensor<2xf32>, %u: tensor<2x3xf32>) {
  %0 = mind.scatter_add %i, %u shape = [5, 3] : (tensor<2xf32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  func.return
}

// -----

// CHECK: error[E3006]: ScatterAdd %0: extent -5 at 0 in [-5, 3], expected non-negative
func.func @negative(%i: tensor<2xi64>, %u: tensor<2x3xf32>) {
  %0 = mind.scatter_add %i, %u shape = [-5, 3] : (tensor<2xi64>, tensor<2x3xf32>) -> tensor<5x3xf32>
  func.return
}

// -----

// CHECK: error[E4015]: ScatterAdd %0: declared result tensor<6x3xf32>, inferred tensor<5x3xf32>
func.func @declared_shape(%i: tensor<2xi64>, %u: tensor<2x3xf32>) {
  %0 = mind.scatter_add %i, %u shape = [5, 3] : (tensor<2xi64>, tensor<2x3xf32>) -> tensor<6x3xf32>
  func.return
}
