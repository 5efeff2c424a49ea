// RUN: mind-opt %s --ptir-canonicalize --ptir-recognize | filecheck %s
// RUN: xdsl-opt %s -p mind-ptir-canonicalize,mind-ptir-recognize | filecheck %s
// RUN: mind-opt %s --ptir-canonicalize --ptir-recognize=patterns=gelu | filecheck %s --check-prefix=GELU

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// GELU-LABEL: func.func @softmax
// GELU-NOT:     ptir.fusion
// CHECK-LABEL: func.func @softmax
// CHECK-SAME:    (%[[Z:.*]]: tensor<3x5xf32>)
// CHECK-NEXT:    %[[P:.*]] = ptir.fusion %[[Z]] pattern = softmax : tensor<3x5xf32> body {
// CHECK-NEXT:    ^bb0(%[[A:.*]]: tensor<3x5xf32>):
// CHECK-NEXT:      %[[M:.*]] = ptir.reduce %[[A]] kind = max axes = [1] keepdims = true : tensor<3x5xf32> -> tensor<3x1xf32>
// CHECK-NEXT:      %[[N:.*]] = ptir.broadcast_to %[[M]] result_shape = [3, 5] : tensor<3x1xf32> -> tensor<3x5xf32>
// CHECK-NEXT:      %[[D:.*]] = ptir.sub %[[A]], %[[N]] : tensor<3x5xf32>
// CHECK-NEXT:      %[[E:.*]] = ptir.exp %[[D]] : tensor<3x5xf32>
// CHECK-NEXT:      %[[S:.*]] = ptir.reduce %[[E]] kind = sum axes = [1] keepdims = true : tensor<3x5xf32> -> tensor<3x1xf32>
// CHECK-NEXT:      %[[T:.*]] = ptir.broadcast_to %[[S]] result_shape = [3, 5] : tensor<3x1xf32> -> tensor<3x5xf32>
// CHECK-NEXT:      %[[Q:.*]] = ptir.div %[[E]], %[[T]] : tensor<3x5xf32>
// CHECK-NEXT:      ptir.yield %[[Q]] : tensor<3x5xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %[[P]] : tensor<3x5xf32>
func.func @softmax(%z: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %m = ptir.reduce %z kind = max axes = [-1] keepdims = true accum_dtype = f32 out_dtype = f32 : tensor<3x5xf32> -> tensor<3x1xf32>
  %n = ptir.broadcast_to %m result_shape = [3, 5] : tensor<3x1xf32> -> tensor<3x5xf32>
  %d = ptir.sub %z, %n : tensor<3x5xf32>
  %e = ptir.exp %d : tensor<3x5xf32>
  %s = ptir.reduce %e kind = sum axes = [-1] keepdims = true accum_dtype = f32 out_dtype = f32 : tensor<3x5xf32> -> tensor<3x1xf32>
  %t = ptir.broadcast_to %s result_shape = [3, 5] : tensor<3x1xf32> -> tensor<3x5xf32>
  %p = ptir.div %e, %t : tensor<3x5xf32>
  func.return %p : tensor<3x5xf32>
}

// Who needs the exponentials too has no softmax.
// CHECK-LABEL: func.func @exponentials_are_needed
// CHECK-NOT:     ptir.fusion
// CHECK:         func.return
func.func @exponentials_are_needed(%z: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
  %m = ptir.reduce %z kind = max axes = [1] keepdims = true : tensor<3x5xf32> -> tensor<3x1xf32>
  %n = ptir.broadcast_to %m result_shape = [3, 5] : tensor<3x1xf32> -> tensor<3x5xf32>
  %d = ptir.sub %z, %n : tensor<3x5xf32>
  %e = ptir.exp %d : tensor<3x5xf32>
  %s = ptir.reduce %e kind = sum axes = [1] keepdims = true : tensor<3x5xf32> -> tensor<3x1xf32>
  %t = ptir.broadcast_to %s result_shape = [3, 5] : tensor<3x1xf32> -> tensor<3x5xf32>
  %p = ptir.div %e, %t : tensor<3x5xf32>
  func.return %e, %p : tensor<3x5xf32>, tensor<3x5xf32>
}

