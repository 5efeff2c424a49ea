// RUN: mind-opt %s | mind-opt | filecheck %s
// RUN: mind-opt %s --print-op-generic | mind-opt | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @memory(%x: tensor<4x8xf32>, %w: tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xui32>) {
  %0 = launch.alloc input 0 : memref<4x8xf32>
  %1 = launch.alloc input 1 donated : memref<8xf32>
  %2 = launch.alloc constant 0 literal fill 2.0 : tensor<8xf32> : memref<8xf32>
  %3 = launch.alloc arena at 128 align 64 : memref<8x4xf32>
  %4 = launch.alloc output 0 over %1 : memref<8xf32>
  %5 = launch.alloc output 1 : memref<4x8xui32>
  %6 = launch.view %0 : memref<4x8xf32> to memref<8x4xf32, strided<[1, 8]>>
  %7 = launch.view %0 offset 31 : memref<4x8xf32> to memref<8xf32, strided<[-1]>>
  %8 = launch.view %2 : memref<8xf32> to memref<4x8xf32, strided<[0, 1]>>
  %9 = launch.view %5 : memref<4x8xui32> to memref<4x8xf32>
  launch.copy %6 to %3 : memref<8x4xf32, strided<[1, 8]>> to memref<8x4xf32>
  launch.copy %8 to %9 : memref<4x8xf32, strided<[0, 1]>> to memref<4x8xf32>
  launch.call "xp.add"(%1, %7) -> (%4) inplace [[0, 0]] : (memref<8xf32>, memref<8xf32, strided<[-1]>>) -> (memref<8xf32>)
  launch.return %4, %5 : memref<8xf32>, memref<4x8xui32>
}

func.func @compute(%x: tensor<4x8xf32>) -> (tensor<f32>, tensor<8xf32>) {
  %0 = launch.alloc input 0 : memref<4x8xf32>
  %1 = launch.alloc output 0 : memref<f32>
  %2 = launch.alloc arena : memref<4x8xf32>
  %3 = launch.alloc kept 0 at 0 : memref<4x8xf32>
  %4 = launch.alloc host : memref<8xf32>
  launch.prepack {
    launch.kernel @pack(%0) -> (%3) schedule "panels" : (memref<4x8xf32>) -> (memref<4x8xf32>)
    launch.yield
  }
  launch.kernel @exp(%3) -> (%2) inplace [[0, 0]] cost 120 : (memref<4x8xf32>) -> (memref<4x8xf32>) {
  ^bb0(%a: tensor<4x8xf32>):
    %b = ptir.exp %a : tensor<4x8xf32>
    launch.yield %b : tensor<4x8xf32>
  }
  %5 = launch.alloc arena : memref<64xui8>
  launch.kernel @sum(%2) -> (%1, %5) scratch 1 schedule {grid = 2 : i64} : (memref<4x8xf32>) -> (memref<f32>, memref<64xui8>) {
  ^bb0(%a: tensor<4x8xf32>):
    %b = ptir.reduce %a kind = sum axes = [0, 1] keepdims = false : tensor<4x8xf32> -> tensor<f32>
    launch.yield %b : tensor<f32>
  }
  launch.host_call @columns(%2) -> (%4) reason "no kernel" ordinal 2 : (memref<4x8xf32>) -> (memref<8xf32>) {
  ^bb0(%a: tensor<4x8xf32>):
    %b = ptir.reduce %a kind = sum axes = [0] keepdims = false : tensor<4x8xf32> -> tensor<8xf32>
    launch.yield %b : tensor<8xf32>
  }
  launch.return %1, %4 : memref<f32>, memref<8xf32>
}

