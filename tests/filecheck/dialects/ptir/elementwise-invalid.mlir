// RUN: PTIR_INVALID

// Operands have the same shape: nothing is broadcast implicitly.
// CHECK: error[E3001]: add %a: shapes [2, 3] and [2, 1] differ at dimension 1: 3 and 1; broadcast_to makes them equal
// CHECK: = note: ShapeError
func.func @add_shapes(%x: tensor<2x3xf32>, %y: tensor<2x1xf32>) {
  %a = ptir.add %x, %y : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E3002]: sub %a: shapes [2, 3] and [3] differ in rank; broadcast_to makes them equal
// CHECK: = note: ShapeError
func.func @sub_ranks(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
  %a = ptir.sub %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E3002]: mul %a: shapes [2] and [] differ in rank; broadcast_to makes them equal
// CHECK: = note: ShapeError
func.func @mul_scalar(%x: tensor<2xf32>, %y: tensor<f32>) {
  %a = ptir.mul %x, %y : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  func.return
}

// -----

// Operands have the same dtype: nothing is promoted.
// CHECK: error[E2004]: add %a: lhs and rhs have dtypes f32 and f16, expected one dtype; cast makes them equal
// CHECK: = note: TypeError
func.func @add_dtypes(%x: tensor<2xf32>, %y: tensor<2xf16>) {
  %a = ptir.add %x, %y : (tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2004]: div %a: lhs and rhs have dtypes si32 and ui32, expected one dtype; cast makes them equal
// CHECK: = note: TypeError
func.func @div_signedness(%x: tensor<2xsi32>, %y: tensor<2xui32>) {
  %a = ptir.div %x, %y : (tensor<2xsi32>, tensor<2xui32>) -> tensor<2xsi32>
  func.return
}

// -----

// CHECK: error[E2004]: maximum %a: lhs and rhs have dtypes si8 and si16, expected one dtype; cast makes them equal
// CHECK: = note: TypeError
func.func @maximum_widths(%x: tensor<2xsi8>, %y: tensor<2xsi16>) {
  %a = ptir.maximum %x, %y : (tensor<2xsi8>, tensor<2xsi16>) -> tensor<2xsi16>
  func.return
}

// -----

// A dtype that the op does not take.
// CHECK: error[E2005]: exp %a: x has dtype si32, expected one of ['fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64', 'cf32', 'cf64']
// CHECK: = note: DTypeNotSupported
func.func @exp_of_integers(%x: tensor<2xsi32>) {
  %a = ptir.exp %x : tensor<2xsi32>
  func.return
}

// -----

// CHECK: error[E2005]: erf %a: x has dtype cf32, expected one of ['fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @erf_of_complex(%x: tensor<2xcomplex<f32>>) {
  %a = ptir.erf %x : tensor<2xcomplex<f32>>
  func.return
}

// -----

// CHECK: error[E2005]: abs %a: x has dtype i1, expected one of ['si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64', 'fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64', 'cf32', 'cf64']
// CHECK: = note: DTypeNotSupported
func.func @abs_of_truths(%x: tensor<2xi1>) {
  %a = ptir.abs %x : tensor<2xi1>
  func.return
}

// -----

// CHECK: error[E2005]: neg %a: x has dtype i1, expected one of ['si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64', 'fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64', 'cf32', 'cf64']
// CHECK: = note: DTypeNotSupported
func.func @neg_of_truths(%x: tensor<2xi1>) {
  %a = ptir.neg %x : tensor<2xi1>
  func.return
}

// -----

// CHECK: error[E2005]: add %a: lhs has dtype i1, expected one of ['si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64', 'fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64', 'cf32', 'cf64']
// CHECK: = note: DTypeNotSupported
func.func @add_of_truths(%x: tensor<2xi1>) {
  %a = ptir.add %x, %x : tensor<2xi1>
  func.return
}

// -----

// CHECK: error[E2005]: minimum %a: lhs has dtype cf64, expected one of ['i1', 'si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64', 'fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @minimum_of_complex(%x: tensor<2xcomplex<f64>>) {
  %a = ptir.minimum %x, %x : tensor<2xcomplex<f64>>
  func.return
}

