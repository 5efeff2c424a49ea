// RUN: mind-opt %s --shape-modernize --split-input-file --print-diagnostics | filecheck %s

// CHECK: error[E9013]: func.func has no modern form: today's dialect has no type !shape.element_type
// CHECK: = note: PassError
func.func @argument(%a: !shape.element_type) {
  func.return
}

// -----

// Within another type, too.
// CHECK: error[E9013]: test.op has no modern form: today's dialect has no type !shape.element_type
// CHECK: = note: PassError
func.func @nested() {
  "test.op"() {test.type = (tuple<i32, !shape.element_type>) -> ()} : () -> ()
  func.return
}

// -----

// CHECK: error[E9013]: shape.constant has no modern form: the constant ["invalid"] is not known in full; unknown=keep to keep the op, which upstream reads in generic form
// CHECK: = note: PassError
func.func @invalid() {
  %a = shape.constant [invalid] : !shape.shape
  func.return
}