func.func @control(%xs: tensor<5x8xf32>, %h: tensor<8xf32>) -> tensor<8xf32> {
  %0 = launch.alloc input 0 : memref<5x8xf32>
  %1 = launch.alloc input 1 donated : memref<8xf32>
  %2 = launch.alloc arena : memref<8xf32>
  %3 = launch.alloc output 0 : memref<8xf32>
  %p = launch.alloc arena : memref<i1>
  %4, %5 = launch.for 5 unrolled (%1, %2) : (memref<8xf32>, memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32>, %b: memref<8xf32>):
    %6 = launch.at %0[%i] : memref<5x8xf32> to memref<8xf32>
    launch.call "xp.add"(%a, %6) -> (%b) : (memref<8xf32>, memref<8xf32>) -> (memref<8xf32>)
    launch.yield %b, %a : memref<8xf32>, memref<8xf32>
  }
  %7 = launch.while (%4) : (memref<8xf32>) {
  ^bb1(%a: memref<8xf32>):
    launch.kernel @small(%a) -> (%p) : (memref<8xf32>) -> (memref<i1>) {
    ^bb0(%t: tensor<8xf32>):
      %s = ptir.reduce %t kind = sum axes = [0] keepdims = false : tensor<8xf32> -> tensor<f32>
      %c = ptir.constant fill 8.0 : tensor<f32>
      %r = ptir.compare %s, %c kind = less : (tensor<f32>, tensor<f32>) -> tensor<i1>
      launch.yield %r : tensor<i1>
    }
    launch.condition %p : memref<i1>, %a : memref<8xf32>
  } do {
  ^bb2(%a: memref<8xf32>):
    launch.call "xp.add"(%a, %a) -> (%a) inplace [[0, 0], [0, 1]] : (memref<8xf32>, memref<8xf32>) -> (memref<8xf32>)
    launch.yield %a : memref<8xf32>
  }
  %8 = launch.if %p : memref<i1> -> (memref<8xf32>) {
    launch.yield %7 : memref<8xf32>
  } else {
    launch.yield %5 : memref<8xf32>
  }
  launch.copy %8 to %3 : memref<8xf32> to memref<8xf32>
  launch.return %3 : memref<8xf32>
}
}

