// RUN: not mind-opt %s --autodiff="seed=cotangent" --split-input-file 2>&1 | filecheck %s

// CHECK: error[E5001]: scatter_windows %s: cannot be differentiated: updates that meet are multiplied; unique = true (unique_indices=True in Python) promises that none do
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @of_products(%x: tensor<5xf32>, %i: tensor<2x1xsi32>, %u: tensor<2xf32>) -> tensor<5xf32> {
  %s = ptir.scatter_windows %x, %i, %u kind = mul update_window_dims = [] inserted_window_dims = [0] input_batching_dims = [] scatter_indices_batching_dims = [] scatter_dims_to_operand_dims = [0] index_vector_dim = 1 mode = drop unique = false : (tensor<5xf32>, tensor<2x1xsi32>, tensor<2xf32>) -> tensor<5xf32>
  func.return %s : tensor<5xf32>
}
}
