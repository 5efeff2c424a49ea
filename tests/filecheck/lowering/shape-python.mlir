// RUN: mind-opt %s -t shape-python | filecheck %s --strict-whitespace --match-full-lines

// Rows of a matrix times a vector: two constraints, one of them proven by the names.
module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<?x?xf32, "B,K">, %w: tensor<?x4xf32, "N,*">, %b: tensor<?x4xf32, "B,*">) -> tensor<?x4xf32, "B,*"> {
  %y = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]
    : (tensor<?x?xf32, "B,K">, tensor<?x4xf32, "N,*">) -> tensor<?x4xf32, "B,*">
  %z = ptir.add %y, %b : tensor<?x4xf32, "B,*">
  func.return %z : tensor<?x4xf32, "B,*">
}
}

//      CHECK:# Shape functions, made by the target mind-shape-python.
// CHECK-NEXT:from mind_lowering.shape_functions import fail, misfit, unequal
// CHECK-EMPTY:
// CHECK-NEXT:def f_shapes(x, w, b):
// CHECK-NEXT:    if len(x) != 2:
// CHECK-NEXT:        raise misfit('input x', x, '(B, K)')
// CHECK-NEXT:    B = x[0]
// CHECK-NEXT:    K = x[1]
// CHECK-NEXT:    if len(w) != 2 or w[1] != 4:
// CHECK-NEXT:        raise misfit('input w', w, '(N, 4)')
// CHECK-NEXT:    N = w[0]
// CHECK-NEXT:    if len(b) != 2 or b[1] != 4:
// CHECK-NEXT:        raise misfit('input b', b, '(B, 4)')
// CHECK-NEXT:    if b[0] != B:
// CHECK-NEXT:        raise unequal('input b', 0, 'B', b[0], B)
// CHECK-NEXT:    if K != N:
// CHECK-NEXT:        raise fail('contracted extents {lhs} and {rhs}, expected equal', 'E3003', 'dot_general %y', K, N, names='K is dimension 1 of input x, N is dimension 0 of input w')
// CHECK-NEXT:    return ((B, 4),)
