// RUN: MIND_INVALID

// CHECK: error[E3010]: literal has shape [2], declared is [3]
func.func @count() {
  %0 = mind.constant [1.0, 2.0] : tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E3010]: literal has shape [1, 2], declared is [2, 1]
func.func @shape() {
  %0 = mind.constant [[1.0, 2.0]] : tensor<2x1xf32>
  func.return
}

// -----

// CHECK: error[E3010]: ragged literal: the lists of one depth differ
func.func @ragged() {
  %0 = mind.constant [[1.0, 2.0], [3.0]] : tensor<2x2xf32>
  func.return
}

// -----

// CHECK: error[E3010]: ragged literal: the lists of one depth differ
func.func @ragged_rank() {
  %0 = mind.constant [1.0, [3.0]] : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E3010]: literal has shape [], declared is [3]
func.func @no_splat() {
  %0 = mind.constant 1.0 : tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E4005]: element 3.5 of a i32 constant is no integer
func.func @fraction() {
  %0 = mind.constant [3.5] : tensor<1xi32>
  func.return
}

// -----

// CHECK: error[E4005]: element 1099511627776 of a i32 constant is outside -2^31 .. 2^31 - 1
func.func @too_large() {
  %0 = mind.constant [1, 1099511627776] : tensor<2xi32>
  func.return
}

// -----

// CHECK: error[E4005]: element 1e+39 of a f32 constant is beyond the finite range; write inf for infinity
func.func @too_large_float() {
  %0 = mind.constant [1.0e39] : tensor<1xf32>
  func.return
}

// -----

// CHECK: error[E4005]: element 4294967296 of a i32 constant is outside -2^31 .. 2^31 - 1
func.func @too_large_fill() {
  %0 = mind.constant fill 4294967296 : tensor<2xi32>
  func.return
}

// -----

// CHECK: error[E3006]: ConstTensor %0: extent 0 at 0 in [0], expected positive
func.func @extent_0() {
  %0 = mind.constant fill 1.0 : tensor<0xf32>
  func.return
}

// -----

// CHECK: error[E3006]: extent ? at 0 in ['?'], expected static, 0 to 2^63 - 1
func.func @dynamic_extent() {
  %0 = mind.constant [1.0] : tensor<?xf32>
  func.return
}

// -----

// CHECK: error[E2005]: tensor elements must be one of ['i32', 'i64', 'f32', 'f64'], found f16
func.func @dtype() {
  %0 = mind.constant [1.0] : tensor<1xf16>
  func.return
}

// -----

// CHECK: error[E2001]: expected a tensor, found vector<1xf32>
func.func @no_tensor() {
  %0 = mind.constant [1.0] : vector<1xf32>
  func.return
}

// -----

// CHECK: error[E4005]: shape [2] requires 2 elements, found 1
func.func @bytes_count() {
  %0 = mind.constant "0x00000000" : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E4005]: a literal string must be 0x and hex digits
func.func @bytes_odd() {
  %0 = mind.constant "0x000" : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E4005]: a literal of shape [9999999999] has 9999999999 elements, at most 67108864 fit a literal
func.func @bytes_huge() {
  %0 = mind.constant "0x00000000" : tensor<9999999999xf32>
  func.return
}

// -----

// CHECK: error[E4005]: a literal string must be 0x and hex digits
func.func @no_bytes() {
  %0 = mind.constant "abc" : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E1007]: expected a number
func.func @unclosed() {
  %0 = mind.constant [1.0, : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E4000]: ConstTensor %0: has attributes [], expected ['value']
func.func @no_value() {
  %0 = "mind.constant"() : () -> tensor<f32>
  func.return
}

// -----

// CHECK: error[E4005]: ConstTensor %0: value dense<1.000000e+00> : tensor<2xf32>, expected a literal (#mind.literal<... : tensor<...>>)
func.func @another_kind() {
  %0 = "mind.constant"() <{value = dense<1.0> : tensor<2xf32>}> : () -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E4015]: ConstTensor %0: declared result tensor<2xf32>, inferred tensor<1xf32>
func.func @declared_shape() {
  %0 = "mind.constant"() <{value = #mind.literal<[1.0] : tensor<1xf32>>}> : () -> tensor<2xf32>
  func.return
}
