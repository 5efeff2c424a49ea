// RUN: MIND_INVALID

// CHECK: error[E3001]: BroadcastTo %0: cannot broadcast [3, 1] to [4, 4]: 3 and 4 at dimension 0
func.func @extent(%x: tensor<3x1xf32>) {
  %0 = mind.broadcast_to %x shape = [4, 4] : tensor<3x1xf32> -> tensor<4x4xf32>
  func.return
}

// -----

// CHECK: error[E3002]: BroadcastTo %0: rank 2, expected at most 1
func.func @rank(%x: tensor<3x1xf32>) {
  %0 = mind.broadcast_to %x shape = [3] : tensor<3x1xf32> -> tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E3006]: BroadcastTo %0: extent -1 at 1 in [3, -1], expected non-negative
func.func @negative(%x: tensor<3x1xf32>) {
  %0 = mind.broadcast_to %x shape = [3, -1] : tensor<3x1xf32> -> tensor<3x1xf32>
  func.return
}

// -----

// CHECK: error[E4015]: BroadcastTo %0: declared result tensor<3x5xf32>, inferred tensor<3x4xf32>
func.func @declared_shape(%x: tensor<3x1xf32>) {
  %0 = mind.broadcast_to %x shape = [3, 4] : tensor<3x1xf32> -> tensor<3x5xf32>
  func.return
}

// -----

// CHECK: error[E4000]: BroadcastTo %0: has attributes [], expected ['shape']
func.func @no_shape(%x: tensor<3x1xf32>) {
  %0 = mind.broadcast_to %x : tensor<3x1xf32>
  func.return
}
