// RUN: mind-opt %s --convert-mind-to-ptir | filecheck %s

// CHECK: builtin.module attributes {ptir.spec_version = "ptir.v0.4"}

// Broadcasting is explicit, one matrix on the right takes all rows at once.
func.func @layer(%x: tensor<5x2x3xf32> {mind.name = "the x"}, %w: tensor<3x4xf32>, %b: tensor<4xf32>) -> tensor<5x2x4xf32> {
  %y = mind.matmul %x, %w : (tensor<5x2x3xf32>, tensor<3x4xf32>) -> tensor<5x2x4xf32>
  %z = mind.add %y, %b : (tensor<5x2x4xf32>, tensor<4xf32>) -> tensor<5x2x4xf32>
  func.return %z : tensor<5x2x4xf32>
}
// CHECK-LABEL: func.func @layer(%x: tensor<5x2x3xf32> {mind.name = "the x"}, %w: tensor<3x4xf32>, %b: tensor<4xf32>) -> tensor<5x2x4xf32>
// CHECK-NEXT:  %y = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [2] contract_rhs = [0] : (tensor<5x2x3xf32>, tensor<3x4xf32>) -> tensor<5x2x4xf32>
// CHECK-NEXT:  [[B:%\d+]] = ptir.broadcast_to %b result_shape = [5, 2, 4] : tensor<4xf32> -> tensor<5x2x4xf32>
// CHECK-NEXT:  %z = ptir.add %y, [[B]] : tensor<5x2x4xf32>
// CHECK-NEXT:  func.return %z : tensor<5x2x4xf32>

