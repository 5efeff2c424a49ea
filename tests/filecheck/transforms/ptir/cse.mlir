// RUN: mind-opt %s --ptir-cse | filecheck %s
// RUN: xdsl-opt %s -p mind-ptir-cse | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// Sums commute, float maxima do not: which of -0 and +0 is greater is not said.
// CHECK-LABEL: func.func @commutative
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
// CHECK-NEXT:    %[[A:.*]] = ptir.add %[[X]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT:    %[[C:.*]] = ptir.maximum %[[A]], %[[X]] : tensor<4xf32>
// CHECK-NEXT:    %[[D:.*]] = ptir.maximum %[[X]], %[[A]] : tensor<4xf32>
// CHECK-NEXT:    func.return %[[C]], %[[D]]
func.func @commutative(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = ptir.add %x, %y : tensor<4xf32>
  %b = ptir.add %y, %x : tensor<4xf32>
  %c = ptir.maximum %a, %x : tensor<4xf32>
  %d = ptir.maximum %x, %b : tensor<4xf32>
  func.return %c, %d : tensor<4xf32>, tensor<4xf32>
}

// Two draws are two draws.
// CHECK-LABEL: func.func @random
// CHECK-NEXT:    %[[A:.*]] = ptir.rng_uniform shape = [4] dtype = f32
// CHECK-NEXT:    %[[B:.*]] = ptir.rng_uniform shape = [4] dtype = f32
// CHECK-NEXT:    func.return %[[A]], %[[B]]
func.func @random() -> (tensor<4xf32>, tensor<4xf32>) {
  %a = ptir.rng_uniform shape = [4] dtype = f32 : () -> tensor<4xf32>
  %b = ptir.rng_uniform shape = [4] dtype = f32 : () -> tensor<4xf32>
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// Equal branches are one; names do not matter.
// CHECK-LABEL: func.func @branches
// CHECK-NEXT:    %[[R:.*]] = ptir.cond
// CHECK-NOT:     ptir.cond
// CHECK:         func.return %[[R]], %[[R]]
func.func @branches(%p: tensor<i1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %r = ptir.cond %p, %x : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> true {
  ^bb0(%a: tensor<4xf32>):
    %b = ptir.exp %a : tensor<4xf32>
    ptir.yield %b : tensor<4xf32>
  } false {
  ^bb0(%a: tensor<4xf32>):
    ptir.yield %a : tensor<4xf32>
  }
  %s = ptir.cond %p, %x : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> true {
  ^bb0(%other: tensor<4xf32>):
    %name = ptir.exp %other : tensor<4xf32>
    ptir.yield %name : tensor<4xf32>
  } false {
  ^bb0(%a: tensor<4xf32>):
    ptir.yield %a : tensor<4xf32>
  }
  func.return %r, %s : tensor<4xf32>, tensor<4xf32>
}

}
