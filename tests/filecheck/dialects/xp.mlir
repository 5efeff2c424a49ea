// RUN: mind-opt %s | mind-opt | filecheck %s
// RUN: mind-opt %s --print-op-generic | mind-opt | filecheck %s
// RUN: mind-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

func.func @layer(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<f32> {
  %y = xp.call "xp.matmul"(%x, %w) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %c = xp.call "k.constant"() with {value = #ptir.literal<[1.0, nan, -inf, -0.0] : tensor<4xf32>>} : () -> tensor<4xf32>
  %z = xp.call "xp.add"(%y, %c) {note.colour = "red"} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  xp.free %y : tensor<2x4xf32>
  %s = xp.call "xp.add.reduce"(%z) with {axis = array<i64: 0, 1>, keepdims = false, dtype = f32} : (tensor<2x4xf32>) -> tensor<f32>
  xp.free %z : tensor<2x4xf32>
  xp.return %s : tensor<f32>
}
// CHECK-LABEL: func.func @layer
// CHECK-NEXT:  %y = xp.call "xp.matmul"(%x, %w) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %c = xp.call "k.constant"() with {value = #ptir.literal<[1.0, nan, -inf, -0.0] : tensor<4xf32>>} : () -> tensor<4xf32>
// CHECK-NEXT:  %z = xp.call "xp.add"(%y, %c) {note.colour = "red"} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  xp.free %y : tensor<2x4xf32>
// CHECK-NEXT:  %s = xp.call "xp.add.reduce"(%z) with {axis = array<i64: 0, 1>, keepdims = false, dtype = f32} : (tensor<2x4xf32>) -> tensor<f32>
// CHECK-NEXT:  xp.free %z : tensor<2x4xf32>
// CHECK-NEXT:  xp.return %s : tensor<f32>

// GENERIC:      %y = "xp.call"(%x, %w) <{callee = "xp.matmul"}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// GENERIC:      %s = "xp.call"(%z) <{callee = "xp.add.reduce", arguments = {axis = array<i64: 0, 1>, keepdims = false, dtype = f32}}> : (tensor<2x4xf32>) -> tensor<f32>
// GENERIC-NEXT: "xp.free"(%z) : (tensor<2x4xf32>) -> ()
// GENERIC-NEXT: "xp.return"(%s) : (tensor<f32>) -> ()

func.func @into(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = xp.call "xp.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %z = xp.call "xp.add"(%x, %y) into 1 : i64 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  xp.free %y : tensor<2xf32>
  xp.return %z : tensor<2xf32>
}
// CHECK-LABEL: func.func @into
// CHECK:       %z = xp.call "xp.add"(%x, %y) into 1 : i64 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// GENERIC:      %z = "xp.call"(%x, %y) <{callee = "xp.add", into = 1 : i64}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
