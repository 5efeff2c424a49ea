// RUN: mind-opt %s --ptir-tile-batch="large-bytes=4096 part-bytes=1024 step-bytes=64" --ptir-dce | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// Two examples at a time: weights are whole, views and broadcasts of them are made in the loop.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT:    [[P:%\d+]] = ptir.reshape %x new_shape = [4, 2, 4, 4, 2] : tensor<8x4x4x2xf32> -> tensor<4x2x4x4x2xf32>
// CHECK-NEXT:    %1, %2, %3, [[S:%\d+]] = ptir.scan %w, %b, %v, [[P]] carry_count = 3 scan_output_count = 1
// CHECK-NEXT:    ^bb0(%w_1: tensor<1x1x2x8xf32>, %b_1: tensor<8xf32>, %v_1: tensor<3x8xf32>, %x_1: tensor<2x4x4x2xf32>):
// CHECK-NEXT:      %c = ptir.convolution %x_1, %w_1 {{.*}} -> tensor<2x4x4x8xf32>
// CHECK-NEXT:      %d = ptir.broadcast_to %b_1 result_shape = [2, 4, 4, 8]
// CHECK-NEXT:      %e = ptir.add %c, %d : tensor<2x4x4x8xf32>
// CHECK-NEXT:      %f = ptir.reshape %e new_shape = [2, 16, 8]
// CHECK-NEXT:      %t = ptir.transpose %v_1 perm = [1, 0]
// CHECK-NEXT:      %g = ptir.dot_general %f, %t {{.*}} -> tensor<2x16x3xf32>
// CHECK-NEXT:      ptir.yield %w_1, %b_1, %v_1, %g
// CHECK-NEXT:    }
// CHECK-NEXT:    [[G:%[a-z0-9_]+]] = ptir.reshape [[S]] new_shape = [8, 16, 3] : tensor<4x2x16x3xf32> -> tensor<8x16x3xf32>
// CHECK-NEXT:    func.return [[G]]
func.func @chain(%x: tensor<8x4x4x2xf32>, %w: tensor<1x1x2x8xf32>, %b: tensor<8xf32>, %v: tensor<3x8xf32>) -> tensor<8x16x3xf32> {
  %c = ptir.convolution %x, %w strides = [1, 1] padding = [[0, 0], [0, 0]] base_dilation = [1, 1] window_dilation = [1, 1] feature_group_count = 1 : (tensor<8x4x4x2xf32>, tensor<1x1x2x8xf32>) -> tensor<8x4x4x8xf32>
  %d = ptir.broadcast_to %b result_shape = [8, 4, 4, 8] : tensor<8xf32> -> tensor<8x4x4x8xf32>
  %e = ptir.add %c, %d : tensor<8x4x4x8xf32>
  %f = ptir.reshape %e new_shape = [8, 16, 8] : tensor<8x4x4x8xf32> -> tensor<8x16x8xf32>
  %t = ptir.transpose %v perm = [1, 0] : tensor<3x8xf32> -> tensor<8x3xf32>
  %g = ptir.dot_general %f, %t batch_lhs = [] batch_rhs = [] contract_lhs = [2] contract_rhs = [0] : (tensor<8x16x8xf32>, tensor<8x3xf32>) -> tensor<8x16x3xf32>
  func.return %g : tensor<8x16x3xf32>
}