//      CHECK: builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// CHECK-NEXT:   func.func @memory(%x: tensor<4x8xf32>, %w: tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xui32>) {
// CHECK-NEXT:     %0 = launch.alloc input 0 : memref<4x8xf32>
// CHECK-NEXT:     %1 = launch.alloc input 1 donated : memref<8xf32>
// CHECK-NEXT:     %2 = launch.alloc constant 0 literal fill 2.0 : tensor<8xf32> : memref<8xf32>
// CHECK-NEXT:     %3 = launch.alloc arena at 128 align 64 : memref<8x4xf32>
// CHECK-NEXT:     %4 = launch.alloc output 0 over %1 : memref<8xf32>
// CHECK-NEXT:     %5 = launch.alloc output 1 : memref<4x8xui32>
// CHECK-NEXT:     %6 = launch.view %0 : memref<4x8xf32> to memref<8x4xf32, strided<[1, 8]>>
// CHECK-NEXT:     %7 = launch.view %0 offset 31 : memref<4x8xf32> to memref<8xf32, strided<[-1]>>
// CHECK-NEXT:     %8 = launch.view %2 : memref<8xf32> to memref<4x8xf32, strided<[0, 1]>>
// CHECK-NEXT:     %9 = launch.view %5 : memref<4x8xui32> to memref<4x8xf32>
// CHECK-NEXT:     launch.copy %6 to %3 : memref<8x4xf32, strided<[1, 8]>> to memref<8x4xf32>
// CHECK-NEXT:     launch.copy %8 to %9 : memref<4x8xf32, strided<[0, 1]>> to memref<4x8xf32>
// CHECK-NEXT:     launch.call "xp.add"(%1, %7) -> (%4) inplace {{\[\[}}0, 0]] : (memref<8xf32>, memref<8xf32, strided<[-1]>>) -> (memref<8xf32>)
// CHECK-NEXT:     launch.return %4, %5 : memref<8xf32>, memref<4x8xui32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @compute(%x: tensor<4x8xf32>) -> (tensor<f32>, tensor<8xf32>) {
// CHECK-NEXT:     %0 = launch.alloc input 0 : memref<4x8xf32>
// CHECK-NEXT:     %1 = launch.alloc output 0 : memref<f32>
// CHECK-NEXT:     %2 = launch.alloc arena : memref<4x8xf32>
// CHECK-NEXT:     %3 = launch.alloc kept 0 at 0 : memref<4x8xf32>
// CHECK-NEXT:     %4 = launch.alloc host : memref<8xf32>
// CHECK-NEXT:     launch.prepack {
// CHECK-NEXT:       launch.kernel @pack(%0) -> (%3) schedule "panels" : (memref<4x8xf32>) -> (memref<4x8xf32>)
// CHECK-NEXT:       launch.yield
// CHECK-NEXT:     }
// CHECK-NEXT:     launch.kernel @exp(%3) -> (%2) inplace {{\[\[}}0, 0]] cost 120 : (memref<4x8xf32>) -> (memref<4x8xf32>) {
// CHECK-NEXT:     ^bb0(%a: tensor<4x8xf32>):
// CHECK-NEXT:       %b = ptir.exp %a : tensor<4x8xf32>
// CHECK-NEXT:       launch.yield %b : tensor<4x8xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %5 = launch.alloc arena : memref<64xui8>
// CHECK-NEXT:     launch.kernel @sum(%2) -> (%1, %5) scratch 1 schedule {grid = 2 : i64} : (memref<4x8xf32>) -> (memref<f32>, memref<64xui8>) {
// CHECK-NEXT:     ^bb0(%a_1: tensor<4x8xf32>):
// CHECK-NEXT:       %b_1 = ptir.reduce %a_1 kind = sum axes = [0, 1] keepdims = false : tensor<4x8xf32> -> tensor<f32>
// CHECK-NEXT:       launch.yield %b_1 : tensor<f32>
// CHECK-NEXT:     }
// CHECK-NEXT:     launch.host_call @columns(%2) -> (%4) reason "no kernel" ordinal 2 : (memref<4x8xf32>) -> (memref<8xf32>) {
// CHECK-NEXT:     ^bb0(%a_2: tensor<4x8xf32>):
// CHECK-NEXT:       %b_2 = ptir.reduce %a_2 kind = sum axes = [0] keepdims = false : tensor<4x8xf32> -> tensor<8xf32>
// CHECK-NEXT:       launch.yield %b_2 : tensor<8xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     launch.return %1, %4 : memref<f32>, memref<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @control(%xs: tensor<5x8xf32>, %h: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = launch.alloc input 0 : memref<5x8xf32>
// CHECK-NEXT:     %1 = launch.alloc input 1 donated : memref<8xf32>
// CHECK-NEXT:     %2 = launch.alloc arena : memref<8xf32>
// CHECK-NEXT:     %3 = launch.alloc output 0 : memref<8xf32>
// CHECK-NEXT:     %p = launch.alloc arena : memref<i1>
// CHECK-NEXT:     %4, %5 = launch.for 5 unrolled (%1, %2) : (memref<8xf32>, memref<8xf32>) {
// CHECK-NEXT:     ^bb0(%i: index, %a: memref<8xf32>, %b: memref<8xf32>):
// CHECK-NEXT:       %6 = launch.at %0[%i] : memref<5x8xf32> to memref<8xf32>
// CHECK-NEXT:       launch.call "xp.add"(%a, %6) -> (%b) : (memref<8xf32>, memref<8xf32>) -> (memref<8xf32>)
// CHECK-NEXT:       launch.yield %b, %a : memref<8xf32>, memref<8xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %7 = launch.while (%4) : (memref<8xf32>) {
// CHECK-NEXT:     ^bb0(%a_1: memref<8xf32>):
// CHECK-NEXT:       launch.kernel @small(%a_1) -> (%p) : (memref<8xf32>) -> (memref<i1>) {
// CHECK-NEXT:       ^bb0(%t: tensor<8xf32>):
// CHECK-NEXT:         %s = ptir.reduce %t kind = sum axes = [0] keepdims = false : tensor<8xf32> -> tensor<f32>
// CHECK-NEXT:         %c = ptir.constant 8.0 : tensor<f32>
// CHECK-NEXT:         %r = ptir.compare %s, %c kind = less : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK-NEXT:         launch.yield %r : tensor<i1>
// CHECK-NEXT:       }
// CHECK-NEXT:       launch.condition %p : memref<i1>, %a_1 : memref<8xf32>
// CHECK-NEXT:     } do {
// CHECK-NEXT:     ^bb0(%a_2: memref<8xf32>):
// CHECK-NEXT:       launch.call "xp.add"(%a_2, %a_2) -> (%a_2) inplace {{\[\[}}0, 0], [0, 1]] : (memref<8xf32>, memref<8xf32>) -> (memref<8xf32>)
// CHECK-NEXT:       launch.yield %a_2 : memref<8xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %8 = launch.if %p : memref<i1> -> (memref<8xf32>) {
// CHECK-NEXT:       launch.yield %7 : memref<8xf32>
// CHECK-NEXT:     } else {
// CHECK-NEXT:       launch.yield %5 : memref<8xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     launch.copy %8 to %3 : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:     launch.return %3 : memref<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
