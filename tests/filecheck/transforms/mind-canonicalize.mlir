// RUN: mind-opt %s -p mind-canonicalize | filecheck %s
// RUN: xdsl-opt %s -p mind-canonicalize | filecheck %s
// RUN: mind-opt %s --canonicalize | filecheck %s
// RUN: mind-opt %s -p mind-canonicalize | mind-opt -p mind-canonicalize | filecheck %s

// Names of results go, dead code goes, an unused input stays.
// CHECK-LABEL: func.func @dead_code
// CHECK-SAME:    (%[[X:.*]]: tensor<3xf32>, %unused: tensor<3xf32>)
// CHECK-NEXT:    %0 = mind.exp %[[X]] : tensor<3xf32>
// CHECK-NEXT:    func.return %0, %0 : tensor<3xf32>, tensor<3xf32>
func.func @dead_code(%x: tensor<3xf32>, %unused: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %dead = mind.log %unused : tensor<3xf32>
  %dead_too = mind.add %dead, %x : tensor<3xf32>
  %y = mind.exp %x : tensor<3xf32>
  func.return %y, %y : tensor<3xf32>, tensor<3xf32>
}

// Add and Mul are commutative, Sub is not.
// CHECK-LABEL: func.func @operand_order
// CHECK-SAME:    (%[[X:.*]]: tensor<3xf32>, %[[Y:.*]]: tensor<3xf32>)
// CHECK-NEXT:    %[[A:.*]] = mind.add %[[X]], %[[Y]] : tensor<3xf32>
// CHECK-NEXT:    %[[B:.*]] = mind.mul %[[Y]], %[[A]] : tensor<3xf32>
// CHECK-NEXT:    %[[C:.*]] = mind.sub %[[B]], %[[X]] : tensor<3xf32>
// CHECK-NEXT:    func.return %[[C]] : tensor<3xf32>
func.func @operand_order(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %a = mind.add %y, %x : tensor<3xf32>
  %b = mind.mul %a, %y : tensor<3xf32>
  %c = mind.sub %b, %x : tensor<3xf32>
  func.return %c : tensor<3xf32>
}

// CHECK-LABEL: func.func @double_negation
// CHECK-SAME:    (%[[X:.*]]: tensor<3xi32>)
// CHECK-NEXT:    func.return %[[X]] : tensor<3xi32>
func.func @double_negation(%x: tensor<3xi32>) -> tensor<3xi32> {
  %0 = mind.neg %x : tensor<3xi32>
  %1 = mind.neg %0 : tensor<3xi32>
  func.return %1 : tensor<3xi32>
}

