// RUN: mind-opt %s --ptir-fuse --convert-ptir-to-launch --launch-assign-memory | filecheck %s
// RUN: mind-opt %s --ptir-fuse -p "mind-convert-ptir-to-launch,mind-launch-assign-memory{order=program align=256}" | filecheck %s --check-prefix=WIDE

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @straight(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>) -> (tensor<4x3xf32>, tensor<3x4xf32>) {
    %a = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    %b = ptir.tanh %a : tensor<4x3xf32>
    %t = ptir.transpose %b perm = [1, 0] : tensor<4x3xf32> -> tensor<3x4xf32>
    %s = ptir.sort %t axis = 0 descending = false : tensor<3x4xf32>
    func.return %b, %s : tensor<4x3xf32>, tensor<3x4xf32>
  }

  func.func @cumulative(%h: tensor<8xf32>, %xs: tensor<5x8xf32>) -> (tensor<8xf32>, tensor<5x8xf32>) {
    %last, %all = ptir.scan %h, %xs carry_count = 1 scan_output_count = 1 : (tensor<8xf32>, tensor<5x8xf32>) -> (tensor<8xf32>, tensor<5x8xf32>) body {
    ^bb0(%c: tensor<8xf32>, %x: tensor<8xf32>):
      %n = ptir.add %c, %x : tensor<8xf32>
      ptir.yield %n, %n : tensor<8xf32>, tensor<8xf32>
    }
    func.return %last, %all : tensor<8xf32>, tensor<5x8xf32>
  }
}

//      CHECK: builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// CHECK-NEXT:   func.func @straight(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>) -> (tensor<4x3xf32>, tensor<3x4xf32>) attributes {launch.arena_bytes = 0 : i64} {
// CHECK-NEXT:     %x_1 = launch.alloc input 0 : memref<4x8xf32>
// CHECK-NEXT:     %w_1 = launch.alloc input 1 : memref<8x3xf32>
// CHECK-NEXT:     %b = launch.alloc output 0 : memref<4x3xf32>
// CHECK-NEXT:     launch.kernel @dot_general_tanh(%x_1, %w_1) -> (%b) : (memref<4x8xf32>, memref<8x3xf32>) -> (memref<4x3xf32>) {
// CHECK-NEXT:     ^bb0(%x_2: tensor<4x8xf32>, %w_2: tensor<8x3xf32>):
// CHECK-NEXT:       %a = ptir.dot_general %x_2, %w_2 batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT:       %b_1 = ptir.tanh %a : tensor<4x3xf32>
// CHECK-NEXT:       launch.yield %b_1 : tensor<4x3xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %t = launch.view %b : memref<4x3xf32> to memref<3x4xf32, strided<[1, 3]>>
// CHECK-NEXT:     %s = launch.alloc output 1 : memref<3x4xf32>
// CHECK-NEXT:     launch.kernel @sort(%t) -> (%s) : (memref<3x4xf32, strided<[1, 3]>>) -> (memref<3x4xf32>) {
// CHECK-NEXT:     ^bb0(%t_1: tensor<3x4xf32>):
// CHECK-NEXT:       %s_1 = ptir.sort %t_1 axis = 0 descending = false : tensor<3x4xf32>
// CHECK-NEXT:       launch.yield %s_1 : tensor<3x4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     launch.return %b, %s : memref<4x3xf32>, memref<3x4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @cumulative(%h: tensor<8xf32>, %xs: tensor<5x8xf32>) -> (tensor<8xf32>, tensor<5x8xf32>) attributes {launch.arena_bytes = 128 : i64} {
// CHECK-NEXT:     %h_1 = launch.alloc input 0 : memref<8xf32>
// CHECK-NEXT:     %xs_1 = launch.alloc input 1 : memref<5x8xf32>
// CHECK-NEXT:     %0 = launch.alloc arena at 0 : memref<8xf32>
// CHECK-NEXT:     launch.copy %h_1 to %0 : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:     %all = launch.alloc output 1 : memref<5x8xf32>
// CHECK-NEXT:     %1 = launch.for 5 (%0) : (memref<8xf32>) {
// CHECK-NEXT:     ^bb0(%2: index, %3: memref<8xf32>):
// CHECK-NEXT:       %4 = launch.at %xs_1[%2] : memref<5x8xf32> to memref<8xf32>
// CHECK-NEXT:       %n = launch.alloc arena at 64 : memref<8xf32>
// CHECK-NEXT:       launch.kernel @add(%3, %4) -> (%n) inplace {{\[\[}}0, 0], [0, 1]] : (memref<8xf32>, memref<8xf32>) -> (memref<8xf32>) {
// CHECK-NEXT:       ^bb0(%c: tensor<8xf32>, %x: tensor<8xf32>):
// CHECK-NEXT:         %n_1 = ptir.add %c, %x : tensor<8xf32>
// CHECK-NEXT:         launch.yield %n_1 : tensor<8xf32>
// CHECK-NEXT:       }
// CHECK-NEXT:       %5 = launch.at %all[%2] : memref<5x8xf32> to memref<8xf32>
// CHECK-NEXT:       launch.copy %n to %5 : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:       launch.copy %n to %3 : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:       launch.yield %3 : memref<8xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %last = launch.alloc output 0 : memref<8xf32>
// CHECK-NEXT:     launch.copy %1 to %last : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:     launch.return %last, %all : memref<8xf32>, memref<5x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }

// WIDE: func.func @cumulative
// WIDE-SAME: launch.arena_bytes = 512
// WIDE: launch.alloc arena at 256 : memref<8xf32>