// -----

// CHECK: error[E2005]: neg %a: unknown dtype i32, expected one of ['i1', 'si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64', 'fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64', 'cf32', 'cf64']
// CHECK: = note: DTypeNotSupported
func.func @signless_integers(%x: tensor<2xi32>) {
  %a = ptir.neg %x : tensor<2xi32>
  func.return
}

// -----

// The result has the operands' shape and dtype.
// CHECK: error[E4015]: tanh %a: declared result tensor<3xf32>, inferred tensor<2xf32>
// CHECK: = note: VerificationError
func.func @tanh_result_shape(%x: tensor<2xf32>) {
  %a = ptir.tanh %x : tensor<2xf32> -> tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E4015]: rsqrt %a: declared result tensor<2xf64>, inferred tensor<2xf32>
// CHECK: = note: VerificationError
func.func @rsqrt_result_dtype(%x: tensor<2xf32>) {
  %a = ptir.rsqrt %x : tensor<2xf32> -> tensor<2xf64>
  func.return
}

// -----

// CHECK: error[E4015]: log %a: declared result tensor<f32>, inferred tensor<1xf32>
// CHECK: = note: VerificationError
func.func @log_result_rank(%x: tensor<1xf32>) {
  %a = ptir.log %x : tensor<1xf32> -> tensor<f32>
  func.return
}

// -----

