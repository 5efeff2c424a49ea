// RUN: MIND_INVALID

// CHECK: error[E9001]: shape.shape_of %a: operand arg has type index, expected a tensor, memref, vector or !shape.value_shape
// CHECK: = note: TypeError
func.func @shape_of_type(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = "shape.shape_of"(%i) : (index) -> !shape.shape
  func.return
}

// -----

// The type says how many extents there are.
// CHECK: error[E9003]: shape.shape_of %a: result type tensor<3xindex> does not agree with the inferred tensor<2xindex>
// CHECK: = note: TypeError
func.func @shape_of_rank(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = shape.shape_of %x : tensor<?x3xf32> -> tensor<3xindex>
  func.return
}

// -----

// CHECK: error[E9002]: shape.shape_of %a: an operand of type !shape.value_shape may hold an error, so the result must be !shape.shape, found tensor<?xindex>
// CHECK: = note: TypeError
func.func @shape_of_loses_errors(%v: !shape.value_shape) {
  %a = shape.shape_of %v : !shape.value_shape -> tensor<?xindex>
  func.return
}

// -----

// CHECK: error[E9001]: shape.value_of %a: operand arg has type tensor<?x3xf32>, expected !shape.value_shape
// CHECK: = note: TypeError
func.func @value_of(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = "shape.value_of"(%x) : (tensor<?x3xf32>) -> tensor<?x3xf32>
  func.return
}

// -----

// CHECK: error[E9001]: shape.value_as_shape %a: operand arg has type tensor<?x3xf32>, expected a tensor<?xi32> of any integers or !shape.value_shape
// CHECK: = note: TypeError
func.func @value_as_shape(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = shape.value_as_shape %x : tensor<?x3xf32> -> !shape.shape
  func.return
}

// -----

// CHECK: error[E9001]: shape.with_shape %a: operand shape has type index, expected !shape.shape or an extent tensor (tensor<?xindex>)
// CHECK: = note: TypeError
func.func @with_shape(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = shape.with_shape %x, %i : tensor<?x3xf32>, index
  func.return
}

// -----

// A list of integers, of i32, i64 or index.
// CHECK: error[E9001]: shape.create_shape %a: operand input has type tensor<?x3xf32>, expected a tensor<?xi32>, of i32, i64 or index
// CHECK: = note: TypeError
func.func @create_shape(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = shape.create_shape %x : tensor<?x3xf32>
  func.return
}

// -----

// CHECK: error[E9001]: shape.create_shape %a: operand input has type tensor<2xi8>, expected a tensor<?xi32>, of i32, i64 or index
// CHECK: = note: TypeError
func.func @create_shape_width(%x: tensor<2xi8>) {
  %a = shape.create_shape %x : tensor<2xi8>
  func.return
}

// -----

// CHECK: error[E9001]: shape.from_extent_tensor %a: operand input has type !shape.shape, expected an extent tensor (tensor<?xindex>)
// CHECK: = note: TypeError
func.func @from_extent_tensor(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = shape.from_extent_tensor %s : !shape.shape
  func.return
}

// -----

// Upstream takes this, though a list of extents has one dimension.
// CHECK: error[E9001]: shape.to_extent_tensor %a: result has type tensor<2x3xindex>, expected an extent tensor (tensor<?xindex>)
// CHECK: = note: TypeError
func.func @to_extent_tensor(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = shape.to_extent_tensor %s : !shape.shape -> tensor<2x3xindex>
  func.return
}

// -----

// CHECK: error[E9001]: shape.from_extents %a: operand extents 0 has type !shape.shape, expected !shape.size or index
// CHECK: = note: TypeError
func.func @from_extents(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = shape.from_extents %s : !shape.shape
  func.return
}

// -----

// CHECK: error[E9001]: shape.join %a: operands of types !shape.shape and !shape.size, expected two sizes or two shapes
// CHECK: = note: TypeError
func.func @join_shape_and_size(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = shape.join %s, %z : !shape.shape, !shape.size -> !shape.shape
  func.return
}

// -----

// Upstream takes this, looking at one operand only.
// CHECK: error[E9001]: shape.meet %a: operands of types index and tensor<?xindex>, expected two sizes or two shapes
// CHECK: = note: TypeError
func.func @meet_index_and_extents(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = shape.meet %i, %e : index, tensor<?xindex> -> tensor<?xindex>
  func.return
}

// -----

// CHECK: error[E9003]: shape.meet %a: result type !shape.shape does not agree with the inferred !shape.size
// CHECK: = note: TypeError
func.func @meet_result(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = shape.meet %z, %z : !shape.size, !shape.size -> !shape.shape
  func.return
}

// -----

