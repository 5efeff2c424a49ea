// RUN: mind-opt %s --print-diagnostics --split-input-file | filecheck %s

func.func @space() {
  %0 = "launch.alloc"() <{space = "heap"}> : () -> memref<2xf32>
  launch.return
}
// CHECK: error[E8002]: launch.alloc: found "heap", expected one of arena, input, output, constant, kept, record, state, host

// -----

func.func @no_number() {
  %0 = launch.alloc output : memref<2xf32>
  launch.return
}
// CHECK: error[E8002]: launch.alloc: index is absent, expected a number from 0 up exactly for constant, input, kept, output

// -----

func.func @number_of_a_temporary() {
  %0 = launch.alloc arena 0 : memref<2xf32>
  launch.return
}
// CHECK: error[E8002]: launch.alloc: index is 0 : i64, expected a number

// -----

func.func @strides_of_an_allocation() {
  %0 = launch.alloc arena : memref<2x3xf32, strided<[1, 2]>>
  launch.return
}
// CHECK: error[E2001]: launch.alloc: allocates memref<2x3xf32, strided<[1, 2]>>, expected row-major

// -----

func.func @offset_in_a_type() {
  %0 = launch.alloc arena : memref<2xf32, strided<[1], offset: 3>>
  launch.return
}
// CHECK: error[E2001]: launch.alloc: found memref<2xf32, strided<[1], offset: 3>>, expected static extents, and strides for each

// -----

func.func @no_size() {
  %0 = launch.alloc arena : memref<?xf32>
  launch.return
}
// CHECK: error[E2001]: launch.alloc: found memref<?xf32>, expected static extents

// -----

func.func @foreign_element() {
  %0 = launch.alloc arena : memref<2xi7>
  launch.return
}
// CHECK: error[E2005]: launch.alloc

// -----

func.func @unaligned() {
  %0 = launch.alloc arena at 8 align 64 : memref<2xf32>
  launch.return
}
// CHECK: error[E8002]: launch.alloc: at is 8 : i64, expected a multiple of 64 from 0 up, in arena, kept, record, state only

// -----

func.func @offset_of_an_input(%x: tensor<2xf32>) {
  %0 = launch.alloc input 0 at 0 : memref<2xf32>
  launch.return
}
// CHECK: error[E8002]: launch.alloc: at is 0 : i64, expected a multiple of 1

// -----

func.func @constant_without_a_literal() {
  %0 = launch.alloc constant 0 : memref<2xf32>
  launch.return
}
// CHECK: error[E8002]: launch.alloc: literal is absent, expected a literal exactly for constants

// -----

func.func @literal_of_another_type() {
  %0 = launch.alloc constant 0 literal fill 1.0 : tensor<3xf32> : memref<2xf32>
  launch.return
}
// CHECK: error[E2001]: launch.alloc: literal tensor<3xf32>, expected tensor<2xf32>

// -----

func.func @donated_temporary() {
  %0 = launch.alloc arena donated : memref<2xf32>
  launch.return
}
// CHECK: error[E8002]: launch.alloc: donated is unit, expected nothing but inputs to be donated

// -----

func.func @over_what_is_not_donated(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = launch.alloc input 0 : memref<2xf32>
  %1 = launch.alloc output 0 over %0 : memref<2xf32>
  launch.return %1 : memref<2xf32>
}
// CHECK: error[E8002]: launch.alloc: output over memref<2xf32>, expected an output or a temporary over a donated input with as many elements of its dtype

// -----

func.func @view_outside(%x: tensor<4xf32>) {
  %0 = launch.alloc input 0 : memref<4xf32>
  %1 = launch.view %0 offset 2 : memref<4xf32> to memref<3xf32>
  launch.return
}
// CHECK: error[E4012]: launch.view: reaches elements 2 to 4 of its source, expected all in 0 to 3

// -----

func.func @reversed_view_outside(%x: tensor<4xf32>) {
  %0 = launch.alloc input 0 : memref<4xf32>
  %1 = launch.view %0 offset 2 : memref<4xf32> to memref<4xf32, strided<[-1]>>
  launch.return
}
// CHECK: error[E4012]: launch.view: reaches elements -1 to 2 of its source, expected all in 0 to 3

// -----

