// RUN: PTIR_INVALID

// layer_norm: scale and shift along the feature axis, of the operand's dtype.
// CHECK: error[E3003]: layer_norm %a: gamma extents 7 and 8, expected equal
// CHECK: = note: ShapeError
func.func @layer_norm_feature(%x: tensor<2x8xf32>, %g: tensor<7xf32>, %b: tensor<8xf32>) {
  %a = ptir.layer_norm %x, %g, %b epsilon = 1.0e-05 feature_axis = -1 : (tensor<2x8xf32>, tensor<7xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  func.return
}

// -----

// CHECK: error[E3002]: layer_norm %a: gamma has rank 2, expected 1
// CHECK: = note: ShapeError
func.func @layer_norm_rank(%x: tensor<2x8xf32>, %g: tensor<1x8xf32>, %b: tensor<8xf32>) {
  %a = ptir.layer_norm %x, %g, %b epsilon = 1.0e-05 feature_axis = -1 : (tensor<2x8xf32>, tensor<1x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  func.return
}

// -----

// CHECK: error[E2004]: layer_norm %a: x and gamma have dtypes f32 and f16, expected one dtype; cast makes them equal
// CHECK: = note: TypeError
func.func @layer_norm_dtypes(%x: tensor<2x8xf32>, %g: tensor<8xf16>, %b: tensor<8xf32>) {
  %a = ptir.layer_norm %x, %g, %b epsilon = 1.0e-05 feature_axis = -1 : (tensor<2x8xf32>, tensor<8xf16>, tensor<8xf32>) -> tensor<2x8xf32>
  func.return
}

// -----

// CHECK: error[E3004]: layer_norm %a: axis 1 is out of range for rank 1, expected -1 <= axis < 1
// CHECK: = note: ShapeError
func.func @layer_norm_axis(%x: tensor<8xf32>) {
  %a = ptir.layer_norm %x, %x, %x epsilon = 1.0e-05 feature_axis = 1 : tensor<8xf32>
  func.return
}

// -----

// CHECK: error[E8002]: layer_norm %a: epsilon nan, expected a finite number from 0 up
// CHECK: = note: InvalidAttributeValue
func.func @layer_norm_epsilon(%x: tensor<8xf32>) {
  %a = ptir.layer_norm %x, %x, %x epsilon = nan feature_axis = 0 : tensor<8xf32>
  func.return
}

// -----

// CHECK: error[E2005]: layer_norm %a: x has dtype si32, expected one of ['fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @layer_norm_of_integers(%x: tensor<8xsi32>) {
  %a = ptir.layer_norm %x, %x, %x epsilon = 1.0e-05 feature_axis = 0 : tensor<8xsi32>
  func.return
}

// -----

// Random numbers: a shape, and a float dtype.
// CHECK: error[E2005]: rng_uniform %a: dtype has dtype si32, expected one of ['bf16', 'f16', 'f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @rng_dtype() {
  %a = ptir.rng_uniform shape = [2] dtype = si32 : tensor<2xsi32>
  func.return
}

// -----

// CHECK: error[E3006]: rng_normal %a: extent -1 at 0 in [-1], expected 0 to 2^63 - 1 or a name
// CHECK: = note: NegativeDimension
func.func @rng_shape() {
  %a = ptir.rng_normal shape = [-1] dtype = f32 : tensor<1xf32>
  func.return
}

// -----

// CHECK: error[E4015]: rng_normal %a: declared result tensor<3xf32>, inferred tensor<2xf32>
// CHECK: = note: VerificationError
func.func @rng_result() {
  %a = ptir.rng_normal shape = [2] dtype = f32 : tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E2007]: rng_uniform %a: expects 0 operands, found 1
// CHECK: = note: TypeError
func.func @rng_operand(%x: tensor<2xf32>) {
  %a = ptir.rng_uniform %x shape = [2] dtype = f32 : tensor<2xf32>
  func.return
}

// -----

// top_k: no more than there are, ordered dtypes, two results.
// CHECK: error[E8002]: top_k %a: k 6 along an axis of extent 5, expected 0 to 5
// CHECK: = note: InvalidAttributeValue
func.func @top_k_count(%x: tensor<2x5xf32>) {
  %a, %b = ptir.top_k %x k = 6 axis = -1 largest = true indices_dtype = si32 : tensor<2x5xf32> -> (tensor<2x6xf32>, tensor<2x6xsi32>)
  func.return
}

// -----

// CHECK: error[E8002]: top_k %a: k -1, expected at least 0
// CHECK: = note: InvalidAttributeValue
func.func @top_k_negative(%x: tensor<5xf32>) {
  %a, %b = ptir.top_k %x k = -1 axis = 0 largest = true indices_dtype = si32 : tensor<5xf32> -> (tensor<0xf32>, tensor<0xsi32>)
  func.return
}

// -----

