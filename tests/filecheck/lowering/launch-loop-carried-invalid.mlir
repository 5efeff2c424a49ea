// RUN: not mind-opt %s --launch-assign-memory 2>&1 | filecheck %s

// Memory that each iteration allocates cannot be yielded from one place: the next iteration would write over what it reads.
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @not_placed(%0: tensor<4xf32>) -> tensor<4xf32> {
    %x = launch.alloc input 0 : memref<4xf32>
    %y = launch.alloc output 0 : memref<4xf32>
    %r = launch.for 3 (%x) : (memref<4xf32>) {
    ^bb0(%i: index, %a: memref<4xf32>):
      %n = launch.alloc arena : memref<4xf32>
      launch.kernel @neg(%a) -> (%n) schedule "neg" : (memref<4xf32>) -> (memref<4xf32>)
      launch.yield %n : memref<4xf32>
    }
    launch.kernel @copy(%r) -> (%y) schedule "copy" : (memref<4xf32>) -> (memref<4xf32>)
    launch.return %y : memref<4xf32>
  }
}

// CHECK: error[E9102]: launch.for: yields memory that each iteration allocates in one place, expected launch-loop-carried before
