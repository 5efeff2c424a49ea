// RUN: PTIR_INVALID

// reduce: axes are unique and in [-rank, rank).
// CHECK: error[E3004]: reduce %a: axis 2 is out of range for rank 2, expected -2 <= axis < 2
// CHECK: = note: ShapeError
func.func @reduce_axis_range(%x: tensor<2x3xf32>) {
  %a = ptir.reduce %x kind = sum axes = [2] keepdims = false : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E3004]: reduce %a: axis -3 is out of range for rank 2, expected -2 <= axis < 2
// CHECK: = note: ShapeError
func.func @reduce_negative_axis_range(%x: tensor<2x3xf32>) {
  %a = ptir.reduce %x kind = sum axes = [-3] keepdims = false : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E3005]: reduce %a: axis 1 is given twice in [1, -1]
// CHECK: = note: ShapeError
func.func @reduce_duplicate_axis(%x: tensor<2x3xf32>) {
  %a = ptir.reduce %x kind = sum axes = [1, -1] keepdims = false : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E3004]: reduce %a: axis 0 is out of range: a tensor of rank 0 has no axes
// CHECK: = note: ShapeError
func.func @reduce_of_a_scalar(%x: tensor<f32>) {
  %a = ptir.reduce %x kind = max axes = [0] keepdims = false : tensor<f32>
  func.return
}

// -----

// A reduced axis has size 1 with keepdims, else it goes.
// CHECK: error[E4015]: reduce %a: declared result tensor<2xf32>, inferred tensor<2x1xf32>
// CHECK: = note: VerificationError
func.func @reduce_result_shape(%x: tensor<2x3xf32>) {
  %a = ptir.reduce %x kind = sum axes = [1] keepdims = true : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----

// An accumulator that holds less than the operand or is of another kind; the result is cast to out_dtype.
// CHECK: error[E8003]: reduce %a: accum_dtype f16 for f32, expected one of ['f32', 'f64']
// CHECK: = note: InvalidAccumDTypeOverride
func.func @reduce_narrow_accumulator(%x: tensor<2xf32>) {
  %a = ptir.reduce %x kind = sum axes = [0] keepdims = false accum_dtype = f16 : tensor<2xf32> -> tensor<f32>
  func.return
}

// -----

// CHECK: error[E8003]: reduce %a: accum_dtype f32 for si8, expected one of ['si8', 'si16', 'si32', 'si64']
// CHECK: = note: InvalidAccumDTypeOverride
func.func @reduce_float_accumulator_of_integers(%x: tensor<2xsi8>) {
  %a = ptir.reduce %x kind = sum axes = [0] keepdims = false accum_dtype = f32 : tensor<2xsi8> -> tensor<si8>
  func.return
}

// -----

// CHECK: error[E4015]: reduce %a: declared result tensor<f16>, inferred tensor<f32>
// CHECK: = note: VerificationError
func.func @reduce_out_dtype(%x: tensor<2xf16>) {
  %a = ptir.reduce %x kind = sum axes = [0] keepdims = false out_dtype = f32 : tensor<2xf16> -> tensor<f16>
  func.return
}

// -----

// CHECK: error[E2005]: reduce %a: cannot cast cf32 to f32, which would drop imaginary parts; expected one of ['cf32', 'cf64']
// CHECK: = note: DTypeNotSupported
func.func @reduce_complex_to_real(%x: tensor<2xcomplex<f32>>) {
  %a = ptir.reduce %x kind = sum axes = [0] keepdims = false out_dtype = f32 : tensor<2xcomplex<f32>> -> tensor<f32>
  func.return
}

// -----

// A kind that exists, of a dtype that has it.
// CHECK: error[E8002]: found mean, expected one of sum, max, min
// CHECK: = note: InvalidAttributeValue
func.func @reduce_kind(%x: tensor<2xf32>) {
  %a = ptir.reduce %x kind = mean axes = [0] keepdims = false : tensor<2xf32> -> tensor<f32>
  func.return
}

// -----

// CHECK: error[E2005]: reduce %a: x has dtype i1, expected one of ['si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64', 'fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64', 'cf32', 'cf64']
// CHECK: = note: DTypeNotSupported
func.func @reduce_sum_of_truths(%x: tensor<2xi1>) {
  %a = ptir.reduce %x kind = sum axes = [0] keepdims = false : tensor<2xi1> -> tensor<i1>
  func.return
}

// -----

// CHECK: error[E2005]: reduce %a: x has dtype cf32, expected one of ['i1', 'si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64', 'fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @reduce_max_of_complex(%x: tensor<2xcomplex<f32>>) {
  %a = ptir.reduce %x kind = max axes = [0] keepdims = false : tensor<2xcomplex<f32>> -> tensor<complex<f32>>
  func.return
}

