// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

// The shape of a value, of the rank that its type says.
func.func @of_values(%x: tensor<?x3xf32>, %u: tensor<*xf32>, %m: memref<2x?xf32>, %v: vector<2xindex>, %vs: !shape.value_shape) {
  %a = shape.shape_of %x : tensor<?x3xf32> -> tensor<2xindex>
  %b = shape.shape_of %x : tensor<?x3xf32> -> tensor<?xindex>
  %c = shape.shape_of %u : tensor<*xf32> -> !shape.shape
  %d = shape.shape_of %m : memref<2x?xf32> -> tensor<2xindex>
  %e = shape.shape_of %v : vector<2xindex> -> tensor<1xindex>
  %f = shape.shape_of %vs : !shape.value_shape -> !shape.shape
  func.return
}
// CHECK-LABEL: func.func @of_values(%x: tensor<?x3xf32>, %u: tensor<*xf32>, %m: memref<2x?xf32>, %v: vector<2xindex>, %vs: !shape.value_shape) {
// CHECK-NEXT:  %a = shape.shape_of %x : tensor<?x3xf32> -> tensor<2xindex>
// CHECK-NEXT:  %b = shape.shape_of %x : tensor<?x3xf32> -> tensor<?xindex>
// CHECK-NEXT:  %c = shape.shape_of %u : tensor<*xf32> -> !shape.shape
// CHECK-NEXT:  %d = shape.shape_of %m : memref<2x?xf32> -> tensor<2xindex>
// CHECK-NEXT:  %e = shape.shape_of %v : vector<2xindex> -> tensor<1xindex>
// CHECK-NEXT:  %f = shape.shape_of %vs : !shape.value_shape -> !shape.shape
// CHECK-NEXT:  func.return
// CHECK-NEXT:  }
// GENERIC: sym_name = "of_values"
// GENERIC-NEXT:  ^bb0(%x: tensor<?x3xf32>, %u: tensor<*xf32>, %m: memref<2x?xf32>, %v: vector<2xindex>, %vs: !shape.value_shape):
// GENERIC-NEXT:  %a = "shape.shape_of"(%x) : (tensor<?x3xf32>) -> tensor<2xindex>
// GENERIC-NEXT:  %b = "shape.shape_of"(%x) : (tensor<?x3xf32>) -> tensor<?xindex>
// GENERIC-NEXT:  %c = "shape.shape_of"(%u) : (tensor<*xf32>) -> !shape.shape
// GENERIC-NEXT:  %d = "shape.shape_of"(%m) : (memref<2x?xf32>) -> tensor<2xindex>
// GENERIC-NEXT:  %e = "shape.shape_of"(%v) : (vector<2xindex>) -> tensor<1xindex>
// GENERIC-NEXT:  %f = "shape.shape_of"(%vs) : (!shape.value_shape) -> !shape.shape
// GENERIC-NEXT:  "func.return"() : () -> ()

// A value with a shape, and back.
func.func @value_shapes(%x: tensor<?x3xf32>, %s: !shape.shape, %e: tensor<2xindex>, %vs: !shape.value_shape, %i: tensor<2xi32>) {
  %a = shape.with_shape %x, %s : tensor<?x3xf32>, !shape.shape
  %b = shape.with_shape %vs, %e : !shape.value_shape, tensor<2xindex>
  %c = shape.value_of %a : tensor<?x3xf32>
  %d = shape.value_as_shape %i : tensor<2xi32> -> !shape.shape
  %f = shape.value_as_shape %vs : !shape.value_shape -> tensor<?xindex>
  func.return
}
// CHECK-LABEL: func.func @value_shapes(%x: tensor<?x3xf32>, %s: !shape.shape, %e: tensor<2xindex>, %vs: !shape.value_shape, %i: tensor<2xi32>) {
// CHECK-NEXT:  %a = shape.with_shape %x, %s : tensor<?x3xf32>, !shape.shape
// CHECK-NEXT:  %b = shape.with_shape %vs, %e : !shape.value_shape, tensor<2xindex>
// CHECK-NEXT:  %c = shape.value_of %a : tensor<?x3xf32>
// CHECK-NEXT:  %d = shape.value_as_shape %i : tensor<2xi32> -> !shape.shape
// CHECK-NEXT:  %f = shape.value_as_shape %vs : !shape.value_shape -> tensor<?xindex>
// CHECK-NEXT:  func.return
// CHECK-NEXT:  }
// GENERIC: sym_name = "value_shapes"
// GENERIC-NEXT:  ^bb0(%x: tensor<?x3xf32>, %s: !shape.shape, %e: tensor<2xindex>, %vs: !shape.value_shape, %i: tensor<2xi32>):
// GENERIC-NEXT:  %a = "shape.with_shape"(%x, %s) : (tensor<?x3xf32>, !shape.shape) -> !shape.value_shape
// GENERIC-NEXT:  %b = "shape.with_shape"(%vs, %e) : (!shape.value_shape, tensor<2xindex>) -> !shape.value_shape
// GENERIC-NEXT:  %c = "shape.value_of"(%a) : (!shape.value_shape) -> tensor<?x3xf32>
// GENERIC-NEXT:  %d = "shape.value_as_shape"(%i) : (tensor<2xi32>) -> !shape.shape
// GENERIC-NEXT:  %f = "shape.value_as_shape"(%vs) : (!shape.value_shape) -> tensor<?xindex>
// GENERIC-NEXT:  "func.return"() : () -> ()

