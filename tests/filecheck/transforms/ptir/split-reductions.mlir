// RUN: mind-opt %s --ptir-fuse --ptir-split-reductions | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// CHECK-LABEL: func.func @product
// CHECK-NEXT:  [[N:%[a-z0-9_.]+]] = ptir.fusion %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32> body {
// CHECK-NEXT:  ^bb0([[X_1:%[a-z0-9_.]+]]: tensor<4x8xf32>, [[W_1:%[a-z0-9_.]+]]: tensor<8x16xf32>):
// CHECK-NEXT:    [[D:%[a-z0-9_.]+]] = ptir.dot_general [[X_1]], [[W_1]] batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
// CHECK-NEXT:    [[N_1:%[a-z0-9_.]+]] = ptir.tanh [[D]] : tensor<4x16xf32>
// CHECK-NEXT:    ptir.yield [[N_1]] : tensor<4x16xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  [[S:%[a-z0-9_.]+]] = ptir.reduce [[N]] kind = sum axes = [1] keepdims = false : tensor<4x16xf32> -> tensor<4xf32>
// CHECK-NEXT:  func.return [[S]] : tensor<4xf32>
func.func @product(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4xf32> {
  %d = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %n = ptir.tanh %d : tensor<4x16xf32>
  %s = ptir.reduce %n kind = sum axes = [1] keepdims = false : tensor<4x16xf32> -> tensor<4xf32>
  func.return %s : tensor<4xf32>
}

// There is no product.
// CHECK-LABEL: func.func @plain
// CHECK-NEXT:  [[S:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<4x8xf32> -> tensor<4xf32> body {
// CHECK-NEXT:  ^bb0([[X_1:%[a-z0-9_.]+]]: tensor<4x8xf32>):
// CHECK-NEXT:    [[N:%[a-z0-9_.]+]] = ptir.tanh [[X_1]] : tensor<4x8xf32>
// CHECK-NEXT:    [[S_1:%[a-z0-9_.]+]] = ptir.reduce [[N]] kind = sum axes = [1] keepdims = false : tensor<4x8xf32> -> tensor<4xf32>
// CHECK-NEXT:    ptir.yield [[S_1]] : tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return [[S]] : tensor<4xf32>
func.func @plain(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %n = ptir.tanh %x : tensor<4x8xf32>
  %s = ptir.reduce %n kind = sum axes = [1] keepdims = false : tensor<4x8xf32> -> tensor<4xf32>
  func.return %s : tensor<4xf32>
}
}