func.func @view_as_another_size(%x: tensor<4xf32>) {
  %0 = launch.alloc input 0 : memref<4xf32>
  %1 = launch.view %0 : memref<4xf32> to memref<4xf64>
  launch.return
}
// CHECK: error[E2004]: launch.view: views f32 as f64, expected a dtype whose size divides 4 bytes

// -----

func.func @imaginary_parts_outside(%x: tensor<4xcomplex<f32>>) {
  %0 = launch.alloc input 0 : memref<4xcomplex<f32>>
  %1 = launch.view %0 offset 1 : memref<4xcomplex<f32>> to memref<4xf32, strided<[2]>>
  %2 = launch.view %0 offset 2 : memref<4xcomplex<f32>> to memref<4xf32, strided<[2]>>
  launch.return
}
// CHECK: error[E4012]: launch.view: reaches elements 2 to 8 of its source, expected all in 0 to 7

// -----

func.func @copy_of_other_extents(%x: tensor<4xf32>) -> tensor<2xf32> {
  %0 = launch.alloc input 0 : memref<4xf32>
  %1 = launch.alloc output 0 : memref<2xf32>
  launch.copy %0 to %1 : memref<4xf32> to memref<2xf32>
  launch.return %1 : memref<2xf32>
}
// CHECK: error[E3003]: launch.copy: copies (4,) to (2,)

// -----

func.func @copy_to_one_place(%x: tensor<4xf32>) -> tensor<1xf32> {
  %0 = launch.alloc input 0 : memref<4xf32>
  %1 = launch.alloc output 0 : memref<1xf32>
  %2 = launch.view %1 : memref<1xf32> to memref<4xf32, strided<[0]>>
  launch.copy %0 to %2 : memref<4xf32> to memref<4xf32, strided<[0]>>
  launch.return %1 : memref<1xf32>
}
// CHECK: error[E8002]: launch.copy: target has strides (0,) for extents (4,), expected none to be 0

// -----

func.func @copy_onto_itself(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = launch.alloc input 0 : memref<4xf32>
  %1 = launch.alloc output 0 : memref<4xf32>
  launch.copy %0 to %1 : memref<4xf32> to memref<4xf32>
  %2 = launch.view %1 : memref<4xf32> to memref<2xf32>
  %3 = launch.view %1 offset 1 : memref<4xf32> to memref<2xf32>
  launch.copy %2 to %3 : memref<2xf32> to memref<2xf32>
  launch.return %1 : memref<4xf32>
}
// CHECK: error[E9102]: launch.copy: write 0 lies in memory of read 0

// -----

func.func @unknown_function(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = launch.alloc input 0 : memref<4xf32>
  %1 = launch.alloc output 0 : memref<4xf32>
  launch.call "os.system"(%0) -> (%1) : (memref<4xf32>) -> (memref<4xf32>)
  launch.return %1 : memref<4xf32>
}
// CHECK: error[E4000]: launch.call: unknown function 'os.system', expected one of

// -----

func.func @pair_of_nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = launch.alloc input 0 : memref<4xf32>
  %1 = launch.alloc output 0 : memref<4xf32>
  launch.call "xp.exp"(%0) -> (%1) inplace [[0, 1]] : (memref<4xf32>) -> (memref<4xf32>)
  launch.return %1 : memref<4xf32>
}
// CHECK: error[E8002]: launch.call: inplace is array<i64: 0, 1>, expected numbers below 1 of writes and 1 of reads

// -----

func.func @update_without_a_pair() -> tensor<4xf32> {
  %0 = launch.alloc constant 0 literal fill 1.0 : tensor<4xf32> : memref<4xf32>
  %1 = launch.alloc output 0 : memref<4xf32>
  launch.copy %0 to %1 : memref<4xf32> to memref<4xf32>
  launch.call "xp.exp"(%1) -> (%1) : (memref<4xf32>) -> (memref<4xf32>)
  launch.return %1 : memref<4xf32>
}
// CHECK: error[E8002]: launch.call: write 0 is read 0, expected [0, 0] in inplace

// -----

func.func @written_twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = launch.alloc input 0 : memref<4xf32>
  %1 = launch.alloc output 0 : memref<4xf32>
  launch.kernel @k(%0) -> (%1, %1) schedule "s" : (memref<4xf32>) -> (memref<4xf32>, memref<4xf32>)
  launch.return %1 : memref<4xf32>
}
// CHECK: error[E8002]: launch.kernel: writes one value twice

