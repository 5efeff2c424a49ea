// RUN: MIND_INVALID

// CHECK: error[E9001]: shape.reduce %a: operand shape has type index, expected !shape.shape or an extent tensor (tensor<?xindex>)
// CHECK: = note: TypeError
func.func @operand(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index) {
  %a = shape.reduce(%i, %z) : index -> !shape.size {
  ^bb0(%a0: index, %b: !shape.size, %c: !shape.size):
    shape.yield %c : !shape.size
  }
  func.return
}

// -----

// CHECK: error[E9005]: shape.reduce %a: the region has 2 arguments, expected 3: an index, an extent and what is carried
// CHECK: = note: VerificationError
func.func @count(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index) {
  %a = shape.reduce(%s, %z) : !shape.shape -> !shape.size {
  ^bb0(%n: index, %b: !shape.size):
    shape.yield %b : !shape.size
  }
  func.return
}

// -----

// An index, or in the early form an i32.
// CHECK: error[E9001]: shape.reduce %a: argument 0 of the region has type i64, expected index or i32
// CHECK: = note: TypeError
func.func @counter(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index) {
  %a = shape.reduce(%s, %z) : !shape.shape -> !shape.size {
  ^bb0(%n: i64, %b: !shape.size, %c: !shape.size):
    shape.yield %c : !shape.size
  }
  func.return
}

// -----

// CHECK: error[E9001]: shape.reduce %a: argument 1 of the region has type index, expected !shape.size
// CHECK: = note: TypeError
func.func @extent_of_a_shape(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index) {
  %a = shape.reduce(%s, %z) : !shape.shape -> !shape.size {
  ^bb0(%n: index, %b: index, %c: !shape.size):
    shape.yield %c : !shape.size
  }
  func.return
}

// -----

// CHECK: error[E9001]: shape.reduce %a: argument 1 of the region has type !shape.size, expected index
// CHECK: = note: TypeError
func.func @extent_of_extents(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index) {
  %a = shape.reduce(%e, %z) : tensor<?xindex> -> !shape.size {
  ^bb0(%n: index, %b: !shape.size, %c: !shape.size):
    shape.yield %c : !shape.size
  }
  func.return
}

// -----

// CHECK: error[E9001]: shape.reduce %a: argument 2 of the region has type index, expected !shape.size
// CHECK: = note: TypeError
func.func @carried(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index) {
  %a = shape.reduce(%s, %z) : !shape.shape -> !shape.size {
  ^bb0(%n: index, %b: !shape.size, %c: index):
    shape.yield %b : !shape.size
  }
  func.return
}

// -----

// CHECK: error[E9009]: shape.reduce %a: shape.yield passes on (index), expected the results (!shape.size)
// CHECK: = note: TypeError
func.func @yielded(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index) {
  %a = shape.reduce(%s, %z) : !shape.shape -> !shape.size {
  ^bb0(%n: index, %b: !shape.size, %c: !shape.size):
    shape.yield %n : index
  }
  func.return
}

// -----

// CHECK: error[E9009]: shape.reduce %a: shape.return passes on (), expected the results (!shape.size)
// CHECK: = note: TypeError
func.func @returned(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index) {
  %a = shape.reduce(%s, %z) : !shape.shape -> !shape.size {
  ^bb0(%n: index, %b: !shape.size, %c: !shape.size):
    shape.return
  }
  func.return
}

// -----

// CHECK: error[E9005]: shape.reduce %a: the region ends in shape.assuming_yield, expected shape.yield or shape.return
// CHECK: = note: VerificationError
func.func @terminator(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index) {
  %a = shape.reduce(%s, %z) : !shape.shape -> !shape.size {
  ^bb0(%n: index, %b: !shape.size, %c: !shape.size):
    shape.assuming_yield %c : !shape.size
  }
  func.return
}

// -----

// CHECK: error[E9003]: shape.reduce %a: results (index), expected the types of the initial values (!shape.size)
// CHECK: = note: TypeError
func.func @results(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index) {
  %a = "shape.reduce"(%s, %z) ({
  ^bb0(%n: index, %b: !shape.size, %c: !shape.size):
    "shape.yield"(%c) : (!shape.size) -> ()
  }) : (!shape.shape, !shape.size) -> index
  func.return
}

// -----

// CHECK: error[E9005]: shape.reduce %a: counts of regions and successors are 0 and 0, expected 1 and 0
// CHECK: = note: VerificationError
func.func @no_region(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index) {
  %a = "shape.reduce"(%s, %z) : (!shape.shape, !shape.size) -> !shape.size
  func.return
}

// -----

// CHECK: error[E9006]: shape.yield: is in func.func, expected shape.reduce or shape.function_library
// CHECK: = note: VerificationError
func.func @misplaced_yield(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index) {
  shape.yield
  func.return
}
