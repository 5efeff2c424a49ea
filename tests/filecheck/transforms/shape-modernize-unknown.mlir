// RUN: mind-opt %s --shape-modernize=unknown=dynamic --split-input-file --print-diagnostics | filecheck %s
// RUN: mind-opt %s --shape-modernize=unknown=keep --split-input-file | filecheck %s --check-prefix=KEEP
// RUN: mind-opt %s --shape-modernize --split-input-file --print-diagnostics | filecheck %s --check-prefix=ERROR

func.func @extents() {
  %a = shape.constant [3, ?] : !shape.shape
  %b = shape.constant [3] : !shape.shape
  func.return
}
// CHECK-LABEL: func.func @extents() {
// CHECK-NEXT:  %a = shape.const_shape [3, -9223372036854775808] : !shape.shape
// CHECK-NEXT:  %b = shape.const_shape [3] : !shape.shape
// KEEP-LABEL: func.func @extents() {
// KEEP-NEXT:  %a = shape.constant [3, ?] : !shape.shape
// KEEP-NEXT:  %b = shape.const_shape [3] : !shape.shape
// ERROR: error[E9013]: shape.constant has no modern form: the constant [3 : index, "?"] is not known in full; unknown=dynamic for a number that stands for it, unknown=keep to keep the op, which upstream reads in generic form
// ERROR: = note: PassError

// -----

func.func @unranked() {
  %a = shape.constant [*] : !shape.shape
  func.return
}
// CHECK: error[E9013]: shape.constant has no modern form: the constant ["*"] is not known in full; unknown=keep to keep the op, which upstream reads in generic form
// KEEP-LABEL: func.func @unranked() {
// KEEP-NEXT:  %a = shape.constant [*] : !shape.shape
// ERROR: error[E9013]: shape.constant has no modern form: the constant ["*"] is not known in full; unknown=keep to keep the op, which upstream reads in generic form

// -----

func.func @size() {
  %a = shape.constant ? : !shape.size
  func.return
}
// CHECK: error[E9013]: shape.constant has no modern form: the constant "?" is not known in full; unknown=keep to keep the op, which upstream reads in generic form
// KEEP-LABEL: func.func @size() {
// KEEP-NEXT:  %a = shape.constant ? : !shape.size
// ERROR: error[E9013]: shape.constant has no modern form: the constant "?" is not known in full; unknown=keep to keep the op, which upstream reads in generic form
