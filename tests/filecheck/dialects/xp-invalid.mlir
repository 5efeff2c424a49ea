// RUN: mind-opt %s --verify-diagnostics --split-input-file | filecheck %s

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
// CHECK: error[E2001]: xp.return: returns ['tensor<2xf32>'], declared are ['tensor<3xf32>']
