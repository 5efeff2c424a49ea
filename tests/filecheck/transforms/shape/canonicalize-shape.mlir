// RUN: mind-opt %s --canonicalize-shape | filecheck %s
// RUN: mind-opt %s --canonicalize-shape --canonicalize-shape | filecheck %s
// RUN: xdsl-opt %s -p mind-canonicalize-shape | filecheck %s

// x + 0 -> x for the index 0; a size that is 0 stays, as upstream does not look into it.
// CHECK-LABEL: func.func @add_zero
// CHECK-SAME: (%i: index, %z: !shape.size) -> (index, !shape.size)
// CHECK-NEXT: %[[Z0:[a-z0-9_]+]] = shape.const_size 0
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = shape.add %z, %[[Z0]] : !shape.size, !shape.size -> !shape.size
// CHECK-NEXT: func.return %i, %[[B]] : index, !shape.size
// CHECK-NEXT: }
func.func @add_zero(%i: index, %z: !shape.size) -> (index, !shape.size) {
  %c0 = arith.constant 0 : index
  %z0 = shape.const_size 0
  %a = shape.add %c0, %i : index, index -> index
  %b = shape.add %z0, %z : !shape.size, !shape.size -> !shape.size
  func.return %a, %b : index, !shape.size
}

// Constants fold, rounding down; a sum that would wrap around and a quotient by zero stay.
// CHECK-LABEL: func.func @arithmetic
// CHECK-SAME: () -> (!shape.size, index, index, index)
// CHECK-NEXT: %[[I0:[a-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[I2:[a-z0-9_]+]] = arith.constant 2 : index
// CHECK-NEXT: %[[BIG:[a-z0-9_]+]] = arith.constant 9223372036854775807 : index
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = shape.const_size 4
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = arith.constant -4 : index
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = shape.add %[[BIG]], %[[I2]] : index, index -> index
// CHECK-NEXT: %[[D:[a-z0-9_]+]] = shape.div %[[I2]], %[[I0]] : index, index -> index
// CHECK-NEXT: func.return %[[A]], %[[B]], %[[C]], %[[D]] : !shape.size, index, index, index
// CHECK-NEXT: }
func.func @arithmetic() -> (!shape.size, index, index, index) {
  %z2 = shape.const_size 2
  %i0 = arith.constant 0 : index
  %i2 = arith.constant 2 : index
  %m7 = arith.constant -7 : index
  %big = arith.constant 9223372036854775807 : index
  %a = shape.mul %z2, %i2 : !shape.size, index -> !shape.size
  %b = shape.div %m7, %i2 : index, index -> index
  %c = shape.add %big, %i2 : index, index -> index
  %d = shape.div %i2, %i0 : index, index -> index
  func.return %a, %b, %c, %d : !shape.size, index, index, index
}

// max(x, x) -> x; constants stay.
// CHECK-LABEL: func.func @extremum
// CHECK-SAME: (%z: !shape.size) -> (!shape.size, !shape.size)
// CHECK-NEXT: %[[Z1:[a-z0-9_]+]] = shape.const_size 1
// CHECK-NEXT: %[[Z2:[a-z0-9_]+]] = shape.const_size 2
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = shape.min %[[Z1]], %[[Z2]] : !shape.size, !shape.size -> !shape.size
// CHECK-NEXT: func.return %z, %[[B]] : !shape.size, !shape.size
// CHECK-NEXT: }
func.func @extremum(%z: !shape.size) -> (!shape.size, !shape.size) {
  %z1 = shape.const_size 1
  %z2 = shape.const_size 2
  %a = shape.max %z, %z : !shape.size, !shape.size -> !shape.size
  %b = shape.min %z1, %z2 : !shape.size, !shape.size -> !shape.size
  func.return %a, %b : !shape.size, !shape.size
}

// Known constants of the early form become modern ones; others stay.
// CHECK-LABEL: func.func @early
// CHECK-SAME: () -> (!shape.size, !shape.shape, !shape.shape, !shape.shape)
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = shape.const_size 3
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = shape.const_shape [3, 4] : !shape.shape
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = shape.constant [3, ?] : !shape.shape
// CHECK-NEXT: %[[D:[a-z0-9_]+]] = shape.constant [invalid] : !shape.shape
// CHECK-NEXT: func.return %[[A]], %[[B]], %[[C]], %[[D]] : !shape.size, !shape.shape, !shape.shape, !shape.shape
// CHECK-NEXT: }
func.func @early() -> (!shape.size, !shape.shape, !shape.shape, !shape.shape) {
  %a = shape.constant 3 : !shape.size
  %b = shape.constant [3, 4] : !shape.shape
  %c = shape.constant [3, ?] : !shape.shape
  %d = shape.constant [invalid] : !shape.shape
  func.return %a, %b, %c, %d : !shape.size, !shape.shape, !shape.shape, !shape.shape
}

