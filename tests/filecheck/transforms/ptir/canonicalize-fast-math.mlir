// RUN: mind-opt %s --ptir-canonicalize=fast-math | filecheck %s
// RUN: mind-opt %s --ptir-canonicalize | filecheck %s --check-prefix=EXACT

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// CHECK-LABEL: func.func @times_zero
// CHECK-NEXT:    %[[Z:.*]] = ptir.constant fill 0.0 : tensor<4xf32>
// CHECK-NEXT:    func.return %[[Z]] : tensor<4xf32>
// EXACT-LABEL: func.func @times_zero
// EXACT:         ptir.mul
func.func @times_zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %z = ptir.constant fill 0.0 : tensor<4xf32>
  %r = ptir.mul %x, %z : tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @divided_by_three
// CHECK-NEXT:    %[[C:.*]] = ptir.constant fill 0.33333334 : tensor<4xf32>
// CHECK-NEXT:    %[[R:.*]] = ptir.mul %{{.*}}, %[[C]] : tensor<4xf32>
// EXACT-LABEL: func.func @divided_by_three
// EXACT:         ptir.div
func.func @divided_by_three(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = ptir.constant fill 3.0 : tensor<4xf32>
  %r = ptir.div %x, %c : tensor<4xf32>
  func.return %r : tensor<4xf32>
}

}
