// RUN: mind-opt %s --ptir-place-parts | filecheck %s

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
// The first fusion makes the whole array, the other one its part of that; nothing concatenates.
// CHECK-LABEL: func.func @side_by_side
// CHECK-NEXT:  %0 = ptir.fusion %x : tensor<2x3xf32> -> tensor<2x8xf32> body {
// CHECK-NEXT:  ^bb0(%p: tensor<2x3xf32>):
// CHECK-NEXT:    %1 = ptir.exp %p : tensor<2x3xf32>
// CHECK-NEXT:    %2 = ptir.constant fill 0.0 : tensor<2x5xf32> {mind.overwritten}
// CHECK-NEXT:    %3 = ptir.concat %1, %2 axis = 1 : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:    ptir.yield %3 : tensor<2x8xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  %c = ptir.fusion %y, %0 : (tensor<2x5xf32>, tensor<2x8xf32>) -> tensor<2x8xf32> body {
// CHECK-NEXT:  ^bb0(%p: tensor<2x5xf32>, %1: tensor<2x8xf32>):
// CHECK-NEXT:    %2 = ptir.neg %p : tensor<2x5xf32>
// CHECK-NEXT:    %3 = ptir.slice %1 starts = [0, 0] sizes = [2, 3] : tensor<2x8xf32> -> tensor<2x3xf32>
// CHECK-NEXT:    %4 = ptir.concat %3, %2 axis = 1 : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:    ptir.yield %4 : tensor<2x8xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %c : tensor<2x8xf32>
func.func @side_by_side(%x: tensor<2x3xf32>, %y: tensor<2x5xf32>) -> tensor<2x8xf32> {
  %a = ptir.fusion %x : tensor<2x3xf32> -> tensor<2x3xf32> body {
  ^bb0(%p: tensor<2x3xf32>):
    %0 = ptir.exp %p : tensor<2x3xf32>
    ptir.yield %0 : tensor<2x3xf32>
  }
  %b = ptir.fusion %y : tensor<2x5xf32> -> tensor<2x5xf32> body {
  ^bb0(%p: tensor<2x5xf32>):
    %0 = ptir.neg %p : tensor<2x5xf32>
    ptir.yield %0 : tensor<2x5xf32>
  }
  %c = ptir.fusion %a, %b : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32> body {
  ^bb0(%p: tensor<2x3xf32>, %q: tensor<2x5xf32>):
    %0 = ptir.concat %p, %q axis = 1 : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
    ptir.yield %0 : tensor<2x8xf32>
  }
  func.return %c : tensor<2x8xf32>
}

