// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

func.func @one() {
  %0 = mind.const_f64 1.0 : tensor<f64>
  func.return
}
// CHECK-LABEL: func.func @one() {
// CHECK-NEXT:    [[R0:%\w+]] = mind.const_f64 1.0 : tensor<f64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "one"
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.const_f64"() <{value = 1.000000e+00 : f64}> : () -> tensor<f64>

// The shortest decimal that reads back.
func.func @shortest() {
  %0 = mind.const_f64 0.1 : tensor<f64>
  func.return
}
// CHECK-LABEL: func.func @shortest() {
// CHECK-NEXT:    [[R0:%\w+]] = mind.const_f64 0.1 : tensor<f64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "shortest"
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.const_f64"() <{value = 1.000000e-01 : f64}> : () -> tensor<f64>

func.func @small() {
  %0 = mind.const_f64 1.0e-07 : tensor<f64>
  func.return
}
// CHECK-LABEL: func.func @small() {
// CHECK-NEXT:    [[R0:%\w+]] = mind.const_f64 1.0e-07 : tensor<f64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "small"
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.const_f64"() <{value = 1.000000e-07 : f64}> : () -> tensor<f64>

// The sign of zero stays.
func.func @minus_zero() {
  %0 = mind.const_f64 -0.0 : tensor<f64>
  func.return
}
// CHECK-LABEL: func.func @minus_zero() {
// CHECK-NEXT:    [[R0:%\w+]] = mind.const_f64 -0.0 : tensor<f64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "minus_zero"
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.const_f64"() <{value = -0.000000e+00 : f64}> : () -> tensor<f64>

func.func @infinity() {
  %0 = mind.const_f64 inf : tensor<f64>
  func.return
}
// CHECK-LABEL: func.func @infinity() {
// CHECK-NEXT:    [[R0:%\w+]] = mind.const_f64 inf : tensor<f64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "infinity"
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.const_f64"() <{value = 0x7ff0000000000000 : f64}> : () -> tensor<f64>

func.func @minus_infinity() {
  %0 = mind.const_f64 -inf : tensor<f64>
  func.return
}
// CHECK-LABEL: func.func @minus_infinity() {
// CHECK-NEXT:    [[R0:%\w+]] = mind.const_f64 -inf : tensor<f64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "minus_infinity"
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.const_f64"() <{value = 0xfff0000000000000 : f64}> : () -> tensor<f64>

func.func @not_a_number() {
  %0 = mind.const_f64 nan : tensor<f64>
  func.return
}
// CHECK-LABEL: func.func @not_a_number() {
// CHECK-NEXT:    [[R0:%\w+]] = mind.const_f64 nan : tensor<f64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "not_a_number"
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.const_f64"() <{value = 0x7ff8000000000000 : f64}> : () -> tensor<f64>

func.func @greatest() {
  %0 = mind.const_f64 1.7976931348623157e+308 : tensor<f64>
  func.return
}
// CHECK-LABEL: func.func @greatest() {
// CHECK-NEXT:    [[R0:%\w+]] = mind.const_f64 1.7976931348623157e+308 : tensor<f64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "greatest"
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.const_f64"() <{value = 1.7976931348623157e+308 : f64}> : () -> tensor<f64>