// Leading dimensions of a product are broadcast and become batch dimensions.
func.func @batched(%x: tensor<2x3xf32>, %w: tensor<5x3x4xf32>) -> tensor<5x2x4xf32> {
  %y = mind.matmul %x, %w : (tensor<2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  func.return %y : tensor<5x2x4xf32>
}
// CHECK-LABEL: func.func @batched
// CHECK-NEXT:  [[X:%\d+]] = ptir.broadcast_to %x result_shape = [5, 2, 3] : tensor<2x3xf32> -> tensor<5x2x3xf32>
// CHECK-NEXT:  %y = ptir.dot_general [[X]], %w batch_lhs = [0] batch_rhs = [0] contract_lhs = [2] contract_rhs = [1] : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>

// A selection, so that nothing is multiplied and NaN gives 0.
func.func @relu(%x: tensor<2xf64>) -> tensor<2xf64> {
  %y = mind.relu %x : tensor<2xf64>
  func.return %y : tensor<2xf64>
}
// CHECK-LABEL: func.func @relu
// CHECK-NEXT:  [[Z:%\d+]] = ptir.constant fill 0.0 : tensor<2xf64>
// CHECK-NEXT:  [[M:%\d+]] = ptir.compare %x, [[Z]] kind = greater : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xi1>
// CHECK-NEXT:  %y = ptir.select [[M]], %x, [[Z]] : (tensor<2xi1>, tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>

// Integers are signed; no axes mean all of them; a mean is a sum and a division.
func.func @mean(%x: tensor<2x3xi32>) -> tensor<i32> {
  %m = mind.mean %x axes = [] keepdims = true : tensor<2x3xi32> -> tensor<i32>
  func.return %m : tensor<i32>
}
// CHECK-LABEL: func.func @mean(%x: tensor<2x3xsi32>) -> tensor<si32>
// CHECK-NEXT:  [[S:%\d+]] = ptir.reduce %x kind = sum axes = [0, 1] keepdims = false : tensor<2x3xsi32> -> tensor<si32>
// CHECK-NEXT:  [[N:%\d+]] = ptir.constant 6 : tensor<si32>
// CHECK-NEXT:  %m = ptir.div [[S]], [[N]] : tensor<si32>

// Inside of its bounds an index is a slice; outside it is a row that cannot be taken, never a clamped one.
func.func @index(%x: tensor<3x4xf32>) -> (tensor<f32>, tensor<f32>) {
  %a = mind.index %x indices = [2, 1] : tensor<3x4xf32> -> tensor<f32>
  %b = mind.index %x indices = [2, -1] : tensor<3x4xf32> -> tensor<f32>
  func.return %a, %b : tensor<f32>, tensor<f32>
}
// CHECK-LABEL: func.func @index
// CHECK-NEXT:  [[S:%\d+]] = ptir.slice %x starts = [2, 1] sizes = [1, 1] : tensor<3x4xf32> -> tensor<1x1xf32>
// CHECK-NEXT:  %a = ptir.reshape [[S]] new_shape = [] : tensor<1x1xf32> -> tensor<f32>
// CHECK-NEXT:  [[T:%\d+]] = ptir.transpose %x perm = [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
// CHECK-NEXT:  [[I:%\d+]] = ptir.constant -1 : tensor<si64>
// CHECK-NEXT:  [[R:%\d+]] = ptir.take [[T]], [[I]] : (tensor<4x3xf32>, tensor<si64>) -> tensor<3xf32>
// CHECK-NEXT:  %b = ptir.reduce [[R]] kind = sum axes = [0] keepdims = false : tensor<3xf32> -> tensor<f32>

// Steps need the extension; bounds of an empty slice are put in range.
func.func @slices(%x: tensor<5x6xf32>) -> (tensor<3x2xf32>, tensor<5x0xf32>) {
  %a = mind.slice %x starts = [0, 1] ends = [5, 6] steps = [2, 4] : tensor<5x6xf32> -> tensor<3x2xf32>
  %b = mind.slice %x starts = [0, 9] ends = [5, 2] steps = [1, 7] : tensor<5x6xf32> -> tensor<5x0xf32>
  func.return %a, %b : tensor<3x2xf32>, tensor<5x0xf32>
}
// CHECK-LABEL: func.func @slices
// CHECK-NEXT:  %a = ptir.strided_slice %x starts = [0, 1] limits = [5, 6] strides = [2, 4] : tensor<5x6xf32> -> tensor<3x2xf32>
// CHECK-NEXT:  %b = ptir.slice %x starts = [0, 0] sizes = [5, 0] : tensor<5x6xf32> -> tensor<5x0xf32>

// Scatters start from zeros; a slice or index put back is padding.
func.func @scatter(%i: tensor<3xi64>, %u: tensor<3x2xf32>) -> (tensor<4x2xf32>, tensor<7x3xf32>) {
  %a = mind.scatter_add %i, %u shape = [4, 2] : (tensor<3xi64>, tensor<3x2xf32>) -> tensor<4x2xf32>
  %b = mind.slice_scatter %u shape = [7, 3] starts = [1, 1] steps = [2, 1] : tensor<3x2xf32> -> tensor<7x3xf32>
  func.return %a, %b : tensor<4x2xf32>, tensor<7x3xf32>
}
// CHECK-LABEL: func.func @scatter(%i: tensor<3xsi64>
// CHECK-NEXT:  [[Z:%\d+]] = ptir.constant fill 0.0 : tensor<4x2xf32>
// CHECK-NEXT:  %a = ptir.scatter_add [[Z]], %i, %u update_window_dims = [1] inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] : (tensor<4x2xf32>, tensor<3xsi64>, tensor<3x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT:  %b = ptir.pad %u low = [1, 1] high = [1, 0] interior = [1, 0] pad_value = 0.0 : f32 : tensor<3x2xf32> -> tensor<7x3xf32>

// Same padding in numbers; the filter's gradient is a product with patches.
func.func @conv(%x: tensor<1x5x5x1xf32>, %w: tensor<2x2x1x2xf32>) -> (tensor<1x3x5x2xf32>, tensor<2x2x1x2xf32>)
    attributes {mind.profile = "core-v1.1"} {
  %c = mind.conv2d %x, %w strides = [2, 1] padding = Same : (tensor<1x5x5x1xf32>, tensor<2x2x1x2xf32>) -> tensor<1x3x5x2xf32>
  %f = mind.conv2d_backward_filter %x, %c shape = [2, 2, 1, 2] strides = [2, 1] padding = Same : (tensor<1x5x5x1xf32>, tensor<1x3x5x2xf32>) -> tensor<2x2x1x2xf32>
  func.return %c, %f : tensor<1x3x5x2xf32>, tensor<2x2x1x2xf32>
}
// CHECK-LABEL: func.func @conv
// CHECK-SAME:  attributes {mind.profile = "core-v1.1"}
// CHECK-NEXT:  %c = ptir.convolution %x, %w strides = [2, 1] padding = {{\[\[}}0, 1], [0, 1]] base_dilation = [1, 1] window_dilation = [1, 1] feature_group_count = 1 : (tensor<1x5x5x1xf32>, tensor<2x2x1x2xf32>) -> tensor<1x3x5x2xf32>
// CHECK-NEXT:  [[P:%\d+]] = ptir.extract_patches %x window = [2, 2] strides = [2, 1] dilation = [1, 1] padding = {{\[\[}}0, 1], [0, 1]] pad_value = 0.0 : f32 : tensor<1x5x5x1xf32> -> tensor<1x3x5x4xf32>
// CHECK-NEXT:  [[D:%\d+]] = ptir.dot_general [[P]], %c batch_lhs = [] batch_rhs = [] contract_lhs = [0, 1, 2] contract_rhs = [0, 1, 2] : (tensor<1x3x5x4xf32>, tensor<1x3x5x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT:  %f = ptir.reshape [[D]] new_shape = [2, 2, 1, 2] : tensor<4x2xf32> -> tensor<2x2x1x2xf32>

// Functions of other dialects stay.
func.func @foreign(%i: index) -> index {
  func.return %i : index
}
// CHECK-LABEL: func.func @foreign
// CHECK-NEXT:  func.return %i : index

// A gradient function's note speaks of values by number; the numbers follow the values.
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %r = mind.relu %x : tensor<2xf32>
  %e = mind.exp %r : tensor<2xf32>
  func.return %e : tensor<2xf32>
}
func.func @f_grad(%x: tensor<2xf32>) -> tensor<2xf32> attributes {mind.grad_of = @f, mind.grad_wrt = array<i64: 0, 1, 2>} {
  %e = mind.exp %x : tensor<2xf32>
  func.return %e : tensor<2xf32>
}
// CHECK-LABEL: func.func @f_grad
// CHECK-SAME: attributes {mind.grad_of = @f, mind.grad_wrt = array<i64: 0, 3, 4>}
