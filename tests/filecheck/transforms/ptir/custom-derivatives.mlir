// RUN: mind-opt %s -p 'mind-autodiff{function=main seed=ones}' | filecheck %s
// RUN: mind-opt %s -p 'mind-jvp{function=main}' | filecheck %s --check-prefix=JVP
// RUN: mind-opt %s -p 'mind-vectorize{function=main size=2}' | filecheck %s --check-prefix=VMAP
// RUN: mind-opt %s -p 'mind-autodiff{function=main seed=ones},mind-inline' | filecheck %s --check-prefix=INLINE

// Derivatives and batches of a function with rules of its own call the rules; inlining puts the function itself in its place.

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
    func.return %0 : tensor<4xf32>
  }
  func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mind.vjp = @f_vjp, mind.jvp = @f_jvp} {
    %0 = ptir.round %x : tensor<4xf32>
    func.return %0 : tensor<4xf32>
  }
  func.func private @f_vjp(%x: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> {
    func.return %g : tensor<4xf32>
  }
  func.func private @f_jvp(%x: tensor<4xf32>, %t: tensor<4xf32>) -> tensor<4xf32> {
    func.return %t : tensor<4xf32>
  }
}

// CHECK-LABEL: func.func @main_grad
// CHECK-NEXT:    %0 = func.call @f(%x) {mind.vjp = @f_vjp, mind.jvp = @f_jvp} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    %1 = ptir.constant fill 1.0 : tensor<4xf32>
// CHECK-NEXT:    %2 = func.call @f_vjp(%x, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    func.return %0, %2 : tensor<4xf32>, tensor<4xf32>

// JVP-LABEL: func.func @main_jvp
// JVP-NEXT:    %0 = func.call @f(%x)
// JVP-NEXT:    %1 = func.call @f_jvp(%x, %x_tangent) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// JVP-NEXT:    func.return %0, %1 : tensor<4xf32>, tensor<4xf32>

// VMAP-LABEL: func.func @main_vmap
// VMAP-NEXT:    %0 = func.call @f_vmap(%x) {mind.vjp = @f_vjp_vmap, mind.jvp = @f_jvp_vmap} : (tensor<2x4xf32>) -> tensor<2x4xf32>
// VMAP:       func.func private @f_vmap(%x: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {mind.vmap_of = @f, mind.vjp = @f_vjp_vmap, mind.jvp = @f_jvp_vmap} {
// VMAP:       func.func private @f_vjp_vmap(%x: tensor<2x4xf32>, %g: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {mind.vmap_of = @f_vjp} {

// INLINE-LABEL: func.func @main_grad
// INLINE-NEXT:    %0 = ptir.round %x : tensor<4xf32>
// INLINE-NEXT:    %1 = ptir.constant fill 1.0 : tensor<4xf32>
// INLINE-NEXT:    func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
