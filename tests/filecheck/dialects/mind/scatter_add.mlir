// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

func.func @rows(%i: tensor<2xi64>, %u: tensor<2x3xf32>) {
  %0 = mind.scatter_add %i, %u shape = [5, 3] : (tensor<2xi64>, tensor<2x3xf32>) -> tensor<5x3xf32>
  func.return
}
// CHECK-LABEL: func.func @rows(%i: tensor<2xi64>, %u: tensor<2x3xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.scatter_add %i, %u shape = [5, 3] : (tensor<2xi64>, tensor<2x3xf32>) -> tensor<5x3xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "rows"
// GENERIC-NEXT: ^bb0(%i: tensor<2xi64>, %u: tensor<2x3xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.scatter_add"(%i, %u) <{shape = array<i64: 5, 3>}> : (tensor<2xi64>, tensor<2x3xf32>) -> tensor<5x3xf32>

func.func @one_row(%i: tensor<i32>, %u: tensor<3xf64>) {
  %0 = mind.scatter_add %i, %u shape = [5, 3] : (tensor<i32>, tensor<3xf64>) -> tensor<5x3xf64>
  func.return
}
// CHECK-LABEL: func.func @one_row(%i: tensor<i32>, %u: tensor<3xf64>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.scatter_add %i, %u shape = [5, 3] : (tensor<i32>, tensor<3xf64>) -> tensor<5x3xf64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "one_row"
// GENERIC-NEXT: ^bb0(%i: tensor<i32>, %u: tensor<3xf64>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.scatter_add"(%i, %u) <{shape = array<i64: 5, 3>}> : (tensor<i32>, tensor<3xf64>) -> tensor<5x3xf64>
