// RUN: mind-opt %s --ptir-fuse | filecheck %s
// RUN: xdsl-opt %s -p mind-ptir-fuse | filecheck %s
// RUN: mind-opt %s --ptir-fuse --ptir-defuse | filecheck %s --check-prefix=BACK

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// A chain is one kernel, whatever its length; broadcasts are made inside, a reduction may end it.
// CHECK-LABEL: func.func @chain
// CHECK-SAME:    (%[[X:.*]]: tensor<3x4xf32>, %[[B:.*]]: tensor<4xf32>)
// CHECK-NEXT:    %[[S:.*]] = ptir.fusion %[[X]], %[[B]] : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3xf32> body {
// CHECK-NEXT:    ^bb0(%[[X1:.*]]: tensor<3x4xf32>, %[[B1:.*]]: tensor<4xf32>):
// CHECK-NEXT:      %[[C:.*]] = ptir.broadcast_to %[[B1]] result_shape = [3, 4] : tensor<4xf32> -> tensor<3x4xf32>
// CHECK-NEXT:      %[[D:.*]] = ptir.add %[[X1]], %[[C]] : tensor<3x4xf32>
// CHECK-NEXT:      %[[E:.*]] = ptir.exp %[[D]] : tensor<3x4xf32>
// CHECK-NEXT:      %[[F:.*]] = ptir.neg %[[E]] : tensor<3x4xf32>
// CHECK-NEXT:      %[[G:.*]] = ptir.reduce %[[F]] kind = sum axes = [1] keepdims = false : tensor<3x4xf32> -> tensor<3xf32>
// CHECK-NEXT:      ptir.yield %[[G]] : tensor<3xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %[[S]] : tensor<3xf32>
// BACK-LABEL: func.func @chain
// BACK-NEXT:    ptir.broadcast_to
// BACK-NEXT:    ptir.add
// BACK-NEXT:    ptir.exp
// BACK-NEXT:    ptir.neg
// BACK-NEXT:    %[[R:.*]] = ptir.reduce
// BACK-NEXT:    func.return %[[R]]
func.func @chain(%x: tensor<3x4xf32>, %b: tensor<4xf32>) -> tensor<3xf32> {
  %c = ptir.broadcast_to %b result_shape = [3, 4] : tensor<4xf32> -> tensor<3x4xf32>
  %d = ptir.add %x, %c : tensor<3x4xf32>
  %e = ptir.exp %d : tensor<3x4xf32>
  %f = ptir.neg %e : tensor<3x4xf32>
  %g = ptir.reduce %f kind = sum axes = [1] keepdims = false : tensor<3x4xf32> -> tensor<3xf32>
  func.return %g : tensor<3xf32>
}

// The way from the sum to the quotient leads out of the group: two kernels, and no circle.
// CHECK-LABEL: func.func @around
// CHECK-NEXT:    %[[E:.*]], %[[S:.*]] = ptir.fusion %{{.*}} : tensor<3x4xf32> -> (tensor<3x4xf32>, tensor<3x1xf32>) body {
// CHECK:           ptir.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[Q:.*]] = ptir.fusion %[[E]], %[[S]] : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32> body {
// CHECK:           ptir.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %[[Q]] : tensor<3x4xf32>
func.func @around(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %e = ptir.exp %x : tensor<3x4xf32>
  %s = ptir.reduce %e kind = sum axes = [1] keepdims = true : tensor<3x4xf32> -> tensor<3x1xf32>
  %t = ptir.broadcast_to %s result_shape = [3, 4] : tensor<3x1xf32> -> tensor<3x4xf32>
  %q = ptir.div %e, %t : tensor<3x4xf32>
  func.return %q : tensor<3x4xf32>
}

// An op by itself is a kernel already.
// CHECK-LABEL: func.func @alone
// CHECK-NOT:     ptir.fusion
// CHECK:         func.return
func.func @alone(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %e = ptir.exp %x : tensor<3x4xf32>
  func.return %e : tensor<3x4xf32>
}

}
