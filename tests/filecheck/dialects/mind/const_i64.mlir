// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

func.func @zero() {
  %0 = mind.const_i64 0 : tensor<i64>
  func.return
}
// CHECK-LABEL: func.func @zero() {
// CHECK-NEXT:    [[R0:%\w+]] = mind.const_i64 0 : tensor<i64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "zero"
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.const_i64"() <{value = 0 : i64}> : () -> tensor<i64>

func.func @least() {
  %0 = mind.const_i64 -9223372036854775808 : tensor<i64>
  func.return
}
// CHECK-LABEL: func.func @least() {
// CHECK-NEXT:    [[R0:%\w+]] = mind.const_i64 -9223372036854775808 : tensor<i64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "least"
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.const_i64"() <{value = -9223372036854775808 : i64}> : () -> tensor<i64>

func.func @greatest() {
  %0 = mind.const_i64 9223372036854775807 : tensor<i64>
  func.return
}
// CHECK-LABEL: func.func @greatest() {
// CHECK-NEXT:    [[R0:%\w+]] = mind.const_i64 9223372036854775807 : tensor<i64>
// CHECK-NEXT:    func.return
// GENERIC: sym_name = "greatest"
// GENERIC-NEXT:    [[R0:%\w+]] = "mind.const_i64"() <{value = 9223372036854775807 : i64}> : () -> tensor<i64>
