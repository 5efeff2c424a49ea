// RUN: mind-opt %s --ptir-tile-batch --ptir-dce | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// By the thresholds for caches of today: 77 MB lie between the two convolutions of sixteen images.
// CHECK-LABEL: func.func @network
// CHECK:         ptir.scan {{.*}} : {{.*}}x112x112x16xf32>
// CHECK:           ptir.convolution
// CHECK:           ptir.maximum
// CHECK:           ptir.convolution
// CHECK:           ptir.yield
// CHECK:         ptir.reshape {{.*}} -> tensor<16x112x112x16xf32>
func.func @network(%x: tensor<16x112x112x16xf32>, %w: tensor<1x1x16x96xf32>, %v: tensor<1x1x96x16xf32>, %z: tensor<16x112x112x96xf32>) -> tensor<16x112x112x16xf32> {
  %c = ptir.convolution %x, %w strides = [1, 1] padding = [[0, 0], [0, 0]] base_dilation = [1, 1] window_dilation = [1, 1] feature_group_count = 1 : (tensor<16x112x112x16xf32>, tensor<1x1x16x96xf32>) -> tensor<16x112x112x96xf32>
  %d = ptir.maximum %c, %z : tensor<16x112x112x96xf32>
  %e = ptir.convolution %d, %v strides = [1, 1] padding = [[0, 0], [0, 0]] base_dilation = [1, 1] window_dilation = [1, 1] feature_group_count = 1 : (tensor<16x112x112x96xf32>, tensor<1x1x96x16xf32>) -> tensor<16x112x112x16xf32>
  func.return %e : tensor<16x112x112x16xf32>
}
}