// CHECK: error[E3004]: top_k %a: axis 1 is out of range for rank 1, expected -1 <= axis < 1
// CHECK: = note: ShapeError
func.func @top_k_axis(%x: tensor<5xf32>) {
  %a, %b = ptir.top_k %x k = 1 axis = 1 largest = true indices_dtype = si32 : tensor<5xf32> -> (tensor<1xf32>, tensor<1xsi32>)
  func.return
}

// -----

// CHECK: error[E2005]: top_k %a: x has dtype cf32, expected one of ['i1', 'si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32', 'si64', 'ui64', 'fp8_e4m3', 'fp8_e5m2', 'bf16', 'f16', 'f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @top_k_of_complex(%x: tensor<5xcomplex<f32>>) {
  %a, %b = ptir.top_k %x k = 1 axis = 0 largest = true indices_dtype = si32 : tensor<5xcomplex<f32>> -> (tensor<1xcomplex<f32>>, tensor<1xsi32>)
  func.return
}

// -----

// CHECK: error[E4015]: top_k %a: declared result 1 tensor<1xsi64>, inferred tensor<1xsi32>
// CHECK: = note: VerificationError
func.func @top_k_indices(%x: tensor<5xf32>) {
  %a, %b = ptir.top_k %x k = 1 axis = 0 largest = true indices_dtype = si32 : tensor<5xf32> -> (tensor<1xf32>, tensor<1xsi64>)
  func.return
}

// -----

// CHECK: error[E2007]: top_k %a: expects 2 results, found 1
// CHECK: = note: TypeError
func.func @top_k_results(%x: tensor<5xf32>) {
  %a = ptir.top_k %x k = 1 axis = 0 largest = true indices_dtype = si32 : tensor<5xf32> -> tensor<1xf32>
  func.return
}

// -----

// Quantisation: scale and zero point together, scalars without an axis, vectors along it with one; dtypes that belong together.
// CHECK: error[E2007]: quantize %a: found 2 operands, expected x alone, or x and ['scale', 'zero_point']
// CHECK: = note: TypeError
func.func @quantize_scale_alone(%x: tensor<2xf32>, %s: tensor<f32>) {
  %a = ptir.quantize %x, %s output_dtype = si8 : (tensor<2xf32>, tensor<f32>) -> tensor<2xsi8>
  func.return
}

// -----

// CHECK: error[E3002]: quantize %a: scale or zero_point has rank 1, expected 0
// CHECK: = note: ShapeError
func.func @quantize_vector_without_axis(%x: tensor<2xf32>, %s: tensor<2xf32>, %z: tensor<2xsi8>) {
  %a = ptir.quantize %x, %s, %z output_dtype = si8 : (tensor<2xf32>, tensor<2xf32>, tensor<2xsi8>) -> tensor<2xsi8>
  func.return
}

// -----

// CHECK: error[E3003]: quantize %a: scale extents 3 and 2, expected equal
// CHECK: = note: ShapeError
func.func @quantize_along(%x: tensor<2xf32>, %s: tensor<3xf32>, %z: tensor<3xsi8>) {
  %a = ptir.quantize %x, %s, %z output_dtype = si8 axis = 0 : (tensor<2xf32>, tensor<3xf32>, tensor<3xsi8>) -> tensor<2xsi8>
  func.return
}

// -----

// CHECK: error[E3004]: quantize %a: axis 1 is out of range for rank 1, expected -1 <= axis < 1
// CHECK: = note: ShapeError
func.func @quantize_axis(%x: tensor<2xf32>) {
  %a = ptir.quantize %x output_dtype = si8 axis = 1 : tensor<2xf32> -> tensor<2xsi8>
  func.return
}

// -----

// CHECK: error[E2004]: quantize %a: scale and what it belongs to have dtypes f16 and f32, expected one dtype; cast makes them equal
// CHECK: = note: TypeError
func.func @quantize_scale_dtype(%x: tensor<2xf32>, %s: tensor<f16>, %z: tensor<si8>) {
  %a = ptir.quantize %x, %s, %z output_dtype = si8 : (tensor<2xf32>, tensor<f16>, tensor<si8>) -> tensor<2xsi8>
  func.return
}

// -----

// CHECK: error[E2004]: quantize %a: zero_point and what it belongs to have dtypes ui8 and si8, expected one dtype; cast makes them equal
// CHECK: = note: TypeError
func.func @quantize_zero_point_dtype(%x: tensor<2xf32>, %s: tensor<f32>, %z: tensor<ui8>) {
  %a = ptir.quantize %x, %s, %z output_dtype = si8 : (tensor<2xf32>, tensor<f32>, tensor<ui8>) -> tensor<2xsi8>
  func.return
}

// -----

// CHECK: error[E2005]: quantize %a: output_dtype has dtype f16, expected one of ['si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32']
// CHECK: = note: DTypeNotSupported
func.func @quantize_output_dtype(%x: tensor<2xf32>) {
  %a = ptir.quantize %x output_dtype = f16 : tensor<2xf32> -> tensor<2xf16>
  func.return
}

