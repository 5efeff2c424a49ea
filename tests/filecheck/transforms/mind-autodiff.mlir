// RUN: mind-opt %s --autodiff="seed=cotangent" | filecheck %s

// One rule per function; the incoming adjoint is %cotangent.

// The adjoint of a sum is that of each term; the one of the broadcast row is summed over the rows.
func.func @add(%x: tensor<2x3xf64>, %b: tensor<3xf64>) -> tensor<2x3xf64> {
  %y = mind.add %x, %b : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
  func.return %y : tensor<2x3xf64>
}
// CHECK-LABEL: func.func @add_grad(%x: tensor<2x3xf64>, %b: tensor<3xf64>, %cotangent: tensor<2x3xf64> {mind.name = "cotangent", mind.cotangent}) -> (tensor<2x3xf64>, tensor<2x3xf64>, tensor<3xf64>)
// CHECK-NEXT:  [[V0:%\w+]] = mind.add %x, %b : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
// CHECK-NEXT:  [[V1:%\w+]] = mind.sum %cotangent axes = [0] keepdims = false : tensor<2x3xf64> -> tensor<3xf64>
// CHECK-NEXT:  func.return [[V0]], %cotangent, [[V1]] : tensor<2x3xf64>, tensor<2x3xf64>, tensor<3xf64>

// d(a - b)/db = -1, and a stretched axis is summed with keepdims.
func.func @sub(%a: tensor<2x3xf64>, %b: tensor<2x1xf64>) -> tensor<2x3xf64> {
  %y = mind.sub %a, %b : (tensor<2x3xf64>, tensor<2x1xf64>) -> tensor<2x3xf64>
  func.return %y : tensor<2x3xf64>
}
// CHECK-LABEL: func.func @sub_grad(%a: tensor<2x3xf64>, %b: tensor<2x1xf64>, %cotangent: tensor<2x3xf64> {mind.name = "cotangent", mind.cotangent}) -> (tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x1xf64>)
// CHECK-NEXT:  [[V0:%\w+]] = mind.sub %a, %b : (tensor<2x3xf64>, tensor<2x1xf64>) -> tensor<2x3xf64>
// CHECK-NEXT:  [[V1:%\w+]] = mind.neg %cotangent : tensor<2x3xf64>
// CHECK-NEXT:  [[V2:%\w+]] = mind.sum [[V1]] axes = [1] keepdims = true : tensor<2x3xf64> -> tensor<2x1xf64>
// CHECK-NEXT:  func.return [[V0]], %cotangent, [[V2]] : tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x1xf64>

// Each factor gets g times the other.
func.func @mul(%a: tensor<2x3xf64>, %b: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = mind.mul %a, %b : tensor<2x3xf64>
  func.return %y : tensor<2x3xf64>
}
// CHECK-LABEL: func.func @mul_grad(%a: tensor<2x3xf64>, %b: tensor<2x3xf64>, %cotangent: tensor<2x3xf64> {mind.name = "cotangent", mind.cotangent}) -> (tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>)
// CHECK-NEXT:  [[V0:%\w+]] = mind.mul %a, %b : tensor<2x3xf64>
// CHECK-NEXT:  [[V1:%\w+]] = mind.mul %b, %cotangent : tensor<2x3xf64>
// CHECK-NEXT:  [[V2:%\w+]] = mind.mul %a, %cotangent : tensor<2x3xf64>
// CHECK-NEXT:  func.return [[V0]], [[V1]], [[V2]] : tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>

// A sum repeats its adjoint over the axes that it reduced.
func.func @sum(%x: tensor<2x3xf64>) -> tensor<2xf64> {
  %y = mind.sum %x axes = [1] keepdims = false : tensor<2x3xf64> -> tensor<2xf64>
  func.return %y : tensor<2xf64>
}
// CHECK-LABEL: func.func @sum_grad(%x: tensor<2x3xf64>, %cotangent: tensor<2xf64> {mind.name = "cotangent", mind.cotangent}) -> (tensor<2xf64>, tensor<2x3xf64>)
// CHECK-NEXT:  [[V0:%\w+]] = mind.sum %x axes = [1] keepdims = false : tensor<2x3xf64> -> tensor<2xf64>
// CHECK-NEXT:  [[V1:%\w+]] = mind.expand_dims %cotangent axes = [1] : tensor<2xf64> -> tensor<2x1xf64>
// CHECK-NEXT:  [[V2:%\w+]] = mind.broadcast_to [[V1]] shape = [2, 3] : tensor<2x1xf64> -> tensor<2x3xf64>
// CHECK-NEXT:  func.return [[V0]], [[V2]] : tensor<2xf64>, tensor<2x3xf64>

