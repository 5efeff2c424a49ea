// RUN: mind-opt %s --ptir-expand-digamma | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// CHECK-LABEL: func.func @digamma
// CHECK-NEXT:  [[X:%[a-z0-9_.]+]] = ptir.cast %x dtype = f64 : tensor<3xf32> -> tensor<3xf64>
// CHECK-NOT:   ptir.digamma
// CHECK:       [[L:%[a-z0-9_.]+]] = ptir.log
// CHECK:       [[Y:%[a-z0-9_.]+]] = ptir.cast {{%[a-z0-9_.]+}} dtype = f32 : tensor<3xf64> -> tensor<3xf32>
// CHECK-NEXT:  func.return [[Y]] : tensor<3xf32>
func.func @digamma(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = ptir.digamma %x : tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// CHECK-LABEL: func.func @unknown
// CHECK-NEXT:  %y = ptir.digamma %x : tensor<?xf32, "N">
func.func @unknown(%x: tensor<?xf32, "N">) -> tensor<?xf32, "N"> {
  %y = ptir.digamma %x : tensor<?xf32, "N">
  func.return %y : tensor<?xf32, "N">
}
}
