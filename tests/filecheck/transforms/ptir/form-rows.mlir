// RUN: mind-opt %s --ptir-fuse --ptir-form-rows | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// A reduction of a product belongs to the rows behind it.
// CHECK-LABEL: func.func @product
// CHECK-NEXT:  [[N:%[a-z0-9_.]+]] = ptir.fusion %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> body {
// CHECK-NEXT:  ^bb0([[X_1:%[a-z0-9_.]+]]: tensor<4x8xf32>, [[W_1:%[a-z0-9_.]+]]: tensor<8x8xf32>):
// CHECK-NEXT:    [[D:%[a-z0-9_.]+]] = ptir.dot_general [[X_1]], [[W_1]] batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:    [[N_1:%[a-z0-9_.]+]] = ptir.neg [[D]] : tensor<4x8xf32>
// CHECK-NEXT:    ptir.yield [[N_1]] : tensor<4x8xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  [[Q:%[a-z0-9_.]+]], [[S:%[a-z0-9_.]+]] = ptir.fusion [[N]] : tensor<4x8xf32> -> (tensor<4x8xf32>, tensor<4x1xf32>) body {
// CHECK-NEXT:  ^bb0([[N_1X:%[a-z0-9_.]+]]: tensor<4x8xf32>):
// CHECK-NEXT:    [[S_1:%[a-z0-9_.]+]] = ptir.reduce [[N_1X]] kind = sum axes = [1] keepdims = true : tensor<4x8xf32> -> tensor<4x1xf32>
// CHECK-NEXT:    [[T:%[a-z0-9_.]+]] = ptir.broadcast_to [[S_1]] result_shape = [4, 8] : tensor<4x1xf32> -> tensor<4x8xf32>
// CHECK-NEXT:    [[Q_1:%[a-z0-9_.]+]] = ptir.div [[N_1X]], [[T]] : tensor<4x8xf32>
// CHECK-NEXT:    ptir.yield [[Q_1]], [[S_1]] : tensor<4x8xf32>, tensor<4x1xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return [[S]], [[Q]] : tensor<4x1xf32>, tensor<4x8xf32>
func.func @product(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x1xf32>, tensor<4x8xf32>) {
  %d = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %n = ptir.neg %d : tensor<4x8xf32>
  %s = ptir.reduce %n kind = sum axes = [1] keepdims = true : tensor<4x8xf32> -> tensor<4x1xf32>
  %t = ptir.broadcast_to %s result_shape = [4, 8] : tensor<4x1xf32> -> tensor<4x8xf32>
  %q = ptir.div %n, %t : tensor<4x8xf32>
  func.return %s, %q : tensor<4x1xf32>, tensor<4x8xf32>
}

// A reduction over everything reduces each row first, where its neighbour does.
// CHECK-LABEL: func.func @loss
// CHECK-NEXT:  [[V0:%[a-z0-9_.]+]], [[S:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<4x8xf32> -> (tensor<4x1xf32>, tensor<4xf32>) body {
// CHECK-NEXT:  ^bb0([[X_1:%[a-z0-9_.]+]]: tensor<4x8xf32>):
// CHECK-NEXT:    [[E:%[a-z0-9_.]+]] = ptir.exp [[X_1]] : tensor<4x8xf32>
// CHECK-NEXT:    [[S_1:%[a-z0-9_.]+]] = ptir.reduce [[E]] kind = sum axes = [1] keepdims = false : tensor<4x8xf32> -> tensor<4xf32>
// CHECK-NEXT:    [[N:%[a-z0-9_.]+]] = ptir.neg [[X_1]] : tensor<4x8xf32>
// CHECK-NEXT:    [[TROW:%[a-z0-9_.]+]] = ptir.reduce [[N]] kind = sum axes = [1] keepdims = true accum_dtype = f32 out_dtype = f32 : tensor<4x8xf32> -> tensor<4x1xf32>
// CHECK-NEXT:    ptir.yield [[TROW]], [[S_1]] : tensor<4x1xf32>, tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  [[T:%[a-z0-9_.]+]] = ptir.reduce [[V0]] kind = sum axes = [0, 1] keepdims = false accum_dtype = f32 out_dtype = f32 : tensor<4x1xf32> -> tensor<f32>
// CHECK-NEXT:  func.return [[S]], [[T]] : tensor<4xf32>, tensor<f32>
func.func @loss(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %e = ptir.exp %x : tensor<4x8xf32>
  %s = ptir.reduce %e kind = sum axes = [1] keepdims = false : tensor<4x8xf32> -> tensor<4xf32>
  %n = ptir.neg %x : tensor<4x8xf32>
  %t = ptir.reduce %n kind = sum axes = [0, 1] keepdims = false : tensor<4x8xf32> -> tensor<f32>
  func.return %s, %t : tensor<4xf32>, tensor<f32>
}

// Columns are no rows.
// CHECK-LABEL: func.func @columns
// CHECK-NEXT:  [[T:%[a-z0-9_.]+]], [[S:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<4x8xf32> -> (tensor<8xf32>, tensor<4xf32>) body {
// CHECK-NEXT:  ^bb0([[X_1:%[a-z0-9_.]+]]: tensor<4x8xf32>):
// CHECK-NEXT:    [[E:%[a-z0-9_.]+]] = ptir.exp [[X_1]] : tensor<4x8xf32>
// CHECK-NEXT:    [[S_1:%[a-z0-9_.]+]] = ptir.reduce [[E]] kind = sum axes = [1] keepdims = false : tensor<4x8xf32> -> tensor<4xf32>
// CHECK-NEXT:    [[N:%[a-z0-9_.]+]] = ptir.neg [[X_1]] : tensor<4x8xf32>
// CHECK-NEXT:    [[T_1:%[a-z0-9_.]+]] = ptir.reduce [[N]] kind = sum axes = [0] keepdims = false : tensor<4x8xf32> -> tensor<8xf32>
// CHECK-NEXT:    ptir.yield [[T_1]], [[S_1]] : tensor<8xf32>, tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return [[S]], [[T]] : tensor<4xf32>, tensor<8xf32>
func.func @columns(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
  %e = ptir.exp %x : tensor<4x8xf32>
  %s = ptir.reduce %e kind = sum axes = [1] keepdims = false : tensor<4x8xf32> -> tensor<4xf32>
  %n = ptir.neg %x : tensor<4x8xf32>
  %t = ptir.reduce %n kind = sum axes = [0] keepdims = false : tensor<4x8xf32> -> tensor<8xf32>
  func.return %s, %t : tensor<4xf32>, tensor<8xf32>
}
}
