// RUN: mind-opt %s --lower-shape-to-arith | filecheck %s
// RUN: xdsl-opt %s -p mind-lower-shape-to-arith | filecheck %s

// An index per extent, and a validity where an error can arise.
func.func @broadcast(%x: tensor<?x4xf32>, %y: tensor<?x?xf32>) -> !shape.shape {
  %a = shape.shape_of %x : tensor<?x4xf32> -> !shape.shape
  %b = shape.shape_of %y : tensor<?x?xf32> -> !shape.shape
  %r = shape.broadcast %a, %b : !shape.shape, !shape.shape -> !shape.shape
  func.return %r : !shape.shape
}
func.func @guarded(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xindex> {
  %a = shape.shape_of %x : tensor<?xf32> -> tensor<1xindex>
  %b = shape.shape_of %y : tensor<?xf32> -> tensor<1xindex>
  %w = shape.cstr_eq %a, %b : tensor<1xindex>, tensor<1xindex>
  %r = shape.assuming %w -> (tensor<?xindex>) {
    %s = shape.any %a, %b : tensor<1xindex>, tensor<1xindex> -> tensor<?xindex>
    shape.assuming_yield %s : tensor<?xindex>
  }
  func.return %r : tensor<?xindex>
}
shape.func @product(%n: !shape.size, %m: !shape.size) -> !shape.size {
  %s = from_extents %n, %m : !shape.size, !shape.size
  %one = const_size 1
  %r = reduce(%s, %one) : !shape.shape -> !shape.size {
  ^bb0(%i: index, %extent: !shape.size, %so_far: !shape.size):
    %p = mul %so_far, %extent : !shape.size, !shape.size -> !shape.size
    yield %p : !shape.size
  }
  return %r : !shape.size
}

// Branches and loops pass on numbers, and truths where what they pass on may be invalid.
func.func @control_flow(%p: i1, %x: tensor<?xf32>, %y: tensor<4xf32>, %n: index) -> (!shape.shape, !shape.size) {
  %r = scf.if %p -> (!shape.shape) {
    %0 = shape.shape_of %x : tensor<?xf32> -> !shape.shape
    scf.yield %0 : !shape.shape
  } else {
    %0 = shape.shape_of %y : tensor<4xf32> -> !shape.shape
    scf.yield %0 : !shape.shape
  }
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = shape.const_size 1
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %one) -> (!shape.size) {
    %d = shape.add %a, %a : !shape.size, !shape.size -> !shape.size
    scf.yield %d : !shape.size
  }
  func.return %r, %s : !shape.shape, !shape.size
}

// CHECK-LABEL: func.func @broadcast(%x: tensor<?x4xf32>, %y: tensor<?x?xf32>) -> (index, index, i1) attributes {mind.results = ["shape 2?"]} {
// CHECK-NEXT:   %0 = arith.constant 0 : index
// CHECK-NEXT:   %1 = arith.constant 1 : index
// CHECK-NEXT:   %2 = arith.constant 4 : index
// CHECK-NEXT:   %3 = tensor.dim %x, %0 : tensor<?x4xf32>
// CHECK-NEXT:   %4 = tensor.dim %y, %0 : tensor<?x?xf32>
// CHECK-NEXT:   %5 = tensor.dim %y, %1 : tensor<?x?xf32>
// CHECK-NEXT:   %6 = arith.cmpi eq, %3, %1 : index
// CHECK-NEXT:   %7 = arith.cmpi eq, %4, %1 : index
// CHECK-NEXT:   %8 = arith.cmpi eq, %4, %3 : index
// CHECK-NEXT:   %9 = arith.ori %7, %8 : i1
// CHECK-NEXT:   %10 = arith.ori %6, %9 : i1
// CHECK-NEXT:   %11 = arith.select %6, %4, %3 : index
// CHECK-NEXT:   %12 = arith.cmpi eq, %5, %1 : index
// CHECK-NEXT:   %13 = arith.cmpi eq, %5, %2 : index
// CHECK-NEXT:   %14 = arith.ori %12, %13 : i1
// CHECK-NEXT:   %15 = arith.andi %10, %14 : i1
// CHECK-NEXT:   func.return %11, %2, %15 : index, index, i1
// CHECK-NEXT: }
// CHECK-LABEL: func.func @guarded(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xindex> {
// CHECK-NEXT:   %0 = arith.constant 0 : index
// CHECK-NEXT:   %1 = tensor.dim %x, %0 : tensor<?xf32>
// CHECK-NEXT:   %2 = tensor.dim %y, %0 : tensor<?xf32>
// CHECK-NEXT:   %3 = arith.cmpi eq, %1, %2 : index
// CHECK-NEXT:   cf.assert %3, "shapes differ"
// CHECK-NEXT:   %4 = tensor.from_elements %1 : tensor<1xindex>
// CHECK-NEXT:   %5 = tensor.cast %4 : tensor<1xindex> to tensor<?xindex>
// CHECK-NEXT:   func.return %5 : tensor<?xindex>
// CHECK-NEXT: }
// CHECK-LABEL: func.func @product(%n: index, %m: index) -> (index, i1) attributes {mind.results = ["size?"]} {
// CHECK-NEXT:   %0 = arith.constant 1 : index
// CHECK-NEXT:   %1 = arith.constant 9223372036854775807 : index
// CHECK-NEXT:   %2 = arith.muli %n, %m : index
// CHECK-NEXT:   %3 = arith.maxsi %m, %0 : index
// CHECK-NEXT:   %4 = arith.floordivsi %1, %3 : index
// CHECK-NEXT:   %5 = arith.cmpi sle, %n, %4 : index
// CHECK-NEXT:   func.return %2, %5 : index, i1
// CHECK-NEXT: }
// CHECK-LABEL: func.func @control_flow(%p: i1, %x: tensor<?xf32>, %y: tensor<4xf32>, %n: index) -> (index, index, i1) attributes {mind.results = ["shape 1", "size?"]} {
// CHECK-NEXT:   %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-NEXT:   %[[FOUR:.*]] = arith.constant 4 : index
// CHECK-NEXT:   %[[ONE:.*]] = arith.constant 1 : index
// CHECK-NEXT:   %[[TRUE:.*]] = arith.constant true
// CHECK-NEXT:   %[[R:.*]] = scf.if %p -> (index) {
// CHECK-NEXT:     %[[X:.*]] = tensor.dim %x, %[[ZERO]] : tensor<?xf32>
// CHECK-NEXT:     scf.yield %[[X]] : index
// CHECK-NEXT:   } else {
// CHECK-NEXT:     scf.yield %[[FOUR]] : index
// CHECK-NEXT:   }
// CHECK:        %[[S:.*]], %[[V:.*]] = scf.for %{{[0-9]+}} = %c0 to %n step %c1 iter_args(%[[A:.*]] = %[[ONE]], %[[W:.*]] = %[[TRUE]]) -> (index, i1) {
// CHECK-NEXT:     %[[D:.*]] = arith.addi %[[A]], %[[A]] : index
// CHECK-NEXT:     %[[F:.*]] = arith.cmpi sge, %[[D]], %[[ZERO]] : index
// CHECK-NEXT:     %[[G:.*]] = arith.andi %[[W]], %[[F]] : i1
// CHECK-NEXT:     scf.yield %[[D]], %[[G]] : index, i1
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[R]], %[[S]], %[[V]] : index, index, i1
