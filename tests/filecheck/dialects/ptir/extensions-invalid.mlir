// RUN: PTIR_INVALID

// The ops beyond the contract obey its rules: equal shapes, equal dtypes, axes in range, no implicit promotion.
// CHECK: error[E2005]: sqrt %a: x has dtype si32, expected one of ['fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64', 'cf32', 'cf64']
// CHECK: = note: DTypeNotSupported
func.func @sqrt_of_integers(%x: tensor<2xsi32>) {
  %a = ptir.sqrt %x : tensor<2xsi32>
  func.return
}

// -----

// CHECK: error[E4015]: sin %a: declared result tensor<2xf64>, inferred tensor<2xf32>
// CHECK: = note: VerificationError
func.func @sin_result(%x: tensor<2xf32>) {
  %a = ptir.sin %x : tensor<2xf32> -> tensor<2xf64>
  func.return
}

// -----

// CHECK: error[E2007]: cos %a: expects 1 operands, found 2
// CHECK: = note: TypeError
func.func @cos_operands(%x: tensor<2xf32>) {
  %a = "ptir.cos"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2005]: floor %a: x has dtype si32, expected one of ['fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @floor_of_integers(%x: tensor<2xsi32>) {
  %a = ptir.floor %x : tensor<2xsi32>
  func.return
}

// -----

// CHECK: error[E2005]: ceil %a: x has dtype cf32, expected one of ['fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @ceil_of_complex(%x: tensor<2xcomplex<f32>>) {
  %a = ptir.ceil %x : tensor<2xcomplex<f32>>
  func.return
}

// -----

// CHECK: error[E2005]: round %a: x has dtype i1, expected one of ['fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @round_of_truths(%x: tensor<2xi1>) {
  %a = ptir.round %x : tensor<2xi1>
  func.return
}

// -----

// CHECK: error[E2005]: sign %a: x has dtype i1, expected one of ['si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64', 'fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64', 'cf32', 'cf64']
// CHECK: = note: DTypeNotSupported
func.func @sign_of_truths(%x: tensor<2xi1>) {
  %a = ptir.sign %x : tensor<2xi1>
  func.return
}

// -----

// CHECK: error[E2005]: logistic %a: x has dtype si32, expected one of ['fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64', 'cf32', 'cf64']
// CHECK: = note: DTypeNotSupported
func.func @logistic_of_integers(%x: tensor<2xsi32>) {
  %a = ptir.logistic %x : tensor<2xsi32>
  func.return
}

// -----

// CHECK: error[E4015]: expm1 %a: declared result tensor<1xf32>, inferred tensor<2xf32>
// CHECK: = note: VerificationError
func.func @expm1_result(%x: tensor<2xf32>) {
  %a = ptir.expm1 %x : tensor<2xf32> -> tensor<1xf32>
  func.return
}

// -----

// CHECK: error[E2005]: log1p %a: x has dtype ui8, expected one of ['fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64', 'cf32', 'cf64']
// CHECK: = note: DTypeNotSupported
func.func @log1p_of_integers(%x: tensor<2xui8>) {
  %a = ptir.log1p %x : tensor<2xui8>
  func.return
}

// -----

// CHECK: error[E2005]: not %a: x has dtype f32, expected one of ['i1', 'si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64']
// CHECK: = note: DTypeNotSupported
func.func @not_of_floats(%x: tensor<2xf32>) {
  %a = ptir.not %x : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2004]: pow %a: lhs and rhs have dtypes f32 and f64, expected one dtype; cast makes them equal
// CHECK: = note: TypeError
func.func @pow_dtypes(%x: tensor<2xf32>, %y: tensor<2xf64>) {
  %a = ptir.pow %x, %y : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E3001]: remainder %a: shapes [2] and [1] differ at dimension 0: 2 and 1; broadcast_to makes them equal
