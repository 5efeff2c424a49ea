// RUN: mind-opt %s --shape-infer --split-input-file | filecheck %s

// A constraint on shapes makes the names of their sizes equal; what was asked before is left alone.
func.func @names(%x: tensor<?x4xf32, "B,*">, %y: tensor<?x4xf32, "N,*">, %z: tensor<?xf32, "N">) -> (i1, i1, !shape.witness) {
  %c0 = arith.constant 0 : index
  %a = shape.shape_of %x : tensor<?x4xf32, "B,*"> -> tensor<2xindex>
  %b = shape.shape_of %y : tensor<?x4xf32, "N,*"> -> tensor<2xindex>
  %c = shape.shape_of %z : tensor<?xf32, "N"> -> tensor<1xindex>
  %B = shape.get_extent %a, %c0 : tensor<2xindex>, index -> index
  %N = shape.get_extent %c, %c0 : tensor<1xindex>, index -> index
  %before = arith.cmpi sle, %B, %N : index
  %w = shape.cstr_eq %a, %b : tensor<2xindex>, tensor<2xindex>
  %after = arith.cmpi sle, %B, %N : index
  %d = shape.from_extents %B : index
  %w2 = shape.cstr_eq %d, %c : !shape.shape, tensor<1xindex>
  func.return %before, %after, %w2 : i1, i1, !shape.witness
}

// CHECK-LABEL: func.func @names
// CHECK: %before = arith.cmpi sle
// CHECK: shape.cstr_eq %a, %b
// CHECK: %after = arith.constant true
// CHECK: %w2 = shape.const_witness true
// CHECK: func.return %before, %after, %w2

// -----

// So does a comparison that is required, several joined by `and`, and an assertion; in a branch only there.
func.func @compared(%x: tensor<?x?xf32, "B,N">, %p: i1) -> (i1, i1, i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c100 = arith.constant 100 : index
  %s = shape.shape_of %x : tensor<?x?xf32, "B,N"> -> tensor<2xindex>
  %B = shape.get_extent %s, %c0 : tensor<2xindex>, index -> index
  %N = shape.get_extent %s, %c1 : tensor<2xindex>, index -> index
  %large = arith.cmpi sge, %B, %c8 : index
  %more = arith.cmpi ugt, %N, %B : index
  %both = arith.andi %large, %more : i1
  %w = shape.cstr_require %both, "too small"
  %0 = arith.cmpi sgt, %N, %c8 : index
  %1 = scf.if %p -> (i1) {
    %little = arith.cmpi sle, %N, %c100 : index
    cf.assert %little, "too large"
    %i = arith.cmpi sge, %c100, %B : index
    scf.yield %i : i1
  } else {
    %i = arith.cmpi ne, %N, %c4 : index
    scf.yield %i : i1
  }
  %2 = arith.cmpi sge, %c100, %B : index
  func.return %0, %1, %2 : i1, i1, i1
}

// CHECK-LABEL: func.func @compared
// CHECK: shape.cstr_require
// CHECK: %0 = arith.constant true
// CHECK: cf.assert
// CHECK-NEXT: arith.constant true
// CHECK: else
// CHECK-NEXT: arith.constant true
// CHECK: %2 = arith.cmpi sge

// -----

// What a function declares holds from the beginning; shapes that broadcast and are not 1 are equal.
func.func @declared(%x: tensor<?xf32, "B">, %y: tensor<?xf32, "N">) -> (i1, i1, !shape.shape) attributes {mind.dims = ["B % 8 == 0", "N in 2..64"]} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = shape.shape_of %x : tensor<?xf32, "B"> -> tensor<1xindex>
  %b = shape.shape_of %y : tensor<?xf32, "N"> -> tensor<1xindex>
  %B = shape.get_extent %a, %c0 : tensor<1xindex>, index -> index
  %before = arith.cmpi sle, %B, %c64 : index
  %w = shape.cstr_broadcastable %a, %b : tensor<1xindex>, tensor<1xindex>
  %after = arith.cmpi sle, %B, %c64 : index
  %r = shape.broadcast %a, %b : tensor<1xindex>, tensor<1xindex> -> !shape.shape
  func.return %before, %after, %r : i1, i1, !shape.shape
}

// CHECK-LABEL: func.func @declared
// CHECK: %before = arith.cmpi
// CHECK: %after = arith.constant true
