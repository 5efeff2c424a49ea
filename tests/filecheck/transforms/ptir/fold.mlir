// RUN: mind-opt %s --ptir-fold | filecheck %s
// RUN: xdsl-opt %s -p mind-ptir-fold | filecheck %s
// RUN: mind-opt %s --ptir-fold=limit=2 | filecheck %s --check-prefix=SMALL

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// One op of IEEE 754 after the other; casts saturate, NaN becomes 0.
// CHECK-LABEL: func.func @numbers
// CHECK-NEXT:    %[[R:.*]] = ptir.constant [127, 0, -3] : tensor<3xsi8>
// CHECK-NEXT:    func.return %[[R]] : tensor<3xsi8>
// SMALL-LABEL: func.func @numbers
// SMALL:         ptir.neg
func.func @numbers() -> tensor<3xsi8> {
  %a = ptir.constant [-1.0e30, nan, 3.5] : tensor<3xf32>
  %b = ptir.neg %a : tensor<3xf32>
  %c = ptir.cast %b dtype = si8 : tensor<3xf32> -> tensor<3xsi8>
  func.return %c : tensor<3xsi8>
}

// What fails when it runs still does.
// CHECK-LABEL: func.func @division_by_zero
// CHECK:         ptir.div
// SMALL-LABEL: func.func @division_by_zero
// SMALL:         ptir.div
func.func @division_by_zero() -> tensor<2xsi32> {
  %a = ptir.constant [1, 2] : tensor<2xsi32>
  %b = ptir.constant [1, 0] : tensor<2xsi32>
  %c = ptir.div %a, %b : tensor<2xsi32>
  func.return %c : tensor<2xsi32>
}

}
