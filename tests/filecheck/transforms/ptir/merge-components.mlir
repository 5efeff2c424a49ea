// RUN: mind-opt %s --ptir-fuse --ptir-merge-components | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// A fusion and an op, both of them components of points.
// CHECK-LABEL: func.func @points
// CHECK-NEXT:  [[C:%[a-z0-9_.]+]], [[B:%[a-z0-9_.]+]] = ptir.fusion %x, %y : (tensor<9x1xf32>, tensor<9x1xf32>) -> (tensor<9x1xf32>, tensor<9x1xf32>) body {
// CHECK-NEXT:  ^bb0([[X_1:%[a-z0-9_.]+]]: tensor<9x1xf32>, [[Y_1:%[a-z0-9_.]+]]: tensor<9x1xf32>):
// CHECK-NEXT:    [[C_1:%[a-z0-9_.]+]] = ptir.sub [[X_1]], [[Y_1]] : tensor<9x1xf32>
// CHECK-NEXT:    [[A:%[a-z0-9_.]+]] = ptir.mul [[X_1]], [[Y_1]] : tensor<9x1xf32>
// CHECK-NEXT:    [[B_1:%[a-z0-9_.]+]] = ptir.exp [[A]] : tensor<9x1xf32>
// CHECK-NEXT:    ptir.yield [[C_1]], [[B_1]] : tensor<9x1xf32>, tensor<9x1xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  [[R:%[a-z0-9_.]+]] = ptir.concat [[C]], %x, [[B]] axis = 1 : (tensor<9x1xf32>, tensor<9x1xf32>, tensor<9x1xf32>) -> tensor<9x3xf32>
// CHECK-NEXT:  func.return [[R]] : tensor<9x3xf32>
func.func @points(%x: tensor<9x1xf32>, %y: tensor<9x1xf32>) -> tensor<9x3xf32> {
  %a = ptir.mul %x, %y : tensor<9x1xf32>
  %b = ptir.exp %a : tensor<9x1xf32>
  %c = ptir.sub %x, %y : tensor<9x1xf32>
  %r = ptir.concat %c, %x, %b axis = 1 : (tensor<9x1xf32>, tensor<9x1xf32>, tensor<9x1xf32>) -> tensor<9x3xf32>
  func.return %r : tensor<9x3xf32>
}

// Another op reads a component: its fusion stays, and one alone is not merged.
// CHECK-LABEL: func.func @shared
// CHECK-NEXT:  [[A:%[a-z0-9_.]+]] = ptir.add %x, %y : tensor<9x1xf32>
// CHECK-NEXT:  [[B:%[a-z0-9_.]+]] = ptir.sub %x, %y : tensor<9x1xf32>
// CHECK-NEXT:  [[R:%[a-z0-9_.]+]] = ptir.concat [[A]], [[B]] axis = 1 : (tensor<9x1xf32>, tensor<9x1xf32>) -> tensor<9x2xf32>
// CHECK-NEXT:  [[S:%[a-z0-9_.]+]] = ptir.reverse [[B]] axes = [0] : tensor<9x1xf32>
// CHECK-NEXT:  func.return [[R]], [[S]] : tensor<9x2xf32>, tensor<9x1xf32>
func.func @shared(%x: tensor<9x1xf32>, %y: tensor<9x1xf32>) -> (tensor<9x2xf32>, tensor<9x1xf32>) {
  %a = ptir.add %x, %y : tensor<9x1xf32>
  %b = ptir.sub %x, %y : tensor<9x1xf32>
  %r = ptir.concat %a, %b axis = 1 : (tensor<9x1xf32>, tensor<9x1xf32>) -> tensor<9x2xf32>
  %s = ptir.reverse %b axes = [0] : tensor<9x1xf32>
  func.return %r, %s : tensor<9x2xf32>, tensor<9x1xf32>
}

// Rows, which are no components: each follows the other in memory.
// CHECK-LABEL: func.func @rows
// CHECK-NEXT:  [[A:%[a-z0-9_.]+]] = ptir.add %x, %y : tensor<1x9xf32>
// CHECK-NEXT:  [[B:%[a-z0-9_.]+]] = ptir.sub %x, %y : tensor<1x9xf32>
// CHECK-NEXT:  [[R:%[a-z0-9_.]+]] = ptir.concat [[A]], [[B]] axis = 0 : (tensor<1x9xf32>, tensor<1x9xf32>) -> tensor<2x9xf32>
// CHECK-NEXT:  func.return [[R]] : tensor<2x9xf32>
func.func @rows(%x: tensor<1x9xf32>, %y: tensor<1x9xf32>) -> tensor<2x9xf32> {
  %a = ptir.add %x, %y : tensor<1x9xf32>
  %b = ptir.sub %x, %y : tensor<1x9xf32>
  %r = ptir.concat %a, %b axis = 0 : (tensor<1x9xf32>, tensor<1x9xf32>) -> tensor<2x9xf32>
  func.return %r : tensor<2x9xf32>
}

// A sum stays a kernel of its own.
// CHECK-LABEL: func.func @sums
// CHECK-NEXT:  [[A:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<9x4xf32> -> tensor<9x1xf32> body {
// CHECK-NEXT:  ^bb0([[X_1:%[a-z0-9_.]+]]: tensor<9x4xf32>):
// CHECK-NEXT:    [[E:%[a-z0-9_.]+]] = ptir.exp [[X_1]] : tensor<9x4xf32>
// CHECK-NEXT:    [[A_1:%[a-z0-9_.]+]] = ptir.reduce [[E]] kind = sum axes = [1] keepdims = true : tensor<9x4xf32> -> tensor<9x1xf32>
// CHECK-NEXT:    ptir.yield [[A_1]] : tensor<9x1xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  [[B:%[a-z0-9_.]+]] = ptir.neg %y : tensor<9x1xf32>
// CHECK-NEXT:  [[R:%[a-z0-9_.]+]] = ptir.concat [[A]], [[B]] axis = 1 : (tensor<9x1xf32>, tensor<9x1xf32>) -> tensor<9x2xf32>
// CHECK-NEXT:  func.return [[R]] : tensor<9x2xf32>
func.func @sums(%x: tensor<9x4xf32>, %y: tensor<9x1xf32>) -> tensor<9x2xf32> {
  %e = ptir.exp %x : tensor<9x4xf32>
  %a = ptir.reduce %e kind = sum axes = [1] keepdims = true : tensor<9x4xf32> -> tensor<9x1xf32>
  %b = ptir.neg %y : tensor<9x1xf32>
  %r = ptir.concat %a, %b axis = 1 : (tensor<9x1xf32>, tensor<9x1xf32>) -> tensor<9x2xf32>
  func.return %r : tensor<9x2xf32>
}
}
