// RUN: mind-opt %s --shape-infer --split-input-file | filecheck %s

// Sizes computed from names are compared as polynomials.
func.func @equalities(%x: tensor<?x?xf32, "B,T">) -> (i1, i1, i1, i1, i1) {
  %s = shape.shape_of %x : tensor<?x?xf32, "B,T"> -> !shape.shape
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = shape.get_extent %s, %c0 : !shape.shape, index -> !shape.size
  %t = shape.get_extent %s, %c1 : !shape.shape, index -> !shape.size
  %two = shape.const_size 2
  %bt = shape.mul %b, %t : !shape.size, !shape.size -> !shape.size
  %tb = shape.mul %t, %b : !shape.size, !shape.size -> !shape.size
  %n = shape.num_elements %s : !shape.shape -> !shape.size
  %b2 = shape.mul %b, %two : !shape.size, !shape.size -> !shape.size
  %half = shape.div %b2, %two : !shape.size, !shape.size -> !shape.size
  %bb = shape.add %b, %b : !shape.size, !shape.size -> !shape.size
  %more = shape.add %b, %two : !shape.size, !shape.size -> !shape.size
  %0 = shape.from_extents %bt, %half : !shape.size, !shape.size
  %1 = shape.from_extents %tb, %b : !shape.size, !shape.size
  %2 = shape.from_extents %n, %b : !shape.size, !shape.size
  %3 = shape.from_extents %bb : !shape.size
  %4 = shape.from_extents %b2 : !shape.size
  %5 = shape.from_extents %more : !shape.size
  %6 = shape.from_extents %b : !shape.size
  %7 = shape.from_extents %t : !shape.size
  %product = shape.shape_eq %0, %1 : !shape.shape, !shape.shape
  %elements = shape.shape_eq %0, %2 : !shape.shape, !shape.shape
  %sum = shape.shape_eq %3, %4 : !shape.shape, !shape.shape
  %never = shape.shape_eq %5, %6 : !shape.shape, !shape.shape
  %unknown = shape.shape_eq %6, %7 : !shape.shape, !shape.shape
  return %product, %elements, %sum, %never, %unknown : i1, i1, i1, i1, i1
}
// CHECK-LABEL: func.func @equalities
// CHECK: %product = arith.constant true
// CHECK-NEXT: %elements = arith.constant true
// CHECK-NEXT: %sum = arith.constant true
// CHECK-NEXT: %never = arith.constant false
// CHECK-NEXT: %unknown = shape.shape_eq

// -----

// A product that may be of other extents stays a question; a quotient by a name keeps its check for 0.
func.func @undecided(%x: tensor<?x?xf32, "B,T">) -> (i1, !shape.size) {
  %s = shape.shape_of %x : tensor<?x?xf32, "B,T"> -> !shape.shape
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = shape.get_extent %s, %c0 : !shape.shape, index -> !shape.size
  %t = shape.get_extent %s, %c1 : !shape.shape, index -> !shape.size
  %bt = shape.mul %b, %t : !shape.size, !shape.size -> !shape.size
  %q = shape.div %bt, %t : !shape.size, !shape.size -> !shape.size
  %0 = shape.from_extents %bt : !shape.size
  %1 = shape.from_extents %b : !shape.size
  %e = shape.shape_eq %0, %1 : !shape.shape, !shape.shape
  return %e, %q : i1, !shape.size
}
// CHECK-LABEL: func.func @undecided
// CHECK: %q = shape.div
// CHECK: %e = shape.shape_eq
