// RUN: mind-opt %s --ptir-expand-quantized | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// (x - zero) * scale: exact in f32 for 8 bits.
// CHECK-LABEL: func.func @dequantize
// CHECK-NEXT:  [[V0:%[a-z0-9_.]+]] = ptir.cast %x dtype = f32 : tensor<2x3xsi8> -> tensor<2x3xf32>
// CHECK-NEXT:  [[V1:%[a-z0-9_.]+]] = ptir.cast %z dtype = f32 : tensor<si8> -> tensor<f32>
// CHECK-NEXT:  [[V2:%[a-z0-9_.]+]] = ptir.broadcast_to [[V1]] result_shape = [2, 3] : tensor<f32> -> tensor<2x3xf32>
// CHECK-NEXT:  [[V3:%[a-z0-9_.]+]] = ptir.sub [[V0]], [[V2]] : tensor<2x3xf32>
// CHECK-NEXT:  [[V4:%[a-z0-9_.]+]] = ptir.broadcast_to %s result_shape = [2, 3] : tensor<f32> -> tensor<2x3xf32>
// CHECK-NEXT:  [[D:%[a-z0-9_.]+]] = ptir.mul [[V3]], [[V4]] : tensor<2x3xf32>
// CHECK-NEXT:  func.return [[D]] : tensor<2x3xf32>
func.func @dequantize(%x: tensor<2x3xsi8>, %s: tensor<f32>, %z: tensor<si8>) -> tensor<2x3xf32> {
  %d = ptir.dequantize %x, %s, %z output_dtype = f32 : (tensor<2x3xsi8>, tensor<f32>, tensor<si8>) -> tensor<2x3xf32>
  func.return %d : tensor<2x3xf32>
}

// round(x / scale) + zero, saturated by the cast.
// CHECK-LABEL: func.func @quantize
// CHECK-NEXT:  [[V0:%[a-z0-9_.]+]] = ptir.broadcast_to %s result_shape = [2, 3] : tensor<f32> -> tensor<2x3xf32>
// CHECK-NEXT:  [[V1:%[a-z0-9_.]+]] = ptir.div %x, [[V0]] : tensor<2x3xf32>
// CHECK-NEXT:  [[V2:%[a-z0-9_.]+]] = ptir.round [[V1]] : tensor<2x3xf32>
// CHECK-NEXT:  [[V3:%[a-z0-9_.]+]] = ptir.cast %z dtype = f32 : tensor<si8> -> tensor<f32>
// CHECK-NEXT:  [[V4:%[a-z0-9_.]+]] = ptir.broadcast_to [[V3]] result_shape = [2, 3] : tensor<f32> -> tensor<2x3xf32>
// CHECK-NEXT:  [[V5:%[a-z0-9_.]+]] = ptir.add [[V2]], [[V4]] : tensor<2x3xf32>
// CHECK-NEXT:  [[Q:%[a-z0-9_.]+]] = ptir.cast [[V5]] dtype = si8 : tensor<2x3xf32> -> tensor<2x3xsi8>
// CHECK-NEXT:  func.return [[Q]] : tensor<2x3xsi8>
func.func @quantize(%x: tensor<2x3xf32>, %s: tensor<f32>, %z: tensor<si8>) -> tensor<2x3xsi8> {
  %q = ptir.quantize %x, %s, %z output_dtype = si8 : (tensor<2x3xf32>, tensor<f32>, tensor<si8>) -> tensor<2x3xsi8>
  func.return %q : tensor<2x3xsi8>
}
}
