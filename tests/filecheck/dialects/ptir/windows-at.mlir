// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC
// Windows at index vectors, with all of StableHLO's dimension numbers.

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

  func.func @gather_windows(%x: tensor<2x9x4xf32>, %i: tensor<2x?x1xsi32, "*,B,*">) {
    %a = ptir.gather_windows %x, %i offset_dims = [2] collapsed_slice_dims = [1] operand_batching_dims = [0] start_indices_batching_dims = [0] start_index_map = [1] index_vector_dim = 2 slice_sizes = [1, 1, 3] mode = clamp : (tensor<2x9x4xf32>, tensor<2x?x1xsi32, "*,B,*">) -> tensor<2x?x3xf32, "*,B,*">
    %b = ptir.gather_windows %x, %i offset_dims = [2] collapsed_slice_dims = [1] operand_batching_dims = [0] start_indices_batching_dims = [0] start_index_map = [1] index_vector_dim = 2 slice_sizes = [1, 1, 3] mode = fill : (tensor<2x9x4xf32>, tensor<2x?x1xsi32, "*,B,*">) -> tensor<2x?x3xf32, "*,B,*">
    %c = ptir.gather_windows %x, %i offset_dims = [2] collapsed_slice_dims = [1] operand_batching_dims = [0] start_indices_batching_dims = [0] start_index_map = [1] index_vector_dim = 2 slice_sizes = [1, 1, 3] mode = raise : (tensor<2x9x4xf32>, tensor<2x?x1xsi32, "*,B,*">) -> tensor<2x?x3xf32, "*,B,*">
    func.return
  }
  // CHECK-LABEL: func.func @gather_windows(%x: tensor<2x9x4xf32>, %i: tensor<2x?x1xsi32, "*,B,*">) {
  // CHECK-NEXT:  %a = ptir.gather_windows %x, %i offset_dims = [2] collapsed_slice_dims = [1] operand_batching_dims = [0] start_indices_batching_dims = [0] start_index_map = [1] index_vector_dim = 2 slice_sizes = [1, 1, 3] mode = clamp : (tensor<2x9x4xf32>, tensor<2x?x1xsi32, "*,B,*">) -> tensor<2x?x3xf32, "*,B,*">
  // CHECK-NEXT:  %b = ptir.gather_windows %x, %i offset_dims = [2] collapsed_slice_dims = [1] operand_batching_dims = [0] start_indices_batching_dims = [0] start_index_map = [1] index_vector_dim = 2 slice_sizes = [1, 1, 3] mode = fill : (tensor<2x9x4xf32>, tensor<2x?x1xsi32, "*,B,*">) -> tensor<2x?x3xf32, "*,B,*">
  // CHECK-NEXT:  %c = ptir.gather_windows %x, %i offset_dims = [2] collapsed_slice_dims = [1] operand_batching_dims = [0] start_indices_batching_dims = [0] start_index_map = [1] index_vector_dim = 2 slice_sizes = [1, 1, 3] mode = raise : (tensor<2x9x4xf32>, tensor<2x?x1xsi32, "*,B,*">) -> tensor<2x?x3xf32, "*,B,*">
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "gather_windows"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x9x4xf32>, %i: tensor<2x?x1xsi32, "*,B,*">):
  // GENERIC-NEXT:  %a = "ptir.gather_windows"(%x, %i) <{offset_dims = array<i64: 2>, collapsed_slice_dims = array<i64: 1>, operand_batching_dims = array<i64: 0>, start_indices_batching_dims = array<i64: 0>, start_index_map = array<i64: 1>, index_vector_dim = 2 : i64, slice_sizes = array<i64: 1, 1, 3>, mode = "clamp"}> : (tensor<2x9x4xf32>, tensor<2x?x1xsi32, "*,B,*">) -> tensor<2x?x3xf32, "*,B,*">
  // GENERIC-NEXT:  %b = "ptir.gather_windows"(%x, %i) <{offset_dims = array<i64: 2>, collapsed_slice_dims = array<i64: 1>, operand_batching_dims = array<i64: 0>, start_indices_batching_dims = array<i64: 0>, start_index_map = array<i64: 1>, index_vector_dim = 2 : i64, slice_sizes = array<i64: 1, 1, 3>, mode = "fill"}> : (tensor<2x9x4xf32>, tensor<2x?x1xsi32, "*,B,*">) -> tensor<2x?x3xf32, "*,B,*">
  // GENERIC-NEXT:  %c = "ptir.gather_windows"(%x, %i) <{offset_dims = array<i64: 2>, collapsed_slice_dims = array<i64: 1>, operand_batching_dims = array<i64: 0>, start_indices_batching_dims = array<i64: 0>, start_index_map = array<i64: 1>, index_vector_dim = 2 : i64, slice_sizes = array<i64: 1, 1, 3>, mode = "raise"}> : (tensor<2x9x4xf32>, tensor<2x?x1xsi32, "*,B,*">) -> tensor<2x?x3xf32, "*,B,*">

  func.func @scatter_windows(%x: tensor<9x4xsi8>, %i: tensor<2x1xsi64>, %u: tensor<2x3xsi8>) {
    %a = ptir.scatter_windows %x, %i, %u kind = add update_window_dims = [1] inserted_window_dims = [0] input_batching_dims = [] scatter_indices_batching_dims = [] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 mode = raise unique = false : (tensor<9x4xsi8>, tensor<2x1xsi64>, tensor<2x3xsi8>) -> tensor<9x4xsi8>
    %b = ptir.scatter_windows %x, %i, %u kind = mul update_window_dims = [1] inserted_window_dims = [0] input_batching_dims = [] scatter_indices_batching_dims = [] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 mode = drop unique = true : (tensor<9x4xsi8>, tensor<2x1xsi64>, tensor<2x3xsi8>) -> tensor<9x4xsi8>
    %c = ptir.scatter_windows %x, %i, %u kind = min update_window_dims = [1] inserted_window_dims = [0] input_batching_dims = [] scatter_indices_batching_dims = [] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 mode = drop unique = false : (tensor<9x4xsi8>, tensor<2x1xsi64>, tensor<2x3xsi8>) -> tensor<9x4xsi8>
    %d = ptir.scatter_windows %x, %i, %u kind = max update_window_dims = [1] inserted_window_dims = [0] input_batching_dims = [] scatter_indices_batching_dims = [] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 mode = drop unique = false : (tensor<9x4xsi8>, tensor<2x1xsi64>, tensor<2x3xsi8>) -> tensor<9x4xsi8>
    %e = ptir.scatter_windows %x, %i, %u kind = replace update_window_dims = [1] inserted_window_dims = [0] input_batching_dims = [] scatter_indices_batching_dims = [] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 mode = drop unique = false : (tensor<9x4xsi8>, tensor<2x1xsi64>, tensor<2x3xsi8>) -> tensor<9x4xsi8>
    func.return
  }
  // CHECK-LABEL: func.func @scatter_windows(%x: tensor<9x4xsi8>, %i: tensor<2x1xsi64>, %u: tensor<2x3xsi8>) {
  // CHECK-NEXT:  %a = ptir.scatter_windows %x, %i, %u kind = add update_window_dims = [1] inserted_window_dims = [0] input_batching_dims = [] scatter_indices_batching_dims = [] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 mode = raise unique = false : (tensor<9x4xsi8>, tensor<2x1xsi64>, tensor<2x3xsi8>) -> tensor<9x4xsi8>
  // CHECK-NEXT:  %b = ptir.scatter_windows %x, %i, %u kind = mul update_window_dims = [1] inserted_window_dims = [0] input_batching_dims = [] scatter_indices_batching_dims = [] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 mode = drop unique = true : (tensor<9x4xsi8>, tensor<2x1xsi64>, tensor<2x3xsi8>) -> tensor<9x4xsi8>
  // CHECK-NEXT:  %c = ptir.scatter_windows %x, %i, %u kind = min update_window_dims = [1] inserted_window_dims = [0] input_batching_dims = [] scatter_indices_batching_dims = [] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 mode = drop unique = false : (tensor<9x4xsi8>, tensor<2x1xsi64>, tensor<2x3xsi8>) -> tensor<9x4xsi8>
  // CHECK-NEXT:  %d = ptir.scatter_windows %x, %i, %u kind = max update_window_dims = [1] inserted_window_dims = [0] input_batching_dims = [] scatter_indices_batching_dims = [] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 mode = drop unique = false : (tensor<9x4xsi8>, tensor<2x1xsi64>, tensor<2x3xsi8>) -> tensor<9x4xsi8>
  // CHECK-NEXT:  %e = ptir.scatter_windows %x, %i, %u kind = replace update_window_dims = [1] inserted_window_dims = [0] input_batching_dims = [] scatter_indices_batching_dims = [] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 mode = drop unique = false : (tensor<9x4xsi8>, tensor<2x1xsi64>, tensor<2x3xsi8>) -> tensor<9x4xsi8>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "scatter_windows"
  // GENERIC-NEXT:  ^bb0(%x: tensor<9x4xsi8>, %i: tensor<2x1xsi64>, %u: tensor<2x3xsi8>):
  // GENERIC-NEXT:  %a = "ptir.scatter_windows"(%x, %i, %u) <{kind = "add", update_window_dims = array<i64: 1>, inserted_window_dims = array<i64: 0>, input_batching_dims = array<i64>, scatter_indices_batching_dims = array<i64>, scatter_dims_to_operand_dims = array<i64: 0>, index_vector_dim = 1 : i64, mode = "raise", unique = false}> : (tensor<9x4xsi8>, tensor<2x1xsi64>, tensor<2x3xsi8>) -> tensor<9x4xsi8>
  // GENERIC-NEXT:  %b = "ptir.scatter_windows"(%x, %i, %u) <{kind = "mul", update_window_dims = array<i64: 1>, inserted_window_dims = array<i64: 0>, input_batching_dims = array<i64>, scatter_indices_batching_dims = array<i64>, scatter_dims_to_operand_dims = array<i64: 0>, index_vector_dim = 1 : i64, mode = "drop", unique = true}> : (tensor<9x4xsi8>, tensor<2x1xsi64>, tensor<2x3xsi8>) -> tensor<9x4xsi8>
  // GENERIC-NEXT:  %c = "ptir.scatter_windows"(%x, %i, %u) <{kind = "min", update_window_dims = array<i64: 1>, inserted_window_dims = array<i64: 0>, input_batching_dims = array<i64>, scatter_indices_batching_dims = array<i64>, scatter_dims_to_operand_dims = array<i64: 0>, index_vector_dim = 1 : i64, mode = "drop", unique = false}> : (tensor<9x4xsi8>, tensor<2x1xsi64>, tensor<2x3xsi8>) -> tensor<9x4xsi8>
  // GENERIC-NEXT:  %d = "ptir.scatter_windows"(%x, %i, %u) <{kind = "max", update_window_dims = array<i64: 1>, inserted_window_dims = array<i64: 0>, input_batching_dims = array<i64>, scatter_indices_batching_dims = array<i64>, scatter_dims_to_operand_dims = array<i64: 0>, index_vector_dim = 1 : i64, mode = "drop", unique = false}> : (tensor<9x4xsi8>, tensor<2x1xsi64>, tensor<2x3xsi8>) -> tensor<9x4xsi8>
  // GENERIC-NEXT:  %e = "ptir.scatter_windows"(%x, %i, %u) <{kind = "replace", update_window_dims = array<i64: 1>, inserted_window_dims = array<i64: 0>, input_batching_dims = array<i64>, scatter_indices_batching_dims = array<i64>, scatter_dims_to_operand_dims = array<i64: 0>, index_vector_dim = 1 : i64, mode = "drop", unique = false}> : (tensor<9x4xsi8>, tensor<2x1xsi64>, tensor<2x3xsi8>) -> tensor<9x4xsi8>
}
