// RUN: mind-opt %s --print-diagnostics --split-input-file | filecheck %s

func.func @one_branch(%p: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %e = xp.call "xp.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %y = xp.if %p : tensor<i1> -> (tensor<2xf32>) {
    xp.free %e : tensor<2xf32>
    xp.yield(%x : tensor<2xf32>)
  } else {
    xp.yield(%x : tensor<2xf32>)
  }
  xp.return %y : tensor<2xf32>
}
// CHECK: error[E4001]: xp.if: a value is freed in one branch alone

// -----

func.func @outside(%x: tensor<3x2xf32>) -> tensor<2xf32> {
  %e = xp.call "xp.exp"(%x) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %z = xp.call "xp.add.reduce"(%x) with {axis = array<i64: 0>, dtype = f32} : (tensor<3x2xf32>) -> tensor<2xf32>
  %y = xp.for(%z) over(%x) into() takes array<i64> : (tensor<2xf32>) over(tensor<3x2xf32>) into() -> (tensor<2xf32>) {
  ^bb0(%a: tensor<2xf32>, %row: tensor<2xf32>):
    xp.free %e : tensor<3x2xf32>
    xp.yield(%a : tensor<2xf32>)
  }
  xp.return %y : tensor<2xf32>
}
// CHECK: error[E4001]: xp.free: frees a value from outside of the loop

// -----

func.func @taken(%x: tensor<3x2xf32>) -> tensor<2xf32> {
  %z = xp.call "xp.add.reduce"(%x) with {axis = array<i64: 0>, dtype = f32} : (tensor<3x2xf32>) -> tensor<2xf32>
  %y = xp.for(%z) over(%x) into() takes array<i64: 0> : (tensor<2xf32>) over(tensor<3x2xf32>) into() -> (tensor<2xf32>) {
  ^bb0(%a: tensor<2xf32>, %row: tensor<2xf32>):
    xp.yield(%a : tensor<2xf32>)
  }
  xp.return %z : tensor<2xf32>
}
// CHECK: error[E4001]: xp.return: uses a value after xp.free

// -----

func.func @types(%p: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %y = xp.if %p : tensor<i1> -> (tensor<2xf32>) {
    xp.yield(%p : tensor<i1>)
  } else {
    xp.yield(%x : tensor<2xf32>)
  }
  xp.return %y : tensor<2xf32>
}
// CHECK: error[E8005]: xp.if: region then yields ['tensor<i1>'], expected ['tensor<2xf32>']

// -----

func.func @dims(%x: tensor<2xf32>) -> tensor<2xf32> {
  xp.expect %x ["a b"] : tensor<2xf32>
  xp.return %x : tensor<2xf32>
}
// CHECK: error[E4000]: xp.expect: dims ["a b"], expected 1 sizes, expressions of names or ?
