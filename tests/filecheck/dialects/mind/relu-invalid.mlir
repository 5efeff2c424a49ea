// RUN: MIND_INVALID

// CHECK: error[E2007]: Relu %0: expects 1 operands, found 2
func.func @operand_count(%x: tensor<2xf32>) {
  %0 = mind.relu %x, %x : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E4000]: Relu %0: unknown attribute 'axis', expected []
func.func @unknown_attribute(%x: tensor<2xf32>) {
  %0 = mind.relu %x {axis = 1 : i64} : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2001]: Relu %0: expected a tensor, found f32
func.func @not_a_tensor() {
  %x = "test.op"() : () -> f32
  %0 = mind.relu %x : f32
  func.return
}

// -----

// CHECK: error[E4015]: Relu %0: declared result tensor<2xf32>, inferred tensor<2x1xf32>
func.func @declared_shape(%x: tensor<2x1xf32>) {
  %0 = mind.relu %x : tensor<2x1xf32> -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E4015]: Relu %0: declared result tensor<2xf64>, inferred tensor<2xf32>
func.func @declared_dtype(%x: tensor<2xf32>) {
  %0 = mind.relu %x : tensor<2xf32> -> tensor<2xf64>
  func.return
}

// -----

// CHECK: error[E2005]: Relu %0: takes dtypes ['f32', 'f64'], found i32
func.func @integers(%x: tensor<2xi32>) {
  %0 = mind.relu %x : tensor<2xi32>
  func.return
}

// -----

// CHECK: error[E2005]: Relu %0: tensor elements must be one of ['i32', 'i64', 'f32', 'f64'], found f16
func.func @half() {
  %x = "test.op"() : () -> tensor<2xf16>
  %0 = mind.relu %x : tensor<2xf16>
  func.return
}
