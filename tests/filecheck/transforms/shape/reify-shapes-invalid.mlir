// RUN: mind-opt %s --reify-shapes="mode=outline" --print-diagnostics --split-input-file | filecheck %s

// CHECK: error[E7001]: mode 'outline', expected inline or func
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = mind.exp %x : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
