// RUN: mind-opt %s --autodiff --split-input-file --print-diagnostics | filecheck %s

// CHECK: error[E5004]: the loss has shape [3], expected rank 0, or seed=ones or seed=cotangent
func.func @vector(%x: tensor<3xf64>) -> tensor<3xf64> {
  %y = mind.neg %x : tensor<3xf64>
  func.return %y : tensor<3xf64>
}

// -----

// CHECK: error[E5001]: Conv2d %c: cannot be differentiated: core-v1 lists Conv2d as unsupported; profile core-v1.1 differentiates it
func.func @convolution(%x: tensor<1x2x2x1xf64>, %w: tensor<2x2x1x1xf64>) -> tensor<f64> {
  %c = mind.conv2d %x, %w strides = [1, 1] padding = Valid : (tensor<1x2x2x1xf64>, tensor<2x2x1x1xf64>) -> tensor<1x1x1x1xf64>
  %y = mind.sum %c axes = [] keepdims = false : tensor<1x1x1x1xf64> -> tensor<f64>
  func.return %y : tensor<f64>
}

// -----

// CHECK: error[E5005]: cannot differentiate an output of type tensor<i32>, expected floating-point numbers
func.func @integers(%x: tensor<i32>) -> tensor<i32> {
  %y = mind.mul %x, %x : tensor<i32>
  func.return %y : tensor<i32>
}

// -----

// CHECK: error[E7001]: @two has 2 outputs, choose one with output=0 to output=1
func.func @two(%x: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
  %y = mind.exp %x : tensor<f64>
  func.return %x, %y : tensor<f64>, tensor<f64>
}

// -----

// CHECK: error[E5001]: arith.constant %c: cannot be differentiated: it is no op of Core IR
func.func @mixed(%x: tensor<f64>) -> tensor<f64> {
  %y = mind.exp %x : tensor<f64>
  %c = arith.constant 1 : i32
  func.return %y : tensor<f64>
}