// CHECK: error[E9003]: shape.meet %a: extent tensors of 2 and 3 extents, expected the same rank
// CHECK: = note: TypeError
func.func @meet_ranks(%e: tensor<2xindex>, %f: tensor<3xindex>) {
  %a = shape.meet %e, %f : tensor<2xindex>, tensor<3xindex> -> tensor<?xindex>
  func.return
}

// -----

// CHECK: error[E9007]: shape.meet %a: error is 1 : i32, expected a string
// CHECK: = note: VerificationError
func.func @meet_reason(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = "shape.meet"(%z, %z) <{error = 1 : i32}> : (!shape.size, !shape.size) -> !shape.size
  func.return
}

// -----

// CHECK: error[E9002]: shape.broadcast %a: an operand of type !shape.shape may hold an error, so the result must be !shape.shape, found tensor<?xindex>
// CHECK: = note: TypeError
func.func @broadcast_loses_errors(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = shape.broadcast %s, %e : !shape.shape, tensor<?xindex> -> tensor<?xindex>
  func.return
}

// -----

// CHECK: error[E9001]: shape.broadcast %a: operand shapes 1 has type !shape.size, expected !shape.shape or an extent tensor (tensor<?xindex>)
// CHECK: = note: TypeError
func.func @broadcast_of_sizes(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = shape.broadcast %s, %z : !shape.shape, !shape.size -> !shape.shape
  func.return
}

// -----

// CHECK: error[E9007]: shape.broadcast %a: error is 1 : i32, expected a string
// CHECK: = note: VerificationError
func.func @broadcast_reason(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = shape.broadcast %s, %s {error = 1 : i32} : !shape.shape, !shape.shape -> !shape.shape
  func.return
}

// -----

// CHECK: error[E9001]: shape.any %a: operand inputs 1 has type index, expected !shape.shape or an extent tensor (tensor<?xindex>)
// CHECK: = note: TypeError
func.func @any(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = shape.any %s, %i : !shape.shape, index -> !shape.shape
  func.return
}

// -----

// CHECK: error[E9001]: shape.concat %a: operand rhs has type !shape.size, expected !shape.shape or an extent tensor (tensor<?xindex>)
// CHECK: = note: TypeError
func.func @concat(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = shape.concat %s, %z : !shape.shape, !shape.size -> !shape.shape
  func.return
}

// -----

// CHECK: error[E9001]: shape.split_at %h: operand index has type !shape.shape, expected !shape.size or index
// CHECK: = note: TypeError
func.func @split_at(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %h, %t = "shape.split_at"(%s, %s) : (!shape.shape, !shape.shape) -> (!shape.shape, !shape.shape)
  func.return
}

// -----

// CHECK: error[E2007]: shape.split_at %h: expects 2 results, found 1
// CHECK: = note: TypeError
func.func @split_at_results(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %h = "shape.split_at"(%s, %z) : (!shape.shape, !shape.size) -> !shape.shape
  func.return
}

// -----

// CHECK: error[E9002]: shape.get_extent %a: an operand of type !shape.size may hold an error, so the result must be !shape.size, found index
// CHECK: = note: TypeError
func.func @get_extent_loses_errors(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = shape.get_extent %e, %z : tensor<?xindex>, !shape.size -> index
  func.return
}

// -----

// CHECK: error[E9002]: shape.rank %a: an operand of type !shape.shape may hold an error, so the result must be !shape.size, found index
// CHECK: = note: TypeError
func.func @rank_loses_errors(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = shape.rank %s : !shape.shape -> index
  func.return
}

// -----

// CHECK: error[E9002]: shape.num_elements %a: an operand of type !shape.shape may hold an error, so the result must be !shape.size, found index
// CHECK: = note: TypeError
func.func @num_elements_loses_errors(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = shape.num_elements %s : !shape.shape -> index
  func.return
}

// -----

// CHECK: error[E9001]: shape.dim %a: operand value has type !shape.shape, expected a tensor, memref or vector
// CHECK: = note: TypeError
func.func @dim(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = shape.dim %s, %i : !shape.shape, index -> index
  func.return
}

// -----

// Upstream takes this, though what is printed is passed on.
// CHECK: error[E9003]: shape.debug_print %a: result type !shape.size does not agree with the inferred !shape.shape
// CHECK: = note: TypeError
func.func @debug_print(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = "shape.debug_print"(%s) : (!shape.shape) -> !shape.size
  func.return
}

// -----

// Shapes of more than 1,000 dimensions are refused.
// CHECK: error[E9004]: shape.from_extent_tensor %a: operand input is of rank 1001, at most 1000 is supported
// CHECK: = note: ShapeError
func.func @rank_beyond_limit(%e: tensor<1001xindex>) {
  %a = shape.from_extent_tensor %e : tensor<1001xindex>
  func.return
}
