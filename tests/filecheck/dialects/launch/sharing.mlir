// RUN: mind-opt %s | filecheck %s
// RUN: mind-opt %s | mind-opt | filecheck %s

// Carries that are only read share what they are given with each other, and with ops in the loop and after it.
// CHECK: func.func @read_only_carries
func.func @read_only_carries(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = launch.alloc input 0 : memref<4xf32>
  %1 = launch.alloc output 0 : memref<4xf32>
  %2 = launch.alloc arena : memref<3x4xf32>
  %3, %4 = launch.for 3 (%0, %0) : (memref<4xf32>, memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32>, %b: memref<4xf32>):
    %5 = launch.at %2[%i] : memref<3x4xf32> to memref<4xf32>
    launch.kernel @k(%a, %b, %0) -> (%5) schedule "k" : (memref<4xf32>, memref<4xf32>, memref<4xf32>) -> (memref<4xf32>)
    launch.yield %5, %a : memref<4xf32>, memref<4xf32>
  }
  launch.kernel @k(%3, %4, %0) -> (%1) schedule "k" : (memref<4xf32>, memref<4xf32>, memref<4xf32>) -> (memref<4xf32>)
  launch.return %1 : memref<4xf32>
}

// Memory that both branches pass on in place, or do not use any more.
// CHECK: func.func @branches
func.func @branches(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = launch.alloc input 0 : memref<i1>
  %1 = launch.alloc input 1 : memref<4xf32>
  %2 = launch.alloc arena at 0 : memref<4xf32>
  launch.kernel @k(%1) -> (%2) schedule "k" : (memref<4xf32>) -> (memref<4xf32>)
  %3 = launch.alloc arena at 0 : memref<4xf32>
  launch.if %0 : memref<i1> -> () {
    launch.kernel @k(%2) -> (%3) inplace [[0, 0]] schedule "k" : (memref<4xf32>) -> (memref<4xf32>)
    launch.yield
  } else {
    launch.kernel @fill() -> (%3) schedule "fill" : () -> (memref<4xf32>)
    launch.yield
  }
  %4 = launch.alloc output 0 : memref<4xf32>
  launch.kernel @k(%3) -> (%4) schedule "k" : (memref<4xf32>) -> (memref<4xf32>)
  launch.return %4 : memref<4xf32>
}

// A temporary, and then a result of other extents, in the memory of a donated input.
// CHECK: func.func @donated
// CHECK:   launch.alloc arena over %{{.*}} : memref<4xf32>
// CHECK:   launch.alloc output 0 over %{{.*}}(memref<4xf32>) : memref<2x2xf32>
func.func @donated(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  %0 = launch.alloc input 0 donated : memref<4xf32>
  %1 = launch.alloc arena over %0 : memref<4xf32>
  launch.kernel @k(%0) -> (%1) inplace [[0, 0]] schedule "k" : (memref<4xf32>) -> (memref<4xf32>)
  %2 = launch.alloc output 0 over %0(memref<4xf32>) : memref<2x2xf32>
  launch.kernel @k(%1) -> (%2) inplace [[0, 0]] schedule "k" : (memref<4xf32>) -> (memref<2x2xf32>)
  launch.return %2 : memref<2x2xf32>
}

// After three iterations the first of two carries that change places is what the second was given.
// CHECK: func.func @rotation
func.func @rotation() -> tensor<4xf32> {
  %0 = launch.alloc arena : memref<4xf32>
  launch.kernel @fill() -> (%0) schedule "fill" : () -> (memref<4xf32>)
  %1 = launch.alloc output 0 : memref<4xf32>
  %2, %3 = launch.for 3 (%0, %1) : (memref<4xf32>, memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32>, %b: memref<4xf32>):
    launch.kernel @k(%a) -> (%b) schedule "k" : (memref<4xf32>) -> (memref<4xf32>)
    launch.yield %b, %a : memref<4xf32>, memref<4xf32>
  }
  launch.return %2 : memref<4xf32>
}

// A kernel that writes nothing is run for the errors that it reports.
// CHECK: func.func @check
func.func @check(%x: tensor<4xf32>) {
  %0 = launch.alloc input 0 : memref<4xf32>
  launch.kernel @indices(%0) -> () schedule "indices" fails "index" : (memref<4xf32>) -> ()
  launch.return
}
