// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

func.func @f32(%g: tensor<2x3xf32>, %x: tensor<2x3xf32>) {
  %0 = mind.relu_grad %g, %x : tensor<2x3xf32>
  func.return
}
// CHECK-LABEL: func.func @f32(%g: tensor<2x3xf32>, %x: tensor<2x3xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.relu_grad %g, %x : tensor<2x3xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "f32"
// GENERIC-NEXT: ^bb0(%g: tensor<2x3xf32>, %x: tensor<2x3xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.relu_grad"(%g, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>

func.func @rank_0(%g: tensor<f64>) {
  %0 = mind.relu_grad %g, %g : tensor<f64>
  func.return
}
// CHECK-LABEL: func.func @rank_0(%g: tensor<f64>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.relu_grad %g, %g : tensor<f64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "rank_0"
// GENERIC-NEXT: ^bb0(%g: tensor<f64>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.relu_grad"(%g, %g) : (tensor<f64>, tensor<f64>) -> tensor<f64>
