// RUN: mind-opt %s --shape-infer | filecheck %s
// RUN: mind-opt %s --shape-infer --shape-infer | filecheck %s
// RUN: xdsl-opt %s -p mind-shape-infer | filecheck %s

// What is known becomes a constant; what only computed it goes.
// CHECK-LABEL: func.func @known
// CHECK-SAME: (%x: tensor<3x4xf32>, %s: !shape.shape) -> (!shape.size, index, tensor<?xindex>)
// CHECK-NEXT: %[[N:[a-z0-9_]+]] = shape.const_size 12
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = arith.constant 2 : index
// CHECK-NEXT: %[[R0:[a-z0-9_]+]] = shape.const_shape [3, 4] : tensor<2xindex>
// CHECK-NEXT: %[[E:[a-z0-9_]+]] = tensor.cast %[[R0]] : tensor<2xindex> to tensor<?xindex>
// CHECK-NEXT: func.return %[[N]], %[[R]], %[[E]] : !shape.size, index, tensor<?xindex>
// CHECK-NEXT: }
func.func @known(%x: tensor<3x4xf32>, %s: !shape.shape) -> (!shape.size, index, tensor<?xindex>) {
  %a = shape.shape_of %x : tensor<3x4xf32> -> !shape.shape
  %n = shape.num_elements %a : !shape.shape -> !shape.size
  %b = shape.to_extent_tensor %s : !shape.shape -> tensor<2xindex>
  %r = shape.rank %b : tensor<2xindex> -> index
  %e = shape.to_extent_tensor %a : !shape.shape -> tensor<?xindex>
  func.return %n, %r, %e : !shape.size, index, tensor<?xindex>
}

// One known extent among unknown ones is enough, and arithmetic with what is unknown stays.
// CHECK-LABEL: func.func @partly
// CHECK-SAME: (%x: tensor<?x4xf32>, %z: !shape.size) -> (!shape.size, !shape.size)
// CHECK-NEXT: %[[N:[a-z0-9_]+]] = shape.const_size 4
// CHECK-NEXT: %[[M:[a-z0-9_]+]] = shape.mul %[[N]], %z : !shape.size, !shape.size -> !shape.size
// CHECK-NEXT: func.return %[[N]], %[[M]] : !shape.size, !shape.size
// CHECK-NEXT: }
func.func @partly(%x: tensor<?x4xf32>, %z: !shape.size) -> (!shape.size, !shape.size) {
  %i1 = arith.constant 1 : index
  %a = shape.shape_of %x : tensor<?x4xf32> -> !shape.shape
  %n = shape.get_extent %a, %i1 : !shape.shape, index -> !shape.size
  %m = shape.mul %n, %z : !shape.size, !shape.size -> !shape.size
  func.return %n, %m : !shape.size, !shape.size
}

// A proven constraint is dropped; one that depends on the run stays.
// CHECK-LABEL: func.func @constraints
// CHECK-SAME: (%x: tensor<?x1xf32, "B,*">, %y: tensor<?x4xf32, "B,*">, %z: tensor<?x4xf32>) -> (!shape.shape, !shape.shape)
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = shape.shape_of %x : tensor<?x1xf32, "B,*"> -> !shape.shape
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = shape.shape_of %y : tensor<?x4xf32, "B,*"> -> !shape.shape
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = shape.shape_of %z : tensor<?x4xf32> -> !shape.shape
// CHECK-NEXT: %[[V:[a-z0-9_]+]] = shape.cstr_eq %[[B]], %[[C]] : !shape.shape, !shape.shape
// CHECK-NEXT: %[[R0:[a-z0-9_]+]] = shape.broadcast %[[A]], %[[B]] : !shape.shape, !shape.shape -> !shape.shape
// CHECK-NEXT: %[[R1:[a-z0-9_]+]] = shape.assuming %[[V]] -> (!shape.shape) {
// CHECK-NEXT: %[[R2:[a-z0-9_]+]] = shape.any %[[B]], %[[C]] : !shape.shape, !shape.shape -> !shape.shape
// CHECK-NEXT: shape.assuming_yield %[[R2]] : !shape.shape
// CHECK-NEXT: }
// CHECK-NEXT: func.return %[[R0]], %[[R1]] : !shape.shape, !shape.shape
// CHECK-NEXT: }
func.func @constraints(%x: tensor<?x1xf32, "B,*">, %y: tensor<?x4xf32, "B,*">, %z: tensor<?x4xf32>) -> (!shape.shape, !shape.shape) {
  %a = shape.shape_of %x : tensor<?x1xf32, "B,*"> -> !shape.shape
  %b = shape.shape_of %y : tensor<?x4xf32, "B,*"> -> !shape.shape
  %c = shape.shape_of %z : tensor<?x4xf32> -> !shape.shape
  %w = shape.cstr_broadcastable %a, %b : !shape.shape, !shape.shape
  %v = shape.cstr_eq %b, %c : !shape.shape, !shape.shape
  %u = shape.assuming_all %w, %v
  %0 = shape.assuming %w -> (!shape.shape) {
    %1 = shape.broadcast %a, %b : !shape.shape, !shape.shape -> !shape.shape
    shape.assuming_yield %1 : !shape.shape
  }
  %2 = shape.assuming %u -> (!shape.shape) {
    %3 = shape.any %b, %c : !shape.shape, !shape.shape -> !shape.shape
    shape.assuming_yield %3 : !shape.shape
  }
  func.return %0, %2 : !shape.shape, !shape.shape
}

