// RUN: mind-opt %s --convert-shape-constraints | filecheck %s
// RUN: xdsl-opt %s -p mind-convert-shape-constraints | filecheck %s

// Each constraint is asserted where it stands, with the attributes it has.
func.func @constraints(%a: tensor<?xindex>, %b: tensor<?xindex>, %p: i1) -> index {
  %w0 = shape.cstr_broadcastable %a, %b : tensor<?xindex>, tensor<?xindex>
  %w1 = shape.cstr_eq %a, %b : tensor<?xindex>, tensor<?xindex>
  %w2 = shape.cstr_require %p, "msg" {mind.code = "E3006"}
  %w3 = shape.assuming_all %w0, %w1, %w2
  %r = shape.assuming %w3 -> (index) {
    %n = shape.rank %a : tensor<?xindex> -> index
    shape.assuming_yield %n : index
  }
  func.return %r : index
}

// CHECK-LABEL: func.func @constraints(%a: tensor<?xindex>, %b: tensor<?xindex>, %p: i1) -> index {
// CHECK-NEXT:   %0 = shape.is_broadcastable %a, %b : tensor<?xindex>, tensor<?xindex>
// CHECK-NEXT:   cf.assert %0, "required broadcastable shapes"
// CHECK-NEXT:   %1 = shape.shape_eq %a, %b : tensor<?xindex>, tensor<?xindex>
// CHECK-NEXT:   cf.assert %1, "required equal shapes"
// CHECK-NEXT:   cf.assert %p, "msg" {mind.code = "E3006"}
// CHECK-NEXT:   %w3 = shape.const_witness true
// CHECK-NEXT:   %r = shape.assuming %w3 -> (index) {
// CHECK-NEXT:     %n = shape.rank %a : tensor<?xindex> -> index
// CHECK-NEXT:     shape.assuming_yield %n : index
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %r : index
// CHECK-NEXT: }
