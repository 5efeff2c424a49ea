// RUN: mind-opt %s --ptir-canonicalize | filecheck %s
// RUN: xdsl-opt %s -p mind-ptir-canonicalize | filecheck %s
// RUN: mind-opt %s --ptir-canonicalize | mind-opt -p mind-ptir-canonicalize | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// Adding -0 changes nothing, adding +0 changes -0.
// CHECK-LABEL: func.func @add_zero
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT:    %[[ZERO:.*]] = ptir.constant fill 0.0 : tensor<4xf32>
// CHECK-NEXT:    %[[B:.*]] = ptir.add %[[X]], %[[ZERO]] : tensor<4xf32>
// CHECK-NEXT:    func.return %[[X]], %[[B]] : tensor<4xf32>, tensor<4xf32>
func.func @add_zero(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %minus = ptir.constant -0.0 : tensor<f32>
  %zero = ptir.constant 0.0 : tensor<f32>
  %m = ptir.broadcast_to %minus result_shape = [4] : tensor<f32> -> tensor<4xf32>
  %z = ptir.broadcast_to %zero result_shape = [4] : tensor<f32> -> tensor<4xf32>
  %a = ptir.add %x, %m : tensor<4xf32>
  %b = ptir.add %x, %z : tensor<4xf32>
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// The canonical attention spells out a transpose; a dot_general needs none.
// CHECK-LABEL: func.func @transpose_into_dot
// CHECK-SAME:    (%[[Q:.*]]: tensor<2x3x5x8xf32>, %[[K:.*]]: tensor<2x3x7x8xf32>)
// CHECK-NEXT:    %[[S:.*]] = ptir.dot_general %[[Q]], %[[K]] batch_lhs = [0, 1] batch_rhs = [0, 1] contract_lhs = [3] contract_rhs = [3] : (tensor<2x3x5x8xf32>, tensor<2x3x7x8xf32>) -> tensor<2x3x5x7xf32>
// CHECK-NEXT:    func.return %[[S]]
func.func @transpose_into_dot(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x7x8xf32>) -> tensor<2x3x5x7xf32> {
  %t = ptir.transpose %k perm = [0, 1, -1, -2] : tensor<2x3x7x8xf32> -> tensor<2x3x8x7xf32>
  %s = ptir.dot_general %q, %t batch_lhs = [0, 1] batch_rhs = [0, 1] contract_lhs = [-1] contract_rhs = [-2] accum_dtype = f32 out_dtype = f32 : (tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32>) -> tensor<2x3x5x7xf32>
  func.return %s : tensor<2x3x5x7xf32>
}

// A decode step slices the whole cache; only the real slice stays.
// CHECK-LABEL: func.func @whole_slice
// CHECK-SAME:    (%[[X:.*]]: tensor<4x4xf32>)
// CHECK-NEXT:    %[[S:.*]] = ptir.slice %[[X]] starts = [1, 1] sizes = [2, 2] : tensor<4x4xf32> -> tensor<2x2xf32>
// CHECK-NEXT:    func.return %[[X]], %[[S]]
func.func @whole_slice(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<2x2xf32>) {
  %a = ptir.slice %x starts = [0, 0] sizes = [4, 4] : tensor<4x4xf32>
  %b = ptir.slice %a starts = [0, 0] sizes = [3, 3] : tensor<4x4xf32> -> tensor<3x3xf32>
  %c = ptir.slice %b starts = [1, 1] sizes = [2, 2] : tensor<3x3xf32> -> tensor<2x2xf32>
  func.return %a, %c : tensor<4x4xf32>, tensor<2x2xf32>
}

// Two sizes that a run must find equal: the first broadcast is where it looks.
// CHECK-LABEL: func.func @run_time_check_stays
// CHECK-SAME:    (%[[X:.*]]: tensor<?xf32, "B">, %{{.*}}: tensor<?xf32, "C">)
// CHECK-NEXT:    %[[A:.*]] = ptir.broadcast_to %[[X]] result_shape = [C] : tensor<?xf32, "B"> -> tensor<?xf32, "C">
// CHECK-NEXT:    %[[B:.*]] = ptir.broadcast_to %[[A]] result_shape = [2, C] : tensor<?xf32, "C"> -> tensor<2x?xf32, "*,C">
// CHECK-NEXT:    func.return %[[B]]
func.func @run_time_check_stays(%x: tensor<?xf32, "B">, %y: tensor<?xf32, "C">) -> tensor<2x?xf32, "*,C"> {
  %a = ptir.broadcast_to %x result_shape = [C] : tensor<?xf32, "B"> -> tensor<?xf32, "C">
  %b = ptir.broadcast_to %a result_shape = [2, C] : tensor<?xf32, "C"> -> tensor<2x?xf32, "*,C">
  func.return %b : tensor<2x?xf32, "*,C">
}

// Regions are no different.
// CHECK-LABEL: func.func @inside_a_branch
// CHECK-NEXT:    %[[R:.*]] = ptir.cond %{{.*}}, %{{.*}} : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> true {
// CHECK-NEXT:    ^bb0(%[[A:.*]]: tensor<4xf32>):
// CHECK-NEXT:      ptir.yield %[[A]] : tensor<4xf32>
// CHECK-NEXT:    } false {
// CHECK-NEXT:    ^bb0(%[[B:.*]]: tensor<4xf32>):
// CHECK-NEXT:      %[[C:.*]] = ptir.exp %[[B]] : tensor<4xf32>
// CHECK-NEXT:      ptir.yield %[[C]] : tensor<4xf32>
func.func @inside_a_branch(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r = ptir.cond %p, %x : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> true {
  ^bb0(%a: tensor<4xf32>):
    %b = ptir.neg %a : tensor<4xf32>
    %c = ptir.neg %b : tensor<4xf32>
    ptir.yield %c : tensor<4xf32>
  } false {
  ^bb0(%a: tensor<4xf32>):
    %b = ptir.exp %a : tensor<4xf32>
    %dead = ptir.log %a : tensor<4xf32>
    ptir.yield %b : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// A branch whose predicate is known is what it would run.
// CHECK-LABEL: func.func @known_branch
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT:    %[[E:.*]] = ptir.exp %[[X]] : tensor<4xf32>
// CHECK-NEXT:    func.return %[[E]] : tensor<4xf32>
func.func @known_branch(%x: tensor<4xf32>) -> tensor<4xf32> {
  %p = ptir.constant false : tensor<i1>
  %r = ptir.cond %p, %x : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> true {
  ^bb0(%a: tensor<4xf32>):
    ptir.yield %a : tensor<4xf32>
  } false {
  ^bb0(%a: tensor<4xf32>):
    %b = ptir.exp %a : tensor<4xf32>
    ptir.yield %b : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// But not where the other branch draws: its key counts in the program.
// CHECK-LABEL: func.func @known_branch_beside_a_draw
// CHECK:         ptir.cond
// CHECK:         ptir.rng_uniform
func.func @known_branch_beside_a_draw(%x: tensor<4xf32>) -> tensor<4xf32> {
  %p = ptir.constant true : tensor<i1>
  %r = ptir.cond %p, %x : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> true {
  ^bb0(%a: tensor<4xf32>):
    ptir.yield %a : tensor<4xf32>
  } false {
  ^bb0(%a: tensor<4xf32>):
    %b = ptir.rng_uniform shape = [4] dtype = f32 : () -> tensor<4xf32>
    ptir.yield %b : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// A scan of one step is its body; the slice is a view.
// CHECK-LABEL: func.func @scan_of_one
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>, %[[R:.*]]: tensor<1x4xf32>)
// CHECK-NEXT:    %[[V:.*]] = ptir.reshape %[[R]] new_shape = [4] : tensor<1x4xf32> -> tensor<4xf32>
// CHECK-NEXT:    %[[S:.*]] = ptir.add %[[X]], %[[V]] : tensor<4xf32>
// CHECK-NEXT:    func.return %[[S]] : tensor<4xf32>
func.func @scan_of_one(%x: tensor<4xf32>, %rows: tensor<1x4xf32>) -> tensor<4xf32> {
  %r = ptir.scan %x, %rows carry_count = 1 scan_output_count = 0 : (tensor<4xf32>, tensor<1x4xf32>) -> tensor<4xf32> body {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %s = ptir.add %a, %b : tensor<4xf32>
    ptir.yield %s : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

}
