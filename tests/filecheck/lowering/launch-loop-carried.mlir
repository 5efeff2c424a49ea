// RUN: mind-opt %s --launch-loop-carried --split-input-file | filecheck %s

// A carry that only the kernel which writes over it reads is updated in place: the loop carries nothing.
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @in_place(%0: tensor<4xf32>) -> tensor<4xf32> {
    %x = launch.alloc input 0 : memref<4xf32>
    %y = launch.alloc output 0 : memref<4xf32>
    %c = launch.alloc arena : memref<4xf32>
    launch.kernel @copy(%x) -> (%c) schedule "copy" : (memref<4xf32>) -> (memref<4xf32>)
    %r = launch.for 3 (%c) : (memref<4xf32>) {
    ^bb0(%i: index, %a: memref<4xf32>):
      %t = launch.alloc arena : memref<4xf32>
      launch.kernel @neg(%a) -> (%t) inplace [[0, 0]] schedule "neg" : (memref<4xf32>) -> (memref<4xf32>)
      %n = launch.alloc arena : memref<4xf32>
      launch.kernel @exp(%t) -> (%n) inplace [[0, 0]] schedule "exp" : (memref<4xf32>) -> (memref<4xf32>)
      launch.yield %n : memref<4xf32>
    }
    launch.kernel @copy(%r) -> (%y) schedule "copy" : (memref<4xf32>) -> (memref<4xf32>)
    launch.return %y : memref<4xf32>
  }
}

// CHECK-LABEL: func.func @in_place
//      CHECK:     launch.for 3 () : () {
// CHECK-NEXT:     ^bb0(%i: index):
// CHECK-NEXT:       launch.kernel @neg(%c) -> (%c) inplace {{\[\[}}0, 0]]
// CHECK-NEXT:       launch.kernel @exp(%c) -> (%c) inplace {{\[\[}}0, 0]]
// CHECK-NEXT:       launch.yield
// CHECK-NEXT:     }
// CHECK-NEXT:     launch.kernel @copy(%c) -> (%y)

// -----

// A carry that is read after its successor is written, and not passed on in place, changes places with a second allocation.
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @rotated(%0: tensor<4xf32>) -> tensor<4xf32> {
    %x = launch.alloc input 0 : memref<4xf32>
    %y = launch.alloc output 0 : memref<4xf32>
    %c = launch.alloc arena : memref<4xf32>
    launch.kernel @copy(%x) -> (%c) schedule "copy" : (memref<4xf32>) -> (memref<4xf32>)
    %r = launch.for 3 (%c) : (memref<4xf32>) {
    ^bb0(%i: index, %a: memref<4xf32>):
      %n = launch.alloc arena : memref<4xf32>
      launch.kernel @sort(%a) -> (%n) schedule "sort" : (memref<4xf32>) -> (memref<4xf32>)
      launch.yield %n : memref<4xf32>
    }
    launch.kernel @copy(%r) -> (%y) schedule "copy" : (memref<4xf32>) -> (memref<4xf32>)
    launch.return %y : memref<4xf32>
  }
}

// CHECK-LABEL: func.func @rotated
//      CHECK:     %n = launch.alloc arena : memref<4xf32>
// CHECK-NEXT:     [[R:%.*]], %n_1 = launch.for 3 (%c, %n) : (memref<4xf32>, memref<4xf32>) {
// CHECK-NEXT:     ^bb0(%i: index, [[A:%.*]]: memref<4xf32>, [[B:%.*]]: memref<4xf32>):
// CHECK-NEXT:       launch.kernel @sort([[A]]) -> ([[B]])
// CHECK-NEXT:       launch.yield [[B]], [[A]] : memref<4xf32>, memref<4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     launch.kernel @copy([[R]]) -> (%y)

// -----

// A carry that the loop stacks is left there, and begins where it was before the loop, without a copy.
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @left(%0: tensor<4xf32>) -> tensor<3x4xf32> {
    %x = launch.alloc input 0 : memref<4xf32>
    %y = launch.alloc output 0 : memref<3x4xf32>
    %c = launch.alloc arena : memref<4xf32>
    launch.kernel @copy(%x) -> (%c) inplace [[0, 0]] schedule "copy" : (memref<4xf32>) -> (memref<4xf32>) {
    ^bb0(%1: tensor<4xf32>):
      launch.yield %1 : tensor<4xf32>
    }
    %r = launch.for 3 (%c) : (memref<4xf32>) {
    ^bb0(%i: index, %a: memref<4xf32>):
      %part = launch.at %y[%i] : memref<3x4xf32> to memref<4xf32>
      launch.kernel @sort(%a) -> (%part) schedule "sort" : (memref<4xf32>) -> (memref<4xf32>)
      launch.yield %part : memref<4xf32>
    }
    launch.return %y : memref<3x4xf32>
  }
}

// CHECK-LABEL: func.func @left
// CHECK-NEXT:     %x = launch.alloc input 0
// CHECK-NEXT:     %y = launch.alloc output 0
// CHECK-NEXT:     %r = launch.for 3 (%x) : (memref<4xf32>) {
// CHECK-NEXT:     ^bb0(%i: index, [[A:%.*]]: memref<4xf32>):
// CHECK-NEXT:       %part = launch.at %y[%i]
// CHECK-NEXT:       launch.kernel @sort([[A]]) -> (%part)
// CHECK-NEXT:       launch.yield %part : memref<4xf32>

