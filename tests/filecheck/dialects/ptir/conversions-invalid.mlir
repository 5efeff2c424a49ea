// RUN: PTIR_INVALID

// Bits are kept: widths are equal, and integers stay integers.
// CHECK: error[E2005]: bitcast %a: cannot bitcast f32 of 32 bits to ui16 of 16, expected one of ['si32', 'ui32', 'f32']
// CHECK: = note: DTypeNotSupported
func.func @bitcast_width(%x: tensor<2xf32>) {
  %a = ptir.bitcast %x dtype = ui16 : tensor<2xf32> -> tensor<2xui16>
  func.return
}

// -----

// CHECK: error[E2005]: bitcast %a: x has dtype i1, expected one of ['si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64', 'fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @bitcast_of_truths(%x: tensor<2xi1>) {
  %a = ptir.bitcast %x dtype = ui8 : tensor<2xi1> -> tensor<2xui8>
  func.return
}

// -----

// CHECK: error[E2005]: bitcast %a: dtype has dtype cf32, expected one of ['si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64', 'fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @bitcast_to_complex(%x: tensor<2xf64>) {
  %a = ptir.bitcast %x dtype = complex<f32> : tensor<2xf64> -> tensor<2xcomplex<f32>>
  func.return
}

// -----

// CHECK: error[E4015]: bitcast %a: declared result tensor<3xsi64>, inferred tensor<2xsi64>
// CHECK: = note: VerificationError
func.func @bitcast_shape(%x: tensor<2xf64>) {
  %a = ptir.bitcast %x dtype = si64 : tensor<2xf64> -> tensor<3xsi64>
  func.return
}

// -----

// CHECK: error[E2005]: truncate %a: x has dtype f32, expected one of ['si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64']
// CHECK: = note: DTypeNotSupported
func.func @truncate_floats(%x: tensor<2xf32>) {
  %a = ptir.truncate %x dtype = si8 : tensor<2xf32> -> tensor<2xsi8>
  func.return
}

// -----

// CHECK: error[E2005]: truncate %a: dtype has dtype f32, expected one of ['si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64']
// CHECK: = note: DTypeNotSupported
func.func @truncate_to_floats(%x: tensor<2xsi32>) {
  %a = ptir.truncate %x dtype = f32 : tensor<2xsi32> -> tensor<2xf32>
  func.return
}
