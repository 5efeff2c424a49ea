// RUN: PTIR_INVALID

// An encoding names each dynamic dimension and holds * for the others; one without names is absent.
// CHECK: error[E2001]: neg %a: encoding of tensor<?x4xf32, "B">: expected a string with a name or expression for each dynamic dimension and * for the others, or no encoding without names
// CHECK: = note: TypeError
func.func @too_few_names(%x: tensor<?x4xf32, "B">) {
  %a = ptir.neg %x : tensor<?x4xf32, "B">
  func.return
}

// -----

// CHECK: error[E2001]: neg %a: encoding of tensor<?x4xf32, "B,C">: expected a string with a name or expression for each dynamic dimension and * for the others, or no encoding without names
// CHECK: = note: TypeError
func.func @name_of_a_static_dimension(%x: tensor<?x4xf32, "B,C">) {
  %a = ptir.neg %x : tensor<?x4xf32, "B,C">
  func.return
}

// -----

// CHECK: error[E2001]: neg %a: encoding of tensor<?x4xf32, "*,*">: expected a string with a name or expression for each dynamic dimension and * for the others, or no encoding without names
// CHECK: = note: TypeError
func.func @no_names(%x: tensor<?x4xf32, "*,*">) {
  %a = ptir.neg %x : tensor<?x4xf32, "*,*">
  func.return
}

// -----

// CHECK: error[E2001]: neg %a: encoding of tensor<?xf32, "2B">: dimension '2B': expected an operator at column 1; expected an expression of names such as P+T
// CHECK: = note: TypeError
func.func @no_name(%x: tensor<?xf32, "2B">) {
  %a = ptir.neg %x : tensor<?xf32, "2B">
  func.return
}

// -----

// CHECK: error[E2001]: neg %a: encoding of tensor<4xf32, 3 : i32>: expected a string with a name or expression for each dynamic dimension and * for the others, or no encoding without names
// CHECK: = note: TypeError
func.func @encoding_of_another_kind(%x: tensor<4xf32, 3 : i32>) {
  %a = ptir.neg %x : tensor<4xf32, 3 : i32>
  func.return
}

// -----

// CHECK: error[E2001]: neg %a: expected a tensor, found tensor<*xf32>
// CHECK: = note: TypeError
func.func @unranked(%x: tensor<*xf32>) {
  %a = ptir.neg %x : tensor<*xf32>
  func.return
}

// -----

// Equal names are equal sizes; a result is as named as what it comes from.
// CHECK: error[E3001]: add %a: shapes ['B', 3] and ['B', 4] differ at dimension 1: 3 and 4; broadcast_to makes them equal
// CHECK: = note: ShapeError
func.func @sizes_differ(%x: tensor<?x3xf32, "B,*">, %y: tensor<?x4xf32, "B,*">) {
  %a = ptir.add %x, %y : (tensor<?x3xf32, "B,*">, tensor<?x4xf32, "B,*">) -> tensor<?x3xf32, "B,*">
  func.return
}

// -----

// CHECK: error[E4015]: neg %a: declared result tensor<?xf32>, inferred tensor<?xf32, "B">
// CHECK: = note: VerificationError
func.func @result_forgets_a_name(%x: tensor<?xf32, "B">) {
  %a = ptir.neg %x : tensor<?xf32, "B"> -> tensor<?xf32>
  func.return
}

// -----

// CHECK: error[E4015]: neg %a: declared result tensor<?xf32, "B">, inferred tensor<3xf32>
// CHECK: = note: VerificationError
func.func @result_forgets_a_size(%x: tensor<3xf32>) {
  %a = ptir.neg %x : tensor<3xf32> -> tensor<?xf32, "B">
  func.return
}

// -----

// CHECK: error[E4015]: neg %a: declared result tensor<?xf32, "C">, inferred tensor<?xf32, "B">
// CHECK: = note: VerificationError
func.func @result_renames(%x: tensor<?xf32, "B">) {
  %a = ptir.neg %x : tensor<?xf32, "B"> -> tensor<?xf32, "C">
  func.return
}

// -----

// A property may use a name that an input or an earlier value has.
// CHECK: error[E8001]: ptir.broadcast_to: result_shape uses the dimension name B, which no input and no earlier value has
// CHECK: = note: DynamicDimensionMismatch
func.func @unbound_name(%x: tensor<4xf32>) {
  %a = ptir.broadcast_to %x result_shape = [B, 4] : tensor<4xf32> -> tensor<?x4xf32, "B,*">
  func.return
}

// -----

