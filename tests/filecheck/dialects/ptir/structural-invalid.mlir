// RUN: PTIR_INVALID

// reshape: the element count is preserved; at most one extent is inferred, and it must come out even.
// CHECK: error[E3007]: reshape %a: cannot reshape [2, 3] to [2, 4]: 6 elements to 8
// CHECK: = note: ShapeError
func.func @reshape_count(%x: tensor<2x3xf32>) {
  %a = ptir.reshape %x new_shape = [2, 4] : tensor<2x3xf32> -> tensor<2x4xf32>
  func.return
}

// -----

// CHECK: error[E3006]: reshape %a: extent -1 at 1 in [0, -1], expected 0 to 2^63 - 1 or a name
// CHECK: = note: NegativeDimension
func.func @reshape_two_inferred(%x: tensor<2x3xf32>) {
  %a = ptir.reshape %x new_shape = [-1, -1] : tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E3007]: reshape %a: cannot reshape [2, 3] to [4, -1]: 6 elements to 4
// CHECK: = note: ShapeError
func.func @reshape_uneven(%x: tensor<2x3xf32>) {
  %a = ptir.reshape %x new_shape = [4, -1] : tensor<2x3xf32> -> tensor<4x1xf32>
  func.return
}

// -----

// CHECK: error[E3007]: reshape %a: cannot reshape [0, 3] to [0, -1]: 0 elements to 0
// CHECK: = note: ShapeError
func.func @reshape_inferred_of_nothing(%x: tensor<0x3xf32>) {
  %a = ptir.reshape %x new_shape = [0, -1] : tensor<0x3xf32>
  func.return
}

// -----

// CHECK: error[E3006]: reshape %a: extent -2 at 0 in [-2, 3], expected 0 to 2^63 - 1 or a name
// CHECK: = note: NegativeDimension
func.func @reshape_negative(%x: tensor<2x3xf32>) {
  %a = ptir.reshape %x new_shape = [-2, 3] : tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E4015]: reshape %a: declared result tensor<2x3xf32>, inferred tensor<3x2xf32>
// CHECK: = note: VerificationError
func.func @reshape_result(%x: tensor<2x3xf32>) {
  %a = ptir.reshape %x new_shape = [3, 2] : tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E8001]: ptir.reshape: new_shape uses the dimension name 2B, which no input and no earlier value has
