// RUN: mind-opt %s --ptir-dce | filecheck %s
// RUN: xdsl-opt %s -p mind-ptir-dce | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

// Dead code goes, an unused input and a random op stay.
// CHECK-LABEL: func.func @dead_code
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>, %unused: tensor<4xf32>)
// CHECK-NEXT:    %{{.*}} = ptir.rng_normal shape = [4] dtype = f32
// CHECK-NEXT:    %[[Y:.*]] = ptir.exp %[[X]] : tensor<4xf32>
// CHECK-NEXT:    func.return %[[Y]] : tensor<4xf32>
func.func @dead_code(%x: tensor<4xf32>, %unused: tensor<4xf32>) -> tensor<4xf32> {
  %dead = ptir.neg %x : tensor<4xf32>
  %dead_too = ptir.log %dead : tensor<4xf32>
  %draw = ptir.rng_normal shape = [4] dtype = f32 : () -> tensor<4xf32>
  %y = ptir.exp %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// What a loop carries for itself alone goes: %b feeds nothing but itself.
// CHECK-LABEL: func.func @carried_for_nobody
// CHECK-SAME:    (%[[N:.*]]: tensor<si32>, %[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT:    %[[R:.*]] = ptir.while %[[N]] : tensor<si32> cond {
// CHECK-NEXT:    ^bb0(%[[A:.*]]: tensor<si32>):
// CHECK-NEXT:      %[[Z:.*]] = ptir.constant 0 : tensor<si32>
// CHECK-NEXT:      %[[P:.*]] = ptir.compare %[[A]], %[[Z]] kind = greater
// CHECK-NEXT:      ptir.yield %[[P]], %[[A]] : tensor<i1>, tensor<si32>
// CHECK-NEXT:    } body {
// CHECK-NEXT:    ^bb0(%[[C:.*]]: tensor<si32>):
// CHECK-NEXT:      %[[O:.*]] = ptir.constant 1 : tensor<si32>
// CHECK-NEXT:      %[[L:.*]] = ptir.sub %[[C]], %[[O]] : tensor<si32>
// CHECK-NEXT:      ptir.yield %[[L]] : tensor<si32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %[[R]] : tensor<si32>
func.func @carried_for_nobody(%n: tensor<si32>, %x: tensor<4xf32>) -> tensor<si32> {
  %r, %s = ptir.while %n, %x : (tensor<si32>, tensor<4xf32>) -> (tensor<si32>, tensor<4xf32>) cond {
  ^bb0(%a: tensor<si32>, %b: tensor<4xf32>):
    %z = ptir.constant 0 : tensor<si32>
    %p = ptir.compare %a, %z kind = greater : (tensor<si32>, tensor<si32>) -> tensor<i1>
    ptir.yield %p, %a, %b : tensor<i1>, tensor<si32>, tensor<4xf32>
  } body {
  ^bb0(%a: tensor<si32>, %b: tensor<4xf32>):
    %o = ptir.constant 1 : tensor<si32>
    %l = ptir.sub %a, %o : tensor<si32>
    %m = ptir.neg %b : tensor<4xf32>
    ptir.yield %l, %m : tensor<si32>, tensor<4xf32>
  }
  func.return %r : tensor<si32>
}

// The condition looks at it: it stays.
// CHECK-LABEL: func.func @carried_for_the_condition
// CHECK:         ptir.while %{{.*}}, %{{.*}} : (tensor<si32>, tensor<4xf32>) -> (tensor<si32>, tensor<4xf32>) cond {
// CHECK:           ptir.neg
func.func @carried_for_the_condition(%n: tensor<si32>, %x: tensor<4xf32>) -> tensor<si32> {
  %r, %s = ptir.while %n, %x : (tensor<si32>, tensor<4xf32>) -> (tensor<si32>, tensor<4xf32>) cond {
  ^bb0(%a: tensor<si32>, %b: tensor<4xf32>):
    %t = ptir.reduce %b kind = sum axes = [0] keepdims = false : tensor<4xf32> -> tensor<f32>
    %p = ptir.compare %t, %t kind = less : (tensor<f32>, tensor<f32>) -> tensor<i1>
    ptir.yield %p, %a, %b : tensor<i1>, tensor<si32>, tensor<4xf32>
  } body {
  ^bb0(%a: tensor<si32>, %b: tensor<4xf32>):
    %m = ptir.neg %b : tensor<4xf32>
    ptir.yield %a, %m : tensor<si32>, tensor<4xf32>
  }
  func.return %r : tensor<si32>
}

}
