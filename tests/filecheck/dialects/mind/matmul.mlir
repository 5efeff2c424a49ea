// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

func.func @matrices(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) {
  %0 = mind.matmul %x, %y : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  func.return
}
// CHECK-LABEL: func.func @matrices(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.matmul %x, %y : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "matrices"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.matmul"(%x, %y) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>

// Leading axes broadcast.
func.func @batches(%x: tensor<5x1x2x3xf64>, %y: tensor<6x3x4xf64>) {
  %0 = mind.matmul %x, %y : (tensor<5x1x2x3xf64>, tensor<6x3x4xf64>) -> tensor<5x6x2x4xf64>
  func.return
}
// CHECK-LABEL: func.func @batches(%x: tensor<5x1x2x3xf64>, %y: tensor<6x3x4xf64>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.matmul %x, %y : (tensor<5x1x2x3xf64>, tensor<6x3x4xf64>) -> tensor<5x6x2x4xf64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "batches"
// GENERIC-NEXT: ^bb0(%x: tensor<5x1x2x3xf64>, %y: tensor<6x3x4xf64>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.matmul"(%x, %y) : (tensor<5x1x2x3xf64>, tensor<6x3x4xf64>) -> tensor<5x6x2x4xf64>

func.func @shared_matrix(%x: tensor<2x3xi32>, %y: tensor<7x3x4xi32>) {
  %0 = mind.matmul %x, %y : (tensor<2x3xi32>, tensor<7x3x4xi32>) -> tensor<7x2x4xi32>
  func.return
}
// CHECK-LABEL: func.func @shared_matrix(%x: tensor<2x3xi32>, %y: tensor<7x3x4xi32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.matmul %x, %y : (tensor<2x3xi32>, tensor<7x3x4xi32>) -> tensor<7x2x4xi32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "shared_matrix"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3xi32>, %y: tensor<7x3x4xi32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.matmul"(%x, %y) : (tensor<2x3xi32>, tensor<7x3x4xi32>) -> tensor<7x2x4xi32>
