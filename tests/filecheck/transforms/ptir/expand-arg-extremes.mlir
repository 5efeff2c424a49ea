// RUN: mind-opt %s --ptir-expand-arg-extremes | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// CHECK-LABEL: func.func @greatest
// CHECK-NEXT:  [[V0:%[a-z0-9_.]+]] = ptir.reduce %x kind = max axes = [1] keepdims = true : tensor<4x7xf32> -> tensor<4x1xf32>
// CHECK-NEXT:  [[V1:%[a-z0-9_.]+]] = ptir.broadcast_to [[V0]] result_shape = [4, 7] : tensor<4x1xf32> -> tensor<4x7xf32>
// CHECK-NEXT:  [[V2:%[a-z0-9_.]+]] = ptir.compare %x, [[V1]] kind = equal : (tensor<4x7xf32>, tensor<4x7xf32>) -> tensor<4x7xi1>
// CHECK-NEXT:  [[V3:%[a-z0-9_.]+]] = ptir.compare %x, %x kind = not_equal : (tensor<4x7xf32>, tensor<4x7xf32>) -> tensor<4x7xi1>
// CHECK-NEXT:  [[V4:%[a-z0-9_.]+]] = ptir.or [[V2]], [[V3]] : tensor<4x7xi1>
// CHECK-NEXT:  [[V5:%[a-z0-9_.]+]] = ptir.iota shape = [4, 7] dtype = si32 axis = 1 : tensor<4x7xsi32>
// CHECK-NEXT:  [[V6:%[a-z0-9_.]+]] = ptir.constant fill 7 : tensor<4x7xsi32>
// CHECK-NEXT:  [[V7:%[a-z0-9_.]+]] = ptir.select [[V4]], [[V5]], [[V6]] : (tensor<4x7xi1>, tensor<4x7xsi32>, tensor<4x7xsi32>) -> tensor<4x7xsi32>
// CHECK-NEXT:  [[Y:%[a-z0-9_.]+]] = ptir.reduce [[V7]] kind = min axes = [1] keepdims = false out_dtype = si64 : tensor<4x7xsi32> -> tensor<4xsi64>
// CHECK-NEXT:  func.return [[Y]] : tensor<4xsi64>
func.func @greatest(%x: tensor<4x7xf32>) -> tensor<4xsi64> {
  %y = ptir.arg_max %x axis = 1 keepdims = false output_dtype = si64 : tensor<4x7xf32> -> tensor<4xsi64>
  func.return %y : tensor<4xsi64>
}

// CHECK-LABEL: func.func @least
// CHECK-NEXT:  [[V0:%[a-z0-9_.]+]] = ptir.reduce %x kind = min axes = [0] keepdims = true : tensor<4x7xsi8> -> tensor<1x7xsi8>
// CHECK-NEXT:  [[V1:%[a-z0-9_.]+]] = ptir.broadcast_to [[V0]] result_shape = [4, 7] : tensor<1x7xsi8> -> tensor<4x7xsi8>
// CHECK-NEXT:  [[V2:%[a-z0-9_.]+]] = ptir.compare %x, [[V1]] kind = equal : (tensor<4x7xsi8>, tensor<4x7xsi8>) -> tensor<4x7xi1>
// CHECK-NEXT:  [[V3:%[a-z0-9_.]+]] = ptir.iota shape = [4, 7] dtype = si32 axis = 0 : tensor<4x7xsi32>
// CHECK-NEXT:  [[V4:%[a-z0-9_.]+]] = ptir.constant fill 4 : tensor<4x7xsi32>
// CHECK-NEXT:  [[V5:%[a-z0-9_.]+]] = ptir.select [[V2]], [[V3]], [[V4]] : (tensor<4x7xi1>, tensor<4x7xsi32>, tensor<4x7xsi32>) -> tensor<4x7xsi32>
// CHECK-NEXT:  [[Y:%[a-z0-9_.]+]] = ptir.reduce [[V5]] kind = min axes = [0] keepdims = true out_dtype = si32 : tensor<4x7xsi32> -> tensor<1x7xsi32>
// CHECK-NEXT:  func.return [[Y]] : tensor<1x7xsi32>
func.func @least(%x: tensor<4x7xsi8>) -> tensor<1x7xsi32> {
  %y = ptir.arg_min %x axis = -2 keepdims = true output_dtype = si32 : tensor<4x7xsi8> -> tensor<1x7xsi32>
  func.return %y : tensor<1x7xsi32>
}

// CHECK-LABEL: func.func @unknown
// CHECK-NEXT:  [[Y:%[a-z0-9_.]+]] = ptir.arg_max %x axis = 1 keepdims = false output_dtype = si32 : tensor<4x?xf32, "*,N"> -> tensor<4xsi32>
// CHECK-NEXT:  func.return [[Y]] : tensor<4xsi32>
func.func @unknown(%x: tensor<4x?xf32, "*,N">) -> tensor<4xsi32> {
  %y = ptir.arg_max %x axis = 1 keepdims = false output_dtype = si32 : tensor<4x?xf32, "*,N"> -> tensor<4xsi32>
  func.return %y : tensor<4xsi32>
}
}