// A meet says what is known, and still asks whether it holds; one that must hold is dropped.
// CHECK-LABEL: func.func @meet
// CHECK-SAME: (%s: !shape.shape) -> (!shape.shape, !shape.shape)
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = shape.const_shape [2, 3] : !shape.shape
// CHECK-NEXT: %[[R0:[a-z0-9_]+]] = shape.const_shape [2, 3] : !shape.shape
// CHECK-NEXT: %[[R1:[a-z0-9_]+]] = shape.meet %s, %[[A]], error = "declared" : !shape.shape, !shape.shape -> !shape.shape
// CHECK-NEXT: %[[R2:[a-z0-9_]+]] = shape.const_shape [2, 3] : !shape.shape
// CHECK-NEXT: func.return %[[R0]], %[[R2]] : !shape.shape, !shape.shape
// CHECK-NEXT: }
func.func @meet(%s: !shape.shape) -> (!shape.shape, !shape.shape) {
  %a = shape.const_shape [2, 3] : !shape.shape
  %b = shape.constant [?, 3] : !shape.shape
  %0 = shape.meet %s, %a, error = "declared" : !shape.shape, !shape.shape -> !shape.shape
  %1 = shape.join %a, %a : !shape.shape
  func.return %0, %1 : !shape.shape, !shape.shape
}

// A loop over the extents of a shape of known rank is run; over others it stays, and what is known inside is known.
// CHECK-LABEL: func.func @reduce
// CHECK-SAME: (%s: !shape.shape) -> (!shape.size, !shape.size)
// CHECK-NEXT: %[[Z1:[a-z0-9_]+]] = shape.const_size 1
// CHECK-NEXT: %[[R0:[a-z0-9_]+]] = shape.const_size 6
// CHECK-NEXT: %[[R1:[a-z0-9_]+]] = shape.reduce(%s, %[[Z1]]) : !shape.shape -> !shape.size {
// CHECK-NEXT: ^bb0(%[[I:[a-z0-9_]+]]: index, %[[D:[a-z0-9_]+]]: !shape.size, %[[ACC:[a-z0-9_]+]]: !shape.size):
// CHECK-NEXT: %[[TWO:[a-z0-9_]+]] = shape.const_size 2
// CHECK-NEXT: %[[M:[a-z0-9_]+]] = shape.mul %[[ACC]], %[[TWO]] : !shape.size, !shape.size -> !shape.size
// CHECK-NEXT: shape.yield %[[M]] : !shape.size
// CHECK-NEXT: }
// CHECK-NEXT: func.return %[[R0]], %[[R1]] : !shape.size, !shape.size
// CHECK-NEXT: }
func.func @reduce(%s: !shape.shape) -> (!shape.size, !shape.size) {
  %a = shape.const_shape [2, 3] : !shape.shape
  %z1 = shape.const_size 1
  %0 = shape.reduce(%a, %z1) : !shape.shape -> !shape.size {
  ^bb0(%i: index, %d: !shape.size, %acc: !shape.size):
    %m = shape.mul %acc, %d : !shape.size, !shape.size -> !shape.size
    shape.yield %m : !shape.size
  }
  %1 = shape.reduce(%s, %z1) : !shape.shape -> !shape.size {
  ^bb0(%i: index, %d: !shape.size, %acc: !shape.size):
    %two = shape.add %z1, %z1 : !shape.size, !shape.size -> !shape.size
    %m = shape.mul %acc, %two : !shape.size, !shape.size -> !shape.size
    shape.yield %m : !shape.size
  }
  func.return %0, %1 : !shape.size, !shape.size
}

// debug_print prints when run; others use what it passes on.
// CHECK-LABEL: func.func @debug_print
// CHECK-SAME: () -> !shape.size
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = shape.const_shape [2, 3] : !shape.shape
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = "shape.debug_print"(%[[A]]) : (!shape.shape) -> !shape.shape
// CHECK-NEXT: %[[N:[a-z0-9_]+]] = shape.const_size 6
// CHECK-NEXT: func.return %[[N]] : !shape.size
// CHECK-NEXT: }
func.func @debug_print() -> !shape.size {
  %a = shape.const_shape [2, 3] : !shape.shape
  %b = "shape.debug_print"(%a) : (!shape.shape) -> !shape.shape
  %n = shape.num_elements %b : !shape.shape -> !shape.size
  func.return %n : !shape.size
}

