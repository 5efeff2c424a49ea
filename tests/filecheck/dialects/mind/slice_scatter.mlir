// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

func.func @steps(%u: tensor<2xf32>) {
  %0 = mind.slice_scatter %u shape = [5] starts = [1] steps = [2] : tensor<2xf32> -> tensor<5xf32>
  func.return
}
// CHECK-LABEL: func.func @steps(%u: tensor<2xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.slice_scatter %u shape = [5] starts = [1] steps = [2] : tensor<2xf32> -> tensor<5xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "steps"
// GENERIC-NEXT: ^bb0(%u: tensor<2xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.slice_scatter"(%u) <{shape = array<i64: 5>, starts = array<i64: 1>, steps = array<i64: 2>}> : (tensor<2xf32>) -> tensor<5xf32>

func.func @identity(%u: tensor<2xf32>) {
  %0 = mind.slice_scatter %u shape = [2] starts = [0] steps = [1] : tensor<2xf32>
  func.return
}
// CHECK-LABEL: func.func @identity(%u: tensor<2xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.slice_scatter %u shape = [2] starts = [0] steps = [1] : tensor<2xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "identity"
// GENERIC-NEXT: ^bb0(%u: tensor<2xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.slice_scatter"(%u) <{shape = array<i64: 2>, starts = array<i64: 0>, steps = array<i64: 1>}> : (tensor<2xf32>) -> tensor<2xf32>
