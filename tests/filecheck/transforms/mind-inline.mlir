// RUN: mind-opt %s --mind-inline --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p mind-inline --split-input-file | filecheck %s

// The callee stays; its ops take the place of the call, and the result the name that the call gave it.
// CHECK-LABEL: func.func @layer
// CHECK-NEXT:    %h = mind.matmul %x, %w
// CHECK-LABEL: func.func @core
// CHECK-SAME:    (%a: tensor<2x3xf32>, %b: tensor<3x4xf32>)
// CHECK-NEXT:    %h = mind.matmul %a, %b : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:    %y = mind.relu %h : tensor<2x4xf32>
// CHECK-NEXT:    %z = mind.add %y, %y : tensor<2x4xf32>
// CHECK-NEXT:    func.return %z : tensor<2x4xf32>
func.func @layer(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %h = mind.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %r = mind.relu %h : tensor<2x4xf32>
  func.return %r : tensor<2x4xf32>
}
func.func @core(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %y = func.call @layer(%a, %b) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %z = mind.add %y, %y : tensor<2x4xf32>
  func.return %z : tensor<2x4xf32>
}

// -----

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// A call in a region is replaced there, calls of calls too.
// CHECK-LABEL: func.func @region
// CHECK:         ptir.scan
// CHECK:         ^{{.*}}(%[[C:.*]]: tensor<f32>, %[[X:.*]]: tensor<f32>):
// CHECK-NEXT:      %[[N:.*]] = ptir.neg %[[X]] : tensor<f32>
// CHECK-NEXT:      %[[S:.*]] = ptir.add %[[C]], %[[N]] : tensor<f32>
// CHECK-NEXT:      ptir.yield %[[S]] : tensor<f32>
func.func @region(%c: tensor<f32>, %xs: tensor<3xf32>) -> tensor<f32> {
  %r = ptir.scan %c, %xs carry_count = 1 scan_output_count = 0 : (tensor<f32>, tensor<3xf32>) -> tensor<f32> body {
  ^bb0(%carry: tensor<f32>, %x: tensor<f32>):
    %s = func.call @subtract(%carry, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    ptir.yield %s : tensor<f32>
  }
  func.return %r : tensor<f32>
}
func.func @subtract(%p: tensor<f32>, %q: tensor<f32>) -> tensor<f32> {
  %n = func.call @negative(%q) : (tensor<f32>) -> tensor<f32>
  %s = ptir.add %p, %n : tensor<f32>
  func.return %s : tensor<f32>
}
func.func @negative(%v: tensor<f32>) -> tensor<f32> {
  %n = ptir.neg %v : tensor<f32>
  func.return %n : tensor<f32>
}

// Names of dimensions that the callee passes on are the caller's. Its own mean other sizes than the caller's, and others at each call.
// CHECK-LABEL: func.func @names
// CHECK-NEXT:    %[[T:.*]] = ptir.tile %x repeats = [2] : tensor<?xf32, "B"> -> tensor<?xf32, "M_1">
// CHECK-NEXT:    %[[Z:.*]] = ptir.constant 0.0 : tensor<f32>
// CHECK-NEXT:    %[[W:.*]] = ptir.broadcast_to %[[Z]] result_shape = [M_1] : tensor<f32> -> tensor<?xf32, "M_1">
// CHECK-NEXT:    %[[S:.*]] = ptir.add %[[T]], %[[W]] : tensor<?xf32, "M_1">
// CHECK-NEXT:    %a = ptir.reduce %[[S]] kind = sum
// CHECK-NEXT:    %{{.*}} = ptir.tile %y repeats = [2] : tensor<?xf32, "B"> -> tensor<?xf32, "M_2">
// CHECK:         ptir.broadcast_to %{{.*}} result_shape = [M_2]
// CHECK:         %b = ptir.reduce
func.func @names(%x: tensor<?xf32, "B">, %y: tensor<?xf32, "B">, %z: tensor<?xf32, "M">) -> (tensor<f32>, tensor<f32>) {
  %a = func.call @total(%x) : (tensor<?xf32, "B">) -> tensor<f32>
  %b = func.call @total(%y) : (tensor<?xf32, "B">) -> tensor<f32>
  func.return %a, %b : tensor<f32>, tensor<f32>
}
func.func @total(%x: tensor<?xf32, "B">) -> tensor<f32> {
  %t = ptir.tile %x repeats = [2] : tensor<?xf32, "B"> -> tensor<?xf32, "M">
  %z = ptir.constant 0.0 : tensor<f32>
  %w = ptir.broadcast_to %z result_shape = [M] : tensor<f32> -> tensor<?xf32, "M">
  %s = ptir.add %t, %w : tensor<?xf32, "M">
  %r = ptir.reduce %s kind = sum axes = [0] keepdims = false : tensor<?xf32, "M"> -> tensor<f32>
  func.return %r : tensor<f32>
}

}

// -----

// Calls stand in ops of any dialect; other functions stay as they are.
// CHECK-LABEL: func.func @foreign
// CHECK:         scf.if %p -> (tensor<2xf32>) {
// CHECK-NEXT:      %[[E:.*]] = mind.exp %x : tensor<2xf32>
// CHECK-NEXT:      scf.yield %[[E]] : tensor<2xf32>
// CHECK-NOT:     func.call
func.func @foreign(%p: i1, %x: tensor<2xf32>) -> tensor<2xf32> {
  %r = scf.if %p -> (tensor<2xf32>) {
    %e = func.call @exp(%x) : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %e : tensor<2xf32>
  } else {
    scf.yield %x : tensor<2xf32>
  }
  func.return %r : tensor<2xf32>
}
func.func @exp(%x: tensor<2xf32>) -> tensor<2xf32> {
  %r = mind.exp %x : tensor<2xf32>
  func.return %r : tensor<2xf32>
}
