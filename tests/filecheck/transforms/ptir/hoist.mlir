// RUN: mind-opt %s --ptir-hoist | filecheck %s
// RUN: xdsl-opt %s -p mind-ptir-hoist | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// The same in every iteration: computed once, carried in the place of what it is computed from.
// CHECK-LABEL: func.func @invariant_in_scan
// CHECK-SAME:    (%[[C:.*]]: tensor<4xf32>, %[[W:.*]]: tensor<4xf32>, %[[XS:.*]]: tensor<3x4xf32>)
// CHECK-NEXT:    %[[E:.*]] = ptir.exp %[[W]] : tensor<4xf32>
// CHECK-NEXT:    %[[R:.*]], %[[LAST:.*]] = ptir.scan %[[C]], %[[E]], %[[XS]] carry_count = 2 scan_output_count = 0
// CHECK-NEXT:    ^bb0(%[[A:.*]]: tensor<4xf32>, %[[V:.*]]: tensor<4xf32>, %[[X:.*]]: tensor<4xf32>):
// CHECK-NEXT:      %[[M:.*]] = ptir.mul %[[A]], %[[V]] : tensor<4xf32>
// CHECK-NEXT:      %[[S:.*]] = ptir.add %[[M]], %[[X]] : tensor<4xf32>
// CHECK-NEXT:      ptir.yield %[[S]], %[[V]]
// CHECK:         func.return %[[R]]
func.func @invariant_in_scan(%c: tensor<4xf32>, %w: tensor<4xf32>, %xs: tensor<3x4xf32>) -> tensor<4xf32> {
  %r, %u = ptir.scan %c, %w, %xs carry_count = 2 scan_output_count = 0 : (tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) body {
  ^bb0(%a: tensor<4xf32>, %v: tensor<4xf32>, %x: tensor<4xf32>):
    %e = ptir.exp %v : tensor<4xf32>
    %m = ptir.mul %a, %e : tensor<4xf32>
    %s = ptir.add %m, %x : tensor<4xf32>
    ptir.yield %s, %v : tensor<4xf32>, tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// Both regions of a while have the carry.
// CHECK-LABEL: func.func @invariant_in_while
// CHECK-SAME:    (%[[N:.*]]: tensor<f32>, %[[W:.*]]: tensor<f32>)
// CHECK-NEXT:    %[[E:.*]] = ptir.exp %[[W]] : tensor<f32>
// CHECK-NEXT:    %[[R:.*]], %[[U:.*]] = ptir.while %[[N]], %[[E]]
// CHECK-NEXT:    ^bb0(%[[A:.*]]: tensor<f32>, %[[V:.*]]: tensor<f32>):
// CHECK-NEXT:      %[[G:.*]] = ptir.compare %[[V]], %[[A]] kind = less
// CHECK-NEXT:      ptir.yield %[[G]], %[[A]], %[[V]]
// CHECK-NEXT:    } body {
// CHECK-NEXT:    ^bb0(%[[B:.*]]: tensor<f32>, %[[U:.*]]: tensor<f32>):
// CHECK-NEXT:      %[[S:.*]] = ptir.sub %[[B]], %[[B]] : tensor<f32>
// CHECK-NEXT:      ptir.yield %[[S]], %[[U]]
func.func @invariant_in_while(%n: tensor<f32>, %w: tensor<f32>) -> tensor<f32> {
  %r, %f = ptir.while %n, %w : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>) cond {
  ^bb0(%a: tensor<f32>, %v: tensor<f32>):
    %e = ptir.exp %v : tensor<f32>
    %g = ptir.compare %e, %a kind = less : (tensor<f32>, tensor<f32>) -> tensor<i1>
    ptir.yield %g, %a, %v : tensor<i1>, tensor<f32>, tensor<f32>
  } body {
  ^bb0(%a: tensor<f32>, %v: tensor<f32>):
    %s = ptir.sub %a, %a : tensor<f32>
    ptir.yield %s, %v : tensor<f32>, tensor<f32>
  }
  func.return %r : tensor<f32>
}

// A division of integers may fail, and the loop may iterate never.
// CHECK-LABEL: func.func @failing_stays
// CHECK-NEXT:    ptir.scan
// CHECK:           ptir.div
func.func @failing_stays(%c: tensor<si32>, %w: tensor<si32>, %xs: tensor<?xsi32, "T">) -> tensor<si32> {
  %r, %u = ptir.scan %c, %w, %xs carry_count = 2 scan_output_count = 0 : (tensor<si32>, tensor<si32>, tensor<?xsi32, "T">) -> (tensor<si32>, tensor<si32>) body {
  ^bb0(%a: tensor<si32>, %v: tensor<si32>, %x: tensor<si32>):
    %e = ptir.div %v, %v : tensor<si32>
    %m = ptir.add %a, %e : tensor<si32>
    %s = ptir.add %m, %x : tensor<si32>
    ptir.yield %s, %v : tensor<si32>, tensor<si32>
  }
  func.return %r : tensor<si32>
}

// A sum that is larger than what it is of costs more to read than to compute.
// CHECK-LABEL: func.func @larger_stays
// CHECK-NEXT:    ptir.scan
// CHECK:           ptir.broadcast_to
// CHECK-NEXT:      ptir.exp
func.func @larger_stays(%c: tensor<64x4xf32>, %w: tensor<4xf32>, %xs: tensor<3x4xf32>) -> tensor<64x4xf32> {
  %r, %u = ptir.scan %c, %w, %xs carry_count = 2 scan_output_count = 0 : (tensor<64x4xf32>, tensor<4xf32>, tensor<3x4xf32>) -> (tensor<64x4xf32>, tensor<4xf32>) body {
  ^bb0(%a: tensor<64x4xf32>, %v: tensor<4xf32>, %x: tensor<4xf32>):
    %b = ptir.broadcast_to %v result_shape = [64, 4] : tensor<4xf32> -> tensor<64x4xf32>
    %e = ptir.exp %b : tensor<64x4xf32>
    %s = ptir.add %a, %e : tensor<64x4xf32>
    ptir.yield %s, %v : tensor<64x4xf32>, tensor<4xf32>
  }
  func.return %r : tensor<64x4xf32>
}

// The input products of a recurrence are one product.
// CHECK-LABEL: func.func @input_products
// CHECK-SAME:    (%[[H:.*]]: tensor<2x4xf32>, %[[W:.*]]: tensor<8x4xf32>, %[[XS:.*]]: tensor<3x2x8xf32>)
// CHECK-NEXT:    %[[P:.*]] = ptir.dot_general %[[XS]], %[[W]] batch_lhs = [] batch_rhs = [] contract_lhs = [2] contract_rhs = [0] : (tensor<3x2x8xf32>, tensor<8x4xf32>) -> tensor<3x2x4xf32>
// CHECK-NEXT:    %[[R:.*]] = ptir.scan %[[H]], %[[P]] carry_count = 1 scan_output_count = 0
// CHECK-NEXT:    ^bb0(%[[A:.*]]: tensor<2x4xf32>, %[[X:.*]]: tensor<2x4xf32>):
// CHECK-NEXT:      %[[S:.*]] = ptir.add %[[A]], %[[X]] : tensor<2x4xf32>
// CHECK-NEXT:      %[[T:.*]] = ptir.tanh %[[S]] : tensor<2x4xf32>
// CHECK-NEXT:      ptir.yield %[[T]]
// CHECK:         func.return %[[R]]
func.func @input_products(%h: tensor<2x4xf32>, %w: tensor<8x4xf32>, %xs: tensor<3x2x8xf32>) -> tensor<2x4xf32> {
  %r, %u = ptir.scan %h, %w, %xs carry_count = 2 scan_output_count = 0 : (tensor<2x4xf32>, tensor<8x4xf32>, tensor<3x2x8xf32>) -> (tensor<2x4xf32>, tensor<8x4xf32>) body {
  ^bb0(%a: tensor<2x4xf32>, %v: tensor<8x4xf32>, %x: tensor<2x8xf32>):
    %p = ptir.dot_general %x, %v batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %s = ptir.add %a, %p : tensor<2x4xf32>
    %t = ptir.tanh %s : tensor<2x4xf32>
    ptir.yield %t, %v : tensor<2x4xf32>, tensor<8x4xf32>
  }
  func.return %r : tensor<2x4xf32>
}

// Many rows: the product is as fast in the loop, and its result need not be stored.
// CHECK-LABEL: func.func @many_rows_stay
// CHECK-NEXT:    ptir.scan
// CHECK:           ptir.dot_general
func.func @many_rows_stay(%h: tensor<32x4xf32>, %w: tensor<8x4xf32>, %xs: tensor<3x32x8xf32>) -> tensor<32x4xf32> {
  %r, %u = ptir.scan %h, %w, %xs carry_count = 2 scan_output_count = 0 : (tensor<32x4xf32>, tensor<8x4xf32>, tensor<3x32x8xf32>) -> (tensor<32x4xf32>, tensor<8x4xf32>) body {
  ^bb0(%a: tensor<32x4xf32>, %v: tensor<8x4xf32>, %x: tensor<32x8xf32>):
    %p = ptir.dot_general %x, %v batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<32x8xf32>, tensor<8x4xf32>) -> tensor<32x4xf32>
    %s = ptir.add %a, %p : tensor<32x4xf32>
    ptir.yield %s, %v : tensor<32x4xf32>, tensor<8x4xf32>
  }
  func.return %r : tensor<32x4xf32>
}

