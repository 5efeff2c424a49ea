// RUN: mind-opt %s --shape-modernize | filecheck %s

func.func @constants() {
  %a = shape.constant 10 : !shape.size
  %b = shape.constant [3, 4] : !shape.type
  %c = shape.constant {test.note = "kept"} [] : !shape.type
  %d = "shape.constant_dim"() {value = 1 : i32} : () -> !shape.size
  %e = shape.from_extents
  func.return
}
// CHECK-LABEL: func.func @constants() {
// CHECK-NEXT:  %a = shape.const_size 10
// CHECK-NEXT:  %b = shape.const_shape [3, 4] : !shape.shape
// CHECK-NEXT:  %c = shape.const_shape {test.note = "kept"} [] : !shape.shape
// CHECK-NEXT:  %d = shape.const_size 1
// CHECK-NEXT:  %e = shape.const_shape [] : !shape.shape
// CHECK-NEXT:  func.return

func.func @join(%s: !shape.type, %z: !shape.size) {
  %a = shape.join %s, %s : !shape.type
  %b = shape.join %z, %z, error = "sizes differ" {test.note = "kept"} : !shape.size
  func.return
}
// CHECK-LABEL: func.func @join(%s: !shape.shape, %z: !shape.size) {
// CHECK-NEXT:  %a = shape.meet %s, %s : !shape.shape, !shape.shape -> !shape.shape
// CHECK-NEXT:  %b = shape.meet %z, %z, error = "sizes differ" {test.note = "kept"} : !shape.size, !shape.size -> !shape.size
// CHECK-NEXT:  func.return

func.func @create_shape(%a: tensor<3xi32>, %b: tensor<?xindex>) {
  %c = shape.create_shape %a : tensor<3xi32>
  %d = shape.create_shape %b : tensor<?xindex>
  func.return
}
// CHECK-LABEL: func.func @create_shape(%a: tensor<3xi32>, %b: tensor<?xindex>) {
// CHECK-NEXT:  %c = shape.value_as_shape %a : tensor<3xi32> -> !shape.shape
// CHECK-NEXT:  %d = shape.from_extent_tensor %b : tensor<?xindex>
// CHECK-NEXT:  func.return

// The index is cast back where it is used.
func.func @reduce(%s: !shape.type, %z: !shape.size) {
  %a = "shape.reduce"(%s, %z) ({
  ^bb0(%n: i32, %extent: !shape.size, %acc: !shape.size):
    %p = shape.mul %acc, %extent : !shape.size, !shape.size -> !shape.size
    "shape.return"(%p) : (!shape.size) -> ()
  }) : (!shape.type, !shape.size) -> !shape.size
  %b = shape.reduce(%s, %z) : !shape.type -> !shape.size {
  ^bb0(%n: i32, %extent: !shape.size, %acc: !shape.size):
    "test.op"(%n, %n) : (i32, i32) -> ()
    shape.return %acc : !shape.size
  }
  %c = shape.reduce(%s, %z) : !shape.type -> !shape.size {
  ^bb0(%n: i32, %extent: !shape.size, %acc: !shape.size):
    %i = arith.index_cast %n : i32 to index
    %e = shape.get_extent %s, %i : !shape.shape, index -> !shape.size
    shape.return %e : !shape.size
  }
  func.return
}
// CHECK-LABEL: func.func @reduce(%s: !shape.shape, %z: !shape.size) {
// CHECK-NEXT:  %a = shape.reduce(%s, %z) : !shape.shape -> !shape.size {
// CHECK-NEXT:  ^bb0(%n: index, %extent: !shape.size, %acc: !shape.size):
// CHECK-NEXT:    %p = shape.mul %acc, %extent : !shape.size, !shape.size -> !shape.size
// CHECK-NEXT:    shape.yield %p : !shape.size
// CHECK-NEXT:  }
// CHECK-NEXT:  %b = shape.reduce(%s, %z) : !shape.shape -> !shape.size {
// CHECK-NEXT:  ^bb0(%n_1: index, %extent_1: !shape.size, %acc_1: !shape.size):
// CHECK-NEXT:    %n_2 = arith.index_cast %n_1 : index to i32
// CHECK-NEXT:    "test.op"(%n_2, %n_2) : (i32, i32) -> ()
// CHECK-NEXT:    shape.yield %acc_1 : !shape.size
// CHECK-NEXT:  }
// CHECK-NEXT:  %c = shape.reduce(%s, %z) : !shape.shape -> !shape.size {
// CHECK-NEXT:  ^bb0(%n_3: index, %extent_2: !shape.size, %acc_2: !shape.size):
// CHECK-NEXT:    %e = shape.get_extent %s, %n_3 : !shape.shape, index -> !shape.size
// CHECK-NEXT:    shape.yield %e : !shape.size
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return

// What both generations have, or the modern one alone, stays.
func.func @stays(%s: !shape.shape, %z: !shape.size) {
  %a = shape.broadcast %s, %s {error = "why"} : !shape.shape, !shape.shape -> !shape.shape
  %b = shape.const_shape [3, -1] : !shape.shape
  %c = shape.from_extents %z : !shape.size
  func.return
}
// CHECK-LABEL: func.func @stays(%s: !shape.shape, %z: !shape.size) {
// CHECK-NEXT:  %a = shape.broadcast %s, %s {error = "why"} : !shape.shape, !shape.shape -> !shape.shape
// CHECK-NEXT:  %b = shape.const_shape [3, -1] : !shape.shape
// CHECK-NEXT:  %c = shape.from_extents %z : !shape.size
// CHECK-NEXT:  func.return

shape.func @function(%x: !shape.value_shape) -> !shape.shape {
  %a = shape.shape_of %x : !shape.value_shape -> !shape.shape
  shape.return %a : !shape.shape
}
// CHECK-LABEL: shape.func @function(%x: !shape.value_shape) -> !shape.shape {
// CHECK-NEXT:  %a = shape.shape_of %x : !shape.value_shape -> !shape.shape
// CHECK-NEXT:  shape.return %a : !shape.shape
