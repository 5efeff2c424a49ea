// RUN: MIND_INVALID

// CHECK: error[E4005]: 1.8e308 is beyond the finite range of f64
func.func @too_large() {
  %0 = mind.const_f64 1.8e308 : tensor<f64>
  func.return
}

// -----

// CHECK: error[E4005]: 1.0e400 is beyond the finite range of f64
func.func @much_too_large() {
  %0 = mind.const_f64 1.0e400 : tensor<f64>
  func.return
}

// -----

// CHECK: error[E1007]: expected a number of type f64
func.func @no_number() {
  %0 = mind.const_f64 x : tensor<f64>
  func.return
}

// -----

// CHECK: error[E1007]: integer or float literal expected
func.func @minus_nan() {
  %0 = mind.const_f64 -nan : tensor<f64>
  func.return
}

// -----

// CHECK: error[E4000]: ConstF64 %0: has attributes [], expected ['value']
func.func @no_value() {
  %0 = "mind.const_f64"() : () -> tensor<f64>
  func.return
}

// -----

// CHECK: error[E4005]: ConstF64 %0: value 1 : i64, expected a number of type f64
func.func @another_kind() {
  %0 = "mind.const_f64"() <{value = 1 : i64}> : () -> tensor<f64>
  func.return
}

// -----

// CHECK: error[E2007]: ConstF64 %0: expects 0 operands, found 1
func.func @operands(%x: tensor<f64>) {
  %0 = "mind.const_f64"(%x) <{value = 1.0 : f64}> : (tensor<f64>) -> tensor<f64>
  func.return
}

// -----

// CHECK: error[E4015]: ConstF64 %0: declared result tensor<f32>, inferred tensor<f64>
func.func @declared_dtype() {
  %0 = mind.const_f64 1.0 : tensor<f32>
  func.return
}

// -----

// CHECK: error[E4015]: ConstF64 %0: declared result tensor<1xf64>, inferred tensor<f64>
func.func @declared_shape() {
  %0 = mind.const_f64 1.0 : tensor<1xf64>
  func.return
}
