// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

func.func @one() {
  %0 = mind.const_f32 1.0 : tensor<f32>
  func.return
}
// CHECK-LABEL: func.func @one() {
// CHECK-NEXT:    [[R0:%\w+]] = mind.const_f32 1.0 : tensor<f32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "one"
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.const_f32"() <{value = 1.000000e+00 : f32}> : () -> tensor<f32>

// The shortest decimal that reads back.
func.func @shortest() {
  %0 = mind.const_f32 0.1 : tensor<f32>
  func.return
}
// CHECK-LABEL: func.func @shortest() {
// CHECK-NEXT:    [[R0:%\w+]] = mind.const_f32 0.1 : tensor<f32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "shortest"
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.const_f32"() <{value = 1.000000e-01 : f32}> : () -> tensor<f32>

func.func @small() {
  %0 = mind.const_f32 1.0e-07 : tensor<f32>
  func.return
}
// CHECK-LABEL: func.func @small() {
// CHECK-NEXT:    [[R0:%\w+]] = mind.const_f32 1.0e-07 : tensor<f32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "small"
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.const_f32"() <{value = 1.000000e-07 : f32}> : () -> tensor<f32>

// The sign of zero stays.
func.func @minus_zero() {
  %0 = mind.const_f32 -0.0 : tensor<f32>
  func.return
}
// CHECK-LABEL: func.func @minus_zero() {
// CHECK-NEXT:    [[R0:%\w+]] = mind.const_f32 -0.0 : tensor<f32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "minus_zero"
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.const_f32"() <{value = -0.000000e+00 : f32}> : () -> tensor<f32>

func.func @infinity() {
  %0 = mind.const_f32 inf : tensor<f32>
  func.return
}
// CHECK-LABEL: func.func @infinity() {
// CHECK-NEXT:    [[R0:%\w+]] = mind.const_f32 inf : tensor<f32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "infinity"
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.const_f32"() <{value = 0x7f800000 : f32}> : () -> tensor<f32>

func.func @minus_infinity() {
  %0 = mind.const_f32 -inf : tensor<f32>
  func.return
}
// CHECK-LABEL: func.func @minus_infinity() {
// CHECK-NEXT:    [[R0:%\w+]] = mind.const_f32 -inf : tensor<f32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "minus_infinity"
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.const_f32"() <{value = 0xff800000 : f32}> : () -> tensor<f32>

func.func @not_a_number() {
  %0 = mind.const_f32 nan : tensor<f32>
  func.return
}
// CHECK-LABEL: func.func @not_a_number() {
// CHECK-NEXT:    [[R0:%\w+]] = mind.const_f32 nan : tensor<f32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "not_a_number"
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.const_f32"() <{value = 0x7fc00000 : f32}> : () -> tensor<f32>

func.func @greatest() {
  %0 = mind.const_f32 3.4028234663852886e+38 : tensor<f32>
  func.return
}
// CHECK-LABEL: func.func @greatest() {
// CHECK-NEXT:    [[R0:%\w+]] = mind.const_f32 3.4028235e+38 : tensor<f32>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "greatest"
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.const_f32"() <{value = 3.40282347e+38 : f32}> : () -> tensor<f32>
