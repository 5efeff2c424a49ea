// RUN: mind-opt %s --ptir-absorb-views=results=true | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// The transpose alone reads the result.
// CHECK-LABEL: func.func @alone
// CHECK-NEXT:  [[N:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<3x4xf32> -> tensor<4x3xf32> body {
// CHECK-NEXT:  ^bb0([[A:%[a-z0-9_.]+]]: tensor<3x4xf32>):
// CHECK-NEXT:    [[E:%[a-z0-9_.]+]] = ptir.exp [[A]] : tensor<3x4xf32>
// CHECK-NEXT:    [[T:%[a-z0-9_.]+]] = ptir.transpose [[E]] perm = [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
// CHECK-NEXT:    ptir.yield [[T]] : tensor<4x3xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return [[N]] : tensor<4x3xf32>
func.func @alone(%x: tensor<3x4xf32>) -> tensor<4x3xf32> {
  %n = ptir.fusion %x : tensor<3x4xf32> body {
  ^bb0(%a: tensor<3x4xf32>):
    %e = ptir.exp %a : tensor<3x4xf32>
    ptir.yield %e : tensor<3x4xf32>
  }
  %t = ptir.transpose %n perm = [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  func.return %t : tensor<4x3xf32>
}

// Here it does not.
// CHECK-LABEL: func.func @shared
// CHECK-NEXT:  [[N:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<3x4xf32> body {
// CHECK-NEXT:  ^bb0([[A:%[a-z0-9_.]+]]: tensor<3x4xf32>):
// CHECK-NEXT:    [[E:%[a-z0-9_.]+]] = ptir.exp [[A]] : tensor<3x4xf32>
// CHECK-NEXT:    ptir.yield [[E]] : tensor<3x4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  [[T:%[a-z0-9_.]+]] = ptir.transpose [[N]] perm = [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
// CHECK-NEXT:  func.return [[T]], [[N]] : tensor<4x3xf32>, tensor<3x4xf32>
func.func @shared(%x: tensor<3x4xf32>) -> (tensor<4x3xf32>, tensor<3x4xf32>) {
  %n = ptir.fusion %x : tensor<3x4xf32> body {
  ^bb0(%a: tensor<3x4xf32>):
    %e = ptir.exp %a : tensor<3x4xf32>
    ptir.yield %e : tensor<3x4xf32>
  }
  %t = ptir.transpose %n perm = [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  func.return %t, %n : tensor<4x3xf32>, tensor<3x4xf32>
}
}
