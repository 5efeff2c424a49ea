// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

func.func @vectors(%x: tensor<3xf32>, %y: tensor<3xf32>) {
  %0 = mind.dot %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  func.return
}
// CHECK-LABEL: func.func @vectors(%x: tensor<3xf32>, %y: tensor<3xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.dot %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "vectors"
// GENERIC-NEXT: ^bb0(%x: tensor<3xf32>, %y: tensor<3xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.dot"(%x, %y) : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>

func.func @matrix_vector(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
  %0 = mind.dot %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
  func.return
}
// CHECK-LABEL: func.func @matrix_vector(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.dot %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "matrix_vector"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3xf32>, %y: tensor<3xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.dot"(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>

func.func @vector_matrix(%x: tensor<3xf32>, %y: tensor<3x4xf32>) {
  %0 = mind.dot %x, %y : (tensor<3xf32>, tensor<3x4xf32>) -> tensor<4xf32>
  func.return
}
// CHECK-LABEL: func.func @vector_matrix(%x: tensor<3xf32>, %y: tensor<3x4xf32>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.dot %x, %y : (tensor<3xf32>, tensor<3x4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "vector_matrix"
// GENERIC-NEXT: ^bb0(%x: tensor<3xf32>, %y: tensor<3x4xf32>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.dot"(%x, %y) : (tensor<3xf32>, tensor<3x4xf32>) -> tensor<4xf32>

func.func @matrices(%x: tensor<2x3xi64>, %y: tensor<3x4xi64>) {
  %0 = mind.dot %x, %y : (tensor<2x3xi64>, tensor<3x4xi64>) -> tensor<2x4xi64>
  func.return
}
// CHECK-LABEL: func.func @matrices(%x: tensor<2x3xi64>, %y: tensor<3x4xi64>) {
// CHECK-NEXT:    [[R0:%\w+]] = mind.dot %x, %y : (tensor<2x3xi64>, tensor<3x4xi64>) -> tensor<2x4xi64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "matrices"
// GENERIC-NEXT: ^bb0(%x: tensor<2x3xi64>, %y: tensor<3x4xi64>):
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.dot"(%x, %y) : (tensor<2x3xi64>, tensor<3x4xi64>) -> tensor<2x4xi64>