// The shape of a static type is a constant; one extent of a partly static shape is not folded by get_extent, but by dim.
// CHECK-LABEL: func.func @types
// CHECK-SAME: (%x: tensor<2x3xf32>, %y: tensor<?x4xf32>) -> (!shape.shape, tensor<?xindex>, index, index, index)
// CHECK-NEXT: %[[D:[a-z0-9_]+]] = arith.constant 4 : index
// CHECK-NEXT: %[[I1:[a-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[I0:[a-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = shape.const_shape [2, 3] : !shape.shape
// CHECK-NEXT: %[[R0:[a-z0-9_]+]] = shape.const_shape [2, 3] : tensor<2xindex>
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = tensor.cast %[[R0]] : tensor<2xindex> to tensor<?xindex>
// CHECK-NEXT: %[[S:[a-z0-9_]+]] = shape.shape_of %y : tensor<?x4xf32> -> tensor<2xindex>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = shape.get_extent %[[S]], %[[I1]] : tensor<2xindex>, index -> index
// CHECK-NEXT: %[[E:[a-z0-9_]+]] = shape.dim %y, %[[I0]] : tensor<?x4xf32>, index -> index
// CHECK-NEXT: func.return %[[A]], %[[B]], %[[C]], %[[D]], %[[E]] : !shape.shape, tensor<?xindex>, index, index, index
// CHECK-NEXT: }
func.func @types(%x: tensor<2x3xf32>, %y: tensor<?x4xf32>) -> (!shape.shape, tensor<?xindex>, index, index, index) {
  %i1 = arith.constant 1 : index
  %i0 = arith.constant 0 : index
  %a = shape.shape_of %x : tensor<2x3xf32> -> !shape.shape
  %b = shape.shape_of %x : tensor<2x3xf32> -> tensor<?xindex>
  %s = shape.shape_of %y : tensor<?x4xf32> -> tensor<2xindex>
  %c = shape.get_extent %s, %i1 : tensor<2xindex>, index -> index
  %d = shape.dim %y, %i1 : tensor<?x4xf32>, index -> index
  %e = shape.dim %y, %i0 : tensor<?x4xf32>, index -> index
  func.return %a, %b, %c, %d, %e : !shape.shape, tensor<?xindex>, index, index, index
}

// The rank of a ranked type is known, that of an extent tensor is not asked.
// CHECK-LABEL: func.func @rank
// CHECK-SAME: (%y: tensor<?x4xf32>, %e: tensor<3xindex>) -> (!shape.size, index)
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = shape.const_size 2
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = shape.rank %e : tensor<3xindex> -> index
// CHECK-NEXT: func.return %[[A]], %[[B]] : !shape.size, index
// CHECK-NEXT: }
func.func @rank(%y: tensor<?x4xf32>, %e: tensor<3xindex>) -> (!shape.size, index) {
  %s = shape.shape_of %y : tensor<?x4xf32> -> !shape.shape
  %a = shape.rank %s : !shape.shape -> !shape.size
  %b = shape.rank %e : tensor<3xindex> -> index
  func.return %a, %b : !shape.size, index
}

