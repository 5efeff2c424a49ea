// RUN: mind-opt %s --vectorize="function=affine in-axes=0,none" --vectorize="function=rows in-axes=-1,none out-axes=1 size=4" --vectorize="function=select" --vectorize="function=loop in-axes=none,0 size=2" --vectorize="function=halve size=2" --vectorize="function=call size=2" --vectorize="function=draw size=2 randomness=different" --vectorize="function=scaled in-axes=0,none out-axes=none,0" | filecheck %s
// RUN: xdsl-opt %s -p 'mind-vectorize{function="affine" in-axes=0,"none"},mind-vectorize{function="rows" in-axes=-1,"none" out-axes=1 size=4},mind-vectorize{function="select"},mind-vectorize{function="loop" in-axes="none",0 size=2},mind-vectorize{function="halve" size=2},mind-vectorize{function="call" size=2},mind-vectorize{function="draw" size=2 randomness="different"},mind-vectorize{function="scaled" in-axes=0,"none" out-axes="none",0}' | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// One product for all examples; the batch has a name of its own.
// CHECK-LABEL: func.func @affine_vmap(%x: tensor<?x3xf32, "N,*">, %w: tensor<3x2xf32>) -> tensor<?x2xf32, "N,*"> attributes {mind.vmap_of = @affine} {
// CHECK-NEXT:    %y = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<?x3xf32, "N,*">, tensor<3x2xf32>) -> tensor<?x2xf32, "N,*">
// CHECK-NEXT:    func.return %y : tensor<?x2xf32, "N,*">
func.func @affine(%x: tensor<3xf32>, %w: tensor<3x2xf32>) -> tensor<2xf32> {
  %y = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [0] contract_rhs = [0] : (tensor<3xf32>, tensor<3x2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}

// The batch axis comes in last and goes out second; inside it is first. Rows of all tables are taken at once.
// CHECK-LABEL: func.func @rows_vmap(%x: tensor<5x2x4xf32>, %i: tensor<3xsi32>) -> tensor<3x4x2xf32>
// CHECK-NEXT:    [[X:%\d+]] = ptir.transpose %x perm = [2, 0, 1] : tensor<5x2x4xf32> -> tensor<4x5x2xf32>
// CHECK-NEXT:    [[T:%\d+]] = ptir.transpose [[X]] perm = [1, 0, 2] : tensor<4x5x2xf32> -> tensor<5x4x2xf32>
// CHECK-NEXT:    [[R:%\d+]] = ptir.take [[T]], %i : (tensor<5x4x2xf32>, tensor<3xsi32>) -> tensor<3x4x2xf32>
// CHECK-NEXT:    %y = ptir.transpose [[R]] perm = [1, 0, 2] : tensor<3x4x2xf32> -> tensor<4x3x2xf32>
// CHECK-NEXT:    [[Y:%\d+]] = ptir.transpose %y perm = [1, 0, 2] : tensor<4x3x2xf32> -> tensor<3x4x2xf32>
// CHECK-NEXT:    func.return [[Y]] : tensor<3x4x2xf32>
func.func @rows(%x: tensor<5x2xf32>, %i: tensor<3xsi32>) -> tensor<3x2xf32> {
  %y = ptir.take %x, %i : (tensor<5x2xf32>, tensor<3xsi32>) -> tensor<3x2xf32>
  func.return %y : tensor<3x2xf32>
}

// Both branches, where neither can fail.
// CHECK-LABEL: func.func @select_vmap(%p: tensor<?xi1, "N">, %x: tensor<?x2xf32, "N,*">)
// CHECK-NEXT:    %n = ptir.neg %x : tensor<?x2xf32, "N,*">
// CHECK-NEXT:    [[P:%\d+]] = ptir.reshape %p new_shape = [N, 1] : tensor<?xi1, "N"> -> tensor<?x1xi1, "N,*">
// CHECK-NEXT:    [[Q:%\d+]] = ptir.broadcast_to [[P]] result_shape = [N, 2] : tensor<?x1xi1, "N,*"> -> tensor<?x2xi1, "N,*">
// CHECK-NEXT:    %y = ptir.select [[Q]], %n, %x :
// CHECK-NEXT:    func.return %y : tensor<?x2xf32, "N,*">
func.func @select(%p: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %y = ptir.cond %p, %x : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32> true {
  ^bb0(%a: tensor<2xf32>):
    %n = ptir.neg %a : tensor<2xf32>
    ptir.yield %n : tensor<2xf32>
  } false {
  ^bb0(%a: tensor<2xf32>):
    ptir.yield %a : tensor<2xf32>
  }
  func.return %y : tensor<2xf32>
}

// The steps stay in front of what is scanned; the carried value is batched as what is added to it is.
// CHECK-LABEL: func.func @loop_vmap(%h: tensor<f32>, %x: tensor<2x4xf32>) -> tensor<2xf32>
// CHECK-NEXT:    [[H:%\d+]] = ptir.broadcast_to %h result_shape = [2] : tensor<f32> -> tensor<2xf32>
// CHECK-NEXT:    [[X:%\d+]] = ptir.transpose %x perm = [1, 0] : tensor<2x4xf32> -> tensor<4x2xf32>
// CHECK-NEXT:    %r = ptir.scan [[H]], [[X]] carry_count = 1 scan_output_count = 0 : (tensor<2xf32>, tensor<4x2xf32>) -> tensor<2xf32> body {
// CHECK-NEXT:    ^bb0(%s: tensor<2xf32>, %v: tensor<2xf32>):
// CHECK-NEXT:      %n = ptir.mul %s, %v : tensor<2xf32>
// CHECK-NEXT:      ptir.yield %n : tensor<2xf32>
func.func @loop(%h: tensor<f32>, %x: tensor<4xf32>) -> tensor<f32> {
  %r = ptir.scan %h, %x carry_count = 1 scan_output_count = 0 : (tensor<f32>, tensor<4xf32>) -> tensor<f32> body {
  ^bb0(%s: tensor<f32>, %v: tensor<f32>):
    %n = ptir.mul %s, %v : tensor<f32>
    ptir.yield %n : tensor<f32>
  }
  func.return %r : tensor<f32>
}

// A loop that iterates while any example goes on.
// CHECK-LABEL: func.func @halve_vmap(%n: tensor<2xsi32>) -> tensor<2xsi32>
// CHECK-NEXT:    [[T:%\d+]] = ptir.constant true : tensor<i1>
// CHECK-NEXT:    [[G:%\d+]] = ptir.broadcast_to [[T]] result_shape = [2] : tensor<i1> -> tensor<2xi1>
// CHECK-NEXT:    [[E:%\d+]], %m = ptir.while [[G]], %n : (tensor<2xi1>, tensor<2xsi32>) -> (tensor<2xi1>, tensor<2xsi32>) cond {
// CHECK-NEXT:    ^bb0([[B:%\d+]]: tensor<2xi1>, [[I:%\d+]]: tensor<2xsi32>):
// CHECK:           %go = ptir.compare [[I]],
// CHECK-NEXT:      [[S:%\d+]] = ptir.and [[B]], %go : tensor<2xi1>
// CHECK-NEXT:      [[A:%\d+]] = ptir.reduce [[S]] kind = max axes = [0] keepdims = false : tensor<2xi1> -> tensor<i1>
// CHECK-NEXT:      ptir.yield [[A]], [[S]], [[I]] : tensor<i1>, tensor<2xi1>, tensor<2xsi32>
// CHECK:         ^bb0([[B:%\d+]]: tensor<2xi1>, [[I:%\d+]]: tensor<2xsi32>):
// CHECK:           %j = ptir.div [[I]],
// CHECK-NEXT:      [[K:%\d+]] = ptir.select [[B]], %j, [[I]] :
// CHECK-NEXT:      ptir.yield [[B]], [[K]] : tensor<2xi1>, tensor<2xsi32>
func.func @halve(%n: tensor<si32>) -> tensor<si32> {
  %m = ptir.while %n : tensor<si32> cond {
  ^bb0(%i: tensor<si32>):
    %zero = ptir.constant 0 : tensor<si32>
    %go = ptir.compare %i, %zero kind = greater : (tensor<si32>, tensor<si32>) -> tensor<i1>
    ptir.yield %go, %i : tensor<i1>, tensor<si32>
  } body {
  ^bb0(%i: tensor<si32>):
    %two = ptir.constant 2 : tensor<si32>
    %j = ptir.div %i, %two : tensor<si32>
    ptir.yield %j : tensor<si32>
  }
  func.return %m : tensor<si32>
}

// Somebody's kernel knows of no batch: once per example, which the loop says.
// CHECK-LABEL: func.func @call_vmap(%x: tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %y = ptir.scan %x carry_count = 0 scan_output_count = 1 {mind.vmap_loop = "ptir.custom_call"} : tensor<2x3xf32> body {
// CHECK-NEXT:    ^bb0([[E:%\d+]]: tensor<3xf32>):
// CHECK-NEXT:      [[Y:%\w+]] = ptir.custom_call [[E]] target = "tests.kernel.v1" attrs = {} : tensor<3xf32>
// CHECK-NEXT:      ptir.yield [[Y]] : tensor<3xf32>
func.func @call(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = ptir.custom_call %x target = "tests.kernel.v1" attrs = {} : tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// A draw per example.
// CHECK-LABEL: func.func @draw_vmap(%x: tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %r = ptir.rng_uniform shape = [2, 3] dtype = f32 : tensor<2x3xf32>
// CHECK-NEXT:    %y = ptir.add %x, %r : tensor<2x3xf32>
func.func @draw(%x: tensor<3xf32>) -> tensor<3xf32> {
  %r = ptir.rng_uniform shape = [3] dtype = f32 : tensor<3xf32>
  %y = ptir.add %x, %r : tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// What is the same for every example is computed once, and may stay without a batch axis.
// CHECK-LABEL: func.func @scaled_vmap(%x: tensor<?x3xf32, "N,*">, %s: tensor<3xf32>) -> (tensor<3xf32>, tensor<?x3xf32, "N,*">)
// CHECK-NEXT:    %e = ptir.exp %s : tensor<3xf32>
// CHECK-NEXT:    [[E:%\d+]] = ptir.broadcast_to %e result_shape = [N, 3] : tensor<3xf32> -> tensor<?x3xf32, "N,*">
// CHECK-NEXT:    %y = ptir.mul %x, [[E]] : tensor<?x3xf32, "N,*">
// CHECK-NEXT:    func.return %e, %y : tensor<3xf32>, tensor<?x3xf32, "N,*">
func.func @scaled(%x: tensor<3xf32>, %s: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %e = ptir.exp %s : tensor<3xf32>
  %y = ptir.mul %x, %e : tensor<3xf32>
  func.return %e, %y : tensor<3xf32>, tensor<3xf32>
}
}
