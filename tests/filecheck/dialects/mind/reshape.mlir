// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

func.func @flatten(%x: tensor<2x3xf32>) {
  %0 = mind.reshape %x new_shape = [6] : tensor<2x3xf32> -> tensor<6xf32>
  func.return
}
// CHECK-LABEL: func.func @flatten(%x: tensor<2x3xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.reshape %x new_shape = [6] : tensor<2x3xf32> -> tensor<6xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "flatten"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.reshape"(%x) <{new_shape = array<i64: 6>}> : (tensor<2x3xf32>) -> tensor<6xf32>

// One extent may be -1.
func.func @inferred(%x: tensor<2x3xf32>) {
  %0 = mind.reshape %x new_shape = [3, -1] : tensor<2x3xf32> -> tensor<3x2xf32>
  func.return
}
// CHECK-LABEL: func.func @inferred(%x: tensor<2x3xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.reshape %x new_shape = [3, -1] : tensor<2x3xf32> -> tensor<3x2xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "inferred"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.reshape"(%x) <{new_shape = array<i64: 3, -1>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>

func.func @rank_0(%x: tensor<1x1xf32>) {
  %0 = mind.reshape %x new_shape = [] : tensor<1x1xf32> -> tensor<f32>
  func.return
}
// CHECK-LABEL: func.func @rank_0(%x: tensor<1x1xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.reshape %x new_shape = [] : tensor<1x1xf32> -> tensor<f32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "rank_0"
// GENERIC-NEXT: ^bb0(%x: tensor<1x1xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.reshape"(%x) <{new_shape = array<i64>}> : (tensor<1x1xf32>) -> tensor<f32>

func.func @from_rank_0(%x: tensor<f32>) {
  %0 = mind.reshape %x new_shape = [1, 1] : tensor<f32> -> tensor<1x1xf32>
  func.return
}
// CHECK-LABEL: func.func @from_rank_0(%x: tensor<f32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.reshape %x new_shape = [1, 1] : tensor<f32> -> tensor<1x1xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "from_rank_0"
// GENERIC-NEXT: ^bb0(%x: tensor<f32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.reshape"(%x) <{new_shape = array<i64: 1, 1>}> : (tensor<f32>) -> tensor<1x1xf32>

func.func @identity(%x: tensor<2x3xf32>) {
  %0 = mind.reshape %x new_shape = [2, 3] : tensor<2x3xf32>
  func.return
}
// CHECK-LABEL: func.func @identity(%x: tensor<2x3xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.reshape %x new_shape = [2, 3] : tensor<2x3xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "identity"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.reshape"(%x) <{new_shape = array<i64: 2, 3>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
