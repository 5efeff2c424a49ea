// RUN: mind-opt %s --ptir-select-scatters | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// The gather finds indices that are out of range, so that the scatter need not.
// CHECK-LABEL: func.func @checked
// CHECK-NEXT:  [[BASE:%[a-z0-9_.]+]] = ptir.constant fill 0.0 : tensor<5x7xf32>
// CHECK-NEXT:  [[G:%[a-z0-9_.]+]] = ptir.gather %x, %i axis = 1 : (tensor<5x7xf32>, tensor<5x1xsi32>) -> tensor<5x1xf32>
// CHECK-NEXT:  [[V0:%[a-z0-9_.]+]] = ptir.iota shape = [5, 7] dtype = si32 axis = 1 : tensor<5x7xsi32>
// CHECK-NEXT:  [[V1:%[a-z0-9_.]+]] = ptir.broadcast_to %i result_shape = [5, 7] : tensor<5x1xsi32> -> tensor<5x7xsi32>
// CHECK-NEXT:  [[V2:%[a-z0-9_.]+]] = ptir.broadcast_to %u result_shape = [5, 7] : tensor<5x1xf32> -> tensor<5x7xf32>
// CHECK-NEXT:  [[V3:%[a-z0-9_.]+]] = ptir.compare [[V0]], [[V1]] kind = equal : (tensor<5x7xsi32>, tensor<5x7xsi32>) -> tensor<5x7xi1>
// CHECK-NEXT:  [[V4:%[a-z0-9_.]+]] = ptir.add [[BASE]], [[V2]] : tensor<5x7xf32>
// CHECK-NEXT:  [[S:%[a-z0-9_.]+]] = ptir.select [[V3]], [[V4]], [[BASE]] : (tensor<5x7xi1>, tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
// CHECK-NEXT:  func.return [[G]], [[S]] : tensor<5x1xf32>, tensor<5x7xf32>
func.func @checked(%x: tensor<5x7xf32>, %i: tensor<5x1xsi32>, %u: tensor<5x1xf32>) -> (tensor<5x1xf32>, tensor<5x7xf32>) {
  %base = ptir.constant fill 0.0 : tensor<5x7xf32>
  %g = ptir.gather %x, %i axis = 1 : (tensor<5x7xf32>, tensor<5x1xsi32>) -> tensor<5x1xf32>
  %s = ptir.scatter_reduce %base, %i, %u kind = add axis = 1 : (tensor<5x7xf32>, tensor<5x1xsi32>, tensor<5x1xf32>) -> tensor<5x7xf32>
  func.return %g, %s : tensor<5x1xf32>, tensor<5x7xf32>
}

// No other op checks these indices.
// CHECK-LABEL: func.func @unchecked
// CHECK-NEXT:  [[BASE:%[a-z0-9_.]+]] = ptir.constant fill 0.0 : tensor<5x7xf32>
// CHECK-NEXT:  [[S:%[a-z0-9_.]+]] = ptir.scatter_reduce [[BASE]], %i, %u kind = add axis = 1 : (tensor<5x7xf32>, tensor<5x1xsi32>, tensor<5x1xf32>) -> tensor<5x7xf32>
// CHECK-NEXT:  func.return [[S]] : tensor<5x7xf32>
func.func @unchecked(%i: tensor<5x1xsi32>, %u: tensor<5x1xf32>) -> tensor<5x7xf32> {
  %base = ptir.constant fill 0.0 : tensor<5x7xf32>
  %s = ptir.scatter_reduce %base, %i, %u kind = add axis = 1 : (tensor<5x7xf32>, tensor<5x1xsi32>, tensor<5x1xf32>) -> tensor<5x7xf32>
  func.return %s : tensor<5x7xf32>
}
}
