// RUN: MIND_INVALID

// CHECK: error[E4007]: SliceScatter %0: starts, updates, steps have ranks (1, 1, 1), expected 2 each
func.func @lengths(%u: tensor<2xf32>) {
  %0 = mind.slice_scatter %u shape = [5, 5] starts = [1] steps = [2] : tensor<2xf32> -> tensor<5x5xf32>
  func.return
}

// -----

// CHECK: error[E4008]: SliceScatter %0: step 0 at dimension 0, expected positive
func.func @step_0(%u: tensor<2xf32>) {
  %0 = mind.slice_scatter %u shape = [5] starts = [1] steps = [0] : tensor<2xf32> -> tensor<5xf32>
  func.return
}

// -----

// CHECK: error[E4012]: SliceScatter %0: updates reach from 3 to 5 at dimension 0 of extent 5
func.func @beyond(%u: tensor<2xf32>) {
  %0 = mind.slice_scatter %u shape = [5] starts = [3] steps = [2] : tensor<2xf32> -> tensor<5xf32>
  func.return
}

// -----

// CHECK: error[E4012]: SliceScatter %0: updates reach from -1 to 1 at dimension 0 of extent 5
func.func @negative_start(%u: tensor<2xf32>) {
  %0 = mind.slice_scatter %u shape = [5] starts = [-1] steps = [2] : tensor<2xf32> -> tensor<5xf32>
  func.return
}

// -----

// CHECK: error[E4015]: SliceScatter %0: declared result tensor<4xf32>, inferred tensor<5xf32>
func.func @declared_shape(%u: tensor<2xf32>) {
  %0 = mind.slice_scatter %u shape = [5] starts = [1] steps = [2] : tensor<2xf32> -> tensor<4xf32>
  func.return
}