// One operand or two, one result, no properties.
// CHECK: error[E2007]: reciprocal %a: expects 1 operands, found 2
// CHECK: = note: TypeError
func.func @reciprocal_operands(%x: tensor<f32>) {
  %a = "ptir.reciprocal"(%x, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  func.return
}

// -----

// CHECK: error[E2007]: stop_gradient %a: expects 1 results, found 2
// CHECK: = note: TypeError
func.func @stop_gradient_results(%x: tensor<f32>) {
  %a, %b = "ptir.stop_gradient"(%x) : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  func.return
}

// -----

// CHECK: error[E4000]: neg: unexpected attribute 'axis', expected []
// CHECK: = note: VerificationError
func.func @unknown_property(%x: tensor<f32>) {
  %a = ptir.neg %x axis = 1 : tensor<f32>
  func.return
}

// -----

// compare: the same shape and dtype, one of six kinds, a result of i1; no order of complex numbers.
// CHECK: error[E3001]: compare %a: shapes [2] and [3] differ at dimension 0: 2 and 3; broadcast_to makes them equal
// CHECK: = note: CompareOperandsMustMatchShape
func.func @compare_shapes(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  %a = ptir.compare %x, %y kind = less : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xi1>
  func.return
}

// -----

// CHECK: error[E3002]: compare %a: shapes [2] and [2, 1] differ in rank; broadcast_to makes them equal
// CHECK: = note: CompareOperandsMustMatchShape
func.func @compare_ranks(%x: tensor<2xf32>, %y: tensor<2x1xf32>) {
  %a = ptir.compare %x, %y kind = less : (tensor<2xf32>, tensor<2x1xf32>) -> tensor<2xi1>
  func.return
}

// -----

// CHECK: error[E2004]: compare %a: lhs and rhs have dtypes f32 and f64, expected one dtype; cast makes them equal
// CHECK: = note: CompareDTypePromotionInvalid
func.func @compare_dtypes(%x: tensor<2xf32>, %y: tensor<2xf64>) {
  %a = ptir.compare %x, %y kind = equal : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xi1>
  func.return
}

// -----

// CHECK: error[E8002]: found lesser, expected one of less, less_equal, equal, greater_equal, greater, not_equal
// CHECK: = note: InvalidAttributeValue
func.func @compare_kind(%x: tensor<2xf32>) {
  %a = ptir.compare %x, %x kind = lesser : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  func.return
}

// -----

// CHECK: error[E4000]: compare %a: has attributes [], expected ['kind']
// CHECK: = note: VerificationError
func.func @compare_no_kind(%x: tensor<2xf32>) {
  %a = ptir.compare %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  func.return
}

// -----

// CHECK: error[E4015]: compare %a: declared result tensor<2xf32>, inferred tensor<2xi1>
// CHECK: = note: VerificationError
func.func @compare_result(%x: tensor<2xf32>) {
  %a = ptir.compare %x, %x kind = less : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2005]: compare %a: lhs has dtype cf32, expected one of ['i1', 'si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64', 'fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @compare_order_of_complex(%x: tensor<2xcomplex<f32>>) {
  %a = ptir.compare %x, %x kind = greater : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xi1>
  func.return
}

// -----

// select: all operands of one shape, both choices of one dtype, the choice by i1.
// CHECK: error[E3002]: select %a: shapes [] and [2] differ in rank; broadcast_to makes them equal
// CHECK: = note: ShapeError
func.func @select_pred_shape(%p: tensor<i1>, %x: tensor<2xf32>) {
  %a = ptir.select %p, %x, %x : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E3001]: select %a: shapes [2] and [1] differ at dimension 0: 2 and 1; broadcast_to makes them equal
// CHECK: = note: ShapeError
func.func @select_shapes(%p: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<1xf32>) {
  %a = ptir.select %p, %x, %y : (tensor<2xi1>, tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2004]: select %a: on_true and on_false have dtypes f32 and f16, expected one dtype; cast makes them equal
// CHECK: = note: TypeError
func.func @select_dtypes(%p: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<2xf16>) {
  %a = ptir.select %p, %x, %y : (tensor<2xi1>, tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2005]: select %a: pred has dtype ui8, expected one of ['i1']
// CHECK: = note: DTypeNotSupported
func.func @select_pred_dtype(%p: tensor<2xui8>, %x: tensor<2xf32>) {
  %a = ptir.select %p, %x, %x : (tensor<2xui8>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

// cast: the shape is preserved, the result has the stated dtype; complex numbers become complex numbers only.
// CHECK: error[E4015]: cast %a: declared result tensor<3xsi8>, inferred tensor<2xsi8>
// CHECK: = note: VerificationError
func.func @cast_shape(%x: tensor<2xf32>) {
  %a = ptir.cast %x dtype = si8 : tensor<2xf32> -> tensor<3xsi8>
  func.return
}

// -----

// CHECK: error[E4015]: cast %a: declared result tensor<2xui8>, inferred tensor<2xsi8>
// CHECK: = note: VerificationError
func.func @cast_result(%x: tensor<2xf32>) {
  %a = ptir.cast %x dtype = si8 : tensor<2xf32> -> tensor<2xui8>
  func.return
}

// -----

// CHECK: error[E2005]: unknown dtype f80, expected one of ['i1', 'si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64', 'fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64', 'cf32', 'cf64']
// CHECK: = note: DTypeNotSupported
func.func @cast_dtype(%x: tensor<2xf32>) {
  %a = ptir.cast %x dtype = f80 : tensor<2xf32> -> tensor<2xf80>
  func.return
}

// -----

// CHECK: error[E2005]: cast %a: cannot cast cf32 to f32, which would drop imaginary parts; expected one of ['cf32', 'cf64']
// CHECK: = note: DTypeNotSupported
func.func @cast_complex_to_real(%x: tensor<2xcomplex<f32>>) {
  %a = ptir.cast %x dtype = f32 : tensor<2xcomplex<f32>> -> tensor<2xf32>
  func.return
}

// -----

// clamp: x and both bounds of one shape and dtype.
// CHECK: error[E3002]: clamp %a: shapes [2] and [] differ in rank; broadcast_to makes them equal
// CHECK: = note: ShapeError
func.func @clamp_shapes(%x: tensor<2xf32>, %l: tensor<f32>) {
  %a = ptir.clamp %x, %l, %x : (tensor<2xf32>, tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2004]: clamp %a: x and hi have dtypes f32 and f16, expected one dtype; cast makes them equal
// CHECK: = note: TypeError
func.func @clamp_dtypes(%x: tensor<2xf32>, %l: tensor<2xf16>) {
  %a = ptir.clamp %x, %x, %l : (tensor<2xf32>, tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  func.return
}
