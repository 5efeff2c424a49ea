// RUN: mind-opt %s -t numpy | filecheck %s --strict-whitespace --match-full-lines

//      CHECK:# Python over an array namespace, made by the target mind-numpy.
// CHECK-NEXT:import numpy as xp
// CHECK-EMPTY:
// CHECK-NEXT:from mind_lowering.kernels import Kernels
// CHECK-EMPTY:
// CHECK-NEXT:k = Kernels(xp)

func.func @loss(%x: tensor<2x3xf32>, %w: tensor<3xf32>) -> tensor<f32> {
  %y = mind.dot %x, %w : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
  %c = mind.constant [0.5, inf] : tensor<2xf32>
  %d = mind.sub %y, %c : tensor<2xf32>
  %s = mind.mean %d axes = [0] keepdims = false : tensor<2xf32> -> tensor<f32>
  func.return %s : tensor<f32>
}
//      CHECK:loss_c3 = k.array([0.5, xp.inf], xp.float32)
// CHECK-NEXT:loss_c6 = k.array(2.0, xp.float32)
// CHECK-EMPTY:
// CHECK-NEXT:def loss(x, w):
// CHECK-NEXT:    # x: f32[2, 3]
// CHECK-NEXT:    # w: f32[3]
// CHECK-NEXT:    v2 = xp.matmul(x, w)  # f32[2]
// CHECK-NEXT:    v4 = xp.subtract(v2, loss_c3)  # f32[2]
// CHECK-NEXT:    del v2
// CHECK-NEXT:    v5 = xp.add.reduce(v4, axis=(0,), keepdims=False, dtype=xp.float32)  # f32[]
// CHECK-NEXT:    del v4
// CHECK-NEXT:    v7 = xp.divide(v5, loss_c6)  # f32[]
// CHECK-NEXT:    del v5
// CHECK-NEXT:    v8 = k.copy(v7)  # f32[]
// CHECK-NEXT:    del v7
// CHECK-NEXT:    return v8

// Names that hold code come out as plain words, the original escaped in a comment.
func.func @"x\22); import os"(%x: tensor<2xf32> {mind.name = "a\0Aimport os"}, %y: tensor<2xf32> {mind.name = "def"}) -> tensor<2xf32> {
  %z = mind.add %x, %y : tensor<2xf32>
  func.return %z : tensor<2xf32>
}
//      CHECK:def x____import_os(a_import_os, def_):
// CHECK-NEXT:    # @'x"); import os'
// CHECK-NEXT:    # a_import_os: f32[2], given as 'a\nimport os'
// CHECK-NEXT:    # def_: f32[2], given as 'def'
// CHECK-NEXT:    v2 = xp.add(a_import_os, def_)  # f32[2]
// CHECK-NEXT:    return v2
