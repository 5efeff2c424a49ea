// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

// Truths about shapes.
func.func @truths(%s: !shape.shape, %e: tensor<?xindex>) {
  %a = shape.is_broadcastable %s, %e : !shape.shape, tensor<?xindex>
  %b = shape.shape_eq %e, %e, %s : tensor<?xindex>, tensor<?xindex>, !shape.shape
  func.return
}
// CHECK-LABEL: func.func @truths(%s: !shape.shape, %e: tensor<?xindex>) {
// CHECK-NEXT:  %a = shape.is_broadcastable %s, %e : !shape.shape, tensor<?xindex>
// CHECK-NEXT:  %b = shape.shape_eq %e, %e, %s : tensor<?xindex>, tensor<?xindex>, !shape.shape
// CHECK-NEXT:  func.return
// CHECK-NEXT:  }
// GENERIC: sym_name = "truths"
// GENERIC-NEXT:  ^bb0(%s: !shape.shape, %e: tensor<?xindex>):
// GENERIC-NEXT:  %a = "shape.is_broadcastable"(%s, %e) : (!shape.shape, tensor<?xindex>) -> i1
// GENERIC-NEXT:  %b = "shape.shape_eq"(%e, %e, %s) : (tensor<?xindex>, tensor<?xindex>, !shape.shape) -> i1
// GENERIC-NEXT:  "func.return"() : () -> ()

// Witnesses of truths.
func.func @witnesses(%s: !shape.shape, %e: tensor<?xindex>, %p: i1) {
  %a = shape.cstr_broadcastable %s, %e : !shape.shape, tensor<?xindex>
  %b = shape.cstr_eq %s, %s, %e : !shape.shape, !shape.shape, tensor<?xindex>
  %c = shape.cstr_require %p, "must be so"
  %d = shape.assuming_all %a, %b, %c
  func.return
}
// CHECK-LABEL: func.func @witnesses(%s: !shape.shape, %e: tensor<?xindex>, %p: i1) {
// CHECK-NEXT:  %a = shape.cstr_broadcastable %s, %e : !shape.shape, tensor<?xindex>
// CHECK-NEXT:  %b = shape.cstr_eq %s, %s, %e : !shape.shape, !shape.shape, tensor<?xindex>
// CHECK-NEXT:  %c = shape.cstr_require %p, "must be so"
// CHECK-NEXT:  %d = shape.assuming_all %a, %b, %c
// CHECK-NEXT:  func.return
// CHECK-NEXT:  }
// GENERIC: sym_name = "witnesses"
// GENERIC-NEXT:  ^bb0(%s: !shape.shape, %e: tensor<?xindex>, %p: i1):
// GENERIC-NEXT:  %a = "shape.cstr_broadcastable"(%s, %e) : (!shape.shape, tensor<?xindex>) -> !shape.witness
// GENERIC-NEXT:  %b = "shape.cstr_eq"(%s, %s, %e) : (!shape.shape, !shape.shape, tensor<?xindex>) -> !shape.witness
// GENERIC-NEXT:  %c = "shape.cstr_require"(%p) <{msg = "must be so"}> : (i1) -> !shape.witness
// GENERIC-NEXT:  %d = "shape.assuming_all"(%a, %b, %c) : (!shape.witness, !shape.witness, !shape.witness) -> !shape.witness
// GENERIC-NEXT:  "func.return"() : () -> ()

// Code that may rely on a witness; the terminator is written if it says something.
func.func @assuming(%w: !shape.witness, %i: index, %s: !shape.shape) -> index {
  %a, %b = shape.assuming %w -> (index, !shape.shape) {
    shape.assuming_yield %i, %s : index, !shape.shape
  }
  shape.assuming %w {
  }
  shape.assuming %w {
    %c = shape.rank %s : !shape.shape -> !shape.size
    shape.assuming_yield
  } {test.note = "kept"}
  shape.assuming %w {
    shape.assuming_yield {test.note = "kept"}
  }
  func.return %a : index
}
// CHECK-LABEL: func.func @assuming(%w: !shape.witness, %i: index, %s: !shape.shape) -> index {
// CHECK-NEXT:  %a, %b = shape.assuming %w -> (index, !shape.shape) {
// CHECK-NEXT:  shape.assuming_yield %i, %s : index, !shape.shape
// CHECK-NEXT:  }
// CHECK-NEXT:  shape.assuming %w {
// CHECK-NEXT:  }
// CHECK-NEXT:  shape.assuming %w {
// CHECK-NEXT:  %c = shape.rank %s : !shape.shape -> !shape.size
// CHECK-NEXT:  } {test.note = "kept"}
// CHECK-NEXT:  shape.assuming %w {
// CHECK-NEXT:  shape.assuming_yield {test.note = "kept"}
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %a : index
// CHECK-NEXT:  }
// GENERIC: sym_name = "assuming"
// GENERIC-NEXT:  ^bb0(%w: !shape.witness, %i: index, %s: !shape.shape):
// GENERIC-NEXT:  %a, %b = "shape.assuming"(%w) ({
// GENERIC-NEXT:  "shape.assuming_yield"(%i, %s) : (index, !shape.shape) -> ()
// GENERIC-NEXT:  }) : (!shape.witness) -> (index, !shape.shape)
// GENERIC-NEXT:  "shape.assuming"(%w) ({
// GENERIC-NEXT:  "shape.assuming_yield"() : () -> ()
// GENERIC-NEXT:  }) : (!shape.witness) -> ()
// GENERIC-NEXT:  "shape.assuming"(%w) ({
// GENERIC-NEXT:  %c = "shape.rank"(%s) : (!shape.shape) -> !shape.size
// GENERIC-NEXT:  "shape.assuming_yield"() : () -> ()
// GENERIC-NEXT:  }) {test.note = "kept"} : (!shape.witness) -> ()
// GENERIC-NEXT:  "shape.assuming"(%w) ({
// GENERIC-NEXT:  "shape.assuming_yield"() {test.note = "kept"} : () -> ()
// GENERIC-NEXT:  }) : (!shape.witness) -> ()
// GENERIC-NEXT:  "func.return"(%a) : (index) -> ()

// One result needs no parentheses.
func.func @assuming_one(%w: !shape.witness, %i: index) -> index {
  %a = shape.assuming %w -> index {
    shape.assuming_yield %i : index
  }
  func.return %a : index
}
// CHECK-LABEL: func.func @assuming_one(%w: !shape.witness, %i: index) -> index {
// CHECK-NEXT:  %a = shape.assuming %w -> (index) {
// CHECK-NEXT:  shape.assuming_yield %i : index
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %a : index
// CHECK-NEXT:  }
// GENERIC: sym_name = "assuming_one"
// GENERIC-NEXT:  ^bb0(%w: !shape.witness, %i: index):
// GENERIC-NEXT:  %a = "shape.assuming"(%w) ({
// GENERIC-NEXT:  "shape.assuming_yield"(%i) : (index) -> ()
// GENERIC-NEXT:  }) : (!shape.witness) -> index
// GENERIC-NEXT:  "func.return"(%a) : (index) -> ()