// Shapes from extents and back.
func.func @extents(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index) {
  %a = shape.from_extent_tensor %e : tensor<?xindex>
  %b = shape.to_extent_tensor %s : !shape.shape -> tensor<?xindex>
  %c = shape.to_extent_tensor %e : tensor<?xindex> -> tensor<3xindex>
  %d = shape.from_extents %z, %i : !shape.size, index
  %f = shape.from_extents :
  %g = shape.from_extents
  %h, %k = "shape.split_at"(%s, %z) : (!shape.shape, !shape.size) -> (!shape.shape, !shape.shape)
  func.return
}
// CHECK-LABEL: func.func @extents(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index) {
// CHECK-NEXT:  %a = shape.from_extent_tensor %e : tensor<?xindex>
// CHECK-NEXT:  %b = shape.to_extent_tensor %s : !shape.shape -> tensor<?xindex>
// CHECK-NEXT:  %c = shape.to_extent_tensor %e : tensor<?xindex> -> tensor<3xindex>
// CHECK-NEXT:  %d = shape.from_extents %z, %i : !shape.size, index
// CHECK-NEXT:  %f = shape.from_extents :
// CHECK-NEXT:  %g = shape.from_extents :
// CHECK-NEXT:  %h, %k = "shape.split_at"(%s, %z) : (!shape.shape, !shape.size) -> (!shape.shape, !shape.shape)
// CHECK-NEXT:  func.return
// CHECK-NEXT:  }
// GENERIC: sym_name = "extents"
// GENERIC-NEXT:  ^bb0(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index):
// GENERIC-NEXT:  %a = "shape.from_extent_tensor"(%e) : (tensor<?xindex>) -> !shape.shape
// GENERIC-NEXT:  %b = "shape.to_extent_tensor"(%s) : (!shape.shape) -> tensor<?xindex>
// GENERIC-NEXT:  %c = "shape.to_extent_tensor"(%e) : (tensor<?xindex>) -> tensor<3xindex>
// GENERIC-NEXT:  %d = "shape.from_extents"(%z, %i) : (!shape.size, index) -> !shape.shape
// GENERIC-NEXT:  %f = "shape.from_extents"() : () -> !shape.shape
// GENERIC-NEXT:  %g = "shape.from_extents"() : () -> !shape.shape
// GENERIC-NEXT:  %h, %k = "shape.split_at"(%s, %z) : (!shape.shape, !shape.size) -> (!shape.shape, !shape.shape)
// GENERIC-NEXT:  "func.return"() : () -> ()