// Patches as rows times a matrix.
// CHECK-LABEL: func.func @convolution
// CHECK-SAME:    (%[[X:.*]]: tensor<1x5x5x3xf32>, %[[W:.*]]: tensor<27x8xf32>)
// CHECK:         %[[K:.*]] = ptir.reshape %{{.*}} new_shape = [3, 3, 3, 8] : tensor<27x8xf32> -> tensor<3x3x3x8xf32>
// CHECK-NEXT:    %[[Y:.*]] = ptir.convolution %[[X]], %[[K]] strides = [2, 2] padding = {{\[\[}}1, 1], [1, 1]] base_dilation = [1, 1] window_dilation = [1, 1] feature_group_count = 1
// CHECK-NOT:     ptir.dot_general
// CHECK:         func.return
func.func @convolution(%x: tensor<1x5x5x3xf32>, %w: tensor<27x8xf32>) -> tensor<1x3x3x8xf32> {
  %p = ptir.extract_patches %x window = [3, 3] strides = [2, 2] dilation = [1, 1] padding = [[1, 1], [1, 1]] pad_value = 0.0 : f32 : tensor<1x5x5x3xf32> -> tensor<1x3x3x27xf32>
  %y = ptir.dot_general %p, %w batch_lhs = [] batch_rhs = [] contract_lhs = [3] contract_rhs = [0] : (tensor<1x3x3x27xf32>, tensor<27x8xf32>) -> tensor<1x3x3x8xf32>
  func.return %y : tensor<1x3x3x8xf32>
}

// GELU-LABEL: func.func @gelu
// GELU:         ptir.fusion %{{.*}} pattern = gelu : tensor<4xf32> body {
// CHECK-LABEL: func.func @gelu
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT:    %[[G:.*]] = ptir.fusion %[[X]] pattern = gelu : tensor<4xf32> body {
// CHECK:         func.return %[[G]] : tensor<4xf32>
func.func @gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = ptir.constant fill 0.5 : tensor<4xf32>
  %one = ptir.constant fill 1.0 : tensor<4xf32>
  %root = ptir.constant fill 0.70710677 : tensor<4xf32>
  %a = ptir.mul %x, %half : tensor<4xf32>
  %b = ptir.mul %x, %root : tensor<4xf32>
  %c = ptir.erf %b : tensor<4xf32>
  %d = ptir.add %c, %one : tensor<4xf32>
  %e = ptir.mul %a, %d : tensor<4xf32>
  func.return %e : tensor<4xf32>
}

