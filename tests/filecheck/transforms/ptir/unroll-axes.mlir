// RUN: mind-opt %s --ptir-unroll-axes | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// Squared distances of all pairs, and the sum of the differences: one array for each coordinate.
// CHECK-LABEL: func.func @pairs
// CHECK-NOT:     64x64x2
// CHECK:         [[X0:%[a-z0-9_.]+]] = ptir.slice %x starts = [0, 0, 0] sizes = [64, 1, 1]
// CHECK-NEXT:    [[X1:%[a-z0-9_.]+]] = ptir.reshape [[X0]] new_shape = [64, 1]
// CHECK-NEXT:    [[A0:%[a-z0-9_.]+]] = ptir.broadcast_to [[X1]] result_shape = [64, 64]
// CHECK-NEXT:    [[X2:%[a-z0-9_.]+]] = ptir.slice %x starts = [0, 0, 1] sizes = [64, 1, 1]
// CHECK-NEXT:    [[X3:%[a-z0-9_.]+]] = ptir.reshape [[X2]] new_shape = [64, 1]
// CHECK-NEXT:    [[A1:%[a-z0-9_.]+]] = ptir.broadcast_to [[X3]] result_shape = [64, 64]
// CHECK-NEXT:    [[Y0:%[a-z0-9_.]+]] = ptir.slice %y starts = [0, 0, 0] sizes = [1, 64, 1]
// CHECK-NEXT:    [[Y1:%[a-z0-9_.]+]] = ptir.reshape [[Y0]] new_shape = [1, 64]
// CHECK-NEXT:    [[B0:%[a-z0-9_.]+]] = ptir.broadcast_to [[Y1]] result_shape = [64, 64]
// CHECK-NEXT:    [[Y2:%[a-z0-9_.]+]] = ptir.slice %y starts = [0, 0, 1] sizes = [1, 64, 1]
// CHECK-NEXT:    [[Y3:%[a-z0-9_.]+]] = ptir.reshape [[Y2]] new_shape = [1, 64]
// CHECK-NEXT:    [[B1:%[a-z0-9_.]+]] = ptir.broadcast_to [[Y3]] result_shape = [64, 64]
// CHECK-NEXT:    [[D0:%[a-z0-9_.]+]] = ptir.sub [[A0]], [[B0]] : tensor<64x64xf32>
// CHECK-NEXT:    [[D1:%[a-z0-9_.]+]] = ptir.sub [[A1]], [[B1]] : tensor<64x64xf32>
// CHECK-NEXT:    [[Q0:%[a-z0-9_.]+]] = ptir.mul [[D0]], [[D0]] : tensor<64x64xf32>
// CHECK-NEXT:    [[Q1:%[a-z0-9_.]+]] = ptir.mul [[D1]], [[D1]] : tensor<64x64xf32>
// CHECK-NEXT:    [[S:%[a-z0-9_.]+]] = ptir.add [[Q0]], [[Q1]] : tensor<64x64xf32>
// CHECK-NEXT:    [[R0:%[a-z0-9_.]+]] = ptir.reduce [[D0]] kind = sum axes = [1] keepdims = false : tensor<64x64xf32> -> tensor<64xf32>
// CHECK-NEXT:    [[R1:%[a-z0-9_.]+]] = ptir.reduce [[D1]] kind = sum axes = [1] keepdims = false : tensor<64x64xf32> -> tensor<64xf32>
// CHECK-NEXT:    [[F0:%[a-z0-9_.]+]] = ptir.reshape [[R0]] new_shape = [64, 1]
// CHECK-NEXT:    [[F1:%[a-z0-9_.]+]] = ptir.reshape [[R1]] new_shape = [64, 1]
// CHECK-NEXT:    [[F:%[a-z0-9_.]+]] = ptir.concat [[F0]], [[F1]] axis = 1 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x2xf32>
// CHECK-NEXT:    func.return [[S]], [[F]]
func.func @pairs(%x: tensor<64x1x2xf32>, %y: tensor<1x64x2xf32>) -> (tensor<64x64xf32>, tensor<64x2xf32>) {
  %a = ptir.broadcast_to %x result_shape = [64, 64, 2] : tensor<64x1x2xf32> -> tensor<64x64x2xf32>
  %b = ptir.broadcast_to %y result_shape = [64, 64, 2] : tensor<1x64x2xf32> -> tensor<64x64x2xf32>
  %d = ptir.sub %a, %b : tensor<64x64x2xf32>
  %q = ptir.mul %d, %d : tensor<64x64x2xf32>
  %s = ptir.reduce %q kind = sum axes = [2] keepdims = false : tensor<64x64x2xf32> -> tensor<64x64xf32>
  %f = ptir.reduce %d kind = sum axes = [1] keepdims = false : tensor<64x64x2xf32> -> tensor<64x2xf32>
  func.return %s, %f : tensor<64x64xf32>, tensor<64x2xf32>
}

