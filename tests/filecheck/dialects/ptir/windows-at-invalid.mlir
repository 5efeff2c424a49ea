// RUN: PTIR_INVALID

// Windows fit into what they are read from and written to, and dimension numbers name what is there.
// CHECK: error[E4012]: gather_windows %a: slice of 5 at dimension 1 of extent 4, expected 0 to 4
// CHECK: = note: VerificationError
func.func @gather_slice(%x: tensor<9x4xf32>, %i: tensor<2x1xsi32>) {
  %a = ptir.gather_windows %x, %i offset_dims = [1] collapsed_slice_dims = [0] operand_batching_dims = [] start_indices_batching_dims = [] start_index_map = [0] index_vector_dim = 1 slice_sizes = [1, 5] mode = clamp : (tensor<9x4xf32>, tensor<2x1xsi32>) -> tensor<2x5xf32>
  func.return
}

// -----

// CHECK: error[E4012]: gather_windows %a: slice of 2 at dimension 0 of extent 9, expected 1
// CHECK: = note: VerificationError
func.func @gather_collapsed(%x: tensor<9x4xf32>, %i: tensor<2x1xsi32>) {
  %a = ptir.gather_windows %x, %i offset_dims = [1] collapsed_slice_dims = [0] operand_batching_dims = [] start_indices_batching_dims = [] start_index_map = [0] index_vector_dim = 1 slice_sizes = [2, 4] mode = clamp : (tensor<9x4xf32>, tensor<2x1xsi32>) -> tensor<2x4xf32>
  func.return
}

// -----

// CHECK: error[E3003]: gather_windows %a: index vector extents 3 and 1, expected equal
// CHECK: = note: ShapeError
func.func @gather_vector(%x: tensor<9x4xf32>, %i: tensor<2x3xsi32>) {
  %a = ptir.gather_windows %x, %i offset_dims = [1] collapsed_slice_dims = [0] operand_batching_dims = [] start_indices_batching_dims = [] start_index_map = [0] index_vector_dim = 1 slice_sizes = [1, 4] mode = clamp : (tensor<9x4xf32>, tensor<2x3xsi32>) -> tensor<2x4xf32>
  func.return
}

// -----

// CHECK: error[E3005]: gather_windows %a: index_vector_dim 1 is a batching dimension of indices, expected another
// CHECK: = note: ShapeError
func.func @gather_batching_vector(%x: tensor<2x4xf32>, %i: tensor<2x2xsi32>) {
  %a = ptir.gather_windows %x, %i offset_dims = [1] collapsed_slice_dims = [] operand_batching_dims = [0] start_indices_batching_dims = [1] start_index_map = [] index_vector_dim = 1 slice_sizes = [1, 4] mode = clamp : (tensor<2x4xf32>, tensor<2x2xsi32>) -> tensor<2x4xf32>
  func.return
}

// -----

// CHECK: error[E8002]: gather_windows %a: offset_dims [2, 1], expected ascending
// CHECK: = note: InvalidAttributeValue
func.func @gather_order(%x: tensor<9x4xf32>, %i: tensor<2x1xsi32>) {
  %a = ptir.gather_windows %x, %i offset_dims = [2, 1] collapsed_slice_dims = [] operand_batching_dims = [] start_indices_batching_dims = [] start_index_map = [0] index_vector_dim = 1 slice_sizes = [1, 4] mode = clamp : (tensor<9x4xf32>, tensor<2x1xsi32>) -> tensor<2x1x4xf32>
  func.return
}

// -----

// CHECK: error[E4012]: scatter_windows %a: update window 5 at dimension 1, expected at most 4
// CHECK: = note: VerificationError
func.func @scatter_window(%x: tensor<9x4xf32>, %i: tensor<2x1xsi32>, %u: tensor<2x5xf32>) {
  %a = ptir.scatter_windows %x, %i, %u kind = add update_window_dims = [1] inserted_window_dims = [0] input_batching_dims = [] scatter_indices_batching_dims = [] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 mode = drop unique = false : (tensor<9x4xf32>, tensor<2x1xsi32>, tensor<2x5xf32>) -> tensor<9x4xf32>
  func.return
}

// -----

// CHECK: error[E3002]: scatter_windows %a: updates with window dimensions [1] has rank 3, expected 1 scatter and 1 window dimensions
// CHECK: = note: ShapeError
func.func @scatter_rank(%x: tensor<9x4xf32>, %i: tensor<2x1xsi32>, %u: tensor<2x4x1xf32>) {
  %a = ptir.scatter_windows %x, %i, %u kind = add update_window_dims = [1] inserted_window_dims = [0] input_batching_dims = [] scatter_indices_batching_dims = [] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 mode = drop unique = false : (tensor<9x4xf32>, tensor<2x1xsi32>, tensor<2x4x1xf32>) -> tensor<9x4xf32>
  func.return
}

// -----

// CHECK: error[E2005]: scatter_windows %a: x has dtype i1, expected one of ['si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64', 'fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64', 'cf32', 'cf64']
// CHECK: = note: DTypeNotSupported
func.func @scatter_products_of_truths(%x: tensor<9x4xi1>, %i: tensor<2x1xsi32>, %u: tensor<2x4xi1>) {
  %a = ptir.scatter_windows %x, %i, %u kind = mul update_window_dims = [1] inserted_window_dims = [0] input_batching_dims = [] scatter_indices_batching_dims = [] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 mode = drop unique = false : (tensor<9x4xi1>, tensor<2x1xsi32>, tensor<2x4xi1>) -> tensor<9x4xi1>
  func.return
}
