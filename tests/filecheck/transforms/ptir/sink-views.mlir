// RUN: mind-opt %s --ptir-sink-views | filecheck %s
// RUN: xdsl-opt %s -p mind-ptir-sink-views | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// A vector along one axis and a constant are made for the other shape.
// CHECK-LABEL: func.func @transposes_cancel
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3xf32>, %[[B:.*]]: tensor<2xf32>)
// CHECK-NEXT:    %[[V:.*]] = ptir.reshape %[[B]] new_shape = [2, 1] : tensor<2xf32> -> tensor<2x1xf32>
// CHECK-NEXT:    %[[W:.*]] = ptir.broadcast_to %[[V]] result_shape = [2, 3] : tensor<2x1xf32> -> tensor<2x3xf32>
// CHECK-NEXT:    %[[A:.*]] = ptir.add %[[X]], %[[W]] : tensor<2x3xf32>
// CHECK-NEXT:    %[[C:.*]] = ptir.constant fill 2.0 : tensor<2x3xf32>
// CHECK-NEXT:    %[[M:.*]] = ptir.mul %[[A]], %[[C]] : tensor<2x3xf32>
// CHECK-NEXT:    func.return %[[M]]
func.func @transposes_cancel(%x: tensor<2x3xf32>, %b: tensor<2xf32>) -> tensor<2x3xf32> {
  %t = ptir.transpose %x perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %v = ptir.broadcast_to %b result_shape = [3, 2] : tensor<2xf32> -> tensor<3x2xf32>
  %a = ptir.add %t, %v : tensor<3x2xf32>
  %c = ptir.constant fill 2.0 : tensor<3x2xf32>
  %m = ptir.mul %a, %c : tensor<3x2xf32>
  %r = ptir.transpose %m perm = [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  func.return %r : tensor<2x3xf32>
}

// A value of two uses between them, both of which are.
// CHECK-LABEL: func.func @used_twice_between
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3xf32>)
// CHECK-NEXT:    %[[E:.*]] = ptir.exp %[[X]] : tensor<2x3xf32>
// CHECK-NEXT:    %[[L:.*]] = ptir.logistic %[[E]] : tensor<2x3xf32>
// CHECK-NEXT:    %[[M:.*]] = ptir.mul %[[E]], %[[L]] : tensor<2x3xf32>
// CHECK-NEXT:    func.return %[[M]]
func.func @used_twice_between(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %t = ptir.transpose %x perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %e = ptir.exp %t : tensor<3x2xf32>
  %l = ptir.logistic %e : tensor<3x2xf32>
  %m = ptir.mul %e, %l : tensor<3x2xf32>
  %r = ptir.transpose %m perm = [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  func.return %r : tensor<2x3xf32>
}

// Two transposes become one.
// CHECK-LABEL: func.func @transposes_join
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3x4xf32>)
// CHECK-NEXT:    %[[E:.*]] = ptir.exp %[[X]] : tensor<2x3x4xf32>
// CHECK-NEXT:    %[[R:.*]] = ptir.transpose %[[E]] perm = [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
// CHECK-NEXT:    func.return %[[R]]
func.func @transposes_join(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %t = ptir.transpose %x perm = [1, 0, 2] : tensor<2x3x4xf32> -> tensor<3x2x4xf32>
  %e = ptir.exp %t : tensor<3x2x4xf32>
  %r = ptir.transpose %e perm = [2, 1, 0] : tensor<3x2x4xf32> -> tensor<4x2x3xf32>
  func.return %r : tensor<4x2x3xf32>
}

// The other operand is transposed twice, which the canonical form has as once.
// CHECK-LABEL: func.func @two_permutations
// CHECK-SAME:    (%[[X:.*]]: tensor<2x2x2xf32>, %{{.*}}: tensor<2x2x2xf32>)
// CHECK:         %[[E:.*]] = ptir.add %[[X]], %{{.*}} : tensor<2x2x2xf32>
// CHECK-NEXT:    func.return %[[E]]
func.func @two_permutations(%x: tensor<2x2x2xf32>, %y: tensor<2x2x2xf32>) -> tensor<2x2x2xf32> {
  %t = ptir.transpose %x perm = [1, 0, 2] : tensor<2x2x2xf32> -> tensor<2x2x2xf32>
  %u = ptir.transpose %y perm = [0, 2, 1] : tensor<2x2x2xf32> -> tensor<2x2x2xf32>
  %e = ptir.add %t, %u : tensor<2x2x2xf32>
  %r = ptir.transpose %e perm = [1, 0, 2] : tensor<2x2x2xf32> -> tensor<2x2x2xf32>
  func.return %r : tensor<2x2x2xf32>
}

