// RUN: MIND_INVALID

// CHECK: error[E4005]: element 9223372036854775808 of a i64 constant is outside -2^63 .. 2^63 - 1
func.func @too_large() {
  %0 = mind.const_i64 9223372036854775808 : tensor<i64>
  func.return
}

// -----

// CHECK: error[E4005]: element 1.5 of a i64 constant is no integer
func.func @fraction() {
  %0 = mind.const_i64 1.5 : tensor<i64>
  func.return
}

// -----

// CHECK: error[E4005]: element nan of a i64 constant is no integer
func.func @nan() {
  %0 = mind.const_i64 nan : tensor<i64>
  func.return
}

// -----

// CHECK: error[E1005]: a number of 1010 characters, expected at most 1000
func.func @digits() {
  %0 = mind.const_i64 12345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890 : tensor<i64>
  func.return
}

// -----

// CHECK: error[E1007]: expected a number of type i64
func.func @no_number() {
  %0 = mind.const_i64 x : tensor<i64>
  func.return
}

// -----

// CHECK: error[E4000]: ConstI64 %0: has attributes [], expected ['value']
func.func @no_value() {
  %0 = "mind.const_i64"() : () -> tensor<i64>
  func.return
}

// -----

// CHECK: error[E4005]: ConstI64 %0: value 1 : i32, expected a number of type i64
func.func @another_kind() {
  %0 = "mind.const_i64"() <{value = 1 : i32}> : () -> tensor<i64>
  func.return
}

// -----

// CHECK: error[E2007]: ConstI64 %0: expects 0 operands, found 1
func.func @operands(%x: tensor<i64>) {
  %0 = "mind.const_i64"(%x) <{value = 1 : i64}> : (tensor<i64>) -> tensor<i64>
  func.return
}

// -----

// CHECK: error[E4015]: ConstI64 %0: declared result tensor<i32>, inferred tensor<i64>
func.func @declared_dtype() {
  %0 = mind.const_i64 1 : tensor<i32>
  func.return
}

// -----

// CHECK: error[E4015]: ConstI64 %0: declared result tensor<1xi64>, inferred tensor<i64>
func.func @declared_shape() {
  %0 = mind.const_i64 1 : tensor<1xi64>
  func.return
}
