// RUN: PTIR_INVALID

// take: something to take from; indices are si32 or si64.
// CHECK: error[E3002]: take %a: x has rank 0, expected at least 1
// CHECK: = note: ShapeError
func.func @take_from_a_scalar(%x: tensor<f32>, %i: tensor<2xsi32>) {
  %a = ptir.take %x, %i : (tensor<f32>, tensor<2xsi32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2005]: take %a: indices has dtype ui32, expected one of ['si32', 'si64']
// CHECK: = note: DTypeNotSupported
func.func @take_index_dtype(%x: tensor<4xf32>, %i: tensor<2xui32>) {
  %a = ptir.take %x, %i : (tensor<4xf32>, tensor<2xui32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E4015]: take %a: declared result tensor<2x5xf32>, inferred tensor<2x3x5xf32>
// CHECK: = note: VerificationError
func.func @take_result(%x: tensor<4x5xf32>, %i: tensor<2x3xsi32>) {
  %a = ptir.take %x, %i : (tensor<4x5xf32>, tensor<2x3xsi32>) -> tensor<2x5xf32>
  func.return
}

// -----

// gather: indices of the operand's rank, and of its extents but for the axis.
// CHECK: error[E3002]: gather %a: indices has rank 1, expected 2
// CHECK: = note: ShapeError
func.func @gather_rank(%x: tensor<2x3xf32>, %i: tensor<7xsi32>) {
  %a = ptir.gather %x, %i axis = 1 : (tensor<2x3xf32>, tensor<7xsi32>) -> tensor<7xf32>
  func.return
}

// -----

// CHECK: error[E3003]: gather %a: dimension 0 extents 1 and 2, expected equal
// CHECK: = note: ShapeError
func.func @gather_extents(%x: tensor<2x3xf32>, %i: tensor<1x7xsi32>) {
  %a = ptir.gather %x, %i axis = 1 : (tensor<2x3xf32>, tensor<1x7xsi32>) -> tensor<1x7xf32>
  func.return
}

// -----

// CHECK: error[E3004]: gather %a: axis 2 is out of range for rank 2, expected -2 <= axis < 2
// CHECK: = note: ShapeError
func.func @gather_axis(%x: tensor<2x3xf32>, %i: tensor<2x7xsi32>) {
  %a = ptir.gather %x, %i axis = 2 : (tensor<2x3xf32>, tensor<2x7xsi32>) -> tensor<2x7xf32>
  func.return
}

// -----

// CHECK: error[E2005]: gather %a: indices has dtype si16, expected one of ['si32', 'si64']
// CHECK: = note: DTypeNotSupported
func.func @gather_index_dtype(%x: tensor<2x3xf32>, %i: tensor<2x7xsi16>) {
  %a = ptir.gather %x, %i axis = 1 : (tensor<2x3xf32>, tensor<2x7xsi16>) -> tensor<2x7xf32>
  func.return
}

// -----

// CHECK: error[E4015]: gather %a: declared result tensor<2x3xf32>, inferred tensor<2x7xf32>
// CHECK: = note: VerificationError
func.func @gather_result(%x: tensor<2x3xf32>, %i: tensor<2x7xsi32>) {
  %a = ptir.gather %x, %i axis = 1 : (tensor<2x3xf32>, tensor<2x7xsi32>) -> tensor<2x3xf32>
  func.return
}

// -----

// scatter_add: StableHLO's dimension numbers.
// CHECK: error[E3003]: scatter_add %a: index vector extents 2 and 1, expected equal
// CHECK: = note: ShapeError
func.func @scatter_vector_length(%x: tensor<9x4xf32>, %i: tensor<2x2xsi32>, %u: tensor<2x4xf32>) {
  %a = ptir.scatter_add %x, %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<9x4xf32>, tensor<2x2xsi32>, tensor<2x4xf32>) -> tensor<9x4xf32>
  func.return
}

// -----

// CHECK: error[E3004]: scatter_add %a: index_vector_dim 2, expected 0 to 1, the rank of indices
// CHECK: = note: ShapeError
func.func @scatter_vector_dim(%x: tensor<9x4xf32>, %i: tensor<2xsi32>, %u: tensor<2x4xf32>) {
  %a = ptir.scatter_add %x, %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] index_vector_dim = 2 : (tensor<9x4xf32>, tensor<2xsi32>, tensor<2x4xf32>) -> tensor<9x4xf32>
  func.return
}

// -----

// CHECK: error[E3003]: scatter_add %a: updates dimension 0 extents 3 and 2, expected equal
// CHECK: = note: ShapeError
func.func @scatter_counts(%x: tensor<9x4xf32>, %i: tensor<2xsi32>, %u: tensor<3x4xf32>) {
  %a = ptir.scatter_add %x, %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] : (tensor<9x4xf32>, tensor<2xsi32>, tensor<3x4xf32>) -> tensor<9x4xf32>
  func.return
}

// -----

