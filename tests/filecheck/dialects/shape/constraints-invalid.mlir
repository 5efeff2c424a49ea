// RUN: MIND_INVALID

// CHECK: error[E9001]: shape.is_broadcastable %a: operand shapes 1 has type index, expected !shape.shape or an extent tensor (tensor<?xindex>)
// CHECK: = note: TypeError
func.func @is_broadcastable(%w: !shape.witness, %s: !shape.shape, %i: index, %z: !shape.size) {
  %a = shape.is_broadcastable %s, %i : !shape.shape, index
  func.return
}

// -----

// CHECK: error[E9001]: shape.shape_eq %a: result has type !shape.witness, expected i1
// CHECK: = note: TypeError
func.func @shape_eq(%w: !shape.witness, %s: !shape.shape, %i: index, %z: !shape.size) {
  %a = "shape.shape_eq"(%s, %s) : (!shape.shape, !shape.shape) -> !shape.witness
  func.return
}

// -----

// One shape broadcasts with nothing.
// CHECK: error[E2007]: shape.cstr_broadcastable %a: expects at least 2 operands, found 1
// CHECK: = note: TypeError
func.func @cstr_broadcastable_count(%w: !shape.witness, %s: !shape.shape, %i: index, %z: !shape.size) {
  %a = shape.cstr_broadcastable %s : !shape.shape
  func.return
}

// -----

// CHECK: error[E9001]: shape.cstr_eq %a: operand shapes 1 has type !shape.size, expected !shape.shape or an extent tensor (tensor<?xindex>)
// CHECK: = note: TypeError
func.func @cstr_eq(%w: !shape.witness, %s: !shape.shape, %i: index, %z: !shape.size) {
  %a = shape.cstr_eq %s, %z : !shape.shape, !shape.size
  func.return
}

// -----

// CHECK: error[E9001]: shape.cstr_require %a: operand pred has type index, expected i1
// CHECK: = note: TypeError
func.func @cstr_require(%w: !shape.witness, %s: !shape.shape, %i: index, %z: !shape.size) {
  %a = "shape.cstr_require"(%i) <{msg = "why"}> : (index) -> !shape.witness
  func.return
}

// -----

// CHECK: error[E9007]: shape.cstr_require %a: msg is 1 : i32, expected a string
// CHECK: = note: VerificationError
func.func @cstr_require_message(%w: !shape.witness, %s: !shape.shape, %i: index, %z: !shape.size) {
  %t = "test.op"() : () -> i1
  %a = shape.cstr_require %t, 1 : i32
  func.return
}

// -----

// CHECK: error[E2007]: shape.assuming_all %a: expects at least 1 operand, found 0
// CHECK: = note: TypeError
func.func @assuming_all_count(%w: !shape.witness, %s: !shape.shape, %i: index, %z: !shape.size) {
  %a = "shape.assuming_all"() : () -> !shape.witness
  func.return
}

// -----

// CHECK: error[E9001]: shape.assuming_all %a: operand inputs 0 has type !shape.shape, expected !shape.witness
// CHECK: = note: TypeError
func.func @assuming_all(%w: !shape.witness, %s: !shape.shape, %i: index, %z: !shape.size) {
  %a = "shape.assuming_all"(%s) : (!shape.shape) -> !shape.witness
  func.return
}

// -----

// CHECK: error[E9001]: shape.assuming: operand witness has type index, expected !shape.witness
// CHECK: = note: TypeError
func.func @assuming_witness(%w: !shape.witness, %s: !shape.shape, %i: index, %z: !shape.size) {
  "shape.assuming"(%i) ({
    "shape.assuming_yield"() : () -> ()
  }) : (index) -> ()
  func.return
}

// -----

// The region yields what the op gives.
// CHECK: error[E9009]: shape.assuming %a: shape.assuming_yield passes on (!shape.size), expected the results (index)
// CHECK: = note: TypeError
func.func @assuming_types(%w: !shape.witness, %s: !shape.shape, %i: index, %z: !shape.size) {
  %a = shape.assuming %w -> (index) {
    shape.assuming_yield %z : !shape.size
  }
  func.return
}

// -----

// CHECK: error[E9005]: shape.assuming %a: the region ends in shape.yield, expected shape.assuming_yield
// CHECK: = note: VerificationError
func.func @assuming_terminator(%w: !shape.witness, %s: !shape.shape, %i: index, %z: !shape.size) {
  %a = shape.assuming %w -> (index) {
    shape.yield %i : index
  }
  func.return
}

// -----

// CHECK: error[E9005]: shape.assuming: the region has 0 blocks, expected 1
// CHECK: = note: VerificationError
func.func @assuming_blocks(%w: !shape.witness, %s: !shape.shape, %i: index, %z: !shape.size) {
  "shape.assuming"(%w) ({}) : (!shape.witness) -> ()
  func.return
}

// -----

// Upstream takes this, though nothing gives the argument a value.
// CHECK: error[E9005]: shape.assuming: the region has arguments, expected none
// CHECK: = note: VerificationError
func.func @assuming_arguments(%w: !shape.witness, %s: !shape.shape, %i: index, %z: !shape.size) {
  "shape.assuming"(%w) ({
  ^bb0(%a: index):
    "shape.assuming_yield"() : () -> ()
  }) : (!shape.witness) -> ()
  func.return
}

// -----

// CHECK: error[E9006]: shape.assuming_yield: is in func.func, expected shape.assuming
// CHECK: = note: VerificationError
func.func @misplaced_assuming_yield(%w: !shape.witness, %s: !shape.shape, %i: index, %z: !shape.size) {
  shape.assuming_yield
  func.return
}
