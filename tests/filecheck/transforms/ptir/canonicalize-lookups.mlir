// RUN: mind-opt %s --ptir-canonicalize | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// The logarithm of a softmax at one place of each row: nothing is computed elsewhere.
// CHECK-LABEL: func.func @cross_entropy
// CHECK-NEXT:  [[A:%[a-z0-9_.]+]] = ptir.gather %x, %i axis = 1 : (tensor<4x1000xf32>, tensor<4x1xsi32>) -> tensor<4x1xf32>
// CHECK-NEXT:  [[ONE:%[a-z0-9_.]+]] = ptir.sub [[A]], %total : tensor<4x1xf32>
// CHECK-NEXT:  func.return [[ONE]] : tensor<4x1xf32>
func.func @cross_entropy(%x: tensor<4x1000xf32>, %total: tensor<4x1xf32>, %i: tensor<4x1xsi32>) -> tensor<4x1xf32> {
  %spread = ptir.broadcast_to %total result_shape = [4, 1000] : tensor<4x1xf32> -> tensor<4x1000xf32>
  %all = ptir.sub %x, %spread : tensor<4x1000xf32>
  %one = ptir.gather %all, %i axis = 1 : (tensor<4x1000xf32>, tensor<4x1xsi32>) -> tensor<4x1xf32>
  func.return %one : tensor<4x1xf32>
}

// Rows of a table are scaled after they are looked up.
// CHECK-LABEL: func.func @rows
// CHECK-NEXT:  [[A:%[a-z0-9_.]+]] = ptir.take %table, %i : (tensor<1000x8xf32>, tensor<2x3xsi32>) -> tensor<2x3x8xf32>
// CHECK-NEXT:  [[B:%[a-z0-9_.]+]] = ptir.constant fill 0.5 : tensor<2x3x8xf32>
// CHECK-NEXT:  [[FOUND:%[a-z0-9_.]+]] = ptir.mul [[A]], [[B]] : tensor<2x3x8xf32>
// CHECK-NEXT:  func.return [[FOUND]] : tensor<2x3x8xf32>
func.func @rows(%table: tensor<1000x8xf32>, %i: tensor<2x3xsi32>) -> tensor<2x3x8xf32> {
  %c = ptir.constant fill 0.5 : tensor<1000x8xf32>
  %scaled = ptir.mul %table, %c : tensor<1000x8xf32>
  %found = ptir.take %scaled, %i : (tensor<1000x8xf32>, tensor<2x3xsi32>) -> tensor<2x3x8xf32>
  func.return %found : tensor<2x3x8xf32>
}

// Two operands would be looked up.
// CHECK-LABEL: func.func @two
// CHECK-NEXT:  [[SUM:%[a-z0-9_.]+]] = ptir.add %x, %y : tensor<1000xf32>
// CHECK-NEXT:  [[FOUND:%[a-z0-9_.]+]] = ptir.take [[SUM]], %i : (tensor<1000xf32>, tensor<3xsi32>) -> tensor<3xf32>
// CHECK-NEXT:  func.return [[FOUND]] : tensor<3xf32>
func.func @two(%x: tensor<1000xf32>, %y: tensor<1000xf32>, %i: tensor<3xsi32>) -> tensor<3xf32> {
  %sum = ptir.add %x, %y : tensor<1000xf32>
  %found = ptir.take %sum, %i : (tensor<1000xf32>, tensor<3xsi32>) -> tensor<3xf32>
  func.return %found : tensor<3xf32>
}

// Five lookups of a ninth each are more than half of all elements.
// CHECK-LABEL: func.func @many
// CHECK-NEXT:  [[ALL:%[a-z0-9_.]+]] = ptir.exp %x : tensor<80xf32>
// CHECK-COUNT-5: ptir.take [[ALL]]
// CHECK-NEXT:  func.return
func.func @many(%x: tensor<80xf32>, %i: tensor<9xsi32>, %j: tensor<9xsi32>, %k: tensor<9xsi32>, %l: tensor<9xsi32>, %m: tensor<9xsi32>)
    -> (tensor<9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>) {
  %all = ptir.exp %x : tensor<80xf32>
  %a = ptir.take %all, %i : (tensor<80xf32>, tensor<9xsi32>) -> tensor<9xf32>
  %b = ptir.take %all, %j : (tensor<80xf32>, tensor<9xsi32>) -> tensor<9xf32>
  %c = ptir.take %all, %k : (tensor<80xf32>, tensor<9xsi32>) -> tensor<9xf32>
  %d = ptir.take %all, %l : (tensor<80xf32>, tensor<9xsi32>) -> tensor<9xf32>
  %e = ptir.take %all, %m : (tensor<80xf32>, tensor<9xsi32>) -> tensor<9xf32>
  func.return %a, %b, %c, %d, %e : tensor<9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>
}

// What is computed of a loop-invariant table is hoisted.
// CHECK-LABEL: func.func @loop
// CHECK:       [[ALL:%[a-z0-9_.]+]] = ptir.tanh %t : tensor<99xf32>
// CHECK-NEXT:  ptir.take [[ALL]], %i
func.func @loop(%x: tensor<99xf32>, %h: tensor<5xf32>, %is: tensor<200x5xsi32>) -> tensor<5xf32> {
  %r:2 = ptir.scan %h, %x, %is carry_count = 2 scan_output_count = 0
      : (tensor<5xf32>, tensor<99xf32>, tensor<200x5xsi32>) -> (tensor<5xf32>, tensor<99xf32>) body {
  ^bb0(%c: tensor<5xf32>, %t: tensor<99xf32>, %i: tensor<5xsi32>):
    %all = ptir.tanh %t : tensor<99xf32>
    %found = ptir.take %all, %i : (tensor<99xf32>, tensor<5xsi32>) -> tensor<5xf32>
    %next = ptir.add %c, %found : tensor<5xf32>
    ptir.yield %next, %t : tensor<5xf32>, tensor<99xf32>
  }
  func.return %r#0 : tensor<5xf32>
}
}