// -----

// CHECK: error[E2005]: dequantize %a: x has dtype f32, expected one of ['si4', 'ui4', 'si8', 'ui8', 'si16', 'ui16', 'si32', 'ui32']
// CHECK: = note: DTypeNotSupported
func.func @dequantize_of_floats(%x: tensor<2xf32>) {
  %a = ptir.dequantize %x : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2005]: dequantize %a: scale has dtype si8, expected one of ['bf16', 'f16', 'f32', 'f64']
// CHECK: = note: DTypeNotSupported
func.func @dequantize_scale(%x: tensor<2xsi8>, %s: tensor<si8>) {
  %a = ptir.dequantize %x, %s, %s : (tensor<2xsi8>, tensor<si8>, tensor<si8>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2004]: dequantize %a: scale and what it belongs to have dtypes f16 and f32, expected one dtype; cast makes them equal
// CHECK: = note: TypeError
func.func @dequantize_output_dtype(%x: tensor<2xsi8>, %s: tensor<f16>, %z: tensor<si8>) {
  %a = ptir.dequantize %x, %s, %z output_dtype = f32 : (tensor<2xsi8>, tensor<f16>, tensor<si8>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2007]: requantize %a: found 3 operands, expected x alone, or x and ['scale', 'zero_point', 'output_scale', 'output_zero_point']
// CHECK: = note: TypeError
func.func @requantize_one_pair(%x: tensor<2xsi8>, %s: tensor<f32>, %z: tensor<si8>) {
  %a = ptir.requantize %x, %s, %z output_dtype = ui8 : (tensor<2xsi8>, tensor<f32>, tensor<si8>) -> tensor<2xui8>
  func.return
}

// -----

// CHECK: error[E2004]: requantize %a: output_scale and what it belongs to have dtypes f64 and f32, expected one dtype; cast makes them equal
// CHECK: = note: TypeError
func.func @requantize_scales(%x: tensor<2xsi8>, %s: tensor<f32>, %z: tensor<si8>, %t: tensor<f64>, %y: tensor<ui8>) {
  %a = ptir.requantize %x, %s, %z, %t, %y output_dtype = ui8 : (tensor<2xsi8>, tensor<f32>, tensor<si8>, tensor<f64>, tensor<ui8>) -> tensor<2xui8>
  func.return
}

// -----

// custom_call: a name with namespace and version; attributes are primitives and arrays of primitives.
// CHECK: error[E8002]: custom_call %a: target 'conv2d.v1x', expected a namespace and a version such as my_project.conv2d.v1
// CHECK: = note: InvalidAttributeValue
func.func @call_namespace(%x: tensor<2xf32>) {
  %a = ptir.custom_call %x target = "conv2d.v1x" attrs = {} : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E8002]: custom_call %a: target 'gpt_rs.faer.conv2d', expected a namespace and a version such as my_project.conv2d.v1
// CHECK: = note: InvalidAttributeValue
func.func @call_version(%x: tensor<2xf32>) {
  %a = ptir.custom_call %x target = "gpt_rs.faer.conv2d" attrs = {} : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E8002]: custom_call %a: target 'gpt rs.conv2d.v1', expected a namespace and a version such as my_project.conv2d.v1
// CHECK: = note: InvalidAttributeValue
func.func @call_name(%x: tensor<2xf32>) {
  %a = ptir.custom_call %x target = "gpt rs.conv2d.v1" attrs = {} : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E8002]: found {n = 1 : i64}, expected a map from names to i64, f64, bool, string or arrays of one of these for 'm'
// CHECK: = note: InvalidAttributeValue
func.func @call_nested_attribute(%x: tensor<2xf32>) {
  %a = ptir.custom_call %x target = "a.b.v1" attrs = {m = {n = 1 : i64}} : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E8002]: found [true, "x"], expected a map from names to i64, f64, bool, string or arrays of one of these for 'm'
// CHECK: = note: InvalidAttributeValue
func.func @call_mixed_array(%x: tensor<2xf32>) {
  %a = ptir.custom_call %x target = "a.b.v1" attrs = {m = [true, "x"]} : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E8002]: found 1 : i32, expected a map from names to i64, f64, bool, string or arrays of one of these for 'm'
// CHECK: = note: InvalidAttributeValue
func.func @call_width_of_an_integer(%x: tensor<2xf32>) {
  %a = ptir.custom_call %x target = "a.b.v1" attrs = {m = 1 : i32} : tensor<2xf32>
  func.return
}

// -----

// CHECK: error[E2001]: custom_call %a: expected a tensor, found f32
// CHECK: = note: TypeError
func.func @call_of_no_tensor(%x: f32) {
  %a = ptir.custom_call %x target = "a.b.v1" attrs = {} : f32 -> tensor<f32>
  func.return
}
