// RUN: mind-opt %s --ptir-optimize | filecheck %s
// RUN: xdsl-opt %s -p mind-ptir-optimize | filecheck %s
// RUN: mind-opt %s --ptir-optimize | mind-opt --ptir-optimize | filecheck %s
// RUN: mind-opt %s --ptir-optimize="patterns=false fusions" | filecheck %s --check-prefix=FUSED

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// Attention as the contract writes it, with a mask of -inf.
// CHECK-LABEL: func.func @attention
// CHECK-SAME:    (%[[Q:.*]]: tensor<1x2x3x4xf32>, %[[K:.*]]: tensor<1x2x3x4xf32>, %[[V:.*]]: tensor<1x2x3x4xf32>)
// CHECK-NEXT:    %[[M:.*]] = ptir.constant {{.*}} : tensor<1x2x3x3xf32>
// CHECK-NEXT:    %[[O:.*]] = ptir.fusion %[[Q]], %[[K]], %[[M]], %[[V]] pattern = attention
// CHECK:         func.return %[[O]] : tensor<1x2x3x4xf32>
// FUSED-LABEL: func.func @attention
// FUSED-NOT:     pattern
// FUSED:         ptir.fusion
// FUSED:         func.return
func.func @attention(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>, %v: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  %kt = ptir.transpose %k perm = [0, 1, 3, 2] : tensor<1x2x3x4xf32> -> tensor<1x2x4x3xf32>
  %s0 = ptir.dot_general %q, %kt batch_lhs = [0, 1] batch_rhs = [0, 1] contract_lhs = [3] contract_rhs = [2] accum_dtype = f32 out_dtype = f32 : (tensor<1x2x3x4xf32>, tensor<1x2x4x3xf32>) -> tensor<1x2x3x3xf32>
  %half = ptir.constant 0.5 : tensor<f32>
  %scale = ptir.broadcast_to %half result_shape = [1, 2, 3, 3] : tensor<f32> -> tensor<1x2x3x3xf32>
  %s1 = ptir.mul %s0, %scale : tensor<1x2x3x3xf32>
  %rows = ptir.iota shape = [1, 2, 3, 3] dtype = si32 axis = -2 : () -> tensor<1x2x3x3xsi32>
  %columns = ptir.iota shape = [1, 2, 3, 3] dtype = si32 axis = -1 : () -> tensor<1x2x3x3xsi32>
  %seen = ptir.compare %rows, %columns kind = greater_equal : (tensor<1x2x3x3xsi32>, tensor<1x2x3x3xsi32>) -> tensor<1x2x3x3xi1>
  %zero = ptir.constant fill 0.0 : tensor<1x2x3x3xf32>
  %hidden = ptir.constant fill -inf : tensor<1x2x3x3xf32>
  %mask = ptir.select %seen, %zero, %hidden : (tensor<1x2x3x3xi1>, tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %z = ptir.add %s1, %mask : tensor<1x2x3x3xf32>
  %m = ptir.reduce %z kind = max axes = [-1] keepdims = true : tensor<1x2x3x3xf32> -> tensor<1x2x3x1xf32>
  %mb = ptir.broadcast_to %m result_shape = [1, 2, 3, 3] : tensor<1x2x3x1xf32> -> tensor<1x2x3x3xf32>
  %d = ptir.sub %z, %mb : tensor<1x2x3x3xf32>
  %e = ptir.exp %d : tensor<1x2x3x3xf32>
  %s = ptir.reduce %e kind = sum axes = [-1] keepdims = true : tensor<1x2x3x3xf32> -> tensor<1x2x3x1xf32>
  %sb = ptir.broadcast_to %s result_shape = [1, 2, 3, 3] : tensor<1x2x3x1xf32> -> tensor<1x2x3x3xf32>
  %p = ptir.div %e, %sb : tensor<1x2x3x3xf32>
  %o = ptir.dot_general %p, %v batch_lhs = [0, 1] batch_rhs = [0, 1] contract_lhs = [3] contract_rhs = [2] accum_dtype = f32 : (tensor<1x2x3x3xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  func.return %o : tensor<1x2x3x4xf32>
}

}