// -----

// CHECK: error[E4000]: reduce %a: has attributes ['axes', 'kind'], expected ['accum_dtype', 'axes', 'keepdims', 'kind', 'out_dtype'], ['accum_dtype', 'out_dtype'] optional
// CHECK: = note: VerificationError
func.func @reduce_no_keepdims(%x: tensor<2xf32>) {
  %a = ptir.reduce %x kind = sum axes = [0] : tensor<2xf32> -> tensor<f32>
  func.return
}

// -----

// CHECK: error[E4000]: reduce %a: expected a list of i64 (array<i64: ...>), found [0 : i64]
// CHECK: = note: VerificationError
func.func @reduce_axes_kind(%x: tensor<2xf32>) {
  %a = "ptir.reduce"(%x) <{kind = "sum", axes = [0], keepdims = false}> : (tensor<2xf32>) -> tensor<f32>
  func.return
}

// -----

// arg_max: an axis of extent 0 has no greatest; the result is si32 or si64, as output_dtype says.
// CHECK: error[E3006]: arg_max %a: no extreme along axis 1, which has extent 0, expected at least 1
// CHECK: = note: ShapeError
func.func @arg_max_of_nothing(%x: tensor<2x0xf32>) {
  %a = ptir.arg_max %x axis = 1 keepdims = false output_dtype = si32 : tensor<2x0xf32> -> tensor<2xsi32>
  func.return
}

// -----

// CHECK: error[E3004]: arg_max %a: axis 1 is out of range for rank 1, expected -1 <= axis < 1
// CHECK: = note: ShapeError
func.func @arg_max_axis(%x: tensor<2xf32>) {
  %a = ptir.arg_max %x axis = 1 keepdims = false output_dtype = si32 : tensor<2xf32> -> tensor<si32>
  func.return
}

// -----

// CHECK: error[E2005]: arg_max %a: output_dtype has dtype ui32, expected one of ['si32', 'si64']
// CHECK: = note: DTypeNotSupported
func.func @arg_max_output_dtype(%x: tensor<2xf32>) {
  %a = ptir.arg_max %x axis = 0 keepdims = false output_dtype = ui32 : tensor<2xf32> -> tensor<ui32>
  func.return
}

// -----

// CHECK: error[E4015]: arg_max %a: declared result tensor<si32>, inferred tensor<si64>
// CHECK: = note: VerificationError
func.func @arg_max_result(%x: tensor<2xf32>) {
  %a = ptir.arg_max %x axis = 0 keepdims = false output_dtype = si64 : tensor<2xf32> -> tensor<si32>
  func.return
}

// -----

// dot_general: what is paired has equal extents, lists are as long as each other, axes unique and in range.
// CHECK: error[E3003]: dot_general %a: contracted extents 3 and 4, expected equal
// CHECK: = note: ShapeError
func.func @dot_contract_extents(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>) {
  %a = ptir.dot_general %x, %y batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  func.return
}

// -----

// CHECK: error[E3003]: dot_general %a: batch extents 2 and 4, expected equal
// CHECK: = note: ShapeError
func.func @dot_batch_extents(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>) {
  %a = ptir.dot_general %x, %y batch_lhs = [0] batch_rhs = [0] contract_lhs = [1] contract_rhs = [1] : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E4007]: dot_general %a: contract_lhs [1] and contract_rhs [], expected as many axes on both sides
// CHECK: = note: VerificationError
func.func @dot_contract_lengths(%x: tensor<2x3xf32>, %y: tensor<3x5xf32>) {
  %a = ptir.dot_general %x, %y batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [] : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  func.return
}

// -----

// CHECK: error[E4007]: dot_general %a: batch_lhs [] and batch_rhs [0], expected as many axes on both sides
// CHECK: = note: VerificationError
func.func @dot_batch_lengths(%x: tensor<2x3xf32>, %y: tensor<3x5xf32>) {
  %a = ptir.dot_general %x, %y batch_lhs = [] batch_rhs = [0] contract_lhs = [] contract_rhs = [] : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  func.return
}

// -----

