// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

func.func @stretch(%x: tensor<3x1xf32>) {
  %0 = mind.broadcast_to %x shape = [2, 3, 4] : tensor<3x1xf32> -> tensor<2x3x4xf32>
  func.return
}
// CHECK-LABEL: func.func @stretch(%x: tensor<3x1xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.broadcast_to %x shape = [2, 3, 4] : tensor<3x1xf32> -> tensor<2x3x4xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "stretch"
// GENERIC-NEXT: ^bb0(%x: tensor<3x1xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.broadcast_to"(%x) <{shape = array<i64: 2, 3, 4>}> : (tensor<3x1xf32>) -> tensor<2x3x4xf32>

func.func @rank_0(%x: tensor<i64>) {
  %0 = mind.broadcast_to %x shape = [2] : tensor<i64> -> tensor<2xi64>
  func.return
}
// CHECK-LABEL: func.func @rank_0(%x: tensor<i64>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.broadcast_to %x shape = [2] : tensor<i64> -> tensor<2xi64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "rank_0"
// GENERIC-NEXT: ^bb0(%x: tensor<i64>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.broadcast_to"(%x) <{shape = array<i64: 2>}> : (tensor<i64>) -> tensor<2xi64>

func.func @identity(%x: tensor<3x1xf32>) {
  %0 = mind.broadcast_to %x shape = [3, 1] : tensor<3x1xf32>
  func.return
}
// CHECK-LABEL: func.func @identity(%x: tensor<3x1xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.broadcast_to %x shape = [3, 1] : tensor<3x1xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "identity"
// GENERIC-NEXT: ^bb0(%x: tensor<3x1xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.broadcast_to"(%x) <{shape = array<i64: 3, 1>}> : (tensor<3x1xf32>) -> tensor<3x1xf32>

// Zeros of an extent that a slice made.
func.func @to_nothing(%x: tensor<3x1xf32>) {
  %0 = mind.broadcast_to %x shape = [3, 0] : tensor<3x1xf32> -> tensor<3x0xf32>
  func.return
}
// CHECK-LABEL: func.func @to_nothing(%x: tensor<3x1xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.broadcast_to %x shape = [3, 0] : tensor<3x1xf32> -> tensor<3x0xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "to_nothing"
// GENERIC-NEXT: ^bb0(%x: tensor<3x1xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.broadcast_to"(%x) <{shape = array<i64: 3, 0>}> : (tensor<3x1xf32>) -> tensor<3x0xf32>