// A loop that carries nothing from step to step is no loop.
// CHECK-LABEL: func.func @map
// CHECK-SAME:    (%[[XS:.*]]: tensor<3x4xf32>)
// CHECK-NEXT:    %[[E:.*]] = ptir.exp %[[XS]] : tensor<3x4xf32>
// CHECK-NEXT:    func.return %[[E]]
func.func @map(%xs: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = ptir.scan %xs carry_count = 0 scan_output_count = 1 : (tensor<3x4xf32>) -> tensor<3x4xf32> body {
  ^bb0(%x: tensor<4xf32>):
    %e = ptir.exp %x : tensor<4xf32>
    ptir.yield %e : tensor<4xf32>
  }
  func.return %r : tensor<3x4xf32>
}

// The order of a sum of floats may be another for another shape; of a maximum it is open.
// CHECK-LABEL: func.func @sums_stay
// CHECK-SAME:    (%[[XS:.*]]: tensor<3x4xf32>)
// CHECK-NEXT:    %[[M:.*]] = ptir.reduce %[[XS]] kind = max axes = [1] keepdims = false : tensor<3x4xf32> -> tensor<3xf32>
// CHECK-NEXT:    %[[R:.*]] = ptir.scan %[[XS]]
// CHECK-NEXT:    ^bb0(%[[ROW:.*]]: tensor<4xf32>):
// CHECK-NEXT:      ptir.reduce %[[ROW]] kind = sum
// CHECK:         func.return %[[R]], %[[M]]
func.func @sums_stay(%xs: tensor<3x4xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %r, %m = ptir.scan %xs carry_count = 0 scan_output_count = 2 : (tensor<3x4xf32>) -> (tensor<3xf32>, tensor<3xf32>) body {
  ^bb0(%x: tensor<4xf32>):
    %s = ptir.reduce %x kind = sum axes = [0] keepdims = false : tensor<4xf32> -> tensor<f32>
    %n = ptir.reduce %x kind = max axes = [0] keepdims = false : tensor<4xf32> -> tensor<f32>
    ptir.yield %s, %n : tensor<f32>, tensor<f32>
  }
  func.return %r, %m : tensor<3xf32>, tensor<3xf32>
}

