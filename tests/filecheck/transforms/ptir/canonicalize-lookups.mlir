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
}
