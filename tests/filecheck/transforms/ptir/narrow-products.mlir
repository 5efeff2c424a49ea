// RUN: mind-opt %s --ptir-narrow-products --canonicalize --split-input-file | filecheck %s

// Bytes less a zero point that is data, times weights: the zero point times the sums of the weights is subtracted.
// CHECK-LABEL: func.func @dynamic
// CHECK: ptir.xor
// CHECK: ptir.bitcast
// CHECK: ptir.dot_general {{.*}} accum_dtype = si32 out_dtype = si32 : (tensor<16x64xsi8>, tensor<64x32xsi8>) -> tensor<16x32xsi32>
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @dynamic(%x: tensor<16x64xui8>, %zero: tensor<ui8>, %w: tensor<64x32xsi8>) -> tensor<16x32xsi32> {
    %a = ptir.cast %x dtype = si32 : tensor<16x64xui8> -> tensor<16x64xsi32>
    %z = ptir.cast %zero dtype = si32 : tensor<ui8> -> tensor<si32>
    %zs = ptir.broadcast_to %z result_shape = [16, 64] : tensor<si32> -> tensor<16x64xsi32>
    %d = ptir.sub %a, %zs : tensor<16x64xsi32>
    %b = ptir.cast %w dtype = si32 : tensor<64x32xsi8> -> tensor<64x32xsi32>
    %y = ptir.dot_general %d, %b batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<16x64xsi32>, tensor<64x32xsi32>) -> tensor<16x32xsi32>
    func.return %y : tensor<16x32xsi32>
  }
}

// -----

// A zero point of 0, as of weights: a product of bytes alone.
// CHECK-LABEL: func.func @bytes
// CHECK-NEXT: ptir.dot_general %x, %w
// CHECK-NEXT: func.return
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @bytes(%x: tensor<16x64xsi8>, %w: tensor<64x32xsi8>) -> tensor<16x32xsi32> {
    %a = ptir.cast %x dtype = si32 : tensor<16x64xsi8> -> tensor<16x64xsi32>
    %b = ptir.cast %w dtype = si32 : tensor<64x32xsi8> -> tensor<64x32xsi32>
    %y = ptir.dot_general %a, %b batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<16x64xsi32>, tensor<64x32xsi32>) -> tensor<16x32xsi32>
    func.return %y : tensor<16x32xsi32>
  }
}

// -----

// A zero point for each place along the contracted axis is no offset.
// CHECK-LABEL: func.func @along_the_depth
// CHECK: ptir.dot_general {{.*}} : (tensor<16x64xsi32>, tensor<64x32xsi32>)
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @along_the_depth(%x: tensor<16x64xsi8>, %z: tensor<64xsi32>, %w: tensor<64x32xsi8>) -> tensor<16x32xsi32> {
    %a = ptir.cast %x dtype = si32 : tensor<16x64xsi8> -> tensor<16x64xsi32>
    %zs = ptir.broadcast_to %z result_shape = [16, 64] : tensor<64xsi32> -> tensor<16x64xsi32>
    %d = ptir.sub %a, %zs : tensor<16x64xsi32>
    %b = ptir.cast %w dtype = si32 : tensor<64x32xsi8> -> tensor<64x32xsi32>
    %y = ptir.dot_general %d, %b batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : (tensor<16x64xsi32>, tensor<64x32xsi32>) -> tensor<16x32xsi32>
    func.return %y : tensor<16x32xsi32>
  }
}