// CHECK: = note: DynamicDimensionMismatch
func.func @reshape_name(%x: tensor<2x3xf32>) {
  %a = "ptir.reshape"(%x) <{new_shape = ["2B", 3 : i64]}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// transpose: perm is a permutation of the axes.
// CHECK: error[E3008]: transpose %a: [0, 0] is no permutation of the 2 axes: 0 is given twice
// CHECK: = note: ShapeError
func.func @transpose_twice(%x: tensor<2x3xf32>) {
  %a = ptir.transpose %x perm = [0, 0] : tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E3008]: transpose %a: [0] is no permutation of the 2 axes: it has 1 entries
// CHECK: = note: ShapeError
func.func @transpose_short(%x: tensor<2x3xf32>) {
  %a = ptir.transpose %x perm = [0] : tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E3008]: transpose %a: [0, 2] is no permutation of the 2 axes: 2 is out of range
// CHECK: = note: ShapeError
func.func @transpose_range(%x: tensor<2x3xf32>) {
  %a = ptir.transpose %x perm = [0, 2] : tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E4015]: transpose %a: declared result tensor<2x3xf32>, inferred tensor<3x2xf32>
// CHECK: = note: VerificationError
func.func @transpose_result(%x: tensor<2x3xf32>) {
  %a = ptir.transpose %x perm = [1, 0] : tensor<2x3xf32>
  func.return
}

// -----

// broadcast_to: right-aligned; extents are equal or the operand's is 1; no dimension goes.
// CHECK: error[E3001]: broadcast_to %a: cannot broadcast [3] to [4]: 3 and 4 at dimension 0, expected equal or 1 and any
// CHECK: = note: BroadcastDimsInvalid
func.func @broadcast_extents(%x: tensor<3xf32>) {
  %a = ptir.broadcast_to %x result_shape = [4] : tensor<3xf32> -> tensor<4xf32>
  func.return
}

// -----

// CHECK: error[E3001]: broadcast_to %a: cannot broadcast [3] to [1]: 3 and 1 at dimension 0, expected equal or 1 and any
// CHECK: = note: BroadcastDimsInvalid
func.func @broadcast_down(%x: tensor<3xf32>) {
  %a = ptir.broadcast_to %x result_shape = [1] : tensor<3xf32> -> tensor<1xf32>
  func.return
}

// -----

// CHECK: error[E3002]: broadcast_to %a: cannot broadcast [1, 3] to [3]: rank 2 to rank 1, expected no fewer
// CHECK: = note: BroadcastRankMismatch
func.func @broadcast_rank(%x: tensor<1x3xf32>) {
  %a = ptir.broadcast_to %x result_shape = [3] : tensor<1x3xf32> -> tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E3001]: broadcast_to %a: cannot broadcast [2] to [2, 3]: 2 and 3 at dimension 1, expected equal or 1 and any
// CHECK: = note: BroadcastDimsInvalid
func.func @broadcast_left_aligned(%x: tensor<2xf32>) {
  %a = ptir.broadcast_to %x result_shape = [2, 3] : tensor<2xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E3006]: broadcast_to %a: extent -1 at 0 in [-1], expected 0 to 2^63 - 1 or a name
// CHECK: = note: NegativeDimension
func.func @broadcast_negative(%x: tensor<1xf32>) {
  %a = ptir.broadcast_to %x result_shape = [-1] : tensor<1xf32>
  func.return
}

// -----

// slice: a start and a size per dimension, inside of the extent.
// CHECK: error[E4007]: slice %a: sizes has 2 entries, expected 1, one per dimension
// CHECK: = note: VerificationError
func.func @slice_lengths(%x: tensor<4xf32>) {
  %a = ptir.slice %x starts = [0] sizes = [1, 1] : tensor<4xf32> -> tensor<1xf32>
  func.return
}

// -----

// CHECK: error[E4012]: slice %a: slice 2 + 3 at dimension 0 of extent 4, expected start + size <= 4
// CHECK: = note: VerificationError
func.func @slice_beyond(%x: tensor<4xf32>) {
  %a = ptir.slice %x starts = [2] sizes = [3] : tensor<4xf32> -> tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E4012]: slice %a: slice -1 + 3 at dimension 0 holds -1, expected non-negative numbers
// CHECK: = note: VerificationError
func.func @slice_before(%x: tensor<4xf32>) {
  %a = ptir.slice %x starts = [-1] sizes = [3] : tensor<4xf32> -> tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E4012]: slice %a: slice 1 + -1 at dimension 0 holds -1, expected non-negative numbers
// CHECK: = note: VerificationError
func.func @slice_size(%x: tensor<4xf32>) {
  %a = ptir.slice %x starts = [1] sizes = [-1] : tensor<4xf32> -> tensor<1xf32>
  func.return
}

// -----

// concat: one operand or more, all dtypes equal, all shapes equal off the axis.
// CHECK: error[E2007]: concat %a: expects at least 1 operands, found 0
// CHECK: = note: TypeError
func.func @concat_of_nothing() {
  %a = "ptir.concat"() <{axis = 0 : i64}> : () -> tensor<0xf32>
  func.return
}

// -----

// CHECK: error[E2004]: concat %a: operands 0 and 1 have dtypes f32 and f16, expected one dtype; cast makes them equal
// CHECK: = note: TypeError
func.func @concat_dtypes(%x: tensor<2xf32>, %y: tensor<2xf16>) {
  %a = ptir.concat %x, %y axis = 0 : (tensor<2xf32>, tensor<2xf16>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: error[E3003]: concat %a: dimension 1 extents 3 and 4, expected equal
// CHECK: = note: ShapeError
func.func @concat_shapes(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  %a = ptir.concat %x, %y axis = 0 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  func.return
}

// -----

// CHECK: error[E3002]: concat %a: operand of concat has rank 1, expected 2
// CHECK: = note: ShapeError
func.func @concat_ranks(%x: tensor<2x3xf32>, %y: tensor<2xf32>) {
  %a = ptir.concat %x, %y axis = 0 : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<4x3xf32>
  func.return
}

// -----

// CHECK: error[E3004]: concat %a: axis -2 is out of range for rank 1, expected -1 <= axis < 1
// CHECK: = note: ShapeError
func.func @concat_axis(%x: tensor<2xf32>) {
  %a = ptir.concat %x, %x axis = -2 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: error[E3006]: concat %a: result extent 18446744073709551614 at 0 in [18446744073709551614], expected 0 to 2^63 - 1
// CHECK: = note: NegativeDimension
func.func @concat_overflow(%x: tensor<9223372036854775807xi1>) {
  %a = ptir.concat %x, %x axis = 0 : tensor<9223372036854775807xi1>
  func.return
}

// -----

// pad: three numbers per dimension, none negative; the value has the operand's dtype; the result is as large as they say.
// CHECK: error[E4007]: pad %a: high has 0 entries, expected 1, one per dimension
// CHECK: = note: VerificationError
func.func @pad_lengths(%x: tensor<3xf32>) {
  %a = ptir.pad %x low = [1] high = [] interior = [0] pad_value = 0.0 : f32 : tensor<3xf32> -> tensor<4xf32>
  func.return
}

// -----

// CHECK: error[E8002]: pad %a: low [-1] holds -1, expected at least 0
// CHECK: = note: InvalidAttributeValue
func.func @pad_negative(%x: tensor<3xf32>) {
  %a = ptir.pad %x low = [-1] high = [0] interior = [0] pad_value = 0.0 : f32 : tensor<3xf32> -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2004]: pad %a: x and pad_value have dtypes f32 and f64, expected one dtype; cast makes them equal
// CHECK: = note: TypeError
func.func @pad_value_dtype(%x: tensor<3xf32>) {
  %a = ptir.pad %x low = [1] high = [0] interior = [0] pad_value = 0.0 : f64 : tensor<3xf32> -> tensor<4xf32>
  func.return
}

// -----

// CHECK: error[E4005]: element 1000 of a si8 literal is outside -2^7 .. 2^7 - 1
// CHECK: = note: VerificationError
func.func @pad_value_range(%x: tensor<3xsi8>) {
  %a = ptir.pad %x low = [1] high = [0] interior = [0] pad_value = 1000 : si8 : tensor<3xsi8> -> tensor<4xsi8>
  func.return
}

// -----

// CHECK: error[E4015]: pad %a: declared result tensor<6xf32>, inferred tensor<8xf32>
// CHECK: = note: VerificationError
func.func @pad_result(%x: tensor<3xf32>) {
  %a = ptir.pad %x low = [1] high = [2] interior = [1] pad_value = 0.0 : f32 : tensor<3xf32> -> tensor<6xf32>
  func.return
}

// -----

// tile: one count per dimension, from 0 up.
// CHECK: error[E4007]: tile %a: repeats has 2 entries, expected 1, one per dimension
// CHECK: = note: VerificationError
func.func @tile_lengths(%x: tensor<3xf32>) {
  %a = ptir.tile %x repeats = [1, 1] : tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E8002]: tile %a: repeats [-1] holds -1, expected at least 0
// CHECK: = note: InvalidAttributeValue
func.func @tile_negative(%x: tensor<3xf32>) {
  %a = ptir.tile %x repeats = [-1] : tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E4015]: tile %a: declared result tensor<3xf32>, inferred tensor<6xf32>
// CHECK: = note: VerificationError
func.func @tile_result(%x: tensor<3xf32>) {
  %a = ptir.tile %x repeats = [2] : tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E3006]: tile %a: result extent 18446744073709551616 at 0 in [18446744073709551616], expected 0 to 2^63 - 1
// CHECK: = note: NegativeDimension
func.func @tile_overflow(%x: tensor<4294967296xi1>) {
  %a = ptir.tile %x repeats = [4294967296] : tensor<4294967296xi1>
  func.return
}

// -----

// iota: an axis of the shape, a dtype that counts.
// CHECK: error[E3004]: iota %a: axis 0 is out of range: a tensor of rank 0 has no axes
// CHECK: = note: ShapeError
func.func @iota_axis() {
  %a = ptir.iota shape = [] dtype = f32 axis = 0 : tensor<f32>
  func.return
}

// -----

// CHECK: error[E2005]: iota %a: dtype has dtype i1, expected one of ['si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64', 'fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @iota_dtype() {
  %a = ptir.iota shape = [2] dtype = i1 axis = 0 : tensor<2xi1>
  func.return
}

// -----

// CHECK: error[E3006]: iota %a: extent -2 at 0 in [-2], expected 0 to 2^63 - 1 or a name
// CHECK: = note: NegativeDimension
func.func @iota_negative() {
  %a = ptir.iota shape = [-2] dtype = f32 axis = 0 : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E4015]: iota %a: declared result tensor<2xsi32>, inferred tensor<2xf32>
// CHECK: = note: VerificationError
func.func @iota_result() {
  %a = ptir.iota shape = [2] dtype = f32 axis = 0 : tensor<2xsi32>
  func.return
}
