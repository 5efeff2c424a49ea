// RUN: mind-opt %s -p 'mind-autodiff{function=main wrt=x seed=ones}' | filecheck %s
// RUN: mind-opt %s -p 'mind-autodiff{function=main wrt=limit seed=ones}' | filecheck %s --check-prefix=LIMIT
// RUN: mind-opt %s -p 'mind-vectorize{function=main size=2}' | filecheck %s --check-prefix=VMAP

// A function as `ma.custom_vjp` makes it: its result and a residual are inputs, and its rule has a cotangent for %x alone. No
// gradient flows to the others by the call; to %limit there is one from the product.

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @main(%x: tensor<4xf32>, %limit: tensor<4xf32>) -> tensor<4xf32> {
    %0 = func.call @clip(%x, %limit, %x, %limit) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = ptir.mul %0, %limit : tensor<4xf32>
    func.return %1 : tensor<4xf32>
  }
  func.func private @clip(%x: tensor<4xf32>, %limit: tensor<4xf32>, %result: tensor<4xf32>, %residual: tensor<4xf32>) -> tensor<4xf32> attributes {mind.vjp = @clip_vjp, mind.vjp_wrt = array<i64: 0>} {
    func.return %result : tensor<4xf32>
  }
  func.func private @clip_vjp(%x: tensor<4xf32>, %limit: tensor<4xf32>, %result: tensor<4xf32>, %residual: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> {
    %0 = ptir.minimum %g, %residual : tensor<4xf32>
    func.return %0 : tensor<4xf32>
  }
}

// CHECK-LABEL: func.func @main_grad
// CHECK-NEXT:    %0 = func.call @clip(%x, %limit, %x, %limit) {mind.vjp = @clip_vjp, mind.vjp_wrt = array<i64: 0>}
// CHECK-NEXT:    %1 = ptir.mul %0, %limit : tensor<4xf32>
// CHECK-NEXT:    %2 = func.call @clip_vjp(%x, %limit, %x, %limit, %limit)
// CHECK-NEXT:    func.return %1, %2 : tensor<4xf32>, tensor<4xf32>

// LIMIT-LABEL: func.func @main_grad
// LIMIT-NEXT:    %0 = func.call @clip(%x, %limit, %x, %limit) {mind.vjp = @clip_vjp, mind.vjp_wrt = array<i64: 0>}
// LIMIT-NEXT:    %1 = ptir.mul %0, %limit : tensor<4xf32>
// LIMIT-NEXT:    func.return %1, %0 : tensor<4xf32>, tensor<4xf32>

// VMAP-LABEL: func.func @main_vmap
// VMAP-NEXT:    %0 = func.call @clip_vmap(%x, %limit, %x, %limit) {mind.vjp = @clip_vjp_vmap, mind.vjp_wrt = array<i64: 0>}
// VMAP:       func.func private @clip_vmap({{.*}}) -> tensor<2x4xf32> attributes {mind.vmap_of = @clip, mind.vjp = @clip_vjp_vmap, mind.vjp_wrt = array<i64: 0>} {
