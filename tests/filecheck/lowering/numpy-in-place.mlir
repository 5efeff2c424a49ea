// RUN: mind-opt %s -p mind-lower-to-numpy | filecheck %s

module attributes {ptir.spec_version = "ptir.v0.4"} {

// Only one region of a branch runs, so each of them may write over what dies in it.
// CHECK-LABEL: func.func @both
func.func @both(%p : tensor<i1>, %x : tensor<16384xf32>) -> tensor<16384xf32> {
  // CHECK: %[[A:.*]] = xp.call "xp.exp"(%x)
  %a = ptir.exp %x : tensor<16384xf32>
  // CHECK: xp.if
  %r = ptir.cond %p, %a : (tensor<i1>, tensor<16384xf32>) -> tensor<16384xf32> true {
  ^bb0(%v : tensor<16384xf32>):
    // CHECK: xp.call "xp.negative"(%[[A]]) into 0
    %n = ptir.neg %v : tensor<16384xf32>
    ptir.yield %n : tensor<16384xf32>
  } false {
  ^bb0(%v : tensor<16384xf32>):
    // CHECK: xp.call "xp.tanh"(%[[A]]) into 0
    %n = ptir.tanh %v : tensor<16384xf32>
    ptir.yield %n : tensor<16384xf32>
  }
  func.return %r : tensor<16384xf32>
}

// What is used after the branch is not written over in it.
// CHECK-LABEL: func.func @after
func.func @after(%p : tensor<i1>, %x : tensor<16384xf32>) -> tensor<16384xf32> {
  %a = ptir.exp %x : tensor<16384xf32>
  %r = ptir.cond %p, %a : (tensor<i1>, tensor<16384xf32>) -> tensor<16384xf32> true {
  ^bb0(%v : tensor<16384xf32>):
    // CHECK: xp.call "xp.negative"(%{{.*}}) :
    %n = ptir.neg %v : tensor<16384xf32>
    ptir.yield %n : tensor<16384xf32>
  } false {
  ^bb0(%v : tensor<16384xf32>):
    // CHECK: xp.call "xp.tanh"(%{{.*}}) :
    %n = ptir.tanh %v : tensor<16384xf32>
    ptir.yield %n : tensor<16384xf32>
  }
  // CHECK: xp.call "xp.add"(%{{.*}}, %{{.*}}) into
  %s = ptir.add %r, %a : tensor<16384xf32>
  func.return %s : tensor<16384xf32>
}
}
