// RUN: mind-opt %s --convert-stablehlo-to-ptir | filecheck %s

// Integers get a sign, a reduction its kind, and conversions wrap.
// CHECK:       func.func @main(%x: tensor<2x3xf32>, %n: tensor<si32>) -> (tensor<2xf32>, tensor<si8>) {
// CHECK-NEXT:    %[[ZERO:.*]] = ptir.constant 0.0 : tensor<f32>
// CHECK-NEXT:    %[[Y:.*]] = ptir.tanh %x : tensor<2x3xf32>
// CHECK-NEXT:    %[[SUM:.*]] = ptir.reduce %[[Y]] kind = sum axes = [1] keepdims = false : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT:    %[[SMALL:.*]] = ptir.truncate %n dtype = si8 : tensor<si32> -> tensor<si8>
// CHECK-NEXT:    func.return %[[SUM]], %[[SMALL]] : tensor<2xf32>, tensor<si8>
func.func @main(%x: tensor<2x3xf32>, %n: tensor<i32>) -> (tensor<2xf32>, tensor<i8>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.tanh %x : tensor<2x3xf32>
  %sum = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %small = stablehlo.convert %n : (tensor<i32>) -> tensor<i8>
  return %sum, %small : tensor<2xf32>, tensor<i8>
}