// CHECK: error[E3005]: dot_general %a: axis 1 is given twice in [1, -1]
// CHECK: = note: ShapeError
func.func @dot_axis_twice(%x: tensor<2x2xf32>) {
  %a = ptir.dot_general %x, %x batch_lhs = [1] batch_rhs = [0] contract_lhs = [-1] contract_rhs = [1] : tensor<2x2xf32>
  func.return
}

// -----

// CHECK: error[E3004]: dot_general %a: axis 2 is out of range for rank 2, expected -2 <= axis < 2
// CHECK: = note: ShapeError
func.func @dot_axis_range(%x: tensor<2x2xf32>) {
  %a = ptir.dot_general %x, %x batch_lhs = [] batch_rhs = [] contract_lhs = [2] contract_rhs = [0] : tensor<2x2xf32>
  func.return
}

// -----

// CHECK: error[E4015]: dot_general %a: declared result tensor<2x5x4xf32>, inferred tensor<5x2x4xf32>
// CHECK: = note: VerificationError
func.func @dot_order_of_results(%x: tensor<5x2x3xf32>, %y: tensor<5x3x4xf32>) {
  %a = ptir.dot_general %x, %y batch_lhs = [0] batch_rhs = [0] contract_lhs = [2] contract_rhs = [1] : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<2x5x4xf32>
  func.return
}

// -----

// CHECK: error[E2004]: dot_general %a: lhs and rhs have dtypes f32 and bf16, expected one dtype; cast makes them equal
// CHECK: = note: TypeError
func.func @dot_dtypes(%x: tensor<2x2xf32>, %y: tensor<2x2xbf16>) {
  %a = ptir.dot_general %x, %y batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<2x2xf32>, tensor<2x2xbf16>) -> tensor<2x2xf32>
  func.return
}

// -----

// CHECK: error[E8003]: dot_general %a: accum_dtype f32 for f64, expected one of ['f64']
// CHECK: = note: InvalidAccumDTypeOverride
func.func @dot_accumulator(%x: tensor<2x2xf64>) {
  %a = ptir.dot_general %x, %x batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] accum_dtype = f32 : tensor<2x2xf64>
  func.return
}

// -----

// reduce_window: one entry per dimension; strides, windows and dilations from 1 up, padding from 0 up.
// CHECK: error[E4007]: reduce_window %a: window has 2 entries, expected 1, one per dimension
// CHECK: = note: VerificationError
func.func @window_lengths(%x: tensor<5xf32>) {
  %a = ptir.reduce_window %x kind = max window_dims = [2, 2] strides = [1] padding = [[0, 0]] base_dilation = [1] window_dilation = [1] : tensor<5xf32> -> tensor<4xf32>
  func.return
}

// -----

// CHECK: error[E8002]: reduce_window %a: strides [0] holds 0, expected at least 1
// CHECK: = note: InvalidAttributeValue
func.func @window_strides(%x: tensor<5xf32>) {
  %a = ptir.reduce_window %x kind = max window_dims = [2] strides = [0] padding = [[0, 0]] base_dilation = [1] window_dilation = [1] : tensor<5xf32> -> tensor<4xf32>
  func.return
}

// -----

// CHECK: error[E8002]: reduce_window %a: window_dilation [0] holds 0, expected at least 1
// CHECK: = note: InvalidAttributeValue
func.func @window_dilation(%x: tensor<5xf32>) {
  %a = ptir.reduce_window %x kind = max window_dims = [2] strides = [1] padding = [[0, 0]] base_dilation = [1] window_dilation = [0] : tensor<5xf32> -> tensor<4xf32>
  func.return
}

// -----

// CHECK: error[E8002]: reduce_window %a: padding [-1, 0] holds -1, expected at least 0
// CHECK: = note: InvalidAttributeValue
func.func @window_padding(%x: tensor<5xf32>) {
  %a = ptir.reduce_window %x kind = max window_dims = [2] strides = [1] padding = [[-1, 0]] base_dilation = [1] window_dilation = [1] : tensor<5xf32> -> tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E8003]: reduce_window %a: accum_dtype bf16 for f32, expected one of ['f32', 'f64']
// CHECK: = note: InvalidAccumDTypeOverride
func.func @window_accumulator(%x: tensor<5xf32>) {
  %a = ptir.reduce_window %x kind = sum window_dims = [2] strides = [1] padding = [[0, 0]] base_dilation = [1] window_dilation = [1] accum_dtype = bf16 : tensor<5xf32> -> tensor<4xf32>
  func.return
}

// -----

