// RUN: mind-opt %s --outline-shape-computation | filecheck %s
// RUN: xdsl-opt %s -p mind-outline-shape-computation | filecheck %s

// What serves the shape of a value only moves into a function of its own; the attribute says whose shape it is.
func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %c4 = shape.const_size 4
  %y = "test.op"(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %d = shape.dim %x, %c0 : tensor<?x4xf32>, index -> index
  %s = shape.from_extents %d, %c4 : index, !shape.size
  %v = shape.with_shape %y, %s : tensor<?x4xf32>, !shape.shape
  %z = shape.value_of %v : tensor<?x4xf32>
  func.return %z : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {mind.shape_functions = {{\[\[}}@shape_cal_0, array<i64: 1>, array<i64: 0>]]} {
// CHECK-NEXT:   %y = "test.op"(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT:   func.return %y : tensor<?x4xf32>
// CHECK-NEXT: }
// CHECK-LABEL: shape.func private @shape_cal_0(%x: tensor<?x4xf32>) -> !shape.shape {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c4 = shape.const_size 4
// CHECK-NEXT:   %d = shape.dim %x, %c0 : tensor<?x4xf32>, index -> index
// CHECK-NEXT:   %s = shape.from_extents %d, %c4 : index, !shape.size
// CHECK-NEXT:   shape.return %s : !shape.shape
// CHECK-NEXT: }

// A pair of value and shape has a shape already: its value is taken from it directly, and no function is made.
func.func @value_shape(%a: !shape.value_shape, %b: !shape.value_shape) -> tensor<?xf32> {
  %s = shape.shape_of %a : !shape.value_shape -> !shape.shape
  %v = shape.with_shape %b, %s : !shape.value_shape, !shape.shape
  %z = shape.value_of %v : tensor<?xf32>
  func.return %z : tensor<?xf32>
}

// CHECK-LABEL: func.func @value_shape(%a: !shape.value_shape, %b: !shape.value_shape) -> tensor<?xf32> {
// CHECK-NEXT:   %z = shape.value_of %b : tensor<?xf32>
// CHECK-NEXT:   func.return %z : tensor<?xf32>
// CHECK-NEXT: }
// CHECK-NOT: shape.func
