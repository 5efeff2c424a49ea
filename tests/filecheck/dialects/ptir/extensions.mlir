// RUN: MIND_ROUNDTRIP
// RUN: MIND_GENERIC
// What models need beyond the contract, in the same form.

builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {

  func.func @unary(%x: tensor<2x3xf32>) {
    %a = ptir.sqrt %x : tensor<2x3xf32>
    %b = ptir.sin %x : tensor<2x3xf32>
    %c = ptir.cos %x : tensor<2x3xf32>
    %d = ptir.floor %x : tensor<2x3xf32>
    %e = ptir.ceil %x : tensor<2x3xf32>
    %f = ptir.round %x : tensor<2x3xf32>
    %g = ptir.sign %x : tensor<2x3xf32>
    %h = ptir.logistic %x : tensor<2x3xf32>
    %i = ptir.expm1 %x : tensor<2x3xf32>
    %j = ptir.log1p %x : tensor<2x3xf32>
    func.return
  }
  // CHECK-LABEL: func.func @unary(%x: tensor<2x3xf32>) {
  // CHECK-NEXT:  %a = ptir.sqrt %x : tensor<2x3xf32>
  // CHECK-NEXT:  %b = ptir.sin %x : tensor<2x3xf32>
  // CHECK-NEXT:  %c = ptir.cos %x : tensor<2x3xf32>
  // CHECK-NEXT:  %d = ptir.floor %x : tensor<2x3xf32>
  // CHECK-NEXT:  %e = ptir.ceil %x : tensor<2x3xf32>
  // CHECK-NEXT:  %f = ptir.round %x : tensor<2x3xf32>
  // CHECK-NEXT:  %g = ptir.sign %x : tensor<2x3xf32>
  // CHECK-NEXT:  %h = ptir.logistic %x : tensor<2x3xf32>
  // CHECK-NEXT:  %i = ptir.expm1 %x : tensor<2x3xf32>
  // CHECK-NEXT:  %j = ptir.log1p %x : tensor<2x3xf32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "unary"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x3xf32>):
  // GENERIC-NEXT:  %a = "ptir.sqrt"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // GENERIC-NEXT:  %b = "ptir.sin"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // GENERIC-NEXT:  %c = "ptir.cos"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // GENERIC-NEXT:  %d = "ptir.floor"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // GENERIC-NEXT:  %e = "ptir.ceil"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // GENERIC-NEXT:  %f = "ptir.round"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // GENERIC-NEXT:  %g = "ptir.sign"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // GENERIC-NEXT:  %h = "ptir.logistic"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // GENERIC-NEXT:  %i = "ptir.expm1"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // GENERIC-NEXT:  %j = "ptir.log1p"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>

  func.func @binary(%x: tensor<4xf64>, %y: tensor<4xf64>) {
    %a = ptir.pow %x, %y : tensor<4xf64>
    %b = ptir.remainder %x, %y : tensor<4xf64>
    func.return
  }
  // CHECK-LABEL: func.func @binary(%x: tensor<4xf64>, %y: tensor<4xf64>) {
  // CHECK-NEXT:  %a = ptir.pow %x, %y : tensor<4xf64>
  // CHECK-NEXT:  %b = ptir.remainder %x, %y : tensor<4xf64>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "binary"
  // GENERIC-NEXT:  ^bb0(%x: tensor<4xf64>, %y: tensor<4xf64>):
  // GENERIC-NEXT:  %a = "ptir.pow"(%x, %y) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  // GENERIC-NEXT:  %b = "ptir.remainder"(%x, %y) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>

  func.func @bits(%x: tensor<4xui4>, %y: tensor<4xui4>) {
    %a = ptir.not %x : tensor<4xui4>
    %b = ptir.and %x, %y : tensor<4xui4>
    %c = ptir.or %x, %y : tensor<4xui4>
    %d = ptir.xor %x, %y : tensor<4xui4>
    %e = ptir.shift_left %x, %y : tensor<4xui4>
    %f = ptir.shift_right_arithmetic %x, %y : tensor<4xui4>
    %g = ptir.shift_right_logical %x, %y : tensor<4xui4>
    func.return
  }
  // CHECK-LABEL: func.func @bits(%x: tensor<4xui4>, %y: tensor<4xui4>) {
  // CHECK-NEXT:  %a = ptir.not %x : tensor<4xui4>
  // CHECK-NEXT:  %b = ptir.and %x, %y : tensor<4xui4>
  // CHECK-NEXT:  %c = ptir.or %x, %y : tensor<4xui4>
  // CHECK-NEXT:  %d = ptir.xor %x, %y : tensor<4xui4>
  // CHECK-NEXT:  %e = ptir.shift_left %x, %y : tensor<4xui4>
  // CHECK-NEXT:  %f = ptir.shift_right_arithmetic %x, %y : tensor<4xui4>
  // CHECK-NEXT:  %g = ptir.shift_right_logical %x, %y : tensor<4xui4>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "bits"
  // GENERIC-NEXT:  ^bb0(%x: tensor<4xui4>, %y: tensor<4xui4>):
  // GENERIC-NEXT:  %a = "ptir.not"(%x) : (tensor<4xui4>) -> tensor<4xui4>
  // GENERIC-NEXT:  %b = "ptir.and"(%x, %y) : (tensor<4xui4>, tensor<4xui4>) -> tensor<4xui4>
  // GENERIC-NEXT:  %c = "ptir.or"(%x, %y) : (tensor<4xui4>, tensor<4xui4>) -> tensor<4xui4>
  // GENERIC-NEXT:  %d = "ptir.xor"(%x, %y) : (tensor<4xui4>, tensor<4xui4>) -> tensor<4xui4>
  // GENERIC-NEXT:  %e = "ptir.shift_left"(%x, %y) : (tensor<4xui4>, tensor<4xui4>) -> tensor<4xui4>
  // GENERIC-NEXT:  %f = "ptir.shift_right_arithmetic"(%x, %y) : (tensor<4xui4>, tensor<4xui4>) -> tensor<4xui4>
  // GENERIC-NEXT:  %g = "ptir.shift_right_logical"(%x, %y) : (tensor<4xui4>, tensor<4xui4>) -> tensor<4xui4>

  func.func @along_an_axis(%x: tensor<2x3xsi32>) {
    %a = ptir.cumulative_sum %x axis = -1 exclusive = true reverse = false : tensor<2x3xsi32>
    %b = ptir.sort %x axis = 0 descending = true : tensor<2x3xsi32>
    %c = ptir.reverse %x axes = [0, -1] : tensor<2x3xsi32>
    func.return
  }
  // CHECK-LABEL: func.func @along_an_axis(%x: tensor<2x3xsi32>) {
  // CHECK-NEXT:  %a = ptir.cumulative_sum %x axis = -1 exclusive = true reverse = false : tensor<2x3xsi32>
  // CHECK-NEXT:  %b = ptir.sort %x axis = 0 descending = true : tensor<2x3xsi32>
  // CHECK-NEXT:  %c = ptir.reverse %x axes = [0, -1] : tensor<2x3xsi32>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "along_an_axis"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x3xsi32>):
  // GENERIC-NEXT:  %a = "ptir.cumulative_sum"(%x) <{axis = -1 : i64, exclusive = true, reverse = false}> : (tensor<2x3xsi32>) -> tensor<2x3xsi32>
  // GENERIC-NEXT:  %b = "ptir.sort"(%x) <{axis = 0 : i64, descending = true}> : (tensor<2x3xsi32>) -> tensor<2x3xsi32>
  // GENERIC-NEXT:  %c = "ptir.reverse"(%x) <{axes = array<i64: 0, -1>}> : (tensor<2x3xsi32>) -> tensor<2x3xsi32>

  func.func @strided_slice(%x: tensor<10x4xi1>) {
    %a = ptir.strided_slice %x starts = [1, 0] limits = [8, 4] strides = [3, 5] : tensor<10x4xi1> -> tensor<3x1xi1>
    func.return
  }
  // CHECK-LABEL: func.func @strided_slice(%x: tensor<10x4xi1>) {
  // CHECK-NEXT:  %a = ptir.strided_slice %x starts = [1, 0] limits = [8, 4] strides = [3, 5] : tensor<10x4xi1> -> tensor<3x1xi1>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "strided_slice"
  // GENERIC-NEXT:  ^bb0(%x: tensor<10x4xi1>):
  // GENERIC-NEXT:  %a = "ptir.strided_slice"(%x) <{starts = array<i64: 1, 0>, limits = array<i64: 8, 4>, strides = array<i64: 3, 5>}> : (tensor<10x4xi1>) -> tensor<3x1xi1>

  func.func @dimension_size(%x: tensor<?x4xi1, "N,*">) {
    %a = ptir.dimension_size %x axis = 0 : tensor<?x4xi1, "N,*"> -> tensor<si64>
    func.return
  }
  // CHECK-LABEL: func.func @dimension_size(%x: tensor<?x4xi1, "N,*">) {
  // CHECK-NEXT:  %a = ptir.dimension_size %x axis = 0 : tensor<?x4xi1, "N,*"> -> tensor<si64>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "dimension_size"
  // GENERIC-NEXT:  ^bb0(%x: tensor<?x4xi1, "N,*">):
  // GENERIC-NEXT:  %a = "ptir.dimension_size"(%x) <{axis = 0 : i64}> : (tensor<?x4xi1, "N,*">) -> tensor<si64>

  func.func @convolution(%x: tensor<1x5x5x4xf16>, %w: tensor<3x3x2x8xf16>) {
    %a = ptir.convolution %x, %w strides = [2, 1] padding = [[1, 1], [0, 0]] base_dilation = [1, 1] window_dilation = [1, 2] feature_group_count = 2 accum_dtype = f32 out_dtype = f32 : (tensor<1x5x5x4xf16>, tensor<3x3x2x8xf16>) -> tensor<1x3x1x8xf32>
    %b = ptir.convolution %x, %w strides = [1, 1] padding = [[1, 1], [1, 1]] base_dilation = [2, 2] window_dilation = [1, 1] feature_group_count = 2 : (tensor<1x5x5x4xf16>, tensor<3x3x2x8xf16>) -> tensor<1x9x9x8xf16>
    func.return
  }
  // CHECK-LABEL: func.func @convolution(%x: tensor<1x5x5x4xf16>, %w: tensor<3x3x2x8xf16>) {
  // CHECK-NEXT:  %a = ptir.convolution %x, %w strides = [2, 1] padding = {{\[\[}}1, 1], [0, 0]] base_dilation = [1, 1] window_dilation = [1, 2] feature_group_count = 2 accum_dtype = f32 out_dtype = f32 : (tensor<1x5x5x4xf16>, tensor<3x3x2x8xf16>) -> tensor<1x3x1x8xf32>
  // CHECK-NEXT:  %b = ptir.convolution %x, %w strides = [1, 1] padding = {{\[\[}}1, 1], [1, 1]] base_dilation = [2, 2] window_dilation = [1, 1] feature_group_count = 2 : (tensor<1x5x5x4xf16>, tensor<3x3x2x8xf16>) -> tensor<1x9x9x8xf16>
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "convolution"
  // GENERIC-NEXT:  ^bb0(%x: tensor<1x5x5x4xf16>, %w: tensor<3x3x2x8xf16>):
  // GENERIC-NEXT:  %a = "ptir.convolution"(%x, %w) <{strides = array<i64: 2, 1>, padding = array<i64: 1, 1, 0, 0>, base_dilation = array<i64: 1, 1>, window_dilation = array<i64: 1, 2>, feature_group_count = 2 : i64, accum_dtype = f32, out_dtype = f32}> : (tensor<1x5x5x4xf16>, tensor<3x3x2x8xf16>) -> tensor<1x3x1x8xf32>
  // GENERIC-NEXT:  %b = "ptir.convolution"(%x, %w) <{strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, base_dilation = array<i64: 2, 2>, window_dilation = array<i64: 1, 1>, feature_group_count = 2 : i64}> : (tensor<1x5x5x4xf16>, tensor<3x3x2x8xf16>) -> tensor<1x9x9x8xf16>

  // A group that a target turns into one kernel.
  func.func @fusion(%x: tensor<2x3xf32>, %b: tensor<3xf32>) {
    %r, %s = ptir.fusion %x, %b : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>) body {
    ^bb0(%c: tensor<2x3xf32>, %d: tensor<3xf32>):
      %e = ptir.broadcast_to %d result_shape = [2, 3] : tensor<3xf32> -> tensor<2x3xf32>
      %f = ptir.add %c, %e : tensor<2x3xf32>
      %g = ptir.reduce %f kind = sum axes = [1] keepdims = false : tensor<2x3xf32> -> tensor<2xf32>
      ptir.yield %f, %g : tensor<2x3xf32>, tensor<2xf32>
    }
    func.return
  }
  // CHECK-LABEL: func.func @fusion(%x: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // CHECK-NEXT:  %r, %s = ptir.fusion %x, %b : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>) body {
  // CHECK-NEXT:  ^bb0(%c: tensor<2x3xf32>, %d: tensor<3xf32>):
  // CHECK-NEXT:  %e = ptir.broadcast_to %d result_shape = [2, 3] : tensor<3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT:  %f = ptir.add %c, %e : tensor<2x3xf32>
  // CHECK-NEXT:  %g = ptir.reduce %f kind = sum axes = [1] keepdims = false : tensor<2x3xf32> -> tensor<2xf32>
  // CHECK-NEXT:  ptir.yield %f, %g : tensor<2x3xf32>, tensor<2xf32>
  // CHECK-NEXT:  }
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "fusion"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x3xf32>, %b: tensor<3xf32>):
  // GENERIC-NEXT:  %r, %s = "ptir.fusion"(%x, %b) ({
  // GENERIC-NEXT:  ^bb0(%c: tensor<2x3xf32>, %d: tensor<3xf32>):
  // GENERIC-NEXT:  %e = "ptir.broadcast_to"(%d) <{result_shape = array<i64: 2, 3>}> : (tensor<3xf32>) -> tensor<2x3xf32>
  // GENERIC-NEXT:  %f = "ptir.add"(%c, %e) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // GENERIC-NEXT:  %g = "ptir.reduce"(%f) <{kind = "sum", axes = array<i64: 1>, keepdims = false}> : (tensor<2x3xf32>) -> tensor<2xf32>
  // GENERIC-NEXT:  "ptir.yield"(%f, %g) : (tensor<2x3xf32>, tensor<2xf32>) -> ()
  // GENERIC-NEXT:  }) : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>)

  // A pattern names what the body is.
  func.func @patterns(%x: tensor<2x2xf32>) {
    %a = ptir.fusion %x pattern = softmax : tensor<2x2xf32> body {
    ^bb0(%b: tensor<2x2xf32>):
      %c = ptir.exp %b : tensor<2x2xf32>
      ptir.yield %c : tensor<2x2xf32>
    }
    %d = ptir.fusion %x pattern = gelu : tensor<2x2xf32> body {
    ^bb0(%e: tensor<2x2xf32>):
      ptir.yield %e : tensor<2x2xf32>
    }
    %j = ptir.fusion %x pattern = gelu_tanh : tensor<2x2xf32> body {
    ^bb0(%k: tensor<2x2xf32>):
      ptir.yield %k : tensor<2x2xf32>
    }
    %l = ptir.fusion %x pattern = rms_norm : tensor<2x2xf32> body {
    ^bb0(%m: tensor<2x2xf32>):
      ptir.yield %m : tensor<2x2xf32>
    }
    %n = ptir.fusion %x pattern = attention_gradient : tensor<2x2xf32> body {
    ^bb0(%o: tensor<2x2xf32>):
      ptir.yield %o : tensor<2x2xf32>
    }
    %p = ptir.fusion %x pattern = window_extremes_gradient : tensor<2x2xf32> body {
    ^bb0(%q: tensor<2x2xf32>):
      ptir.yield %q : tensor<2x2xf32>
    }
    %r = ptir.fusion %x pattern = product_epilogue : tensor<2x2xf32> body {
    ^bb0(%s: tensor<2x2xf32>):
      ptir.yield %s : tensor<2x2xf32>
    }
    %f = ptir.fusion %x pattern = attention : tensor<2x2xf32> body {
    ^bb0(%g: tensor<2x2xf32>):
      %h = ptir.dot_general %g, %g batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : tensor<2x2xf32>
      %i = ptir.dot_general %h, %g batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : tensor<2x2xf32>
      ptir.yield %i : tensor<2x2xf32>
    }
    func.return
  }
  // CHECK-LABEL: func.func @patterns(%x: tensor<2x2xf32>) {
  // CHECK-NEXT:  %a = ptir.fusion %x pattern = softmax : tensor<2x2xf32> body {
  // CHECK-NEXT:  ^bb0(%b: tensor<2x2xf32>):
  // CHECK-NEXT:  %c = ptir.exp %b : tensor<2x2xf32>
  // CHECK-NEXT:  ptir.yield %c : tensor<2x2xf32>
  // CHECK-NEXT:  }
  // CHECK-NEXT:  %d = ptir.fusion %x pattern = gelu : tensor<2x2xf32> body {
  // CHECK-NEXT:  ^bb0(%e: tensor<2x2xf32>):
  // CHECK-NEXT:  ptir.yield %e : tensor<2x2xf32>
  // CHECK-NEXT:  }
  // CHECK-NEXT:  %j = ptir.fusion %x pattern = gelu_tanh : tensor<2x2xf32> body {
  // CHECK-NEXT:  ^bb0(%k: tensor<2x2xf32>):
  // CHECK-NEXT:  ptir.yield %k : tensor<2x2xf32>
  // CHECK-NEXT:  }
  // CHECK-NEXT:  %l = ptir.fusion %x pattern = rms_norm : tensor<2x2xf32> body {
  // CHECK-NEXT:  ^bb0(%m: tensor<2x2xf32>):
  // CHECK-NEXT:  ptir.yield %m : tensor<2x2xf32>
  // CHECK-NEXT:  }
  // CHECK-NEXT:  %n = ptir.fusion %x pattern = attention_gradient : tensor<2x2xf32> body {
  // CHECK-NEXT:  ^bb0(%o: tensor<2x2xf32>):
  // CHECK-NEXT:  ptir.yield %o : tensor<2x2xf32>
  // CHECK-NEXT:  }
  // CHECK-NEXT:  %p = ptir.fusion %x pattern = window_extremes_gradient : tensor<2x2xf32> body {
  // CHECK-NEXT:  ^bb0(%q: tensor<2x2xf32>):
  // CHECK-NEXT:  ptir.yield %q : tensor<2x2xf32>
  // CHECK-NEXT:  }
  // CHECK-NEXT:  %r = ptir.fusion %x pattern = product_epilogue : tensor<2x2xf32> body {
  // CHECK-NEXT:  ^bb0(%s: tensor<2x2xf32>):
  // CHECK-NEXT:  ptir.yield %s : tensor<2x2xf32>
  // CHECK-NEXT:  }
  // CHECK-NEXT:  %f = ptir.fusion %x pattern = attention : tensor<2x2xf32> body {
  // CHECK-NEXT:  ^bb0(%g: tensor<2x2xf32>):
  // CHECK-NEXT:  %h = ptir.dot_general %g, %g batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : tensor<2x2xf32>
  // CHECK-NEXT:  %i = ptir.dot_general %h, %g batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : tensor<2x2xf32>
  // CHECK-NEXT:  ptir.yield %i : tensor<2x2xf32>
  // CHECK-NEXT:  }
  // CHECK-NEXT:  func.return
  // CHECK-NEXT:  }
  // GENERIC: sym_name = "patterns"
  // GENERIC-NEXT:  ^bb0(%x: tensor<2x2xf32>):
  // GENERIC-NEXT:  %a = "ptir.fusion"(%x) <{pattern = "softmax"}> ({
  // GENERIC-NEXT:  ^bb0(%b: tensor<2x2xf32>):
  // GENERIC-NEXT:  %c = "ptir.exp"(%b) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  // GENERIC-NEXT:  "ptir.yield"(%c) : (tensor<2x2xf32>) -> ()
  // GENERIC-NEXT:  }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  // GENERIC-NEXT:  %d = "ptir.fusion"(%x) <{pattern = "gelu"}> ({
  // GENERIC-NEXT:  ^bb0(%e: tensor<2x2xf32>):
  // GENERIC-NEXT:  "ptir.yield"(%e) : (tensor<2x2xf32>) -> ()
  // GENERIC-NEXT:  }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  // GENERIC-NEXT:  %j = "ptir.fusion"(%x) <{pattern = "gelu_tanh"}> ({
  // GENERIC-NEXT:  ^bb0(%k: tensor<2x2xf32>):
  // GENERIC-NEXT:  "ptir.yield"(%k) : (tensor<2x2xf32>) -> ()
  // GENERIC-NEXT:  }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  // GENERIC-NEXT:  %l = "ptir.fusion"(%x) <{pattern = "rms_norm"}> ({
  // GENERIC-NEXT:  ^bb0(%m: tensor<2x2xf32>):
  // GENERIC-NEXT:  "ptir.yield"(%m) : (tensor<2x2xf32>) -> ()
  // GENERIC-NEXT:  }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  // GENERIC-NEXT:  %n = "ptir.fusion"(%x) <{pattern = "attention_gradient"}> ({
  // GENERIC-NEXT:  ^bb0(%o: tensor<2x2xf32>):
  // GENERIC-NEXT:  "ptir.yield"(%o) : (tensor<2x2xf32>) -> ()
  // GENERIC-NEXT:  }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  // GENERIC-NEXT:  %p = "ptir.fusion"(%x) <{pattern = "window_extremes_gradient"}> ({
  // GENERIC-NEXT:  ^bb0(%q: tensor<2x2xf32>):
  // GENERIC-NEXT:  "ptir.yield"(%q) : (tensor<2x2xf32>) -> ()
  // GENERIC-NEXT:  }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  // GENERIC-NEXT:  %r = "ptir.fusion"(%x) <{pattern = "product_epilogue"}> ({
  // GENERIC-NEXT:  ^bb0(%s: tensor<2x2xf32>):
  // GENERIC-NEXT:  "ptir.yield"(%s) : (tensor<2x2xf32>) -> ()
  // GENERIC-NEXT:  }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  // GENERIC-NEXT:  %f = "ptir.fusion"(%x) <{pattern = "attention"}> ({
  // GENERIC-NEXT:  ^bb0(%g: tensor<2x2xf32>):
  // GENERIC-NEXT:  %h = "ptir.dot_general"(%g, %g) <{batch_lhs = array<i64>, batch_rhs = array<i64>, contract_lhs = array<i64: 1>, contract_rhs = array<i64: 0>}> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  // GENERIC-NEXT:  %i = "ptir.dot_general"(%h, %g) <{batch_lhs = array<i64>, batch_rhs = array<i64>, contract_lhs = array<i64: 1>, contract_rhs = array<i64: 0>}> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  // GENERIC-NEXT:  "ptir.yield"(%i) : (tensor<2x2xf32>) -> ()
  // GENERIC-NEXT:  }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
}
