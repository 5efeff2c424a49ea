// RUN: mind-opt --canonicalize --autodiff %s | filecheck %s
// RUN: xdsl-opt -p canonicalize,mind-canonicalize,mind-autodiff %s | filecheck %s

// The README's program: loss(x, w) = sum(exp(x * w)), with w broadcast over the rows of x.
// d loss / dx = w * exp(x * w); d loss / dw = the sum over the rows of x * exp(x * w).

func.func @loss(%x: tensor<2x3xf32>, %w: tensor<3xf32>) -> tensor<f32> {
  %0 = mind.mul %x, %w : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = mind.exp %0 : tensor<2x3xf32>
  %2 = mind.sum %1 axes = [] keepdims = false : tensor<2x3xf32> -> tensor<f32>
  func.return %2 : tensor<f32>
}

// CHECK-LABEL: func.func @loss_grad(
// CHECK-SAME:    %[[x:[a-z0-9]+]]: tensor<2x3xf32>, %[[w:[a-z0-9]+]]: tensor<3xf32>) -> (tensor<f32>, tensor<2x3xf32>, tensor<3xf32>)
// CHECK-SAME:    mind.grad_of = @loss
// CHECK-NEXT:    %[[y:[a-z0-9]+]] = mind.mul %[[x]], %[[w]] :
// CHECK-NEXT:    %[[e:[a-z0-9]+]] = mind.exp %[[y]] :
// CHECK-NEXT:    %[[loss:[a-z0-9]+]] = mind.sum %[[e]] axes = [] keepdims = false :
// CHECK-NEXT:    %[[dx:[a-z0-9]+]] = mind.mul %[[w]], %[[e]] :
// CHECK-NEXT:    %[[xe:[a-z0-9]+]] = mind.mul %[[x]], %[[e]] :
// CHECK-NEXT:    %[[dw:[a-z0-9]+]] = mind.sum %[[xe]] axes = [0] keepdims = false :
// CHECK-NEXT:    func.return %[[loss]], %[[dx]], %[[dw]] :