// Random numbers are others in each iteration.
// CHECK-LABEL: func.func @draws_stay
// CHECK-NEXT:    ptir.scan
// CHECK:           ptir.rng_uniform
func.func @draws_stay(%xs: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = ptir.scan %xs carry_count = 0 scan_output_count = 1 : (tensor<3x4xf32>) -> tensor<3x4xf32> body {
  ^bb0(%x: tensor<4xf32>):
    %d = ptir.rng_uniform shape = [4] dtype = f32 : () -> tensor<4xf32>
    %e = ptir.add %x, %d : tensor<4xf32>
    ptir.yield %e : tensor<4xf32>
  }
  func.return %r : tensor<3x4xf32>
}

// What is computed before a branch is given to it.
// CHECK-LABEL: func.func @computed_before
// CHECK-SAME:    (%[[P:.*]]: tensor<i1>, %[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT:    %[[E:.*]] = ptir.exp %[[X]] : tensor<4xf32>
// CHECK-NEXT:    %[[R:.*]] = ptir.cond %[[P]], %[[X]], %[[E]]
// CHECK-NEXT:    ^bb0(%[[A:.*]]: tensor<4xf32>, %[[V:.*]]: tensor<4xf32>):
// CHECK-NEXT:      %[[N:.*]] = ptir.neg %[[V]] : tensor<4xf32>
// CHECK-NEXT:      ptir.yield %[[N]]
// CHECK-NEXT:    } false {
// CHECK-NEXT:    ^bb0(%[[B:.*]]: tensor<4xf32>, %[[UNUSED:.*]]: tensor<4xf32>):
// CHECK-NEXT:      %[[L:.*]] = ptir.log %[[B]] : tensor<4xf32>
// CHECK-NEXT:      ptir.yield %[[L]]
// CHECK:         func.return %[[R]], %[[E]]
func.func @computed_before(%p: tensor<i1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = ptir.exp %x : tensor<4xf32>
  %r = ptir.cond %p, %x : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> true {
  ^bb0(%a: tensor<4xf32>):
    %f = ptir.exp %a : tensor<4xf32>
    %n = ptir.neg %f : tensor<4xf32>
    ptir.yield %n : tensor<4xf32>
  } false {
  ^bb0(%a: tensor<4xf32>):
    %l = ptir.log %a : tensor<4xf32>
    ptir.yield %l : tensor<4xf32>
  }
  func.return %r, %e : tensor<4xf32>, tensor<4xf32>
}

