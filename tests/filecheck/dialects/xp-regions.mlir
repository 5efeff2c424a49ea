// RUN: mind-opt %s | mind-opt | filecheck %s
// RUN: mind-opt %s --print-op-generic | mind-opt | filecheck %s

func.func @branch(%p: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %e = xp.call "xp.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %y = xp.if %p : tensor<i1> -> (tensor<2xf32>) {
    %n = xp.call "xp.negative"(%e) : (tensor<2xf32>) -> tensor<2xf32>
    xp.free %e : tensor<2xf32>
    xp.yield(%n : tensor<2xf32>)
  } else {
    xp.free %e : tensor<2xf32>
    xp.yield(%x : tensor<2xf32>)
  }
  xp.return %y : tensor<2xf32>
}
// CHECK-LABEL: func.func @branch
// CHECK:       %y = xp.if %p : tensor<i1> -> (tensor<2xf32>) {
// CHECK-NEXT:    %n = xp.call "xp.negative"(%e) : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:    xp.free %e : tensor<2xf32>
// CHECK-NEXT:    xp.yield(%n : tensor<2xf32>)
// CHECK-NEXT:  } else {
// CHECK-NEXT:    xp.free %e : tensor<2xf32>
// CHECK-NEXT:    xp.yield(%x : tensor<2xf32>)
// CHECK-NEXT:  }

func.func @loops(%n: tensor<si32>, %x: tensor<?x2xf32, "T,*">) -> (tensor<si32>, tensor<?xf32, "T">) {
  xp.expect %x ["T", 2] : tensor<?x2xf32, "T,*">
  %one = xp.call "k.constant"() with {value = #ptir.literal<1 : tensor<si32>>} : () -> tensor<si32>
  %s = xp.call "xp.negative"(%n) : (tensor<si32>) -> tensor<si32>
  %c = xp.while(%s) takes array<i64: 0> : (tensor<si32>) -> tensor<si32> {
  ^bb0(%a: tensor<si32>):
    %t = xp.call "xp.less"(%a, %one) : (tensor<si32>, tensor<si32>) -> tensor<i1>
    xp.condition %t : tensor<i1>(%a : tensor<si32>)
  } do {
  ^bb0(%a: tensor<si32>):
    %b = xp.call "xp.add"(%a, %one) : (tensor<si32>, tensor<si32>) -> tensor<si32>
    xp.free %a : tensor<si32>
    xp.yield(%b : tensor<si32>)
  }
  %stack = xp.call "k.empty"(%x) with {shape = array<i64>, dtype = f32} : (tensor<?x2xf32, "T,*">) -> tensor<?xf32, "T">
  xp.for() over(%x) into(%stack) takes array<i64> : () over(tensor<?x2xf32, "T,*">) into(tensor<?xf32, "T">) -> () {
  ^bb0(%row: tensor<2xf32>):
    %sum = xp.call "xp.add.reduce"(%row) with {axis = array<i64: 0>, keepdims = false, dtype = f32} : (tensor<2xf32>) -> tensor<f32>
    xp.free %row : tensor<2xf32>
    xp.yield(%sum : tensor<f32>)
  }
  xp.return %c, %stack : tensor<si32>, tensor<?xf32, "T">
}
// CHECK-LABEL: func.func @loops
// CHECK-NEXT:  xp.expect %x ["T", 2 : i64] : tensor<?x2xf32, "T,*">
// CHECK:       %c = xp.while(%s) takes array<i64: 0> : (tensor<si32>) -> tensor<si32> {
// CHECK-NEXT:  ^bb0(%a: tensor<si32>):
// CHECK-NEXT:    %t = xp.call "xp.less"(%a, %one) : (tensor<si32>, tensor<si32>) -> tensor<i1>
// CHECK-NEXT:    xp.condition %t : tensor<i1>(%a : tensor<si32>)
// CHECK-NEXT:  } do {
// CHECK:         xp.yield(%b : tensor<si32>)
// CHECK-NEXT:  }
// CHECK:       xp.for() over(%x) into(%stack) takes array<i64> : () over(tensor<?x2xf32, "T,*">) into(tensor<?xf32, "T">) -> () {
// CHECK-NEXT:  ^bb0(%row: tensor<2xf32>):
