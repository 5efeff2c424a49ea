// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC
// Normalisation, random numbers, top-k, quantisation, custom calls.

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

  func.func @layer_norm(%x: tensor<2x8xbf16>, %g: tensor<8xbf16>, %b: tensor<8xbf16>) {
    %a = ptir.layer_norm %x, %g, %b epsilon = 1.0e-05 feature_axis = -1 : (tensor<2x8xbf16>, tensor<8xbf16>, tensor<8xbf16>) -> tensor<2x8xbf16>
    func.return
  }
  // CHECK-LABEL: func.func @layer_norm(%x: tensor<2x8xbf16>, %g: tensor<8xbf16>, %b: tensor<8xbf16>) {
  // CHECK-NEXT:  %a = ptir.layer_norm %x, %g, %b epsilon = 1.0e-05 feature_axis = -1 : (tensor<2x8xbf16>, tensor<8xbf16>, tensor<8xbf16>) -> tensor<2x8xbf16>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "layer_norm"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x8xbf16>, %g: tensor<8xbf16>, %b: tensor<8xbf16>):
  // GENERIC-NEXT:  %a = "ptir.layer_norm"(%x, %g, %b) <{epsilon = #ptir.literal<1.0e-05 : tensor<f64>>, feature_axis = -1 : i64}> : (tensor<2x8xbf16>, tensor<8xbf16>, tensor<8xbf16>) -> tensor<2x8xbf16>

  func.func @rng() {
    %a = ptir.rng_uniform shape = [2, 3] dtype = f32 : tensor<2x3xf32>
    %b = ptir.rng_normal shape = [] dtype = bf16 : tensor<bf16>
    func.return
  }
  // CHECK-LABEL: func.func @rng() {
  // CHECK-NEXT:  %a = ptir.rng_uniform shape = [2, 3] dtype = f32 : tensor<2x3xf32>
  // CHECK-NEXT:  %b = ptir.rng_normal shape = [] dtype = bf16 : tensor<bf16>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "rng"
  // GENERIC-NEXT:  %a = "ptir.rng_uniform"() <{shape = array<i64: 2, 3>, dtype = f32}> : () -> tensor<2x3xf32>
  // GENERIC-NEXT:  %b = "ptir.rng_normal"() <{shape = array<i64>, dtype = bf16}> : () -> tensor<bf16>

  func.func @top_k(%x: tensor<2x5xf32>) {
    %a, %b = ptir.top_k %x k = 3 axis = -1 largest = true indices_dtype = si32 : tensor<2x5xf32> -> (tensor<2x3xf32>, tensor<2x3xsi32>)
    func.return
  }
  // CHECK-LABEL: func.func @top_k(%x: tensor<2x5xf32>) {
  // CHECK-NEXT:  %a, %b = ptir.top_k %x k = 3 axis = -1 largest = true indices_dtype = si32 : tensor<2x5xf32> -> (tensor<2x3xf32>, tensor<2x3xsi32>)
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "top_k"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x5xf32>):
  // GENERIC-NEXT:  %a, %b = "ptir.top_k"(%x) <{k = 3 : i64, axis = -1 : i64, largest = true, indices_dtype = si32}> : (tensor<2x5xf32>) -> (tensor<2x3xf32>, tensor<2x3xsi32>)

  func.func @quantize(%x: tensor<2x3xf32>, %s: tensor<f32>, %z: tensor<si8>, %t: tensor<3xf32>, %y: tensor<3xsi8>) {
    %a = ptir.quantize %x output_dtype = si8 : tensor<2x3xf32> -> tensor<2x3xsi8>
    %b = ptir.quantize %x, %s, %z output_dtype = si8 : (tensor<2x3xf32>, tensor<f32>, tensor<si8>) -> tensor<2x3xsi8>
    %c = ptir.quantize %x, %t, %y output_dtype = si8 axis = -1 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xsi8>) -> tensor<2x3xsi8>
    func.return
  }
  // CHECK-LABEL: func.func @quantize(%x: tensor<2x3xf32>, %s: tensor<f32>, %z: tensor<si8>, %t: tensor<3xf32>, %y: tensor<3xsi8>) {
  // CHECK-NEXT:  %a = ptir.quantize %x output_dtype = si8 : tensor<2x3xf32> -> tensor<2x3xsi8>
  // CHECK-NEXT:  %b = ptir.quantize %x, %s, %z output_dtype = si8 : (tensor<2x3xf32>, tensor<f32>, tensor<si8>) -> tensor<2x3xsi8>
  // CHECK-NEXT:  %c = ptir.quantize %x, %t, %y output_dtype = si8 axis = -1 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xsi8>) -> tensor<2x3xsi8>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "quantize"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x3xf32>, %s: tensor<f32>, %z: tensor<si8>, %t: tensor<3xf32>, %y: tensor<3xsi8>):
  // GENERIC-NEXT:  %a = "ptir.quantize"(%x) <{output_dtype = si8}> : (tensor<2x3xf32>) -> tensor<2x3xsi8>
  // GENERIC-NEXT:  %b = "ptir.quantize"(%x, %s, %z) <{output_dtype = si8}> : (tensor<2x3xf32>, tensor<f32>, tensor<si8>) -> tensor<2x3xsi8>
  // GENERIC-NEXT:  %c = "ptir.quantize"(%x, %t, %y) <{output_dtype = si8, axis = -1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xsi8>) -> tensor<2x3xsi8>

  func.func @dequantize(%x: tensor<2xui4>, %s: tensor<f16>, %z: tensor<ui4>) {
    %a = ptir.dequantize %x : tensor<2xui4> -> tensor<2xf32>
    %b = ptir.dequantize %x, %s, %z : (tensor<2xui4>, tensor<f16>, tensor<ui4>) -> tensor<2xf16>
    %c = ptir.dequantize %x axis = 0 output_dtype = bf16 : tensor<2xui4> -> tensor<2xbf16>
    func.return
  }
  // CHECK-LABEL: func.func @dequantize(%x: tensor<2xui4>, %s: tensor<f16>, %z: tensor<ui4>) {
  // CHECK-NEXT:  %a = ptir.dequantize %x : tensor<2xui4> -> tensor<2xf32>
  // CHECK-NEXT:  %b = ptir.dequantize %x, %s, %z : (tensor<2xui4>, tensor<f16>, tensor<ui4>) -> tensor<2xf16>
  // CHECK-NEXT:  %c = ptir.dequantize %x axis = 0 output_dtype = bf16 : tensor<2xui4> -> tensor<2xbf16>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "dequantize"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2xui4>, %s: tensor<f16>, %z: tensor<ui4>):
  // GENERIC-NEXT:  %a = "ptir.dequantize"(%x) : (tensor<2xui4>) -> tensor<2xf32>
  // GENERIC-NEXT:  %b = "ptir.dequantize"(%x, %s, %z) : (tensor<2xui4>, tensor<f16>, tensor<ui4>) -> tensor<2xf16>
  // GENERIC-NEXT:  %c = "ptir.dequantize"(%x) <{axis = 0 : i64, output_dtype = bf16}> : (tensor<2xui4>) -> tensor<2xbf16>

  func.func @requantize(%x: tensor<2xsi8>, %s: tensor<2xf32>, %z: tensor<2xsi8>, %t: tensor<2xf32>, %y: tensor<2xui4>) {
    %a = ptir.requantize %x, %s, %z, %t, %y output_dtype = ui4 axis = 0 : (tensor<2xsi8>, tensor<2xf32>, tensor<2xsi8>, tensor<2xf32>, tensor<2xui4>) -> tensor<2xui4>
    %b = ptir.requantize %x output_dtype = ui8 : tensor<2xsi8> -> tensor<2xui8>
    func.return
  }
  // CHECK-LABEL: func.func @requantize(%x: tensor<2xsi8>, %s: tensor<2xf32>, %z: tensor<2xsi8>, %t: tensor<2xf32>, %y: tensor<2xui4>) {
  // CHECK-NEXT:  %a = ptir.requantize %x, %s, %z, %t, %y output_dtype = ui4 axis = 0 : (tensor<2xsi8>, tensor<2xf32>, tensor<2xsi8>, tensor<2xf32>, tensor<2xui4>) -> tensor<2xui4>
  // CHECK-NEXT:  %b = ptir.requantize %x output_dtype = ui8 : tensor<2xsi8> -> tensor<2xui8>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "requantize"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2xsi8>, %s: tensor<2xf32>, %z: tensor<2xsi8>, %t: tensor<2xf32>, %y: tensor<2xui4>):
  // GENERIC-NEXT:  %a = "ptir.requantize"(%x, %s, %z, %t, %y) <{output_dtype = ui4, axis = 0 : i64}> : (tensor<2xsi8>, tensor<2xf32>, tensor<2xsi8>, tensor<2xf32>, tensor<2xui4>) -> tensor<2xui4>
  // GENERIC-NEXT:  %b = "ptir.requantize"(%x) <{output_dtype = ui8}> : (tensor<2xsi8>) -> tensor<2xui8>

  // The declared types are what the call gives. Every kind of attribute; floats are literals, so that infinity survives.
  func.func @custom_call(%x: tensor<2xf32>) {
    %a, %b = ptir.custom_call %x target = "gpt_rs.faer.conv2d.nhwc.f32.v1" attrs = {groups = 2 : i64, exact = true, name = "a", sizes = array<i64: 1, 2>, scales = #ptir.literal<[0.5, inf] : tensor<2xf64>>, flags = [true, false], names = ["a", "b"]} : tensor<2xf32> -> (tensor<2xf32>, tensor<?xsi8>)
    func.return
  }
  // CHECK-LABEL: func.func @custom_call(%x: tensor<2xf32>) {
  // CHECK-NEXT:  %a, %b = ptir.custom_call %x target = "gpt_rs.faer.conv2d.nhwc.f32.v1" attrs = {groups = 2 : i64, exact = true, name = "a", sizes = array<i64: 1, 2>, scales = #ptir.literal<[0.5, inf] : tensor<2xf64>>, flags = [true, false], names = ["a", "b"]} : tensor<2xf32> -> (tensor<2xf32>, tensor<?xsi8>)
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "custom_call"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2xf32>):
  // GENERIC-NEXT:  %a, %b = "ptir.custom_call"(%x) <{target = "gpt_rs.faer.conv2d.nhwc.f32.v1", attrs = {groups = 2 : i64, exact = true, name = "a", sizes = array<i64: 1, 2>, scales = #ptir.literal<[0.5, inf] : tensor<2xf64>>, flags = [true, false], names = ["a", "b"]}}> : (tensor<2xf32>) -> (tensor<2xf32>, tensor<?xsi8>)

  func.func @custom_call_of_nothing() {
    ptir.custom_call target = "a.b.v12" attrs = {} : () -> ()
    func.return
  }
  // CHECK-LABEL: func.func @custom_call_of_nothing() {
  // CHECK-NEXT:  ptir.custom_call target = "a.b.v12" attrs = {} : () -> ()
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "custom_call_of_nothing"
  // GENERIC-NEXT:  "ptir.custom_call"() <{target = "a.b.v12", attrs = {}}> : () -> ()
}