// CHECK: = note: ShapeError
func.func @remainder_shapes(%x: tensor<2xf32>, %y: tensor<1xf32>) {
  %a = ptir.remainder %x, %y : (tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2005]: and %a: lhs has dtype f32, expected one of ['i1', 'si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64']
// CHECK: = note: DTypeNotSupported
func.func @and_of_floats(%x: tensor<2xf32>) {
  %a = ptir.and %x, %x : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2004]: or %a: lhs and rhs have dtypes i1 and ui8, expected one dtype; cast makes them equal
// CHECK: = note: TypeError
func.func @or_dtypes(%x: tensor<2xi1>, %y: tensor<2xui8>) {
  %a = ptir.or %x, %y : (tensor<2xi1>, tensor<2xui8>) -> tensor<2xui8>
  func.return
}

// -----

// CHECK: error[E3002]: xor %a: shapes [2] and [] differ in rank; broadcast_to makes them equal
// CHECK: = note: ShapeError
func.func @xor_ranks(%x: tensor<2xui8>, %y: tensor<ui8>) {
  %a = ptir.xor %x, %y : (tensor<2xui8>, tensor<ui8>) -> tensor<2xui8>
  func.return
}

// -----

// CHECK: error[E2005]: shift_left %a: lhs has dtype i1, expected one of ['si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64']
// CHECK: = note: DTypeNotSupported
func.func @shift_left_of_truths(%x: tensor<2xi1>) {
  %a = ptir.shift_left %x, %x : tensor<2xi1>
  func.return
}

// -----

// CHECK: error[E2004]: shift_right_arithmetic %a: lhs and rhs have dtypes si8 and si32, expected one dtype; cast makes them equal
// CHECK: = note: TypeError
func.func @shift_right_arithmetic_dtypes(%x: tensor<2xsi8>, %y: tensor<2xsi32>) {
  %a = ptir.shift_right_arithmetic %x, %y : (tensor<2xsi8>, tensor<2xsi32>) -> tensor<2xsi8>
  func.return
}

// -----

// CHECK: error[E2005]: shift_right_logical %a: lhs has dtype f32, expected one of ['si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64']
// CHECK: = note: DTypeNotSupported
func.func @shift_right_logical_of_floats(%x: tensor<2xf32>) {
  %a = ptir.shift_right_logical %x, %x : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E3004]: cumulative_sum %a: axis 1 is out of range for rank 1, expected -1 <= axis < 1
// CHECK: = note: ShapeError
func.func @cumulative_sum_axis(%x: tensor<2xf32>) {
  %a = ptir.cumulative_sum %x axis = 1 exclusive = false reverse = false : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2005]: sort %a: x has dtype cf32, expected one of ['i1', 'si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64', 'fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @sort_of_complex(%x: tensor<2xcomplex<f32>>) {
  %a = ptir.sort %x axis = 0 descending = false : tensor<2xcomplex<f32>>
  func.return
}

// -----

// CHECK: error[E3005]: reverse %a: axis 1 is given twice in [1, -1]
// CHECK: = note: ShapeError
func.func @reverse_axes(%x: tensor<2x3xf32>) {
  %a = ptir.reverse %x axes = [1, -1] : tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E3004]: dimension_size %a: axis 2 is out of range for rank 2, expected -2 <= axis < 2
// CHECK: = note: ShapeError
func.func @dimension_size_axis(%x: tensor<2x3xf32>) {
  %a = ptir.dimension_size %x axis = 2 : tensor<2x3xf32> -> tensor<si64>
  func.return
}

// -----

// CHECK: error[E4008]: strided_slice %a: stride 0 at dimension 0, expected positive
// CHECK: = note: VerificationError
func.func @strided_slice_stride(%x: tensor<10xf32>) {
  %a = ptir.strided_slice %x starts = [1] limits = [8] strides = [0] : tensor<10xf32> -> tensor<7xf32>
  func.return
}

// -----

// CHECK: error[E4012]: strided_slice %a: slice 1:11 at dimension 0 of extent 10, expected 0 <= start <= limit <= 10
// CHECK: = note: VerificationError
func.func @strided_slice_limit(%x: tensor<10xf32>) {
  %a = ptir.strided_slice %x starts = [1] limits = [11] strides = [1] : tensor<10xf32>
  func.return
}

// -----

// CHECK: error[E4007]: strided_slice %a: starts has 2 entries, expected 1, one per dimension
// CHECK: = note: VerificationError
func.func @strided_slice_lengths(%x: tensor<10xf32>) {
  %a = ptir.strided_slice %x starts = [1, 0] limits = [8] strides = [1] : tensor<10xf32>
  func.return
}

// -----

// convolution: channels of both operands fit the groups, as many spatial dimensions on both sides.
// CHECK: error[E4009]: convolution %a: input has 4 channels, filter takes 3 with feature_group_count 1, expected equal
// CHECK: = note: VerificationError
func.func @convolution_channels(%x: tensor<1x5x4xf32>, %w: tensor<3x3x8xf32>) {
  %a = ptir.convolution %x, %w strides = [1] padding = [[0, 0]] base_dilation = [1] window_dilation = [1] feature_group_count = 1 : (tensor<1x5x4xf32>, tensor<3x3x8xf32>) -> tensor<1x3x8xf32>
  func.return
}

// -----

// CHECK: error[E4009]: convolution %a: 7 output channels, expected a multiple of feature_group_count 2
// CHECK: = note: VerificationError
func.func @convolution_groups(%x: tensor<1x5x4xf32>, %w: tensor<3x2x7xf32>) {
  %a = ptir.convolution %x, %w strides = [1] padding = [[0, 0]] base_dilation = [1] window_dilation = [1] feature_group_count = 2 : (tensor<1x5x4xf32>, tensor<3x2x7xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// CHECK: error[E3002]: convolution %a: rhs has rank 4, expected 3
// CHECK: = note: ShapeError
func.func @convolution_rank(%x: tensor<1x5x4xf32>, %w: tensor<3x3x4x8xf32>) {
  %a = ptir.convolution %x, %w strides = [1] padding = [[0, 0]] base_dilation = [1] window_dilation = [1] feature_group_count = 1 : (tensor<1x5x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x3x8xf32>
  func.return
}

// -----

// CHECK: error[E4007]: convolution %a: strides has 2 entries, expected 1, one per dimension
// CHECK: = note: VerificationError
func.func @convolution_lengths(%x: tensor<1x5x4xf32>, %w: tensor<3x4x8xf32>) {
  %a = ptir.convolution %x, %w strides = [1, 1] padding = [[0, 0]] base_dilation = [1] window_dilation = [1] feature_group_count = 1 : (tensor<1x5x4xf32>, tensor<3x4x8xf32>) -> tensor<1x3x8xf32>
  func.return
}
