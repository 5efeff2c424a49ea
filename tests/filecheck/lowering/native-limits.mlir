// RUN: mind-opt %s --mask-padding --shape-infer=bind=T=256 -p "mind-lower-to-native{isa=avx2 launches=true}" | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  // Rows of the result beyond the size are not read, so neither the kernel of rows nor the products compute them. What is summed
  // over all rows is masked first, and is computed for the whole bound.
  // CHECK: mind.extents = [array<i64: 2, -1>, array<i64: -1>]
  // CHECK: launch.kernel @y within (%T_size_1) (%x_1, %w_1) -> (%y) grid [{{[0-9]+}}] limits {{\[\[}}0, 1, {{[0-9]+}}]] schedule
  // CHECK: launch.kernel @s.compare_select_reduce(%T_size_1, %x_1) -> (%s)
  func.func @f(%x: tensor<?x128xf32, "T,*">, %w: tensor<128x64xf32>) -> (tensor<?x64xf32, "T,*">, tensor<128xf32>) {
    %y = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<?x128xf32, "T,*">, tensor<128x64xf32>) -> tensor<?x64xf32, "T,*">
    %s = ptir.reduce %x kind = sum axes = [0] keepdims = false : tensor<?x128xf32, "T,*"> -> tensor<128xf32>
    func.return %y, %s : tensor<?x64xf32, "T,*">, tensor<128xf32>
  }
}