// Of constant shapes everything is known, unless an extent is unknown or an index out of bounds.
// CHECK-LABEL: func.func @constants
// CHECK-SAME: () -> (!shape.shape, !shape.shape, !shape.size, !shape.size, index, index)
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = arith.constant 3 : index
// CHECK-NEXT: %[[TAIL:[a-z0-9_]+]] = shape.const_shape [3, 2, 3] : !shape.shape
// CHECK-NEXT: %[[I2:[a-z0-9_]+]] = arith.constant 2 : index
// CHECK-NEXT: %[[T:[a-z0-9_]+]] = shape.const_shape [2, 3] : tensor<2xindex>
// CHECK-NEXT: %[[U:[a-z0-9_]+]] = shape.const_shape [-1, 3] : !shape.shape
// CHECK-NEXT: %[[HEAD:[a-z0-9_]+]] = shape.const_shape [2] : !shape.shape
// CHECK-NEXT: %[[N:[a-z0-9_]+]] = shape.const_size 6
// CHECK-NEXT: %[[M:[a-z0-9_]+]] = shape.num_elements %[[U]] : !shape.shape -> !shape.size
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = shape.get_extent %[[T]], %[[I2]] : tensor<2xindex>, index -> index
// CHECK-NEXT: func.return %[[HEAD]], %[[TAIL]], %[[N]], %[[M]], %[[A]], %[[B]] : !shape.shape, !shape.shape, !shape.size, !shape.size, index, index
// CHECK-NEXT: }
func.func @constants() -> (!shape.shape, !shape.shape, !shape.size, !shape.size, index, index) {
  %i1 = arith.constant 1 : index
  %i2 = arith.constant 2 : index
  %s = shape.const_shape [2, 3] : !shape.shape
  %t = shape.const_shape [2, 3] : tensor<2xindex>
  %u = shape.const_shape [-1, 3] : !shape.shape
  %c = shape.concat %s, %t : !shape.shape, tensor<2xindex> -> !shape.shape
  %head, %tail = "shape.split_at"(%c, %i1) : (!shape.shape, index) -> (!shape.shape, !shape.shape)
  %n = shape.num_elements %s : !shape.shape -> !shape.size
  %m = shape.num_elements %u : !shape.shape -> !shape.size
  %a = shape.get_extent %t, %i1 : tensor<2xindex>, index -> index
  %b = shape.get_extent %t, %i2 : tensor<2xindex>, index -> index
  func.return %head, %tail, %n, %m, %a, %b : !shape.shape, !shape.shape, !shape.size, !shape.size, index, index
}

// Constants that broadcast become one, the last operand; duplicates and rank 0 go, and `error` stays.
// CHECK-LABEL: func.func @broadcast
// CHECK-SAME: (%s: !shape.shape, %e: tensor<2xindex>) -> (!shape.shape, !shape.shape, tensor<?xindex>)
// CHECK-NEXT: %[[R0:[a-z0-9_]+]] = shape.const_shape [3, 2] : tensor<2xindex>
// CHECK-NEXT: %[[R1:[a-z0-9_]+]] = shape.broadcast %s, %[[R0]] {error = "why"} : !shape.shape, tensor<2xindex> -> !shape.shape
// CHECK-NEXT: %[[R2:[a-z0-9_]+]] = tensor.cast %e : tensor<2xindex> to tensor<?xindex>
// CHECK-NEXT: func.return %[[R1]], %s, %[[R2]] : !shape.shape, !shape.shape, tensor<?xindex>
// CHECK-NEXT: }
func.func @broadcast(%s: !shape.shape, %e: tensor<2xindex>) -> (!shape.shape, !shape.shape, tensor<?xindex>) {
  %a = shape.const_shape [1, 2] : !shape.shape
  %b = shape.const_shape [3, 1] : !shape.shape
  %n = shape.const_shape [] : !shape.shape
  %f = tensor.cast %e : tensor<2xindex> to tensor<?xindex>
  %0 = shape.broadcast %a, %s, %b {error = "why"} : !shape.shape, !shape.shape, !shape.shape -> !shape.shape
  %1 = shape.broadcast %s, %n, %s : !shape.shape, !shape.shape, !shape.shape -> !shape.shape
  %2 = shape.broadcast %f, %f : tensor<?xindex>, tensor<?xindex> -> tensor<?xindex>
  func.return %0, %1, %2 : !shape.shape, !shape.shape, tensor<?xindex>
}

// Constants that do not broadcast, a lone constant next to others, a result whose length is not known: nothing.
// CHECK-LABEL: func.func @broadcast_stays
// CHECK-SAME: (%s: !shape.shape, %e: tensor<?xindex>) -> (!shape.shape, !shape.shape, tensor<?xindex>)
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = shape.const_shape [2] : !shape.shape
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = shape.const_shape [3] : !shape.shape
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = shape.const_shape [3] : tensor<1xindex>
// CHECK-NEXT: %[[R0:[a-z0-9_]+]] = shape.broadcast %[[A]], %[[B]] : !shape.shape, !shape.shape -> !shape.shape
// CHECK-NEXT: %[[R1:[a-z0-9_]+]] = shape.broadcast %s, %[[A]] : !shape.shape, !shape.shape -> !shape.shape
// CHECK-NEXT: %[[R2:[a-z0-9_]+]] = shape.broadcast %e, %[[C]] : tensor<?xindex>, tensor<1xindex> -> tensor<?xindex>
// CHECK-NEXT: func.return %[[R0]], %[[R1]], %[[R2]] : !shape.shape, !shape.shape, tensor<?xindex>
// CHECK-NEXT: }
func.func @broadcast_stays(%s: !shape.shape, %e: tensor<?xindex>) -> (!shape.shape, !shape.shape, tensor<?xindex>) {
  %a = shape.const_shape [2] : !shape.shape
  %b = shape.const_shape [3] : !shape.shape
  %c = shape.const_shape [3] : tensor<1xindex>
  %0 = shape.broadcast %a, %b : !shape.shape, !shape.shape -> !shape.shape
  %1 = shape.broadcast %s, %a : !shape.shape, !shape.shape -> !shape.shape
  %2 = shape.broadcast %e, %c : tensor<?xindex>, tensor<1xindex> -> tensor<?xindex>
  func.return %0, %1, %2 : !shape.shape, !shape.shape, tensor<?xindex>
}

