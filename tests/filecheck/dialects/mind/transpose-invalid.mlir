// RUN: MIND_INVALID

// CHECK: error[E3008]: Transpose %0: [0, 2, 2] is no permutation of the axes of rank 3: 2 is given twice
func.func @duplicate(%x: tensor<2x3x4xf32>) {
  %0 = mind.transpose %x permutation = [0, 2, 2] : tensor<2x3x4xf32> -> tensor<2x4x4xf32>
  func.return
}

// -----

// CHECK: error[E3008]: Transpose %0: [1, 0] is no permutation of the axes of rank 3: its length is 2
func.func @length(%x: tensor<2x3x4xf32>) {
  %0 = mind.transpose %x permutation = [1, 0] : tensor<2x3x4xf32> -> tensor<3x2xf32>
  func.return
}

// -----

// CHECK: error[E3008]: Transpose %0: [0, 1, 3] is no permutation of the axes of rank 3: 3 is out of range
func.func @range(%x: tensor<2x3x4xf32>) {
  %0 = mind.transpose %x permutation = [0, 1, 3] : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  func.return
}

// -----

// CHECK: error[E3008]: Transpose %0: [0, 1, -1] is no permutation of the axes of rank 3: -1 is out of range
func.func @negative(%x: tensor<2x3x4xf32>) attributes {mind.profile = "core-v1.1"} {
  %0 = mind.transpose %x permutation = [0, 1, -1] : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  func.return
}

// -----

// CHECK: error[E4015]: Transpose %0: declared result tensor<4x3x2xf32>, inferred tensor<4x2x3xf32>
func.func @declared_shape(%x: tensor<2x3x4xf32>) {
  %0 = mind.transpose %x permutation = [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x3x2xf32>
  func.return
}

// -----

// CHECK: error[E4000]: Transpose %0: has attributes [], expected ['permutation']
func.func @no_permutation(%x: tensor<2x3x4xf32>) {
  %0 = mind.transpose %x : tensor<2x3x4xf32>
  func.return
}