// A tensor whose shape is carried beside it gets that type; users of the old type get a cast.
// CHECK-LABEL: func.func @types
// CHECK-SAME: (%x: tensor<?x4xf32>, %o: tensor<*xf32>) -> (tensor<?x4xf32>, tensor<?xindex>)
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = shape.const_shape [3, 4] : !shape.shape
// CHECK-NEXT: %[[V:[a-z0-9_]+]] = shape.with_shape %x, %[[A]] : tensor<?x4xf32>, !shape.shape
// CHECK-NEXT: %[[Y:[a-z0-9_]+]] = shape.value_of %[[V]] : tensor<3x4xf32>
// CHECK-NEXT: %[[R0:[a-z0-9_]+]] = tensor.cast %[[Y]] : tensor<3x4xf32> to tensor<?x4xf32>
// CHECK-NEXT: %[[E:[a-z0-9_]+]] = shape.shape_of %x : tensor<?x4xf32> -> tensor<2xindex>
// CHECK-NEXT: %[[R1:[a-z0-9_]+]] = tensor.cast %[[E]] : tensor<2xindex> to tensor<?xindex>
// CHECK-NEXT: func.return %[[R0]], %[[R1]] : tensor<?x4xf32>, tensor<?xindex>
// CHECK-NEXT: }
func.func @types(%x: tensor<?x4xf32>, %o: tensor<*xf32>) -> (tensor<?x4xf32>, tensor<?xindex>) {
  %a = shape.const_shape [3, 4] : !shape.shape
  %v = shape.with_shape %x, %a : tensor<?x4xf32>, !shape.shape
  %y = shape.value_of %v : tensor<?x4xf32>
  %e = shape.shape_of %x : tensor<?x4xf32> -> tensor<?xindex>
  func.return %y, %e : tensor<?x4xf32>, tensor<?xindex>
}

// Names have the sizes that are bound.
// CHECK-LABEL: func.func @names
// CHECK-SAME: (%x: tensor<?x4xf32, "B,*">) -> !shape.size
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = shape.shape_of %x : tensor<?x4xf32, "B,*"> -> !shape.shape
// CHECK-NEXT: %[[N:[a-z0-9_]+]] = shape.num_elements %[[A]] : !shape.shape -> !shape.size
// CHECK-NEXT: func.return %[[N]] : !shape.size
// CHECK-NEXT: }
func.func @names(%x: tensor<?x4xf32, "B,*">) -> !shape.size {
  %a = shape.shape_of %x : tensor<?x4xf32, "B,*"> -> !shape.shape
  %n = shape.num_elements %a : !shape.shape -> !shape.size
  func.return %n : !shape.size
}

// Shape functions too.
// CHECK-LABEL: shape.func @shape_function
// CHECK-SAME: (%x: !shape.value_shape) -> !shape.size
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = shape.const_size 4
// CHECK-NEXT: shape.return %[[B]] : !shape.size
// CHECK-NEXT: }
shape.func @shape_function(%x: !shape.value_shape) -> !shape.size {
  %a = shape.const_size 2
  %b = shape.mul %a, %a : !shape.size, !shape.size -> !shape.size
  shape.return %b : !shape.size
}

// A constraint proves what it implies from there on.
// CHECK-LABEL: func.func @learnt
// CHECK-SAME: (%a: !shape.shape, %b: !shape.shape) -> (!shape.witness, !shape.witness)
// CHECK-NEXT: %[[W:[a-z0-9_]+]] = shape.cstr_eq %a, %b : !shape.shape, !shape.shape
// CHECK-NEXT: %[[V:[a-z0-9_]+]] = shape.const_witness true
// CHECK-NEXT: func.return %[[W]], %[[V]] : !shape.witness, !shape.witness
// CHECK-NEXT: }
func.func @learnt(%a: !shape.shape, %b: !shape.shape) -> (!shape.witness, !shape.witness) {
  %w = shape.cstr_eq %a, %b : !shape.shape, !shape.shape
  %v = shape.cstr_broadcastable %b, %a : !shape.shape, !shape.shape
  func.return %w, %v : !shape.witness, !shape.witness
}

// A constraint in a branch teaches nothing after it.
// CHECK-LABEL: func.func @not_learnt
// CHECK: %[[U:[a-z0-9_]+]] = shape.cstr_eq %a, %b : !shape.shape, !shape.shape
// CHECK: %[[V:[a-z0-9_]+]] = shape.cstr_eq %a, %b : !shape.shape, !shape.shape
// CHECK-NEXT: func.return %[[V]] : !shape.witness
func.func @not_learnt(%a: !shape.shape, %b: !shape.shape, %p: i1) -> !shape.witness {
  scf.if %p {
    %u = shape.cstr_eq %a, %b : !shape.shape, !shape.shape
  }
  %v = shape.cstr_eq %a, %b : !shape.shape, !shape.shape
  func.return %v : !shape.witness
}