// A product of both branches; what is elementwise stays with what it is fused with, and what one branch computes is in it.
// CHECK-LABEL: func.func @in_both_branches
// CHECK-SAME:    (%[[P:.*]]: tensor<i1>, %[[X:.*]]: tensor<4x4xf32>)
// CHECK-NEXT:    %[[D:.*]] = ptir.dot_general %[[X]], %[[X]]
// CHECK-NEXT:    ptir.cond %[[P]], %[[X]], %[[D]]
// CHECK-NEXT:    ^bb0(%[[A:.*]]: tensor<4x4xf32>, %[[V:.*]]: tensor<4x4xf32>):
// CHECK-NEXT:      %[[F:.*]] = ptir.exp %[[A]]
// CHECK-NEXT:      ptir.add %[[F]], %[[V]]
// CHECK-NEXT:      ptir.yield
// CHECK-NEXT:    } false {
// CHECK-NEXT:    ^bb0(%[[B:.*]]: tensor<4x4xf32>, %[[U:.*]]: tensor<4x4xf32>):
// CHECK-NEXT:      %[[G:.*]] = ptir.exp %[[B]]
// CHECK-NEXT:      ptir.mul %[[G]], %[[U]]
// CHECK-NEXT:      ptir.dot_general %[[B]]
func.func @in_both_branches(%p: tensor<i1>, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = ptir.cond %p, %x : (tensor<i1>, tensor<4x4xf32>) -> tensor<4x4xf32> true {
  ^bb0(%a: tensor<4x4xf32>):
    %e = ptir.exp %a : tensor<4x4xf32>
    %d = ptir.dot_general %a, %a batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %n = ptir.add %e, %d : tensor<4x4xf32>
    ptir.yield %n : tensor<4x4xf32>
  } false {
  ^bb0(%a: tensor<4x4xf32>):
    %e = ptir.exp %a : tensor<4x4xf32>
    %d = ptir.dot_general %a, %a batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %n = ptir.mul %e, %d : tensor<4x4xf32>
    %m = ptir.dot_general %a, %n batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    ptir.yield %m : tensor<4x4xf32>
  }
  func.return %r : tensor<4x4xf32>
}

// Computed after the branch, and only there.
// CHECK-LABEL: func.func @computed_after
// CHECK-NEXT:    ptir.cond
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      ptir.exp
func.func @computed_after(%p: tensor<i1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %r = ptir.cond %p, %x : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> true {
  ^bb0(%a: tensor<4xf32>):
    %f = ptir.exp %a : tensor<4xf32>
    ptir.yield %f : tensor<4xf32>
  } false {
  ^bb0(%a: tensor<4xf32>):
    %l = ptir.log %a : tensor<4xf32>
    ptir.yield %l : tensor<4xf32>
  }
  %e = ptir.exp %x : tensor<4xf32>
  func.return %r, %e : tensor<4xf32>, tensor<4xf32>
}

}
