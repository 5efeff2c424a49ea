// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC
// Complex numbers and their parts.

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

  func.func @parts(%x: tensor<2x3xcomplex<f32>>) {
    %a = ptir.real %x : tensor<2x3xcomplex<f32>> -> tensor<2x3xf32>
    %b = ptir.imag %x : tensor<2x3xcomplex<f32>> -> tensor<2x3xf32>
    %c = ptir.complex %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>
    %d = ptir.conj %c : tensor<2x3xcomplex<f32>>
    %e = ptir.abs %d : tensor<2x3xcomplex<f32>> -> tensor<2x3xf32>
    func.return
  }
  // CHECK-LABEL: func.func @parts(%x: tensor<2x3xcomplex<f32>>) {
  // CHECK-NEXT:  %a = ptir.real %x : tensor<2x3xcomplex<f32>> -> tensor<2x3xf32>
  // CHECK-NEXT:  %b = ptir.imag %x : tensor<2x3xcomplex<f32>> -> tensor<2x3xf32>
  // CHECK-NEXT:  %c = ptir.complex %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>
  // CHECK-NEXT:  %d = ptir.conj %c : tensor<2x3xcomplex<f32>>
  // CHECK-NEXT:  %e = ptir.abs %d : tensor<2x3xcomplex<f32>> -> tensor<2x3xf32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "parts"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x3xcomplex<f32>>):
  // GENERIC-NEXT:  %a = "ptir.real"(%x) : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
  // GENERIC-NEXT:  %b = "ptir.imag"(%x) : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
  // GENERIC-NEXT:  %c = "ptir.complex"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>
  // GENERIC-NEXT:  %d = "ptir.conj"(%c) : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>
  // GENERIC-NEXT:  %e = "ptir.abs"(%d) : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
}
