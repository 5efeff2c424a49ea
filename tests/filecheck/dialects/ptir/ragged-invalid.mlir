// RUN: PTIR_INVALID

// There is a matrix and a size for each group.
// CHECK: error[E3003]: ragged_dot %a: groups extents 2 and 3, expected equal
// CHECK: = note: ShapeError
func.func @a_group_without_a_matrix(%x: tensor<5x3xf32>, %w: tensor<2x3x4xf32>, %s: tensor<3xsi32>) {
  %a = ptir.ragged_dot %x, %w, %s kind = rows : (tensor<5x3xf32>, tensor<2x3x4xf32>, tensor<3xsi32>) -> tensor<5x4xf32>
  func.return
}

// -----

// CHECK: error[E2005]: ragged_dot %a: group_sizes has dtype f32, expected one of ['si32', 'si64']
// CHECK: = note: DTypeNotSupported
func.func @sizes_that_are_no_integers(%x: tensor<5x3xf32>, %w: tensor<2x3x4xf32>, %s: tensor<2xf32>) {
  %a = ptir.ragged_dot %x, %w, %s kind = rows : (tensor<5x3xf32>, tensor<2x3x4xf32>, tensor<2xf32>) -> tensor<5x4xf32>
  func.return
}