// A mean divides by the number of elements, 6, not by the number of axes.
func.func @mean(%x: tensor<2x3xf64>) -> tensor<f64> {
  %y = mind.mean %x axes = [0, 1] keepdims = false : tensor<2x3xf64> -> tensor<f64>
  func.return %y : tensor<f64>
}
// CHECK-LABEL: func.func @mean_grad(%x: tensor<2x3xf64>, %cotangent: tensor<f64> {mind.name = "cotangent", mind.cotangent}) -> (tensor<f64>, tensor<2x3xf64>)
// CHECK-NEXT:  [[V0:%\w+]] = mind.mean %x axes = [] keepdims = false : tensor<2x3xf64> -> tensor<f64>
// CHECK-NEXT:  [[V1:%\w+]] = mind.const_f64 0.16666666666666666 : tensor<f64>
// CHECK-NEXT:  [[V2:%\w+]] = mind.mul %cotangent, [[V1]] : tensor<f64>
// CHECK-NEXT:  [[V3:%\w+]] = mind.broadcast_to [[V2]] shape = [2, 3] : tensor<f64> -> tensor<2x3xf64>
// CHECK-NEXT:  func.return [[V0]], [[V3]] : tensor<f64>, tensor<2x3xf64>

// The adjoint is reshaped back.
func.func @reshape(%x: tensor<2x3xf64>) -> tensor<6xf64> {
  %y = mind.reshape %x new_shape = [6] : tensor<2x3xf64> -> tensor<6xf64>
  func.return %y : tensor<6xf64>
}
// CHECK-LABEL: func.func @reshape_grad(%x: tensor<2x3xf64>, %cotangent: tensor<6xf64> {mind.name = "cotangent", mind.cotangent}) -> (tensor<6xf64>, tensor<2x3xf64>)
// CHECK-NEXT:  [[V0:%\w+]] = mind.reshape %x new_shape = [6] : tensor<2x3xf64> -> tensor<6xf64>
// CHECK-NEXT:  [[V1:%\w+]] = mind.reshape %cotangent new_shape = [2, 3] : tensor<6xf64> -> tensor<2x3xf64>
// CHECK-NEXT:  func.return [[V0]], [[V1]] : tensor<6xf64>, tensor<2x3xf64>

// The adjoint goes back by the inverse permutation.
func.func @transpose(%x: tensor<2x3x4xf64>) -> tensor<4x2x3xf64> {
  %y = mind.transpose %x permutation = [2, 0, 1] : tensor<2x3x4xf64> -> tensor<4x2x3xf64>
  func.return %y : tensor<4x2x3xf64>
}
// CHECK-LABEL: func.func @transpose_grad(%x: tensor<2x3x4xf64>, %cotangent: tensor<4x2x3xf64> {mind.name = "cotangent", mind.cotangent}) -> (tensor<4x2x3xf64>, tensor<2x3x4xf64>)
// CHECK-NEXT:  [[V0:%\w+]] = mind.transpose %x permutation = [2, 0, 1] : tensor<2x3x4xf64> -> tensor<4x2x3xf64>
// CHECK-NEXT:  [[V1:%\w+]] = mind.transpose %cotangent permutation = [1, 2, 0] : tensor<4x2x3xf64> -> tensor<2x3x4xf64>
// CHECK-NEXT:  func.return [[V0]], [[V1]] : tensor<4x2x3xf64>, tensor<2x3x4xf64>

// One element gets the adjoint, the others get zero.
func.func @index(%x: tensor<2x3xf64>) -> tensor<f64> {
  %y = mind.index %x indices = [1, 2] : tensor<2x3xf64> -> tensor<f64>
  func.return %y : tensor<f64>
}
// CHECK-LABEL: func.func @index_grad(%x: tensor<2x3xf64>, %cotangent: tensor<f64> {mind.name = "cotangent", mind.cotangent}) -> (tensor<f64>, tensor<2x3xf64>)
// CHECK-NEXT:  [[V0:%\w+]] = mind.index %x indices = [1, 2] : tensor<2x3xf64> -> tensor<f64>
// CHECK-NEXT:  [[V1:%\w+]] = mind.index_scatter %cotangent shape = [2, 3] indices = [1, 2] : tensor<f64> -> tensor<2x3xf64>
// CHECK-NEXT:  func.return [[V0]], [[V1]] : tensor<f64>, tensor<2x3xf64>

