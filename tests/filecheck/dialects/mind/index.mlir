// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

func.func @element(%x: tensor<2x3xf32>) {
  %0 = mind.index %x indices = [1, 2] : tensor<2x3xf32> -> tensor<f32>
  func.return
}
// CHECK-LABEL: func.func @element(%x: tensor<2x3xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.index %x indices = [1, 2] : tensor<2x3xf32> -> tensor<f32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "element"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.index"(%x) <{indices = array<i64: 1, 2>}> : (tensor<2x3xf32>) -> tensor<f32>

func.func @rank_0(%x: tensor<f64>) {
  %0 = mind.index %x indices = [] : tensor<f64>
  func.return
}
// CHECK-LABEL: func.func @rank_0(%x: tensor<f64>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.index %x indices = [] : tensor<f64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "rank_0"
// GENERIC-NEXT: ^bb0(%x: tensor<f64>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.index"(%x) <{indices = array<i64>}> : (tensor<f64>) -> tensor<f64>

// Bounds are a matter of run time: E6001.
func.func @out_of_bounds(%x: tensor<2x3xf32>) {
  %0 = mind.index %x indices = [5, -1] : tensor<2x3xf32> -> tensor<f32>
  func.return
}
// CHECK-LABEL: func.func @out_of_bounds(%x: tensor<2x3xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.index %x indices = [5, -1] : tensor<2x3xf32> -> tensor<f32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "out_of_bounds"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.index"(%x) <{indices = array<i64: 5, -1>}> : (tensor<2x3xf32>) -> tensor<f32>
