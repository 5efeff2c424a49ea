// RUN: mind-opt %s --print-diagnostics --split-input-file | filecheck %s

func.func @unknown(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = xp.call "os.system"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  xp.return %y : tensor<2xf32>
}
// CHECK: error[E4000]: xp.call: unknown function 'os.system', expected one of

// -----

func.func @name(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = xp.call "xp.exp"(%x) with {"x=1);import os#" = false} : (tensor<2xf32>) -> tensor<2xf32>
  xp.return %y : tensor<2xf32>
}
// CHECK: error[E4000]: xp.call: argument name 'x=1);import os#', expected a lower-case identifier

// -----

func.func @freed(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = xp.call "xp.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  xp.free %y : tensor<2xf32>
  xp.return %y : tensor<2xf32>
}
// CHECK: error[E4001]: xp.return: uses a value after xp.free

// -----

func.func @input(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = xp.call "xp.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  xp.free %x : tensor<2xf32>
  xp.return %y : tensor<2xf32>
}
// CHECK: error[E4001]: xp.free: frees an input or a constant

// -----

func.func @result(%x: tensor<2xf32>) -> tensor<3xf32> {
  xp.return %x : tensor<2xf32>
}
// CHECK: error[E2001]: xp.return: returns ['tensor<2xf32>'], declares ['tensor<3xf32>']

// -----

func.func @into_another_type(%x: tensor<2xf32>, %y: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %z = xp.call "xp.add"(%x, %y) into 0 : i64 : (tensor<2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  xp.return %z : tensor<3x2xf32>
}
// CHECK: error[E8002]: xp.call: xp.add into 0 : i64, expected the number of an operand of the result's type

// -----

func.func @into_by_a_product(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %z = xp.call "xp.matmul"(%x, %x) into 0 : i64 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  xp.return %z : tensor<2x2xf32>
}
// CHECK: error[E8002]: xp.call: xp.matmul into 0 : i64, expected the number of an operand of the result's type, of an elementwise

// -----

func.func @into_a_constant(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = xp.call "k.constant"() with {value = #ptir.literal<[1.0, 2.0] : tensor<2xf32>>} : () -> tensor<2xf32>
  %z = xp.call "xp.add"(%x, %c) into 1 : i64 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  xp.return %z : tensor<2xf32>
}
// CHECK: error[E8002]: xp.call: xp.add into a result of k.constant, which is shared
