// RUN: MIND_INVALID

// CHECK: error[E3001]: ReluGrad %0: gradient has shape [2, 3], expected [2, 4]
func.func @shapes(%g: tensor<2x3xf32>, %x: tensor<2x4xf32>) {
  %0 = mind.relu_grad %g, %x : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

// CHECK: error[E3002]: ReluGrad %0: rank 0, expected 1 for the gradient
func.func @no_broadcast(%g: tensor<f32>, %x: tensor<4xf32>) {
  %0 = mind.relu_grad %g, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: error[E2005]: ReluGrad %0: takes dtypes ['f32', 'f64'], found i32
func.func @integers(%g: tensor<2xi32>) {
  %0 = mind.relu_grad %g, %g : tensor<2xi32>
  func.return
}

// -----

// CHECK: error[E2004]: ReluGrad %0: operands of dtypes f32 and f64, expected one dtype
func.func @mixed_dtypes(%g: tensor<2xf32>, %x: tensor<2xf64>) {
  %0 = mind.relu_grad %g, %x : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf64>
  func.return
}

// -----

// CHECK: error[E4015]: ReluGrad %0: declared result tensor<3xf32>, inferred tensor<2xf32>
func.func @declared_shape(%g: tensor<2xf32>) {
  %0 = mind.relu_grad %g, %g : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>
  func.return
}
