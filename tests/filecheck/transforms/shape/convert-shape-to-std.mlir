// RUN: mind-opt %s --convert-shape-to-std | filecheck %s
// RUN: xdsl-opt %s -p mind-convert-shape-to-std | filecheck %s

// Extent tensors of any rank; a list of unknown length is filled by a loop. What may hold errors stays.
func.func @broadcast(%a: tensor<?xindex>, %b: tensor<?xindex>) -> tensor<?xindex> {
  %r = shape.broadcast %a, %b : tensor<?xindex>, tensor<?xindex> -> tensor<?xindex>
  func.return %r : tensor<?xindex>
}
func.func @equal(%a: tensor<?xindex>, %b: tensor<2xindex>) -> i1 {
  %r = shape.shape_eq %a, %b : tensor<?xindex>, tensor<2xindex>
  func.return %r : i1
}
func.func @extents(%x: tensor<?x4xf32>, %i: index) -> (tensor<?xindex>, index) {
  %s = shape.shape_of %x : tensor<?x4xf32> -> tensor<?xindex>
  %n = shape.get_extent %s, %i : tensor<?xindex>, index -> index
  %m = shape.mul %n, %i : index, index -> index
  func.return %s, %m : tensor<?xindex>, index
}
func.func @errors_stay(%s: !shape.shape) -> !shape.size {
  %r = shape.rank %s : !shape.shape -> !shape.size
  func.return %r : !shape.size
}

