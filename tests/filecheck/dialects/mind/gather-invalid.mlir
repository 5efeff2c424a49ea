// RUN: MIND_INVALID

// CHECK: error[E4011]: Gather %0: indices have dtype f32, expected i32 or i64
func.func @index_dtype(%x: tensor<5x3xf32>, %i: tensor<2xf32>) {
  %0 = mind.gather %x, %i : (tensor<5x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E3002]: Gather %0: rank 0, expected at least 1
func.func @rank_0(%x: tensor<f32>, %i: tensor<2xi64>) {
  %0 = mind.gather %x, %i : (tensor<f32>, tensor<2xi64>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2005]: input 0 of @dtype: tensor elements must be one of ['i32', 'i64', 'f32', 'f64'], found i1
func.func @dtype(%x: tensor<5xi1>, %i: tensor<2xi64>) {
  %0 = mind.gather %x, %i : (tensor<5xi1>, tensor<2xi64>) -> tensor<2xi1>
  func.return
}

// -----

// CHECK: error[E4015]: Gather %0: declared result tensor<2x4xf32>, inferred tensor<2x4x3xf32>
func.func @declared_shape(%x: tensor<5x3xf32>, %i: tensor<2x4xi64>) {
  %0 = mind.gather %x, %i : (tensor<5x3xf32>, tensor<2x4xi64>) -> tensor<2x4xf32>
  func.return
}

// -----

// CHECK: error[E2007]: Gather %0: expects 2 operands, found 1
func.func @operand_count(%x: tensor<5xf32>) {
  %0 = "mind.gather"(%x) : (tensor<5xf32>) -> tensor<5xf32>
  func.return
}
