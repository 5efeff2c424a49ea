// RUN: PTIR_INVALID

// Lengths are those of the transformed axes; real and complex numbers have kinds of their own.
// CHECK: error[E3003]: fft %a: transformed extents 6 and 4, expected equal
// CHECK: = note: ShapeError
func.func @half_for_the_whole(%x: tensor<6xcomplex<f32>>) {
  %a = ptir.fft %x kind = irfft lengths = [6] : tensor<6xcomplex<f32>> -> tensor<6xf32>
  func.return
}

// -----

// CHECK: error[E2005]: fft %a: x has dtype f32, expected one of ['cf32', 'cf64']
// CHECK: = note: DTypeNotSupported
func.func @fft_of_real_numbers(%x: tensor<4xf32>) {
  %a = ptir.fft %x kind = fft lengths = [4] : tensor<4xf32> -> tensor<4xcomplex<f32>>
  func.return
}

// -----

// CHECK: error[E2005]: fft %a: x has dtype cf32, expected one of ['f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @rfft_of_complex_numbers(%x: tensor<4xcomplex<f32>>) {
  %a = ptir.fft %x kind = rfft lengths = [4] : tensor<4xcomplex<f32>> -> tensor<3xcomplex<f32>>
  func.return
}

// -----

// CHECK: error[E3002]: fft %a: x has rank 1, expected at least 2
// CHECK: = note: ShapeError
func.func @more_lengths_than_axes(%x: tensor<4xcomplex<f32>>) {
  %a = ptir.fft %x kind = fft lengths = [4, 4] : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  func.return
}

// -----

// CHECK: error[E8002]: fft %a: lengths [0] holds 0, expected at least 1
// CHECK: = note: InvalidAttributeValue
func.func @a_length_of_nothing(%x: tensor<0xcomplex<f32>>) {
  %a = ptir.fft %x kind = fft lengths = [0] : tensor<0xcomplex<f32>> -> tensor<0xcomplex<f32>>
  func.return
}

// -----

// CHECK: error[E8002]: fft %a: lengths is empty, expected one length for each transformed axis
// CHECK: = note: InvalidAttributeValue
func.func @no_lengths(%x: tensor<4xcomplex<f32>>) {
  %a = ptir.fft %x kind = fft lengths = [] : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  func.return
}

// -----

// CHECK: error[E4015]: fft %a: declared result tensor<4xcomplex<f32>>, inferred tensor<3xcomplex<f32>>
// CHECK: = note: VerificationError
func.func @the_whole_for_half(%x: tensor<4xf32>) {
  %a = ptir.fft %x kind = rfft lengths = [4] : tensor<4xf32> -> tensor<4xcomplex<f32>>
  func.return
}
