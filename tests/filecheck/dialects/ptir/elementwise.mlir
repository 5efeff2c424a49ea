// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC
// Elementwise ops: what they give has the operands' shape; no operand is broadcast or converted.

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

  func.func @unary(%x: tensor<2x3xf32>) {
    %a = ptir.neg %x : tensor<2x3xf32>
    %b = ptir.abs %x : tensor<2x3xf32>
    %c = ptir.exp %x : tensor<2x3xf32>
    %d = ptir.log %x : tensor<2x3xf32>
    %e = ptir.tanh %x : tensor<2x3xf32>
    %f = ptir.erf %x : tensor<2x3xf32>
    %g = ptir.rsqrt %x : tensor<2x3xf32>
    %h = ptir.reciprocal %x : tensor<2x3xf32>
    func.return
  }
  // CHECK-LABEL: func.func @unary(%x: tensor<2x3xf32>) {
  // CHECK-NEXT:  %a = ptir.neg %x : tensor<2x3xf32>
  // CHECK-NEXT:  %b = ptir.abs %x : tensor<2x3xf32>
  // CHECK-NEXT:  %c = ptir.exp %x : tensor<2x3xf32>
  // CHECK-NEXT:  %d = ptir.log %x : tensor<2x3xf32>
  // CHECK-NEXT:  %e = ptir.tanh %x : tensor<2x3xf32>
  // CHECK-NEXT:  %f = ptir.erf %x : tensor<2x3xf32>
  // CHECK-NEXT:  %g = ptir.rsqrt %x : tensor<2x3xf32>
  // CHECK-NEXT:  %h = ptir.reciprocal %x : tensor<2x3xf32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "unary"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x3xf32>):
  // GENERIC-NEXT:  %a = "ptir.neg"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // GENERIC-NEXT:  %b = "ptir.abs"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // GENERIC-NEXT:  %c = "ptir.exp"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // GENERIC-NEXT:  %d = "ptir.log"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // GENERIC-NEXT:  %e = "ptir.tanh"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // GENERIC-NEXT:  %f = "ptir.erf"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // GENERIC-NEXT:  %g = "ptir.rsqrt"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // GENERIC-NEXT:  %h = "ptir.reciprocal"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>

  func.func @binary(%x: tensor<4xsi8>, %y: tensor<4xsi8>) {
    %a = ptir.add %x, %y : tensor<4xsi8>
    %b = ptir.sub %x, %y : tensor<4xsi8>
    %c = ptir.mul %x, %y : tensor<4xsi8>
    %d = ptir.div %x, %y : tensor<4xsi8>
    %e = ptir.maximum %x, %y : tensor<4xsi8>
    %f = ptir.minimum %x, %y : tensor<4xsi8>
    func.return
  }
  // CHECK-LABEL: func.func @binary(%x: tensor<4xsi8>, %y: tensor<4xsi8>) {
  // CHECK-NEXT:  %a = ptir.add %x, %y : tensor<4xsi8>
  // CHECK-NEXT:  %b = ptir.sub %x, %y : tensor<4xsi8>
  // CHECK-NEXT:  %c = ptir.mul %x, %y : tensor<4xsi8>
  // CHECK-NEXT:  %d = ptir.div %x, %y : tensor<4xsi8>
  // CHECK-NEXT:  %e = ptir.maximum %x, %y : tensor<4xsi8>
  // CHECK-NEXT:  %f = ptir.minimum %x, %y : tensor<4xsi8>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "binary"
  // GENERIC-NEXT:  ^bb0(%x: tensor<4xsi8>, %y: tensor<4xsi8>):
  // GENERIC-NEXT:  %a = "ptir.add"(%x, %y) : (tensor<4xsi8>, tensor<4xsi8>) -> tensor<4xsi8>
  // GENERIC-NEXT:  %b = "ptir.sub"(%x, %y) : (tensor<4xsi8>, tensor<4xsi8>) -> tensor<4xsi8>
  // GENERIC-NEXT:  %c = "ptir.mul"(%x, %y) : (tensor<4xsi8>, tensor<4xsi8>) -> tensor<4xsi8>
  // GENERIC-NEXT:  %d = "ptir.div"(%x, %y) : (tensor<4xsi8>, tensor<4xsi8>) -> tensor<4xsi8>
  // GENERIC-NEXT:  %e = "ptir.maximum"(%x, %y) : (tensor<4xsi8>, tensor<4xsi8>) -> tensor<4xsi8>
  // GENERIC-NEXT:  %f = "ptir.minimum"(%x, %y) : (tensor<4xsi8>, tensor<4xsi8>) -> tensor<4xsi8>

  func.func @compare(%x: tensor<2xbf16>, %y: tensor<2xbf16>) {
    %a = ptir.compare %x, %y kind = less : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
    %b = ptir.compare %x, %y kind = less_equal : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
    %c = ptir.compare %x, %y kind = equal : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
    %d = ptir.compare %x, %y kind = greater_equal : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
    %e = ptir.compare %x, %y kind = greater : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
    %f = ptir.compare %x, %y kind = not_equal : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
    func.return
  }
  // CHECK-LABEL: func.func @compare(%x: tensor<2xbf16>, %y: tensor<2xbf16>) {
  // CHECK-NEXT:  %a = ptir.compare %x, %y kind = less : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
  // CHECK-NEXT:  %b = ptir.compare %x, %y kind = less_equal : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
  // CHECK-NEXT:  %c = ptir.compare %x, %y kind = equal : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
  // CHECK-NEXT:  %d = ptir.compare %x, %y kind = greater_equal : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
  // CHECK-NEXT:  %e = ptir.compare %x, %y kind = greater : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
  // CHECK-NEXT:  %f = ptir.compare %x, %y kind = not_equal : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "compare"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2xbf16>, %y: tensor<2xbf16>):
  // GENERIC-NEXT:  %a = "ptir.compare"(%x, %y) <{kind = "less"}> : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
  // GENERIC-NEXT:  %b = "ptir.compare"(%x, %y) <{kind = "less_equal"}> : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
  // GENERIC-NEXT:  %c = "ptir.compare"(%x, %y) <{kind = "equal"}> : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
  // GENERIC-NEXT:  %d = "ptir.compare"(%x, %y) <{kind = "greater_equal"}> : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
  // GENERIC-NEXT:  %e = "ptir.compare"(%x, %y) <{kind = "greater"}> : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
  // GENERIC-NEXT:  %f = "ptir.compare"(%x, %y) <{kind = "not_equal"}> : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>

  // Truths compare to truths, so one type stands for all.
  func.func @compare_truths(%x: tensor<2xi1>, %y: tensor<2xi1>) {
    %a = ptir.compare %x, %y kind = not_equal : tensor<2xi1>
    func.return
  }
  // CHECK-LABEL: func.func @compare_truths(%x: tensor<2xi1>, %y: tensor<2xi1>) {
  // CHECK-NEXT:  %a = ptir.compare %x, %y kind = not_equal : tensor<2xi1>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "compare_truths"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2xi1>, %y: tensor<2xi1>):
  // GENERIC-NEXT:  %a = "ptir.compare"(%x, %y) <{kind = "not_equal"}> : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>

  // Complex numbers are equal or not; they have no order.
  func.func @compare_complex(%x: tensor<complex<f32>>) {
    %a = ptir.compare %x, %x kind = equal : (tensor<complex<f32>>, tensor<complex<f32>>) -> tensor<i1>
    func.return
  }
  // CHECK-LABEL: func.func @compare_complex(%x: tensor<complex<f32>>) {
  // CHECK-NEXT:  %a = ptir.compare %x, %x kind = equal : (tensor<complex<f32>>, tensor<complex<f32>>) -> tensor<i1>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "compare_complex"
  // GENERIC-NEXT:  ^bb0(%x: tensor<complex<f32>>):
  // GENERIC-NEXT:  %a = "ptir.compare"(%x, %x) <{kind = "equal"}> : (tensor<complex<f32>>, tensor<complex<f32>>) -> tensor<i1>

  func.func @select(%p: tensor<2x2xi1>, %x: tensor<2x2xf8E5M2>, %y: tensor<2x2xf8E5M2>) {
    %a = ptir.select %p, %x, %y : (tensor<2x2xi1>, tensor<2x2xf8E5M2>, tensor<2x2xf8E5M2>) -> tensor<2x2xf8E5M2>
    %b = ptir.select %p, %p, %p : tensor<2x2xi1>
    func.return
  }
  // CHECK-LABEL: func.func @select(%p: tensor<2x2xi1>, %x: tensor<2x2xf8E5M2>, %y: tensor<2x2xf8E5M2>) {
  // CHECK-NEXT:  %a = ptir.select %p, %x, %y : (tensor<2x2xi1>, tensor<2x2xf8E5M2>, tensor<2x2xf8E5M2>) -> tensor<2x2xf8E5M2>
  // CHECK-NEXT:  %b = ptir.select %p, %p, %p : tensor<2x2xi1>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "select"
  // GENERIC-NEXT:  ^bb0(%p: tensor<2x2xi1>, %x: tensor<2x2xf8E5M2>, %y: tensor<2x2xf8E5M2>):
  // GENERIC-NEXT:  %a = "ptir.select"(%p, %x, %y) : (tensor<2x2xi1>, tensor<2x2xf8E5M2>, tensor<2x2xf8E5M2>) -> tensor<2x2xf8E5M2>
  // GENERIC-NEXT:  %b = "ptir.select"(%p, %p, %p) : (tensor<2x2xi1>, tensor<2x2xi1>, tensor<2x2xi1>) -> tensor<2x2xi1>

  func.func @cast(%x: tensor<2xf32>, %i: tensor<2xi1>) {
    %a = ptir.cast %x dtype = si4 : tensor<2xf32> -> tensor<2xsi4>
    %b = ptir.cast %x dtype = f8E4M3FN : tensor<2xf32> -> tensor<2xf8E4M3FN>
    %c = ptir.cast %x dtype = complex<f64> : tensor<2xf32> -> tensor<2xcomplex<f64>>
    %d = ptir.cast %x dtype = f32 : tensor<2xf32>
    %e = ptir.cast %i dtype = ui64 : tensor<2xi1> -> tensor<2xui64>
    func.return
  }
  // CHECK-LABEL: func.func @cast(%x: tensor<2xf32>, %i: tensor<2xi1>) {
  // CHECK-NEXT:  %a = ptir.cast %x dtype = si4 : tensor<2xf32> -> tensor<2xsi4>
  // CHECK-NEXT:  %b = ptir.cast %x dtype = f8E4M3FN : tensor<2xf32> -> tensor<2xf8E4M3FN>
  // CHECK-NEXT:  %c = ptir.cast %x dtype = complex<f64> : tensor<2xf32> -> tensor<2xcomplex<f64>>
  // CHECK-NEXT:  %d = ptir.cast %x dtype = f32 : tensor<2xf32>
  // CHECK-NEXT:  %e = ptir.cast %i dtype = ui64 : tensor<2xi1> -> tensor<2xui64>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "cast"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2xf32>, %i: tensor<2xi1>):
  // GENERIC-NEXT:  %a = "ptir.cast"(%x) <{dtype = si4}> : (tensor<2xf32>) -> tensor<2xsi4>
  // GENERIC-NEXT:  %b = "ptir.cast"(%x) <{dtype = f8E4M3FN}> : (tensor<2xf32>) -> tensor<2xf8E4M3FN>
  // GENERIC-NEXT:  %c = "ptir.cast"(%x) <{dtype = complex<f64>}> : (tensor<2xf32>) -> tensor<2xcomplex<f64>>
  // GENERIC-NEXT:  %d = "ptir.cast"(%x) <{dtype = f32}> : (tensor<2xf32>) -> tensor<2xf32>
  // GENERIC-NEXT:  %e = "ptir.cast"(%i) <{dtype = ui64}> : (tensor<2xi1>) -> tensor<2xui64>

  func.func @stop_gradient(%x: tensor<2xf16>) {
    %a = ptir.stop_gradient %x : tensor<2xf16>
    func.return
  }
  // CHECK-LABEL: func.func @stop_gradient(%x: tensor<2xf16>) {
  // CHECK-NEXT:  %a = ptir.stop_gradient %x : tensor<2xf16>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "stop_gradient"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2xf16>):
  // GENERIC-NEXT:  %a = "ptir.stop_gradient"(%x) : (tensor<2xf16>) -> tensor<2xf16>

  func.func @clamp(%x: tensor<2xui16>, %lo: tensor<2xui16>, %hi: tensor<2xui16>) {
    %a = ptir.clamp %x, %lo, %hi : tensor<2xui16>
    func.return
  }
  // CHECK-LABEL: func.func @clamp(%x: tensor<2xui16>, %lo: tensor<2xui16>, %hi: tensor<2xui16>) {
  // CHECK-NEXT:  %a = ptir.clamp %x, %lo, %hi : tensor<2xui16>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "clamp"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2xui16>, %lo: tensor<2xui16>, %hi: tensor<2xui16>):
  // GENERIC-NEXT:  %a = "ptir.clamp"(%x, %lo, %hi) : (tensor<2xui16>, tensor<2xui16>, tensor<2xui16>) -> tensor<2xui16>
}
