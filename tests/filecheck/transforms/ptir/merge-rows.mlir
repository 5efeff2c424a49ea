// RUN: mind-opt %s --ptir-fuse --ptir-merge-rows | filecheck %s
// RUN: mind-opt %s --ptir-fuse --ptir-merge-rows=siblings=false | filecheck %s --check-prefix=APART

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// The quotient is computed while the row is in the cache.
// CHECK-LABEL: func.func @softmax
// CHECK-NEXT:  [[Q:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<4x8xf32> body {
// CHECK-NEXT:  ^bb0([[X_1:%[a-z0-9_.]+]]: tensor<4x8xf32>):
// CHECK-NEXT:    [[E:%[a-z0-9_.]+]] = ptir.exp [[X_1]] : tensor<4x8xf32>
// CHECK-NEXT:    [[S:%[a-z0-9_.]+]] = ptir.reduce [[E]] kind = sum axes = [1] keepdims = true : tensor<4x8xf32> -> tensor<4x1xf32>
// CHECK-NEXT:    [[T:%[a-z0-9_.]+]] = ptir.broadcast_to [[S]] result_shape = [4, 8] : tensor<4x1xf32> -> tensor<4x8xf32>
// CHECK-NEXT:    [[Q_1:%[a-z0-9_.]+]] = ptir.div [[E]], [[T]] : tensor<4x8xf32>
// CHECK-NEXT:    ptir.yield [[Q_1]] : tensor<4x8xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return [[Q]] : tensor<4x8xf32>
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = ptir.exp %x : tensor<4x8xf32>
  %s = ptir.reduce %e kind = sum axes = [1] keepdims = true : tensor<4x8xf32> -> tensor<4x1xf32>
  %t = ptir.broadcast_to %s result_shape = [4, 8] : tensor<4x1xf32> -> tensor<4x8xf32>
  %q = ptir.div %e, %t : tensor<4x8xf32>
  func.return %q : tensor<4x8xf32>
}

// Both read the rows of %x.
// CHECK-LABEL: func.func @siblings
// CHECK-NEXT:  [[T:%[a-z0-9_.]+]], [[S:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<4x8xf32> -> (tensor<4xf32>, tensor<4xf32>) body {
// CHECK-NEXT:  ^bb0([[X_1:%[a-z0-9_.]+]]: tensor<4x8xf32>):
// CHECK-NEXT:    [[E:%[a-z0-9_.]+]] = ptir.exp [[X_1]] : tensor<4x8xf32>
// CHECK-NEXT:    [[S_1:%[a-z0-9_.]+]] = ptir.reduce [[E]] kind = sum axes = [1] keepdims = false : tensor<4x8xf32> -> tensor<4xf32>
// CHECK-NEXT:    [[N:%[a-z0-9_.]+]] = ptir.neg [[X_1]] : tensor<4x8xf32>
// CHECK-NEXT:    [[T_1:%[a-z0-9_.]+]] = ptir.reduce [[N]] kind = max axes = [1] keepdims = false : tensor<4x8xf32> -> tensor<4xf32>
// CHECK-NEXT:    ptir.yield [[T_1]], [[S_1]] : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return [[S]], [[T]] : tensor<4xf32>, tensor<4xf32>
// APART-LABEL: func.func @siblings
// APART-NEXT:  [[S:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<4x8xf32> -> tensor<4xf32> body {
// APART-NEXT:  ^bb0([[X_1:%[a-z0-9_.]+]]: tensor<4x8xf32>):
// APART-NEXT:    [[E:%[a-z0-9_.]+]] = ptir.exp [[X_1]] : tensor<4x8xf32>
// APART-NEXT:    [[S_1:%[a-z0-9_.]+]] = ptir.reduce [[E]] kind = sum axes = [1] keepdims = false : tensor<4x8xf32> -> tensor<4xf32>
// APART-NEXT:    ptir.yield [[S_1]] : tensor<4xf32>
// APART-NEXT:  }
// APART-NEXT:  [[T:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<4x8xf32> -> tensor<4xf32> body {
// APART-NEXT:  ^bb0([[X_1X:%[a-z0-9_.]+]]: tensor<4x8xf32>):
// APART-NEXT:    [[N:%[a-z0-9_.]+]] = ptir.neg [[X_1X]] : tensor<4x8xf32>
// APART-NEXT:    [[T_1:%[a-z0-9_.]+]] = ptir.reduce [[N]] kind = max axes = [1] keepdims = false : tensor<4x8xf32> -> tensor<4xf32>
// APART-NEXT:    ptir.yield [[T_1]] : tensor<4xf32>
// APART-NEXT:  }
// APART-NEXT:  func.return [[S]], [[T]] : tensor<4xf32>, tensor<4xf32>
func.func @siblings(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = ptir.exp %x : tensor<4x8xf32>
  %s = ptir.reduce %e kind = sum axes = [1] keepdims = false : tensor<4x8xf32> -> tensor<4xf32>
  %n = ptir.neg %x : tensor<4x8xf32>
  %t = ptir.reduce %n kind = max axes = [1] keepdims = false : tensor<4x8xf32> -> tensor<4xf32>
  func.return %s, %t : tensor<4xf32>, tensor<4xf32>
}
}