// Rows of a product are examples too; what comes in beside them is cut, and what the mean over all needs comes after the loop.
// CHECK-LABEL: func.func @rows
// CHECK-DAG:     [[X:%\d+]] = ptir.reshape %x new_shape = [8, 16, 4]
// CHECK-DAG:     [[Y:%\d+]] = ptir.reshape %y new_shape = [8, 16, 16]
// CHECK:         ptir.scan %w, %v, [[X]], [[Y]] carry_count = 2 scan_output_count = 1
// CHECK:         ptir.yield
// CHECK:         [[H:%[a-z0-9_]+]] = ptir.reshape {{%\d+}} new_shape = [128, 2]
// CHECK-NEXT:    [[M:%[a-z0-9_]+]] = ptir.reduce [[H]] kind = sum axes = [0]
// CHECK-NEXT:    func.return [[M]]
func.func @rows(%x: tensor<128x4xf32>, %y: tensor<128x16xf32>, %w: tensor<4x16xf32>, %v: tensor<16x2xf32>) -> tensor<2xf32> {
  %g = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<128x4xf32>, tensor<4x16xf32>) -> tensor<128x16xf32>
  %s = ptir.mul %g, %y : tensor<128x16xf32>
  %h = ptir.dot_general %s, %v batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<128x16xf32>, tensor<16x2xf32>) -> tensor<128x2xf32>
  %m = ptir.reduce %h kind = sum axes = [0] keepdims = false : tensor<128x2xf32> -> tensor<2xf32>
  func.return %m : tensor<2xf32>
}

// A value that is returned as well is stored anyway: nothing is saved.
// CHECK-LABEL: func.func @returned
// CHECK-NOT:     ptir.scan
// CHECK:         func.return
func.func @returned(%x: tensor<128x4xf32>, %w: tensor<4x16xf32>, %v: tensor<16x2xf32>) -> (tensor<128x16xf32>, tensor<128x2xf32>) {
  %g = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<128x4xf32>, tensor<4x16xf32>) -> tensor<128x16xf32>
  %h = ptir.dot_general %g, %v batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<128x16xf32>, tensor<16x2xf32>) -> tensor<128x2xf32>
  func.return %g, %h : tensor<128x16xf32>, tensor<128x2xf32>
}

// The rows are summed by a product, as in the gradient of its weights.
// CHECK-LABEL: func.func @contracted
// CHECK-NOT:     ptir.scan
// CHECK:         func.return
func.func @contracted(%x: tensor<128x4xf32>, %w: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %g = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<128x4xf32>, tensor<4x16xf32>) -> tensor<128x16xf32>
  %h = ptir.dot_general %x, %g batch_lhs = [] batch_rhs = [] contract_lhs = [0] contract_rhs = [0] : (tensor<128x4xf32>, tensor<128x16xf32>) -> tensor<4x16xf32>
  func.return %h : tensor<4x16xf32>
}

// Weights of 16 KB would be read by each part, for a value of 8 KB.
// CHECK-LABEL: func.func @weights
// CHECK-NOT:     ptir.scan
// CHECK:         func.return
func.func @weights(%x: tensor<128x4xf32>, %w: tensor<4x16xf32>, %v: tensor<16x256xf32>) -> tensor<128x256xf32> {
  %g = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<128x4xf32>, tensor<4x16xf32>) -> tensor<128x16xf32>
  %h = ptir.dot_general %g, %v batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<128x16xf32>, tensor<16x256xf32>) -> tensor<128x256xf32>
  func.return %h : tensor<128x256xf32>
}

// An index may be out of bounds before what follows it fails: the region ends before it, where it has saved nothing yet.
// CHECK-LABEL: func.func @fails
// CHECK-NOT:     ptir.scan
// CHECK:         func.return
func.func @fails(%x: tensor<128x4xf32>, %i: tensor<128x1xsi32>, %w: tensor<4x16xf32>, %v: tensor<16x2xf32>) -> (tensor<128x1xf32>, tensor<128x2xf32>) {
  %g = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<128x4xf32>, tensor<4x16xf32>) -> tensor<128x16xf32>
  %e = ptir.exp %g : tensor<128x16xf32>
  %p = ptir.gather %e, %i axis = 1 : (tensor<128x16xf32>, tensor<128x1xsi32>) -> tensor<128x1xf32>
  %h = ptir.dot_general %g, %v batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<128x16xf32>, tensor<16x2xf32>) -> tensor<128x2xf32>
  func.return %p, %h : tensor<128x1xf32>, tensor<128x2xf32>
}
}
