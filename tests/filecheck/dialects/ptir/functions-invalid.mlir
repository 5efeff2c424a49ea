// RUN: PTIR_INVALID

// Functions of real numbers take floats, those of bits integers; nothing has no least element.
// CHECK: error[E2005]: cbrt %a: x has dtype si32, expected one of ['fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @cbrt_of_integers(%x: tensor<2xsi32>) {
  %a = ptir.cbrt %x : tensor<2xsi32>
  func.return
}

// -----

// CHECK: error[E2005]: round_away %a: x has dtype si32, expected one of ['fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @round_away_of_integers(%x: tensor<2xsi32>) {
  %a = ptir.round_away %x : tensor<2xsi32>
  func.return
}

// -----

// CHECK: error[E2005]: erf_inv %a: x has dtype si32, expected one of ['fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @erf_inv_of_integers(%x: tensor<2xsi32>) {
  %a = ptir.erf_inv %x : tensor<2xsi32>
  func.return
}

// -----

// CHECK: error[E2005]: lgamma %a: x has dtype si32, expected one of ['fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @lgamma_of_integers(%x: tensor<2xsi32>) {
  %a = ptir.lgamma %x : tensor<2xsi32>
  func.return
}

// -----

// CHECK: error[E2005]: digamma %a: x has dtype si32, expected one of ['fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @digamma_of_integers(%x: tensor<2xsi32>) {
  %a = ptir.digamma %x : tensor<2xsi32>
  func.return
}

// -----

// CHECK: error[E2005]: popcount %a: x has dtype f32, expected one of ['si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64']
// CHECK: = note: DTypeNotSupported
func.func @popcount_of_floats(%x: tensor<2xf32>) {
  %a = ptir.popcount %x : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2005]: count_leading_zeros %a: x has dtype f32, expected one of ['si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64']
// CHECK: = note: DTypeNotSupported
func.func @count_leading_zeros_of_floats(%x: tensor<2xf32>) {
  %a = ptir.count_leading_zeros %x : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E3001]: atan2 %a: shapes [2] and [3] differ at dimension 0: 2 and 3; broadcast_to makes them equal
// CHECK: = note: ShapeError
func.func @atan2_shapes(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  %a = ptir.atan2 %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E3006]: arg_min %a: no extreme along axis 0, which has extent 0, expected at least 1
// CHECK: = note: ShapeError
func.func @arg_min_of_nothing(%x: tensor<0x3xf32>) {
  %a = ptir.arg_min %x axis = 0 keepdims = false output_dtype = si32 : tensor<0x3xf32> -> tensor<3xsi32>
  func.return
}

// -----

// CHECK: error[E4007]: window_arg %a: window has 2 entries, expected 1, one per dimension
// CHECK: = note: VerificationError
func.func @window_arg_rank(%x: tensor<5xf32>) {
  %a = ptir.window_arg %x kind = max window_dims = [2, 2] strides = [1] padding = [[0, 0]] window_dilation = [1] output_dtype = si32 : tensor<5xf32> -> tensor<4xsi32>
  func.return
}

// -----

// CHECK: error[E8002]: window_arg %a: output_dtype si32 cannot hold an index of 2147483649 elements
// CHECK: = note: InvalidAttributeValue
func.func @window_arg_too_large(%x: tensor<2147483649xf32>) {
  %a = ptir.window_arg %x kind = max window_dims = [1] strides = [1] padding = [[0, 0]] window_dilation = [1] output_dtype = si32 : tensor<2147483649xf32> -> tensor<2147483649xsi32>
  func.return
}

// -----

// CHECK: error[E8002]: found sum, expected one of max, min
// CHECK: = note: InvalidAttributeValue
func.func @window_arg_kind(%x: tensor<5xf32>) {
  %a = ptir.window_arg %x kind = sum window_dims = [1] strides = [1] padding = [[0, 0]] window_dilation = [1] output_dtype = si32 : tensor<5xf32> -> tensor<5xsi32>
  func.return
}
