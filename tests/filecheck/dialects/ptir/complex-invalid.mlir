// RUN: PTIR_INVALID

// Only complex numbers have parts, and both parts have one dtype.
// CHECK: error[E2005]: real %a: x has dtype f32, expected one of ['cf32', 'cf64']
// CHECK: = note: DTypeNotSupported
func.func @real_of_reals(%x: tensor<2xf32>) {
  %a = ptir.real %x : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E4015]: imag %a: declared result tensor<2xf32>, inferred tensor<2xf64>
// CHECK: = note: VerificationError
func.func @imag_result(%x: tensor<2xcomplex<f64>>) {
  %a = ptir.imag %x : tensor<2xcomplex<f64>> -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2005]: complex %a: lhs has dtype f16, expected one of ['f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @complex_of_narrow_floats(%x: tensor<2xf16>) {
  %a = ptir.complex %x, %x : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xcomplex<f32>>
  func.return
}

// -----

// CHECK: error[E2004]: complex %a: lhs and rhs have dtypes f32 and f64, expected one dtype; cast makes them equal
// CHECK: = note: TypeError
func.func @complex_of_unequal_parts(%x: tensor<2xf32>, %y: tensor<2xf64>) {
  %a = ptir.complex %x, %y : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xcomplex<f32>>
  func.return
}

// -----

// CHECK: error[E2005]: conj %a: x has dtype f64, expected one of ['cf32', 'cf64']
// CHECK: = note: DTypeNotSupported
func.func @conj_of_reals(%x: tensor<2xf64>) {
  %a = ptir.conj %x : tensor<2xf64>
  func.return
}

// -----

// CHECK: error[E4015]: abs %a: declared result tensor<2xcomplex<f64>>, inferred tensor<2xf64>
// CHECK: = note: VerificationError
func.func @abs_of_complex(%x: tensor<2xcomplex<f64>>) {
  %a = ptir.abs %x : tensor<2xcomplex<f64>>
  func.return
}