// CHECK-LABEL: func.func @double_transpose
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3x4xf32>)
// CHECK-NEXT:    %[[Y:.*]] = mind.transpose %[[X]] permutation = [2, 1, 0] : tensor<2x3x4xf32> -> tensor<4x3x2xf32>
// CHECK-NEXT:    func.return %[[X]], %[[Y]]
func.func @double_transpose(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<4x3x2xf32>) {
  %0 = mind.transpose %x permutation = [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %1 = mind.transpose %0 permutation = [2, 0, 1] : tensor<3x4x2xf32> -> tensor<2x3x4xf32>
  %2 = mind.transpose %0 permutation = [1, 0, 2] : tensor<3x4x2xf32> -> tensor<4x3x2xf32>
  func.return %1, %2 : tensor<2x3x4xf32>, tensor<4x3x2xf32>
}

// The transpose of a square has its type, and is another matrix.
// CHECK-LABEL: func.func @square_transpose_stays
// CHECK-NEXT:    %[[Y:.*]] = mind.transpose %{{.*}} permutation = [1, 0] : tensor<3x3xf32>
// CHECK-NEXT:    func.return %[[Y]] : tensor<3x3xf32>
func.func @square_transpose_stays(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = mind.transpose %x permutation = [1, 0] : tensor<3x3xf32>
  func.return %0 : tensor<3x3xf32>
}

// CHECK-LABEL: func.func @views
// CHECK-SAME:    (%[[X:.*]]: tensor<2x6xf32>)
// CHECK-NEXT:    %[[A:.*]] = mind.reshape %[[X]] new_shape = [3, 4] : tensor<2x6xf32> -> tensor<3x4xf32>
// CHECK-NEXT:    %[[B:.*]] = mind.expand_dims %[[X]] axes = [1] : tensor<2x6xf32> -> tensor<2x1x6xf32>
// CHECK-NEXT:    func.return %[[A]], %[[X]], %[[B]]
func.func @views(%x: tensor<2x6xf32>) -> (tensor<3x4xf32>, tensor<2x6xf32>, tensor<2x1x6xf32>) {
  %0 = mind.reshape %x new_shape = [-1] : tensor<2x6xf32> -> tensor<12xf32>
  %1 = mind.reshape %0 new_shape = [3, -1] : tensor<12xf32> -> tensor<3x4xf32>
  %2 = mind.expand_dims %x axes = [0, 2] : tensor<2x6xf32> -> tensor<1x2x1x6xf32>
  %3 = mind.squeeze %2 axes = [2, 0] : tensor<1x2x1x6xf32> -> tensor<2x6xf32>
  %4 = mind.squeeze %2 axes = [0] : tensor<1x2x1x6xf32> -> tensor<2x1x6xf32>
  func.return %1, %3, %4 : tensor<3x4xf32>, tensor<2x6xf32>, tensor<2x1x6xf32>
}

// CHECK-LABEL: func.func @slices
// CHECK-SAME:    (%[[X:.*]]: tensor<9xf32>)
// CHECK-NEXT:    %[[S:.*]] = mind.slice %[[X]] starts = [3] ends = [8] steps = [4] : tensor<9xf32> -> tensor<2xf32>
// CHECK-NEXT:    %[[I:.*]] = mind.index %[[X]] indices = [7] : tensor<9xf32> -> tensor<f32>
// CHECK-NEXT:    func.return %[[S]], %[[I]]
func.func @slices(%x: tensor<9xf32>) -> (tensor<2xf32>, tensor<f32>) {
  %0 = mind.slice %x starts = [1] ends = [9] steps = [2] : tensor<9xf32> -> tensor<4xf32>
  %1 = mind.slice %0 starts = [1] ends = [4] steps = [2] : tensor<4xf32> -> tensor<2xf32>
  %2 = mind.index %1 indices = [1] : tensor<2xf32> -> tensor<f32>
  func.return %1, %2 : tensor<2xf32>, tensor<f32>
}

// Reading outside a slice fails at run time, though the input has the element.
// CHECK-LABEL: func.func @index_outside_slice_stays
// CHECK-NEXT:    %[[S:.*]] = mind.slice
// CHECK-NEXT:    %[[I:.*]] = mind.index %[[S]] indices = [4] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT:    func.return %[[I]] : tensor<f32>
func.func @index_outside_slice_stays(%x: tensor<9xf32>) -> tensor<f32> {
  %0 = mind.slice %x starts = [0] ends = [4] steps = [1] : tensor<9xf32> -> tensor<4xf32>
  %1 = mind.index %0 indices = [4] : tensor<4xf32> -> tensor<f32>
  func.return %1 : tensor<f32>
}

// -0 + 0 is +0, and infinity * 0 is NaN.
// CHECK-LABEL: func.func @float_zero_stays
// CHECK-SAME:    (%[[X:.*]]: tensor<3xf32>)
// CHECK-NEXT:    %[[Z:.*]] = mind.const_f32 0.0 : tensor<f32>
// CHECK-NEXT:    %[[A:.*]] = mind.add %[[X]], %[[Z]]
// CHECK-NEXT:    %[[B:.*]] = mind.mul %[[Z]], %[[A]]
// CHECK-NEXT:    func.return %[[B]] : tensor<3xf32>
func.func @float_zero_stays(%x: tensor<3xf32>) -> tensor<3xf32> {
  %zero = mind.const_f32 0.0 : tensor<f32>
  %0 = mind.add %x, %zero : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %1 = mind.mul %0, %zero : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  func.return %1 : tensor<3xf32>
}

// CHECK-LABEL: func.func @float_identities
// CHECK-SAME:    (%[[X:.*]]: tensor<3xf32>)
// CHECK-NEXT:    func.return %[[X]] : tensor<3xf32>
func.func @float_identities(%x: tensor<3xf32>) -> tensor<3xf32> {
  %zero = mind.const_f32 0.0 : tensor<f32>
  %one = mind.const_f32 1.0 : tensor<f32>
  %0 = mind.sub %x, %zero : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %1 = mind.mul %one, %0 : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %1 : tensor<3xf32>
}

// CHECK-LABEL: func.func @integer_identities
// CHECK-SAME:    (%[[X:.*]]: tensor<2xi64>)
// CHECK-NEXT:    %[[Z:.*]] = mind.constant [0, 0] : tensor<2xi64>
// CHECK-NEXT:    func.return %[[X]], %[[Z]]
func.func @integer_identities(%x: tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>) {
  %zero = mind.const_i64 0 : tensor<i64>
  %0 = mind.add %zero, %x : (tensor<i64>, tensor<2xi64>) -> tensor<2xi64>
  %1 = mind.mul %x, %zero : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  func.return %0, %1 : tensor<2xi64>, tensor<2xi64>
}

// CHECK-LABEL: func.func @implicit_broadcast
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3xf32>, %[[G:.*]]: tensor<f32>)
// CHECK-NEXT:    %[[Y:.*]] = mind.mul %[[X]], %[[G]] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:    func.return %[[Y]] : tensor<2x3xf32>
func.func @implicit_broadcast(%x: tensor<2x3xf32>, %g: tensor<f32>) -> tensor<2x3xf32> {
  %0 = mind.broadcast_to %g shape = [2, 3] : tensor<f32> -> tensor<2x3xf32>
  %1 = mind.mul %0, %x : tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @full_reduction
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3xf32>)
// CHECK-NEXT:    %[[S:.*]] = mind.sum %[[X]] axes = [] keepdims = false : tensor<2x3xf32> -> tensor<f32>
// CHECK-NEXT:    func.return %[[S]] : tensor<f32>
func.func @full_reduction(%x: tensor<2x3xf32>) -> tensor<f32> {
  %0 = mind.sum %x axes = [1, 0] keepdims = false : tensor<2x3xf32> -> tensor<f32>
  func.return %0 : tensor<f32>
}

// Axes are counted from the front; the profile stays.
// CHECK-LABEL: func.func @axes_from_the_end
// CHECK-SAME:    attributes {mind.profile = "core-v1.1"}
// CHECK-NEXT:    %[[S:.*]] = mind.mean %{{.*}} axes = [0, 2] keepdims = true
// CHECK-NEXT:    func.return %[[S]] : tensor<1x3x1xf32>
func.func @axes_from_the_end(%x: tensor<2x3x4xf32>) -> tensor<1x3x1xf32> attributes {mind.profile = "core-v1.1"} {
  %0 = mind.mean %x axes = [-1, 0] keepdims = true : tensor<2x3x4xf32> -> tensor<1x3x1xf32>
  func.return %0 : tensor<1x3x1xf32>
}

// A function without our ops is not ours to touch.
// CHECK-LABEL: func.func @foreign
// CHECK-NEXT:    %{{.*}} = "test.op"() : () -> i32
// CHECK-NEXT:    func.return
func.func @foreign() {
  %0 = "test.op"() : () -> i32
  func.return
}
