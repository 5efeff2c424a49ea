// RUN: mind-opt %s --ptir-rematerialize="totals=true" | filecheck %s
// RUN: mind-opt %s --ptir-rematerialize | filecheck %s --check-prefix=WITHOUT

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// A row less its greatest element is computed from the row, which is read anyway, and from that element.
// CHECK-LABEL: func.func @centred
// CHECK-NEXT:  [[N:%[a-z0-9_.]+]], [[M:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<128x160xf32> -> (tensor<128x160xf32>, tensor<128x1xf32>) body {
// CHECK:         [[T:%[a-z0-9_.]+]] = ptir.reduce
// CHECK:         ptir.yield {{%[a-z0-9_.]+}}, [[T]] : tensor<128x160xf32>, tensor<128x1xf32>
// CHECK:       ptir.fusion [[M]], %x : (tensor<128x1xf32>, tensor<128x160xf32>) -> tensor<128x160xf32> body {
// WITHOUT-LABEL: func.func @centred
// WITHOUT-NEXT:  ptir.fusion %x : tensor<128x160xf32> -> (tensor<128x160xf32>, tensor<128x160xf32>) body {
func.func @centred(%x: tensor<128x160xf32>) -> (tensor<128x160xf32>, tensor<128x160xf32>) {
  %n, %c = ptir.fusion %x : tensor<128x160xf32> -> (tensor<128x160xf32>, tensor<128x160xf32>) body {
  ^bb0(%a: tensor<128x160xf32>):
    %t = ptir.reduce %a kind = max axes = [1] keepdims = true : tensor<128x160xf32> -> tensor<128x1xf32>
    %w = ptir.broadcast_to %t result_shape = [128, 160] : tensor<128x1xf32> -> tensor<128x160xf32>
    %d = ptir.sub %a, %w : tensor<128x160xf32>
    %e = ptir.exp %d : tensor<128x160xf32>
    ptir.yield %e, %d : tensor<128x160xf32>, tensor<128x160xf32>
  }
  %m = ptir.fusion %c : tensor<128x160xf32> -> tensor<128x160xf32> body {
  ^bb0(%b: tensor<128x160xf32>):
    %p = ptir.neg %b : tensor<128x160xf32>
    ptir.yield %p : tensor<128x160xf32>
  }
  func.return %n, %m : tensor<128x160xf32>, tensor<128x160xf32>
}
}
