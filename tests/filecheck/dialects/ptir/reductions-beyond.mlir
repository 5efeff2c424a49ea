// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC
// Reductions beyond the contract's: products, bits, running extremes.

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

  func.func @reduce(%x: tensor<2x?xui8, "*,B">, %y: tensor<3xbf16>) {
    %a = ptir.reduce %x kind = prod axes = [1] keepdims = true : tensor<2x?xui8, "*,B"> -> tensor<2x1xui8>
    %b = ptir.reduce %x kind = and axes = [-1] keepdims = false : tensor<2x?xui8, "*,B"> -> tensor<2xui8>
    %c = ptir.reduce %x kind = or axes = [0] keepdims = false : tensor<2x?xui8, "*,B"> -> tensor<?xui8, "B">
    %d = ptir.reduce %x kind = xor axes = [] keepdims = false : tensor<2x?xui8, "*,B">
    %e = ptir.reduce %y kind = prod axes = [0] keepdims = false accum_dtype = f64 out_dtype = f32 : tensor<3xbf16> -> tensor<f32>
    func.return
  }
  // CHECK-LABEL: func.func @reduce(%x: tensor<2x?xui8, "*,B">, %y: tensor<3xbf16>) {
  // CHECK-NEXT:  %a = ptir.reduce %x kind = prod axes = [1] keepdims = true : tensor<2x?xui8, "*,B"> -> tensor<2x1xui8>
  // CHECK-NEXT:  %b = ptir.reduce %x kind = and axes = [-1] keepdims = false : tensor<2x?xui8, "*,B"> -> tensor<2xui8>
  // CHECK-NEXT:  %c = ptir.reduce %x kind = or axes = [0] keepdims = false : tensor<2x?xui8, "*,B"> -> tensor<?xui8, "B">
  // CHECK-NEXT:  %d = ptir.reduce %x kind = xor axes = [] keepdims = false : tensor<2x?xui8, "*,B">
  // CHECK-NEXT:  %e = ptir.reduce %y kind = prod axes = [0] keepdims = false accum_dtype = f64 out_dtype = f32 : tensor<3xbf16> -> tensor<f32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "reduce"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x?xui8, "*,B">, %y: tensor<3xbf16>):
  // GENERIC-NEXT:  %a = "ptir.reduce"(%x) <{kind = "prod", axes = array<i64: 1>, keepdims = true}> : (tensor<2x?xui8, "*,B">) -> tensor<2x1xui8>
  // GENERIC-NEXT:  %b = "ptir.reduce"(%x) <{kind = "and", axes = array<i64: -1>, keepdims = false}> : (tensor<2x?xui8, "*,B">) -> tensor<2xui8>
  // GENERIC-NEXT:  %c = "ptir.reduce"(%x) <{kind = "or", axes = array<i64: 0>, keepdims = false}> : (tensor<2x?xui8, "*,B">) -> tensor<?xui8, "B">
  // GENERIC-NEXT:  %d = "ptir.reduce"(%x) <{kind = "xor", axes = array<i64>, keepdims = false}> : (tensor<2x?xui8, "*,B">) -> tensor<2x?xui8, "*,B">
  // GENERIC-NEXT:  %e = "ptir.reduce"(%y) <{kind = "prod", axes = array<i64: 0>, keepdims = false, accum_dtype = f64, out_dtype = f32}> : (tensor<3xbf16>) -> tensor<f32>

  func.func @cumulative(%x: tensor<2x3xf16>) {
    %a = ptir.cumulative %x kind = prod axis = -1 exclusive = true reverse = false : tensor<2x3xf16>
    %b = ptir.cumulative %x kind = max axis = 0 exclusive = false reverse = true : tensor<2x3xf16>
    %c = ptir.cumulative %x kind = min axis = 1 exclusive = false reverse = false : tensor<2x3xf16>
    func.return
  }
  // CHECK-LABEL: func.func @cumulative(%x: tensor<2x3xf16>) {
  // CHECK-NEXT:  %a = ptir.cumulative %x kind = prod axis = -1 exclusive = true reverse = false : tensor<2x3xf16>
  // CHECK-NEXT:  %b = ptir.cumulative %x kind = max axis = 0 exclusive = false reverse = true : tensor<2x3xf16>
  // CHECK-NEXT:  %c = ptir.cumulative %x kind = min axis = 1 exclusive = false reverse = false : tensor<2x3xf16>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "cumulative"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x3xf16>):
  // GENERIC-NEXT:  %a = "ptir.cumulative"(%x) <{kind = "prod", axis = -1 : i64, exclusive = true, reverse = false}> : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // GENERIC-NEXT:  %b = "ptir.cumulative"(%x) <{kind = "max", axis = 0 : i64, exclusive = false, reverse = true}> : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // GENERIC-NEXT:  %c = "ptir.cumulative"(%x) <{kind = "min", axis = 1 : i64, exclusive = false, reverse = false}> : (tensor<2x3xf16>) -> tensor<2x3xf16>
}
