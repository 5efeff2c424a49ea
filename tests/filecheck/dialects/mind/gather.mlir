// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

func.func @rows(%x: tensor<5x3xf32>, %i: tensor<2x4xi64>) {
  %0 = mind.gather %x, %i : (tensor<5x3xf32>, tensor<2x4xi64>) -> tensor<2x4x3xf32>
  func.return
}
// CHECK-LABEL: func.func @rows(%x: tensor<5x3xf32>, %i: tensor<2x4xi64>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.gather %x, %i : (tensor<5x3xf32>, tensor<2x4xi64>) -> tensor<2x4x3xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "rows"
// GENERIC-NEXT: ^bb0(%x: tensor<5x3xf32>, %i: tensor<2x4xi64>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.gather"(%x, %i) : (tensor<5x3xf32>, tensor<2x4xi64>) -> tensor<2x4x3xf32>

// Indices of rank 0 pick one row.
func.func @one_row(%x: tensor<5x3xf32>, %i: tensor<i32>) {
  %0 = mind.gather %x, %i : (tensor<5x3xf32>, tensor<i32>) -> tensor<3xf32>
  func.return
}
// CHECK-LABEL: func.func @one_row(%x: tensor<5x3xf32>, %i: tensor<i32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.gather %x, %i : (tensor<5x3xf32>, tensor<i32>) -> tensor<3xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "one_row"
// GENERIC-NEXT: ^bb0(%x: tensor<5x3xf32>, %i: tensor<i32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.gather"(%x, %i) : (tensor<5x3xf32>, tensor<i32>) -> tensor<3xf32>

func.func @vector(%x: tensor<5xi64>, %i: tensor<2xi32>) {
  %0 = mind.gather %x, %i : (tensor<5xi64>, tensor<2xi32>) -> tensor<2xi64>
  func.return
}
// CHECK-LABEL: func.func @vector(%x: tensor<5xi64>, %i: tensor<2xi32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.gather %x, %i : (tensor<5xi64>, tensor<2xi32>) -> tensor<2xi64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "vector"
// GENERIC-NEXT: ^bb0(%x: tensor<5xi64>, %i: tensor<2xi32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.gather"(%x, %i) : (tensor<5xi64>, tensor<2xi32>) -> tensor<2xi64>
