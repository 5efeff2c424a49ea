// RUN: mind-opt %s --ptir-split-parameters --ptir-sink-filters | filecheck %s
// RUN: xdsl-opt %s -p 'mind-ptir-split-parameters,mind-ptir-sink-filters' | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// The product of weights is computed once; the transpose is a view of a filter that the target packs.
// CHECK-LABEL: func.func @filter_prepare
// CHECK-SAME:    (%[[S:.*]]: tensor<8xf32> {mind.name = "s", ptir.parameter}) -> tensor<8xf32>
// CHECK-NEXT:    %[[E:.*]] = ptir.exp %[[S]] : tensor<8xf32>
// CHECK-NEXT:    func.return %[[E]] : tensor<8xf32>
// CHECK-LABEL: func.func @filter
// CHECK-SAME:    %[[X:.*]]: tensor<1x6x6x4xf32> {mind.name = "x"}, %[[W:.*]]: tensor<8x4x3x3xf32> {mind.name = "w", ptir.parameter}, %[[P:.*]]: tensor<8xf32> {mind.name = "prepared1", ptir.parameter})
// CHECK-SAME:    ptir.prepare = @filter_prepare
// CHECK-NEXT:    %[[T:.*]] = ptir.transpose %[[W]] perm = [2, 3, 1, 0]
// CHECK-NEXT:    %[[C:.*]] = ptir.convolution %[[X]], %[[T]]
func.func @filter(%x: tensor<1x6x6x4xf32>, %w: tensor<8x4x3x3xf32> {ptir.parameter}, %s: tensor<8xf32> {ptir.parameter}) -> tensor<1x4x4x8xf32> {
  %t = ptir.transpose %w perm = [2, 3, 1, 0] : tensor<8x4x3x3xf32> -> tensor<3x3x4x8xf32>
  %e = ptir.exp %s : tensor<8xf32>
  %c = ptir.convolution %x, %t strides = [1, 1] padding = [[0, 0], [0, 0]] base_dilation = [1, 1] window_dilation = [1, 1] feature_group_count = 1 : (tensor<1x6x6x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x4x4x8xf32>
  %b = ptir.broadcast_to %e result_shape = [1, 4, 4, 8] : tensor<8xf32> -> tensor<1x4x4x8xf32>
  %y = ptir.mul %c, %b : tensor<1x4x4x8xf32>
  func.return %y : tensor<1x4x4x8xf32>
}

}
