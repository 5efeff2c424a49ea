// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC
// Products of groups of rows, and sums over them.

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

  func.func @ragged(%x: tensor<?x3xf32, "M,*">, %w: tensor<2x3x4xf32>, %y: tensor<?x4xf32, "M,*">, %s: tensor<2xsi32>) {
    %a = ptir.ragged_dot %x, %w, %s kind = rows : (tensor<?x3xf32, "M,*">, tensor<2x3x4xf32>, tensor<2xsi32>) -> tensor<?x4xf32, "M,*">
    %b = ptir.ragged_dot %x, %y, %s kind = contract accum_dtype = f64 out_dtype = bf16 : (tensor<?x3xf32, "M,*">, tensor<?x4xf32, "M,*">, tensor<2xsi32>) -> tensor<2x3x4xbf16>
    func.return
  }
  // CHECK-LABEL: func.func @ragged(%x: tensor<?x3xf32, "M,*">, %w: tensor<2x3x4xf32>, %y: tensor<?x4xf32, "M,*">, %s: tensor<2xsi32>) {
  // CHECK-NEXT:  %a = ptir.ragged_dot %x, %w, %s kind = rows : (tensor<?x3xf32, "M,*">, tensor<2x3x4xf32>, tensor<2xsi32>) -> tensor<?x4xf32, "M,*">
  // CHECK-NEXT:  %b = ptir.ragged_dot %x, %y, %s kind = contract accum_dtype = f64 out_dtype = bf16 : (tensor<?x3xf32, "M,*">, tensor<?x4xf32, "M,*">, tensor<2xsi32>) -> tensor<2x3x4xbf16>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "ragged"
  // GENERIC-NEXT:  ^bb0(%x: tensor<?x3xf32, "M,*">, %w: tensor<2x3x4xf32>, %y: tensor<?x4xf32, "M,*">, %s: tensor<2xsi32>):
  // GENERIC-NEXT:  %a = "ptir.ragged_dot"(%x, %w, %s) <{kind = "rows"}> : (tensor<?x3xf32, "M,*">, tensor<2x3x4xf32>, tensor<2xsi32>) -> tensor<?x4xf32, "M,*">
  // GENERIC-NEXT:  %b = "ptir.ragged_dot"(%x, %y, %s) <{kind = "contract", accum_dtype = f64, out_dtype = bf16}> : (tensor<?x3xf32, "M,*">, tensor<?x4xf32, "M,*">, tensor<2xsi32>) -> tensor<2x3x4xbf16>
}
