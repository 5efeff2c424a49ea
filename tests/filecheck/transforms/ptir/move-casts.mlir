// RUN: mind-opt %s --ptir-move-casts | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// A cast to fewer bytes comes first.
// CHECK-LABEL: func.func @narrow
// CHECK-NEXT:  [[V0:%[a-z0-9_.]+]] = ptir.cast %x dtype = bf16 : tensor<3x4xf32> -> tensor<3x4xbf16>
// CHECK-NEXT:  [[C:%[a-z0-9_.]+]] = ptir.transpose [[V0]] perm = [1, 0] : tensor<3x4xbf16> -> tensor<4x3xbf16>
// CHECK-NEXT:  func.return [[C]] : tensor<4x3xbf16>
func.func @narrow(%x: tensor<3x4xf32>) -> tensor<4x3xbf16> {
  %t = ptir.transpose %x perm = [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %c = ptir.cast %t dtype = bf16 : tensor<4x3xf32> -> tensor<4x3xbf16>
  func.return %c : tensor<4x3xbf16>
}

// A cast to more bytes comes last.
// CHECK-LABEL: func.func @widen
// CHECK-NEXT:  [[V0:%[a-z0-9_.]+]] = ptir.transpose %x perm = [1, 0] : tensor<3x4xbf16> -> tensor<4x3xbf16>
// CHECK-NEXT:  [[T:%[a-z0-9_.]+]] = ptir.cast [[V0]] dtype = f32 : tensor<4x3xbf16> -> tensor<4x3xf32>
// CHECK-NEXT:  func.return [[T]] : tensor<4x3xf32>
func.func @widen(%x: tensor<3x4xbf16>) -> tensor<4x3xf32> {
  %c = ptir.cast %x dtype = f32 : tensor<3x4xbf16> -> tensor<3x4xf32>
  %t = ptir.transpose %c perm = [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  func.return %t : tensor<4x3xf32>
}

// The slice reads a part of %n, so that casting all of it would be more work.
// CHECK-LABEL: func.func @part
// CHECK-NEXT:  [[N:%[a-z0-9_.]+]] = ptir.neg %x : tensor<3x4xf32>
// CHECK-NEXT:  [[S:%[a-z0-9_.]+]] = ptir.slice [[N]] starts = [0, 1] sizes = [3, 2] : tensor<3x4xf32> -> tensor<3x2xf32>
// CHECK-NEXT:  [[C:%[a-z0-9_.]+]] = ptir.cast [[S]] dtype = bf16 : tensor<3x2xf32> -> tensor<3x2xbf16>
// CHECK-NEXT:  func.return [[C]] : tensor<3x2xbf16>
func.func @part(%x: tensor<3x4xf32>) -> tensor<3x2xbf16> {
  %n = ptir.neg %x : tensor<3x4xf32>
  %s = ptir.slice %n starts = [0, 1] sizes = [3, 2] : tensor<3x4xf32> -> tensor<3x2xf32>
  %c = ptir.cast %s dtype = bf16 : tensor<3x2xf32> -> tensor<3x2xbf16>
  func.return %c : tensor<3x2xbf16>
}
}
