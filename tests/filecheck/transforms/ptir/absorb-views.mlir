// RUN: mind-opt %s --ptir-absorb-views | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// A kernel would have to copy the transposed operand.
// CHECK-LABEL: func.func @operand
// CHECK-NEXT:  [[N:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<3x4xf32> -> tensor<4x3xf32> body {
// CHECK-NEXT:  ^bb0([[X_1:%[a-z0-9_.]+]]: tensor<3x4xf32>):
// CHECK-NEXT:    [[T:%[a-z0-9_.]+]] = ptir.transpose [[X_1]] perm = [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
// CHECK-NEXT:    [[E:%[a-z0-9_.]+]] = ptir.exp [[T]] : tensor<4x3xf32>
// CHECK-NEXT:    ptir.yield [[E]] : tensor<4x3xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return [[N]] : tensor<4x3xf32>
func.func @operand(%x: tensor<3x4xf32>) -> tensor<4x3xf32> {
  %t = ptir.transpose %x perm = [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %n = ptir.fusion %t : tensor<4x3xf32> body {
  ^bb0(%a: tensor<4x3xf32>):
    %e = ptir.exp %a : tensor<4x3xf32>
    ptir.yield %e : tensor<4x3xf32>
  }
  func.return %n : tensor<4x3xf32>
}

// A reshape of a row-major array costs nothing.
// CHECK-LABEL: func.func @row_major
// CHECK-NEXT:  [[R:%[a-z0-9_.]+]] = ptir.reshape %x new_shape = [3, 4] : tensor<12xf32> -> tensor<3x4xf32>
// CHECK-NEXT:  [[N:%[a-z0-9_.]+]] = ptir.fusion [[R]] : tensor<3x4xf32> body {
// CHECK-NEXT:  ^bb0([[A:%[a-z0-9_.]+]]: tensor<3x4xf32>):
// CHECK-NEXT:    [[E:%[a-z0-9_.]+]] = ptir.exp [[A]] : tensor<3x4xf32>
// CHECK-NEXT:    ptir.yield [[E]] : tensor<3x4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return [[N]] : tensor<3x4xf32>
func.func @row_major(%x: tensor<12xf32>) -> tensor<3x4xf32> {
  %r = ptir.reshape %x new_shape = [3, 4] : tensor<12xf32> -> tensor<3x4xf32>
  %n = ptir.fusion %r : tensor<3x4xf32> body {
  ^bb0(%a: tensor<3x4xf32>):
    %e = ptir.exp %a : tensor<3x4xf32>
    ptir.yield %e : tensor<3x4xf32>
  }
  func.return %n : tensor<3x4xf32>
}

// A mask that is computed from indices is computed where it is used.
// CHECK-LABEL: func.func @mask
// CHECK-NEXT:  [[N:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<3x3xf32> body {
// CHECK-NEXT:  ^bb0([[X_1:%[a-z0-9_.]+]]: tensor<3x3xf32>):
// CHECK-NEXT:    [[I:%[a-z0-9_.]+]] = ptir.iota shape = [3, 3] dtype = si32 axis = 0 : tensor<3x3xsi32>
// CHECK-NEXT:    [[J:%[a-z0-9_.]+]] = ptir.iota shape = [3, 3] dtype = si32 axis = 1 : tensor<3x3xsi32>
// CHECK-NEXT:    [[M:%[a-z0-9_.]+]] = ptir.compare [[I]], [[J]] kind = less : (tensor<3x3xsi32>, tensor<3x3xsi32>) -> tensor<3x3xi1>
// CHECK-NEXT:    [[E:%[a-z0-9_.]+]] = ptir.exp [[X_1]] : tensor<3x3xf32>
// CHECK-NEXT:    [[S:%[a-z0-9_.]+]] = ptir.select [[M]], [[X_1]], [[E]] : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT:    ptir.yield [[S]] : tensor<3x3xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return [[N]] : tensor<3x3xf32>
func.func @mask(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %i = ptir.iota shape = [3, 3] dtype = si32 axis = 0 : tensor<3x3xsi32>
  %j = ptir.iota shape = [3, 3] dtype = si32 axis = 1 : tensor<3x3xsi32>
  %m = ptir.compare %i, %j kind = less : (tensor<3x3xsi32>, tensor<3x3xsi32>) -> tensor<3x3xi1>
  %n = ptir.fusion %m, %x : (tensor<3x3xi1>, tensor<3x3xf32>) -> tensor<3x3xf32> body {
  ^bb0(%p: tensor<3x3xi1>, %a: tensor<3x3xf32>):
    %e = ptir.exp %a : tensor<3x3xf32>
    %s = ptir.select %p, %a, %e : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    ptir.yield %s : tensor<3x3xf32>
  }
  func.return %n : tensor<3x3xf32>
}
}
