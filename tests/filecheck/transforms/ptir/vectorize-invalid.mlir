// RUN: mind-opt %s --lenient --vectorize="size=3 in-axes=0 out-axes=0" --split-input-file --print-diagnostics | filecheck %s

// CHECK: error[E7001]: in-axes has 1 entries, @two has 2 inputs
func.func @two(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %z = ptir.add %x, %y : tensor<3xf32>
  func.return %z : tensor<3xf32>
}

// -----

// CHECK: error[E5001]: Exp %z: has no batching rule; convert the function by mind-convert-to-ptir first
func.func @core(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = ptir.neg %x : tensor<3xf32>
  %z = mind.exp %y : tensor<3xf32>
  func.return %z : tensor<3xf32>
}

// -----

// CHECK: error[E5006]: a value of type tensor<?xf32> has a dimension without a name, expected a size or a name in its encoding
func.func @nameless(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = ptir.custom_call target = "tests.kernel.v1" attrs = {} : () -> tensor<?xf32>
  %z = ptir.add %x, %y : tensor<?xf32>
  func.return %z : tensor<?xf32>
}
