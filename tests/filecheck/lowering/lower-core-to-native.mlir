// RUN: mind-opt %s --lower-to-native | filecheck %s
// RUN: mind-opt %s --convert-mind-to-ptir --lower-to-native | filecheck %s

// Core IR becomes PTIR, whose module states its version.
// CHECK: builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// CHECK:      func.func @loss(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT:   [[E:%[a-z0-9]+]] = ptir.exp %x : tensor<2x3xf32>
// CHECK-NEXT:   func.return [[E]] : tensor<2x3xf32>
func.func @loss(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = mind.exp %x : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