// -----

// The memory of a carry is another's too after the loop: it must not be written, so the loop stays as it is.
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @used_afterwards(%0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %x = launch.alloc input 0 : memref<4xf32>
    %y = launch.alloc output 0 : memref<4xf32>
    %z = launch.alloc output 1 : memref<4xf32>
    %c = launch.alloc arena : memref<4xf32>
    launch.kernel @copy(%x) -> (%c) schedule "copy" : (memref<4xf32>) -> (memref<4xf32>)
    %r = launch.for 3 (%c) : (memref<4xf32>) {
    ^bb0(%i: index, %a: memref<4xf32>):
      %n = launch.alloc arena : memref<4xf32>
      launch.kernel @neg(%a) -> (%n) inplace [[0, 0]] schedule "neg" : (memref<4xf32>) -> (memref<4xf32>)
      launch.yield %n : memref<4xf32>
    }
    launch.kernel @copy(%r) -> (%y) schedule "copy" : (memref<4xf32>) -> (memref<4xf32>)
    launch.kernel @copy(%c) -> (%z) schedule "copy" : (memref<4xf32>) -> (memref<4xf32>)
    launch.return %y, %z : memref<4xf32>, memref<4xf32>
  }
}

// CHECK-LABEL: func.func @used_afterwards
//      CHECK:     %r = launch.for 3 (%c) : (memref<4xf32>) {
// CHECK-NEXT:     ^bb0(%i: index, %a: memref<4xf32>):
// CHECK-NEXT:       %n = launch.alloc arena : memref<4xf32>
// CHECK-NEXT:       launch.kernel @neg(%a) -> (%n)
// CHECK-NEXT:       launch.yield %n : memref<4xf32>

// -----

// A second kernel reads the carry after the first one that writes its successor: not in place, although that kernel could be.
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @read_again(%0: tensor<4xf32>) -> tensor<4xf32> {
    %x = launch.alloc input 0 : memref<4xf32>
    %y = launch.alloc output 0 : memref<4xf32>
    %s = launch.alloc arena : memref<4xf32>
    %c = launch.alloc arena : memref<4xf32>
    launch.kernel @copy(%x) -> (%c) schedule "copy" : (memref<4xf32>) -> (memref<4xf32>)
    %r = launch.for 3 (%c) : (memref<4xf32>) {
    ^bb0(%i: index, %a: memref<4xf32>):
      %n = launch.alloc arena : memref<4xf32>
      launch.kernel @neg(%a) -> (%n) inplace [[0, 0]] schedule "neg" : (memref<4xf32>) -> (memref<4xf32>)
      launch.kernel @max(%a) -> (%s) schedule "max" : (memref<4xf32>) -> (memref<4xf32>)
      launch.yield %n : memref<4xf32>
    }
    launch.kernel @add(%r, %s) -> (%y) schedule "add" : (memref<4xf32>, memref<4xf32>) -> (memref<4xf32>)
    launch.return %y : memref<4xf32>
  }
}

// CHECK-LABEL: func.func @read_again
//      CHECK:       launch.kernel @neg([[A:%.*]]) -> ([[B:%.*]]) inplace
// CHECK-NEXT:       launch.kernel @max([[A]]) -> (%s)
// CHECK-NEXT:       launch.yield [[B]], [[A]] : memref<4xf32>, memref<4xf32>

// -----

// What an inner loop ends in may be the carry itself: a kernel that reads it, and not place by place, does not write over it.
builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @through_an_inner_loop(%0: tensor<4xf32>) -> tensor<4xf32> {
    %x = launch.alloc input 0 : memref<4xf32>
    %y = launch.alloc output 0 : memref<4xf32>
    %c = launch.alloc arena : memref<4xf32>
    launch.kernel @copy(%x) -> (%c) schedule "copy" : (memref<4xf32>) -> (memref<4xf32>)
    %r = launch.for 3 (%c) : (memref<4xf32>) {
    ^bb0(%i: index, %a: memref<4xf32>):
      %t = launch.alloc arena : memref<4xf32>
      launch.kernel @neg(%a) -> (%t) schedule "neg" : (memref<4xf32>) -> (memref<4xf32>)
      %u = launch.for 2 (%t) : (memref<4xf32>) {
      ^bb1(%j: index, %b: memref<4xf32>):
        launch.yield %a : memref<4xf32>
      }
      %n = launch.alloc arena : memref<4xf32>
      launch.kernel @reverse(%u) -> (%n) schedule "reverse" : (memref<4xf32>) -> (memref<4xf32>)
      launch.yield %n : memref<4xf32>
    }
    launch.kernel @copy(%r) -> (%y) schedule "copy" : (memref<4xf32>) -> (memref<4xf32>)
    launch.return %y : memref<4xf32>
  }
}

// CHECK-LABEL: func.func @through_an_inner_loop
//      CHECK:     ^bb0(%i: index, [[A:%.*]]: memref<4xf32>, [[B:%.*]]: memref<4xf32>):
//      CHECK:       [[U:%.*]] = launch.for 2 (%t) : (memref<4xf32>) {
//      CHECK:         launch.yield [[A]] : memref<4xf32>
//      CHECK:       launch.kernel @reverse([[U]]) -> ([[B]])
// CHECK-NEXT:       launch.yield [[B]], [[A]] : memref<4xf32>, memref<4xf32>
