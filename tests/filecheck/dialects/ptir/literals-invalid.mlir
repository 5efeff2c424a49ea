// RUN: PTIR_INVALID

// The output dtype and shape of a constant are those of its literal.
// CHECK: error[E4015]: constant %a: declared result tensor<f64>, inferred tensor<f32>
// CHECK: = note: VerificationError
func.func @declared_dtype() {
  %a = "ptir.constant"() <{value = #ptir.literal<1.0 : tensor<f32>>}> : () -> tensor<f64>
  func.return
}

// -----

// CHECK: error[E4015]: constant %a: declared result tensor<3xf32>, inferred tensor<2xf32>
// CHECK: = note: VerificationError
func.func @declared_shape() {
  %a = "ptir.constant"() <{value = #ptir.literal<[1.0, 2.0] : tensor<2xf32>>}> : () -> tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E4005]: constant %a: value 1.000000e+00 : f32, expected a literal (#ptir.literal)
// CHECK: = note: VerificationError
func.func @no_literal() {
  %a = "ptir.constant"() <{value = 1.0 : f32}> : () -> tensor<f32>
  func.return
}

// -----

// CHECK: error[E4000]: constant %a: has attributes [], expected ['value']
// CHECK: = note: VerificationError
func.func @no_value() {
  %a = "ptir.constant"() : () -> tensor<f32>
  func.return
}

// -----

// As many elements as the shape has, in brackets of that shape.
// CHECK: error[E3010]: literal has shape [2], declared is [3]
// CHECK: = note: ShapeError
func.func @shape() {
  %a = ptir.constant [1, 2] : tensor<3xsi8>
  func.return
}

// -----

// CHECK: error[E3010]: ragged literal: the lists of one depth differ
// CHECK: = note: ShapeError
func.func @ragged() {
  %a = ptir.constant [[1], [2, 3]] : tensor<2x2xsi8>
  func.return
}

// -----

// CHECK: error[E3006]: a literal of shape ['?'], expected static
// CHECK: = note: ShapeError
func.func @dynamic() {
  %a = ptir.constant 1 : tensor<?xsi8>
  func.return
}

// -----

// CHECK: error[E4005]: a literal of shape [4] with 2 elements; expected as many as the shape has, at most 67108864
// CHECK: = note: VerificationError
func.func @too_few_bytes() {
  %a = ptir.constant "0x0001" : tensor<4xsi8>
  func.return
}

// -----

// CHECK: error[E4005]: a literal of shape [9999999999, 9999999999] with 2 elements; expected as many as the shape has, at most 67108864
// CHECK: = note: VerificationError
func.func @too_many_elements() {
  %a = ptir.constant "0x00000000000000000000000000000000" : tensor<9999999999x9999999999xf64>
  func.return
}

// -----

// Every element is one of the dtype.
// CHECK: error[E4005]: element 128 of a si8 literal is outside -2^7 .. 2^7 - 1
// CHECK: = note: VerificationError
func.func @integer_range() {
  %a = ptir.constant 128 : tensor<si8>
  func.return
}

// -----

// CHECK: error[E4005]: element -1 of a ui64 literal is outside 0 .. 2^64 - 1
// CHECK: = note: VerificationError
func.func @unsigned_range() {
  %a = ptir.constant -1 : tensor<ui64>
  func.return
}

// -----

// CHECK: error[E4005]: element 8 of a si4 literal is outside -2^3 .. 2^3 - 1
// CHECK: = note: VerificationError
func.func @four_bit_range() {
  %a = ptir.constant [7, 8] : tensor<2xsi4>
  func.return
}

// -----

// CHECK: error[E4005]: element 1.5 of a si32 literal is no integer
// CHECK: = note: VerificationError
func.func @fraction_of_an_integer() {
  %a = ptir.constant 1.5 : tensor<si32>
  func.return
}

// -----

// CHECK: error[E4005]: element 2 of a i1 literal is neither true nor false
// CHECK: = note: VerificationError
func.func @number_for_a_truth() {
  %a = ptir.constant 2 : tensor<i1>
  func.return
}

// -----

// CHECK: error[E4005]: element True of a f32 literal is not a number
// CHECK: = note: VerificationError
func.func @truth_for_a_number() {
  %a = ptir.constant true : tensor<f32>
  func.return
}

// -----

// CHECK: error[E4005]: element (1+2j) of a f32 literal is not a number
// CHECK: = note: VerificationError
func.func @complex_for_a_real() {
  %a = ptir.constant (1.0, 2.0) : tensor<f32>
  func.return
}

// -----

// CHECK: error[E4005]: element inf of a fp8_e4m3 literal is infinite; the type has no infinity
// CHECK: = note: VerificationError
func.func @infinity_of_e4m3() {
  %a = ptir.constant inf : tensor<f8E4M3FN>
  func.return
}

// -----

// CHECK: error[E4005]: element 70000.0 of a f16 literal is beyond the finite range; write inf for infinity
// CHECK: = note: VerificationError
func.func @overflow_of_f16() {
  %a = ptir.constant 70000.0 : tensor<f16>
  func.return
}

// -----

// CHECK: error[E4005]: 1.0e400 is beyond the finite range of f64
// CHECK: = note: VerificationError
func.func @overflow_of_f64() {
  %a = ptir.constant 1.0e400 : tensor<f64>
  func.return
}

// -----

// CHECK: error[E4005]: a si4 literal has a byte 16, expected 0 to 15
// CHECK: = note: VerificationError
func.func @bytes_of_a_four_bit_integer() {
  %a = ptir.constant "0x10" : tensor<si4>
  func.return
}

// -----

// CHECK: error[E4005]: a i1 literal has a byte 2, expected 0 to 1
// CHECK: = note: VerificationError
func.func @bytes_of_a_truth() {
  %a = ptir.constant "0x02" : tensor<i1>
  func.return
}

// -----

// CHECK: error[E4005]: a literal string must be 0x and hex digits
// CHECK: = note: VerificationError
func.func @no_hexadecimal() {
  %a = ptir.constant "0xZZ" : tensor<si8>
  func.return
}

// -----

// The dtype is one of the contract's.
// CHECK: error[E2005]: unknown dtype i8, expected one of ['i1', 'si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64', 'fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64', 'cf32', 'cf64']
// CHECK: = note: DTypeNotSupported
func.func @signless() {
  %a = ptir.constant 1 : tensor<i8>
  func.return
}

// -----

// CHECK: error[E2005]: unknown dtype f80, expected one of ['i1', 'si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64', 'fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64', 'cf32', 'cf64']
// CHECK: = note: DTypeNotSupported
func.func @dtype() {
  %a = ptir.constant 1.0 : tensor<f80>
  func.return
}

// -----

// CHECK: error[E2001]: expected a tensor, found si8
// CHECK: = note: TypeError
func.func @no_tensor() {
  %a = ptir.constant 1 : si8
  func.return
}