// -----

func.func @nothing_to_run(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = launch.alloc input 0 : memref<4xf32>
  %1 = launch.alloc output 0 : memref<4xf32>
  launch.kernel @k(%0) -> (%1) : (memref<4xf32>) -> (memref<4xf32>)
  launch.return %1 : memref<4xf32>
}
// CHECK: error[E8005]: launch.kernel: has neither a body nor a schedule

// -----

func.func @body_of_other_types(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = launch.alloc input 0 : memref<4xf32>
  %1 = launch.alloc output 0 : memref<4xf32>
  launch.kernel @k(%0) -> (%1) : (memref<4xf32>) -> (memref<4xf32>) {
  ^bb0(%a: tensor<2xf32>):
    launch.yield %a : tensor<2xf32>
  }
  launch.return %1 : memref<4xf32>
}
// CHECK: error[E8005]: launch.kernel: region body takes ['tensor<2xf32>'], expected ['tensor<4xf32>']

// -----

func.func @write_to_an_input(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = launch.alloc input 0 : memref<4xf32>
  %1 = launch.alloc output 0 : memref<4xf32>
  launch.copy %0 to %1 : memref<4xf32> to memref<4xf32>
  launch.call "xp.exp"(%0) -> (%0) inplace [[0, 0]] : (memref<4xf32>) -> (memref<4xf32>)
  launch.return %1 : memref<4xf32>
}
// CHECK: error[E9103]: launch.call: write 0 is memory of input 0, expected a donated input, or memory of another space

// -----

func.func @write_to_a_constant() -> tensor<4xf32> {
  %0 = launch.alloc constant 0 literal fill 1.0 : tensor<4xf32> : memref<4xf32>
  %1 = launch.alloc output 0 : memref<4xf32>
  launch.copy %0 to %1 : memref<4xf32> to memref<4xf32>
  launch.copy %1 to %0 : memref<4xf32> to memref<4xf32>
  launch.return %1 : memref<4xf32>
}
// CHECK: error[E9103]: launch.copy: write 0 is memory of constant 0

// -----

func.func @write_to_kept_memory(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = launch.alloc input 0 : memref<4xf32>
  %1 = launch.alloc kept 0 : memref<4xf32>
  %2 = launch.alloc output 0 : memref<4xf32>
  launch.copy %0 to %1 : memref<4xf32> to memref<4xf32>
  launch.copy %1 to %2 : memref<4xf32> to memref<4xf32>
  launch.return %2 : memref<4xf32>
}
// CHECK: error[E9103]: launch.copy: write 0 is memory of kept 0

// -----

func.func @read_before_write() -> tensor<4xf32> {
  %0 = launch.alloc arena : memref<4xf32>
  %1 = launch.alloc output 0 : memref<4xf32>
  launch.call "xp.exp"(%0) -> (%1) : (memref<4xf32>) -> (memref<4xf32>)
  launch.return %1 : memref<4xf32>
}
// CHECK: error[E9101]: launch.call: read 0 is memory that no op before has written

// -----

func.func @result_not_written() -> tensor<4xf32> {
  %0 = launch.alloc output 0 : memref<4xf32>
  launch.return %0 : memref<4xf32>
}
// CHECK: error[E9101]: launch.return: read 0 is memory that no op before has written

// -----

func.func @spare_carry_read(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = launch.alloc input 0 donated : memref<4xf32>
  %1 = launch.alloc arena : memref<4xf32>
  %2 = launch.alloc output 0 : memref<4xf32>
  %3, %4 = launch.for 3 (%0, %1) : (memref<4xf32>, memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32>, %b: memref<4xf32>):
    launch.call "xp.add"(%a, %b) -> (%b) inplace [[0, 1]] : (memref<4xf32>, memref<4xf32>) -> (memref<4xf32>)
    launch.yield %b, %a : memref<4xf32>, memref<4xf32>
  }
  launch.copy %3 to %2 : memref<4xf32> to memref<4xf32>
  launch.return %2 : memref<4xf32>
}
// CHECK: error[E9101]: launch.call: read 1 is memory that no op before has written

// -----

