// RUN: mind-opt %s --shape-to-shape-lowering | filecheck %s
// RUN: xdsl-opt %s -p mind-shape-to-shape-lowering | filecheck %s

// The number of elements is a product over the extents.
func.func @count(%s: !shape.shape, %e: tensor<2xindex>) -> (!shape.size, index) {
  %n = shape.num_elements %s : !shape.shape -> !shape.size
  %m = shape.num_elements %e : tensor<2xindex> -> index
  func.return %n, %m : !shape.size, index
}

// CHECK-LABEL: func.func @count(%s: !shape.shape, %e: tensor<2xindex>) -> (!shape.size, index) {
// CHECK-NEXT:   %0 = shape.const_size 1
// CHECK-NEXT:   %n = shape.reduce(%s, %0) : !shape.shape -> !shape.size {
// CHECK-NEXT:   ^bb0(%1: index, %2: !shape.size, %3: !shape.size):
// CHECK-NEXT:     %4 = shape.mul %2, %3 : !shape.size, !shape.size -> !shape.size
// CHECK-NEXT:     shape.yield %4 : !shape.size
// CHECK-NEXT:   }
// CHECK-NEXT:   %5 = arith.constant 1 : index
// CHECK-NEXT:   %m = shape.reduce(%e, %5) : tensor<2xindex> -> index {
// CHECK-NEXT:   ^bb0(%6: index, %7: index, %8: index):
// CHECK-NEXT:     %9 = shape.mul %7, %8 : index, index -> index
// CHECK-NEXT:     shape.yield %9 : index
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %n, %m : !shape.size, index
// CHECK-NEXT: }