// The adjoint is put back where the slice was taken.
func.func @slice(%x: tensor<6xf64>) -> tensor<2xf64> {
  %y = mind.slice %x starts = [1] ends = [5] steps = [2] : tensor<6xf64> -> tensor<2xf64>
  func.return %y : tensor<2xf64>
}
// CHECK-LABEL: func.func @slice_grad(%x: tensor<6xf64>, %cotangent: tensor<2xf64> {mind.name = "cotangent", mind.cotangent}) -> (tensor<2xf64>, tensor<6xf64>)
// CHECK-NEXT:  [[V0:%\w+]] = mind.slice %x starts = [1] ends = [4] steps = [2] : tensor<6xf64> -> tensor<2xf64>
// CHECK-NEXT:  [[V1:%\w+]] = mind.slice_scatter %cotangent shape = [6] starts = [1] steps = [2] : tensor<2xf64> -> tensor<6xf64>
// CHECK-NEXT:  func.return [[V0]], [[V1]] : tensor<2xf64>, tensor<6xf64>

// Rows gathered twice accumulate; the indices have no gradient.
func.func @gather(%x: tensor<5x3xf64>, %i: tensor<4xi64>) -> tensor<4x3xf64> {
  %y = mind.gather %x, %i : (tensor<5x3xf64>, tensor<4xi64>) -> tensor<4x3xf64>
  func.return %y : tensor<4x3xf64>
}
// CHECK-LABEL: func.func @gather_grad(%x: tensor<5x3xf64>, %i: tensor<4xi64>, %cotangent: tensor<4x3xf64> {mind.name = "cotangent", mind.cotangent}) -> (tensor<4x3xf64>, tensor<5x3xf64>)
// CHECK-NEXT:  [[V0:%\w+]] = mind.gather %x, %i : (tensor<5x3xf64>, tensor<4xi64>) -> tensor<4x3xf64>
// CHECK-NEXT:  [[V1:%\w+]] = mind.scatter_add %i, %cotangent shape = [5, 3] : (tensor<4xi64>, tensor<4x3xf64>) -> tensor<5x3xf64>
// CHECK-NEXT:  func.return [[V0]], [[V1]] : tensor<4x3xf64>, tensor<5x3xf64>

// The batch axis of the left operand was broadcast, so its adjoint is summed over it.
func.func @matmul(%a: tensor<2x3xf64>, %b: tensor<5x3x4xf64>) -> tensor<5x2x4xf64> {
  %y = mind.matmul %a, %b : (tensor<2x3xf64>, tensor<5x3x4xf64>) -> tensor<5x2x4xf64>
  func.return %y : tensor<5x2x4xf64>
}
// CHECK-LABEL: func.func @matmul_grad(%a: tensor<2x3xf64>, %b: tensor<5x3x4xf64>, %cotangent: tensor<5x2x4xf64> {mind.name = "cotangent", mind.cotangent}) -> (tensor<5x2x4xf64>, tensor<2x3xf64>, tensor<5x3x4xf64>)
// CHECK-NEXT:  [[V0:%\w+]] = mind.matmul %a, %b : (tensor<2x3xf64>, tensor<5x3x4xf64>) -> tensor<5x2x4xf64>
// CHECK-NEXT:  [[V1:%\w+]] = mind.transpose %b permutation = [0, 2, 1] : tensor<5x3x4xf64> -> tensor<5x4x3xf64>
// CHECK-NEXT:  [[V2:%\w+]] = mind.matmul %cotangent, [[V1]] : (tensor<5x2x4xf64>, tensor<5x4x3xf64>) -> tensor<5x2x3xf64>
// CHECK-NEXT:  [[V3:%\w+]] = mind.sum [[V2]] axes = [0] keepdims = false : tensor<5x2x3xf64> -> tensor<2x3xf64>
// CHECK-NEXT:  [[V4:%\w+]] = mind.transpose %a permutation = [1, 0] : tensor<2x3xf64> -> tensor<3x2xf64>
// CHECK-NEXT:  [[V5:%\w+]] = mind.matmul [[V4]], %cotangent : (tensor<3x2xf64>, tensor<5x2x4xf64>) -> tensor<5x3x4xf64>
// CHECK-NEXT:  func.return [[V0]], [[V3]], [[V5]] : tensor<5x2x4xf64>, tensor<2x3xf64>, tensor<5x3x4xf64>

