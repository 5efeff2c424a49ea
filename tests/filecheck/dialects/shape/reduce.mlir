// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

// The number of elements, of a shape and of an extent tensor.
func.func @product(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index) {
  %a = shape.reduce(%s, %z) : !shape.shape -> !shape.size {
    ^bb0(%n: index, %extent: !shape.size, %acc: !shape.size):
      %p = shape.mul %acc, %extent : !shape.size, !shape.size -> !shape.size
      shape.yield %p : !shape.size
  }
  %b = shape.reduce(%e, %i) : tensor<?xindex> -> index {
    ^bb0(%n: index, %extent: index, %acc: index):
      %p = shape.mul %acc, %extent : index, index -> index
      shape.yield %p : index
  } {test.note = "kept"}
  func.return
}
// CHECK-LABEL: func.func @product(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index) {
// CHECK-NEXT:  %a = shape.reduce(%s, %z) : !shape.shape -> !shape.size {
// CHECK-NEXT:  ^bb0(%n: index, %extent: !shape.size, %acc: !shape.size):
// CHECK-NEXT:  %p = shape.mul %acc, %extent : !shape.size, !shape.size -> !shape.size
// CHECK-NEXT:  shape.yield %p : !shape.size
// CHECK-NEXT:  }
// CHECK-NEXT:  %b = shape.reduce(%e, %i) : tensor<?xindex> -> index {
// CHECK-NEXT:  ^bb0(%n_1: index, %extent_1: index, %acc_1: index):
// CHECK-NEXT:  %p_1 = shape.mul %acc_1, %extent_1 : index, index -> index
// CHECK-NEXT:  shape.yield %p_1 : index
// CHECK-NEXT:  } {test.note = "kept"}
// CHECK-NEXT:  func.return
// CHECK-NEXT:  }
// GENERIC: sym_name = "product"
// GENERIC-NEXT:  ^bb0(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index):
// GENERIC-NEXT:  %a = "shape.reduce"(%s, %z) ({
// GENERIC-NEXT:  ^bb0(%n: index, %extent: !shape.size, %acc: !shape.size):
// GENERIC-NEXT:  %p = "shape.mul"(%acc, %extent) : (!shape.size, !shape.size) -> !shape.size
// GENERIC-NEXT:  "shape.yield"(%p) : (!shape.size) -> ()
// GENERIC-NEXT:  }) : (!shape.shape, !shape.size) -> !shape.size
// GENERIC-NEXT:  %b = "shape.reduce"(%e, %i) ({
// GENERIC-NEXT:  ^bb0(%n_1: index, %extent_1: index, %acc_1: index):
// GENERIC-NEXT:  %p_1 = "shape.mul"(%acc_1, %extent_1) : (index, index) -> index
// GENERIC-NEXT:  "shape.yield"(%p_1) : (index) -> ()
// GENERIC-NEXT:  }) {test.note = "kept"} : (tensor<?xindex>, index) -> index
// GENERIC-NEXT:  "func.return"() : () -> ()

// Several values are carried, or none.
func.func @carried(%s: !shape.shape, %z: !shape.size, %i: index) {
  %a, %b = shape.reduce(%s, %z, %i) : !shape.shape -> (!shape.size, index) {
    ^bb0(%n: index, %extent: !shape.size, %x: !shape.size, %y: index):
      shape.yield %extent, %n : !shape.size, index
  }
  shape.reduce(%s) : !shape.shape {
    ^bb0(%n: index, %extent: !shape.size):
      %c = "shape.debug_print"(%extent) : (!shape.size) -> !shape.size
      shape.yield
  }
  func.return
}
// CHECK-LABEL: func.func @carried(%s: !shape.shape, %z: !shape.size, %i: index) {
// CHECK-NEXT:  %a, %b = shape.reduce(%s, %z, %i) : !shape.shape -> (!shape.size, index) {
// CHECK-NEXT:  ^bb0(%n: index, %extent: !shape.size, %x: !shape.size, %y: index):
// CHECK-NEXT:  shape.yield %extent, %n : !shape.size, index
// CHECK-NEXT:  }
// CHECK-NEXT:  shape.reduce(%s) : !shape.shape {
// CHECK-NEXT:  ^bb0(%n_1: index, %extent_1: !shape.size):
// CHECK-NEXT:  %c = "shape.debug_print"(%extent_1) : (!shape.size) -> !shape.size
// CHECK-NEXT:  shape.yield
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return
// CHECK-NEXT:  }
// GENERIC: sym_name = "carried"
// GENERIC-NEXT:  ^bb0(%s: !shape.shape, %z: !shape.size, %i: index):
// GENERIC-NEXT:  %a, %b = "shape.reduce"(%s, %z, %i) ({
// GENERIC-NEXT:  ^bb0(%n: index, %extent: !shape.size, %x: !shape.size, %y: index):
// GENERIC-NEXT:  "shape.yield"(%extent, %n) : (!shape.size, index) -> ()
// GENERIC-NEXT:  }) : (!shape.shape, !shape.size, index) -> (!shape.size, index)
// GENERIC-NEXT:  "shape.reduce"(%s) ({
// GENERIC-NEXT:  ^bb0(%n_1: index, %extent_1: !shape.size):
// GENERIC-NEXT:  %c = "shape.debug_print"(%extent_1) : (!shape.size) -> !shape.size
// GENERIC-NEXT:  "shape.yield"() : () -> ()
// GENERIC-NEXT:  }) : (!shape.shape) -> ()
// GENERIC-NEXT:  "func.return"() : () -> ()
