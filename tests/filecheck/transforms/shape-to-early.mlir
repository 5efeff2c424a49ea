// RUN: mind-opt %s --shape-to-early | filecheck %s

func.func @constants() {
  %a = shape.const_size 10
  %b = shape.const_shape [3, 4] : !shape.shape
  %c = shape.const_shape {test.note = "kept"} [3, -1] : !shape.shape
  func.return
}
// CHECK-LABEL: func.func @constants() {
// CHECK-NEXT:  %a = shape.constant 10 : !shape.size
// CHECK-NEXT:  %b = shape.constant [3, 4] : !shape.shape
// CHECK-NEXT:  %c = shape.constant {test.note = "kept"} [3, ?] : !shape.shape
// CHECK-NEXT:  func.return

func.func @renamed(%s: !shape.shape, %a: tensor<3xi32>, %b: tensor<?xindex>) {
  %c = shape.meet %s, %s, error = "why" : !shape.shape, !shape.shape -> !shape.shape
  %d = shape.value_as_shape %a : tensor<3xi32> -> !shape.shape
  %e = shape.from_extent_tensor %b : tensor<?xindex>
  func.return
}
// CHECK-LABEL: func.func @renamed(%s: !shape.shape, %a: tensor<3xi32>, %b: tensor<?xindex>) {
// CHECK-NEXT:  %c = shape.join %s, %s, error = "why" : !shape.shape
// CHECK-NEXT:  %d = shape.create_shape %a : tensor<3xi32>
// CHECK-NEXT:  %e = shape.create_shape %b : tensor<?xindex>
// CHECK-NEXT:  func.return

// Two at a time.
func.func @broadcast(%s: !shape.shape, %t: !shape.shape, %u: !shape.shape) -> !shape.shape {
  %a = shape.broadcast %s, %t, %u {error = "why", test.note = "kept"} : !shape.shape, !shape.shape, !shape.shape -> !shape.shape
  %b = shape.broadcast %a : !shape.shape -> !shape.shape
  %c = "shape.broadcast"() : () -> !shape.shape
  func.return %b : !shape.shape
}
// CHECK-LABEL: func.func @broadcast(%s: !shape.shape, %t: !shape.shape, %u: !shape.shape) -> !shape.shape {
// CHECK-NEXT:  %0 = shape.broadcast %s, %t {error = "why"} : !shape.shape, !shape.shape -> !shape.shape
// CHECK-NEXT:  %a = shape.broadcast %0, %u {test.note = "kept", error = "why"} : !shape.shape, !shape.shape -> !shape.shape
// CHECK-NEXT:  %c = shape.constant [] : !shape.shape
// CHECK-NEXT:  func.return %a : !shape.shape

func.func @reduce(%s: !shape.shape, %z: !shape.size) {
  %a = shape.reduce(%s, %z) : !shape.shape -> !shape.size {
  ^bb0(%n: index, %extent: !shape.size, %acc: !shape.size):
    "test.op"(%n) : (index) -> ()
    %p = shape.mul %acc, %extent : !shape.size, !shape.size -> !shape.size
    shape.yield %p : !shape.size
  }
  func.return
}
// CHECK-LABEL: func.func @reduce(%s: !shape.shape, %z: !shape.size) {
// CHECK-NEXT:  %a = shape.reduce(%s, %z) : !shape.shape -> !shape.size {
// CHECK-NEXT:  ^bb0(%n: i32, %extent: !shape.size, %acc: !shape.size):
// CHECK-NEXT:    %n_1 = arith.index_cast %n : i32 to index
// CHECK-NEXT:    "test.op"(%n_1) : (index) -> ()
// CHECK-NEXT:    %p = shape.mul %acc, %extent : !shape.size, !shape.size -> !shape.size
// CHECK-NEXT:    shape.return %p : !shape.size
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return

// What both generations have, or the early one alone, stays.
func.func @stays(%x: tensor<?xf32>, %z: !shape.size) {
  %a = shape.shape_of %x : tensor<?xf32> -> !shape.shape
  %b = shape.add %z, %z : !shape.size, !shape.size -> !shape.size
  %c = shape.constant [*] : !shape.shape
  %d = "shape.debug_print"(%a) : (!shape.shape) -> !shape.shape
  func.return
}
// CHECK-LABEL: func.func @stays(%x: tensor<?xf32>, %z: !shape.size) {
// CHECK-NEXT:  %a = shape.shape_of %x : tensor<?xf32> -> !shape.shape
// CHECK-NEXT:  %b = shape.add %z, %z : !shape.size, !shape.size -> !shape.size
// CHECK-NEXT:  %c = shape.constant [*] : !shape.shape
// CHECK-NEXT:  %d = "shape.debug_print"(%a) : (!shape.shape) -> !shape.shape
// CHECK-NEXT:  func.return
