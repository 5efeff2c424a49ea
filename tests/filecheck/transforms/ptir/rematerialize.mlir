// RUN: mind-opt %s --ptir-rematerialize | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// Writing %e and reading it costs more than computing it again from %x, which the consumer reads anyway.
// CHECK-LABEL: func.func @cheap
// CHECK-NEXT:  [[N:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<128x160xf32> body {
// CHECK-NEXT:  ^bb0([[A:%[a-z0-9_.]+]]: tensor<128x160xf32>):
// CHECK-NEXT:    [[F:%[a-z0-9_.]+]] = ptir.exp [[A]] : tensor<128x160xf32>
// CHECK-NEXT:    [[G:%[a-z0-9_.]+]] = ptir.neg [[F]] : tensor<128x160xf32>
// CHECK-NEXT:    ptir.yield [[G]] : tensor<128x160xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  [[M:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<128x160xf32> body {
// CHECK-NEXT:  ^bb0([[C:%[a-z0-9_.]+]]: tensor<128x160xf32>):
// CHECK-NEXT:    [[FX:%[a-z0-9_.]+]] = ptir.exp [[C]] : tensor<128x160xf32>
// CHECK-NEXT:    [[P:%[a-z0-9_.]+]] = ptir.mul [[FX]], [[C]] : tensor<128x160xf32>
// CHECK-NEXT:    ptir.yield [[P]] : tensor<128x160xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return [[N]], [[M]] : tensor<128x160xf32>, tensor<128x160xf32>
func.func @cheap(%x: tensor<128x160xf32>) -> (tensor<128x160xf32>, tensor<128x160xf32>) {
  %n, %e = ptir.fusion %x : tensor<128x160xf32> -> (tensor<128x160xf32>, tensor<128x160xf32>) body {
  ^bb0(%a: tensor<128x160xf32>):
    %f = ptir.exp %a : tensor<128x160xf32>
    %g = ptir.neg %f : tensor<128x160xf32>
    ptir.yield %g, %f : tensor<128x160xf32>, tensor<128x160xf32>
  }
  %m = ptir.fusion %e, %x : (tensor<128x160xf32>, tensor<128x160xf32>) -> tensor<128x160xf32> body {
  ^bb0(%b: tensor<128x160xf32>, %c: tensor<128x160xf32>):
    %p = ptir.mul %b, %c : tensor<128x160xf32>
    ptir.yield %p : tensor<128x160xf32>
  }
  func.return %n, %m : tensor<128x160xf32>, tensor<128x160xf32>
}

// A division that may fail is computed once.
// CHECK-LABEL: func.func @failing
// CHECK-NEXT:  [[N:%[a-z0-9_.]+]], [[E:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<128x160xsi32> -> (tensor<128x160xsi32>, tensor<128x160xsi32>) body {
// CHECK-NEXT:  ^bb0([[A:%[a-z0-9_.]+]]: tensor<128x160xsi32>):
// CHECK-NEXT:    [[F:%[a-z0-9_.]+]] = ptir.div [[A]], [[A]] : tensor<128x160xsi32>
// CHECK-NEXT:    [[G:%[a-z0-9_.]+]] = ptir.neg [[F]] : tensor<128x160xsi32>
// CHECK-NEXT:    ptir.yield [[G]], [[F]] : tensor<128x160xsi32>, tensor<128x160xsi32>
// CHECK-NEXT:  }
// CHECK-NEXT:  [[M:%[a-z0-9_.]+]] = ptir.fusion [[E]], %x : tensor<128x160xsi32> body {
// CHECK-NEXT:  ^bb0([[B:%[a-z0-9_.]+]]: tensor<128x160xsi32>, [[C:%[a-z0-9_.]+]]: tensor<128x160xsi32>):
// CHECK-NEXT:    [[P:%[a-z0-9_.]+]] = ptir.mul [[B]], [[C]] : tensor<128x160xsi32>
// CHECK-NEXT:    ptir.yield [[P]] : tensor<128x160xsi32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return [[N]], [[M]] : tensor<128x160xsi32>, tensor<128x160xsi32>
func.func @failing(%x: tensor<128x160xsi32>) -> (tensor<128x160xsi32>, tensor<128x160xsi32>) {
  %n, %e = ptir.fusion %x : tensor<128x160xsi32> -> (tensor<128x160xsi32>, tensor<128x160xsi32>) body {
  ^bb0(%a: tensor<128x160xsi32>):
    %f = ptir.div %a, %a : tensor<128x160xsi32>
    %g = ptir.neg %f : tensor<128x160xsi32>
    ptir.yield %g, %f : tensor<128x160xsi32>, tensor<128x160xsi32>
  }
  %m = ptir.fusion %e, %x : (tensor<128x160xsi32>, tensor<128x160xsi32>) -> tensor<128x160xsi32> body {
  ^bb0(%b: tensor<128x160xsi32>, %c: tensor<128x160xsi32>):
    %p = ptir.mul %b, %c : tensor<128x160xsi32>
    ptir.yield %p : tensor<128x160xsi32>
  }
  func.return %n, %m : tensor<128x160xsi32>, tensor<128x160xsi32>
}
}
