// RUN: mind-opt %s --print-op-generic | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s | mind-opt --print-op-generic | filecheck %s --check-prefix=GENERIC

// Upstream refuses the index and the terminator of the early form, so no real mlir-opt reads this; they are kept as written.
func.func @shape_num_elements(%shape : !shape.type) -> !shape.size {
  %0 = "shape.constant_dim"() {value = 1 : i32} : () -> !shape.size
  %1 = "shape.reduce"(%shape, %0) ( {
    ^bb0(%index: i32, %dim: !shape.size, %lci: !shape.size):
      %acc = "shape.mul"(%lci, %dim) : (!shape.size, !shape.size) -> !shape.size
      "shape.return"(%acc) : (!shape.size) -> ()
    }) : (!shape.type, !shape.size) -> (!shape.size)
  return %1 : !shape.size
}
// CHECK-LABEL: func.func @shape_num_elements(%shape: !shape.shape) -> !shape.size {
// CHECK-NEXT:  %0 = "shape.constant_dim"() <{value = 1 : i32}> : () -> !shape.size
// CHECK-NEXT:  %1 = shape.reduce(%shape, %0) : !shape.shape -> !shape.size {
// CHECK-NEXT:  ^bb0(%index: i32, %dim: !shape.size, %lci: !shape.size):
// CHECK-NEXT:  %acc = shape.mul %lci, %dim : !shape.size, !shape.size -> !shape.size
// CHECK-NEXT:  shape.return %acc : !shape.size
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %1 : !shape.size
// CHECK-NEXT:  }
// GENERIC: sym_name = "shape_num_elements"
// GENERIC-NEXT:  ^bb0(%shape: !shape.shape):
// GENERIC-NEXT:  %0 = "shape.constant_dim"() <{value = 1 : i32}> : () -> !shape.size
// GENERIC-NEXT:  %1 = "shape.reduce"(%shape, %0) ({
// GENERIC-NEXT:  ^bb0(%index: i32, %dim: !shape.size, %lci: !shape.size):
// GENERIC-NEXT:  %acc = "shape.mul"(%lci, %dim) : (!shape.size, !shape.size) -> !shape.size
// GENERIC-NEXT:  "shape.return"(%acc) : (!shape.size) -> ()
// GENERIC-NEXT:  }) : (!shape.shape, !shape.size) -> !shape.size
// GENERIC-NEXT:  "func.return"(%1) : (!shape.size) -> ()

// A type that no op takes.
func.func @element_type(%a: !shape.element_type) -> !shape.element_type {
  func.return %a : !shape.element_type
}
// CHECK-LABEL: func.func @element_type(%a: !shape.element_type) -> !shape.element_type {
// CHECK-NEXT:  func.return %a : !shape.element_type
// CHECK-NEXT:  }
// GENERIC: sym_name = "element_type"
// GENERIC-NEXT:  ^bb0(%a: !shape.element_type):
// GENERIC-NEXT:  "func.return"(%a) : (!shape.element_type) -> ()
