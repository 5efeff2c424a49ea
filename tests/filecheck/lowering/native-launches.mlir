// RUN: mind-opt %s -p "mind-lower-to-native{isa=avx2 launches=true}" | filecheck %s
// RUN: mind-opt %s -p "mind-lower-to-native{isa=avx2 launches=true}" | mind-opt | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @recurrence(%h: tensor<8xf32>, %w: tensor<8x8xf32>, %xs: tensor<5x8xf32>) -> (tensor<8xf32>, tensor<5x8xf32>) {
    %last, %wl, %all = ptir.scan %h, %w, %xs carry_count = 2 scan_output_count = 1 : (tensor<8xf32>, tensor<8x8xf32>, tensor<5x8xf32>) -> (tensor<8xf32>, tensor<8x8xf32>, tensor<5x8xf32>) body {
    ^bb0(%c: tensor<8xf32>, %v: tensor<8x8xf32>, %x: tensor<8xf32>):
      %p = ptir.dot_general %c, %v batch_lhs = [] batch_rhs = [] contract_lhs = [0] contract_rhs = [0] : (tensor<8xf32>, tensor<8x8xf32>) -> tensor<8xf32>
      %t = ptir.tanh %p : tensor<8xf32>
      %n = ptir.add %t, %x : tensor<8xf32>
      ptir.yield %n, %v, %n : tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>
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

  func.func @rotated(%a: tensor<4xf32>, %b: tensor<4xf32>, %xs: tensor<5x4xf32>) -> tensor<4xf32> {
    %x, %y = ptir.scan %a, %b, %xs carry_count = 2 scan_output_count = 0 : (tensor<4xf32>, tensor<4xf32>, tensor<5x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) body {
    ^bb0(%u: tensor<4xf32>, %v: tensor<4xf32>, %r: tensor<4xf32>):
      %w = ptir.mul %v, %r : tensor<4xf32>
      %n = ptir.add %u, %w : tensor<4xf32>
      ptir.yield %v, %n : tensor<4xf32>, tensor<4xf32>
    }
    func.return %x : tensor<4xf32>
  }

  func.func @either(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
    %m = ptir.sort %x axis = 0 descending = false : tensor<4xf32>
    %r = ptir.cond %p, %m : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> true {
    ^bb0(%a: tensor<4xf32>):
      %n = ptir.neg %a : tensor<4xf32>
      ptir.yield %n : tensor<4xf32>
    } false {
    ^bb0(%a: tensor<4xf32>):
      %t = ptir.tanh %a : tensor<4xf32>
      ptir.yield %t : tensor<4xf32>
    }
    func.return %r : tensor<4xf32>
  }
}

