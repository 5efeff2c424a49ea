// RUN: mind-opt %s -p "mind-lower-to-native{isa=avx2 launches=true}" | filecheck %s

// The value of the winner alone, value and index, and an index whose windows of padding alone are a copy of -1.

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @inference(%x: tensor<2x8x8x16xf32>) -> tensor<2x4x4x16xf32> {
    %i = ptir.window_arg %x kind = max window_dims = [1, 3, 3, 1] strides = [1, 2, 2, 1] padding = [[0, 0], [1, 0], [1, 0], [0, 0]] window_dilation = [1, 1, 1, 1] output_dtype = si64 : tensor<2x8x8x16xf32> -> tensor<2x4x4x16xsi64>
    %flat = ptir.reshape %x new_shape = [2048] : tensor<2x8x8x16xf32> -> tensor<2048xf32>
    %y = ptir.take %flat, %i : (tensor<2048xf32>, tensor<2x4x4x16xsi64>) -> tensor<2x4x4x16xf32>
    func.return %y : tensor<2x4x4x16xf32>
  }

  func.func @training(%x: tensor<2x8x8x16xf32>) -> (tensor<2x4x4x16xf32>, tensor<2x4x4x16xsi64>) {
    %i = ptir.window_arg %x kind = max window_dims = [1, 3, 3, 1] strides = [1, 2, 2, 1] padding = [[0, 0], [1, 0], [1, 0], [0, 0]] window_dilation = [1, 1, 1, 1] output_dtype = si64 : tensor<2x8x8x16xf32> -> tensor<2x4x4x16xsi64>
    %flat = ptir.reshape %x new_shape = [2048] : tensor<2x8x8x16xf32> -> tensor<2048xf32>
    %y = ptir.take %flat, %i : (tensor<2048xf32>, tensor<2x4x4x16xsi64>) -> tensor<2x4x4x16xf32>
    func.return %y, %i : tensor<2x4x4x16xf32>, tensor<2x4x4x16xsi64>
  }

  func.func @border(%x: tensor<4x8xf32>) -> tensor<6x8xsi32> {
    %i = ptir.window_arg %x kind = min window_dims = [1, 1] strides = [1, 1] padding = [[1, 1], [0, 0]] window_dilation = [1, 1] output_dtype = si32 : tensor<4x8xf32> -> tensor<6x8xsi32>
    func.return %i : tensor<6x8xsi32>
  }
}

// CHECK: builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// CHECK-NEXT:   func.func @inference(%x: tensor<2x8x8x16xf32>) -> tensor<2x4x4x16xf32> {
// CHECK-NEXT:     %x_1 = launch.alloc input 0 : memref<2x8x8x16xf32>
// CHECK-NEXT:     %y = launch.alloc output 0 : memref<2x4x4x16xf32>
// CHECK-NEXT:     launch.kernel @y.window_arg(%x_1) -> (%y) schedule "value of the first max of windows 1x3x3x1 over [2, 4, 4, 16]" : (memref<2x8x8x16xf32>) -> (memref<2x4x4x16xf32>)
// CHECK-NEXT:     launch.return %y : memref<2x4x4x16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @training(%x: tensor<2x8x8x16xf32>) -> (tensor<2x4x4x16xf32>, tensor<2x4x4x16xsi64>) {
// CHECK-NEXT:     %x_1 = launch.alloc input 0 : memref<2x8x8x16xf32>
// CHECK-NEXT:     %y = launch.alloc output 0 : memref<2x4x4x16xf32>
// CHECK-NEXT:     %i = launch.alloc output 1 : memref<2x4x4x16xsi64>
// CHECK-NEXT:     launch.kernel @i.window_arg(%x_1) -> (%y, %i) schedule "value and index of the first max of windows 1x3x3x1 over [2, 4, 4, 16]" : (memref<2x8x8x16xf32>) -> (memref<2x4x4x16xf32>, memref<2x4x4x16xsi64>)
// CHECK-NEXT:     launch.return %y, %i : memref<2x4x4x16xf32>, memref<2x4x4x16xsi64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @border(%x: tensor<4x8xf32>) -> tensor<6x8xsi32> {
// CHECK-NEXT:     %x_1 = launch.alloc input 0 : memref<4x8xf32>
// CHECK-NEXT:     %i = launch.alloc output 0 : memref<6x8xsi32>
// CHECK-NEXT:     launch.kernel @i.copy() -> (%i) schedule "copy over [1, 8]" : () -> (memref<6x8xsi32>)
// CHECK-NEXT:     launch.kernel @i.copy() -> (%i) schedule "copy over [1, 8]" : () -> (memref<6x8xsi32>)
// CHECK-NEXT:     launch.kernel @i.window_arg(%x_1) -> (%i) schedule "index of the first min of windows 1x1 over [4, 8]" : (memref<4x8xf32>) -> (memref<6x8xsi32>)
// CHECK-NEXT:     launch.return %i : memref<6x8xsi32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