// CHECK: error[E8001]: ptir.broadcast_to: result_shape uses the dimension name T, which no input and no earlier value has
// CHECK: = note: DynamicDimensionMismatch
func.func @bound_too_late(%x: tensor<4xf32>, %u: tensor<?x2xf32>) {
  %a = ptir.broadcast_to %x result_shape = [T, 4] : tensor<4xf32> -> tensor<?x4xf32, "T,*">
  %b = ptir.reshape %u new_shape = [-1] : tensor<?x2xf32> -> tensor<?xf32, "T">
  func.return
}

// -----

// A literal and a window have sizes.
// CHECK: error[E8001]: ptir.broadcast_to: result_shape uses the dimension name ?, which no input and no earlier value has
// CHECK: = note: DynamicDimensionMismatch
func.func @unknown_extent(%x: tensor<?xf32>) {
  %a = "ptir.broadcast_to"(%x) <{result_shape = ["?"]}> : (tensor<?xf32>) -> tensor<?xf32>
  func.return
}

// -----

// CHECK: error[E2001]: neg %a: encoding of tensor<?xf32, "T+P">: dimension 'T+P', expected its canonical text, P+T
// CHECK: = note: TypeError
func.func @another_spelling(%x: tensor<?xf32, "T+P">) {
  %a = ptir.neg %x : tensor<?xf32, "T+P">
  func.return
}

// -----

// CHECK: error[E2001]: neg %a: encoding of tensor<?xf32, "T-T+4">: dimension 'T-T+4' is the size 4, which belongs in the shape
// CHECK: = note: TypeError
func.func @an_expression_of_one_size(%x: tensor<?xf32, "T-T+4">) {
  %a = ptir.neg %x : tensor<?xf32, "T-T+4">
  func.return
}

// -----

// CHECK: error[E2001]: neg %a: encoding of tensor<?xf32, "B floordiv T">: dimension 'B floordiv T': a quotient by names, which may be 0, expected one by a number, at column 0; expected an expression of names such as P+T
// CHECK: = note: TypeError
func.func @a_quotient_without_value(%x: tensor<?xf32, "B floordiv T">) {
  %a = ptir.neg %x : tensor<?xf32, "B floordiv T">
  func.return
}

// -----

// CHECK: error[E4015]: concat %a: declared result tensor<?xf32, "P+T+1">, inferred tensor<?xf32, "P+T">
// CHECK: = note: VerificationError
func.func @never_that_size(%x: tensor<?xf32, "P">, %y: tensor<?xf32, "T">) {
  %a = ptir.concat %x, %y axis = 0 : (tensor<?xf32, "P">, tensor<?xf32, "T">) -> tensor<?xf32, "P+T+1">
  func.return
}

// -----

// CHECK: error[E3001]: add %a: shapes ['T'] and ['T+1'] differ at dimension 0: T and T+1; broadcast_to makes them equal
// CHECK: = note: ShapeError
func.func @never_equal(%x: tensor<?xf32, "T">, %y: tensor<?xf32, "T+1">) {
  %a = ptir.add %x, %y : (tensor<?xf32, "T">, tensor<?xf32, "T+1">) -> tensor<?xf32, "T">
  func.return
}

// -----

// CHECK: error[E3007]: reshape %a: cannot reshape ['2*B'] to ['2*B+1']: 2*B elements to 2*B+1
// CHECK: = note: ShapeError
func.func @never_as_many(%b: tensor<?xf32, "B">, %x: tensor<?xf32, "2*B">) {
  %a = ptir.reshape %x new_shape = ["2*B+1"] : tensor<?xf32, "2*B"> -> tensor<?xf32, "2*B+1">
  func.return
}

// -----

// CHECK: error[E8001]: ptir.broadcast_to: result_shape uses the dimension name P, which no input and no earlier value has
// CHECK: = note: DynamicDimensionMismatch
func.func @a_name_in_an_expression_without_a_size(%x: tensor<?xf32, "T">) {
  %a = ptir.broadcast_to %x result_shape = ["P+T"] : tensor<?xf32, "T"> -> tensor<?xf32, "P+T">
  func.return
}

// -----

// A part that is outside for all sizes is refused here; what depends on sizes the run checks.
// CHECK: error[E4012]: slice %a: slice N-2 + 3 = N+1 at dimension 0 of extent N, expected start + size <= N
// CHECK: = note: VerificationError
func.func @slice_beyond(%x: tensor<?xf32, "N">) {
  %a = ptir.slice %x starts = ["N-2"] sizes = [3] : tensor<?xf32, "N"> -> tensor<3xf32>
  func.return
}

// -----

