// RUN: mind-run %s --function loss x=[1,2,3] w=2.0 | filecheck %s
// RUN: mind-opt %s --autodiff -t core-ir | mind-run -f core-ir - --function loss_grad x=[1,2,3] w=2.0 | filecheck %s --check-prefix=GRAD
// RUN: not mind-run %s --function loss x=[1,2]

// sum(w * x * x): 2 * (1 + 4 + 9); the gradients are 2 w x and the sum of squares.
func.func @loss(%x: tensor<3xf64>, %w: tensor<f64>) -> tensor<f64> {
  %0 = mind.mul %x, %x : tensor<3xf64>
  %1 = mind.mul %0, %w : (tensor<3xf64>, tensor<f64>) -> tensor<3xf64>
  %loss = mind.sum %1 axes = [] keepdims = false : tensor<3xf64> -> tensor<f64>
  func.return %loss : tensor<f64>
}
// CHECK:     loss: f64[] = 28.
// GRAD:      out0: f64[] = 28.
// GRAD-NEXT: grad_x: f64[3] = [ 4.,  8., 12.]
// GRAD-NEXT: grad_w: f64[] = 14.
