// RUN: mind-opt %s --fuse-for-cupy=warp-groups=true | filecheck %s
// RUN: mind-opt %s --fuse-for-cupy | filecheck %s --check-prefix=OFF

// Products of an attention whose heads have 64 columns are marked with the option.
// CHECK:      ptir.fusion %q, %k, %v pattern = attention
// CHECK:      ptir.dot_general {{.*}} {mind.warp_group} : {{.*}} -> tensor<2x80x96xf32>
// CHECK:      ptir.dot_general {{.*}} {mind.warp_group} : {{.*}} -> tensor<2x80x64xbf16>
// OFF:        ptir.fusion %q, %k, %v pattern = attention
// OFF-NOT:    mind.warp_group
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @attention(%q: tensor<2x80x64xbf16>, %k: tensor<2x96x64xbf16>, %v: tensor<2x96x64xbf16>) -> tensor<2x80x64xbf16> {
  %s = ptir.dot_general %q, %k batch_lhs = [0] batch_rhs = [0] contract_lhs = [2] contract_rhs = [2] accum_dtype = f32 out_dtype = f32 : (tensor<2x80x64xbf16>, tensor<2x96x64xbf16>) -> tensor<2x80x96xf32>
  %m = ptir.reduce %s kind = max axes = [2] keepdims = true : tensor<2x80x96xf32> -> tensor<2x80x1xf32>
  %mb = ptir.broadcast_to %m result_shape = [2, 80, 96] : tensor<2x80x1xf32> -> tensor<2x80x96xf32>
  %d = ptir.sub %s, %mb : tensor<2x80x96xf32>
  %e = ptir.exp %d : tensor<2x80x96xf32>
  %t = ptir.reduce %e kind = sum axes = [2] keepdims = true : tensor<2x80x96xf32> -> tensor<2x80x1xf32>
  %tb = ptir.broadcast_to %t result_shape = [2, 80, 96] : tensor<2x80x1xf32> -> tensor<2x80x96xf32>
  %w = ptir.div %e, %tb : tensor<2x80x96xf32>
  %n = ptir.cast %w dtype = bf16 : tensor<2x80x96xf32> -> tensor<2x80x96xbf16>
  %o = ptir.dot_general %n, %v batch_lhs = [0] batch_rhs = [0] contract_lhs = [2] contract_rhs = [1] : (tensor<2x80x96xbf16>, tensor<2x96x64xbf16>) -> tensor<2x80x64xbf16>
  func.return %o : tensor<2x80x64xbf16>
}
}
