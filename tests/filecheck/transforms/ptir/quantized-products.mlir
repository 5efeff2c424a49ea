// RUN: mind-opt %s --ptir-quantized-products --canonicalize --split-input-file | filecheck %s

// Weights with a scale for each column, and no zero points: a product of bytes, times the scales.
// CHECK-LABEL: func.func @layer
// CHECK: %[[SUM:.*]] = ptir.dot_general %x, %w {{.*}} accum_dtype = si32 out_dtype = si32 : (tensor<16x64xsi8>, tensor<64x32xsi8>) -> tensor<16x32xsi32>
// CHECK: ptir.cast %[[SUM]] dtype = f32
// CHECK-NOT: ptir.dequantize
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @layer(%x: tensor<16x64xsi8>, %s: tensor<f32>, %w: tensor<64x32xsi8>, %t: tensor<32xf32>) -> tensor<16x32xf32> {
    %z = ptir.constant 0 : tensor<si8>
    %zs = ptir.constant fill 0 : tensor<32xsi8>
    %a = ptir.dequantize %x, %s, %z : (tensor<16x64xsi8>, tensor<f32>, tensor<si8>) -> tensor<16x64xf32>
    %b = ptir.dequantize %w, %t, %zs axis = 1 : (tensor<64x32xsi8>, tensor<32xf32>, tensor<32xsi8>) -> tensor<64x32xf32>
    %y = ptir.dot_general %a, %b batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
    func.return %y : tensor<16x32xf32>
  }
}

// -----

// A scale for each row of the weights is part of the sums.
// CHECK-LABEL: func.func @along_the_depth
// CHECK: ptir.dot_general {{.*}} : (tensor<16x64xf32>, tensor<64x32xf32>)
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @along_the_depth(%x: tensor<16x64xsi8>, %s: tensor<f32>, %w: tensor<64x32xsi8>, %t: tensor<64xf32>) -> tensor<16x32xf32> {
    %z = ptir.constant 0 : tensor<si8>
    %zs = ptir.constant fill 0 : tensor<64xsi8>
    %a = ptir.dequantize %x, %s, %z : (tensor<16x64xsi8>, tensor<f32>, tensor<si8>) -> tensor<16x64xf32>
    %b = ptir.dequantize %w, %t, %zs axis = 0 : (tensor<64x32xsi8>, tensor<64xf32>, tensor<64xsi8>) -> tensor<64x32xf32>
    %y = ptir.dot_general %a, %b batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
    func.return %y : tensor<16x32xf32>
  }
}
