// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC
// Functions that importers and array libraries need.

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

  func.func @functions(%x: tensor<2x?xf32, "*,B">) {
    %a = ptir.cbrt %x : tensor<2x?xf32, "*,B">
    %b = ptir.round_away %x : tensor<2x?xf32, "*,B">
    %c = ptir.erf_inv %x : tensor<2x?xf32, "*,B">
    %d = ptir.lgamma %x : tensor<2x?xf32, "*,B">
    %e = ptir.digamma %x : tensor<2x?xf32, "*,B">
    %f = ptir.atan2 %x, %a : tensor<2x?xf32, "*,B">
    func.return
  }
  // CHECK-LABEL: func.func @functions(%x: tensor<2x?xf32, "*,B">) {
  // CHECK-NEXT:  %a = ptir.cbrt %x : tensor<2x?xf32, "*,B">
  // CHECK-NEXT:  %b = ptir.round_away %x : tensor<2x?xf32, "*,B">
  // CHECK-NEXT:  %c = ptir.erf_inv %x : tensor<2x?xf32, "*,B">
  // CHECK-NEXT:  %d = ptir.lgamma %x : tensor<2x?xf32, "*,B">
  // CHECK-NEXT:  %e = ptir.digamma %x : tensor<2x?xf32, "*,B">
  // CHECK-NEXT:  %f = ptir.atan2 %x, %a : tensor<2x?xf32, "*,B">
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "functions"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x?xf32, "*,B">):
  // GENERIC-NEXT:  %a = "ptir.cbrt"(%x) : (tensor<2x?xf32, "*,B">) -> tensor<2x?xf32, "*,B">
  // GENERIC-NEXT:  %b = "ptir.round_away"(%x) : (tensor<2x?xf32, "*,B">) -> tensor<2x?xf32, "*,B">
  // GENERIC-NEXT:  %c = "ptir.erf_inv"(%x) : (tensor<2x?xf32, "*,B">) -> tensor<2x?xf32, "*,B">
  // GENERIC-NEXT:  %d = "ptir.lgamma"(%x) : (tensor<2x?xf32, "*,B">) -> tensor<2x?xf32, "*,B">
  // GENERIC-NEXT:  %e = "ptir.digamma"(%x) : (tensor<2x?xf32, "*,B">) -> tensor<2x?xf32, "*,B">
  // GENERIC-NEXT:  %f = "ptir.atan2"(%x, %a) : (tensor<2x?xf32, "*,B">, tensor<2x?xf32, "*,B">) -> tensor<2x?xf32, "*,B">

  func.func @bits(%x: tensor<3xui4>) {
    %a = ptir.popcount %x : tensor<3xui4>
    %b = ptir.count_leading_zeros %x : tensor<3xui4>
    func.return
  }
  // CHECK-LABEL: func.func @bits(%x: tensor<3xui4>) {
  // CHECK-NEXT:  %a = ptir.popcount %x : tensor<3xui4>
  // CHECK-NEXT:  %b = ptir.count_leading_zeros %x : tensor<3xui4>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "bits"
  // GENERIC-NEXT:  ^bb0(%x: tensor<3xui4>):
  // GENERIC-NEXT:  %a = "ptir.popcount"(%x) : (tensor<3xui4>) -> tensor<3xui4>
  // GENERIC-NEXT:  %b = "ptir.count_leading_zeros"(%x) : (tensor<3xui4>) -> tensor<3xui4>

  func.func @arg_min(%x: tensor<2x3xf16>) {
    %a = ptir.arg_min %x axis = -1 keepdims = true output_dtype = si32 : tensor<2x3xf16> -> tensor<2x1xsi32>
    func.return
  }
  // CHECK-LABEL: func.func @arg_min(%x: tensor<2x3xf16>) {
  // CHECK-NEXT:  %a = ptir.arg_min %x axis = -1 keepdims = true output_dtype = si32 : tensor<2x3xf16> -> tensor<2x1xsi32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "arg_min"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x3xf16>):
  // GENERIC-NEXT:  %a = "ptir.arg_min"(%x) <{axis = -1 : i64, keepdims = true, output_dtype = si32}> : (tensor<2x3xf16>) -> tensor<2x1xsi32>

  func.func @window_arg(%x: tensor<1x?xf32, "*,N">) {
    %a = ptir.window_arg %x kind = max window_dims = [1, 3] strides = [1, 2] padding = [[0, 0], [1, 0]] window_dilation = [1, 2] output_dtype = si64 : tensor<1x?xf32, "*,N"> -> tensor<1x?xsi64>
    %b = ptir.window_arg %x kind = min window_dims = [1, 1] strides = [1, 1] padding = [[0, 0], [0, 0]] window_dilation = [1, 1] output_dtype = si32 : tensor<1x?xf32, "*,N"> -> tensor<1x?xsi32, "*,N">
    func.return
  }
  // CHECK-LABEL: func.func @window_arg(%x: tensor<1x?xf32, "*,N">) {
  // CHECK-NEXT:  %a = ptir.window_arg %x kind = max window_dims = [1, 3] strides = [1, 2] padding = {{\[\[}}0, 0], [1, 0]] window_dilation = [1, 2] output_dtype = si64 : tensor<1x?xf32, "*,N"> -> tensor<1x?xsi64>
  // CHECK-NEXT:  %b = ptir.window_arg %x kind = min window_dims = [1, 1] strides = [1, 1] padding = {{\[\[}}0, 0], [0, 0]] window_dilation = [1, 1] output_dtype = si32 : tensor<1x?xf32, "*,N"> -> tensor<1x?xsi32, "*,N">
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "window_arg"
  // GENERIC-NEXT:  ^bb0(%x: tensor<1x?xf32, "*,N">):
  // GENERIC-NEXT:  %a = "ptir.window_arg"(%x) <{kind = "max", window_dims = array<i64: 1, 3>, strides = array<i64: 1, 2>, padding = array<i64: 0, 0, 1, 0>, window_dilation = array<i64: 1, 2>, output_dtype = si64}> : (tensor<1x?xf32, "*,N">) -> tensor<1x?xsi64>
  // GENERIC-NEXT:  %b = "ptir.window_arg"(%x) <{kind = "min", window_dims = array<i64: 1, 1>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, window_dilation = array<i64: 1, 1>, output_dtype = si32}> : (tensor<1x?xf32, "*,N">) -> tensor<1x?xsi32, "*,N">
}