// Any of several shapes is the last, if that is constant.
// CHECK-LABEL: func.func @any
// CHECK-SAME: (%s: !shape.shape, %t: !shape.shape) -> (!shape.shape, !shape.shape)
// CHECK-NEXT: %[[R0:[a-z0-9_]+]] = shape.const_shape [2] : !shape.shape
// CHECK-NEXT: %[[R1:[a-z0-9_]+]] = shape.any %s, %t : !shape.shape, !shape.shape -> !shape.shape
// CHECK-NEXT: func.return %[[R0]], %[[R1]] : !shape.shape, !shape.shape
// CHECK-NEXT: }
func.func @any(%s: !shape.shape, %t: !shape.shape) -> (!shape.shape, !shape.shape) {
  %a = shape.const_shape [2] : !shape.shape
  %0 = shape.any %a, %s : !shape.shape, !shape.shape -> !shape.shape
  %1 = shape.any %s, %t : !shape.shape, !shape.shape -> !shape.shape
  func.return %0, %1 : !shape.shape, !shape.shape
}

// Constraints that hold; one that fails is kept, for the run to say so.
// CHECK-LABEL: func.func @constraints
// CHECK-SAME: (%s: !shape.shape, %x: tensor<?x1xf32>, %y: tensor<1x4xf32>) -> (!shape.witness, !shape.witness, !shape.witness, !shape.witness, !shape.witness)
// CHECK-NEXT: %[[R0:[a-z0-9_]+]] = shape.const_witness false
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = shape.const_shape [2] : !shape.shape
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = shape.const_shape [3] : !shape.shape
// CHECK-NEXT: %[[R1:[a-z0-9_]+]] = shape.const_witness true
// CHECK-NEXT: %[[R2:[a-z0-9_]+]] = shape.cstr_broadcastable %[[A]], %[[B]] : !shape.shape, !shape.shape
// CHECK-NEXT: %[[R3:[a-z0-9_]+]] = shape.cstr_eq %[[A]], %[[B]] : !shape.shape, !shape.shape
// CHECK-NEXT: func.return %[[R1]], %[[R1]], %[[R2]], %[[R3]], %[[R0]] : !shape.witness, !shape.witness, !shape.witness, !shape.witness, !shape.witness
// CHECK-NEXT: }
func.func @constraints(%s: !shape.shape, %x: tensor<?x1xf32>, %y: tensor<1x4xf32>) -> (!shape.witness, !shape.witness, !shape.witness, !shape.witness, !shape.witness) {
  %a = shape.const_shape [2] : !shape.shape
  %b = shape.const_shape [3] : !shape.shape
  %sx = shape.shape_of %x : tensor<?x1xf32> -> tensor<2xindex>
  %sy = shape.shape_of %y : tensor<1x4xf32> -> tensor<2xindex>
  %false = arith.constant false
  %0 = shape.cstr_broadcastable %sx, %sy : tensor<2xindex>, tensor<2xindex>
  %1 = shape.cstr_eq %s, %s : !shape.shape, !shape.shape
  %2 = shape.cstr_broadcastable %a, %b : !shape.shape, !shape.shape
  %3 = shape.cstr_eq %a, %b : !shape.shape, !shape.shape
  %4 = shape.cstr_require %false, "why"
  func.return %0, %1, %2, %3, %4 : !shape.witness, !shape.witness, !shape.witness, !shape.witness, !shape.witness
}

