// RUN: mind-opt %s --ptir-compact-scatters=least-bytes=0 | filecheck %s
// RUN: mind-opt %s --ptir-compact-scatters | filecheck %s --check-prefix=SMALL

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// Rows without updates have no row in the array of sums; the least number of an update of a row is the number of its sum.
// CHECK-LABEL: func.func @embedding
// CHECK-NEXT:  [[VZEROS:%[a-z0-9_.]+]] = ptir.constant fill 0.0 : tensor<9x4xf32>
// CHECK-NEXT:  [[VT:%[a-z0-9_.]+]] = ptir.take %w, %i : (tensor<9x4xf32>, tensor<2x2xsi32>) -> tensor<2x2x4xf32>
// CHECK-NEXT:  [[V0:%[a-z0-9_.]+]] = ptir.reshape %i new_shape = [4] : tensor<2x2xsi32> -> tensor<4xsi32>
// CHECK-NEXT:  [[V1:%[a-z0-9_.]+]] = ptir.reshape %g new_shape = [4, 4] : tensor<2x2x4xf32> -> tensor<4x4xf32>
// CHECK-NEXT:  [[V2:%[a-z0-9_.]+]] = ptir.constant fill 4 : tensor<9xsi32>
// CHECK-NEXT:  [[V3:%[a-z0-9_.]+]] = ptir.iota shape = [4] dtype = si32 axis = 0 : tensor<4xsi32>
// CHECK-NEXT:  [[V4:%[a-z0-9_.]+]] = ptir.scatter_reduce [[V2]], [[V0]], [[V3]] kind = min axis = 0 : (tensor<9xsi32>, tensor<4xsi32>, tensor<4xsi32>) -> tensor<9xsi32>
// CHECK-NEXT:  [[V5:%[a-z0-9_.]+]] = ptir.take [[V4]], [[V0]] : (tensor<9xsi32>, tensor<4xsi32>) -> tensor<4xsi32>
// CHECK-NEXT:  [[V6:%[a-z0-9_.]+]] = ptir.constant fill 0.0 : tensor<4x4xf32>
// CHECK-NEXT:  [[V7:%[a-z0-9_.]+]] = ptir.scatter_add [[V6]], [[V5]], [[V1]] update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] : (tensor<4x4xf32>, tensor<4xsi32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT:  [[V8:%[a-z0-9_.]+]] = ptir.constant fill 3 : tensor<9xsi32>
// CHECK-NEXT:  [[V9:%[a-z0-9_.]+]] = ptir.minimum [[V4]], [[V8]] : tensor<9xsi32>
// CHECK-NEXT:  [[V10:%[a-z0-9_.]+]] = ptir.take [[V7]], [[V9]] : (tensor<4x4xf32>, tensor<9xsi32>) -> tensor<9x4xf32>
// CHECK-NEXT:  [[V11:%[a-z0-9_.]+]] = ptir.compare [[V4]], [[V2]] kind = less : (tensor<9xsi32>, tensor<9xsi32>) -> tensor<9xi1>
// CHECK-NEXT:  [[V12:%[a-z0-9_.]+]] = ptir.reshape [[V11]] new_shape = [9, 1] : tensor<9xi1> -> tensor<9x1xi1>
// CHECK-NEXT:  [[V13:%[a-z0-9_.]+]] = ptir.broadcast_to [[V12]] result_shape = [9, 4] : tensor<9x1xi1> -> tensor<9x4xi1>
// CHECK-NEXT:  [[VS:%[a-z0-9_.]+]] = ptir.select [[V13]], [[V10]], [[VZEROS]] : (tensor<9x4xi1>, tensor<9x4xf32>, tensor<9x4xf32>) -> tensor<9x4xf32>
// CHECK-NEXT:  [[VN:%[a-z0-9_.]+]] = ptir.sub %w, [[VS]] : tensor<9x4xf32>
// SMALL-LABEL: func.func @embedding
// SMALL:       ptir.scatter_add
func.func @embedding(%w: tensor<9x4xf32>, %i: tensor<2x2xsi32>, %g: tensor<2x2x4xf32>) -> (tensor<2x2x4xf32>, tensor<9x4xf32>) {
  %zeros = ptir.constant fill 0.0 : tensor<9x4xf32>
  %t = ptir.take %w, %i : (tensor<9x4xf32>, tensor<2x2xsi32>) -> tensor<2x2x4xf32>
  %s = ptir.scatter_add %zeros, %i, %g update_window_dims = [2] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] : (tensor<9x4xf32>, tensor<2x2xsi32>, tensor<2x2x4xf32>) -> tensor<9x4xf32>
  %n = ptir.sub %w, %s : tensor<9x4xf32>
  func.return %t, %n : tensor<2x2x4xf32>, tensor<9x4xf32>
}

// The sums are a result, so the large array is stored anyway.
// CHECK-LABEL: func.func @result
// CHECK-NOT:   ptir.select
func.func @result(%w: tensor<9x4xf32>, %i: tensor<4xsi32>, %g: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<9x4xf32>) {
  %zeros = ptir.constant fill 0.0 : tensor<9x4xf32>
  %t = ptir.take %w, %i : (tensor<9x4xf32>, tensor<4xsi32>) -> tensor<4x4xf32>
  %s = ptir.scatter_add %zeros, %i, %g update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] : (tensor<9x4xf32>, tensor<4xsi32>, tensor<4x4xf32>) -> tensor<9x4xf32>
  func.return %t, %s : tensor<4x4xf32>, tensor<9x4xf32>
}
}
