// RUN: mind-opt %s --shape-infer --split-input-file --print-diagnostics | filecheck %s

// CHECK: error[E9020]: broadcast: operands could not be broadcast together with shapes (2,) (3,)
// CHECK-NEXT: shape-infer-invalid.mlir:12:8
// CHECK: error[E9020]: cstr_eq: shapes [2] and [3] differ at dimension 0: 2 and 3
// CHECK-NEXT: shape-infer-invalid.mlir:14:8
// CHECK-NOT: num_elements
func.func @each_cause_once() {
  %a = shape.const_shape [2] : !shape.shape
  %b = shape.const_shape [3] : !shape.shape
  // The number of elements of what cannot be is no error of its own.
  %c = shape.broadcast %a, %b : !shape.shape, !shape.shape -> !shape.shape
  %n = shape.num_elements %c : !shape.shape -> !shape.size
  %w = shape.cstr_eq %a, %b : !shape.shape, !shape.shape
  func.return
}

// -----

// CHECK: error[E9020]: meet: declared result type of %y
func.func @own_reason(%x: tensor<?x4xf32>) {
  %a = shape.shape_of %x : tensor<?x4xf32> -> !shape.shape
  %b = shape.const_shape [3, 5] : !shape.shape
  %c = shape.meet %a, %b, error = "declared result type of %y" : !shape.shape, !shape.shape -> !shape.shape
  func.return
}

// -----

// CHECK: error[E9020]: cstr_require: not a multiple
func.func @required() {
  %false = arith.constant false
  %w = shape.cstr_require %false, "not a multiple"
  func.return
}

// -----

// CHECK: error[E9020]: get_extent: axis 2 is out of bounds for array of dimension 2
func.func @axis(%x: tensor<?x?xf32>) {
  %c2 = shape.const_size 2
  %a = shape.shape_of %x : tensor<?x?xf32> -> !shape.shape
  %b = shape.get_extent %a, %c2 : !shape.shape, !shape.size -> !shape.size
  func.return
}

// -----

// CHECK: error[E9020]: mul: size overflow: 4611686018427387904 * 2 does not fit 64 bits
func.func @overflow() {
  %a = shape.const_size 4611686018427387904
  %b = shape.const_size 2
  %c = shape.mul %a, %b : !shape.size, !shape.size -> !shape.size
  func.return
}