// A value between that others use is transposed for them: one transpose for two.
// CHECK-LABEL: func.func @used_elsewhere
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3xf32>)
// CHECK-NEXT:    %[[E:.*]] = ptir.exp %[[X]] : tensor<2x3xf32>
// CHECK-NEXT:    %[[T:.*]] = ptir.transpose %[[E]] perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
// CHECK-NEXT:    func.return %[[E]], %[[T]]
func.func @used_elsewhere(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3x2xf32>) {
  %t = ptir.transpose %x perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %e = ptir.exp %t : tensor<3x2xf32>
  %r = ptir.transpose %e perm = [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  func.return %r, %e : tensor<2x3xf32>, tensor<3x2xf32>
}

// Branches that meet again, as those of a residual network: what enters and leaves otherwise is transposed, and a sum is one over the other axis.
// CHECK-LABEL: func.func @branches
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3xf32>, %[[Y:.*]]: tensor<3x2xf32>, %[[W:.*]]: tensor<3x3xf32>)
// CHECK-NEXT:    %[[U:.*]] = ptir.transpose %[[Y]] perm = [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
// CHECK-NEXT:    %[[A:.*]] = ptir.add %[[X]], %[[U]] : tensor<2x3xf32>
// CHECK-NEXT:    %[[P:.*]] = ptir.dot_general %[[A]], %[[W]]
// CHECK-NEXT:    %[[B:.*]] = ptir.add %[[P]], %[[A]] : tensor<2x3xf32>
// CHECK-NEXT:    %[[Q:.*]] = ptir.dot_general %[[B]], %[[W]]
// CHECK-NEXT:    %[[C:.*]] = ptir.add %[[Q]], %[[B]] : tensor<2x3xf32>
// CHECK-NEXT:    %[[T:.*]] = ptir.transpose %[[C]] perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
// CHECK-NEXT:    %[[R:.*]] = ptir.reduce %[[C]] kind = sum axes = [0]
// CHECK-NEXT:    func.return %[[R]], %[[T]]
func.func @branches(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>, %w: tensor<3x3xf32>) -> (tensor<3xf32>, tensor<3x2xf32>) {
  %x1 = ptir.transpose %x perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %a = ptir.add %x1, %y : tensor<3x2xf32>
  %a1 = ptir.transpose %a perm = [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  %p = ptir.dot_general %a1, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
  %p1 = ptir.transpose %p perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %b = ptir.add %p1, %a : tensor<3x2xf32>
  %b1 = ptir.transpose %b perm = [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  %q = ptir.dot_general %b1, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
  %q1 = ptir.transpose %q perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %c = ptir.add %q1, %b : tensor<3x2xf32>
  %r = ptir.reduce %c kind = sum axes = [1] keepdims = false : tensor<3x2xf32> -> tensor<3xf32>
  func.return %r, %c : tensor<3xf32>, tensor<3x2xf32>
}

// One transpose goes away and one would come in.
// CHECK-LABEL: func.func @as_many
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3xf32>, %[[Y:.*]]: tensor<3x2xf32>)
// CHECK-NEXT:    ptir.add %[[Y]], %[[Y]] : tensor<3x2xf32>
// CHECK-NEXT:    ptir.transpose
func.func @as_many(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) -> tensor<2x3xf32> {
  %a = ptir.add %y, %y : tensor<3x2xf32>
  %r = ptir.transpose %a perm = [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  func.return %r : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @reshapes_cancel
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3xf32>)
// CHECK-NEXT:    %[[E:.*]] = ptir.exp %[[X]] : tensor<2x3xf32>
// CHECK-NEXT:    func.return %[[E]]
func.func @reshapes_cancel(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %t = ptir.reshape %x new_shape = [6] : tensor<2x3xf32> -> tensor<6xf32>
  %e = ptir.exp %t : tensor<6xf32>
  %r = ptir.reshape %e new_shape = [2, 3] : tensor<6xf32> -> tensor<2x3xf32>
  func.return %r : tensor<2x3xf32>
}

// A maximum of a transpose is one over the other axis; so is a sum of floats, unless they would be added up in another order.
// CHECK-LABEL: func.func @reductions
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3x4xf32>)
// CHECK-NEXT:    %[[E:.*]] = ptir.exp %[[X]] : tensor<2x3x4xf32>
// CHECK-NEXT:    %[[M:.*]] = ptir.reduce %[[E]] kind = max axes = [1] keepdims = false : tensor<2x3x4xf32> -> tensor<2x4xf32>
// CHECK-NEXT:    %[[F:.*]] = ptir.exp %[[X]] : tensor<2x3x4xf32>
// CHECK-NEXT:    %[[S:.*]] = ptir.reduce %[[F]] kind = sum axes = [1] keepdims = false
// CHECK-NEXT:    %[[V:.*]] = ptir.transpose %[[X]] perm = [1, 0, 2]
// CHECK-NEXT:    %[[G:.*]] = ptir.exp %[[V]]
// CHECK-NEXT:    %[[Q:.*]] = ptir.reduce %[[G]] kind = sum axes = [0, 1] keepdims = false
// CHECK-NEXT:    func.return %[[M]], %[[S]], %[[Q]]
func.func @reductions(%x: tensor<2x3x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>) {
  %t = ptir.transpose %x perm = [1, 0, 2] : tensor<2x3x4xf32> -> tensor<3x2x4xf32>
  %e = ptir.exp %t : tensor<3x2x4xf32>
  %m = ptir.reduce %e kind = max axes = [0] keepdims = false : tensor<3x2x4xf32> -> tensor<2x4xf32>
  %u = ptir.transpose %x perm = [1, 0, 2] : tensor<2x3x4xf32> -> tensor<3x2x4xf32>
  %f = ptir.exp %u : tensor<3x2x4xf32>
  %s = ptir.reduce %f kind = sum axes = [0] keepdims = false : tensor<3x2x4xf32> -> tensor<2x4xf32>
  %v = ptir.transpose %x perm = [1, 0, 2] : tensor<2x3x4xf32> -> tensor<3x2x4xf32>
  %g = ptir.exp %v : tensor<3x2x4xf32>
  %q = ptir.reduce %g kind = sum axes = [0, 1] keepdims = false : tensor<3x2x4xf32> -> tensor<4xf32>
  func.return %m, %s, %q : tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @maximum_of_views
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3xf32>, %[[Y:.*]]: tensor<2x3xf32>)
// CHECK-NEXT:    %[[A:.*]] = ptir.reduce %[[X]] kind = max axes = [0] keepdims = false : tensor<2x3xf32> -> tensor<3xf32>
// CHECK-NEXT:    %[[B:.*]] = ptir.reduce %[[Y]] kind = min axes = [0, 1] keepdims = false : tensor<2x3xf32> -> tensor<f32>
// CHECK-NEXT:    func.return %[[A]], %[[B]]
func.func @maximum_of_views(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<3xf32>, tensor<f32>) {
  %t = ptir.transpose %x perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %a = ptir.reduce %t kind = max axes = [1] keepdims = false : tensor<3x2xf32> -> tensor<3xf32>
  %v = ptir.reshape %y new_shape = [6] : tensor<2x3xf32> -> tensor<6xf32>
  %b = ptir.reduce %v kind = min axes = [0] keepdims = false : tensor<6xf32> -> tensor<f32>
  func.return %a, %b : tensor<3xf32>, tensor<f32>
}

// The remaining axes would come in another order.
// CHECK-LABEL: func.func @order_of_the_rest
// CHECK-NEXT:    ptir.transpose
// CHECK-NEXT:    ptir.reduce
func.func @order_of_the_rest(%x: tensor<2x3x4xf32>) -> tensor<4x2xf32> {
  %t = ptir.transpose %x perm = [2, 1, 0] : tensor<2x3x4xf32> -> tensor<4x3x2xf32>
  %a = ptir.reduce %t kind = max axes = [1] keepdims = false : tensor<4x3x2xf32> -> tensor<4x2xf32>
  func.return %a : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @product
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3xf32>, %[[W:.*]]: tensor<2x4xf32>)
// CHECK-NEXT:    %[[E:.*]] = ptir.exp %[[X]] : tensor<2x3xf32>
// CHECK-NEXT:    %[[P:.*]] = ptir.dot_general %[[E]], %[[W]] batch_lhs = [] batch_rhs = [] contract_lhs = [0] contract_rhs = [0] : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:    func.return %[[P]]
func.func @product(%x: tensor<2x3xf32>, %w: tensor<2x4xf32>) -> tensor<3x4xf32> {
  %t = ptir.transpose %x perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %e = ptir.exp %t : tensor<3x2xf32>
  %p = ptir.dot_general %e, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  func.return %p : tensor<3x4xf32>
}

// One broadcast for all its users, whatever their order: it stands where the old one stood.
// CHECK-LABEL: func.func @repeated_for_several
// CHECK-SAME:    (%[[X:.*]]: tensor<3x4xf32>, %[[Y:.*]]: tensor<1xf32>)
// CHECK-NEXT:    %[[R:.*]] = ptir.reshape %[[Y]] new_shape = [1, 1]
// CHECK-NEXT:    %[[B:.*]] = ptir.broadcast_to %[[R]] result_shape = [3, 4]
// CHECK-NEXT:    %[[A:.*]] = ptir.mul %[[B]], %[[X]] : tensor<3x4xf32>
// CHECK-NEXT:    %[[C:.*]] = ptir.exp %[[B]] : tensor<3x4xf32>
// CHECK-NEXT:    %[[D:.*]] = ptir.sub %[[C]], %[[A]] : tensor<3x4xf32>
// CHECK-NEXT:    func.return %[[D]]
func.func @repeated_for_several(%x: tensor<3x4xf32>, %y: tensor<1xf32>) -> tensor<3x4xf32> {
  %v = ptir.reshape %x new_shape = [3, 4, 1] : tensor<3x4xf32> -> tensor<3x4x1xf32>
  %b = ptir.broadcast_to %y result_shape = [3, 4, 1] : tensor<1xf32> -> tensor<3x4x1xf32>
  %a = ptir.mul %b, %v : tensor<3x4x1xf32>
  %c = ptir.exp %b : tensor<3x4x1xf32>
  %d = ptir.sub %c, %a : tensor<3x4x1xf32>
  %e = ptir.reshape %d new_shape = [3, 4] : tensor<3x4x1xf32> -> tensor<3x4xf32>
  func.return %e : tensor<3x4xf32>
}

}
