// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC
// Dimensions are a size, a name or unknown. Names say which sizes are equal, and survive every text.

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

  func.func @elementwise(%x: tensor<?x4xf32, "B,*">, %y: tensor<?x4xf32, "B,*">) -> tensor<?x4xf32, "B,*"> {
    %a = ptir.add %x, %y : tensor<?x4xf32, "B,*">
    func.return %a : tensor<?x4xf32, "B,*">
  }
  // CHECK-LABEL: func.func @elementwise(%x: tensor<?x4xf32, "B,*">, %y: tensor<?x4xf32, "B,*">) -> tensor<?x4xf32, "B,*"> {
  // CHECK-NEXT:  %a = ptir.add %x, %y : tensor<?x4xf32, "B,*">
  // CHECK-NEXT:  func.return %a : tensor<?x4xf32, "B,*">
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "elementwise"
  // GENERIC-NEXT:  ^bb0(%x: tensor<?x4xf32, "B,*">, %y: tensor<?x4xf32, "B,*">):
  // GENERIC-NEXT:  %a = "ptir.add"(%x, %y) : (tensor<?x4xf32, "B,*">, tensor<?x4xf32, "B,*">) -> tensor<?x4xf32, "B,*">

  // Of two dimensions that must be equal the result has the one that says more.
  func.func @meet(%x: tensor<?x?xf32>, %y: tensor<?x?xf32, "B,*">, %z: tensor<?x4xf32, "B,*">) {
    %a = ptir.add %x, %y : (tensor<?x?xf32>, tensor<?x?xf32, "B,*">) -> tensor<?x?xf32, "B,*">
    %b = ptir.add %a, %z : (tensor<?x?xf32, "B,*">, tensor<?x4xf32, "B,*">) -> tensor<?x4xf32, "B,*">
    func.return
  }
  // CHECK-LABEL: func.func @meet(%x: tensor<?x?xf32>, %y: tensor<?x?xf32, "B,*">, %z: tensor<?x4xf32, "B,*">) {
  // CHECK-NEXT:  %a = ptir.add %x, %y : (tensor<?x?xf32>, tensor<?x?xf32, "B,*">) -> tensor<?x?xf32, "B,*">
  // CHECK-NEXT:  %b = ptir.add %a, %z : (tensor<?x?xf32, "B,*">, tensor<?x4xf32, "B,*">) -> tensor<?x4xf32, "B,*">
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "meet"
  // GENERIC-NEXT:  ^bb0(%x: tensor<?x?xf32>, %y: tensor<?x?xf32, "B,*">, %z: tensor<?x4xf32, "B,*">):
  // GENERIC-NEXT:  %a = "ptir.add"(%x, %y) : (tensor<?x?xf32>, tensor<?x?xf32, "B,*">) -> tensor<?x?xf32, "B,*">
  // GENERIC-NEXT:  %b = "ptir.add"(%a, %z) : (tensor<?x?xf32, "B,*">, tensor<?x4xf32, "B,*">) -> tensor<?x4xf32, "B,*">

  // Different names may turn out to be equal sizes; the run says.
  func.func @names_differ(%x: tensor<?xf32, "B">, %y: tensor<?xf32, "C">) {
    %a = ptir.add %x, %y : (tensor<?xf32, "B">, tensor<?xf32, "C">) -> tensor<?xf32, "B">
    func.return
  }
  // CHECK-LABEL: func.func @names_differ(%x: tensor<?xf32, "B">, %y: tensor<?xf32, "C">) {
  // CHECK-NEXT:  %a = ptir.add %x, %y : (tensor<?xf32, "B">, tensor<?xf32, "C">) -> tensor<?xf32, "B">
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "names_differ"
  // GENERIC-NEXT:  ^bb0(%x: tensor<?xf32, "B">, %y: tensor<?xf32, "C">):
  // GENERIC-NEXT:  %a = "ptir.add"(%x, %y) : (tensor<?xf32, "B">, tensor<?xf32, "C">) -> tensor<?xf32, "B">

  // A declared type may give an unknown dimension a name or a size, which the run checks.
  func.func @claim(%x: tensor<?xf32>) {
    %a = ptir.neg %x : tensor<?xf32> -> tensor<?xf32, "N">
    %b = ptir.neg %x : tensor<?xf32> -> tensor<3xf32>
    func.return
  }
  // CHECK-LABEL: func.func @claim(%x: tensor<?xf32>) {
  // CHECK-NEXT:  %a = ptir.neg %x : tensor<?xf32> -> tensor<?xf32, "N">
  // CHECK-NEXT:  %b = ptir.neg %x : tensor<?xf32> -> tensor<3xf32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "claim"
  // GENERIC-NEXT:  ^bb0(%x: tensor<?xf32>):
  // GENERIC-NEXT:  %a = "ptir.neg"(%x) : (tensor<?xf32>) -> tensor<?xf32, "N">
  // GENERIC-NEXT:  %b = "ptir.neg"(%x) : (tensor<?xf32>) -> tensor<3xf32>

  // What one text calls a shape holds names.
  func.func @stated(%x: tensor<4xf32>, %b: tensor<?xf32, "B">) {
    %a = ptir.broadcast_to %x result_shape = [B, 4] : tensor<4xf32> -> tensor<?x4xf32, "B,*">
    %c = ptir.reshape %a new_shape = [B, 2, -1] : tensor<?x4xf32, "B,*"> -> tensor<?x2x2xf32, "B,*,*">
    %d = ptir.iota shape = [B] dtype = si32 axis = 0 : tensor<?xsi32, "B">
    %e = ptir.rng_uniform shape = [2, B] dtype = f32 : tensor<2x?xf32, "*,B">
    func.return
  }
  // CHECK-LABEL: func.func @stated(%x: tensor<4xf32>, %b: tensor<?xf32, "B">) {
  // CHECK-NEXT:  %a = ptir.broadcast_to %x result_shape = [B, 4] : tensor<4xf32> -> tensor<?x4xf32, "B,*">
  // CHECK-NEXT:  %c = ptir.reshape %a new_shape = [B, 2, -1] : tensor<?x4xf32, "B,*"> -> tensor<?x2x2xf32, "B,*,*">
  // CHECK-NEXT:  %d = ptir.iota shape = [B] dtype = si32 axis = 0 : tensor<?xsi32, "B">
  // CHECK-NEXT:  %e = ptir.rng_uniform shape = [2, B] dtype = f32 : tensor<2x?xf32, "*,B">
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "stated"
  // GENERIC-NEXT:  ^bb0(%x: tensor<4xf32>, %b: tensor<?xf32, "B">):
  // GENERIC-NEXT:  %a = "ptir.broadcast_to"(%x) <{result_shape = ["B", 4 : i64]}> : (tensor<4xf32>) -> tensor<?x4xf32, "B,*">
  // GENERIC-NEXT:  %c = "ptir.reshape"(%a) <{new_shape = ["B", 2 : i64, -1 : i64]}> : (tensor<?x4xf32, "B,*">) -> tensor<?x2x2xf32, "B,*,*">
  // GENERIC-NEXT:  %d = "ptir.iota"() <{shape = ["B"], dtype = si32, axis = 0 : i64}> : () -> tensor<?xsi32, "B">
  // GENERIC-NEXT:  %e = "ptir.rng_uniform"() <{shape = [2 : i64, "B"], dtype = f32}> : () -> tensor<2x?xf32, "*,B">

  func.func @carried_through(%x: tensor<?x?x4xf32, "B,T,*">, %w: tensor<4x?xf32, "*,V">, %i: tensor<?xsi32, "T">) {
    %a = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [2] contract_rhs = [0] : (tensor<?x?x4xf32, "B,T,*">, tensor<4x?xf32, "*,V">) -> tensor<?x?x?xf32, "B,T,V">
    %b = ptir.transpose %x perm = [1, 0, 2] : tensor<?x?x4xf32, "B,T,*"> -> tensor<?x?x4xf32, "T,B,*">
    %c = ptir.reduce %x kind = sum axes = [0] keepdims = true : tensor<?x?x4xf32, "B,T,*"> -> tensor<1x?x4xf32, "*,T,*">
    %d = ptir.take %w, %i : (tensor<4x?xf32, "*,V">, tensor<?xsi32, "T">) -> tensor<?x?xf32, "T,V">
    func.return
  }
  // CHECK-LABEL: func.func @carried_through(%x: tensor<?x?x4xf32, "B,T,*">, %w: tensor<4x?xf32, "*,V">, %i: tensor<?xsi32, "T">) {
  // CHECK-NEXT:  %a = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [2] contract_rhs = [0] : (tensor<?x?x4xf32, "B,T,*">, tensor<4x?xf32, "*,V">) -> tensor<?x?x?xf32, "B,T,V">
  // CHECK-NEXT:  %b = ptir.transpose %x perm = [1, 0, 2] : tensor<?x?x4xf32, "B,T,*"> -> tensor<?x?x4xf32, "T,B,*">
  // CHECK-NEXT:  %c = ptir.reduce %x kind = sum axes = [0] keepdims = true : tensor<?x?x4xf32, "B,T,*"> -> tensor<1x?x4xf32, "*,T,*">
  // CHECK-NEXT:  %d = ptir.take %w, %i : (tensor<4x?xf32, "*,V">, tensor<?xsi32, "T">) -> tensor<?x?xf32, "T,V">
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "carried_through"
  // GENERIC-NEXT:  ^bb0(%x: tensor<?x?x4xf32, "B,T,*">, %w: tensor<4x?xf32, "*,V">, %i: tensor<?xsi32, "T">):
  // GENERIC-NEXT:  %a = "ptir.dot_general"(%x, %w) <{batch_lhs = array<i64>, batch_rhs = array<i64>, contract_lhs = array<i64: 2>, contract_rhs = array<i64: 0>}> : (tensor<?x?x4xf32, "B,T,*">, tensor<4x?xf32, "*,V">) -> tensor<?x?x?xf32, "B,T,V">
  // GENERIC-NEXT:  %b = "ptir.transpose"(%x) <{perm = array<i64: 1, 0, 2>}> : (tensor<?x?x4xf32, "B,T,*">) -> tensor<?x?x4xf32, "T,B,*">
  // GENERIC-NEXT:  %c = "ptir.reduce"(%x) <{kind = "sum", axes = array<i64: 0>, keepdims = true}> : (tensor<?x?x4xf32, "B,T,*">) -> tensor<1x?x4xf32, "*,T,*">
  // GENERIC-NEXT:  %d = "ptir.take"(%w, %i) : (tensor<4x?xf32, "*,V">, tensor<?xsi32, "T">) -> tensor<?x?xf32, "T,V">

  // A size that only the run knows has no name unless the text gives it one.
  func.func @computed(%x: tensor<?xf32, "N">, %y: tensor<3xf32>) {
    %a = ptir.concat %x, %y axis = 0 : (tensor<?xf32, "N">, tensor<3xf32>) -> tensor<?xf32>
    %b = ptir.concat %x, %y axis = 0 : (tensor<?xf32, "N">, tensor<3xf32>) -> tensor<?xf32, "M">
    %c = ptir.tile %x repeats = [2] : tensor<?xf32, "N"> -> tensor<?xf32>
    func.return
  }
  // CHECK-LABEL: func.func @computed(%x: tensor<?xf32, "N">, %y: tensor<3xf32>) {
  // CHECK-NEXT:  %a = ptir.concat %x, %y axis = 0 : (tensor<?xf32, "N">, tensor<3xf32>) -> tensor<?xf32>
  // CHECK-NEXT:  %b = ptir.concat %x, %y axis = 0 : (tensor<?xf32, "N">, tensor<3xf32>) -> tensor<?xf32, "M">
  // CHECK-NEXT:  %c = ptir.tile %x repeats = [2] : tensor<?xf32, "N"> -> tensor<?xf32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "computed"
  // GENERIC-NEXT:  ^bb0(%x: tensor<?xf32, "N">, %y: tensor<3xf32>):
  // GENERIC-NEXT:  %a = "ptir.concat"(%x, %y) <{axis = 0 : i64}> : (tensor<?xf32, "N">, tensor<3xf32>) -> tensor<?xf32>
  // GENERIC-NEXT:  %b = "ptir.concat"(%x, %y) <{axis = 0 : i64}> : (tensor<?xf32, "N">, tensor<3xf32>) -> tensor<?xf32, "M">
  // GENERIC-NEXT:  %c = "ptir.tile"(%x) <{repeats = array<i64: 2>}> : (tensor<?xf32, "N">) -> tensor<?xf32>

  // What ops compute from names is an expression of them, so that equal sizes are known to be equal.
  func.func @expressions(%x: tensor<?x4xf32, "P,*">, %y: tensor<?x4xf32, "T,*">, %z: tensor<?x4xf32, "P+T,*">) -> tensor<?x4xf32, "P+T,*"> {
    %a = ptir.concat %x, %y axis = 0 : (tensor<?x4xf32, "P,*">, tensor<?x4xf32, "T,*">) -> tensor<?x4xf32, "P+T,*">
    %b = ptir.add %a, %z : tensor<?x4xf32, "P+T,*">
    %c = ptir.reshape %b new_shape = [-1] : tensor<?x4xf32, "P+T,*"> -> tensor<?xf32, "4*P+4*T">
    %d = ptir.reshape %c new_shape = ["P+T", 4] : tensor<?xf32, "4*P+4*T"> -> tensor<?x4xf32, "P+T,*">
    func.return %d : tensor<?x4xf32, "P+T,*">
  }
  // CHECK-LABEL: func.func @expressions(
  // CHECK-NEXT:  %a = ptir.concat %x, %y axis = 0 : (tensor<?x4xf32, "P,*">, tensor<?x4xf32, "T,*">) -> tensor<?x4xf32, "P+T,*">
  // CHECK-NEXT:  %b = ptir.add %a, %z : tensor<?x4xf32, "P+T,*">
  // CHECK-NEXT:  %c = ptir.reshape %b new_shape = [-1] : tensor<?x4xf32, "P+T,*"> -> tensor<?xf32, "4*P+4*T">
  // CHECK-NEXT:  %d = ptir.reshape %c new_shape = ["P+T", 4] : tensor<?xf32, "4*P+4*T"> -> tensor<?x4xf32, "P+T,*">
  // CHECK-NEXT:  func.return %d : tensor<?x4xf32, "P+T,*">
  // GENERIC: sym_name = "expressions"
  // GENERIC: %d = "ptir.reshape"(%c) <{new_shape = ["P+T", 4 : i64]}> : (tensor<?xf32, "4*P+4*T">) -> tensor<?x4xf32, "P+T,*">

  // Bounds of parts and edges are expressions too, and name what is left.
  func.func @parts(%x: tensor<?x4xf32, "N,*">, %y: tensor<?xf32, "P+T">, %p: tensor<?xf32, "P">, %t: tensor<?xf32, "T">) {
    %a = ptir.slice %x starts = [0, 0] sizes = [N, 2] : tensor<?x4xf32, "N,*"> -> tensor<?x2xf32, "N,*">
    %b = ptir.slice %x starts = ["N-2", 0] sizes = [2, 4] : tensor<?x4xf32, "N,*"> -> tensor<2x4xf32>
    %c = ptir.slice %y starts = [P] sizes = [T] : tensor<?xf32, "P+T"> -> tensor<?xf32, "T">
    %d = ptir.strided_slice %x starts = [1, 0] limits = [N, 4] strides = [2, 1] : tensor<?x4xf32, "N,*"> -> tensor<?x4xf32, "N floordiv 2,*">
    %e = ptir.pad %t low = [P] high = ["T + 1"] interior = [0] pad_value = 0.0 : f32 : tensor<?xf32, "T"> -> tensor<?xf32, "P+2*T+1">
    func.return
  }
  // CHECK-LABEL: func.func @parts(
  // CHECK-NEXT:  %a = ptir.slice %x starts = [0, 0] sizes = [N, 2] : tensor<?x4xf32, "N,*"> -> tensor<?x2xf32, "N,*">
  // CHECK-NEXT:  %b = ptir.slice %x starts = ["N-2", 0] sizes = [2, 4] : tensor<?x4xf32, "N,*"> -> tensor<2x4xf32>
  // CHECK-NEXT:  %c = ptir.slice %y starts = [P] sizes = [T] : tensor<?xf32, "P+T"> -> tensor<?xf32, "T">
  // CHECK-NEXT:  %d = ptir.strided_slice %x starts = [1, 0] limits = [N, 4] strides = [2, 1] : tensor<?x4xf32, "N,*"> -> tensor<?x4xf32, "N floordiv 2,*">
  // CHECK-NEXT:  %e = ptir.pad %t low = [P] high = ["T+1"] interior = [0] pad_value = 0.0 : f32 : tensor<?xf32, "T"> -> tensor<?xf32, "P+2*T+1">
  // GENERIC: sym_name = "parts"
  // GENERIC: %b = "ptir.slice"(%x) <{starts = ["N-2", 0 : i64], sizes = array<i64: 2, 4>}> : (tensor<?x4xf32, "N,*">) -> tensor<2x4xf32>

  // Repeats and numbers of segments too.
  func.func @counts(%x: tensor<?x3xf32, "N,*">, %ids: tensor<?xsi32, "N">) {
    %a = ptir.tile %x repeats = ["1 + N", 2] : tensor<?x3xf32, "N,*"> -> tensor<?x6xf32, "N*N+N,*">
    %b = ptir.segment_reduce %x, %ids kind = sum num_segments = N indices_are_sorted = false unique = false : (tensor<?x3xf32, "N,*">, tensor<?xsi32, "N">) -> tensor<?x3xf32, "N,*">
    func.return
  }
  // CHECK-LABEL: func.func @counts(
  // CHECK-NEXT:  %a = ptir.tile %x repeats = ["N+1", 2] : tensor<?x3xf32, "N,*"> -> tensor<?x6xf32, "N*N+N,*">
  // CHECK-NEXT:  %b = ptir.segment_reduce %x, %ids kind = sum num_segments = N indices_are_sorted
  // GENERIC: sym_name = "counts"
  // GENERIC: %a = "ptir.tile"(%x) <{repeats = ["N+1", 2 : i64]}> : (tensor<?x3xf32, "N,*">) -> tensor<?x6xf32, "N*N+N,*">
  // GENERIC-NEXT: %b = "ptir.segment_reduce"(%x, %ids) <{kind = "sum", num_segments = "N",

  // Commas in parentheses belong to the expression.
  func.func @maximum(%x: tensor<?x?x?xf32, "B,T,max(B,T)">) -> tensor<?x?x?xf32, "B,T,max(B,T)"> {
    func.return %x : tensor<?x?x?xf32, "B,T,max(B,T)">
  }
  // CHECK-LABEL: func.func @maximum(%x: tensor<?x?x?xf32, "B,T,max(B,T)">) -> tensor<?x?x?xf32, "B,T,max(B,T)"> {
  // GENERIC: sym_name = "maximum"
  // GENERIC-NEXT:  ^bb0(%x: tensor<?x?x?xf32, "B,T,max(B,T)">):
}
