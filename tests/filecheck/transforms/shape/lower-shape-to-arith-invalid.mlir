// RUN: mind-opt %s --split-input-file --print-diagnostics --lower-shape-to-arith | filecheck %s

// One error names every op that has no lowering, and why; not what only follows from them.
// CHECK: error[E9014]: 2 ops have no lowering to arith: shape.rank %r at line 6: the rank is unknown: the length of a tensor<?xindex> is not known; shape.debug_print %p at line 8: it prints, and arith has no op for that
func.func @unranked(%e: tensor<?xindex>, %z: !shape.size) -> (!shape.size, !shape.size) {
  %r = shape.rank %e : tensor<?xindex> -> !shape.size
  %s = shape.add %r, %z : !shape.size, !shape.size -> !shape.size
  %p = "shape.debug_print"(%z) : (!shape.size) -> !shape.size
  func.return %s, %p : !shape.size, !shape.size
}

// -----

// CHECK: error[E9014]: 1 op has no lowering to arith: func.func at line 15: argument 0 %s of type !shape.shape has no rank that is known
func.func @argument(%s: !shape.shape) {
  func.return
}

// -----

// CHECK: error[E9014]: 1 op has no lowering to arith: shape.constant %r at line 23: [3, ?] is not known in full
func.func @unknown() -> !shape.shape {
  %r = shape.constant [3, ?] : !shape.shape
  func.return %r : !shape.shape
}
