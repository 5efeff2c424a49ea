// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC
// Transforms along the last axes: half of the last one for real numbers.

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

  func.func @fft(%x: tensor<?x4xcomplex<f32>, "B,*">, %y: tensor<2x8x6xf64>, %z: tensor<4xcomplex<f64>>) {
    %a = ptir.fft %x kind = fft lengths = [4] : tensor<?x4xcomplex<f32>, "B,*">
    %b = ptir.fft %x kind = ifft lengths = [4] : tensor<?x4xcomplex<f32>, "B,*">
    %c = ptir.fft %y kind = rfft lengths = [8, 6] : tensor<2x8x6xf64> -> tensor<2x8x4xcomplex<f64>>
    %d = ptir.fft %z kind = irfft lengths = [7] : tensor<4xcomplex<f64>> -> tensor<7xf64>
    func.return
  }
  // CHECK-LABEL: func.func @fft(%x: tensor<?x4xcomplex<f32>, "B,*">, %y: tensor<2x8x6xf64>, %z: tensor<4xcomplex<f64>>) {
  // CHECK-NEXT:  %a = ptir.fft %x kind = fft lengths = [4] : tensor<?x4xcomplex<f32>, "B,*">
  // CHECK-NEXT:  %b = ptir.fft %x kind = ifft lengths = [4] : tensor<?x4xcomplex<f32>, "B,*">
  // CHECK-NEXT:  %c = ptir.fft %y kind = rfft lengths = [8, 6] : tensor<2x8x6xf64> -> tensor<2x8x4xcomplex<f64>>
  // CHECK-NEXT:  %d = ptir.fft %z kind = irfft lengths = [7] : tensor<4xcomplex<f64>> -> tensor<7xf64>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "fft"
  // GENERIC-NEXT:  ^bb0(%x: tensor<?x4xcomplex<f32>, "B,*">, %y: tensor<2x8x6xf64>, %z: tensor<4xcomplex<f64>>):
  // GENERIC-NEXT:  %a = "ptir.fft"(%x) <{kind = "fft", lengths = array<i64: 4>}> : (tensor<?x4xcomplex<f32>, "B,*">) -> tensor<?x4xcomplex<f32>, "B,*">
  // GENERIC-NEXT:  %b = "ptir.fft"(%x) <{kind = "ifft", lengths = array<i64: 4>}> : (tensor<?x4xcomplex<f32>, "B,*">) -> tensor<?x4xcomplex<f32>, "B,*">
  // GENERIC-NEXT:  %c = "ptir.fft"(%y) <{kind = "rfft", lengths = array<i64: 8, 6>}> : (tensor<2x8x6xf64>) -> tensor<2x8x4xcomplex<f64>>
  // GENERIC-NEXT:  %d = "ptir.fft"(%z) <{kind = "irfft", lengths = array<i64: 7>}> : (tensor<4xcomplex<f64>>) -> tensor<7xf64>
}