// CHECK: error[E4012]: scatter_add %a: update window 5 at dimension 1, expected at most 4
// CHECK: = note: VerificationError
func.func @scatter_window(%x: tensor<9x4xf32>, %i: tensor<2xsi32>, %u: tensor<2x5xf32>) {
  %a = ptir.scatter_add %x, %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] : (tensor<9x4xf32>, tensor<2xsi32>, tensor<2x5xf32>) -> tensor<9x4xf32>
  func.return
}

// -----

// CHECK: error[E3002]: scatter_add %a: updates with window dimensions [] has rank 1, expected 1 scatter and 1 window dimensions
// CHECK: = note: ShapeError
func.func @scatter_update_rank(%x: tensor<9x4xf32>, %i: tensor<2xsi32>, %u: tensor<2xf32>) {
  %a = ptir.scatter_add %x, %i, %u update_window_dims = [] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] : (tensor<9x4xf32>, tensor<2xsi32>, tensor<2xf32>) -> tensor<9x4xf32>
  func.return
}

// -----

// CHECK: error[E8002]: scatter_add %a: inserted_window_dims [1, 0], expected ascending
// CHECK: = note: InvalidAttributeValue
func.func @scatter_unsorted(%x: tensor<9x4xf32>, %i: tensor<2x2xsi32>, %u: tensor<2xf32>) {
  %a = ptir.scatter_add %x, %i, %u update_window_dims = [] inserted_window_dims = [1, 0] scatter_dims_to_operand_dims = [0, 1] index_vector_dim = 1 : (tensor<9x4xf32>, tensor<2x2xsi32>, tensor<2xf32>) -> tensor<9x4xf32>
  func.return
}

// -----

// CHECK: error[E2004]: scatter_add %a: x and updates have dtypes f32 and f16, expected one dtype; cast makes them equal
// CHECK: = note: TypeError
func.func @scatter_dtypes(%x: tensor<9xf32>, %i: tensor<2xsi32>, %u: tensor<2xf16>) {
  %a = ptir.scatter_add %x, %i, %u update_window_dims = [] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] : (tensor<9xf32>, tensor<2xsi32>, tensor<2xf16>) -> tensor<9xf32>
  func.return
}

// -----

