// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

// Equal types are written once.
func.func @same_shape(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) {
  %0 = mind.mul %x, %y : tensor<2x3xf32>
  func.return
}
// CHECK-LABEL: func.func @same_shape(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.mul %x, %y : tensor<2x3xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "same_shape"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.mul"(%x, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>

// Extents of 1 and missing leading axes are stretched.
func.func @broadcast(%x: tensor<2x1x4xf64>, %y: tensor<3x1xf64>) {
  %0 = mind.mul %x, %y : (tensor<2x1x4xf64>, tensor<3x1xf64>) -> tensor<2x3x4xf64>
  func.return
}
// CHECK-LABEL: func.func @broadcast(%x: tensor<2x1x4xf64>, %y: tensor<3x1xf64>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.mul %x, %y : (tensor<2x1x4xf64>, tensor<3x1xf64>) -> tensor<2x3x4xf64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "broadcast"
// GENERIC-NEXT: ^bb0(%x: tensor<2x1x4xf64>, %y: tensor<3x1xf64>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.mul"(%x, %y) : (tensor<2x1x4xf64>, tensor<3x1xf64>) -> tensor<2x3x4xf64>

func.func @rank_0(%x: tensor<i64>, %y: tensor<i64>) {
  %0 = mind.mul %x, %y : tensor<i64>
  func.return
}
// CHECK-LABEL: func.func @rank_0(%x: tensor<i64>, %y: tensor<i64>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.mul %x, %y : tensor<i64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "rank_0"
// GENERIC-NEXT: ^bb0(%x: tensor<i64>, %y: tensor<i64>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.mul"(%x, %y) : (tensor<i64>, tensor<i64>) -> tensor<i64>

// Results are operands.
func.func @chain(%x: tensor<2xi32>) {
  %0 = mind.mul %x, %x : tensor<2xi32>
  %1 = mind.mul %0, %x : tensor<2xi32>
  func.return
}
// CHECK-LABEL: func.func @chain(%x: tensor<2xi32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.mul %x, %x : tensor<2xi32>
// CHECK-NEXT:    [[R1:%\w+]] = mind.mul [[R0]], %x : tensor<2xi32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "chain"
// GENERIC-NEXT: ^bb0(%x: tensor<2xi32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.mul"(%x, %x) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
// GENERIC-NEXT:    [[R1:%\w+]] = "mind.mul"([[R0]], %x) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>

// An extent of 0 comes from a slice and goes on.
func.func @empty(%x: tensor<4xf32>) {
  %0 = mind.slice %x starts = [1] ends = [1] steps = [1] : tensor<4xf32> -> tensor<0xf32>
  %1 = mind.mul %0, %0 : tensor<0xf32>
  func.return
}
// CHECK-LABEL: func.func @empty(%x: tensor<4xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.slice %x starts = [1] ends = [1] steps = [1] : tensor<4xf32> -> tensor<0xf32>
// CHECK-NEXT:    [[R1:%\w+]] = mind.mul [[R0]], [[R0]] : tensor<0xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "empty"
// GENERIC-NEXT: ^bb0(%x: tensor<4xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.slice"(%x) <{starts = array<i64: 1>, ends = array<i64: 1>, steps = array<i64: 1>}> : (tensor<4xf32>) -> tensor<0xf32>
// GENERIC-NEXT:    [[R1:%\w+]] = "mind.mul"([[R0]], [[R0]]) : (tensor<0xf32>, tensor<0xf32>) -> tensor<0xf32>