// What must be equal, with a reason or without.
func.func @meets(%s: !shape.shape, %e: tensor<?xindex>, %f: tensor<2xindex>, %z: !shape.size, %i: index) {
  %a = shape.meet %s, %e : !shape.shape, tensor<?xindex> -> !shape.shape
  %b = shape.meet %e, %f : tensor<?xindex>, tensor<2xindex> -> tensor<2xindex>
  %c = shape.meet %z, %i, error = "sizes differ" : !shape.size, index -> !shape.size
  %d = shape.meet %i, %i {test.note = "kept"} : index, index -> index
  func.return
}
// CHECK-LABEL: func.func @meets(%s: !shape.shape, %e: tensor<?xindex>, %f: tensor<2xindex>, %z: !shape.size, %i: index) {
// CHECK-NEXT:  %a = shape.meet %s, %e : !shape.shape, tensor<?xindex> -> !shape.shape
// CHECK-NEXT:  %b = shape.meet %e, %f : tensor<?xindex>, tensor<2xindex> -> tensor<2xindex>
// CHECK-NEXT:  %c = shape.meet %z, %i, error = "sizes differ" : !shape.size, index -> !shape.size
// CHECK-NEXT:  %d = shape.meet %i, %i {test.note = "kept"} : index, index -> index
// CHECK-NEXT:  func.return
// CHECK-NEXT:  }
// GENERIC: sym_name = "meets"
// GENERIC-NEXT:  ^bb0(%s: !shape.shape, %e: tensor<?xindex>, %f: tensor<2xindex>, %z: !shape.size, %i: index):
// GENERIC-NEXT:  %a = "shape.meet"(%s, %e) : (!shape.shape, tensor<?xindex>) -> !shape.shape
// GENERIC-NEXT:  %b = "shape.meet"(%e, %f) : (tensor<?xindex>, tensor<2xindex>) -> tensor<2xindex>
// GENERIC-NEXT:  %c = "shape.meet"(%z, %i) <{error = "sizes differ"}> : (!shape.size, index) -> !shape.size
// GENERIC-NEXT:  %d = "shape.meet"(%i, %i) {test.note = "kept"} : (index, index) -> index
// GENERIC-NEXT:  "func.return"() : () -> ()

// What shapes combine to.
func.func @combinations(%s: !shape.shape, %e: tensor<?xindex>, %f: tensor<2xindex>) {
  %a = shape.broadcast %s, %e : !shape.shape, tensor<?xindex> -> !shape.shape
  %b = shape.broadcast %e, %f, %f {error = "no broadcast", test.note = "kept"} : tensor<?xindex>, tensor<2xindex>, tensor<2xindex> -> tensor<?xindex>
  %c = shape.any %s, %e : !shape.shape, tensor<?xindex> -> !shape.shape
  %d = shape.any %f, %f : tensor<2xindex>, tensor<2xindex> -> tensor<2xindex>
  %g = shape.concat %s, %f : !shape.shape, tensor<2xindex> -> !shape.shape
  %h = shape.concat %f, %f : tensor<2xindex>, tensor<2xindex> -> tensor<4xindex>
  func.return
}
// CHECK-LABEL: func.func @combinations(%s: !shape.shape, %e: tensor<?xindex>, %f: tensor<2xindex>) {
// CHECK-NEXT:  %a = shape.broadcast %s, %e : !shape.shape, tensor<?xindex> -> !shape.shape
// CHECK-NEXT:  %b = shape.broadcast %e, %f, %f {test.note = "kept", error = "no broadcast"} : tensor<?xindex>, tensor<2xindex>, tensor<2xindex> -> tensor<?xindex>
// CHECK-NEXT:  %c = shape.any %s, %e : !shape.shape, tensor<?xindex> -> !shape.shape
// CHECK-NEXT:  %d = shape.any %f, %f : tensor<2xindex>, tensor<2xindex> -> tensor<2xindex>
// CHECK-NEXT:  %g = shape.concat %s, %f : !shape.shape, tensor<2xindex> -> !shape.shape
// CHECK-NEXT:  %h = shape.concat %f, %f : tensor<2xindex>, tensor<2xindex> -> tensor<4xindex>
// CHECK-NEXT:  func.return
// CHECK-NEXT:  }
// GENERIC: sym_name = "combinations"
// GENERIC-NEXT:  ^bb0(%s: !shape.shape, %e: tensor<?xindex>, %f: tensor<2xindex>):
// GENERIC-NEXT:  %a = "shape.broadcast"(%s, %e) : (!shape.shape, tensor<?xindex>) -> !shape.shape
// GENERIC-NEXT:  %b = "shape.broadcast"(%e, %f, %f) <{error = "no broadcast"}> {test.note = "kept"} : (tensor<?xindex>, tensor<2xindex>, tensor<2xindex>) -> tensor<?xindex>
// GENERIC-NEXT:  %c = "shape.any"(%s, %e) : (!shape.shape, tensor<?xindex>) -> !shape.shape
// GENERIC-NEXT:  %d = "shape.any"(%f, %f) : (tensor<2xindex>, tensor<2xindex>) -> tensor<2xindex>
// GENERIC-NEXT:  %g = "shape.concat"(%s, %f) : (!shape.shape, tensor<2xindex>) -> !shape.shape
// GENERIC-NEXT:  %h = "shape.concat"(%f, %f) : (tensor<2xindex>, tensor<2xindex>) -> tensor<4xindex>
// GENERIC-NEXT:  "func.return"() : () -> ()

