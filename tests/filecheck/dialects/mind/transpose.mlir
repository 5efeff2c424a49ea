// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

// Axis i of the result is axis permutation[i] of the input.
func.func @rotate(%x: tensor<2x3x4xf32>) {
  %0 = mind.transpose %x permutation = [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  func.return
}
// CHECK-LABEL: func.func @rotate(%x: tensor<2x3x4xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.transpose %x permutation = [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "rotate"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3x4xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.transpose"(%x) <{permutation = array<i64: 2, 0, 1>}> : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>

func.func @swap(%x: tensor<2x3xf32>) {
  %0 = mind.transpose %x permutation = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  func.return
}
// CHECK-LABEL: func.func @swap(%x: tensor<2x3xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.transpose %x permutation = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "swap"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.transpose"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>

func.func @rank_0(%x: tensor<i32>) {
  %0 = mind.transpose %x permutation = [] : tensor<i32>
  func.return
}
// CHECK-LABEL: func.func @rank_0(%x: tensor<i32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.transpose %x permutation = [] : tensor<i32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "rank_0"
// GENERIC-NEXT: ^bb0(%x: tensor<i32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.transpose"(%x) <{permutation = array<i64>}> : (tensor<i32>) -> tensor<i32>

func.func @identity(%x: tensor<2x3xf32>) {
  %0 = mind.transpose %x permutation = [0, 1] : tensor<2x3xf32>
  func.return
}
// CHECK-LABEL: func.func @identity(%x: tensor<2x3xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.transpose %x permutation = [0, 1] : tensor<2x3xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "identity"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.transpose"(%x) <{permutation = array<i64: 0, 1>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