// scatter_reduce: indices and updates of one shape, of the operand's extents but for the axis.
// CHECK: error[E3001]: scatter_reduce %a: shapes [2, 7] and [2, 6] differ at dimension 1: 7 and 6; broadcast_to makes them equal
// CHECK: = note: ShapeError
func.func @scatter_reduce_shapes(%x: tensor<2x3xf32>, %i: tensor<2x7xsi32>, %u: tensor<2x6xf32>) {
  %a = ptir.scatter_reduce %x, %i, %u kind = add axis = 1 : (tensor<2x3xf32>, tensor<2x7xsi32>, tensor<2x6xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E3002]: scatter_reduce %a: indices has rank 1, expected 2
// CHECK: = note: ShapeError
func.func @scatter_reduce_rank(%x: tensor<2x3xf32>, %i: tensor<7xsi32>, %u: tensor<7xf32>) {
  %a = ptir.scatter_reduce %x, %i, %u kind = add axis = 1 : (tensor<2x3xf32>, tensor<7xsi32>, tensor<7xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E3003]: scatter_reduce %a: dimension 0 extents 1 and 2, expected equal
// CHECK: = note: ShapeError
func.func @scatter_reduce_extents(%x: tensor<2x3xf32>, %i: tensor<1x7xsi32>, %u: tensor<1x7xf32>) {
  %a = ptir.scatter_reduce %x, %i, %u kind = add axis = 1 : (tensor<2x3xf32>, tensor<1x7xsi32>, tensor<1x7xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: error[E2004]: scatter_reduce %a: x and updates have dtypes f32 and f16, expected one dtype; cast makes them equal
// CHECK: = note: TypeError
func.func @scatter_reduce_dtypes(%x: tensor<3xf32>, %i: tensor<7xsi32>, %u: tensor<7xf16>) {
  %a = ptir.scatter_reduce %x, %i, %u kind = add axis = 0 : (tensor<3xf32>, tensor<7xsi32>, tensor<7xf16>) -> tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E8002]: found mul, expected one of add, max, min, replace
// CHECK: = note: InvalidAttributeValue
func.func @scatter_reduce_kind(%x: tensor<3xf32>, %i: tensor<7xsi32>, %u: tensor<7xf32>) {
  %a = ptir.scatter_reduce %x, %i, %u kind = mul axis = 0 : (tensor<3xf32>, tensor<7xsi32>, tensor<7xf32>) -> tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E2005]: scatter_reduce %a: x has dtype cf32, expected one of ['i1', 'si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64', 'fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @scatter_reduce_max_of_complex(%x: tensor<3xcomplex<f32>>, %i: tensor<7xsi32>, %u: tensor<7xcomplex<f32>>) {
  %a = ptir.scatter_reduce %x, %i, %u kind = max axis = 0 : (tensor<3xcomplex<f32>>, tensor<7xsi32>, tensor<7xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  func.return
}

// -----

// CHECK: error[E4015]: scatter_reduce %a: declared result tensor<7xf32>, inferred tensor<3xf32>
// CHECK: = note: VerificationError
func.func @scatter_reduce_result(%x: tensor<3xf32>, %i: tensor<7xsi32>, %u: tensor<7xf32>) {
  %a = ptir.scatter_reduce %x, %i, %u kind = add axis = 0 : (tensor<3xf32>, tensor<7xsi32>, tensor<7xf32>) -> tensor<7xf32>
  func.return
}

// -----

// dynamic_slice: a size and a start per dimension; a window that cannot fit is refused.
// CHECK: error[E4007]: dynamic_slice %a: sizes has 1 entries, expected 2, one per dimension
// CHECK: = note: VerificationError
func.func @dynamic_slice_sizes(%x: tensor<8x4xf32>, %s: tensor<2xsi32>) {
  %a = ptir.dynamic_slice %x, %s sizes = [1] : (tensor<8x4xf32>, tensor<2xsi32>) -> tensor<1xf32>
  func.return
}

// -----

// CHECK: error[E4012]: dynamic_slice %a: a window of 5 at dimension 1 of extent 4, expected 0 to 4
// CHECK: = note: VerificationError
func.func @dynamic_slice_window(%x: tensor<8x4xf32>, %s: tensor<2xsi32>) {
  %a = ptir.dynamic_slice %x, %s sizes = [1, 5] : (tensor<8x4xf32>, tensor<2xsi32>) -> tensor<1x5xf32>
  func.return
}

// -----

// CHECK: error[E3003]: dynamic_slice %a: start extents 3 and 2, expected equal
// CHECK: = note: ShapeError
func.func @dynamic_slice_starts(%x: tensor<8x4xf32>, %s: tensor<3xsi32>) {
  %a = ptir.dynamic_slice %x, %s sizes = [1, 4] : (tensor<8x4xf32>, tensor<3xsi32>) -> tensor<1x4xf32>
  func.return
}

// -----

// CHECK: error[E3002]: dynamic_slice %a: start has rank 0, expected 1
// CHECK: = note: ShapeError
func.func @dynamic_slice_start_rank(%x: tensor<8xf32>, %s: tensor<si32>) {
  %a = ptir.dynamic_slice %x, %s sizes = [1] : (tensor<8xf32>, tensor<si32>) -> tensor<1xf32>
  func.return
}

// -----

// CHECK: error[E2005]: dynamic_slice %a: start has dtype ui64, expected one of ['si32', 'si64']
// CHECK: = note: DTypeNotSupported
func.func @dynamic_slice_start_dtype(%x: tensor<8xf32>, %s: tensor<1xui64>) {
  %a = ptir.dynamic_slice %x, %s sizes = [1] : (tensor<8xf32>, tensor<1xui64>) -> tensor<1xf32>
  func.return
}

// -----

// dynamic_update_slice: an update of the stated sizes and of the operand's dtype.
// CHECK: error[E3001]: dynamic_update_slice %a: shapes [1, 4] and [2, 4] differ at dimension 0: 1 and 2; broadcast_to makes them equal
// CHECK: = note: ShapeError
func.func @dynamic_update_sizes(%x: tensor<8x4xf32>, %u: tensor<1x4xf32>, %s: tensor<2xsi64>) {
  %a = ptir.dynamic_update_slice %x, %u, %s sizes = [2, 4] : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<2xsi64>) -> tensor<8x4xf32>
  func.return
}

// -----

// CHECK: error[E4012]: dynamic_update_slice %a: a window of 9 at dimension 0 of extent 8, expected 0 to 8
// CHECK: = note: VerificationError
func.func @dynamic_update_window(%x: tensor<8x4xf32>, %u: tensor<9x4xf32>, %s: tensor<2xsi64>) {
  %a = ptir.dynamic_update_slice %x, %u, %s sizes = [9, 4] : (tensor<8x4xf32>, tensor<9x4xf32>, tensor<2xsi64>) -> tensor<8x4xf32>
  func.return
}

// -----

// CHECK: error[E2004]: dynamic_update_slice %a: x and update have dtypes f32 and f16, expected one dtype; cast makes them equal
// CHECK: = note: TypeError
func.func @dynamic_update_dtype(%x: tensor<8xf32>, %u: tensor<1xf16>, %s: tensor<1xsi64>) {
  %a = ptir.dynamic_update_slice %x, %u, %s sizes = [1] : (tensor<8xf32>, tensor<1xf16>, tensor<1xsi64>) -> tensor<8xf32>
  func.return
}

// -----

// CHECK: error[E4015]: dynamic_update_slice %a: declared result tensor<1xf32>, inferred tensor<8xf32>
// CHECK: = note: VerificationError
func.func @dynamic_update_result(%x: tensor<8xf32>, %u: tensor<1xf32>, %s: tensor<1xsi64>) {
  %a = ptir.dynamic_update_slice %x, %u, %s sizes = [1] : (tensor<8xf32>, tensor<1xf32>, tensor<1xsi64>) -> tensor<1xf32>
  func.return
}