// CHECK-LABEL: func.func @broadcast(%a: tensor<?xindex>, %b: tensor<?xindex>) -> tensor<?xindex> {
// CHECK-NEXT:   %0 = arith.constant 0 : index
// CHECK-NEXT:   %1 = tensor.dim %a, %0 : tensor<?xindex>
// CHECK-NEXT:   %2 = arith.constant 0 : index
// CHECK-NEXT:   %3 = tensor.dim %b, %2 : tensor<?xindex>
// CHECK-NEXT:   %4 = arith.maxui %3, %1 : index
// CHECK-NEXT:   %5 = arith.subi %4, %1 : index
// CHECK-NEXT:   %6 = arith.subi %4, %3 : index
// CHECK-NEXT:   %7 = tensor.empty(%4) : tensor<?xindex>
// CHECK-NEXT:   %8 = arith.constant 0 : index
// CHECK-NEXT:   %9 = arith.constant 1 : index
// CHECK-NEXT:   %r = scf.for %10 = %8 to %4 step %9 iter_args(%11 = %7) -> (tensor<?xindex>) {
// CHECK-NEXT:     %12 = arith.constant 1 : index
// CHECK-NEXT:     %13 = arith.cmpi ult, %10, %5 : index
// CHECK-NEXT:     %14 = scf.if %13 -> (index) {
// CHECK-NEXT:       scf.yield %12 : index
// CHECK-NEXT:     } else {
// CHECK-NEXT:       %15 = arith.subi %10, %5 : index
// CHECK-NEXT:       %16 = tensor.extract %a[%15] : tensor<?xindex>
// CHECK-NEXT:       %17 = arith.cmpi eq, %16, %12 : index
// CHECK-NEXT:       %18 = arith.select %17, %12, %16 : index
// CHECK-NEXT:       scf.yield %18 : index
// CHECK-NEXT:     }
// CHECK-NEXT:     %19 = arith.cmpi ult, %10, %6 : index
// CHECK-NEXT:     %20 = scf.if %19 -> (index) {
// CHECK-NEXT:       scf.yield %14 : index
// CHECK-NEXT:     } else {
// CHECK-NEXT:       %21 = arith.subi %10, %6 : index
// CHECK-NEXT:       %22 = tensor.extract %b[%21] : tensor<?xindex>
// CHECK-NEXT:       %23 = arith.cmpi eq, %22, %12 : index
// CHECK-NEXT:       %24 = arith.select %23, %14, %22 : index
// CHECK-NEXT:       scf.yield %24 : index
// CHECK-NEXT:     }
// CHECK-NEXT:     %25 = tensor.insert %20 into %11[%10] : tensor<?xindex>
// CHECK-NEXT:     scf.yield %25 : tensor<?xindex>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %r : tensor<?xindex>
// CHECK-NEXT: }
// CHECK-LABEL: func.func @equal(%a: tensor<?xindex>, %b: tensor<2xindex>) -> i1 {
// CHECK-NEXT:   %0 = arith.constant 0 : index
// CHECK-NEXT:   %1 = tensor.dim %a, %0 : tensor<?xindex>
// CHECK-NEXT:   %2 = arith.constant 0 : index
// CHECK-NEXT:   %3 = tensor.dim %b, %2 : tensor<2xindex>
// CHECK-NEXT:   %4 = arith.cmpi eq, %1, %3 : index
// CHECK-NEXT:   %r = scf.if %4 -> (i1) {
// CHECK-NEXT:     %5 = arith.constant true
// CHECK-NEXT:     %6 = arith.constant 0 : index
// CHECK-NEXT:     %7 = arith.constant 1 : index
// CHECK-NEXT:     %8 = scf.for %9 = %6 to %1 step %7 iter_args(%10 = %5) -> (i1) {
// CHECK-NEXT:       %11 = tensor.extract %a[%9] : tensor<?xindex>
// CHECK-NEXT:       %12 = tensor.extract %b[%9] : tensor<2xindex>
// CHECK-NEXT:       %13 = arith.cmpi eq, %11, %12 : index
// CHECK-NEXT:       %14 = arith.andi %10, %13 : i1
// CHECK-NEXT:       scf.yield %14 : i1
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield %8 : i1
// CHECK-NEXT:   } else {
// CHECK-NEXT:     %15 = arith.constant false
// CHECK-NEXT:     scf.yield %15 : i1
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %r : i1
// CHECK-NEXT: }
// CHECK-LABEL: func.func @extents(%x: tensor<?x4xf32>, %i: index) -> (tensor<?xindex>, index) {
// CHECK-NEXT:   %0 = arith.constant 0 : index
// CHECK-NEXT:   %1 = tensor.dim %x, %0 : tensor<?x4xf32>
// CHECK-NEXT:   %2 = arith.constant 4 : index
// CHECK-NEXT:   %3 = tensor.from_elements %1, %2 : tensor<2xindex>
// CHECK-NEXT:   %s = tensor.cast %3 : tensor<2xindex> to tensor<?xindex>
// CHECK-NEXT:   %n = tensor.dim %x, %i : tensor<?x4xf32>
// CHECK-NEXT:   %m = arith.muli %n, %i : index
// CHECK-NEXT:   func.return %s, %m : tensor<?xindex>, index
// CHECK-NEXT: }
// CHECK-LABEL: func.func @errors_stay(%s: !shape.shape) -> !shape.size {
// CHECK-NEXT:   %r = shape.rank %s : !shape.shape -> !shape.size
// CHECK-NEXT:   func.return %r : !shape.size
// CHECK-NEXT: }

// What the text leaves unused is converted like everything else; what served a converted op alone goes.
// CHECK-LABEL: func.func @unused
// CHECK-SAME: (%x: tensor<2x3xf32>, %i: index) -> index
// CHECK-NEXT: %[[SUM:[a-z0-9_]+]] = arith.addi %i, %i : index
// CHECK-NEXT: %[[KEPT:[a-z0-9_]+]] = arith.constant 7 : index
// CHECK-NEXT: %[[DIM:[a-z0-9_]+]] = tensor.dim %x, %i : tensor<2x3xf32>
// CHECK-NEXT: func.return %[[DIM]] : index
func.func @unused(%x: tensor<2x3xf32>, %i: index) -> index {
  %0 = shape.add %i, %i : index, index -> index
  %1 = arith.constant 7 : index
  %2 = shape.shape_of %x : tensor<2x3xf32> -> tensor<?xindex>
  %3 = shape.get_extent %2, %i : tensor<?xindex>, index -> index
  func.return %3 : index
}
