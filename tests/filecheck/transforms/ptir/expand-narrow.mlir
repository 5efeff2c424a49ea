// RUN: mind-opt %s --ptir-expand-narrow | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// Integers wrap: the low bits of the wide sum.
// CHECK-LABEL: func.func @sum
// CHECK-NEXT:  [[V0:%[a-z0-9_.]+]] = ptir.cast %x dtype = si32 : tensor<4xsi8> -> tensor<4xsi32>
// CHECK-NEXT:  [[V1:%[a-z0-9_.]+]] = ptir.cast %y dtype = si32 : tensor<4xsi8> -> tensor<4xsi32>
// CHECK-NEXT:  [[V2:%[a-z0-9_.]+]] = ptir.add [[V0]], [[V1]] : tensor<4xsi32>
// CHECK-NEXT:  %s = ptir.truncate [[V2]] dtype = si8 : tensor<4xsi32> -> tensor<4xsi8>
// CHECK-NEXT:  func.return %s : tensor<4xsi8>
func.func @sum(%x: tensor<4xsi8>, %y: tensor<4xsi8>) -> tensor<4xsi8> {
  %s = ptir.add %x, %y : tensor<4xsi8>
  func.return %s : tensor<4xsi8>
}

// Floats are rounded once.
// CHECK-LABEL: func.func @exponential
// CHECK-NEXT:  [[V0:%[a-z0-9_.]+]] = ptir.cast %x dtype = f32 : tensor<4xbf16> -> tensor<4xf32>
// CHECK-NEXT:  [[V1:%[a-z0-9_.]+]] = ptir.exp [[V0]] : tensor<4xf32>
// CHECK-NEXT:  %e = ptir.cast [[V1]] dtype = bf16 : tensor<4xf32> -> tensor<4xbf16>
// CHECK-NEXT:  func.return %e : tensor<4xbf16>
func.func @exponential(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %e = ptir.exp %x : tensor<4xbf16>
  func.return %e : tensor<4xbf16>
}

// A logical shift reads the bits of a signed number as unsigned.
// CHECK-LABEL: func.func @shift
// CHECK-NEXT:  [[V0:%[a-z0-9_.]+]] = ptir.truncate %x dtype = ui8 : tensor<4xsi8> -> tensor<4xui8>
// CHECK-NEXT:  [[V1:%[a-z0-9_.]+]] = ptir.cast [[V0]] dtype = si32 : tensor<4xui8> -> tensor<4xsi32>
// CHECK-NEXT:  [[V2:%[a-z0-9_.]+]] = ptir.cast %y dtype = si32 : tensor<4xsi8> -> tensor<4xsi32>
// CHECK-NEXT:  [[V3:%[a-z0-9_.]+]] = ptir.shift_right_logical [[V1]], [[V2]] : tensor<4xsi32>
// CHECK-NEXT:  %s = ptir.truncate [[V3]] dtype = si8 : tensor<4xsi32> -> tensor<4xsi8>
// CHECK-NEXT:  func.return %s : tensor<4xsi8>
func.func @shift(%x: tensor<4xsi8>, %y: tensor<4xsi8>) -> tensor<4xsi8> {
  %s = ptir.shift_right_logical %x, %y : tensor<4xsi8>
  func.return %s : tensor<4xsi8>
}

// A stated accumulator is the dtype of the sum, and the result saturates.
// CHECK-LABEL: func.func @accumulated
// CHECK-NEXT:  [[V0:%[a-z0-9_.]+]] = ptir.cast %x dtype = si32 : tensor<4xsi8> -> tensor<4xsi32>
// CHECK-NEXT:  [[V1:%[a-z0-9_.]+]] = ptir.reduce [[V0]] kind = sum axes = [0] keepdims = false : tensor<4xsi32> -> tensor<si32>
// CHECK-NEXT:  [[V2:%[a-z0-9_.]+]] = ptir.constant -128 : tensor<si32>
// CHECK-NEXT:  [[V3:%[a-z0-9_.]+]] = ptir.maximum [[V1]], [[V2]] : tensor<si32>
// CHECK-NEXT:  [[V4:%[a-z0-9_.]+]] = ptir.constant 127 : tensor<si32>
// CHECK-NEXT:  [[V5:%[a-z0-9_.]+]] = ptir.minimum [[V3]], [[V4]] : tensor<si32>
// CHECK-NEXT:  %s = ptir.truncate [[V5]] dtype = si8 : tensor<si32> -> tensor<si8>
// CHECK-NEXT:  func.return %s : tensor<si8>
func.func @accumulated(%x: tensor<4xsi8>) -> tensor<si8> {
  %s = ptir.reduce %x kind = sum axes = [0] keepdims = false accum_dtype = si32 : tensor<4xsi8> -> tensor<si8>
  func.return %s : tensor<si8>
}

// What only moves elements stays, and so does what is wide.
// CHECK-LABEL: func.func @stays
// CHECK-NEXT:  %t = ptir.transpose %x perm = [1, 0] : tensor<2x3xf16> -> tensor<3x2xf16>
// CHECK-NEXT:  %e = ptir.exp %y : tensor<4xf32>
// CHECK-NEXT:  func.return %t, %e : tensor<3x2xf16>, tensor<4xf32>
func.func @stays(%x: tensor<2x3xf16>, %y: tensor<4xf32>) -> (tensor<3x2xf16>, tensor<4xf32>) {
  %t = ptir.transpose %x perm = [1, 0] : tensor<2x3xf16> -> tensor<3x2xf16>
  %e = ptir.exp %y : tensor<4xf32>
  func.return %t, %e : tensor<3x2xf16>, tensor<4xf32>
}
}