// Constants are no question for is_broadcastable; equality of shapes is.
// CHECK-LABEL: func.func @truths
// CHECK-SAME: (%s: !shape.shape) -> (i1, i1, i1, i1)
// CHECK-NEXT: %[[R0:[a-z0-9_]+]] = arith.constant false
// CHECK-NEXT: %[[R1:[a-z0-9_]+]] = arith.constant true
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = shape.const_shape [2] : !shape.shape
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = shape.const_shape [3] : !shape.shape
// CHECK-NEXT: %[[R2:[a-z0-9_]+]] = shape.is_broadcastable %[[A]], %[[B]] : !shape.shape, !shape.shape
// CHECK-NEXT: %[[R3:[a-z0-9_]+]] = shape.shape_eq %s, %s : !shape.shape, !shape.shape
// CHECK-NEXT: func.return %[[R2]], %[[R1]], %[[R0]], %[[R3]] : i1, i1, i1, i1
// CHECK-NEXT: }
func.func @truths(%s: !shape.shape) -> (i1, i1, i1, i1) {
  %a = shape.const_shape [2] : !shape.shape
  %b = shape.const_shape [3] : !shape.shape
  %0 = shape.is_broadcastable %a, %b : !shape.shape, !shape.shape
  %1 = shape.is_broadcastable %s, %s : !shape.shape, !shape.shape
  %2 = shape.shape_eq %a, %b : !shape.shape, !shape.shape
  %3 = shape.shape_eq %s, %s : !shape.shape, !shape.shape
  func.return %0, %1, %2, %3 : i1, i1, i1, i1
}

// Witnesses that hold go, one that fails decides, nested ones are flattened.
// CHECK-LABEL: func.func @all
// CHECK-SAME: (%w: !shape.witness, %v: !shape.witness) -> (!shape.witness, !shape.witness, !shape.witness)
// CHECK-NEXT: %[[R0:[a-z0-9_]+]] = shape.const_witness false
// CHECK-NEXT: %[[R1:[a-z0-9_]+]] = shape.assuming_all %v, %w
// CHECK-NEXT: func.return %w, %[[R0]], %[[R1]] : !shape.witness, !shape.witness, !shape.witness
// CHECK-NEXT: }
func.func @all(%w: !shape.witness, %v: !shape.witness) -> (!shape.witness, !shape.witness, !shape.witness) {
  %true = shape.const_witness true
  %false = shape.const_witness false
  %0 = shape.assuming_all %true, %w
  %1 = shape.assuming_all %false, %w
  %2 = shape.assuming_all %v, %w
  %3 = shape.assuming_all %2, %w
  func.return %0, %1, %3 : !shape.witness, !shape.witness, !shape.witness
}

// Of constraints that others imply nothing is left; equalities that share a shape become one.
// CHECK-LABEL: func.func @implied
// CHECK-SAME: (%s: !shape.shape, %t: !shape.shape, %u: !shape.shape) -> (!shape.witness, !shape.witness, !shape.witness)
// CHECK-NEXT: %[[R0:[a-z0-9_]+]] = shape.cstr_broadcastable %s, %t, %u : !shape.shape, !shape.shape, !shape.shape
// CHECK-NEXT: %[[R1:[a-z0-9_]+]] = shape.cstr_eq %s, %t : !shape.shape, !shape.shape
// CHECK-NEXT: %[[R2:[a-z0-9_]+]] = shape.cstr_eq %t, %u : !shape.shape, !shape.shape
// CHECK-NEXT: %[[R3:[a-z0-9_]+]] = shape.cstr_eq %s, %t, %t, %u : !shape.shape, !shape.shape, !shape.shape, !shape.shape
// CHECK-NEXT: %[[R4:[a-z0-9_]+]] = shape.assuming_all %[[R0]], %[[R1]]
// CHECK-NEXT: func.return %[[R0]], %[[R3]], %[[R4]] : !shape.witness, !shape.witness, !shape.witness
// CHECK-NEXT: }
func.func @implied(%s: !shape.shape, %t: !shape.shape, %u: !shape.shape) -> (!shape.witness, !shape.witness, !shape.witness) {
  %0 = shape.cstr_broadcastable %s, %t : !shape.shape, !shape.shape
  %1 = shape.cstr_broadcastable %s, %t, %u : !shape.shape, !shape.shape, !shape.shape
  %2 = shape.assuming_all %0, %1
  %3 = shape.cstr_eq %s, %t : !shape.shape, !shape.shape
  %4 = shape.cstr_eq %t, %u : !shape.shape, !shape.shape
  %5 = shape.assuming_all %3, %4
  %6 = shape.assuming_all %1, %3
  func.return %2, %5, %6 : !shape.witness, !shape.witness, !shape.witness
}