// What is read from a shape: a size if something may be an error.
func.func @readings(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
  %a = shape.get_extent %s, %z : !shape.shape, !shape.size -> !shape.size
  %b = shape.get_extent %e, %i : tensor<?xindex>, index -> index
  %c = shape.rank %s : !shape.shape -> !shape.size
  %d = shape.rank %e : tensor<?xindex> -> index
  %f = shape.num_elements %s : !shape.shape -> !shape.size
  %g = shape.num_elements %e : tensor<?xindex> -> index
  %h = shape.dim %x, %i : tensor<?x3xf32>, index -> index
  %k = shape.dim %x, %z : tensor<?x3xf32>, !shape.size -> !shape.size
  %l = "shape.debug_print"(%s) : (!shape.shape) -> !shape.shape
  %m = "shape.debug_print"(%z) : (!shape.size) -> !shape.size
  func.return
}
// CHECK-LABEL: func.func @readings(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>) {
// CHECK-NEXT:  %a = shape.get_extent %s, %z : !shape.shape, !shape.size -> !shape.size
// CHECK-NEXT:  %b = shape.get_extent %e, %i : tensor<?xindex>, index -> index
// CHECK-NEXT:  %c = shape.rank %s : !shape.shape -> !shape.size
// CHECK-NEXT:  %d = shape.rank %e : tensor<?xindex> -> index
// CHECK-NEXT:  %f = shape.num_elements %s : !shape.shape -> !shape.size
// CHECK-NEXT:  %g = shape.num_elements %e : tensor<?xindex> -> index
// CHECK-NEXT:  %h = shape.dim %x, %i : tensor<?x3xf32>, index -> index
// CHECK-NEXT:  %k = shape.dim %x, %z : tensor<?x3xf32>, !shape.size -> !shape.size
// CHECK-NEXT:  %l = "shape.debug_print"(%s) : (!shape.shape) -> !shape.shape
// CHECK-NEXT:  %m = "shape.debug_print"(%z) : (!shape.size) -> !shape.size
// CHECK-NEXT:  func.return
// CHECK-NEXT:  }
// GENERIC: sym_name = "readings"
// GENERIC-NEXT:  ^bb0(%s: !shape.shape, %e: tensor<?xindex>, %z: !shape.size, %i: index, %x: tensor<?x3xf32>):
// GENERIC-NEXT:  %a = "shape.get_extent"(%s, %z) : (!shape.shape, !shape.size) -> !shape.size
// GENERIC-NEXT:  %b = "shape.get_extent"(%e, %i) : (tensor<?xindex>, index) -> index
// GENERIC-NEXT:  %c = "shape.rank"(%s) : (!shape.shape) -> !shape.size
// GENERIC-NEXT:  %d = "shape.rank"(%e) : (tensor<?xindex>) -> index
// GENERIC-NEXT:  %f = "shape.num_elements"(%s) : (!shape.shape) -> !shape.size
// GENERIC-NEXT:  %g = "shape.num_elements"(%e) : (tensor<?xindex>) -> index
// GENERIC-NEXT:  %h = "shape.dim"(%x, %i) : (tensor<?x3xf32>, index) -> index
// GENERIC-NEXT:  %k = "shape.dim"(%x, %z) : (tensor<?x3xf32>, !shape.size) -> !shape.size
// GENERIC-NEXT:  %l = "shape.debug_print"(%s) : (!shape.shape) -> !shape.shape
// GENERIC-NEXT:  %m = "shape.debug_print"(%z) : (!shape.size) -> !shape.size
// GENERIC-NEXT:  "func.return"() : () -> ()