// CHECK: error[E4015]: reduce_window %a: declared result tensor<5xf32>, inferred tensor<4xf32>
// CHECK: = note: VerificationError
func.func @window_result(%x: tensor<5xf32>) {
  %a = ptir.reduce_window %x kind = max window_dims = [2] strides = [1] padding = [[0, 0]] base_dilation = [1] window_dilation = [1] : tensor<5xf32>
  func.return
}

// -----

// extract_patches: batch, spatial dimensions, channels; the padding value has the operand's dtype.
// CHECK: error[E3002]: extract_patches %a: x has rank 1, expected at least 2 (batch, spatial..., channels)
// CHECK: = note: ShapeError
func.func @patches_rank(%x: tensor<3xf32>) {
  %a = ptir.extract_patches %x window = [] strides = [] dilation = [] padding = [] pad_value = 0.0 : f32 : tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E4007]: extract_patches %a: window has 2 entries, expected 1, one per dimension
// CHECK: = note: VerificationError
func.func @patches_lengths(%x: tensor<1x5x3xf32>) {
  %a = ptir.extract_patches %x window = [2, 2] strides = [1] dilation = [1] padding = [[0, 0]] pad_value = 0.0 : f32 : tensor<1x5x3xf32> -> tensor<1x4x6xf32>
  func.return
}

// -----

// CHECK: error[E2004]: extract_patches %a: x and pad_value have dtypes f32 and f64, expected one dtype; cast makes them equal
// CHECK: = note: TypeError
func.func @patches_pad_value(%x: tensor<1x5x3xf32>) {
  %a = ptir.extract_patches %x window = [2] strides = [1] dilation = [1] padding = [[0, 0]] pad_value = 0.0 : f64 : tensor<1x5x3xf32> -> tensor<1x4x6xf32>
  func.return
}

// -----

// CHECK: error[E4015]: extract_patches %a: declared result tensor<1x4x3xf32>, inferred tensor<1x4x6xf32>
// CHECK: = note: VerificationError
func.func @patches_result(%x: tensor<1x5x3xf32>) {
  %a = ptir.extract_patches %x window = [2] strides = [1] dilation = [1] padding = [[0, 0]] pad_value = 0.0 : f32 : tensor<1x5x3xf32> -> tensor<1x4x3xf32>
  func.return
}

// -----

// segment_reduce: one segment number for each row, sums and maxima only, segments from 0 up.
// CHECK: error[E3003]: segment_reduce %a: segment_ids extents 5 and 6, expected equal
// CHECK: = note: ShapeError
func.func @segment_ids(%x: tensor<6x4xf32>, %i: tensor<5xsi32>) {
  %a = ptir.segment_reduce %x, %i kind = sum num_segments = 3 indices_are_sorted = false unique = false : (tensor<6x4xf32>, tensor<5xsi32>) -> tensor<3x4xf32>
  func.return
}

// -----

// CHECK: error[E3002]: segment_reduce %a: segment_ids has rank 2, expected 1
// CHECK: = note: ShapeError
func.func @segment_ids_rank(%x: tensor<6x4xf32>, %i: tensor<6x1xsi32>) {
  %a = ptir.segment_reduce %x, %i kind = sum num_segments = 3 indices_are_sorted = false unique = false : (tensor<6x4xf32>, tensor<6x1xsi32>) -> tensor<3x4xf32>
  func.return
}

// -----

// CHECK: error[E2005]: segment_reduce %a: segment_ids has dtype ui32, expected one of ['si32', 'si64']
// CHECK: = note: DTypeNotSupported
func.func @segment_ids_dtype(%x: tensor<6xf32>, %i: tensor<6xui32>) {
  %a = ptir.segment_reduce %x, %i kind = sum num_segments = 3 indices_are_sorted = false unique = false : (tensor<6xf32>, tensor<6xui32>) -> tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E8002]: found min, expected one of sum, max
// CHECK: = note: InvalidAttributeValue
func.func @segment_kind(%x: tensor<6xf32>, %i: tensor<6xsi32>) {
  %a = ptir.segment_reduce %x, %i kind = min num_segments = 3 indices_are_sorted = false unique = false : (tensor<6xf32>, tensor<6xsi32>) -> tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E8002]: segment_reduce %a: num_segments [-1] holds -1, expected at least 0
// CHECK: = note: InvalidAttributeValue
func.func @segment_count(%x: tensor<6xf32>, %i: tensor<6xsi32>) {
  %a = ptir.segment_reduce %x, %i kind = max num_segments = -1 indices_are_sorted = false unique = false : (tensor<6xf32>, tensor<6xsi32>) -> tensor<3xf32>
  func.return
}
