// RUN: mind-opt %s --convert-ptir-to-linalg --print-diagnostics --split-input-file | filecheck %s
// RUN: mind-opt %s --convert-ptir-to-linalg="assume-in-range" --print-diagnostics --split-input-file | filecheck %s --check-prefix=PROMISED

// Everything that cannot be said is in one error, with its place.
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @several(%x: tensor<?xf32, "B">, %s: tensor<3xsi32>) -> tensor<3xsi32> {
    %k = ptir.sort %s axis = 0 descending = false : tensor<3xsi32>
    %n = ptir.fusion %k : tensor<3xsi32> body {
    ^bb0(%a: tensor<3xsi32>):
      %q = ptir.div %a, %a : tensor<3xsi32>
      ptir.yield %q : tensor<3xsi32>
    }
    func.return %n : tensor<3xsi32>
  }
}
// CHECK:      error[E8008]: linalg cannot express 3 things of this program:
// CHECK-SAME: (1) @several: parameter 0: dynamic dimensions are not allowed: tensor<?xf32, "B">
// CHECK-SAME: (2) @several, op 0 (ptir.sort): operation ptir.sort is not allowed: linalg has no sort
// CHECK-SAME: (3) @several, op 1.body.0 (ptir.div): operation ptir.div is not allowed: an integer divisor of 0 must be rejected
// PROMISED:   error[E8008]: linalg cannot express 2 things of this program:

// -----

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @rows(%x: tensor<4x2xf32>, %i: tensor<3xsi32>) -> tensor<3x2xf32> {
    %y = ptir.take %x, %i : (tensor<4x2xf32>, tensor<3xsi32>) -> tensor<3x2xf32>
    func.return %y : tensor<3x2xf32>
  }
}
// CHECK:      error[E8008]: linalg cannot express 1 thing of this program:
// CHECK-SAME: (1) @rows, op 0 (ptir.take): operation ptir.take is not allowed: an index out of range must be rejected
// PROMISED-LABEL: func.func @rows
// PROMISED:         tensor.extract %x[
