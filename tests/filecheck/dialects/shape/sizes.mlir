// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

// A size if an operand may hold an error; of indices, either.
func.func @arithmetic(%z: !shape.size, %i: index) {
  %a = shape.add %z, %z : !shape.size, !shape.size -> !shape.size
  %b = shape.add %z, %i : !shape.size, index -> !shape.size
  %c = shape.mul %i, %z : index, !shape.size -> !shape.size
  %d = shape.mul %i, %i : index, index -> index
  %e = shape.div %i, %i : index, index -> !shape.size
  %f = shape.div %i, %i {test.note = "kept"} : index, index -> index
  func.return
}
// CHECK-LABEL: func.func @arithmetic(%z: !shape.size, %i: index) {
// CHECK-NEXT:  %a = shape.add %z, %z : !shape.size, !shape.size -> !shape.size
// CHECK-NEXT:  %b = shape.add %z, %i : !shape.size, index -> !shape.size
// CHECK-NEXT:  %c = shape.mul %i, %z : index, !shape.size -> !shape.size
// CHECK-NEXT:  %d = shape.mul %i, %i : index, index -> index
// CHECK-NEXT:  %e = shape.div %i, %i : index, index -> !shape.size
// CHECK-NEXT:  %f = shape.div %i, %i {test.note = "kept"} : index, index -> index
// CHECK-NEXT:  func.return
// CHECK-NEXT:  }
// GENERIC: sym_name = "arithmetic"
// GENERIC-NEXT:  ^bb0(%z: !shape.size, %i: index):
// GENERIC-NEXT:  %a = "shape.add"(%z, %z) : (!shape.size, !shape.size) -> !shape.size
// GENERIC-NEXT:  %b = "shape.add"(%z, %i) : (!shape.size, index) -> !shape.size
// GENERIC-NEXT:  %c = "shape.mul"(%i, %z) : (index, !shape.size) -> !shape.size
// GENERIC-NEXT:  %d = "shape.mul"(%i, %i) : (index, index) -> index
// GENERIC-NEXT:  %e = "shape.div"(%i, %i) : (index, index) -> !shape.size
// GENERIC-NEXT:  %f = "shape.div"(%i, %i) {test.note = "kept"} : (index, index) -> index
// GENERIC-NEXT:  "func.return"() : () -> ()

// Of two shapes a shape, else a size.
func.func @extrema(%s: !shape.shape, %z: !shape.size) {
  %a = shape.max %z, %z : !shape.size, !shape.size -> !shape.size
  %b = shape.max %s, %s : !shape.shape, !shape.shape -> !shape.shape
  %c = shape.min %z, %s : !shape.size, !shape.shape -> !shape.size
  %d = shape.min %s, %s : !shape.shape, !shape.shape -> !shape.shape
  func.return
}
// CHECK-LABEL: func.func @extrema(%s: !shape.shape, %z: !shape.size) {
// CHECK-NEXT:  %a = shape.max %z, %z : !shape.size, !shape.size -> !shape.size
// CHECK-NEXT:  %b = shape.max %s, %s : !shape.shape, !shape.shape -> !shape.shape
// CHECK-NEXT:  %c = shape.min %z, %s : !shape.size, !shape.shape -> !shape.size
// CHECK-NEXT:  %d = shape.min %s, %s : !shape.shape, !shape.shape -> !shape.shape
// CHECK-NEXT:  func.return
// CHECK-NEXT:  }
// GENERIC: sym_name = "extrema"
// GENERIC-NEXT:  ^bb0(%s: !shape.shape, %z: !shape.size):
// GENERIC-NEXT:  %a = "shape.max"(%z, %z) : (!shape.size, !shape.size) -> !shape.size
// GENERIC-NEXT:  %b = "shape.max"(%s, %s) : (!shape.shape, !shape.shape) -> !shape.shape
// GENERIC-NEXT:  %c = "shape.min"(%z, %s) : (!shape.size, !shape.shape) -> !shape.size
// GENERIC-NEXT:  %d = "shape.min"(%s, %s) : (!shape.shape, !shape.shape) -> !shape.shape
// GENERIC-NEXT:  "func.return"() : () -> ()

// Conversions; what is an index already may be converted to one.
func.func @conversions(%z: !shape.size, %i: index) {
  %a = shape.index_to_size %i
  %b = shape.size_to_index %z : !shape.size
  %c = shape.size_to_index %i : index
  func.return
}
// CHECK-LABEL: func.func @conversions(%z: !shape.size, %i: index) {
// CHECK-NEXT:  %a = shape.index_to_size %i
// CHECK-NEXT:  %b = shape.size_to_index %z : !shape.size
// CHECK-NEXT:  %c = shape.size_to_index %i : index
// CHECK-NEXT:  func.return
// CHECK-NEXT:  }
// GENERIC: sym_name = "conversions"
// GENERIC-NEXT:  ^bb0(%z: !shape.size, %i: index):
// GENERIC-NEXT:  %a = "shape.index_to_size"(%i) : (index) -> !shape.size
// GENERIC-NEXT:  %b = "shape.size_to_index"(%z) : (!shape.size) -> index
// GENERIC-NEXT:  %c = "shape.size_to_index"(%i) : (index) -> index
// GENERIC-NEXT:  "func.return"() : () -> ()
