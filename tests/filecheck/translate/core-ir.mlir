// RUN: mind-opt %s -t core-ir | filecheck %s
// RUN: mind-opt %s -t core-ir | mind-opt -f core-ir -t core-ir | filecheck %s

// Several functions are sections; names come from mind.name, else from the text.
func.func @matmul(%x: tensor<2x3xf32>, %1: tensor<4x3x5xf32> {mind.name = "the weights"}) -> tensor<4x2x5xf32> {
  %2 = mind.matmul %x, %1 : (tensor<2x3xf32>, tensor<4x3x5xf32>) -> tensor<4x2x5xf32>
  %3 = mind.const_f32 2.0 : tensor<f32>
  %4 = mind.mul %2, %3 : (tensor<4x2x5xf32>, tensor<f32>) -> tensor<4x2x5xf32>
  func.return %4 : tensor<4x2x5xf32>
}
// CHECK:      # @matmul
// CHECK-NEXT: %0 = Input {name=x} : tensor<f32[2, 3]>
// CHECK-NEXT: %1 = Input {name="the weights"} : tensor<f32[4, 3, 5]>
// CHECK-NEXT: %2 = MatMul (%0, %1) : tensor<f32[4, 2, 5]>
// CHECK-NEXT: %3 = ConstF32 {value=2.0} : tensor<f32[]>
// CHECK-NEXT: %4 = Mul (%2, %3) : tensor<f32[4, 2, 5]>
// CHECK-NEXT: outputs: %4

// NaN, infinities, -0 and a fill survive.
func.func @constants() -> (tensor<4xf64>, tensor<9xi32>) {
  %0 = mind.constant [nan, -inf, -0.0, 1.0e-07] : tensor<4xf64>
  %1 = mind.constant fill 7 : tensor<9xi32>
  func.return %0, %1 : tensor<4xf64>, tensor<9xi32>
}
// CHECK:      # @constants
// CHECK-NEXT: %0 = ConstTensor {dtype=f64, shape=[4], value=[nan, -inf, -0.0, 1e-07]} : tensor<f64[4]>
// CHECK-NEXT: %1 = ConstTensor {dtype=i32, fill=7, shape=[9]} : tensor<i32[9]>
// CHECK-NEXT: outputs: %0, %1
