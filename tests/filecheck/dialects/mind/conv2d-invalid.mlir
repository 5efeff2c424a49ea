// RUN: MIND_INVALID

// CHECK: error[E3002]: Conv2d %0: rank 3, expected 4
func.func @rank(%x: tensor<5x5x3xf32>, %w: tensor<3x3x3x8xf32>) {
  %0 = mind.conv2d %x, %w strides = [1, 1] padding = Valid : (tensor<5x5x3xf32>, tensor<3x3x3x8xf32>) -> tensor<3x3x8xf32>
  func.return
}

// -----

// CHECK: error[E3002]: Conv2d %0: rank 3, expected 4
func.func @filter_rank(%x: tensor<1x5x5x3xf32>, %w: tensor<3x3x3xf32>) {
  %0 = mind.conv2d %x, %w strides = [1, 1] padding = Valid : (tensor<1x5x5x3xf32>, tensor<3x3x3xf32>) -> tensor<1x3x3x3xf32>
  func.return
}

// -----

// CHECK: error[E4009]: Conv2d %0: input has 3 channels, filter has 4, expected equal
func.func @channels(%x: tensor<1x5x5x3xf32>, %w: tensor<3x3x4x8xf32>) {
  %0 = mind.conv2d %x, %w strides = [1, 1] padding = Valid : (tensor<1x5x5x3xf32>, tensor<3x3x4x8xf32>) -> tensor<1x3x3x8xf32>
  func.return
}

// -----

// CHECK: error[E4010]: Conv2d %0: strides [1], expected two positive numbers
func.func @strides_length(%x: tensor<1x5x5x3xf32>, %w: tensor<3x3x3x8xf32>) {
  %0 = mind.conv2d %x, %w strides = [1] padding = Valid : (tensor<1x5x5x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x3x3x8xf32>
  func.return
}

// -----

// CHECK: error[E4010]: Conv2d %0: strides [1, 0], expected two positive numbers
func.func @stride_0(%x: tensor<1x5x5x3xf32>, %w: tensor<3x3x3x8xf32>) {
  %0 = mind.conv2d %x, %w strides = [1, 0] padding = Valid : (tensor<1x5x5x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x3x3x8xf32>
  func.return
}

// -----

// CHECK: error[E4013]: Conv2d %0: padding Full, expected Valid, Same or Custom with two pairs of non-negative numbers
func.func @padding_name(%x: tensor<1x5x5x3xf32>, %w: tensor<3x3x3x8xf32>) {
  %0 = mind.conv2d %x, %w strides = [1, 1] padding = Full : (tensor<1x5x5x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x3x3x8xf32>
  func.return
}

// -----

// CHECK: error[E4013]: padding {{\[\[}}1, 1]], expected Valid, Same or {{\[\[}}top, bottom], [left, right]]
func.func @padding_length(%x: tensor<1x5x5x3xf32>, %w: tensor<3x3x3x8xf32>) {
  %0 = mind.conv2d %x, %w strides = [1, 1] padding = [[1, 1]] : (tensor<1x5x5x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x3x3x8xf32>
  func.return
}

// -----

// CHECK: error[E4013]: Conv2d %0: padding ((-1, 0), (0, 0)), expected Valid, Same or Custom with two pairs of non-negative numbers
func.func @padding_negative(%x: tensor<1x5x5x3xf32>, %w: tensor<3x3x3x8xf32>) {
  %0 = mind.conv2d %x, %w strides = [1, 1] padding = [[-1, 0], [0, 0]] : (tensor<1x5x5x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x3x3x8xf32>
  func.return
}

// -----

// CHECK: error[E3006]: Conv2d %0: output extent -1 at 1: input [1, 5, 5, 3] with padding (0, 0) under a filter [7, 3, 3, 8]
func.func @filter_too_large(%x: tensor<1x5x5x3xf32>, %w: tensor<7x3x3x8xf32>) {
  %0 = mind.conv2d %x, %w strides = [1, 1] padding = Valid : (tensor<1x5x5x3xf32>, tensor<7x3x3x8xf32>) -> tensor<1x1x3x8xf32>
  func.return
}

// -----

// CHECK: error[E2004]: Conv2d %0: operands of dtypes f32 and f64, expected one dtype
func.func @mixed_dtypes(%x: tensor<1x5x5x3xf32>, %w: tensor<3x3x3x8xf64>) {
  %0 = mind.conv2d %x, %w strides = [1, 1] padding = Valid : (tensor<1x5x5x3xf32>, tensor<3x3x3x8xf64>) -> tensor<1x3x3x8xf32>
  func.return
}

// -----

// CHECK: error[E4015]: Conv2d %0: declared result tensor<1x5x5x8xf32>, inferred tensor<1x3x3x8xf32>
func.func @declared_shape(%x: tensor<1x5x5x3xf32>, %w: tensor<3x3x3x8xf32>) {
  %0 = mind.conv2d %x, %w strides = [1, 1] padding = Valid : (tensor<1x5x5x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x5x5x8xf32>
  func.return
}

// -----

// CHECK: error[E4000]: Conv2d %0: has attributes ['strides'], expected ['padding', 'strides']
func.func @no_padding(%x: tensor<1x5x5x3xf32>, %w: tensor<3x3x3x8xf32>) {
  %0 = mind.conv2d %x, %w strides = [1, 1] : (tensor<1x5x5x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x3x3x8xf32>
  func.return
}
