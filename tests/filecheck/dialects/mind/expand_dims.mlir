// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

func.func @front(%x: tensor<2x3xf32>) {
  %0 = mind.expand_dims %x axes = [0] : tensor<2x3xf32> -> tensor<1x2x3xf32>
  func.return
}
// CHECK-LABEL: func.func @front(%x: tensor<2x3xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.expand_dims %x axes = [0] : tensor<2x3xf32> -> tensor<1x2x3xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "front"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.expand_dims"(%x) <{axes = array<i64: 0>}> : (tensor<2x3xf32>) -> tensor<1x2x3xf32>

// Axes are those of the result, in any order.
func.func @several(%x: tensor<2x3xf32>) {
  %0 = mind.expand_dims %x axes = [3, 0] : tensor<2x3xf32> -> tensor<1x2x3x1xf32>
  func.return
}
// CHECK-LABEL: func.func @several(%x: tensor<2x3xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.expand_dims %x axes = [3, 0] : tensor<2x3xf32> -> tensor<1x2x3x1xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "several"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.expand_dims"(%x) <{axes = array<i64: 3, 0>}> : (tensor<2x3xf32>) -> tensor<1x2x3x1xf32>

func.func @rank_0(%x: tensor<f32>) {
  %0 = mind.expand_dims %x axes = [0] : tensor<f32> -> tensor<1xf32>
  func.return
}
// CHECK-LABEL: func.func @rank_0(%x: tensor<f32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.expand_dims %x axes = [0] : tensor<f32> -> tensor<1xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "rank_0"
// GENERIC-NEXT: ^bb0(%x: tensor<f32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.expand_dims"(%x) <{axes = array<i64: 0>}> : (tensor<f32>) -> tensor<1xf32>

func.func @none(%x: tensor<2x3xf32>) {
  %0 = mind.expand_dims %x axes = [] : tensor<2x3xf32>
  func.return
}
// CHECK-LABEL: func.func @none(%x: tensor<2x3xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.expand_dims %x axes = [] : tensor<2x3xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "none"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.expand_dims"(%x) <{axes = array<i64>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>

// core-v1.1 counts axes from the end.
func.func @negative_axis(%x: tensor<2x3xf32>) attributes {mind.profile = "core-v1.1"} {
  %0 = mind.expand_dims %x axes = [-1] : tensor<2x3xf32> -> tensor<2x3x1xf32>
  func.return
}
// CHECK-LABEL: func.func @negative_axis(%x: tensor<2x3xf32>) attributes {mind.profile = "core-v1.1"} {
// CHECK-NEXT:    [[R0:%\w+]] = mind.expand_dims %x axes = [-1] : tensor<2x3xf32> -> tensor<2x3x1xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "negative_axis"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.expand_dims"(%x) <{axes = array<i64: -1>}> : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