// What is done to each part before it is concatenated happens before it is written; sums read the array.
// CHECK-LABEL: func.func @summed
// CHECK-NEXT:  %0 = ptir.fusion %x : tensor<2x3xbf16> -> tensor<2x8xbf16> body {
// CHECK-NEXT:  ^bb0(%p: tensor<2x3xbf16>):
// CHECK-NEXT:    %1 = ptir.exp %p : tensor<2x3xbf16>
// CHECK-NEXT:    %2 = ptir.cast %1 dtype = f32 : tensor<2x3xbf16> -> tensor<2x3xf32>
// CHECK-NEXT:    %3 = ptir.constant fill 0.0 : tensor<2x3xf32>
// CHECK-NEXT:    %4 = ptir.add %2, %3 : tensor<2x3xf32>
// CHECK-NEXT:    %5 = ptir.cast %4 dtype = bf16 : tensor<2x3xf32> -> tensor<2x3xbf16>
// CHECK-NEXT:    %6 = ptir.constant fill 0.0 : tensor<2x5xbf16> {mind.overwritten}
// CHECK-NEXT:    %7 = ptir.concat %5, %6 axis = 1 : (tensor<2x3xbf16>, tensor<2x5xbf16>) -> tensor<2x8xbf16>
// CHECK-NEXT:    ptir.yield %7 : tensor<2x8xbf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  %c = ptir.fusion %y, %0 : (tensor<2x5xbf16>, tensor<2x8xbf16>) -> tensor<2x8xbf16> body {
// CHECK-NEXT:  ^bb0(%p: tensor<2x5xbf16>, %1: tensor<2x8xbf16>):
// CHECK-NEXT:    %2 = ptir.neg %p : tensor<2x5xbf16>
// CHECK-NEXT:    %3 = ptir.slice %1 starts = [0, 0] sizes = [2, 3] : tensor<2x8xbf16> -> tensor<2x3xbf16>
// CHECK-NEXT:    %4 = ptir.cast %2 dtype = f32 : tensor<2x5xbf16> -> tensor<2x5xf32>
// CHECK-NEXT:    %5 = ptir.constant fill 0.0 : tensor<2x5xf32>
// CHECK-NEXT:    %6 = ptir.add %4, %5 : tensor<2x5xf32>
// CHECK-NEXT:    %7 = ptir.cast %6 dtype = bf16 : tensor<2x5xf32> -> tensor<2x5xbf16>
// CHECK-NEXT:    %8 = ptir.concat %3, %7 axis = 1 : (tensor<2x3xbf16>, tensor<2x5xbf16>) -> tensor<2x8xbf16>
// CHECK-NEXT:    ptir.yield %8 : tensor<2x8xbf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  %d = ptir.fusion %c : tensor<2x8xbf16> -> tensor<8xf32> body {
// CHECK-NEXT:  ^bb0(%1: tensor<2x8xbf16>):
// CHECK-NEXT:    %2 = ptir.cast %1 dtype = f32 : tensor<2x8xbf16> -> tensor<2x8xf32>
// CHECK-NEXT:    %3 = ptir.reduce %2 kind = sum axes = [0] keepdims = false : tensor<2x8xf32> -> tensor<8xf32>
// CHECK-NEXT:    ptir.yield %3 : tensor<8xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %c, %d : tensor<2x8xbf16>, tensor<8xf32>
func.func @summed(%x: tensor<2x3xbf16>, %y: tensor<2x5xbf16>) -> (tensor<2x8xbf16>, tensor<8xf32>) {
  %a = ptir.fusion %x : tensor<2x3xbf16> -> tensor<2x3xbf16> body {
  ^bb0(%p: tensor<2x3xbf16>):
    %0 = ptir.exp %p : tensor<2x3xbf16>
    ptir.yield %0 : tensor<2x3xbf16>
  }
  %b = ptir.fusion %y : tensor<2x5xbf16> -> tensor<2x5xbf16> body {
  ^bb0(%p: tensor<2x5xbf16>):
    %0 = ptir.neg %p : tensor<2x5xbf16>
    ptir.yield %0 : tensor<2x5xbf16>
  }
  %c, %d = ptir.fusion %a, %b : (tensor<2x3xbf16>, tensor<2x5xbf16>) -> (tensor<2x8xbf16>, tensor<8xf32>) body {
  ^bb0(%p: tensor<2x3xbf16>, %q: tensor<2x5xbf16>):
    %0 = ptir.cast %p dtype = f32 : tensor<2x3xbf16> -> tensor<2x3xf32>
    %1 = ptir.constant fill 0.0 : tensor<2x3xf32>
    %2 = ptir.add %0, %1 : tensor<2x3xf32>
    %3 = ptir.cast %q dtype = f32 : tensor<2x5xbf16> -> tensor<2x5xf32>
    %4 = ptir.constant fill 0.0 : tensor<2x5xf32>
    %5 = ptir.add %3, %4 : tensor<2x5xf32>
    %6 = ptir.concat %2, %5 axis = 1 : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
    %7 = ptir.reduce %6 kind = sum axes = [0] keepdims = false : tensor<2x8xf32> -> tensor<8xf32>
    %8 = ptir.cast %6 dtype = bf16 : tensor<2x8xf32> -> tensor<2x8xbf16>
    ptir.yield %8, %7 : tensor<2x8xbf16>, tensor<8xf32>
  }
  func.return %c, %d : tensor<2x8xbf16>, tensor<8xf32>
}

// A part that something else reads, too, is copied.
// CHECK-LABEL: func.func @read_again
// CHECK-NEXT:  %a = ptir.fusion %x : tensor<2x3xf32> body {
// CHECK-NEXT:  ^bb0(%p: tensor<2x3xf32>):
// CHECK-NEXT:    %0 = ptir.exp %p : tensor<2x3xf32>
// CHECK-NEXT:    ptir.yield %0 : tensor<2x3xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  %b = ptir.fusion %y : tensor<2x5xf32> body {
// CHECK-NEXT:  ^bb0(%p: tensor<2x5xf32>):
// CHECK-NEXT:    %0 = ptir.neg %p : tensor<2x5xf32>
// CHECK-NEXT:    ptir.yield %0 : tensor<2x5xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  %c = ptir.fusion %a, %b : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32> body {
// CHECK-NEXT:  ^bb0(%p: tensor<2x3xf32>, %q: tensor<2x5xf32>):
// CHECK-NEXT:    %0 = ptir.concat %p, %q axis = 1 : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:    ptir.yield %0 : tensor<2x8xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %c, %a : tensor<2x8xf32>, tensor<2x3xf32>
func.func @read_again(%x: tensor<2x3xf32>, %y: tensor<2x5xf32>) -> (tensor<2x8xf32>, tensor<2x3xf32>) {
  %a = ptir.fusion %x : tensor<2x3xf32> -> tensor<2x3xf32> body {
  ^bb0(%p: tensor<2x3xf32>):
    %0 = ptir.exp %p : tensor<2x3xf32>
    ptir.yield %0 : tensor<2x3xf32>
  }
  %b = ptir.fusion %y : tensor<2x5xf32> -> tensor<2x5xf32> body {
  ^bb0(%p: tensor<2x5xf32>):
    %0 = ptir.neg %p : tensor<2x5xf32>
    ptir.yield %0 : tensor<2x5xf32>
  }
  %c = ptir.fusion %a, %b : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32> body {
  ^bb0(%p: tensor<2x3xf32>, %q: tensor<2x5xf32>):
    %0 = ptir.concat %p, %q axis = 1 : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
    ptir.yield %0 : tensor<2x8xf32>
  }
  func.return %c, %a : tensor<2x8xf32>, tensor<2x3xf32>
}
}
