// RUN: mind-opt %s --lower-to-numpy --print-diagnostics --split-input-file | filecheck %s
// RUN: mind-opt %s -t numpy --print-diagnostics --split-input-file | filecheck %s

// Core IR among ops of other dialects is refused, by the name of the first.
func.func @mixture(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = mind.exp %x : tensor<2xf32>
  %i = "test.op"() : () -> index
  func.return %y : tensor<2xf32>
}
// CHECK: error[E4000]: @mixture is not one flat block of Core IR: found test.op

// -----

func.func @nothing(%x: tensor<2xf32>) {
  %y = mind.exp %x : tensor<2xf32>
  func.return
}
// CHECK: error[E2007]: func.return: a function to be run returns at least 1 value, found 0