// What is a result itself has to be stored.
// CHECK-LABEL: func.func @stored
// CHECK:         %d = ptir.sub %a, %b : tensor<64x64x2xf32>
func.func @stored(%x: tensor<64x1x2xf32>, %y: tensor<1x64x2xf32>) -> (tensor<64x64xf32>, tensor<64x64x2xf32>) {
  %a = ptir.broadcast_to %x result_shape = [64, 64, 2] : tensor<64x1x2xf32> -> tensor<64x64x2xf32>
  %b = ptir.broadcast_to %y result_shape = [64, 64, 2] : tensor<1x64x2xf32> -> tensor<64x64x2xf32>
  %d = ptir.sub %a, %b : tensor<64x64x2xf32>
  %s = ptir.reduce %d kind = sum axes = [2] keepdims = false : tensor<64x64x2xf32> -> tensor<64x64xf32>
  func.return %s, %d : tensor<64x64xf32>, tensor<64x64x2xf32>
}

// An array that is in memory is read as it lies there.
// CHECK-LABEL: func.func @read
// CHECK:         %d = ptir.mul %a, %y : tensor<64x64x2xf32>
func.func @read(%x: tensor<64x1x2xf32>, %y: tensor<64x64x2xf32>) -> tensor<64x64xf32> {
  %a = ptir.broadcast_to %x result_shape = [64, 64, 2] : tensor<64x1x2xf32> -> tensor<64x64x2xf32>
  %d = ptir.mul %a, %y : tensor<64x64x2xf32>
  %s = ptir.reduce %d kind = sum axes = [2] keepdims = false : tensor<64x64x2xf32> -> tensor<64x64xf32>
  func.return %s : tensor<64x64xf32>
}

// An axis of five elements is a loop.
// CHECK-LABEL: func.func @long
// CHECK:         %d = ptir.sub %a, %b : tensor<64x64x5xf32>
func.func @long(%x: tensor<64x1x5xf32>, %y: tensor<1x64x5xf32>) -> tensor<64x64xf32> {
  %a = ptir.broadcast_to %x result_shape = [64, 64, 5] : tensor<64x1x5xf32> -> tensor<64x64x5xf32>
  %b = ptir.broadcast_to %y result_shape = [64, 64, 5] : tensor<1x64x5xf32> -> tensor<64x64x5xf32>
  %d = ptir.sub %a, %b : tensor<64x64x5xf32>
  %s = ptir.reduce %d kind = sum axes = [2] keepdims = false : tensor<64x64x5xf32> -> tensor<64x64xf32>
  func.return %s : tensor<64x64xf32>
}

// A sum that is accumulated in another dtype than its terms has no additions in that dtype.
// CHECK-LABEL: func.func @wide
// CHECK:         %d = ptir.sub %a, %b : tensor<64x64x2xbf16>
func.func @wide(%x: tensor<64x1x2xbf16>, %y: tensor<1x64x2xbf16>) -> tensor<64x64xbf16> {
  %a = ptir.broadcast_to %x result_shape = [64, 64, 2] : tensor<64x1x2xbf16> -> tensor<64x64x2xbf16>
  %b = ptir.broadcast_to %y result_shape = [64, 64, 2] : tensor<1x64x2xbf16> -> tensor<64x64x2xbf16>
  %d = ptir.sub %a, %b : tensor<64x64x2xbf16>
  %s = ptir.reduce %d kind = sum axes = [2] keepdims = false : tensor<64x64x2xbf16> -> tensor<64x64xbf16>
  func.return %s : tensor<64x64xbf16>
}

// A product of columns with rows is elementwise; so is one per batch.
// CHECK-LABEL: func.func @outer
// CHECK-NEXT:    %[[A:.*]] = ptir.broadcast_to %a result_shape = [3, 5] : tensor<3x1xf32> -> tensor<3x5xf32>
// CHECK-NEXT:    %[[B:.*]] = ptir.broadcast_to %b result_shape = [3, 5] : tensor<1x5xf32> -> tensor<3x5xf32>
// CHECK-NEXT:    %[[R:.*]] = ptir.mul %[[A]], %[[B]] : tensor<3x5xf32>
// CHECK-NEXT:    func.return %[[R]]
func.func @outer(%a: tensor<3x1xf32>, %b: tensor<1x5xf32>) -> tensor<3x5xf32> {
  %p = ptir.dot_general %a, %b batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<3x1xf32>, tensor<1x5xf32>) -> tensor<3x5xf32>
  func.return %p : tensor<3x5xf32>
}

// Narrow floats are summed in another dtype.
// CHECK-LABEL: func.func @narrow
// CHECK-NEXT:    ptir.dot_general
func.func @narrow(%a: tensor<3x1xbf16>, %b: tensor<1x5xbf16>) -> tensor<3x5xbf16> {
  %p = ptir.dot_general %a, %b batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<3x1xbf16>, tensor<1x5xbf16>) -> tensor<3x5xbf16>
  func.return %p : tensor<3x5xbf16>
}
}
