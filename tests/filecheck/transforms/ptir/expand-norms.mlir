// RUN: mind-opt %s --ptir-expand-norms | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// Mean, variance, scale and shift, in one fusion.
// CHECK-LABEL: func.func @norm
// CHECK-NEXT:  [[N:%[a-z0-9_.]+]] = ptir.fusion %x, %g, %b : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32> body {
// CHECK-NEXT:  ^bb0([[X_1:%[a-z0-9_.]+]]: tensor<4x8xf32>, [[G_1:%[a-z0-9_.]+]]: tensor<8xf32>, [[B_1:%[a-z0-9_.]+]]: tensor<8xf32>):
// CHECK-NEXT:    [[V0:%[a-z0-9_.]+]] = ptir.reduce [[X_1]] kind = sum axes = [1] keepdims = true : tensor<4x8xf32> -> tensor<4x1xf32>
// CHECK-NEXT:    [[V1:%[a-z0-9_.]+]] = ptir.constant fill 8.0 : tensor<4x1xf32>
// CHECK-NEXT:    [[V2:%[a-z0-9_.]+]] = ptir.div [[V0]], [[V1]] : tensor<4x1xf32>
// CHECK-NEXT:    [[V3:%[a-z0-9_.]+]] = ptir.broadcast_to [[V2]] result_shape = [4, 8] : tensor<4x1xf32> -> tensor<4x8xf32>
// CHECK-NEXT:    [[V4:%[a-z0-9_.]+]] = ptir.sub [[X_1]], [[V3]] : tensor<4x8xf32>
// CHECK-NEXT:    [[V5:%[a-z0-9_.]+]] = ptir.mul [[V4]], [[V4]] : tensor<4x8xf32>
// CHECK-NEXT:    [[V6:%[a-z0-9_.]+]] = ptir.reduce [[V5]] kind = sum axes = [1] keepdims = true : tensor<4x8xf32> -> tensor<4x1xf32>
// CHECK-NEXT:    [[V7:%[a-z0-9_.]+]] = ptir.constant fill 8.0 : tensor<4x1xf32>
// CHECK-NEXT:    [[V8:%[a-z0-9_.]+]] = ptir.div [[V6]], [[V7]] : tensor<4x1xf32>
// CHECK-NEXT:    [[V9:%[a-z0-9_.]+]] = ptir.constant fill 1.0e-05 : tensor<4x1xf32>
// CHECK-NEXT:    [[V10:%[a-z0-9_.]+]] = ptir.add [[V8]], [[V9]] : tensor<4x1xf32>
// CHECK-NEXT:    [[V11:%[a-z0-9_.]+]] = ptir.sqrt [[V10]] : tensor<4x1xf32>
// CHECK-NEXT:    [[V12:%[a-z0-9_.]+]] = ptir.broadcast_to [[V11]] result_shape = [4, 8] : tensor<4x1xf32> -> tensor<4x8xf32>
// CHECK-NEXT:    [[V13:%[a-z0-9_.]+]] = ptir.div [[V4]], [[V12]] : tensor<4x8xf32>
// CHECK-NEXT:    [[V14:%[a-z0-9_.]+]] = ptir.reshape [[G_1]] new_shape = [1, 8] : tensor<8xf32> -> tensor<1x8xf32>
// CHECK-NEXT:    [[V15:%[a-z0-9_.]+]] = ptir.broadcast_to [[V14]] result_shape = [4, 8] : tensor<1x8xf32> -> tensor<4x8xf32>
// CHECK-NEXT:    [[V16:%[a-z0-9_.]+]] = ptir.mul [[V13]], [[V15]] : tensor<4x8xf32>
// CHECK-NEXT:    [[V17:%[a-z0-9_.]+]] = ptir.reshape [[B_1]] new_shape = [1, 8] : tensor<8xf32> -> tensor<1x8xf32>
// CHECK-NEXT:    [[V18:%[a-z0-9_.]+]] = ptir.broadcast_to [[V17]] result_shape = [4, 8] : tensor<1x8xf32> -> tensor<4x8xf32>
// CHECK-NEXT:    [[V19:%[a-z0-9_.]+]] = ptir.add [[V16]], [[V18]] : tensor<4x8xf32>
// CHECK-NEXT:    ptir.yield [[V19]] : tensor<4x8xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return [[N]] : tensor<4x8xf32>
func.func @norm(%x: tensor<4x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %n = ptir.layer_norm %x, %g, %b feature_axis = -1 epsilon = 1.0e-5 : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  func.return %n : tensor<4x8xf32>
}

// Without a size for the batch it stays.
// CHECK-LABEL: func.func @dynamic
// CHECK-NEXT:  [[N:%[a-z0-9_.]+]] = ptir.layer_norm %x, %g, %b epsilon = 1.0e-05 feature_axis = -1 : (tensor<?x8xf32, "B,*">, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32, "B,*">
// CHECK-NEXT:  func.return [[N]] : tensor<?x8xf32, "B,*">
func.func @dynamic(%x: tensor<?x8xf32, "B,*">, %g: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32, "B,*"> {
  %n = ptir.layer_norm %x, %g, %b feature_axis = -1 epsilon = 1.0e-5 : (tensor<?x8xf32, "B,*">, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32, "B,*">
  func.return %n : tensor<?x8xf32, "B,*">
}
}
