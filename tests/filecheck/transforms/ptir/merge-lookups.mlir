// RUN: mind-opt %s --ptir-fuse --ptir-merge-lookups | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// The indices, the elements and what is computed of them are one fusion.
// CHECK-LABEL: func.func @along
// CHECK-NEXT:  [[R:%[a-z0-9_.]+]] = ptir.fusion %i, %x : (tensor<4x3xsi32>, tensor<4x8xf32>) -> tensor<4x3xf32> body {
// CHECK-NEXT:  ^bb0([[I_1:%[a-z0-9_.]+]]: tensor<4x3xsi32>, [[X_1:%[a-z0-9_.]+]]: tensor<4x8xf32>):
// CHECK-NEXT:    [[ONE:%[a-z0-9_.]+]] = ptir.constant fill 1 : tensor<4x3xsi32>
// CHECK-NEXT:    [[J:%[a-z0-9_.]+]] = ptir.add [[I_1]], [[ONE]] : tensor<4x3xsi32>
// CHECK-NEXT:    [[K:%[a-z0-9_.]+]] = ptir.abs [[J]] : tensor<4x3xsi32>
// CHECK-NEXT:    [[G:%[a-z0-9_.]+]] = ptir.gather [[X_1]], [[K]] axis = 1 : (tensor<4x8xf32>, tensor<4x3xsi32>) -> tensor<4x3xf32>
// CHECK-NEXT:    [[R_1:%[a-z0-9_.]+]] = ptir.exp [[G]] : tensor<4x3xf32>
// CHECK-NEXT:    ptir.yield [[R_1]] : tensor<4x3xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return [[R]] : tensor<4x3xf32>
func.func @along(%x: tensor<4x8xf32>, %i: tensor<4x3xsi32>) -> tensor<4x3xf32> {
  %one = ptir.constant fill 1 : tensor<4x3xsi32>
  %j = ptir.add %i, %one : tensor<4x3xsi32>
  %k = ptir.abs %j : tensor<4x3xsi32>
  %g = ptir.gather %x, %k axis = 1 : (tensor<4x8xf32>, tensor<4x3xsi32>) -> tensor<4x3xf32>
  %r = ptir.exp %g : tensor<4x3xf32>
  func.return %r : tensor<4x3xf32>
}

// Others read the indices, which are a result then.
// CHECK-LABEL: func.func @shared
// CHECK-NEXT:  [[G:%[a-z0-9_.]+]], [[K:%[a-z0-9_.]+]] = ptir.fusion %i, %x : (tensor<3xsi32>, tensor<8xf32>) -> (tensor<3xf32>, tensor<3xsi32>) body {
// CHECK-NEXT:  ^bb0([[I_1:%[a-z0-9_.]+]]: tensor<3xsi32>, [[X_1:%[a-z0-9_.]+]]: tensor<8xf32>):
// CHECK-NEXT:    [[K_1:%[a-z0-9_.]+]] = ptir.abs [[I_1]] : tensor<3xsi32>
// CHECK-NEXT:    [[G_1:%[a-z0-9_.]+]] = ptir.take [[X_1]], [[K_1]] : (tensor<8xf32>, tensor<3xsi32>) -> tensor<3xf32>
// CHECK-NEXT:    ptir.yield [[G_1]], [[K_1]] : tensor<3xf32>, tensor<3xsi32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return [[G]], [[K]] : tensor<3xf32>, tensor<3xsi32>
func.func @shared(%x: tensor<8xf32>, %i: tensor<3xsi32>) -> (tensor<3xf32>, tensor<3xsi32>) {
  %k = ptir.abs %i : tensor<3xsi32>
  %g = ptir.take %x, %k : (tensor<8xf32>, tensor<3xsi32>) -> tensor<3xf32>
  func.return %g, %k : tensor<3xf32>, tensor<3xsi32>
}

// Nothing is next to it.
// CHECK-LABEL: func.func @alone
// CHECK-NEXT:  [[G:%[a-z0-9_.]+]] = ptir.take %x, %i : (tensor<8xf32>, tensor<3xsi32>) -> tensor<3xf32>
// CHECK-NEXT:  func.return [[G]] : tensor<3xf32>
func.func @alone(%x: tensor<8xf32>, %i: tensor<3xsi32>) -> tensor<3xf32> {
  %g = ptir.take %x, %i : (tensor<8xf32>, tensor<3xsi32>) -> tensor<3xf32>
  func.return %g : tensor<3xf32>
}
}
