// RUN: MIND_INVALID

// CHECK: error[E3004]: Sum %0: axis 3 is out of range for rank 3, expected 0 <= axis < 3
func.func @axis_range(%x: tensor<2x3x4xf32>) {
  %0 = mind.sum %x axes = [3] keepdims = false : tensor<2x3x4xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E3004]: Sum %0: axis -1 is out of range for rank 3, expected 0 <= axis < 3
func.func @negative_axis(%x: tensor<2x3x4xf32>) {
  %0 = mind.sum %x axes = [-1] keepdims = false : tensor<2x3x4xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E3004]: Sum %0: axis -4 is out of range for rank 3, expected -3 <= axis < 3
func.func @negative_axis_range(%x: tensor<2x3x4xf32>) attributes {mind.profile = "core-v1.1"} {
  %0 = mind.sum %x axes = [-4] keepdims = false : tensor<2x3x4xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E3005]: Sum %0: axis 1 is given twice in [0, 1, 1]
func.func @duplicate_axis(%x: tensor<2x3x4xf32>) {
  %0 = mind.sum %x axes = [0, 1, 1] keepdims = false : tensor<2x3x4xf32> -> tensor<4xf32>
  func.return
}

// -----

// CHECK: error[E3005]: Sum %0: axis 2 is given twice in [2, -1]
func.func @duplicate_negative_axis(%x: tensor<2x3x4xf32>) attributes {mind.profile = "core-v1.1"} {
  %0 = mind.sum %x axes = [2, -1] keepdims = false : tensor<2x3x4xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E4015]: Sum %0: declared result tensor<2x4xf32>, inferred tensor<2x1x4xf32>
func.func @declared_shape(%x: tensor<2x3x4xf32>) {
  %0 = mind.sum %x axes = [1] keepdims = true : tensor<2x3x4xf32> -> tensor<2x4xf32>
  func.return
}

// -----

// CHECK: error[E4015]: Sum %0: declared result tensor<2x4xf64>, inferred tensor<2x4xf32>
func.func @declared_dtype(%x: tensor<2x3x4xf32>) {
  %0 = mind.sum %x axes = [1] keepdims = false : tensor<2x3x4xf32> -> tensor<2x4xf64>
  func.return
}

// -----

// CHECK: error[E4000]: Sum %0: has attributes ['axes'], expected ['axes', 'keepdims']
func.func @no_keepdims(%x: tensor<2x3x4xf32>) {
  %0 = mind.sum %x axes = [0] : tensor<2x3x4xf32> -> tensor<3x4xf32>
  func.return
}

// -----

// CHECK: error[E1007]: expected boolean literal
func.func @keepdims_kind(%x: tensor<2x3x4xf32>) {
  %0 = mind.sum %x axes = [0] keepdims = 1 : tensor<2x3x4xf32> -> tensor<3x4xf32>
  func.return
}

// -----

// CHECK: error[E4000]: Sum %0: expected a list of i64 (array<i64: ...>), found [0 : i64]
func.func @axes_kind(%x: tensor<2x3x4xf32>) {
  %0 = "mind.sum"(%x) <{axes = [0], keepdims = false}> : (tensor<2x3x4xf32>) -> tensor<3x4xf32>
  func.return
}

// -----

// CHECK: error[E4000]: Sum: unexpected attribute 'axes', expected ['keepdims']
func.func @axes_twice(%x: tensor<2x3x4xf32>) {
  %0 = mind.sum %x axes = [0] axes = [0] keepdims = false : tensor<2x3x4xf32> -> tensor<3x4xf32>
  func.return
}

// -----

// CHECK: error[E4000]: expected a list of i64 (array<i64: ...>), found [9223372036854775808]
func.func @huge_axis(%x: tensor<2x3x4xf32>) {
  %0 = mind.sum %x axes = [9223372036854775808] keepdims = false : tensor<2x3x4xf32> -> tensor<f32>
  func.return
}

// -----

// CHECK: error[E2005]: Sum %0: tensor elements must be one of ['i32', 'i64', 'f32', 'f64'], found i1
func.func @dtype() {
  %x = "test.op"() : () -> tensor<2xi1>
  %0 = mind.sum %x axes = [0] keepdims = false : tensor<2xi1> -> tensor<i1>
  func.return
}

// -----

// CHECK: error[E2007]: Sum %0: expects 1 operands, found 0
func.func @operand_count(%x: tensor<2x3x4xf32>) {
  %0 = "mind.sum"() <{axes = array<i64: 0>, keepdims = false}> : () -> tensor<f32>
  func.return
}