// A region that may rely on what holds is put in place, unused results go; one that relies on what fails stays.
// CHECK-LABEL: func.func @assuming
// CHECK-SAME: (%w: !shape.witness) -> (index, index, index)
// CHECK-NEXT: %[[FALSE:[a-z0-9_]+]] = shape.const_witness false
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = "test.op"() : () -> index
// CHECK-NEXT: %[[R0:[a-z0-9_]+]] = shape.assuming %w -> (index) {
// CHECK-NEXT: %[[B:[a-z0-9_]+]], %[[C:[a-z0-9_]+]] = "test.op"() : () -> (index, index)
// CHECK-NEXT: shape.assuming_yield %[[C]] : index
// CHECK-NEXT: }
// CHECK-NEXT: %[[R1:[a-z0-9_]+]] = shape.assuming %[[FALSE]] -> (index) {
// CHECK-NEXT: %[[D:[a-z0-9_]+]] = "test.op"() : () -> index
// CHECK-NEXT: shape.assuming_yield %[[D]] : index
// CHECK-NEXT: }
// CHECK-NEXT: func.return %[[A]], %[[R0]], %[[R1]] : index, index, index
// CHECK-NEXT: }
func.func @assuming(%w: !shape.witness) -> (index, index, index) {
  %true = shape.const_witness true
  %false = shape.const_witness false
  %0 = shape.assuming %true -> (index) {
    %a = "test.op"() : () -> index
    shape.assuming_yield %a : index
  }
  %1:2 = shape.assuming %w -> (index, index) {
    %b, %c = "test.op"() : () -> (index, index)
    shape.assuming_yield %b, %c : index, index
  }
  %2 = shape.assuming %false -> (index) {
    %d = "test.op"() : () -> index
    shape.assuming_yield %d : index
  }
  func.return %0, %1#1, %2 : index, index, index
}

// There and back is nothing, between sizes and indices; between shapes and extent tensors it stays.
// CHECK-LABEL: func.func @conversions
// CHECK-SAME: (%i: index, %z: !shape.size, %e: tensor<2xindex>) -> (index, !shape.size, tensor<2xindex>)
// CHECK-NEXT: %[[R0:[a-z0-9_]+]] = shape.from_extent_tensor %e : tensor<2xindex>
// CHECK-NEXT: %[[R1:[a-z0-9_]+]] = shape.to_extent_tensor %[[R0]] : !shape.shape -> tensor<2xindex>
// CHECK-NEXT: func.return %i, %z, %[[R1]] : index, !shape.size, tensor<2xindex>
// CHECK-NEXT: }
func.func @conversions(%i: index, %z: !shape.size, %e: tensor<2xindex>) -> (index, !shape.size, tensor<2xindex>) {
  %0 = shape.index_to_size %i
  %1 = shape.size_to_index %0 : !shape.size
  %2 = shape.size_to_index %z : !shape.size
  %3 = shape.index_to_size %2
  %4 = shape.from_extent_tensor %e : tensor<2xindex>
  %5 = shape.to_extent_tensor %4 : !shape.shape -> tensor<2xindex>
  func.return %1, %3, %5 : index, !shape.size, tensor<2xindex>
}

