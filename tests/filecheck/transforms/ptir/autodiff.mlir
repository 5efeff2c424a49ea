// RUN: mind-opt %s --autodiff="seed=cotangent" --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'mind-autodiff{seed="cotangent"}' --split-input-file | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// The function stays as it is; a stopped gradient is a constant, an integer has no cotangent.
// CHECK-LABEL: func.func @plain(
// CHECK-LABEL: func.func @plain_grad(
// CHECK-SAME:    %cotangent: tensor<3xf32> {mind.name = "cotangent", mind.cotangent})
// CHECK-SAME:    -> (tensor<3xf32>, tensor<3xsi32>, tensor<3xf32>, tensor<3xf32>)
// CHECK:         %t = ptir.tanh %x : tensor<3xf32>
// CHECK-NEXT:    %s = ptir.stop_gradient %t : tensor<3xf32>
// CHECK-NEXT:    %y = ptir.mul %t, %w : tensor<3xf32>
// CHECK-NEXT:    %z = ptir.mul %y, %s : tensor<3xf32>
// CHECK-NEXT:    [[Y:%\d+]] = ptir.mul %cotangent, %s : tensor<3xf32>
// CHECK-NEXT:    [[T:%\d+]] = ptir.mul [[Y]], %w : tensor<3xf32>
// CHECK-NEXT:    [[W:%\d+]] = ptir.mul [[Y]], %t : tensor<3xf32>
// CHECK-NEXT:    [[A:%\d+]] = ptir.mul [[T]], %t : tensor<3xf32>
// CHECK-NEXT:    [[B:%\d+]] = ptir.mul [[A]], %t : tensor<3xf32>
// CHECK-NEXT:    [[X:%\d+]] = ptir.sub [[T]], [[B]] : tensor<3xf32>
// CHECK-NEXT:    func.return %z, %n, [[X]], [[W]] :
func.func @plain(%x: tensor<3xf32>, %w: tensor<3xf32>, %n: tensor<3xsi32>) -> (tensor<3xf32>, tensor<3xsi32>) {
  %t = ptir.tanh %x : tensor<3xf32>
  %s = ptir.stop_gradient %t : tensor<3xf32>
  %y = ptir.mul %t, %w : tensor<3xf32>
  %z = ptir.mul %y, %s : tensor<3xf32>
  func.return %z, %n : tensor<3xf32>, tensor<3xsi32>
}
}

// -----

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// The state before each step and the result of tanh are saved; the weight, which is the same in each step, is passed on.
// CHECK-LABEL: func.func @rnn_grad
// CHECK:         %r, %r_1, [[H:%\d+]], [[C:%\d+]] = ptir.scan %w, %h, %xs carry_count = 2 scan_output_count = 2
// CHECK:           ptir.yield %w1, %c, %h1, %c :
// CHECK:         [[ZERO:%\d+]] = ptir.constant fill 0.0 : tensor<3xf32>
// CHECK-NEXT:    [[HR:%\d+]] = ptir.reverse [[H]] axes = [0]
// CHECK-NEXT:    [[CR:%\d+]] = ptir.reverse [[C]] axes = [0]
// CHECK-NEXT:    [[GW:%\d+]], [[GH:%\d+]], [[SAME:%\d+]], [[GX:%\d+]] = ptir.scan [[ZERO]], %cotangent, %w, [[HR]], [[CR]] carry_count = 3
// CHECK-NEXT:    ^bb0([[AW:%\d+]]: tensor<3xf32>, [[AH:%\d+]]: tensor<3xf32>, %w1: tensor<3xf32>, %h1: tensor<3xf32>, %c: tensor<3xf32>):
// CHECK-NEXT:      [[P:%\d+]] = ptir.mul [[AH]], %c
// CHECK-NEXT:      [[Q:%\d+]] = ptir.mul [[P]], %c
// CHECK-NEXT:      [[B:%\d+]] = ptir.sub [[AH]], [[Q]]
// CHECK-NEXT:      [[W:%\d+]] = ptir.mul [[B]], %h1
// CHECK-NEXT:      [[SUM:%\d+]] = ptir.add [[AW]], [[W]]
// CHECK-NEXT:      [[S:%\d+]] = ptir.mul [[B]], %w1
// CHECK-NEXT:      ptir.yield [[SUM]], [[S]], %w1, [[B]]
// CHECK:         [[X:%\d+]] = ptir.reverse [[GX]] axes = [0]
// CHECK-NEXT:    func.return %r_1, [[GW]], [[GH]], [[X]]
func.func @rnn(%w: tensor<3xf32>, %h: tensor<3xf32>, %xs: tensor<5x3xf32>) -> tensor<3xf32> {
  %r:2 = ptir.scan %w, %h, %xs carry_count = 2 scan_output_count = 0 : (tensor<3xf32>, tensor<3xf32>, tensor<5x3xf32>) -> (tensor<3xf32>, tensor<3xf32>) body {
  ^bb0(%w1: tensor<3xf32>, %h1: tensor<3xf32>, %x: tensor<3xf32>):
    %a = ptir.mul %w1, %h1 : tensor<3xf32>
    %b = ptir.add %a, %x : tensor<3xf32>
    %c = ptir.tanh %b : tensor<3xf32>
    ptir.yield %w1, %c : tensor<3xf32>, tensor<3xf32>
  }
  func.return %r#1 : tensor<3xf32>
}
}

// -----

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// A branch hands out what its derivative needs, the other one zeros; the condition is asked twice.
// CHECK-LABEL: func.func @branch_grad
// CHECK:         %y, [[SAVED:%\d+]] = ptir.cond %p, %x : (tensor<i1>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) true {
// CHECK:           %e = ptir.exp %a : tensor<3xf32>
// CHECK:           ptir.yield %e, %e
// CHECK:         } false {
// CHECK:           [[NONE:%\d+]] = ptir.constant fill 0.0 : tensor<3xf32>
// CHECK-NEXT:      ptir.yield %m, [[NONE]]
// CHECK:         [[GX:%\d+]] = ptir.cond %p, %x, [[SAVED]], %cotangent
// CHECK-NEXT:    ^bb0([[X:%\d+]]: tensor<3xf32>, %e: tensor<3xf32>, [[G:%\d+]]: tensor<3xf32>):
// CHECK-NEXT:      [[A:%\d+]] = ptir.mul [[G]], %e :
// CHECK-NEXT:      ptir.yield [[A]]
// CHECK:         } false {
// CHECK:           [[TWICE:%\d+]] = ptir.add
// CHECK-NEXT:      ptir.yield [[TWICE]]
// CHECK:         func.return %y, [[GX]]
func.func @branch(%p: tensor<i1>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %y = ptir.cond %p, %x : (tensor<i1>, tensor<3xf32>) -> tensor<3xf32> true {
  ^bb0(%a: tensor<3xf32>):
    %e = ptir.exp %a : tensor<3xf32>
    ptir.yield %e : tensor<3xf32>
  } false {
  ^bb0(%b: tensor<3xf32>):
    %m = ptir.mul %b, %b : tensor<3xf32>
    ptir.yield %m : tensor<3xf32>
  }
  func.return %y : tensor<3xf32>
}
}
