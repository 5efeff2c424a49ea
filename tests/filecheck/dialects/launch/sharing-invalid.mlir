// RUN: mind-opt %s --print-diagnostics --split-input-file | filecheck %s

// One branch writes the new memory before it has read the old.
func.func @branch_out_of_order(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = launch.alloc input 0 : memref<i1>
  %1 = launch.alloc input 1 : memref<4xf32>
  %2 = launch.alloc arena at 0 : memref<4xf32>
  launch.kernel @k(%1) -> (%2) schedule "k" : (memref<4xf32>) -> (memref<4xf32>)
  %3 = launch.alloc arena at 0 : memref<4xf32>
  %4 = launch.alloc output 0 : memref<4xf32>
  launch.if %0 : memref<i1> -> () {
    launch.kernel @k(%2) -> (%3) inplace [[0, 0]] schedule "k" : (memref<4xf32>) -> (memref<4xf32>)
    launch.kernel @fill() -> (%4) schedule "fill" : () -> (memref<4xf32>)
    launch.yield
  } else {
    launch.kernel @fill() -> (%3) schedule "fill" : () -> (memref<4xf32>)
    launch.kernel @k(%2) -> (%4) schedule "k" : (memref<4xf32>) -> (memref<4xf32>)
    launch.yield
  }
  launch.kernel @k(%3) -> (%4) schedule "k" : (memref<4xf32>) -> (memref<4xf32>)
  launch.return %4 : memref<4xf32>
}
// CHECK: error[E9102]: launch.alloc: bytes 0 to 16 of arena is in use by an allocation of arena of type memref<4xf32>

// -----

// The old memory is read after the branch.
func.func @read_after_the_branch(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
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
  launch.kernel @k(%2, %3) -> (%4) schedule "k" : (memref<4xf32>, memref<4xf32>) -> (memref<4xf32>)
  launch.return %4 : memref<4xf32>
}
// CHECK: error[E9102]: launch.alloc: bytes 0 to 16 of arena is in use by an allocation of arena of type memref<4xf32>

// -----

// Two temporaries in one donated input, in use at a time.
func.func @over_one_input(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = launch.alloc input 0 donated : memref<4xf32>
  %1 = launch.alloc arena over %0 : memref<4xf32>
  %2 = launch.alloc output 0 over %0 : memref<4xf32>
  launch.kernel @k(%0) -> (%1) inplace [[0, 0]] schedule "k" : (memref<4xf32>) -> (memref<4xf32>)
  launch.kernel @fill() -> (%2) schedule "fill" : () -> (memref<4xf32>)
  launch.kernel @k(%1, %2) -> (%2) inplace [[0, 1]] schedule "k" : (memref<4xf32>, memref<4xf32>) -> (memref<4xf32>)
  launch.return %2 : memref<4xf32>
}
// CHECK: error[E9102]: launch.alloc: memory of a donated input is in use by an allocation of arena of type memref<4xf32>

// -----

// A carry that is only read, of memory that the loop writes by another name.
func.func @written_by_another_name(%x: tensor<4xf32>) {
  %0 = launch.alloc arena : memref<4xf32>
  launch.kernel @fill() -> (%0) schedule "fill" : () -> (memref<4xf32>)
  %1 = launch.alloc arena : memref<4xf32>
  %2 = launch.for 3 (%0) : (memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32>):
    launch.kernel @k(%a) -> (%1) schedule "k" : (memref<4xf32>) -> (memref<4xf32>)
    launch.kernel @k(%1) -> (%0) schedule "k" : (memref<4xf32>) -> (memref<4xf32>)
    launch.yield %a : memref<4xf32>
  }
  launch.return
}
// CHECK: error[E9102]: launch.for: {{.*}}carry

// -----

// Slices of one iteration and of the one before, which overlap.
func.func @overlapping_slices(%x: tensor<4xf32>) {
  %0 = launch.alloc input 0 : memref<4xf32>
  %1 = launch.alloc arena : memref<8xf32>
  %2 = launch.view %1 : memref<8xf32> to memref<3x4xf32, strided<[2, 1]>>
  %3 = launch.for 3 (%0) : (memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32>):
    %4 = launch.at %2[%i] : memref<3x4xf32, strided<[2, 1]>> to memref<4xf32>
    launch.kernel @k(%a) -> (%4) schedule "k" : (memref<4xf32>) -> (memref<4xf32>)
    launch.yield %4 : memref<4xf32>
  }
  launch.return
}
// CHECK: error[E9102]: launch.kernel: write 0 lies in memory of read 0

// -----

// After two iterations it is the temporary.
func.func @rotated_once_too_often() -> tensor<4xf32> {
  %0 = launch.alloc arena : memref<4xf32>
  launch.kernel @fill() -> (%0) schedule "fill" : () -> (memref<4xf32>)
  %1 = launch.alloc output 0 : memref<4xf32>
  %2, %3 = launch.for 2 (%0, %1) : (memref<4xf32>, memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32>, %b: memref<4xf32>):
    launch.kernel @k(%a) -> (%b) schedule "k" : (memref<4xf32>) -> (memref<4xf32>)
    launch.yield %b, %a : memref<4xf32>, memref<4xf32>
  }
  launch.return %2 : memref<4xf32>
}
// CHECK: error[E2001]: launch.return: result 0 is memref<4xf32>, expected an allocation in output or host, or a donated input

// -----

// A kernel that writes nothing and reports nothing.
func.func @for_nothing(%x: tensor<4xf32>) {
  %0 = launch.alloc input 0 : memref<4xf32>
  launch.kernel @nothing(%0) -> () schedule "nothing" : (memref<4xf32>) -> ()
  launch.return
}
// CHECK: error[E2007]: launch.kernel: writes 0 values, expected at least 1

// -----

// What an inner loop ends in may be the memory that is written.
func.func @through_an_inner_loop(%0: tensor<4xf32>) -> tensor<4xf32> {
  %x = launch.alloc input 0 : memref<4xf32>
  %y = launch.alloc output 0 : memref<4xf32>
  %c = launch.alloc arena : memref<4xf32>
  %t = launch.alloc arena : memref<4xf32>
  launch.kernel @copy(%x) -> (%c) schedule "copy" : (memref<4xf32>) -> (memref<4xf32>)
  launch.for 3 () : () {
  ^bb0(%i: index):
    launch.kernel @neg(%c) -> (%t) schedule "neg" : (memref<4xf32>) -> (memref<4xf32>)
    %u = launch.for 2 (%t) : (memref<4xf32>) {
    ^bb1(%j: index, %b: memref<4xf32>):
      launch.yield %c : memref<4xf32>
    }
    launch.kernel @reverse(%u) -> (%c) schedule "reverse" : (memref<4xf32>) -> (memref<4xf32>)
    launch.yield
  }
  launch.kernel @copy(%c) -> (%y) schedule "copy" : (memref<4xf32>) -> (memref<4xf32>)
  launch.return %y : memref<4xf32>
}
// CHECK: error[E9102]: launch.kernel: write 0 lies in memory of read 0
