// RUN: MIND_INVALID

// Sizes only, although the early text says "shape".
// CHECK: error[E9001]: shape.add %a: operand lhs has type !shape.shape, expected !shape.size or index
// CHECK: = note: TypeError
func.func @add_shapes(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index) {
  %a = shape.add %s, %s : !shape.shape, !shape.shape -> !shape.size
  func.return
}

// -----

// An index cannot hold the error that a size may be.
// CHECK: error[E9002]: shape.mul %a: an operand of type !shape.size may hold an error, so the result must be !shape.size, found index
// CHECK: = note: TypeError
func.func @mul_loses_errors(%z: !shape.size, %i: index) {
  %a = shape.mul %z, %i : !shape.size, index -> index
  func.return
}

// -----

// CHECK: error[E9001]: shape.div %a: result has type !shape.shape, expected !shape.size or index
// CHECK: = note: TypeError
func.func @div_result(%z: !shape.size, %i: index) {
  %a = shape.div %i, %i : index, index -> !shape.shape
  func.return
}

// -----

// CHECK: error[E2007]: shape.add %a: expects 2 operands, found 1
// CHECK: = note: TypeError
func.func @add_count(%z: !shape.size, %i: index) {
  %a = "shape.add"(%z) : (!shape.size) -> !shape.size
  func.return
}

// -----

// CHECK: error[E2007]: shape.add %a: expects 1 result, found 2
// CHECK: = note: TypeError
func.func @add_results(%z: !shape.size, %i: index) {
  %a, %b = "shape.add"(%z, %z) : (!shape.size, !shape.size) -> (!shape.size, !shape.size)
  func.return
}

// -----

// CHECK: error[E9007]: shape.add %a: unknown property 'error', expected none
// CHECK: = note: VerificationError
func.func @add_property(%z: !shape.size, %i: index) {
  %a = "shape.add"(%z, %z) <{error = "why"}> : (!shape.size, !shape.size) -> !shape.size
  func.return
}

// -----

// CHECK: error[E9005]: shape.add %a: counts of regions and successors are 1 and 0, expected 0 and 0
// CHECK: = note: VerificationError
func.func @add_region(%z: !shape.size, %i: index) {
  %a = "shape.add"(%z, %z) ({}) : (!shape.size, !shape.size) -> !shape.size
  func.return
}

// -----

// CHECK: error[E9001]: shape.max %a: operand lhs has type index, expected !shape.shape or !shape.size
// CHECK: = note: TypeError
func.func @max_index(%z: !shape.size, %i: index) {
  %a = shape.max %i, %i : index, index -> index
  func.return
}

// -----

// Of a shape and a size a size is inferred.
// CHECK: error[E9003]: shape.min %a: result type !shape.shape does not agree with the inferred !shape.size
// CHECK: = note: TypeError
func.func @min_of_both(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index) {
  %a = shape.min %s, %z : !shape.shape, !shape.size -> !shape.shape
  func.return
}

// -----

// CHECK: error[E9001]: shape.index_to_size %a: operand arg has type !shape.size, expected index
// CHECK: = note: TypeError
func.func @index_to_size(%z: !shape.size, %i: index) {
  %a = "shape.index_to_size"(%z) : (!shape.size) -> !shape.size
  func.return
}

// -----

// CHECK: error[E9001]: shape.size_to_index %a: result has type i32, expected index
// CHECK: = note: TypeError
func.func @size_to_index(%z: !shape.size, %i: index) {
  %a = "shape.size_to_index"(%z) : (!shape.size) -> i32
  func.return
}
