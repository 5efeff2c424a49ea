// RUN: MIND_INVALID

// CHECK: error[E4007]: Slice %0: 2/1/2 starts/ends/steps for rank 2, expected 2 each
func.func @lengths(%x: tensor<4x6xf32>) {
  %0 = mind.slice %x starts = [0, 0] ends = [4] steps = [1, 1] : tensor<4x6xf32> -> tensor<4x6xf32>
  func.return
}

// -----

// CHECK: error[E4008]: Slice %0: step 0 at dimension 1, expected positive
func.func @step_0(%x: tensor<4x6xf32>) {
  %0 = mind.slice %x starts = [0, 0] ends = [4, 6] steps = [1, 0] : tensor<4x6xf32> -> tensor<4x6xf32>
  func.return
}

// -----

// CHECK: error[E4008]: Slice %0: step -1 at dimension 0, expected positive
func.func @step_negative(%x: tensor<4x6xf32>) attributes {mind.profile = "core-v1.1"} {
  %0 = mind.slice %x starts = [0, 0] ends = [4, 6] steps = [-1, 1] : tensor<4x6xf32> -> tensor<4x6xf32>
  func.return
}

// -----

// CHECK: error[E4012]: Slice %0: bounds 0:5 at dimension 0 of extent 4, expected 0 <= start and 0 <= end <= 4
func.func @end(%x: tensor<4x6xf32>) {
  %0 = mind.slice %x starts = [0, 0] ends = [5, 6] steps = [1, 1] : tensor<4x6xf32> -> tensor<5x6xf32>
  func.return
}

// -----

// CHECK: error[E4012]: Slice %0: bounds -1:4 at dimension 0 of extent 4, expected 0 <= start and 0 <= end <= 4
func.func @negative_start(%x: tensor<4x6xf32>) {
  %0 = mind.slice %x starts = [-1, 0] ends = [4, 6] steps = [1, 1] : tensor<4x6xf32> -> tensor<4x6xf32>
  func.return
}

// -----

// CHECK: error[E4015]: Slice %0: declared result tensor<3x2xf32>, inferred tensor<2x2xf32>
func.func @declared_shape(%x: tensor<4x6xf32>) {
  %0 = mind.slice %x starts = [1, 0] ends = [4, 6] steps = [2, 4] : tensor<4x6xf32> -> tensor<3x2xf32>
  func.return
}

// -----

// CHECK: error[E4000]: Slice %0: has attributes ['ends', 'starts'], expected ['ends', 'starts', 'steps']
func.func @no_steps(%x: tensor<4x6xf32>) {
  %0 = mind.slice %x starts = [0, 0] ends = [4, 6] : tensor<4x6xf32>
  func.return
}
