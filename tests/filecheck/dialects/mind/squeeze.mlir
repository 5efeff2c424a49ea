// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

func.func @one(%x: tensor<1x2x1xf32>) {
  %0 = mind.squeeze %x axes = [0] : tensor<1x2x1xf32> -> tensor<2x1xf32>
  func.return
}
// CHECK-LABEL: func.func @one(%x: tensor<1x2x1xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.squeeze %x axes = [0] : tensor<1x2x1xf32> -> tensor<2x1xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "one"
// GENERIC-NEXT: ^bb0(%x: tensor<1x2x1xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.squeeze"(%x) <{axes = array<i64: 0>}> : (tensor<1x2x1xf32>) -> tensor<2x1xf32>

func.func @both(%x: tensor<1x2x1xf32>) {
  %0 = mind.squeeze %x axes = [2, 0] : tensor<1x2x1xf32> -> tensor<2xf32>
  func.return
}
// CHECK-LABEL: func.func @both(%x: tensor<1x2x1xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.squeeze %x axes = [2, 0] : tensor<1x2x1xf32> -> tensor<2xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "both"
// GENERIC-NEXT: ^bb0(%x: tensor<1x2x1xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.squeeze"(%x) <{axes = array<i64: 2, 0>}> : (tensor<1x2x1xf32>) -> tensor<2xf32>

// No axes: the identity.
func.func @none(%x: tensor<1x2x1xf32>) {
  %0 = mind.squeeze %x axes = [] : tensor<1x2x1xf32>
  func.return
}
// CHECK-LABEL: func.func @none(%x: tensor<1x2x1xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.squeeze %x axes = [] : tensor<1x2x1xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "none"
// GENERIC-NEXT: ^bb0(%x: tensor<1x2x1xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.squeeze"(%x) <{axes = array<i64>}> : (tensor<1x2x1xf32>) -> tensor<1x2x1xf32>

func.func @to_rank_0(%x: tensor<1xi64>) {
  %0 = mind.squeeze %x axes = [0] : tensor<1xi64> -> tensor<i64>
  func.return
}
// CHECK-LABEL: func.func @to_rank_0(%x: tensor<1xi64>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.squeeze %x axes = [0] : tensor<1xi64> -> tensor<i64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "to_rank_0"
// GENERIC-NEXT: ^bb0(%x: tensor<1xi64>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.squeeze"(%x) <{axes = array<i64: 0>}> : (tensor<1xi64>) -> tensor<i64>

// core-v1.1 counts axes from the end.
func.func @negative_axis(%x: tensor<1x2x1xf32>) attributes {mind.profile = "core-v1.1"} {
  %0 = mind.squeeze %x axes = [-1] : tensor<1x2x1xf32> -> tensor<1x2xf32>
  func.return
}
// CHECK-LABEL: func.func @negative_axis(%x: tensor<1x2x1xf32>) attributes {mind.profile = "core-v1.1"} {
// CHECK-NEXT:    [[R0:%\w+]] = mind.squeeze %x axes = [-1] : tensor<1x2x1xf32> -> tensor<1x2xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "negative_axis"
// GENERIC-NEXT: ^bb0(%x: tensor<1x2x1xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.squeeze"(%x) <{axes = array<i64: -1>}> : (tensor<1x2x1xf32>) -> tensor<1x2xf32>
