// RUN: mind-opt %s -p "mind-lower-to-cupy{launches=true}" | filecheck %s
// RUN: mind-opt %s -p "mind-lower-to-cupy{launches=true}" | mind-opt | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @recurrence(%h: tensor<8xf32>, %xs: tensor<5x8xf32>) -> (tensor<8xf32>, tensor<5x8xf32>) {
    %last, %all = ptir.scan %h, %xs carry_count = 1 scan_output_count = 1 : (tensor<8xf32>, tensor<5x8xf32>) -> (tensor<8xf32>, tensor<5x8xf32>) body {
    ^bb0(%c: tensor<8xf32>, %x: tensor<8xf32>):
      %t = ptir.tanh %c : tensor<8xf32>
      %n = ptir.add %t, %x : tensor<8xf32>
      ptir.yield %n, %n : tensor<8xf32>, tensor<8xf32>
    }
    func.return %last, %all : tensor<8xf32>, tensor<5x8xf32>
  }

  func.func @halved(%x: tensor<4xf32>) -> tensor<4xf32> {
    %r = ptir.while %x : (tensor<4xf32>) -> tensor<4xf32> cond {
    ^bb0(%c: tensor<4xf32>):
      %m = ptir.reduce %c kind = max axes = [0] keepdims = false : tensor<4xf32> -> tensor<f32>
      %one = ptir.constant fill 1.0 : tensor<f32>
      %p = ptir.compare %m, %one kind = greater : (tensor<f32>, tensor<f32>) -> tensor<i1>
      ptir.yield %p, %c : tensor<i1>, tensor<4xf32>
    } body {
    ^bb0(%c: tensor<4xf32>):
      %half = ptir.constant fill 0.5 : tensor<4xf32>
      %n = ptir.mul %c, %half : tensor<4xf32>
      ptir.yield %n : tensor<4xf32>
    }
    func.return %r : tensor<4xf32>
  }
}

//      CHECK: builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// CHECK-NEXT:   func.func @recurrence(%h: tensor<8xf32>, %xs: tensor<5x8xf32>) -> (tensor<8xf32>, tensor<5x8xf32>) {
// CHECK-NEXT:     %h_1 = launch.alloc input 0 : memref<8xf32>
// CHECK-NEXT:     %xs_1 = launch.alloc input 1 : memref<5x8xf32>
// CHECK-NEXT:     %all = launch.alloc output 1 : memref<5x8xf32>
// CHECK-NEXT:     %c = launch.alloc arena at 0 : memref<8xf32>
// CHECK-NEXT:     launch.copy %h_1 to %c : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:     launch.for 5 unrolled () : () {
// CHECK-NEXT:     ^bb0(%0: index):
// CHECK-NEXT:       %1 = launch.at %xs_1[%0] : memref<5x8xf32> to memref<8xf32>
// CHECK-NEXT:       %n = launch.alloc arena at 256 : memref<8xf32>
// CHECK-NEXT:       launch.kernel @recurrence_k0(%c, %1) -> (%n) inplace [[0, 0], [0, 1]] schedule {grid = 1 : i64, block = 256 : i64} : (memref<8xf32>, memref<8xf32>) -> (memref<8xf32>) {
// CHECK-NEXT:       ^bb0(%c_1: tensor<8xf32>, %x: tensor<8xf32>):
// CHECK-NEXT:         %t = ptir.tanh %c_1 : tensor<8xf32>
// CHECK-NEXT:         %n_1 = ptir.add %t, %x : tensor<8xf32>
// CHECK-NEXT:         launch.yield %n_1 : tensor<8xf32>
// CHECK-NEXT:       }
// CHECK-NEXT:       %2 = launch.at %all[%0] : memref<5x8xf32> to memref<8xf32>
// CHECK-NEXT:       launch.copy %n to %2 : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:       launch.copy %n to %c : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:       launch.yield
// CHECK-NEXT:     }
// CHECK-NEXT:     %3 = launch.alloc output 0 : memref<8xf32>
// CHECK-NEXT:     launch.copy %c to %3 : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:     launch.return %3, %all : memref<8xf32>, memref<5x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @halved(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     %x_1 = launch.alloc input 0 : memref<4xf32>
// CHECK-NEXT:     %c = launch.alloc arena at 0 : memref<4xf32>
// CHECK-NEXT:     launch.copy %x_1 to %c : memref<4xf32> to memref<4xf32>
// CHECK-NEXT:     launch.while () : () {
// CHECK-NEXT:       %p = launch.alloc arena at 256 : memref<i1>
// CHECK-NEXT:       launch.kernel @halved_k0(%c) -> (%p) schedule {grid = 1 : i64, block = 128 : i64} : (memref<4xf32>) -> (memref<i1>) {
// CHECK-NEXT:       ^bb0(%c_1: tensor<4xf32>):
// CHECK-NEXT:         %m = ptir.reduce %c_1 kind = max axes = [0] keepdims = false : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT:         %one = ptir.constant 1.0 : tensor<f32>
// CHECK-NEXT:         %p_1 = ptir.compare %m, %one kind = greater : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK-NEXT:         launch.yield %p_1 : tensor<i1>
// CHECK-NEXT:       }
// CHECK-NEXT:       launch.condition %p : memref<i1>
// CHECK-NEXT:     } do {
// CHECK-NEXT:       %n = launch.alloc arena at 512 : memref<4xf32>
// CHECK-NEXT:       launch.kernel @halved_k1(%c) -> (%n) inplace [[0, 0]] schedule {grid = 1 : i64, block = 256 : i64} : (memref<4xf32>) -> (memref<4xf32>) {
// CHECK-NEXT:       ^bb0(%c_2: tensor<4xf32>):
// CHECK-NEXT:         %half = ptir.constant fill 0.5 : tensor<4xf32>
// CHECK-NEXT:         %n_1 = ptir.mul %c_2, %half : tensor<4xf32>
// CHECK-NEXT:         launch.yield %n_1 : tensor<4xf32>
// CHECK-NEXT:       }
// CHECK-NEXT:       launch.copy %n to %c : memref<4xf32> to memref<4xf32>
// CHECK-NEXT:       launch.yield
// CHECK-NEXT:     }
// CHECK-NEXT:     %0 = launch.alloc output 0 : memref<4xf32>
// CHECK-NEXT:     launch.copy %c to %0 : memref<4xf32> to memref<4xf32>
// CHECK-NEXT:     launch.return %0 : memref<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