func.func @defined_in_one_branch(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = launch.alloc input 0 : memref<i1>
  %1 = launch.alloc input 1 : memref<4xf32>
  %2 = launch.alloc output 0 : memref<4xf32>
  launch.if %0 : memref<i1> -> () {
    launch.copy %1 to %2 : memref<4xf32> to memref<4xf32>
    launch.yield
  } else {
    launch.yield
  }
  launch.return %2 : memref<4xf32>
}
// CHECK: error[E9101]: launch.return: read 0 is memory that no op before has written

// -----

func.func @one_carry_twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = launch.alloc input 0 donated : memref<4xf32>
  %1 = launch.alloc arena : memref<4xf32>
  %2 = launch.alloc output 0 : memref<4xf32>
  launch.copy %0 to %1 : memref<4xf32> to memref<4xf32>
  %3, %4 = launch.for 3 (%0, %1) : (memref<4xf32>, memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32>, %b: memref<4xf32>):
    launch.call "xp.exp"(%a) -> (%b) : (memref<4xf32>) -> (memref<4xf32>)
    launch.yield %a, %a : memref<4xf32>, memref<4xf32>
  }
  launch.copy %3 to %2 : memref<4xf32> to memref<4xf32>
  launch.return %2 : memref<4xf32>
}
// CHECK: error[E9102]: launch.for: yields one memory as carries 0 and 1, expected memory of its own for each

// -----

func.func @carry_named_inside(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = launch.alloc input 0 donated : memref<4xf32>
  %1 = launch.alloc output 0 : memref<4xf32>
  %2 = launch.for 3 (%0) : (memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32>):
    launch.call "xp.add"(%a, %0) -> (%a) inplace [[0, 0]] : (memref<4xf32>, memref<4xf32>) -> (memref<4xf32>)
    launch.yield %a : memref<4xf32>
  }
  launch.copy %2 to %1 : memref<4xf32> to memref<4xf32>
  launch.return %1 : memref<4xf32>
}
// CHECK: error[E9102]: launch.for: carry 0 is memory that launch.call names during or after the loop

// -----

func.func @slice_past_the_end(%x: tensor<4x2xf32>) {
  %0 = launch.alloc input 0 : memref<4x2xf32>
  launch.for 5 () : () {
  ^bb0(%i: index):
    %1 = launch.at %0[%i] : memref<4x2xf32> to memref<2xf32>
    launch.yield
  }
  launch.return
}
// CHECK: error[E4012]: launch.at: its loop has 5 iterations, axis 0 of its source 4 elements

// -----

func.func @slice_by_another_index(%x: tensor<4x2xf32>) {
  %0 = launch.alloc input 0 : memref<4x2xf32>
  %i = arith.constant 0 : index
  %1 = launch.at %0[%i] : memref<4x2xf32> to memref<2xf32>
  launch.return
}
// CHECK: error[E2001]: launch.at: its index is not an induction variable of launch.for

// -----

func.func @two_in_one_place(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = launch.alloc input 0 : memref<4xf32>
  %1 = launch.alloc arena at 0 : memref<4xf32>
  %2 = launch.alloc arena at 8 : memref<4xf32>
  %3 = launch.alloc output 0 : memref<4xf32>
  launch.copy %0 to %1 : memref<4xf32> to memref<4xf32>
  launch.copy %0 to %2 : memref<4xf32> to memref<4xf32>
  launch.call "xp.add"(%1, %2) -> (%3) : (memref<4xf32>, memref<4xf32>) -> (memref<4xf32>)
  launch.return %3 : memref<4xf32>
}
// CHECK: error[E9102]: launch.alloc: bytes 8 to 24 of arena is in use by an allocation of arena of type memref<4xf32>

// -----

func.func @host_call_in_a_loop(%x: tensor<4xf32>) {
  %0 = launch.alloc input 0 : memref<4xf32>
  %1 = launch.alloc host : memref<4xf32>
  launch.for 5 () : () {
  ^bb0(%i: index):
    launch.host_call @copy(%0) -> (%1) reason "as an example" : (memref<4xf32>) -> (memref<4xf32>) {
    ^bb1(%a: tensor<4xf32>):
      %b = ptir.exp %a : tensor<4xf32>
      launch.yield %b : tensor<4xf32>
    }
    launch.yield
  }
  launch.return
}
// CHECK: error[E9006]: launch.host_call: is in launch.for, expected a function