// What reads the shape of a tensor through other dialects.
// CHECK-LABEL: func.func @through_tensors
// CHECK-SAME: (%x: tensor<?x4xf32>, %s: tensor<2xindex>, %i: index) -> (tensor<2xindex>, index, tensor<2xindex>, tensor<3xindex>)
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = shape.shape_of %x : tensor<?x4xf32> -> tensor<?xindex>
// CHECK-NEXT: %[[R0:[a-z0-9_]+]] = shape.shape_of %x : tensor<?x4xf32> -> tensor<2xindex>
// CHECK-NEXT: %[[R1:[a-z0-9_]+]] = tensor.dim %x, %i : tensor<?x4xf32>
// CHECK-NEXT: %[[R2:[a-z0-9_]+]] = tensor.cast %[[A]] : tensor<?xindex> to tensor<3xindex>
// CHECK-NEXT: func.return %[[R0]], %[[R1]], %s, %[[R2]] : tensor<2xindex>, index, tensor<2xindex>, tensor<3xindex>
// CHECK-NEXT: }
func.func @through_tensors(%x: tensor<?x4xf32>, %s: tensor<2xindex>, %i: index) -> (tensor<2xindex>, index, tensor<2xindex>, tensor<3xindex>) {
  %a = shape.shape_of %x : tensor<?x4xf32> -> tensor<?xindex>
  %0 = tensor.cast %a : tensor<?xindex> to tensor<2xindex>
  %1 = tensor.extract %0[%i] : tensor<2xindex>
  %y = tensor.cast %x : tensor<?x4xf32> to tensor<?x?xf32>
  %r = tensor.reshape %y(%s) : (tensor<?x?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  %2 = shape.shape_of %r : tensor<?x?xf32> -> tensor<2xindex>
  %3 = tensor.cast %a : tensor<?xindex> to tensor<3xindex>
  func.return %0, %1, %2, %3 : tensor<2xindex>, index, tensor<2xindex>, tensor<3xindex>
}

// Integers of another type would have to be cast as a tensor, for which there is no op here: the shape of the result is asked for.
// CHECK-LABEL: func.func @reshape_by_integers
// CHECK-SAME: (%x: tensor<?x1xf32>, %s: tensor<3xi32>) -> tensor<3xindex>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = tensor.reshape %x(%s) : (tensor<?x1xf32>, tensor<3xi32>) -> tensor<?x1x1xf32>
// CHECK-NEXT: %[[S:[a-z0-9_]+]] = shape.shape_of %[[R]] : tensor<?x1x1xf32> -> tensor<3xindex>
// CHECK-NEXT: func.return %[[S]] : tensor<3xindex>
func.func @reshape_by_integers(%x: tensor<?x1xf32>, %s: tensor<3xi32>) -> tensor<3xindex> {
  %r = tensor.reshape %x(%s) : (tensor<?x1xf32>, tensor<3xi32>) -> tensor<?x1x1xf32>
  %0 = shape.shape_of %r : tensor<?x1x1xf32> -> tensor<3xindex>
  func.return %0 : tensor<3xindex>
}

// An extent tensor of its own type is itself; one of another length or of no known length is not.
// CHECK-LABEL: func.func @extents_of_extents
// CHECK-SAME: (%a: tensor<?xindex>, %b: tensor<3xindex>) -> (tensor<?xindex>, tensor<3xindex>, tensor<?xindex>, tensor<3xindex>)
// CHECK-NEXT: %[[R0:[a-z0-9_]+]] = shape.to_extent_tensor %b : tensor<3xindex> -> tensor<?xindex>
// CHECK-NEXT: %[[R1:[a-z0-9_]+]] = shape.to_extent_tensor %a : tensor<?xindex> -> tensor<3xindex>
// CHECK-NEXT: func.return %a, %b, %[[R0]], %[[R1]] : tensor<?xindex>, tensor<3xindex>, tensor<?xindex>, tensor<3xindex>
func.func @extents_of_extents(%a: tensor<?xindex>, %b: tensor<3xindex>) -> (tensor<?xindex>, tensor<3xindex>, tensor<?xindex>, tensor<3xindex>) {
  %0 = shape.to_extent_tensor %a : tensor<?xindex> -> tensor<?xindex>
  %1 = shape.to_extent_tensor %b : tensor<3xindex> -> tensor<3xindex>
  %2 = shape.to_extent_tensor %b : tensor<3xindex> -> tensor<?xindex>
  %3 = shape.to_extent_tensor %a : tensor<?xindex> -> tensor<3xindex>
  func.return %0, %1, %2, %3 : tensor<?xindex>, tensor<3xindex>, tensor<?xindex>, tensor<3xindex>
}

// A sum with poison is poison, on either side; a product is left alone.
// CHECK-LABEL: func.func @poison
// CHECK-SAME: (%x: !shape.size, %i: index) -> (!shape.size, !shape.size, !shape.size, index, !shape.size)
// CHECK-NEXT: %[[P:[a-z0-9_]+]] = ub.poison : !shape.size
// CHECK-NEXT: %[[Q:[a-z0-9_]+]] = ub.poison : index
// CHECK-NEXT: %[[M:[a-z0-9_]+]] = shape.mul %x, %[[P]] : !shape.size, !shape.size -> !shape.size
// CHECK-NEXT: func.return %[[P]], %[[P]], %[[P]], %[[Q]], %[[M]] : !shape.size, !shape.size, !shape.size, index, !shape.size
func.func @poison(%x: !shape.size, %i: index) -> (!shape.size, !shape.size, !shape.size, index, !shape.size) {
  %p = ub.poison : !shape.size
  %q = ub.poison : index
  %0 = shape.add %p, %x : !shape.size, !shape.size -> !shape.size
  %1 = shape.add %x, %p : !shape.size, !shape.size -> !shape.size
  %2 = shape.add %x, %q : !shape.size, index -> !shape.size
  %3 = shape.add %q, %i : index, index -> index
  %4 = shape.mul %p, %x : !shape.size, !shape.size -> !shape.size
  func.return %0, %1, %2, %3, %4 : !shape.size, !shape.size, !shape.size, index, !shape.size
}

// meet, reduce and debug_print do something when they run: they stay even unused.
// CHECK-LABEL: func.func @effects
// CHECK-SAME: (%s: !shape.shape)
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = shape.const_shape [2] : !shape.shape
// CHECK-NEXT: %[[Z:[a-z0-9_]+]] = shape.const_size 1
// CHECK-NEXT: %[[R0:[a-z0-9_]+]] = shape.meet %[[A]], %[[A]] : !shape.shape, !shape.shape -> !shape.shape
// CHECK-NEXT: %[[R1:[a-z0-9_]+]] = "shape.debug_print"(%[[A]]) : (!shape.shape) -> !shape.shape
// CHECK-NEXT: %[[R2:[a-z0-9_]+]] = shape.reduce(%[[A]], %[[Z]]) : !shape.shape -> !shape.size {
// CHECK-NEXT: ^bb0(%[[I:[a-z0-9_]+]]: index, %[[D:[a-z0-9_]+]]: !shape.size, %[[ACC:[a-z0-9_]+]]: !shape.size):
// CHECK-NEXT: %[[M:[a-z0-9_]+]] = shape.mul %[[ACC]], %[[D]] : !shape.size, !shape.size -> !shape.size
// CHECK-NEXT: shape.yield %[[M]] : !shape.size
// CHECK-NEXT: }
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @effects(%s: !shape.shape) {
  %a = shape.const_shape [2] : !shape.shape
  %z = shape.const_size 1
  %0 = shape.meet %a, %a : !shape.shape, !shape.shape -> !shape.shape
  %1 = "shape.debug_print"(%a) : (!shape.shape) -> !shape.shape
  %2 = shape.reduce(%a, %z) : !shape.shape -> !shape.size {
  ^bb0(%i: index, %d: !shape.size, %acc: !shape.size):
    %m = shape.mul %acc, %d : !shape.size, !shape.size -> !shape.size
    shape.yield %m : !shape.size
  }
  %3 = shape.concat %s, %s : !shape.shape, !shape.shape -> !shape.shape
  func.return
}

// One constant for all that are equal, at the start; so duplicates are seen.
// CHECK-LABEL: func.func @constants_once
// CHECK-SAME: (%s: !shape.shape, %w: !shape.witness) -> (i1, !shape.size)
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = shape.const_size 3
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = shape.const_shape [3] : !shape.shape
// CHECK-NEXT: %[[R0:[a-z0-9_]+]] = shape.is_broadcastable %s, %[[A]] : !shape.shape, !shape.shape
// CHECK-NEXT: %[[R1:[a-z0-9_]+]] = shape.assuming %w -> (!shape.size) {
// CHECK-NEXT: shape.assuming_yield %[[C]] : !shape.size
// CHECK-NEXT: }
// CHECK-NEXT: func.return %[[R0]], %[[R1]] : i1, !shape.size
// CHECK-NEXT: }
func.func @constants_once(%s: !shape.shape, %w: !shape.witness) -> (i1, !shape.size) {
  %a = shape.const_shape [3] : !shape.shape
  %b = shape.const_shape [3] : !shape.shape
  %0 = shape.is_broadcastable %a, %s, %b : !shape.shape, !shape.shape, !shape.shape
  %1 = shape.assuming %w -> (!shape.size) {
    %c = shape.const_size 3
    shape.assuming_yield %c : !shape.size
  }
  func.return %0, %1 : i1, !shape.size
}

// In shape functions too.
// CHECK-LABEL: shape.func @in_shape_functions
// CHECK-SAME: (%x: !shape.value_shape) -> !shape.shape
// CHECK-NEXT: %[[S:[a-z0-9_]+]] = shape.const_shape [4, 2] : !shape.shape
// CHECK-NEXT: shape.return %[[S]] : !shape.shape
// CHECK-NEXT: }
shape.func @in_shape_functions(%x: !shape.value_shape) -> !shape.shape {
  %a = shape.const_size 2
  %b = shape.mul %a, %a : !shape.size, !shape.size -> !shape.size
  %s = shape.from_extents %b, %a : !shape.size, !shape.size
  shape.return %s : !shape.shape
}
