// RUN: mind-opt %s -t shape-python | filecheck %s

// Heads split and merged, the batch and the sequence made one axis and taken apart: no size is left to check.
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @heads(%x: tensor<?x?x64xf32, "B,T,*">) -> tensor<?x?x64xf32, "B,T,*"> {
    %h = ptir.reshape %x new_shape = [B, T, 4, 16] : tensor<?x?x64xf32, "B,T,*"> -> tensor<?x?x4x16xf32, "B,T,*,*">
    %t = ptir.transpose %h perm = [0, 2, 1, 3] : tensor<?x?x4x16xf32, "B,T,*,*"> -> tensor<?x4x?x16xf32, "B,*,T,*">
    %b = ptir.transpose %t perm = [0, 2, 1, 3] : tensor<?x4x?x16xf32, "B,*,T,*"> -> tensor<?x?x4x16xf32, "B,T,*,*">
    %f = ptir.reshape %b new_shape = [-1, 64] : tensor<?x?x4x16xf32, "B,T,*,*"> -> tensor<?x64xf32, "B*T,*">
    %u = ptir.reshape %f new_shape = [B, T, 64] : tensor<?x64xf32, "B*T,*"> -> tensor<?x?x64xf32, "B,T,*">
    func.return %u : tensor<?x?x64xf32, "B,T,*">
  }
}

// CHECK: def heads_shapes(x):
// CHECK-NEXT: if len(x) != 3 or x[2] != 64:
// CHECK-NEXT: raise misfit('input x', x, '(B, T, 64)')
// CHECK-NEXT: B = x[0]
// CHECK-NEXT: T = x[1]
// CHECK-NEXT: return ((B, T, 64),)
