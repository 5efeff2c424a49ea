// RUN: mind-opt %s --reify-shapes | filecheck %s
// RUN: mind-opt %s --reify-shapes="mode=inline" | filecheck %s --check-prefix=INLINE

// Rows of a matrix times a vector: two constraints, one of them proven by the names.
module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<?x?xf32, "B,K">, %w: tensor<?x4xf32, "N,*">, %b: tensor<?x4xf32, "B,*">) -> tensor<?x4xf32, "B,*"> {
  %y = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]
    : (tensor<?x?xf32, "B,K">, tensor<?x4xf32, "N,*">) -> tensor<?x4xf32, "B,*">
  %z = ptir.add %y, %b : tensor<?x4xf32, "B,*">
  func.return %z : tensor<?x4xf32, "B,*">
}
}

// CHECK: attributes {mind.shapes = @f_shapes}
// CHECK: shape.func @f_shapes(%x: tensor<?x?xf32, "B,K">, %w: tensor<?x4xf32, "N,*">, %b: tensor<?x4xf32, "B,*">) -> !shape.shape {
// CHECK-NEXT: [[V0:%[0-9]+]] = shape.shape_of %x : tensor<?x?xf32, "B,K"> -> tensor<2xindex>
// CHECK-NEXT: [[V1:%[0-9]+]] = arith.constant 0 : index
// CHECK-NEXT: [[V2:%[0-9]+]] = shape.get_extent [[V0]], [[V1]] : tensor<2xindex>, index -> index
// CHECK-NEXT: [[V3:%[0-9]+]] = arith.constant 1 : index
// CHECK-NEXT: [[V4:%[0-9]+]] = shape.get_extent [[V0]], [[V3]] : tensor<2xindex>, index -> index
// CHECK-NEXT: [[V5:%[0-9]+]] = shape.shape_of %w : tensor<?x4xf32, "N,*"> -> tensor<2xindex>
// CHECK-NEXT: [[V6:%[0-9]+]] = shape.get_extent [[V5]], [[V1]] : tensor<2xindex>, index -> index
// CHECK-NEXT: [[V7:%[0-9]+]] = shape.shape_of %b : tensor<?x4xf32, "B,*"> -> tensor<2xindex>
// CHECK-NEXT: [[V8:%[0-9]+]] = shape.get_extent [[V7]], [[V1]] : tensor<2xindex>, index -> index
// CHECK-NEXT: [[V9:%[0-9]+]] = arith.cmpi eq, [[V8]], [[V2]] : index
// CHECK-NEXT: [[V10:%[0-9]+]] = shape.cstr_require [[V9]], "dimension 0 of input b, B, has size ?, elsewhere ?; expected one size" {mind.code = "E8001", mind.wording = "dimension 0 of input b, B, has size {lhs}, elsewhere {rhs}; expected one size"}
// CHECK-NEXT: [[V11:%[0-9]+]] = arith.cmpi eq, [[V4]], [[V6]] : index
// CHECK-NEXT: [[V12:%[0-9]+]] = shape.cstr_require [[V11]], "contracted extents ? and ?, expected equal" {mind.op = "dot_general %y", mind.code = "E3003", mind.wording = "contracted extents {lhs} and {rhs}, expected equal"}
// CHECK-NEXT: [[V13:%[0-9]+]] = arith.constant 4 : index
// CHECK-NEXT: [[V14:%[0-9]+]] = shape.from_extents [[V2]], [[V13]] : index, index
// CHECK-NEXT: shape.return [[V14]] : !shape.shape
// CHECK-NEXT: }

// INLINE: func.func @f(%x: tensor<?x?xf32, "B,K">, %w: tensor<?x4xf32, "N,*">, %b: tensor<?x4xf32, "B,*">) -> tensor<?x4xf32, "B,*"> {
// INLINE-NEXT: [[V0:%[0-9]+]] = shape.shape_of %x : tensor<?x?xf32, "B,K"> -> tensor<2xindex>
// INLINE-NEXT: [[V1:%[0-9]+]] = arith.constant 0 : index
// INLINE-NEXT: [[V2:%[0-9]+]] = shape.get_extent [[V0]], [[V1]] : tensor<2xindex>, index -> index
// INLINE-NEXT: [[V3:%[0-9]+]] = arith.constant 1 : index
// INLINE-NEXT: [[V4:%[0-9]+]] = shape.get_extent [[V0]], [[V3]] : tensor<2xindex>, index -> index
// INLINE-NEXT: [[V5:%[0-9]+]] = shape.shape_of %w : tensor<?x4xf32, "N,*"> -> tensor<2xindex>
// INLINE-NEXT: [[V6:%[0-9]+]] = shape.get_extent [[V5]], [[V1]] : tensor<2xindex>, index -> index
// INLINE-NEXT: [[V7:%[0-9]+]] = shape.shape_of %b : tensor<?x4xf32, "B,*"> -> tensor<2xindex>
// INLINE-NEXT: [[V8:%[0-9]+]] = shape.get_extent [[V7]], [[V1]] : tensor<2xindex>, index -> index
// INLINE-NEXT: [[V9:%[0-9]+]] = arith.cmpi eq, [[V8]], [[V2]] : index
// INLINE-NEXT: [[V10:%[0-9]+]] = shape.cstr_require [[V9]], "dimension 0 of input b, B, has size ?, elsewhere ?; expected one size" {mind.code = "E8001", mind.wording = "dimension 0 of input b, B, has size {lhs}, elsewhere {rhs}; expected one size"}
// INLINE-NEXT: [[V11:%[0-9]+]] = arith.cmpi eq, [[V4]], [[V6]] : index
// INLINE-NEXT: [[V12:%[0-9]+]] = shape.cstr_require [[V11]], "contracted extents ? and ?, expected equal" {mind.op = "dot_general %y", mind.code = "E3003", mind.wording = "contracted extents {lhs} and {rhs}, expected equal"}
// INLINE-NEXT: %y = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<?x?xf32, "B,K">, tensor<?x4xf32, "N,*">) -> tensor<?x4xf32, "B,*">
// INLINE-NEXT: %z = ptir.add %y, %b : tensor<?x4xf32, "B,*">
// INLINE-NEXT: func.return %z : tensor<?x4xf32, "B,*">
// INLINE-NEXT: }
