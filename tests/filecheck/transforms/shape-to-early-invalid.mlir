// RUN: mind-opt %s --shape-to-early --split-input-file --print-diagnostics | filecheck %s

// CHECK: error[E9013]: shape.cstr_eq has no early form: the early specification has nothing like it
// CHECK: = note: PassError
func.func @witness(%s: !shape.shape) {
  %a = shape.cstr_eq %s, %s : !shape.shape, !shape.shape
  func.return
}

// -----

// CHECK: error[E9013]: shape.add has no early form: a value of type index; the early form has !shape.shape and !shape.size only
// CHECK: = note: PassError
func.func @index(%i: index) {
  %a = shape.add %i, %i : index, index -> index
  func.return
}

// -----

// CHECK: error[E9013]: shape.const_shape has no early form: a value of type tensor<1xindex>; the early form has !shape.shape and !shape.size only
// CHECK: = note: PassError
func.func @extents() {
  %a = shape.const_shape [3] : tensor<1xindex>
  func.return
}

// -----

// CHECK: error[E9013]: shape.value_as_shape has no early form: its operand is tensor<3xi8>, expected a list of i32, i64 or index
// CHECK: = note: PassError
func.func @narrow(%a: tensor<3xi8>) {
  %b = shape.value_as_shape %a : tensor<3xi8> -> !shape.shape
  func.return
}

// -----

// CHECK: error[E9013]: shape.func has no early form: the early specification has nothing like it
// CHECK: = note: PassError
shape.func @function() {
  shape.return
}
