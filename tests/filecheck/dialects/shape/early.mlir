// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC

// What the early specification has and upstream has not; its names of types and its spellings are read, ours are printed.
func.func @constants() {
  %a = shape.constant 10 : !shape.size
  %b = shape.constant ? : !shape.size
  %c = shape.constant invalid : !shape.size
  %d = shape.constant invalid "too large" : !shape.size
  %e = shape.constant [3, ?] : !shape.type
  %f = shape.constant [] : !shape.type
  %g = shape.constant [*] : !shape.type
  %h = shape.constant * : !shape.type
  %i = shape.constant [invalid] : !shape.type
  %j = shape.constant {test.note = "kept"} [invalid "ranks differ"] : !shape.shape
  %k = shape.constant invalid : !shape.shape
  %l = "shape.constant"() {value = [3 : index, "?"]} : () -> !shape.type
  %m = "shape.constant_dim"() {value = 1 : i32} : () -> !shape.size
  func.return
}
// CHECK-LABEL: func.func @constants() {
// CHECK-NEXT:  %a = shape.constant 10 : !shape.size
// CHECK-NEXT:  %b = shape.constant ? : !shape.size
// CHECK-NEXT:  %c = shape.constant invalid : !shape.size
// CHECK-NEXT:  %d = shape.constant invalid "too large" : !shape.size
// CHECK-NEXT:  %e = shape.constant [3, ?] : !shape.shape
// CHECK-NEXT:  %f = shape.constant [] : !shape.shape
// CHECK-NEXT:  %g = shape.constant [*] : !shape.shape
// CHECK-NEXT:  %h = shape.constant [*] : !shape.shape
// CHECK-NEXT:  %i = shape.constant [invalid] : !shape.shape
// CHECK-NEXT:  %j = shape.constant {test.note = "kept"} [invalid "ranks differ"] : !shape.shape
// CHECK-NEXT:  %k = shape.constant [invalid] : !shape.shape
// CHECK-NEXT:  %l = shape.constant [3, ?] : !shape.shape
// CHECK-NEXT:  %m = "shape.constant_dim"() <{value = 1 : i32}> : () -> !shape.size
// CHECK-NEXT:  func.return
// CHECK-NEXT:  }
// GENERIC: sym_name = "constants"
// GENERIC-NEXT:  %a = "shape.constant"() <{value = 10 : index}> : () -> !shape.size
// GENERIC-NEXT:  %b = "shape.constant"() <{value = "?"}> : () -> !shape.size
// GENERIC-NEXT:  %c = "shape.constant"() <{value = "invalid"}> : () -> !shape.size
// GENERIC-NEXT:  %d = "shape.constant"() <{value = ["invalid", "too large"]}> : () -> !shape.size
// GENERIC-NEXT:  %e = "shape.constant"() <{value = [3 : index, "?"]}> : () -> !shape.shape
// GENERIC-NEXT:  %f = "shape.constant"() <{value = []}> : () -> !shape.shape
// GENERIC-NEXT:  %g = "shape.constant"() <{value = ["*"]}> : () -> !shape.shape
// GENERIC-NEXT:  %h = "shape.constant"() <{value = ["*"]}> : () -> !shape.shape
// GENERIC-NEXT:  %i = "shape.constant"() <{value = ["invalid"]}> : () -> !shape.shape
// GENERIC-NEXT:  %j = "shape.constant"() <{value = ["invalid", "ranks differ"]}> {test.note = "kept"} : () -> !shape.shape
// GENERIC-NEXT:  %k = "shape.constant"() <{value = ["invalid"]}> : () -> !shape.shape
// GENERIC-NEXT:  %l = "shape.constant"() <{value = [3 : index, "?"]}> : () -> !shape.shape
// GENERIC-NEXT:  %m = "shape.constant_dim"() <{value = 1 : i32}> : () -> !shape.size
// GENERIC-NEXT:  "func.return"() : () -> ()

// One type stands for all if they are equal.
func.func @joins(%s: !shape.type, %z: !shape.size, %i: index) {
  %a = shape.join %s, %s : !shape.type
  %b = shape.join %s, %s, error="<reason>" : !shape.type
  %c = shape.join %z, %z, error = "sizes differ" {test.note = "kept"} : !shape.size, !shape.size -> !shape.size
  %d = shape.join %z, %i : !shape.size, index -> !shape.size
  %e = "shape.join"(%s, %s) {error = "<reason>"} : (!shape.type, !shape.type) -> !shape.type
  func.return
}
// CHECK-LABEL: func.func @joins(%s: !shape.shape, %z: !shape.size, %i: index) {
// CHECK-NEXT:  %a = shape.join %s, %s : !shape.shape
// CHECK-NEXT:  %b = shape.join %s, %s, error = "<reason>" : !shape.shape
// CHECK-NEXT:  %c = shape.join %z, %z, error = "sizes differ" {test.note = "kept"} : !shape.size
// CHECK-NEXT:  %d = shape.join %z, %i : !shape.size, index -> !shape.size
// CHECK-NEXT:  %e = shape.join %s, %s, error = "<reason>" : !shape.shape
// CHECK-NEXT:  func.return
// CHECK-NEXT:  }
// GENERIC: sym_name = "joins"
// GENERIC-NEXT:  ^bb0(%s: !shape.shape, %z: !shape.size, %i: index):
// GENERIC-NEXT:  %a = "shape.join"(%s, %s) : (!shape.shape, !shape.shape) -> !shape.shape
// GENERIC-NEXT:  %b = "shape.join"(%s, %s) <{error = "<reason>"}> : (!shape.shape, !shape.shape) -> !shape.shape
// GENERIC-NEXT:  %c = "shape.join"(%z, %z) <{error = "sizes differ"}> {test.note = "kept"} : (!shape.size, !shape.size) -> !shape.size
// GENERIC-NEXT:  %d = "shape.join"(%z, %i) : (!shape.size, index) -> !shape.size
// GENERIC-NEXT:  %e = "shape.join"(%s, %s) <{error = "<reason>"}> : (!shape.shape, !shape.shape) -> !shape.shape
// GENERIC-NEXT:  "func.return"() : () -> ()

// The shape that a list of integers says.
func.func @create(%a: tensor<3xi32>, %b: tensor<?xi64>, %c: tensor<2xindex>) {
  %d = shape.create_shape %a : tensor<3xi32>
  %e = "shape.create_shape"(%b) : (tensor<?xi64>) -> !shape.type
  %f = shape.create_shape %c : tensor<2xindex>
  func.return
}
// CHECK-LABEL: func.func @create(%a: tensor<3xi32>, %b: tensor<?xi64>, %c: tensor<2xindex>) {
// CHECK-NEXT:  %d = shape.create_shape %a : tensor<3xi32>
// CHECK-NEXT:  %e = shape.create_shape %b : tensor<?xi64>
// CHECK-NEXT:  %f = shape.create_shape %c : tensor<2xindex>
// CHECK-NEXT:  func.return
// CHECK-NEXT:  }
// GENERIC: sym_name = "create"
// GENERIC-NEXT:  ^bb0(%a: tensor<3xi32>, %b: tensor<?xi64>, %c: tensor<2xindex>):
// GENERIC-NEXT:  %d = "shape.create_shape"(%a) : (tensor<3xi32>) -> !shape.shape
// GENERIC-NEXT:  %e = "shape.create_shape"(%b) : (tensor<?xi64>) -> !shape.shape
// GENERIC-NEXT:  %f = "shape.create_shape"(%c) : (tensor<2xindex>) -> !shape.shape
// GENERIC-NEXT:  "func.return"() : () -> ()
