// RUN: mind-opt %s --lower-enzyme | filecheck %s
// RUN: xdsl-opt %s -p mind-lower-enzyme | filecheck %s
// RUN: mind-opt %s | mind-opt --lower-enzyme | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// The adjoints of results follow the arguments; results come first, then the adjoints of active arguments.
// CHECK:       func.func private @power_grad(%x: tensor<f64>, %n: tensor<si32>, %w: tensor<f64>, %cotangent: tensor<f64>
// CHECK:         func.return %y, [[DW:%\d+]] : tensor<f64>, tensor<f64>
// CHECK-LABEL: func.func @reverse
// CHECK-NEXT:    %y, %dw = func.call @power_grad(%x, %n, %w, %dy) :
// CHECK-NEXT:    func.return %y, %dw :
func.func private @power(%x: tensor<f64>, %n: tensor<si32>, %w: tensor<f64>) -> tensor<f64> {
  %a = ptir.sin %x : tensor<f64>
  %y = ptir.mul %a, %w : tensor<f64>
  func.return %y : tensor<f64>
}
func.func @reverse(%x: tensor<f64>, %n: tensor<si32>, %w: tensor<f64>, %dy: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
  %y, %dw = enzyme.autodiff @power(%x, %n, %w, %dy) {
    activity = [#enzyme<activity enzyme_const>, #enzyme<activity enzyme_const>, #enzyme<activity enzyme_active>],
    ret_activity = [#enzyme<activity enzyme_active>]
  } : (tensor<f64>, tensor<si32>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>)
  func.return %y, %dw : tensor<f64>, tensor<f64>
}

// A result that nobody needs is not computed.
// CHECK:       func.func private @both_grad(
// CHECK-NOT:     ptir.exp
// CHECK:         func.return [[DX:%\d+]] : tensor<f32>
// CHECK-LABEL: func.func @unneeded
// CHECK-NEXT:    %dx = func.call @both_grad(%x, %dy) : (tensor<f32>, tensor<f32>) -> tensor<f32>
func.func @both(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %y = ptir.exp %x : tensor<f32>
  %z = ptir.mul %x, %x : tensor<f32>
  func.return %y, %z : tensor<f32>, tensor<f32>
}
func.func @unneeded(%x: tensor<f32>, %dy: tensor<f32>) -> tensor<f32> {
  %dx = enzyme.autodiff @both(%x, %dy) <activity=[#enzyme.activity<enzyme_active>], ret_activity=[#enzyme.activity<enzyme_constnoneed>, #enzyme.activity<enzyme_activenoneed>]> : (tensor<f32>, tensor<f32>) -> tensor<f32>
  func.return %dx : tensor<f32>
}

// Forward mode: each argument that varies is followed by its tangent, each result by its own.
// CHECK:       func.func private @product_jvp(%a: tensor<f32>, %b: tensor<f32>, %a_tangent: tensor<f32>
// CHECK:         func.return %y, %y_tangent : tensor<f32>, tensor<f32>
// CHECK-LABEL: func.func @forward
// CHECK-NEXT:    %y, %dy = func.call @product_jvp(%a, %b, %da) : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
func.func private @product(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %y = ptir.mul %a, %b : tensor<f32>
  func.return %y : tensor<f32>
}
func.func @forward(%a: tensor<f32>, %da: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %y, %dy = enzyme.fwddiff @product(%a, %da, %b) <{
    activity = [#enzyme<activity enzyme_dup>, #enzyme<activity enzyme_const>], ret_activity = [#enzyme<activity enzyme_dup>]
  }> : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  func.return %y, %dy : tensor<f32>, tensor<f32>
}

// What asks for the same shares a function, what asks for something else has one of its own.
// CHECK-LABEL: func.func @again
// CHECK-NEXT:    %p, %dp = func.call @product_jvp(
// CHECK-NEXT:    %dq = func.call @product_jvp_1(
func.func @again(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %p, %dp = "enzyme.fwddiff"(%a, %a, %b) {
    fn = @product, activity = [#enzyme<activity enzyme_dup>, #enzyme<activity enzyme_const>], ret_activity = [#enzyme<activity enzyme_dup>]
  } : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  %dq = "enzyme.fwddiff"(%a, %b, %b) <{
    fn = @product, activity = [#enzyme<activity enzyme_const>, #enzyme<activity enzyme_dupnoneed>], ret_activity = [#enzyme<activity enzyme_dupnoneed>], width = 1 : i64, strong_zero = false
  }> : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  %r = ptir.add %dp, %dq : tensor<f32>
  func.return %r : tensor<f32>
}

// Enzyme's adjoints of complex numbers are the conjugates of ours.
// CHECK-LABEL: func.func @complex
// CHECK-NEXT:    [[G:%\d+]] = ptir.conj %dy : tensor<complex<f64>>
// CHECK-NEXT:    [[A:%\d+]] = func.call @square_grad(%x, [[G]]) : (tensor<complex<f64>>, tensor<complex<f64>>) -> tensor<complex<f64>>
// CHECK-NEXT:    %dx = ptir.conj [[A]] : tensor<complex<f64>>
// CHECK-NEXT:    func.return %dx
func.func private @square(%x: tensor<complex<f64>>) -> tensor<complex<f64>> {
  %y = ptir.mul %x, %x : tensor<complex<f64>>
  func.return %y : tensor<complex<f64>>
}
func.func @complex(%x: tensor<complex<f64>>, %dy: tensor<complex<f64>>) -> tensor<complex<f64>> {
  %dx = enzyme.autodiff @square(%x, %dy) {activity = [#enzyme<activity enzyme_active>], ret_activity = [#enzyme<activity enzyme_activenoneed>]} : (tensor<complex<f64>>, tensor<complex<f64>>) -> tensor<complex<f64>>
  func.return %dx : tensor<complex<f64>>
}
// CHECK-NOT: enzyme
}
