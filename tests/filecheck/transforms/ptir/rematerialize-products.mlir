// RUN: mind-opt %s --ptir-rematerialize | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// Half of a product is what its epilogue and the next epilogue find again. What the next product reads itself is stored.
// CHECK-LABEL: func.func @epilogues
// CHECK-NEXT:  [[Z:%[a-z0-9_.]+]], [[R:%[a-z0-9_.]+]] = ptir.fusion %x, %w : (tensor<160x160xf32>, tensor<160x160xf32>) -> (tensor<160x160xf32>, tensor<160x160xf32>) body {
// CHECK-NEXT:  ^bb0([[A:%[a-z0-9_.]+]]: tensor<160x160xf32>, [[B:%[a-z0-9_.]+]]: tensor<160x160xf32>):
// CHECK-NEXT:    [[P:%[a-z0-9_.]+]] = ptir.dot_general [[A]], [[B]]
// CHECK-NEXT:    [[Q:%[a-z0-9_.]+]] = ptir.neg [[P]] : tensor<160x160xf32>
// CHECK-NEXT:    ptir.yield [[P]], [[Q]] : tensor<160x160xf32>, tensor<160x160xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  [[M:%[a-z0-9_.]+]] = ptir.fusion [[Z]], [[R]], %w
// CHECK-NEXT:  ^bb0([[L:%[a-z0-9_.]+]]: tensor<160x160xf32>, [[C:%[a-z0-9_.]+]]: tensor<160x160xf32>, [[D:%[a-z0-9_.]+]]: tensor<160x160xf32>):
// CHECK-NEXT:    [[S:%[a-z0-9_.]+]] = ptir.add [[L]], [[L]] : tensor<160x160xf32>
// CHECK-NEXT:    [[E:%[a-z0-9_.]+]] = ptir.dot_general [[C]], [[D]]
// CHECK-NEXT:    [[F:%[a-z0-9_.]+]] = ptir.mul [[E]], [[S]] : tensor<160x160xf32>
// CHECK-NEXT:    [[G:%[a-z0-9_.]+]] = ptir.mul [[F]], [[L]] : tensor<160x160xf32>
// CHECK-NEXT:    ptir.yield [[G]] : tensor<160x160xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return [[M]] : tensor<160x160xf32>
func.func @epilogues(%x: tensor<160x160xf32>, %w: tensor<160x160xf32>) -> tensor<160x160xf32> {
  %z, %t, %r = ptir.fusion %x, %w : (tensor<160x160xf32>, tensor<160x160xf32>) -> (tensor<160x160xf32>, tensor<160x160xf32>, tensor<160x160xf32>) body {
  ^bb0(%a: tensor<160x160xf32>, %b: tensor<160x160xf32>):
    %p = ptir.dot_general %a, %b batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : tensor<160x160xf32>
    %s = ptir.add %p, %p : tensor<160x160xf32>
    %q = ptir.neg %p : tensor<160x160xf32>
    ptir.yield %p, %s, %q : tensor<160x160xf32>, tensor<160x160xf32>, tensor<160x160xf32>
  }
  %m = ptir.fusion %z, %t, %r, %w : (tensor<160x160xf32>, tensor<160x160xf32>, tensor<160x160xf32>, tensor<160x160xf32>) -> tensor<160x160xf32> body {
  ^bb0(%l: tensor<160x160xf32>, %h: tensor<160x160xf32>, %c: tensor<160x160xf32>, %d: tensor<160x160xf32>):
    %e = ptir.dot_general %c, %d batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : tensor<160x160xf32>
    %f = ptir.mul %e, %h : tensor<160x160xf32>
    %g = ptir.mul %f, %l : tensor<160x160xf32>
    ptir.yield %g : tensor<160x160xf32>
  }
  func.return %m : tensor<160x160xf32>
}

// Nor does a product compute what it reads through other ops.
// CHECK-LABEL: func.func @prologue
// CHECK-NEXT:  [[Z:%[a-z0-9_.]+]], [[T:%[a-z0-9_.]+]] = ptir.fusion %x : tensor<160x160xf32> -> (tensor<160x160xf32>, tensor<160x160xf32>) body {
// CHECK:       ptir.fusion [[T]], %w
func.func @prologue(%x: tensor<160x160xf32>, %w: tensor<160x160xf32>) -> (tensor<160x160xf32>, tensor<160x160xf32>) {
  %z, %t = ptir.fusion %x : tensor<160x160xf32> -> (tensor<160x160xf32>, tensor<160x160xf32>) body {
  ^bb0(%a: tensor<160x160xf32>):
    %p = ptir.neg %a : tensor<160x160xf32>
    %s = ptir.add %p, %p : tensor<160x160xf32>
    ptir.yield %p, %s : tensor<160x160xf32>, tensor<160x160xf32>
  }
  %m = ptir.fusion %t, %w : (tensor<160x160xf32>, tensor<160x160xf32>) -> tensor<160x160xf32> body {
  ^bb0(%c: tensor<160x160xf32>, %d: tensor<160x160xf32>):
    %h = ptir.abs %c : tensor<160x160xf32>
    %e = ptir.dot_general %h, %d batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : tensor<160x160xf32>
    ptir.yield %e : tensor<160x160xf32>
  }
  func.return %z, %m : tensor<160x160xf32>, tensor<160x160xf32>
}
}
