// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

func.func @element(%u: tensor<f32>) {
  %0 = mind.index_scatter %u shape = [3, 4] indices = [2, 1] : tensor<f32> -> tensor<3x4xf32>
  func.return
}
// CHECK-LABEL: func.func @element(%u: tensor<f32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.index_scatter %u shape = [3, 4] indices = [2, 1] : tensor<f32> -> tensor<3x4xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "element"
// GENERIC-NEXT: ^bb0(%u: tensor<f32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.index_scatter"(%u) <{shape = array<i64: 3, 4>, indices = array<i64: 2, 1>}> : (tensor<f32>) -> tensor<3x4xf32>

func.func @rank_0(%u: tensor<f32>) {
  %0 = mind.index_scatter %u shape = [] indices = [] : tensor<f32>
  func.return
}
// CHECK-LABEL: func.func @rank_0(%u: tensor<f32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.index_scatter %u shape = [] indices = [] : tensor<f32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "rank_0"
// GENERIC-NEXT: ^bb0(%u: tensor<f32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.index_scatter"(%u) <{shape = array<i64>, indices = array<i64>}> : (tensor<f32>) -> tensor<f32>