// A matrix times a vector: an outer product, and a vector times the matrix.
func.func @dot(%a: tensor<2x3xf64>, %v: tensor<3xf64>) -> tensor<2xf64> {
  %y = mind.dot %a, %v : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2xf64>
  func.return %y : tensor<2xf64>
}
// CHECK-LABEL: func.func @dot_grad(%a: tensor<2x3xf64>, %v: tensor<3xf64>, %cotangent: tensor<2xf64> {mind.name = "cotangent", mind.cotangent}) -> (tensor<2xf64>, tensor<2x3xf64>, tensor<3xf64>)
// CHECK-NEXT:  [[V0:%\w+]] = mind.dot %a, %v : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2xf64>
// CHECK-NEXT:  [[V1:%\w+]] = mind.expand_dims %cotangent axes = [1] : tensor<2xf64> -> tensor<2x1xf64>
// CHECK-NEXT:  [[V2:%\w+]] = mind.expand_dims %v axes = [0] : tensor<3xf64> -> tensor<1x3xf64>
// CHECK-NEXT:  [[V3:%\w+]] = mind.mul [[V1]], [[V2]] : (tensor<2x1xf64>, tensor<1x3xf64>) -> tensor<2x3xf64>
// CHECK-NEXT:  [[V4:%\w+]] = mind.dot %cotangent, %a : (tensor<2xf64>, tensor<2x3xf64>) -> tensor<3xf64>
// CHECK-NEXT:  func.return [[V0]], [[V3]], [[V4]] : tensor<2xf64>, tensor<2x3xf64>, tensor<3xf64>

// Selection, not a product with a mask.
func.func @relu(%x: tensor<3xf64>) -> tensor<3xf64> {
  %y = mind.relu %x : tensor<3xf64>
  func.return %y : tensor<3xf64>
}
// CHECK-LABEL: func.func @relu_grad(%x: tensor<3xf64>, %cotangent: tensor<3xf64> {mind.name = "cotangent", mind.cotangent}) -> (tensor<3xf64>, tensor<3xf64>)
// CHECK-NEXT:  [[V0:%\w+]] = mind.relu %x : tensor<3xf64>
// CHECK-NEXT:  [[V1:%\w+]] = mind.relu_grad %cotangent, %x : tensor<3xf64>
// CHECK-NEXT:  func.return [[V0]], [[V1]] : tensor<3xf64>, tensor<3xf64>

// The result is used again.
func.func @exp(%x: tensor<3xf64>) -> tensor<3xf64> {
  %y = mind.exp %x : tensor<3xf64>
  func.return %y : tensor<3xf64>
}
// CHECK-LABEL: func.func @exp_grad(%x: tensor<3xf64>, %cotangent: tensor<3xf64> {mind.name = "cotangent", mind.cotangent}) -> (tensor<3xf64>, tensor<3xf64>)
// CHECK-NEXT:  [[V0:%\w+]] = mind.exp %x : tensor<3xf64>
// CHECK-NEXT:  [[V1:%\w+]] = mind.mul %cotangent, [[V0]] : tensor<3xf64>
// CHECK-NEXT:  func.return [[V0]], [[V1]] : tensor<3xf64>, tensor<3xf64>

// 1 / x needs an op of its own.
func.func @log(%x: tensor<3xf64>) -> tensor<3xf64> {
  %y = mind.log %x : tensor<3xf64>
  func.return %y : tensor<3xf64>
}
// CHECK-LABEL: func.func @log_grad(%x: tensor<3xf64>, %cotangent: tensor<3xf64> {mind.name = "cotangent", mind.cotangent}) -> (tensor<3xf64>, tensor<3xf64>)
// CHECK-NEXT:  [[V0:%\w+]] = mind.log %x : tensor<3xf64>
// CHECK-NEXT:  [[V1:%\w+]] = mind.reciprocal %x : tensor<3xf64>
// CHECK-NEXT:  [[V2:%\w+]] = mind.mul %cotangent, [[V1]] : tensor<3xf64>
// CHECK-NEXT:  func.return [[V0]], [[V2]] : tensor<3xf64>, tensor<3xf64>

// What the loss does not reach gets explicit zeros.
func.func @unused(%x: tensor<3xf64>, %unused: tensor<2xf64>) -> tensor<3xf64> {
  %y = mind.neg %x : tensor<3xf64>
  func.return %y : tensor<3xf64>
}
// CHECK-LABEL: func.func @unused_grad(%x: tensor<3xf64>, %unused: tensor<2xf64>, %cotangent: tensor<3xf64> {mind.name = "cotangent", mind.cotangent}) -> (tensor<3xf64>, tensor<3xf64>, tensor<2xf64>)
// CHECK-NEXT:  [[V0:%\w+]] = mind.neg %x : tensor<3xf64>
// CHECK-NEXT:  [[V1:%\w+]] = mind.neg %cotangent : tensor<3xf64>
// CHECK-NEXT:  [[V2:%\w+]] = mind.const_f64 0.0 : tensor<f64>
// CHECK-NEXT:  [[V3:%\w+]] = mind.broadcast_to [[V2]] shape = [2] : tensor<f64> -> tensor<2xf64>
// CHECK-NEXT:  func.return [[V0]], [[V1]], [[V3]] : tensor<3xf64>, tensor<3xf64>, tensor<2xf64>
