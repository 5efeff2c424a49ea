// RUN: mind-opt %s --launch-hoist-packing | filecheck %s
// RUN: mind-opt %s -p "mind-launch-hoist-packing{budget=0}" | filecheck %s --check-prefix=NONE

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  // What the loop does not write is packed before it; two equal packings are one.
  func.func @loop(%0: tensor<4xf32>, %1: tensor<8xf32>) -> tensor<4xf32> {
    %x = launch.alloc input 0 : memref<4xf32>
    %w = launch.alloc input 1 : memref<8xf32>
    %y = launch.alloc output 0 : memref<4xf32>
    launch.for 3 () : () {
    ^bb0(%i: index):
      %p = launch.alloc arena : memref<8xf32>
      launch.kernel @panels(%w) -> (%p) packing 0 schedule "panels" : (memref<8xf32>) -> (memref<8xf32>)
      launch.kernel @product(%x, %p) -> (%y) schedule "product" : (memref<4xf32>, memref<8xf32>) -> (memref<4xf32>)
      %q = launch.alloc arena : memref<8xf32>
      launch.kernel @panels(%w) -> (%q) packing 0 schedule "panels" : (memref<8xf32>) -> (memref<8xf32>)
      launch.kernel @product(%x, %q) -> (%y) schedule "product" : (memref<4xf32>, memref<8xf32>) -> (memref<4xf32>)
      launch.yield
    }
    launch.return %y : memref<4xf32>
  }

  // Inputs that are the same in each call, and constants, are packed once for all calls.
  func.func @calls(%0: tensor<4xf32>, %1: tensor<8xf32>) -> tensor<4xf32> {
    %x = launch.alloc input 0 : memref<4xf32>
    %w = launch.alloc input 1 fixed : memref<8xf32>
    %y = launch.alloc output 0 : memref<4xf32>
    %p = launch.alloc arena : memref<8xf32>
    launch.kernel @panels(%w) -> (%p) packing 0 schedule "panels" : (memref<8xf32>) -> (memref<8xf32>)
    launch.kernel @product(%x, %p) -> (%y) schedule "product" : (memref<4xf32>, memref<8xf32>) -> (memref<4xf32>)
    launch.return %y : memref<4xf32>
  }

  // What an iteration writes, what moves with it, what runs once anyway, and what is no packing stays.
  func.func @stays(%0: tensor<3x8xf32>, %1: tensor<8xf32>) -> tensor<8xf32> {
    %xs = launch.alloc input 0 : memref<3x8xf32>
    %w = launch.alloc input 1 : memref<8xf32>
    %y = launch.alloc output 0 : memref<8xf32>
    %v = launch.alloc arena : memref<8xf32>
    launch.kernel @copy(%w) -> (%v) schedule "copy" : (memref<8xf32>) -> (memref<8xf32>)
    launch.for 3 () : () {
    ^bb0(%i: index):
      %x = launch.at %xs[%i] : memref<3x8xf32> to memref<8xf32>
      %p = launch.alloc arena : memref<8xf32>
      launch.kernel @written(%v) -> (%p) packing 0 schedule "panels" : (memref<8xf32>) -> (memref<8xf32>)
      %q = launch.alloc arena : memref<8xf32>
      launch.kernel @moving(%x) -> (%q) packing 0 schedule "panels" : (memref<8xf32>) -> (memref<8xf32>)
      %r = launch.alloc arena : memref<8xf32>
      launch.kernel @other(%w) -> (%r) schedule "no packing" : (memref<8xf32>) -> (memref<8xf32>)
      launch.kernel @update(%p, %q, %r) -> (%v) schedule "add" : (memref<8xf32>, memref<8xf32>, memref<8xf32>) -> (memref<8xf32>)
      launch.yield
    }
    launch.for 1 () : () {
    ^bb0(%i: index):
      %p = launch.alloc arena : memref<8xf32>
      launch.kernel @single(%w) -> (%p) packing 0 schedule "panels" : (memref<8xf32>) -> (memref<8xf32>)
      launch.kernel @add(%p, %v) -> (%y) schedule "add" : (memref<8xf32>, memref<8xf32>) -> (memref<8xf32>)
      launch.yield
    }
    launch.return %y : memref<8xf32>
  }
}

// CHECK-LABEL: func.func @loop
//      CHECK:     %p = launch.alloc arena : memref<8xf32>
// CHECK-NEXT:     launch.kernel @panels(%w) -> (%p) packing 0
// CHECK-NEXT:     launch.for 3 () : () {
// CHECK-NEXT:     ^bb0(%i: index):
// CHECK-NEXT:       launch.kernel @product(%x, %p) -> (%y)
// CHECK-NEXT:       launch.kernel @product(%x, %p) -> (%y)
// CHECK-NEXT:       launch.yield

// CHECK-LABEL: func.func @calls
//      CHECK:     launch.prepack {
// CHECK-NEXT:       launch.kernel @panels(%w) -> ([[P:%.*]]) packing 0
// CHECK-NEXT:       launch.yield
// CHECK-NEXT:     }
// CHECK-NEXT:     launch.kernel @product(%x, [[P]]) -> (%y)

// CHECK-LABEL: func.func @stays
//      CHECK:     launch.for 3 () : () {
//      CHECK:       launch.kernel @written(%v)
//      CHECK:       launch.kernel @moving(%x)
//      CHECK:       launch.kernel @other(%w)
//      CHECK:     launch.for 1 () : () {
//      CHECK:       launch.kernel @single(%w)

// NONE-LABEL: func.func @loop
//  NONE-NEXT:     %x = launch.alloc
//  NONE-NEXT:     %w = launch.alloc
//  NONE-NEXT:     %y = launch.alloc
//  NONE-NEXT:     launch.for 3 () : () {
//   NONE-NOT: launch.prepack