// GELU by tanh is another function, with a name of its own.
// CHECK-LABEL: func.func @gelu_tanh
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT:    %[[G:.*]] = ptir.fusion %[[X]] pattern = gelu_tanh : tensor<4xf32> body {
// CHECK:           ptir.tanh
// CHECK:         func.return %[[G]] : tensor<4xf32>
func.func @gelu_tanh(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = ptir.constant fill 0.5 : tensor<4xf32>
  %one = ptir.constant fill 1.0 : tensor<4xf32>
  %root = ptir.constant fill 0.7978846 : tensor<4xf32>
  %c = ptir.constant fill 0.044715 : tensor<4xf32>
  %square = ptir.mul %x, %x : tensor<4xf32>
  %cube = ptir.mul %square, %x : tensor<4xf32>
  %cubic = ptir.mul %cube, %c : tensor<4xf32>
  %sum = ptir.add %x, %cubic : tensor<4xf32>
  %scaled = ptir.mul %sum, %root : tensor<4xf32>
  %t = ptir.tanh %scaled : tensor<4xf32>
  %u = ptir.add %t, %one : tensor<4xf32>
  %a = ptir.mul %x, %half : tensor<4xf32>
  %r = ptir.mul %a, %u : tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// Of another cubic it is none.
// CHECK-LABEL: func.func @another_cubic
// CHECK-NOT:     ptir.fusion
// CHECK:         func.return
func.func @another_cubic(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = ptir.constant fill 0.5 : tensor<4xf32>
  %one = ptir.constant fill 1.0 : tensor<4xf32>
  %root = ptir.constant fill 0.7978846 : tensor<4xf32>
  %c = ptir.constant fill 0.05 : tensor<4xf32>
  %square = ptir.mul %x, %x : tensor<4xf32>
  %cube = ptir.mul %square, %x : tensor<4xf32>
  %cubic = ptir.mul %cube, %c : tensor<4xf32>
  %sum = ptir.add %x, %cubic : tensor<4xf32>
  %scaled = ptir.mul %sum, %root : tensor<4xf32>
  %t = ptir.tanh %scaled : tensor<4xf32>
  %u = ptir.add %t, %one : tensor<4xf32>
  %a = ptir.mul %x, %half : tensor<4xf32>
  %r = ptir.mul %a, %u : tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// Without a mean to subtract.
// CHECK-LABEL: func.func @rms_norm
// CHECK-SAME:    (%[[X:.*]]: tensor<3x8xf32>, %{{.*}}: tensor<3x8xf32>, %[[G:.*]]: tensor<8xf32>)
// CHECK:         %[[R:.*]] = ptir.fusion %[[X]], %[[G]] pattern = rms_norm : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32> body {
// CHECK:         func.return %[[R]] : tensor<3x8xf32>
func.func @rms_norm(%x: tensor<3x8xf32>, %y: tensor<3x8xf32>, %g: tensor<8xf32>) -> tensor<3x8xf32> {
  %n = ptir.constant fill 0.125 : tensor<3x1xf32>
  %epsilon = ptir.constant fill 1.0e-06 : tensor<3x1xf32>
  %square = ptir.mul %x, %x : tensor<3x8xf32>
  %s = ptir.reduce %square kind = sum axes = [1] keepdims = true : tensor<3x8xf32> -> tensor<3x1xf32>
  %mean = ptir.mul %s, %n : tensor<3x1xf32>
  %e = ptir.add %mean, %epsilon : tensor<3x1xf32>
  %d = ptir.rsqrt %e : tensor<3x1xf32>
  %w = ptir.broadcast_to %d result_shape = [3, 8] : tensor<3x1xf32> -> tensor<3x8xf32>
  %z = ptir.mul %x, %w : tensor<3x8xf32>
  %h = ptir.broadcast_to %g result_shape = [3, 8] : tensor<8xf32> -> tensor<3x8xf32>
  %r = ptir.mul %z, %h : tensor<3x8xf32>
  func.return %r : tensor<3x8xf32>
}

// The square is of something else.
// CHECK-LABEL: func.func @no_rms_norm
// CHECK-NOT:     ptir.fusion
// CHECK:         func.return
func.func @no_rms_norm(%x: tensor<3x8xf32>, %y: tensor<3x8xf32>, %g: tensor<8xf32>) -> tensor<3x8xf32> {
  %n = ptir.constant fill 0.125 : tensor<3x1xf32>
  %epsilon = ptir.constant fill 1.0e-06 : tensor<3x1xf32>
  %square = ptir.mul %x, %y : tensor<3x8xf32>
  %s = ptir.reduce %square kind = sum axes = [1] keepdims = true : tensor<3x8xf32> -> tensor<3x1xf32>
  %mean = ptir.mul %s, %n : tensor<3x1xf32>
  %e = ptir.add %mean, %epsilon : tensor<3x1xf32>
  %d = ptir.rsqrt %e : tensor<3x1xf32>
  %w = ptir.broadcast_to %d result_shape = [3, 8] : tensor<3x1xf32> -> tensor<3x8xf32>
  %z = ptir.mul %x, %w : tensor<3x8xf32>
  %h = ptir.broadcast_to %g result_shape = [3, 8] : tensor<8xf32> -> tensor<3x8xf32>
  %r = ptir.mul %z, %h : tensor<3x8xf32>
  func.return %r : tensor<3x8xf32>
}

// Gamma is 1 and beta is -0, which change no number.
// CHECK-LABEL: func.func @plain_layer_norm
// CHECK-SAME:    (%[[X:.*]]: tensor<3x8xf32>, %{{.*}}: tensor<3x8xf32>)
// CHECK:         %[[G:.*]] = ptir.constant fill 1.0 : tensor<8xf32>
// CHECK-NEXT:    %[[B:.*]] = ptir.constant fill -0.0 : tensor<8xf32>
// CHECK-NEXT:    %[[R:.*]] = ptir.layer_norm %[[X]], %[[G]], %[[B]]
// CHECK-NEXT:    func.return %[[R]] : tensor<3x8xf32>
func.func @plain_layer_norm(%x: tensor<3x8xf32>, %y: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %n = ptir.constant fill 0.125 : tensor<3x1xf32>
  %epsilon = ptir.constant fill 1.0e-06 : tensor<3x1xf32>
  %total = ptir.reduce %x kind = sum axes = [1] keepdims = true : tensor<3x8xf32> -> tensor<3x1xf32>
  %m = ptir.mul %total, %n : tensor<3x1xf32>
  %mm = ptir.broadcast_to %m result_shape = [3, 8] : tensor<3x1xf32> -> tensor<3x8xf32>
  %c = ptir.sub %x, %mm : tensor<3x8xf32>
  %square = ptir.mul %c, %c : tensor<3x8xf32>
  %s = ptir.reduce %square kind = sum axes = [1] keepdims = true : tensor<3x8xf32> -> tensor<3x1xf32>
  %mean = ptir.mul %s, %n : tensor<3x1xf32>
  %e = ptir.add %mean, %epsilon : tensor<3x1xf32>
  %d = ptir.rsqrt %e : tensor<3x1xf32>
  %w = ptir.broadcast_to %d result_shape = [3, 8] : tensor<3x1xf32> -> tensor<3x8xf32>
  %r = ptir.mul %c, %w : tensor<3x8xf32>
  func.return %r : tensor<3x8xf32>
}

// The mean is of something else: what is left is a normalisation by the mean square.
// CHECK-LABEL: func.func @no_layer_norm
// CHECK-NOT:     ptir.layer_norm
// CHECK:         pattern = rms_norm
// CHECK-NOT:     ptir.layer_norm
// CHECK:         func.return
func.func @no_layer_norm(%x: tensor<3x8xf32>, %y: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %n = ptir.constant fill 0.125 : tensor<3x1xf32>
  %epsilon = ptir.constant fill 1.0e-06 : tensor<3x1xf32>
  %total = ptir.reduce %y kind = sum axes = [1] keepdims = true : tensor<3x8xf32> -> tensor<3x1xf32>
  %m = ptir.mul %total, %n : tensor<3x1xf32>
  %mm = ptir.broadcast_to %m result_shape = [3, 8] : tensor<3x1xf32> -> tensor<3x8xf32>
  %c = ptir.sub %x, %mm : tensor<3x8xf32>
  %square = ptir.mul %c, %c : tensor<3x8xf32>
  %s = ptir.reduce %square kind = sum axes = [1] keepdims = true : tensor<3x8xf32> -> tensor<3x1xf32>
  %mean = ptir.mul %s, %n : tensor<3x1xf32>
  %e = ptir.add %mean, %epsilon : tensor<3x1xf32>
  %d = ptir.rsqrt %e : tensor<3x1xf32>
  %w = ptir.broadcast_to %d result_shape = [3, 8] : tensor<3x1xf32> -> tensor<3x8xf32>
  %r = ptir.mul %c, %w : tensor<3x8xf32>
  func.return %r : tensor<3x8xf32>
}

// Weights times patches: the channels come out first.
// CHECK-LABEL: func.func @weights_first
// CHECK:         %[[Y:.*]] = ptir.convolution
// CHECK:         %[[T:.*]] = ptir.transpose %{{.*}} perm = [3, 0, 1, 2] : tensor<1x3x3x8xf32> -> tensor<8x1x3x3xf32>
// CHECK-NEXT:    func.return %[[T]] : tensor<8x1x3x3xf32>
func.func @weights_first(%x: tensor<1x5x5x3xf32>, %w: tensor<8x27xf32>) -> tensor<8x1x3x3xf32> {
  %p = ptir.extract_patches %x window = [3, 3] strides = [2, 2] dilation = [1, 1] padding = [[1, 1], [1, 1]] pad_value = 0.0 : f32 : tensor<1x5x5x3xf32> -> tensor<1x3x3x27xf32>
  %y = ptir.dot_general %w, %p batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [3] : (tensor<8x27xf32>, tensor<1x3x3x27xf32>) -> tensor<8x1x3x3xf32>
  func.return %y : tensor<8x1x3x3xf32>
}

// A convolution pads with zeros.
// CHECK-LABEL: func.func @padded_with_ones
// CHECK-NOT:     ptir.convolution
// CHECK:         ptir.dot_general
// CHECK:         func.return
func.func @padded_with_ones(%x: tensor<1x5x5x3xf32>, %w: tensor<8x27xf32>) -> tensor<8x1x3x3xf32> {
  %p = ptir.extract_patches %x window = [3, 3] strides = [2, 2] dilation = [1, 1] padding = [[1, 1], [1, 1]] pad_value = 1.0 : f32 : tensor<1x5x5x3xf32> -> tensor<1x3x3x27xf32>
  %y = ptir.dot_general %w, %p batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [3] : (tensor<8x27xf32>, tensor<1x3x3x27xf32>) -> tensor<8x1x3x3xf32>
  func.return %y : tensor<8x1x3x3xf32>
}

}
