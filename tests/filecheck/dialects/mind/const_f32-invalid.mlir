// RUN: MIND_INVALID

// CHECK: error[E4005]: element 3.5e+38 of a f32 constant is beyond the finite range; write inf for infinity
func.func @too_large() {
  %0 = mind.const_f32 3.5e38 : tensor<f32>
  func.return
}

// -----

// CHECK: error[E4005]: 1.0e400 is beyond the finite range of f64
func.func @much_too_large() {
  %0 = mind.const_f32 1.0e400 : tensor<f32>
  func.return
}

// -----

// CHECK: error[E1007]: expected a number of type f32
func.func @no_number() {
  %0 = mind.const_f32 x : tensor<f32>
  func.return
}

// -----

// CHECK: error[E1007]: integer or float literal expected
func.func @minus_nan() {
  %0 = mind.const_f32 -nan : tensor<f32>
  func.return
}

// -----

// CHECK: error[E4000]: ConstF32 %0: has attributes [], expected ['value']
func.func @no_value() {
  %0 = "mind.const_f32"() : () -> tensor<f32>
  func.return
}

// -----

// CHECK: error[E4005]: ConstF32 %0: value 1 : i64, expected a number of type f32
func.func @another_kind() {
  %0 = "mind.const_f32"() <{value = 1 : i64}> : () -> tensor<f32>
  func.return
}

// -----

// CHECK: error[E2007]: ConstF32 %0: expects 0 operands, found 1
func.func @operands(%x: tensor<f32>) {
  %0 = "mind.const_f32"(%x) <{value = 1.0 : f32}> : (tensor<f32>) -> tensor<f32>
  func.return
}

// -----

// CHECK: error[E4015]: ConstF32 %0: declared result tensor<f64>, inferred tensor<f32>
func.func @declared_dtype() {
  %0 = mind.const_f32 1.0 : tensor<f64>
  func.return
}

// -----

// CHECK: error[E4015]: ConstF32 %0: declared result tensor<1xf32>, inferred tensor<f32>
func.func @declared_shape() {
  %0 = mind.const_f32 1.0 : tensor<1xf32>
  func.return
}