//      CHECK: builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// CHECK-NEXT:   func.func @recurrence(%h: tensor<8xf32>, %w: tensor<8x8xf32>, %xs: tensor<5x8xf32>) -> (tensor<8xf32>, tensor<5x8xf32>) {
// CHECK-NEXT:     %h_1 = launch.alloc input 0 : memref<8xf32>
// CHECK-NEXT:     %w_1 = launch.alloc input 1 : memref<8x8xf32>
// CHECK-NEXT:     %xs_1 = launch.alloc input 2 : memref<5x8xf32>
// CHECK-NEXT:     %all = launch.alloc output 1 : memref<5x8xf32>
// CHECK-NEXT:     %0 = launch.for 5 (%h_1) : (memref<8xf32>) {
// CHECK-NEXT:     ^bb0(%1: index, %h_2: memref<8xf32>):
// CHECK-NEXT:       %xs_2 = launch.at %xs_1[%1] : memref<5x8xf32> to memref<8xf32>
// CHECK-NEXT:       %all_1 = launch.at %all[%1] : memref<5x8xf32> to memref<8xf32>
// CHECK-NEXT:       launch.kernel @p(%h_2, %w_1, %xs_2) -> (%all_1) inplace [[0, 2]] schedule "1x8 by 8x8 in f32, then tanh add: tiles 1 by 8, depth 8" : (memref<8xf32>, memref<8x8xf32>, memref<8xf32>) -> (memref<8xf32>)
// CHECK-NEXT:       launch.yield %all_1 : memref<8xf32>
// CHECK-NEXT:     } attributes {of = "scan %last, 5 iterations"}
// CHECK-NEXT:     %last = launch.alloc output 0 : memref<8xf32>
// CHECK-NEXT:     launch.kernel @last.copy(%0) -> (%last) inplace [[0, 0]] schedule "copy over [8]" : (memref<8xf32>) -> (memref<8xf32>)
// CHECK-NEXT:     launch.return %last, %all : memref<8xf32>, memref<5x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @halved(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     %x_1 = launch.alloc input 0 : memref<4xf32>
// CHECK-NEXT:     %c = launch.alloc output 0 : memref<4xf32>
// CHECK-NEXT:     launch.kernel @n.copy(%x_1) -> (%c) inplace [[0, 0]] schedule "copy over [4]" : (memref<4xf32>) -> (memref<4xf32>) {
// CHECK-NEXT:     ^bb0(%0: tensor<4xf32>):
// CHECK-NEXT:       launch.yield %0 : tensor<4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     launch.while () : () {
// CHECK-NEXT:       %p = launch.alloc arena at 0 : memref<1xi1>
// CHECK-NEXT:       launch.kernel @p.rows(%c) -> (%p) schedule "reduce compare over [4]" : (memref<4xf32>) -> (memref<1xi1>)
// CHECK-NEXT:       %1 = launch.view %p : memref<1xi1> to memref<i1>
// CHECK-NEXT:       launch.condition %1 : memref<i1>
// CHECK-NEXT:     } do {
// CHECK-NEXT:       launch.kernel @n.mul(%c) -> (%c) inplace [[0, 0]] schedule "mul over [4]" : (memref<4xf32>) -> (memref<4xf32>)
// CHECK-NEXT:       launch.yield
// CHECK-NEXT:     } attributes {of = "while %r"}
// CHECK-NEXT:     launch.return %c : memref<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @rotated(%a: tensor<4xf32>, %b: tensor<4xf32>, %xs: tensor<5x4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     %a_1 = launch.alloc input 0 : memref<4xf32>
// CHECK-NEXT:     %b_1 = launch.alloc input 1 : memref<4xf32>
// CHECK-NEXT:     %xs_1 = launch.alloc input 2 : memref<5x4xf32>
// CHECK-NEXT:     %u = launch.alloc arena at 0 : memref<4xf32>
// CHECK-NEXT:     launch.kernel @v.copy(%a_1) -> (%u) inplace [[0, 0]] schedule "copy over [4]" : (memref<4xf32>) -> (memref<4xf32>) {
// CHECK-NEXT:     ^bb0(%0: tensor<4xf32>):
// CHECK-NEXT:       launch.yield %0 : tensor<4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %v = launch.alloc arena at 64 : memref<4xf32>
// CHECK-NEXT:     launch.kernel @n.copy(%b_1) -> (%v) inplace [[0, 0]] schedule "copy over [4]" : (memref<4xf32>) -> (memref<4xf32>) {
// CHECK-NEXT:     ^bb0(%1: tensor<4xf32>):
// CHECK-NEXT:       launch.yield %1 : tensor<4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %n = launch.alloc output 0 : memref<4xf32>
// CHECK-NEXT:     %2, %3, %n_1 = launch.for 5 (%u, %v, %n) : (memref<4xf32>, memref<4xf32>, memref<4xf32>) {
// CHECK-NEXT:     ^bb0(%4: index, %u_1: memref<4xf32>, %v_1: memref<4xf32>, %n_2: memref<4xf32>):
// CHECK-NEXT:       %xs_2 = launch.at %xs_1[%4] : memref<5x4xf32> to memref<4xf32>
// CHECK-NEXT:       launch.kernel @n.mul_add(%v_1, %xs_2, %u_1) -> (%n_2) inplace [[0, 0], [0, 1], [0, 2]] schedule "mul add over [4]" : (memref<4xf32>, memref<4xf32>, memref<4xf32>) -> (memref<4xf32>)
// CHECK-NEXT:       launch.yield %v_1, %n_2, %u_1 : memref<4xf32>, memref<4xf32>, memref<4xf32>
// CHECK-NEXT:     } attributes {of = "scan %x, 5 iterations"}
// CHECK-NEXT:     launch.return %2 : memref<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @either(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     %p_1 = launch.alloc input 0 : memref<i1>
// CHECK-NEXT:     %x_1 = launch.alloc input 1 : memref<4xf32>
// CHECK-NEXT:     %r = launch.alloc output 0 : memref<4xf32>
// CHECK-NEXT:     %m.room = launch.alloc arena at 0 : memref<256xui8>
// CHECK-NEXT:     launch.kernel @m(%x_1) -> (%r, %m.room) schedule "sort of 4 along axis 0 of [4]" : (memref<4xf32>) -> (memref<4xf32>, memref<256xui8>)
// CHECK-NEXT:     launch.if %p_1 : memref<i1> -> () {
// CHECK-NEXT:       launch.kernel @n.neg(%r) -> (%r) inplace [[0, 0]] schedule "neg over [4]" : (memref<4xf32>) -> (memref<4xf32>)
// CHECK-NEXT:       launch.yield
// CHECK-NEXT:     } else {
// CHECK-NEXT:       launch.kernel @t.tanh(%r) -> (%r) inplace [[0, 0]] schedule "tanh over [4]" : (memref<4xf32>) -> (memref<4xf32>)
// CHECK-NEXT:       launch.yield
// CHECK-NEXT:     } attributes {of = "cond %r"}
// CHECK-NEXT:     launch.return %r : memref<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
