// RUN: mind-opt %s --ptir-fuse --ptir-absorb-views --ptir-merge-producers | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// The transpose keeps them apart, until both absorb it.
// CHECK-LABEL: func.func @moved
// CHECK-NEXT:  [[K:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<3x4xf32> -> tensor<4x3xf32> body {
// CHECK-NEXT:  ^bb0([[X_1:%[a-z0-9_.]+]]: tensor<3x4xf32>):
// CHECK-NEXT:    [[E:%[a-z0-9_.]+]] = ptir.exp [[X_1]] : tensor<3x4xf32>
// CHECK-NEXT:    [[N:%[a-z0-9_.]+]] = ptir.abs [[E]] : tensor<3x4xf32>
// CHECK-NEXT:    [[T:%[a-z0-9_.]+]] = ptir.transpose [[N]] perm = [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
// CHECK-NEXT:    [[M:%[a-z0-9_.]+]] = ptir.neg [[T]] : tensor<4x3xf32>
// CHECK-NEXT:    [[K_1:%[a-z0-9_.]+]] = ptir.exp [[M]] : tensor<4x3xf32>
// CHECK-NEXT:    ptir.yield [[K_1]] : tensor<4x3xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return [[K]] : tensor<4x3xf32>
func.func @moved(%x: tensor<3x4xf32>) -> tensor<4x3xf32> {
  %e = ptir.exp %x : tensor<3x4xf32>
  %n = ptir.abs %e : tensor<3x4xf32>
  %t = ptir.transpose %n perm = [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %m = ptir.neg %t : tensor<4x3xf32>
  %k = ptir.exp %m : tensor<4x3xf32>
  func.return %k : tensor<4x3xf32>
}

// Each element of %n would be computed 64 times.
// CHECK-LABEL: func.func @repeated
// CHECK-NEXT:  [[N:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<3x1xf32> body {
// CHECK-NEXT:  ^bb0([[X_1:%[a-z0-9_.]+]]: tensor<3x1xf32>):
// CHECK-NEXT:    [[E:%[a-z0-9_.]+]] = ptir.exp [[X_1]] : tensor<3x1xf32>
// CHECK-NEXT:    [[N_1:%[a-z0-9_.]+]] = ptir.abs [[E]] : tensor<3x1xf32>
// CHECK-NEXT:    ptir.yield [[N_1]] : tensor<3x1xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  [[M:%[a-z0-9_.]+]] = ptir.fusion [[N]], %y : (tensor<3x1xf32>, tensor<3x64xf32>) -> tensor<3x64xf32> body {
// CHECK-NEXT:  ^bb0([[N_1X:%[a-z0-9_.]+]]: tensor<3x1xf32>, [[Y_1:%[a-z0-9_.]+]]: tensor<3x64xf32>):
// CHECK-NEXT:    [[T:%[a-z0-9_.]+]] = ptir.broadcast_to [[N_1X]] result_shape = [3, 64] : tensor<3x1xf32> -> tensor<3x64xf32>
// CHECK-NEXT:    [[M_1:%[a-z0-9_.]+]] = ptir.mul [[T]], [[Y_1]] : tensor<3x64xf32>
// CHECK-NEXT:    ptir.yield [[M_1]] : tensor<3x64xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return [[M]] : tensor<3x64xf32>
func.func @repeated(%x: tensor<3x1xf32>, %y: tensor<3x64xf32>) -> tensor<3x64xf32> {
  %e = ptir.exp %x : tensor<3x1xf32>
  %n = ptir.abs %e : tensor<3x1xf32>
  %t = ptir.broadcast_to %n result_shape = [3, 64] : tensor<3x1xf32> -> tensor<3x64xf32>
  %m = ptir.mul %t, %y : tensor<3x64xf32>
  func.return %m : tensor<3x64xf32>
}

// A reduction is no elementwise op.
// CHECK-LABEL: func.func @reduced
// CHECK-NEXT:  [[S:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<3x4xf32> -> tensor<3xf32> body {
// CHECK-NEXT:  ^bb0([[X_1:%[a-z0-9_.]+]]: tensor<3x4xf32>):
// CHECK-NEXT:    [[E:%[a-z0-9_.]+]] = ptir.exp [[X_1]] : tensor<3x4xf32>
// CHECK-NEXT:    [[S_1:%[a-z0-9_.]+]] = ptir.reduce [[E]] kind = sum axes = [1] keepdims = false : tensor<3x4xf32> -> tensor<3xf32>
// CHECK-NEXT:    ptir.yield [[S_1]] : tensor<3xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  [[M:%[a-z0-9_.]+]] = ptir.fusion [[S]] : tensor<3xf32> body {
// CHECK-NEXT:  ^bb0([[S_1X:%[a-z0-9_.]+]]: tensor<3xf32>):
// CHECK-NEXT:    [[R:%[a-z0-9_.]+]] = ptir.exp [[S_1X]] : tensor<3xf32>
// CHECK-NEXT:    [[M_1:%[a-z0-9_.]+]] = ptir.abs [[R]] : tensor<3xf32>
// CHECK-NEXT:    ptir.yield [[M_1]] : tensor<3xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return [[M]] : tensor<3xf32>
func.func @reduced(%x: tensor<3x4xf32>) -> tensor<3xf32> {
  %e = ptir.exp %x : tensor<3x4xf32>
  %s = ptir.reduce %e kind = sum axes = [1] keepdims = false : tensor<3x4xf32> -> tensor<3xf32>
  %r = ptir.exp %s : tensor<3xf32>
  %m = ptir.abs %r : tensor<3xf32>
  func.return %m : tensor<3xf32>
}
}