// -----

func.func @two_inputs_of_one_number(%x: tensor<4xf32>) {
  %0 = launch.alloc input 0 : memref<4xf32>
  %1 = launch.alloc input 0 : memref<4xf32>
  launch.return
}
// CHECK: error[E4002]: launch.alloc: allocates input 0 twice

// -----

func.func @input_of_another_type(%x: tensor<4xf32>) {
  %0 = launch.alloc input 0 : memref<5xf32>
  launch.return
}
// CHECK: error[E2001]: launch.alloc: input 0 is tensor<5xf32>, declared is tensor<4xf32>

// -----

func.func @no_such_input(%x: tensor<4xf32>) {
  %0 = launch.alloc input 1 : memref<4xf32>
  launch.return
}
// CHECK: error[E4004]: launch.alloc: input 1 of a function with 1 inputs

// -----

func.func @returns_a_temporary() -> tensor<4xf32> {
  %0 = launch.alloc arena : memref<4xf32>
  launch.return %0 : memref<4xf32>
}
// CHECK: error[E2001]: launch.return: result 0 is memref<4xf32>, expected an allocation in output or host, or a donated input

// -----

func.func @test_without_a_truth(%x: tensor<4xf32>) {
  %0 = launch.alloc input 0 donated : memref<4xf32>
  %1 = launch.while (%0) : (memref<4xf32>) {
  ^bb0(%a: memref<4xf32>):
    launch.condition %a : memref<4xf32>, %a : memref<4xf32>
  } do {
  ^bb1(%a: memref<4xf32>):
    launch.yield %a : memref<4xf32>
  }
  launch.return
}
// CHECK: error[E2001]: launch.condition: condition is memref<4xf32>, expected memref<i1>

// -----

func.func @nothing_but_scratch(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = launch.alloc input 0 : memref<4xf32>
  %1 = launch.alloc output 0 : memref<4xf32>
  launch.kernel @exp(%0) -> (%1) scratch 1 schedule "none" : (memref<4xf32>) -> (memref<4xf32>)
  launch.return %1 : memref<4xf32>
}
// CHECK: error[E8002]: launch.kernel: scratch is 1 : i64, expected a number from 0 to 0, as 1 arrays are written

// -----

func.func @a_body_that_yields_scratch(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = launch.alloc input 0 : memref<4xf32>
  %1 = launch.alloc output 0 : memref<4xf32>
  %2 = launch.alloc arena : memref<4xf32>
  launch.kernel @exp(%0) -> (%1, %2) scratch 1 : (memref<4xf32>) -> (memref<4xf32>, memref<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %b = ptir.exp %a : tensor<4xf32>
    launch.yield %b, %b : tensor<4xf32>, tensor<4xf32>
  }
  launch.return %1 : memref<4xf32>
}
// CHECK: error[E8005]: launch.kernel: region body yields ['tensor<4xf32>', 'tensor<4xf32>'], expected ['tensor<4xf32>']

// -----

func.func @arguments_that_no_call_can_have(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = launch.alloc input 0 : memref<4xf32>
  %1 = launch.alloc output 0 : memref<4xf32>
  launch.call "xp.exp"(%0) -> (%1) with {"no name" = 1 : i64} : (memref<4xf32>) -> (memref<4xf32>)
  launch.return %1 : memref<4xf32>
}
// CHECK: error[E4000]: launch.call: argument name 'no name', expected a lower-case identifier

// -----

func.func @read_again_in_another_order(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = launch.alloc input 0 donated : memref<2x2xf32>
  %1 = launch.view %0 : memref<2x2xf32> to memref<2x2xf32, strided<[1, 2]>>
  %2 = launch.alloc output 0 over %0 : memref<2x2xf32>
  launch.kernel @add(%0, %1) -> (%2) inplace [[0, 0]] schedule "none" : (memref<2x2xf32>, memref<2x2xf32, strided<[1, 2]>>) -> (memref<2x2xf32>)
  launch.return %2 : memref<2x2xf32>
}
// CHECK: error[E9102]: launch.alloc: memory of a donated input is in use by an allocation of input of type memref<2x2xf32>
