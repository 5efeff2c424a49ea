// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

func.func @f32(%x: tensor<2x3xf32>) {
  %0 = mind.log %x : tensor<2x3xf32>
  func.return
}
// CHECK-LABEL: func.func @f32(%x: tensor<2x3xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.log %x : tensor<2x3xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "f32"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.log"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>

func.func @f64_rank_0(%x: tensor<f64>) {
  %0 = mind.log %x : tensor<f64>
  func.return
}
// CHECK-LABEL: func.func @f64_rank_0(%x: tensor<f64>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.log %x : tensor<f64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "f64_rank_0"
// GENERIC-NEXT: ^bb0(%x: tensor<f64>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.log"(%x) : (tensor<f64>) -> tensor<f64>

// Results are operands.
func.func @chain(%x: tensor<2xf32>) {
  %0 = mind.log %x : tensor<2xf32>
  %1 = mind.log %0 : tensor<2xf32>
  func.return
}
// CHECK-LABEL: func.func @chain(%x: tensor<2xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.log %x : tensor<2xf32>
// CHECK-NEXT:    [[R1:%\w+]] = mind.log [[R0]] : tensor<2xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "chain"
// GENERIC-NEXT: ^bb0(%x: tensor<2xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.log"(%x) : (tensor<2xf32>) -> tensor<2xf32>
// GENERIC-NEXT:    [[R1:%\w+]] = "mind.log"([[R0]]) : (tensor<2xf32>) -> tensor<2xf32>
