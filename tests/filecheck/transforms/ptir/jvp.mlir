// RUN: mind-opt %s --jvp="wrt=x" | filecheck %s
// RUN: xdsl-opt %s -p 'mind-jvp{wrt="x"}' | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// A tangent for the input that varies; nothing is computed for what does not.
// CHECK-LABEL: func.func @plain_jvp(%x: tensor<3xf32>, %w: tensor<3xf32>, %x_tangent: tensor<3xf32> {mind.name = "x_tangent"})
// CHECK-NEXT:    %e = ptir.exp %x : tensor<3xf32>
// CHECK-NEXT:    [[E:%\d+]] = ptir.mul %x_tangent, %e : tensor<3xf32>
// CHECK-NEXT:    %v = ptir.exp %w : tensor<3xf32>
// CHECK-NEXT:    %y = ptir.mul %e, %v : tensor<3xf32>
// CHECK-NEXT:    %y_tangent = ptir.mul [[E]], %v : tensor<3xf32>
// CHECK-NEXT:    func.return %y, %y_tangent : tensor<3xf32>, tensor<3xf32>
func.func @plain(%x: tensor<3xf32>, %w: tensor<3xf32>) -> tensor<3xf32> {
  %e = ptir.exp %x : tensor<3xf32>
  %v = ptir.exp %w : tensor<3xf32>
  %y = ptir.mul %e, %v : tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// One scan carries values and tangents; the tangent of a carried value that starts without one is zero.
// CHECK-LABEL: func.func @loop_jvp
// CHECK-NEXT:    [[ZERO:%\d+]] = ptir.constant 0.0 : tensor<f32>
// CHECK-NEXT:    %r, %r_tangent = ptir.scan %h, [[ZERO]], %x, %x_tangent carry_count = 2 scan_output_count = 0
// CHECK-NEXT:    ^bb0(%s: tensor<f32>, [[ST:%\d+]]: tensor<f32>, %v: tensor<f32>, [[VT:%\d+]]: tensor<f32>):
// CHECK-NEXT:      %n = ptir.mul %s, %v : tensor<f32>
// CHECK:           ptir.yield %n, [[NT:%\d+]] : tensor<f32>, tensor<f32>
// CHECK:         func.return %r, %r_tangent :
func.func @loop(%h: tensor<f32>, %x: tensor<4xf32>) -> tensor<f32> {
  %r = ptir.scan %h, %x carry_count = 1 scan_output_count = 0 : (tensor<f32>, tensor<4xf32>) -> tensor<f32> body {
  ^bb0(%s: tensor<f32>, %v: tensor<f32>):
    %n = ptir.mul %s, %v : tensor<f32>
    ptir.yield %n : tensor<f32>
  }
  func.return %r : tensor<f32>
}
}