// CHECK: error[E4012]: slice %a: slice 0 + -N-1 at dimension 0 holds -N-1, expected non-negative numbers
// CHECK: = note: VerificationError
func.func @slice_of_a_negative_size(%x: tensor<?xf32, "N">) {
  %a = "ptir.slice"(%x) <{starts = array<i64: 0>, sizes = ["-N-1"]}> : (tensor<?xf32, "N">) -> tensor<?xf32, "-N-1">
  func.return
}

// -----

// CHECK: error[E4012]: strided_slice %a: slice 1:N+1 at dimension 0 of extent N, expected 0 <= start <= limit <= N
// CHECK: = note: VerificationError
func.func @strided_slice_beyond(%x: tensor<?xf32, "N">) {
  %a = ptir.strided_slice %x starts = [1] limits = ["N+1"] strides = [2] : tensor<?xf32, "N"> -> tensor<?xf32, "N ceildiv 2">
  func.return
}

// -----

// CHECK: error[E8002]: pad %a: low ['-N-1'] holds -N-1, expected at least 0
// CHECK: = note: InvalidAttributeValue
func.func @negative_edge(%x: tensor<?xf32, "N">) {
  %a = ptir.pad %x low = ["-N-1"] high = [0] interior = [0] pad_value = 0.0 : f32 : tensor<?xf32, "N"> -> tensor<?xf32, "N">
  func.return
}

// -----

// CHECK: error[E8001]: ptir.slice: starts uses the dimension name P, which no input and no earlier value has
// CHECK: = note: DynamicDimensionMismatch
func.func @start_without_a_size(%x: tensor<?xf32, "N">) {
  %a = ptir.slice %x starts = [P] sizes = [0] : tensor<?xf32, "N"> -> tensor<0xf32>
  func.return
}

// -----

// CHECK: error[E8001]: ptir.top_k: k uses the dimension name P, which no input and no earlier value has
// CHECK: = note: DynamicDimensionMismatch
func.func @count_without_a_size(%x: tensor<?xf32, "N">) {
  %a, %b = ptir.top_k %x k = P axis = 0 largest = true indices_dtype = si32 : tensor<?xf32, "N"> -> (tensor<?xf32, "P">, tensor<?xsi32, "P">)
  func.return
}

// -----

// CHECK: error[E8002]: top_k %a: k N+1 along an axis of extent N, expected 0 to N
// CHECK: = note: InvalidAttributeValue
func.func @count_beyond(%x: tensor<?xf32, "N">) {
  %a, %b = ptir.top_k %x k = "N+1" axis = 0 largest = true indices_dtype = si32 : tensor<?xf32, "N"> -> (tensor<?xf32, "N+1">, tensor<?xsi32, "N+1">)
  func.return
}

// -----

// CHECK: error[E4012]: dynamic_slice %a: a window of N+1 at dimension 0 of extent N, expected 0 to N
// CHECK: = note: VerificationError
func.func @window_beyond(%x: tensor<?xf32, "N">, %s: tensor<1xsi32>) {
  %a = ptir.dynamic_slice %x, %s sizes = ["N+1"] : (tensor<?xf32, "N">, tensor<1xsi32>) -> tensor<?xf32, "N+1">
  func.return
}

// -----

// CHECK: error[E4015]: slice %a: declared result tensor<?xf32, "N-1">, inferred tensor<?xf32, "N-2">
// CHECK: = note: VerificationError
func.func @result_of_another_size(%x: tensor<?xf32, "N">) {
  %a = ptir.slice %x starts = [2] sizes = ["N-2"] : tensor<?xf32, "N"> -> tensor<?xf32, "N-1">
  func.return
}

// -----

// CHECK: error[E8002]: tile %a: repeats ['-N-1'] holds -N-1, expected at least 0
// CHECK: = note: InvalidAttributeValue
func.func @repeats_below_0(%x: tensor<?xf32, "N">) {
  %a = ptir.tile %x repeats = ["-N-1"] : tensor<?xf32, "N"> -> tensor<?xf32, "-N*N-N">
  func.return
}

// -----

// CHECK: error[E8002]: segment_reduce %a: num_segments ['-N-1'] holds -N-1, expected at least 0
// CHECK: = note: InvalidAttributeValue
func.func @segments_below_0(%x: tensor<?xf32, "N">, %ids: tensor<?xsi32, "N">) {
  %a = ptir.segment_reduce %x, %ids kind = sum num_segments = "-N-1" indices_are_sorted = false unique = false : (tensor<?xf32, "N">, tensor<?xsi32, "N">) -> tensor<0xf32>
  func.return
}
