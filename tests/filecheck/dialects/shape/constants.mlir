// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

// A size from 0 to 2^63 - 1.
func.func @sizes() {
  %a = shape.const_size 0
  %b = shape.const_size 9223372036854775807 {test.note = "kept"}
  func.return
}
// CHECK-LABEL: func.func @sizes() {
// CHECK-NEXT:  %a = shape.const_size 0
// CHECK-NEXT:  %b = shape.const_size 9223372036854775807 {test.note = "kept"}
// CHECK-NEXT:  func.return
// CHECK-NEXT:  }
// GENERIC: sym_name = "sizes"
// GENERIC-NEXT:  %a = "shape.const_size"() <{value = 0 : index}> : () -> !shape.size
// GENERIC-NEXT:  %b = "shape.const_size"() <{value = 9223372036854775807 : index}> {test.note = "kept"} : () -> !shape.size
// GENERIC-NEXT:  "func.return"() : () -> ()

// A shape as such or as extent tensor; upstream's text has -1 for an unknown extent, and its kernels the least index.
func.func @shapes() {
  %a = shape.const_shape [] : !shape.shape
  %b = shape.const_shape [] : tensor<0xindex>
  %c = shape.const_shape [3, 0] : tensor<2xindex>
  %d = shape.const_shape {test.note = "kept"} [3, -1] : !shape.shape
  %e = shape.const_shape [1, -9223372036854775808] : !shape.shape
  func.return
}
// CHECK-LABEL: func.func @shapes() {
// CHECK-NEXT:  %a = shape.const_shape [] : !shape.shape
// CHECK-NEXT:  %b = shape.const_shape [] : tensor<0xindex>
// CHECK-NEXT:  %c = shape.const_shape [3, 0] : tensor<2xindex>
// CHECK-NEXT:  %d = shape.const_shape {test.note = "kept"} [3, -1] : !shape.shape
// CHECK-NEXT:  %e = shape.const_shape [1, -9223372036854775808] : !shape.shape
// CHECK-NEXT:  func.return
// CHECK-NEXT:  }
// GENERIC: sym_name = "shapes"
// GENERIC-NEXT:  %a = "shape.const_shape"() <{shape = dense<> : tensor<0xindex>}> : () -> !shape.shape
// GENERIC-NEXT:  %b = "shape.const_shape"() <{shape = dense<> : tensor<0xindex>}> : () -> tensor<0xindex>
// GENERIC-NEXT:  %c = "shape.const_shape"() <{shape = dense<[3, 0]> : tensor<2xindex>}> : () -> tensor<2xindex>
// GENERIC-NEXT:  %d = "shape.const_shape"() <{shape = dense<[3, -1]> : tensor<2xindex>}> {test.note = "kept"} : () -> !shape.shape
// GENERIC-NEXT:  %e = "shape.const_shape"() <{shape = dense<[1, -9223372036854775808]> : tensor<2xindex>}> : () -> !shape.shape
// GENERIC-NEXT:  "func.return"() : () -> ()

// A constraint that holds, and one that does not.
func.func @witnesses() {
  %a = shape.const_witness true
  %b = shape.const_witness false {test.note = "kept"}
  func.return
}
// CHECK-LABEL: func.func @witnesses() {
// CHECK-NEXT:  %a = shape.const_witness true
// CHECK-NEXT:  %b = shape.const_witness false {test.note = "kept"}
// CHECK-NEXT:  func.return
// CHECK-NEXT:  }
// GENERIC: sym_name = "witnesses"
// GENERIC-NEXT:  %a = "shape.const_witness"() <{passing = true}> : () -> !shape.witness
// GENERIC-NEXT:  %b = "shape.const_witness"() <{passing = false}> {test.note = "kept"} : () -> !shape.witness
// GENERIC-NEXT:  "func.return"() : () -> ()

// The early specification leaves the type of the integers open; an index needs no mention.
func.func @types_of_integers() {
  %a = "shape.constant"() {value = [3, "?", 4 : i32, 5 : index]} : () -> !shape.type
  %b = shape.constant [3 : i64, 7] : !shape.shape
  %c = shape.constant 10 : i64 : !shape.size
  func.return
}
// CHECK-LABEL: func.func @types_of_integers() {
// CHECK-NEXT:  %a = shape.constant [3 : i64, ?, 4 : i32, 5] : !shape.shape
// CHECK-NEXT:  %b = shape.constant [3 : i64, 7] : !shape.shape
// CHECK-NEXT:  %c = shape.constant 10 : i64 : !shape.size
// CHECK-NEXT:  func.return
// CHECK-NEXT:  }
// GENERIC: sym_name = "types_of_integers"
// GENERIC-NEXT:  %a = "shape.constant"() <{value = [3 : i64, "?", 4 : i32, 5 : index]}> : () -> !shape.shape
// GENERIC-NEXT:  %b = "shape.constant"() <{value = [3 : i64, 7 : index]}> : () -> !shape.shape
// GENERIC-NEXT:  %c = "shape.constant"() <{value = 10 : i64}> : () -> !shape.size
// GENERIC-NEXT:  "func.return"() : () -> ()
