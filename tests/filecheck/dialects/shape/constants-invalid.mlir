// RUN: MIND_INVALID

// Sizes are from 0 to 2^63 - 1.
// CHECK: error[E9008]: shape.const_size %a: -1 is no size, expected a number from 0 to 2^63 - 1
// CHECK: = note: ShapeError
func.func @negative_size() {
  %a = shape.const_size -1
  func.return
}

// -----

// CHECK: error[E9008]: shape.constant %a: -3 is no size, expected a number from 0 to 2^63 - 1
// CHECK: = note: ShapeError
func.func @negative_early_size() {
  %a = shape.constant -3 : !shape.size
  func.return
}

// -----

// CHECK: error[E9008]: shape.const_size %a: 9223372036854775808 is no size, expected a number from 0 to 2^63 - 1
// CHECK: = note: ShapeError
func.func @huge_size() {
  %a = shape.const_size 9223372036854775808
  func.return
}

// -----

// CHECK: error[E9008]: shape.constant %a: 9223372036854775808 is no size, expected a number from 0 to 2^63 - 1
// CHECK: = note: ShapeError
func.func @huge_early_extent() {
  %a = shape.constant [3, 9223372036854775808] : !shape.shape
  func.return
}

// -----

// CHECK: error[E9008]: shape.constant %a: -1 is no size, expected a number from 0 to 2^63 - 1
// CHECK: = note: ShapeError
func.func @negative_early_extent() {
  %a = shape.constant [3, -1] : !shape.shape
  func.return
}

// -----

// CHECK: error[E9008]: shape.constant_dim %a: -1 is no size, expected a number from 0 to 2^63 - 1
// CHECK: = note: ShapeError
func.func @negative_dim() {
  %a = "shape.constant_dim"() {value = -1 : i32} : () -> !shape.size
  func.return
}

// -----

// CHECK: error[E9008]: shape.constant_dim %a: 1.000000e+00 : f32 is no size, expected an integer
// CHECK: = note: ShapeError
func.func @dim_of_float() {
  %a = "shape.constant_dim"() {value = 1.0 : f32} : () -> !shape.size
  func.return
}

// -----

// CHECK: error[E9008]: shape.const_size %a: 3 : i64 is no size, expected an integer of type index
// CHECK: = note: ShapeError
func.func @size_of_other_type() {
  %a = "shape.const_size"() <{value = 3 : i64}> : () -> !shape.size
  func.return
}

// -----

// CHECK: error[E9007]: shape.const_size %a: lacks the property 'value'
// CHECK: = note: VerificationError
func.func @no_value() {
  %a = "shape.const_size"() : () -> !shape.size
  func.return
}

// -----

// Unranked is a shape, not an extent.
// CHECK: error[E9008]: shape.constant %a: "*" is no size, expected an integer of type index or "?"
// CHECK: = note: ShapeError
func.func @unranked_with_extents() {
  %a = shape.constant [3, *] : !shape.shape
  func.return
}

// -----

// CHECK: error[E9008]: shape.constant %a: "invalid" is no size, expected an integer of type index or "?"
// CHECK: = note: ShapeError
func.func @invalid_with_extents() {
  %a = shape.constant [3, invalid] : !shape.shape
  func.return
}

// -----

// CHECK: error[E9008]: shape.constant %a: 3 : index is no shape, expected a list of sizes
// CHECK: = note: ShapeError
func.func @size_as_shape() {
  %a = shape.constant 3 : !shape.shape
  func.return
}

// -----

// CHECK: error[E9008]: shape.constant %a: [3 : index] is no size, expected an integer of type index, "?" or "invalid"
// CHECK: = note: ShapeError
func.func @shape_as_size() {
  %a = shape.constant [3] : !shape.size
  func.return
}

// -----

// CHECK: error[E9001]: shape.constant %a: result has type index, expected !shape.shape or !shape.size
// CHECK: = note: TypeError
func.func @constant_type() {
  %a = shape.constant 3 : index
  func.return
}

// -----

// CHECK: error[E1007]: expected a size from 0 up, ?, * or invalid
// CHECK: = note: SyntaxError
func.func @constant_word() {
  %a = shape.constant [3, "x"] : !shape.shape
  func.return
}

// -----

// CHECK: error[E1007]: expected a size from 0 up, ?, * or invalid
// CHECK: = note: SyntaxError
func.func @constant_nothing() {
  %a = shape.constant : !shape.shape
  func.return
}

// -----

// CHECK: error[E9008]: -9223372036854775809 is beyond 64 bits
// CHECK: = note: ShapeError
func.func @huge_extent() {
  %a = shape.const_shape [-9223372036854775809] : !shape.shape
  func.return
}

// -----

// An extent tensor has as many extents as the constant.
// CHECK: error[E9003]: shape.const_shape %a: result type tensor<3xindex> does not agree with the inferred tensor<2xindex>
// CHECK: = note: TypeError
func.func @shape_type() {
  %a = shape.const_shape [3, 4] : tensor<3xindex>
  func.return
}

// -----

// CHECK: error[E9003]: shape.const_shape %a: result type tensor<?xindex> does not agree with the inferred tensor<2xindex>
// CHECK: = note: TypeError
func.func @shape_dynamic_type() {
  %a = shape.const_shape [3, 4] : tensor<?xindex>
  func.return
}

// -----

// CHECK: error[E9007]: shape.const_shape %a: shape is dense<[3, 4]> : tensor<2xi32>, expected dense elements of a tensor<Nxindex>
// CHECK: = note: VerificationError
func.func @shape_elements() {
  %a = "shape.const_shape"() <{shape = dense<[3, 4]> : tensor<2xi32>}> : () -> !shape.shape
  func.return
}

// -----

// CHECK: error[E9007]: shape.const_shape %a: shape is dense<1> : tensor<2x2xindex>, expected dense elements of a tensor<Nxindex>
// CHECK: = note: VerificationError
func.func @shape_rank_2() {
  %a = "shape.const_shape"() <{shape = dense<1> : tensor<2x2xindex>}> : () -> !shape.shape
  func.return
}

// -----

// What is unknown has no modern constant.
// CHECK: error[E1007]: expected integer literal
// CHECK: = note: SyntaxError
func.func @shape_question_mark() {
  %a = shape.const_shape [3, ?] : !shape.shape
  func.return
}

// -----

// CHECK: error[E9007]: shape.const_witness %a: passing is 1 : i32, expected true or false
// CHECK: = note: VerificationError
func.func @witness() {
  %a = "shape.const_witness"() <{passing = 1 : i32}> : () -> !shape.witness
  func.return
}

// -----

// CHECK: error[E9001]: shape.const_witness %a: result has type i1, expected !shape.witness
// CHECK: = note: TypeError
func.func @witness_type() {
  %a = "shape.const_witness"() <{passing = true}> : () -> i1
  func.return
}

// -----

// A truth is no size, nor is a float.
// CHECK: error[E9008]: shape.constant %a: true is no size, expected an integer of type index or "?"
// CHECK: = note: ShapeError
func.func @truth() {
  %a = "shape.constant"() {value = [3, true]} : () -> !shape.shape
  func.return
}

// -----

// CHECK: error[E9008]: shape.constant %a: -3 is no size, expected a number from 0 to 2^63 - 1
// CHECK: = note: ShapeError
func.func @negative_i32() {
  %a = shape.constant [-3 : i32] : !shape.shape
  func.return
}

// -----

// CHECK: error[E1007]: expected an integer type for 3, found f32
// CHECK: = note: SyntaxError
func.func @float() {
  %a = shape.constant [3 : f32] : !shape.shape
  func.return
}
