// RUN: MIND_INVALID

// CHECK: error[E3001]: Conv2dBackwardFilter %0: gradient has shape [1, 4, 3, 8], expected [1, 3, 3, 8]
func.func @gradient_shape(%x: tensor<1x5x5x3xf32>, %g: tensor<1x4x3x8xf32>) {
  %0 = mind.conv2d_backward_filter %x, %g shape = [3, 3, 3, 8] strides = [1, 1] padding = Valid : (tensor<1x5x5x3xf32>, tensor<1x4x3x8xf32>) -> tensor<3x3x3x8xf32>
  func.return
}

// -----

// CHECK: error[E3002]: Conv2dBackwardFilter %0: rank 3, expected 4 for the gradient
func.func @gradient_rank(%x: tensor<1x5x5x3xf32>, %g: tensor<3x3x8xf32>) {
  %0 = mind.conv2d_backward_filter %x, %g shape = [3, 3, 3, 8] strides = [1, 1] padding = Valid : (tensor<1x5x5x3xf32>, tensor<3x3x8xf32>) -> tensor<3x3x3x8xf32>
  func.return
}

// -----

// CHECK: error[E4009]: Conv2dBackwardFilter %0: input has 3 channels, filter has 4, expected equal
func.func @channels(%x: tensor<1x5x5x3xf32>, %g: tensor<1x3x3x8xf32>) {
  %0 = mind.conv2d_backward_filter %x, %g shape = [3, 3, 4, 8] strides = [1, 1] padding = Valid : (tensor<1x5x5x3xf32>, tensor<1x3x3x8xf32>) -> tensor<3x3x4x8xf32>
  func.return
}

// -----

// CHECK: error[E4010]: Conv2dBackwardFilter %0: strides [1], expected two positive numbers
func.func @strides(%x: tensor<1x5x5x3xf32>, %g: tensor<1x3x3x8xf32>) {
  %0 = mind.conv2d_backward_filter %x, %g shape = [3, 3, 3, 8] strides = [1] padding = Valid : (tensor<1x5x5x3xf32>, tensor<1x3x3x8xf32>) -> tensor<3x3x3x8xf32>
  func.return
}

// -----

// CHECK: error[E4013]: Conv2dBackwardFilter %0: padding Full, expected Valid, Same or Custom with two pairs of non-negative numbers
func.func @padding(%x: tensor<1x5x5x3xf32>, %g: tensor<1x3x3x8xf32>) {
  %0 = mind.conv2d_backward_filter %x, %g shape = [3, 3, 3, 8] strides = [1, 1] padding = Full : (tensor<1x5x5x3xf32>, tensor<1x3x3x8xf32>) -> tensor<3x3x3x8xf32>
  func.return
}

// -----

// CHECK: error[E2004]: Conv2dBackwardFilter %0: operands of dtypes f64 and f32, expected one dtype
func.func @mixed_dtypes(%x: tensor<1x5x5x3xf64>, %g: tensor<1x3x3x8xf32>) {
  %0 = mind.conv2d_backward_filter %x, %g shape = [3, 3, 3, 8] strides = [1, 1] padding = Valid : (tensor<1x5x5x3xf64>, tensor<1x3x3x8xf32>) -> tensor<3x3x3x8xf32>
  func.return
}

// -----

// CHECK: error[E4015]: Conv2dBackwardFilter %0: declared result tensor<3x3x3x9xf32>, inferred tensor<3x3x3x8xf32>
func.func @declared_shape(%x: tensor<1x5x5x3xf32>, %g: tensor<1x3x3x8xf32>) {
  %0 = mind.conv2d_backward_filter %x, %g shape = [3, 3, 3, 8] strides = [1, 1] padding = Valid : (tensor<1x5x5x3xf32>, tensor<1x3x3x8xf32>) -> tensor<3x3x3x9xf32>
  func.return
}

// -----

// CHECK: error[E4000]: Conv2dBackwardFilter %0: has attributes ['padding', 'strides'], expected ['padding', 'shape', 'strides']
func.func @no_shape(%x: tensor<1x5x5x3xf32>, %g: tensor<1x3x3x8xf32>) {
  %0 = mind.conv2d_backward_filter %x, %g strides = [1, 1] padding = Valid : (tensor<1x5x5x3xf32>, tensor<1x3x3x8xf32>) -> tensor<3x3x3x8xf32>
  func.return
}
