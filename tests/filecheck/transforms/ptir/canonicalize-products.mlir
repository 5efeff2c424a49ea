// RUN: mind-opt %s --ptir-canonicalize | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// The other way round, nothing is left to transpose.
// CHECK-LABEL: func.func @transpose_of_dot
// CHECK-SAME:    (%[[A:.*]]: tensor<3x4xf32>, %[[B:.*]]: tensor<4x5xf32>)
// CHECK-NEXT:    %[[P:.*]] = ptir.dot_general %[[B]], %[[A]] batch_lhs = [] batch_rhs = [] contract_lhs = [0] contract_rhs = [1] : (tensor<4x5xf32>, tensor<3x4xf32>) -> tensor<5x3xf32>
// CHECK-NEXT:    func.return %[[P]]
func.func @transpose_of_dot(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) -> tensor<5x3xf32> {
  %p = ptir.dot_general %a, %b batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %t = ptir.transpose %p perm = [1, 0] : tensor<3x5xf32> -> tensor<5x3xf32>
  func.return %t : tensor<5x3xf32>
}

// Two products would be more work than a transpose.
// CHECK-LABEL: func.func @shared_product
// CHECK-NEXT:    ptir.dot_general
// CHECK-NEXT:    ptir.transpose
func.func @shared_product(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) -> (tensor<3x5xf32>, tensor<5x3xf32>) {
  %p = ptir.dot_general %a, %b batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %t = ptir.transpose %p perm = [1, 0] : tensor<3x5xf32> -> tensor<5x3xf32>
  func.return %p, %t : tensor<3x5xf32>, tensor<5x3xf32>
}

// Equal rows are one row.
// CHECK-LABEL: func.func @repeated_rows
// CHECK-SAME:    (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4x5xf32>)
// CHECK-NEXT:    %[[V:.*]] = ptir.reshape %[[A]] new_shape = [1, 4] : tensor<4xf32> -> tensor<1x4xf32>
// CHECK-NEXT:    %[[P:.*]] = ptir.dot_general %[[V]], %[[B]] batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<1x4xf32>, tensor<4x5xf32>) -> tensor<1x5xf32>
// CHECK-NEXT:    %[[R:.*]] = ptir.broadcast_to %[[P]] result_shape = [3, 5] : tensor<1x5xf32> -> tensor<3x5xf32>
// CHECK-NEXT:    func.return %[[R]]
func.func @repeated_rows(%a: tensor<4xf32>, %b: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %w = ptir.broadcast_to %a result_shape = [3, 4] : tensor<4xf32> -> tensor<3x4xf32>
  %p = ptir.dot_general %w, %b batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  func.return %p : tensor<3x5xf32>
}

// Batches with one matrix stay: attention with shared keys is recognized by them.
// CHECK-LABEL: func.func @repeated_matrix
// CHECK-NEXT:    ptir.broadcast_to
// CHECK-NEXT:    ptir.dot_general
func.func @repeated_matrix(%a: tensor<2x3x4xf32>, %b: tensor<4x5xf32>) -> tensor<2x3x5xf32> {
  %w = ptir.broadcast_to %b result_shape = [2, 4, 5] : tensor<4x5xf32> -> tensor<2x4x5xf32>
  %p = ptir.dot_general %a, %w batch_lhs = [0] batch_rhs = [0] contract_lhs = [2] contract_rhs = [1] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  func.return %p : tensor<2x3x5xf32>
}

// A sum of equal numbers is not rounded as their multiple is.
// CHECK-LABEL: func.func @repeated_terms
// CHECK-NEXT:    ptir.broadcast_to
// CHECK-NEXT:    ptir.dot_general
func.func @repeated_terms(%a: tensor<3x1xf32>, %b: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %w = ptir.broadcast_to %a result_shape = [3, 4] : tensor<3x1xf32> -> tensor<3x4xf32>
  %p = ptir.dot_general %w, %b batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  func.return %p : tensor<3x5xf32>
}
}
