// RUN: mind-opt %s --mind-inline --split-input-file --print-diagnostics | filecheck %s

// CHECK: error[E4000]: func.call of @a: it calls itself, @a -> @b -> @a, expected calls that do not lead back
func.func @f(%x: tensor<f32>) -> tensor<f32> {
  %r = func.call @a(%x) : (tensor<f32>) -> tensor<f32>
  func.return %r : tensor<f32>
}
func.func @a(%x: tensor<f32>) -> tensor<f32> {
  %r = func.call @b(%x) : (tensor<f32>) -> tensor<f32>
  func.return %r : tensor<f32>
}
func.func @b(%x: tensor<f32>) -> tensor<f32> {
  %r = func.call @a(%x) : (tensor<f32>) -> tensor<f32>
  func.return %r : tensor<f32>
}

// -----

// CHECK: error[E4000]: func.call of @elsewhere: it is declared only, expected a function with a body
func.func private @elsewhere(tensor<f32>) -> tensor<f32>
func.func @g(%x: tensor<f32>) -> tensor<f32> {
  %r = func.call @elsewhere(%x) : (tensor<f32>) -> tensor<f32>
  func.return %r : tensor<f32>
}

// -----

// CHECK: error[E4000]: func.call of @jumps: it has 2 blocks, expected one block that ends in func.return
func.func @h(%x: tensor<f32>) -> tensor<f32> {
  %r = func.call @jumps(%x) : (tensor<f32>) -> tensor<f32>
  func.return %r : tensor<f32>
}
func.func @jumps(%x: tensor<f32>) -> tensor<f32> {
  cf.br ^bb1
^bb1:
  func.return %x : tensor<f32>
}

// -----

// CHECK: error[E4016]: func.call: does not verify: '@nowhere' could not be found in symbol table
func.func @i(%x: tensor<f32>) -> tensor<f32> {
  %r = func.call @nowhere(%x) : (tensor<f32>) -> tensor<f32>
  func.return %r : tensor<f32>
}
