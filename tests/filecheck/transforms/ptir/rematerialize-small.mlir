// RUN: mind-opt %s --ptir-rematerialize | filecheck %s
// RUN: mind-opt %s --ptir-rematerialize=least-bytes=0 | filecheck %s --check-prefix=ALL

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// An array of 384 bytes stays in the cache.
// CHECK-LABEL: func.func @small
// CHECK-NEXT:  [[N:%[a-z0-9_.]+]], [[E:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<8x12xf32> -> (tensor<8x12xf32>, tensor<8x12xf32>) body {
// CHECK-NEXT:  ^bb0([[A:%[a-z0-9_.]+]]: tensor<8x12xf32>):
// CHECK-NEXT:    [[F:%[a-z0-9_.]+]] = ptir.exp [[A]] : tensor<8x12xf32>
// CHECK-NEXT:    [[G:%[a-z0-9_.]+]] = ptir.neg [[F]] : tensor<8x12xf32>
// CHECK-NEXT:    ptir.yield [[G]], [[F]] : tensor<8x12xf32>, tensor<8x12xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  [[M:%[a-z0-9_.]+]] = ptir.fusion [[E]], %x : tensor<8x12xf32> body {
// CHECK-NEXT:  ^bb0([[B:%[a-z0-9_.]+]]: tensor<8x12xf32>, [[C:%[a-z0-9_.]+]]: tensor<8x12xf32>):
// CHECK-NEXT:    [[P:%[a-z0-9_.]+]] = ptir.mul [[B]], [[C]] : tensor<8x12xf32>
// CHECK-NEXT:    ptir.yield [[P]] : tensor<8x12xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return [[N]], [[M]] : tensor<8x12xf32>, tensor<8x12xf32>
// ALL-LABEL: func.func @small
// ALL-NEXT:  [[N:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<8x12xf32> body {
// ALL-NEXT:  ^bb0([[A:%[a-z0-9_.]+]]: tensor<8x12xf32>):
// ALL-NEXT:    [[F:%[a-z0-9_.]+]] = ptir.exp [[A]] : tensor<8x12xf32>
// ALL-NEXT:    [[G:%[a-z0-9_.]+]] = ptir.neg [[F]] : tensor<8x12xf32>
// ALL-NEXT:    ptir.yield [[G]] : tensor<8x12xf32>
// ALL-NEXT:  }
// ALL-NEXT:  [[M:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<8x12xf32> body {
// ALL-NEXT:  ^bb0([[C:%[a-z0-9_.]+]]: tensor<8x12xf32>):
// ALL-NEXT:    [[FX:%[a-z0-9_.]+]] = ptir.exp [[C]] : tensor<8x12xf32>
// ALL-NEXT:    [[P:%[a-z0-9_.]+]] = ptir.mul [[FX]], [[C]] : tensor<8x12xf32>
// ALL-NEXT:    ptir.yield [[P]] : tensor<8x12xf32>
// ALL-NEXT:  }
// ALL-NEXT:  func.return [[N]], [[M]] : tensor<8x12xf32>, tensor<8x12xf32>
func.func @small(%x: tensor<8x12xf32>) -> (tensor<8x12xf32>, tensor<8x12xf32>) {
  %n, %e = ptir.fusion %x : tensor<8x12xf32> -> (tensor<8x12xf32>, tensor<8x12xf32>) body {
  ^bb0(%a: tensor<8x12xf32>):
    %f = ptir.exp %a : tensor<8x12xf32>
    %g = ptir.neg %f : tensor<8x12xf32>
    ptir.yield %g, %f : tensor<8x12xf32>, tensor<8x12xf32>
  }
  %m = ptir.fusion %e, %x : (tensor<8x12xf32>, tensor<8x12xf32>) -> tensor<8x12xf32> body {
  ^bb0(%b: tensor<8x12xf32>, %c: tensor<8x12xf32>):
    %p = ptir.mul %b, %c : tensor<8x12xf32>
    ptir.yield %p : tensor<8x12xf32>
  }
  func.return %n, %m : tensor<8x12xf32>, tensor<8x12xf32>
}
}
